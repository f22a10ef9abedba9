"""Private and old spellings of operations that adjoint has under a public name."""

import math
import warnings
from typing import Any

from adjoint.creation import arange
from adjoint.device import device
from adjoint.dtypes import get_default_dtype
from adjoint.ops.conversion import _requested as requested
from adjoint.ops.sorting import unique
from adjoint.tensor import Tensor


def range(start: float = 0, end: float | None = None, step: float = 1, **options: Any) -> Tensor:
    """arange up to and with its end, in floating point unless a dtype is given."""
    warnings.warn("torch.range is deprecated; use torch.arange", UserWarning, stacklevel=2)
    start, last = (0, start) if end is None else (start, end)
    options.setdefault("dtype", get_default_dtype())
    count = math.floor((last - start) / step) + 1
    if count < 1:
        raise RuntimeError(f"range: a step of {step} does not lead from {start} to {last}")
    made: Tensor = arange(count, **options) * step + start
    return made


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


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The device, data type, haste and memory format that arguments of `to` ask for."""
    asked = requested(args, kwargs)
    haste = bool(asked.get("non_blocking", False))
    where = None if asked.get("device") is None else device(asked["device"])
    return where, asked.get("dtype"), haste, asked.get("memory_format")
