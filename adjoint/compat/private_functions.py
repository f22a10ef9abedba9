"""Functions of torch that libraries call though nobody documents them, or that modes are shown."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from adjoint.call.context import current
from adjoint.call.out import write_out
from adjoint.creation.factories import arange, tensor
from adjoint.dtypes import can_cast, promote_types
from adjoint.ops.arranging.conversion import sparse_coo
from adjoint.ops.arranging.shape import cat, stack
from adjoint.ops.composites import overridable
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper


def _shown(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of no tensors that is an operation, too, which modes below autograd answer."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not current().modes:
            return function(*args, **kwargs)
        return upper.seen_below(function.__name__, *args, **kwargs)

    return call


@overridable
def _shape_as_tensor(input: Tensor) -> Tensor:
    """The shape, as a tensor of whole numbers."""
    return tensor(list(input.shape))


@overridable
def _reshape_from_tensor(input: Any, shape: Any) -> Any:
    """The elements in a shape that a tensor holds."""
    return input.reshape(shape.tolist())


@overridable
def _neg_view(input: Any) -> Any:
    """The negative elements."""
    return -input


@overridable
def _weight_norm(v: Any, g: Any, dim: int = 0) -> Any:
    """A weight of a direction and a length along each index of a dimension; of all if it is -1."""
    others = [each for each in range(v.ndim) if dim == -1 or each != dim % v.ndim]
    return v * (g / v.norm(2, others, keepdim=True))


@overridable
def native_norm(
    input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """The norm of a sparse tensor, for which alone PyTorch has it."""
    if input.layout is not sparse_coo:
        raise NotImplementedError(
            f"native_norm: it is for sparse_coo tensors, not {input.layout}; use norm()"
        )
    reduced = {each % input.ndim for each in dim or range(input.ndim)}
    if keepdim or dtype is not None or len(reduced) < input.ndim:
        raise RuntimeError(
            f"native_norm: only the norm of all elements in their own type is there, got dim={dim},"
            f" keepdim={keepdim} and dtype={dtype}; use norm() of to_dense()"
        )
    return input.norm(p)


@overridable
def _int_mm(input: Any, mat2: Any, *, out: Any = None) -> Any:
    """The product of two matrices of 8 bits, in 32 bits."""
    for matrix in (input, mat2):
        if matrix.dtype.name not in ("int8", "uint8"):
            raise RuntimeError(f"_int_mm: expected matrices of int8, got {matrix.dtype.name}")
    product = input.int() @ mat2.int()
    if out is not None and out.shape != product.shape:
        raise RuntimeError(f"_int_mm: expected out of shape {list(product.shape)}")
    return product if out is None else write_out("_int_mm", product, out, True)


@overridable
def is_distributed(input: Tensor) -> bool:
    """Whether a tensor lies in several processes: none does."""
    return False


def set_vital(*args: Any, **kwargs: Any) -> None:
    """Statistics that PyTorch no longer keeps either."""


# ---- gradients that were scaled ----


def _amp_foreach_non_finite_check_and_unscale_(
    self: Sequence[Any], found_inf: Any, inv_scale: Any
) -> None:
    """Multiply gradients in place; found_inf becomes 1 if one of them is not finite."""
    for gradient in self:
        if not gradient.isfinite().all():
            found_inf.fill_(1)
        gradient.mul_(inv_scale.to(gradient.dtype))


def _amp_update_scale_(
    self: Any,
    growth_tracker: Any,
    found_inf: Any,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Any:
    """Lower a scale after an overflow, raise it after so many steps without one."""
    if found_inf.item():
        self.mul_(scale_backoff_factor)
        growth_tracker.zero_()
    elif growth_tracker.item() + 1 == growth_interval:
        self.mul_(scale_growth_factor)
        growth_tracker.zero_()
    else:
        growth_tracker.add_(1)
    return self


# ---- conditions ----


def _check_with(
    error_type: type[Exception], cond: bool, message: Callable[[], Any] | None = None
) -> None:
    """Raise an error of a class, with what the message says, unless the condition holds."""
    if not cond:
        raise error_type("Expected cond to be True." if message is None else str(message()))


def _check_is_size(i: Any, message: Callable[[], Any] | None = None, *, max: Any = None) -> None:
    """Refuse what can't be a size: a number below 0, or above the largest."""
    _check_with(RuntimeError, i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Refuse a tensor of which an element is False."""
    _check_with(RuntimeError, bool(cond.all()), message)


def _assert_async(input: Any, assert_msg: str | None = None) -> None:
    """Refuse a tensor whose only element is zero; of one without values nothing is asked."""
    if not input.is_meta and not input:
        text = "Expected a Tensor with a single value that is not zero, but got zero"
        raise RuntimeError(assert_msg or text)


# ---- sparse indices ----


def _convert_indices_from_coo_to_csr(self: Any, size: int, *, out_int32: bool = False) -> Any:
    """Where each row begins, from the rows of all elements in order."""
    counts = cat([self.new_zeros(1), self.bincount(minlength=size)]).cumsum(0)
    return counts.int() if out_int32 else counts


def _convert_indices_from_csr_to_coo(
    crow_indices: Any, col_indices: Any, *, out_int32: bool = False, transpose: bool = False
) -> Any:
    """The row and column of each element, from where rows begin and the columns."""
    numbers: Any = arange(crow_indices.numel() - 1)
    rows = numbers.repeat_interleave(crow_indices.diff())
    pair = stack([col_indices, rows] if transpose else [rows, col_indices])
    return pair.int() if out_int32 else pair


# ---- what PyTorch has removed, and says so when it is called ----


def _removed(name: str, instead: str) -> Callable[..., NoReturn]:
    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"torch.{name} was removed from PyTorch; use torch.linalg.{instead}")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Removed from PyTorch in favour of torch.linalg.{instead}."
    return call


_REMOVED = {
    "eig": "eig",
    "lstsq": "lstsq",
    "matrix_rank": "matrix_rank",
    "solve": "solve",
    "symeig": "eigh",
}

FUNCTIONS: dict[str, Any] = {
    each.__name__: each
    for each in (
        _amp_foreach_non_finite_check_and_unscale_,
        _amp_update_scale_,
        _assert_async,
        _check_is_size,
        _check_tensor_all,
        _check_with,
        _convert_indices_from_coo_to_csr,
        _convert_indices_from_csr_to_coo,
        _int_mm,
        _neg_view,
        _reshape_from_tensor,
        _shape_as_tensor,
        _weight_norm,
        is_distributed,
        native_norm,
        set_vital,
    )
}
OF_TYPES: dict[str, Any] = {each.__name__: _shown(each) for each in (can_cast, promote_types)}
FUNCTIONS |= OF_TYPES
FUNCTIONS |= {name: _removed(name, instead) for name, instead in _REMOVED.items()}
