"""Limits on gradients: on their common norm, or on each of their elements."""

import contextlib
import math
import warnings
from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.backends import quiet
from adjoint.call.context import Changed, current
from adjoint.creation.factories import scalar_tensor, tensor
from adjoint.ops.arranging.shape import stack
from adjoint.ops.elementwise.selection import clamp
from adjoint.ops.foreach import FOREACH
from adjoint.ops.matrices.matrix_norms import linalg_vector_norm as vector_norm
from adjoint.tensors.concrete import has_values
from adjoint.tensors.core import F32, F64, NDARRAY
from adjoint.tensors.tensor import Tensor

Tensors = Tensor | Iterable[Tensor]

BLOCK = 65536  # elements summed in their own precision; sums of blocks are kept in 64 bits


def get_total_norm(
    tensors: Tensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of the vector of all elements of all tensors.

    `foreach` changes nothing but what modes below autograd see, here and in the functions below.
    """
    found = _listed(tensors)
    if not found:
        return tensor(0.0)
    order = float(norm_type)
    seen = bool(current().modes)
    total: Any = _euclidean(found) if order == 2 and not seen else None
    if total is None:
        place = found[0].device
        with no_grad():
            norms: list[Any] = []
            for group, together in _groups(found, foreach):
                if together:
                    norms += FOREACH["_foreach_norm"](group, order)
                else:
                    norms += [vector_norm(one, order) for one in group]
            total = vector_norm(stack([norm.to(place) for norm in norms]), order)
    if not error_if_nonfinite:
        return total  # type: ignore[no-any-return]
    if total.isnan().logical_or(total.isinf()) if seen else not math.isfinite(total.item()):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite "
            f"({total.item()}), so they can't be clipped by it. Pass error_if_nonfinite=False to "
            "scale them by it all the same."
        )
    return total  # type: ignore[no-any-return]


def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients of parameters so that a total norm becomes at most max_norm."""
    _scale(_gradients(parameters), max_norm, total_norm, foreach)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters to a total norm of at most max_norm.

    The answer is what the norm was before.
    """
    given = _listed(parameters)
    if not given and isinstance(parameters, GeneratorType):
        warnings.warn(
            "clip_grad_norm_: `parameters` is an empty generator, so no gradient is clipped; was "
            "it used up before?",
            stacklevel=2,
        )
    grads = _gradients(given)
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    _scale(grads, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of clip_grad_norm_."""
    warnings.warn(
        "clip_grad_norm is deprecated: it is called clip_grad_norm_", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Bring each element of the gradients of parameters between -clip_value and clip_value."""
    limit = float(clip_value)
    grads = _gradients(parameters)
    with no_grad(), _all_or_none(grads):
        for group, together in _groups(grads, foreach):
            if together:
                FOREACH["_foreach_clamp_min_"](group, -limit)
                FOREACH["_foreach_clamp_max_"](group, limit)
                continue
            for grad in group:
                grad.clamp_(min=-limit, max=limit)


def _listed(tensors: Tensors) -> list[Any]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensors) -> list[Any]:
    grads = [one.grad for one in _listed(parameters)]
    return [grad for grad in grads if grad is not None]


def _groups(tensors: list[Any], foreach: bool | None) -> list[tuple[list[Any], bool]]:
    """All tensors; where modes look on, those of a kind, and if one operation works on them."""
    if not current().modes:
        return [(tensors, False)]
    groups: dict[Any, list[Any]] = {}
    for one in tensors:
        groups.setdefault((one.device, one.dtype), []).append(one)
    together = foreach is not False and not any(one.special for one in tensors)
    return [(group, together) for group in groups.values()][::-1]  # in PyTorch's order


@contextlib.contextmanager
def _all_or_none(grads: list[Any]) -> Iterator[None]:
    """As a context: where modes see changes, and one of them fails, none is left."""
    plain = [grad for grad in grads if grad.layer is None] if current().modes else []
    unseen = {"modes": (), "grad_enabled": False}
    with Changed(unseen):
        kept = [(grad, grad.clone()) for grad in plain]
    try:
        yield
    except BaseException:
        with Changed(unseen):
            for grad, values in kept:
                grad.copy_(values)
        raise


def _scale(grads: list[Any], max_norm: float, total_norm: Tensor, foreach: bool | None) -> None:
    """Multiply gradients, in place, by what brings a total norm down to max_norm."""
    if not grads:
        return
    with no_grad(), quiet():
        factor: Any = clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        if current().modes:
            _scale_seen(grads, factor, foreach)
            return
        if has_values(factor) and factor.item() == 1:
            return
        for grad in grads:
            if _plain(grad, factor.array.dtype):
                array = grad.array
                array *= factor.array  # hundreds of small gradients: half the time of an op each
                grad.counter().bump()
            else:
                grad.mul_(factor.to(grad.device))


def _scale_seen(grads: list[Any], factor: Any, foreach: bool | None) -> None:
    """The same by PyTorch's operations, which modes see."""
    with _all_or_none(grads):
        for group, together in _groups(grads, foreach):
            near = factor.to(group[0].device)
            if together:
                FOREACH["_foreach_mul_"](group, near)
                continue
            for grad in group:
                grad.mul_(near)


def _plain(grad: Any, kind: Any) -> bool:
    """Whether a gradient is a dense array of NumPy's, of one data type."""
    array = grad.array
    return (
        type(array) is NDARRAY
        and array.dtype == kind
        and array.flags.c_contiguous
        and not (grad.special or grad.inference)
    )


def _euclidean(tensors: list[Any]) -> Tensor | None:
    """The Euclidean norm of dense arrays of NumPy's of one type; None for any others."""
    kind = tensors[0].array.dtype
    if kind not in (F32, F64):
        return None
    total = 0.0
    with quiet():
        for one in tensors:
            if not _plain(one, kind):
                return None
            flat = one.array.reshape(-1)
            for start in range(0, flat.size, BLOCK):
                piece = flat[start : start + BLOCK]
                total += float(piece.dot(piece))
    return scalar_tensor(math.sqrt(total), dtype=tensors[0].dtype)
