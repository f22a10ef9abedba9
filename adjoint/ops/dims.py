"""Dimensions as users give them, and what reductions and views do with them."""

import operator
from collections.abc import Sequence
from typing import Any


def normal_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front; a 0-d tensor has dimensions -1 and 0, as in PyTorch."""
    number = operator.index(dim)
    span = max(ndim, 1)
    if not -span <= number < span:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], "
            f"but got {number})"
        )
    return number % span


def normal_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """Several dimensions counted from the front; None or () means all."""
    if dim is None:
        return tuple(range(ndim))
    if not isinstance(dim, Sequence):
        return (normal_dim(dim, ndim),) if ndim else ()
    if not dim:
        return tuple(range(ndim))
    dims = tuple(normal_dim(d, ndim) for d in dim)
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"a dimension appears multiple times in the list of dims {tuple(dim)}")
    return dims if ndim else ()


def kept_shape(shape: Sequence[int], dim: Any) -> tuple[int, ...]:
    """The shape after reducing dim with keepdim=True."""
    reduced = normal_dims(dim, len(shape))
    return tuple(1 if i in reduced else n for i, n in enumerate(shape))
