"""torch.nn._reduction: what becomes of the losses of a batch, as a number or a word."""

import warnings
from typing import Any

from adjoint.ops.neural.losses import (
    REDUCTIONS,
    check_reduction,
    old_reduction,
    warn_of_old_reduction,
)


def get_enum(reduction: str) -> int:
    """The number that aten's losses have for a reduction."""
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated; write 'mean'", stacklevel=2)
        reduction = "mean"
    check_reduction(reduction)
    return REDUCTIONS.index(reduction)


def legacy_get_string(size_average: Any, reduce: Any, emit_warning: bool = True) -> str:
    """The reduction that is meant by the two arguments it replaced."""
    meant = old_reduction(size_average, reduce)
    if emit_warning:
        warn_of_old_reduction(meant, 2)
    return meant


def legacy_get_enum(size_average: Any, reduce: Any, emit_warning: bool = True) -> int:
    """The number of the reduction that is meant by the two arguments it replaced."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
