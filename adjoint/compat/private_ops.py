"""Private and old spellings of operations that adjoint has under a public name."""

from typing import Any

from adjoint.ops.sorting import unique
from adjoint.tensor import Tensor


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
