"""torch._VF: private and old spellings of operations that adjoint has under a public name."""

import inspect
from typing import Any

from adjoint.call.out import write_out
from adjoint.compat.aten_parts import convolution as convolution
from adjoint.compat.recurrent_functions import (
    gru as gru,
    lstm as lstm,
    rnn_relu as rnn_relu,
    rnn_tanh as rnn_tanh,
)
from adjoint.dtypes import bool_
from adjoint.ops.composites import overridable
from adjoint.ops.elementwise.activation import relu
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.matrices import matrix_norms
from adjoint.ops.matrices.einsum import einsum as einsum_of
from adjoint.ops.neural.resampling import channel_shuffle
from adjoint.ops.reducing.reduction import all, any
from adjoint.ops.reducing.sorting import unique
from adjoint.tensors.tensor import Tensor


def _unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Any, Any, Any]:
    """unique with all three results, whether they are wanted or not."""
    found: tuple[Any, Any, Any] = unique(input, sorted, return_inverse=True, return_counts=True)
    return found


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Any, Any]:
    """unique with two results."""
    return _unique2(input, sorted)[:2]


def unique_dim(
    input: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Any, Any, Any]:
    """unique over a dimension, with all three results."""
    found: tuple[Any, Any, Any] = unique(
        input, sorted, return_inverse=True, return_counts=True, dim=dim
    )
    return found


def einsum(equation: str, tensors: Any, *, path: Any = None) -> Tensor:
    """einsum of a list; adjoint chooses its order, and looks only at how long the one given is."""
    wanted = 2 * len(tensors) - 2 or 1
    if path is not None and len(path) != wanted:
        raise RuntimeError(
            f"einsum(): path names the two operands of each product, so for "
            f"{len(tensors)} operands {wanted} numbers, got {len(path)}; leave it out for any order"
        )
    found: Tensor = einsum_of(equation, *tensors)
    return found


def _add_relu(input: Tensor, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """The sum, or zero where it is negative."""
    total: Tensor = relu(add(input, other, alpha=alpha))
    if out is not None:
        total = out.copy_(total)
    return total


def _add_relu_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """In-place form of _add_relu."""
    return _add_relu(input, other, alpha=alpha, out=input)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """channel_shuffle."""
    shuffled: Tensor = channel_shuffle(input, groups)
    return shuffled


def _is_all_true(input: Tensor) -> Tensor:
    """all, of bools alone."""
    _require_bools("_is_all_true", input)
    found: Tensor = all(input)
    return found


def _is_any_true(input: Tensor) -> Tensor:
    """any, of bools alone."""
    _require_bools("_is_any_true", input)
    found: Tensor = any(input)
    return found


def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None
) -> Tensor:
    """The sum of the singular values."""
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    norm = _matrix_norm(input, "nuc", dim, keepdim)
    found: Tensor = norm if out is None else write_out("nuclear_norm", norm, out, True)
    return found


def frobenius_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The root of the sum of all squares."""
    return _matrix_norm(input, "fro", dim, keepdim)


def _matrix_norm(input: Tensor, kind: str, dim: Any, keepdim: bool) -> Tensor:
    found: Tensor = matrix_norms.linalg_matrix_norm(input, kind, dim, keepdim)
    return found


def _require_bools(name: str, input: Tensor) -> None:
    if input.dtype is not bool_:
        raise RuntimeError(f"{name}(): expected a tensor of bools, got {input.dtype.name}")


for _name, _value in tuple(globals().items()):
    if inspect.isfunction(_value) and _value.__module__.startswith("adjoint.compat"):
        globals()[_name] = overridable(_value)
