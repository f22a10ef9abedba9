"""Parameters of distributions: given as numbers or tensors, as probabilities or logits."""

import math
from collections.abc import Callable
from numbers import Number
from typing import Any

from adjoint.autograd.grad_mode import enable_grad
from adjoint.creation.factories import arange, empty, rand, tensor as new_tensor
from adjoint.dtypes import get_default_dtype
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.indexing import getitem
from adjoint.ops.arranging.shape import broadcast_tensors
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.5772156649015329
half_log_2_pi = 0.5 * math.log(2 * math.pi)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Tensors and numbers as tensors of one shape; numbers take the kind of the first tensor."""
    for value in values:
        if not (_is_tensor(value) or isinstance(value, Number)):
            raise ValueError(
                "a parameter of a distribution must be a number or a tensor, "
                f"not {type(value).__name__}"
            )
    kind: dict[str, Any] = {"dtype": get_default_dtype()}
    first = next((value for value in values if isinstance(value, Tensor)), None)
    if first is not None:
        kind = {"dtype": first.dtype, "device": first.device}
    tensors = [value if _is_tensor(value) else new_tensor(value, **kind) for value in values]
    return tuple(broadcast_tensors(*tensors))


def unfilled(shape: Any, like: Any) -> Any:
    """A tensor of the kind of another, to be filled."""
    return empty(shape, dtype=like.dtype, device=like.device)


def standard_normal(shape: Any, like: Any) -> Any:
    """Samples of the standard normal distribution, of the kind of another tensor."""
    return unfilled(shape, like).normal_()


def standard_uniform(shape: Any, like: Any) -> Any:
    """Numbers spread evenly over [0, 1), of the kind of another tensor."""
    return rand(shape, dtype=like.dtype, device=like.device)


def sum_rightmost(value: Any, dims: int) -> Any:
    """The sum over the last so many dimensions."""
    if dims == 0:
        return value
    return value.reshape((*value.shape[:-dims], -1)).sum(-1)


def all_rightmost(value: Any, dims: int) -> Any:
    """Whether all is true over the last so many dimensions."""
    return value.reshape((*value.shape[: value.ndim - dims], -1)).all(-1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities kept off 0 and 1 by what their data type can resolve."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities from log odds, or along the last dimension from logarithms of weights."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The log odds of probabilities, or their logarithms."""
    probs = clamp_probs(probs)
    return probs.log() - (-probs).log1p() if is_binary else probs.log()


class lazy_property:
    """A property that is computed once, when first asked for, and recorded even under no_grad."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.name = wrapped.__name__
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.name, value)
        return value


class EitherParameter:
    """For distributions that are given probabilities or logits, and answer for both."""

    _is_binary = True
    _given: str

    def _choose(self, probs: Any, logits: Any) -> dict[str, Any]:
        """The one of the two that was given, by its name."""
        if (probs is None) == (logits is None):
            raise ValueError(f"{type(self).__name__} takes either probs or logits, and not both")
        self._given = "probs" if logits is None else "logits"
        return {"probs": probs} if logits is None else {"logits": logits}

    @lazy_property
    def logits(self) -> Any:
        """The logarithms of the probabilities, or of the odds."""
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities."""
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def _param(self) -> Any:
        return getattr(self, self._given)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        shape: Size = self._param.shape
        return shape


# ---- triangles as vectors ----


def _triangle(size: int, diag: int, like: Any) -> Any:
    """Where a matrix has entries on or below a diagonal."""
    places: Any = arange(size, device=like.device)
    return places < places.reshape(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The entries on and below a diagonal, row by row, along the last dimension."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    return getitem(mat, (..., _triangle(size, diag, mat)))


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The matrix whose entries on and below a diagonal, row by row, are a vector's."""
    count = vec.shape[-1]
    size = next((n for n in range(count + abs(diag) + 2) if _entries(n, diag) == count), None)
    if size is None:
        raise ValueError(
            f"The size of last dimension is {count}, which cannot be expressed as the number of "
            "entries of the lower triangular part of a square matrix"
        )
    matrix = vec.new_zeros((*vec.shape[:-1], size, size))
    matrix[..., _triangle(size, diag, vec)] = vec
    return matrix


def _entries(size: int, diag: int) -> int:
    """How many entries a matrix has on and below a diagonal."""
    return sum(min(max(row + diag + 1, 0), size) for row in range(size))
