"""Reductions: sums, products, extremes, statistics, cumulative and sorted results."""

from typing import Any

from adjoint.dtypes import as_dtype
from adjoint.ops.dims import kept_shape, normal_dims
from adjoint.ops.op import linear
from adjoint.ops.shape import expand, reshape


def expand_reduced(grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a reduced result, spread over what was reduced."""
    if not keepdim:
        grad = reshape(grad, kept_shape(shape, dim))
    return expand(grad, tuple(shape))


@linear(
    input=lambda grad, input_shape, dim, keepdim: expand_reduced(grad, input_shape, dim, keepdim)
)
def sum(xp: Any, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sum over dim, or over everything."""
    if dtype is not None:
        input = input.astype(as_dtype(dtype).numpy_dtype)
    elif input.dtype.kind in "biu":
        input = input.astype("int64")
    return xp.sum(input, axis=normal_dims(dim, input.ndim), keepdims=keepdim, dtype=input.dtype)
