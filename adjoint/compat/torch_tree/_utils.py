"""torch._utils: many tensors as one and apart again, and the size of an element."""

from collections.abc import Sequence
from typing import Any

from adjoint.dtypes import dtype
from adjoint.ops.arranging.shape import cat

__all__ = ["_element_size", "_flatten_dense_tensors", "_unflatten_dense_tensors"]


def _flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """The elements of all tensors, one after another."""
    return cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Parts of such a tensor, in the shapes of others."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True))


def _element_size(dtype: dtype) -> int:
    """The bytes of one element of a data type."""
    return dtype.itemsize
