"""Where values lie among sorted ones, for NumPy: nearly by arithmetic, the rest by comparing.

The span of what is sorted is divided into cells. A greater number never lies in an earlier cell, so
the cell of a value says between which places it belongs; these are few, and compared one by one.
"""

from typing import Any

import numpy as np

from adjoint.backends.error_state import quiet
from adjoint.backends.namespace import Namespace

_MANY = 4096  # values from which it pays
_CELLS = 16  # for each sorted number
_MOST_CELLS = 1 << 16
_FEW = 40  # sorted numbers that are compared with all values sooner than cells are found
_MOST_STEPS = 8  # from a cell's first place to the one that is sought


def _cells(array: Any, start: Any, scale: Any, count: int) -> Any:
    """The number of the cell that each element lies in; outside, of the nearest."""
    places = (array - start) * scale
    np.maximum(places, 0, out=places)
    np.minimum(places, count - 1, out=places)
    return places.astype(np.int64)


def _can_be_placed(ordered: Any, values: Any) -> bool:
    """Whether numbers can be found by cells: many finite ones of one floating type."""
    if type(ordered) is not np.ndarray or type(values) is not np.ndarray:
        return False
    if ordered.dtype.char not in "fd" or values.dtype != ordered.dtype:
        return False
    if values.size < _MANY or ordered.ndim != 1 or len(ordered) < 2:
        return False
    span = ordered[-1] - ordered[0] if np.isfinite(ordered[0]) else 0
    # Cells must have some width; and a NaN lies in none.
    return bool(0 < span < np.inf and span / _MOST_CELLS > 0 and not np.isnan(np.min(values)))


def _counted(ordered: Any, values: Any, side: str) -> Any:
    """What NumPy's searchsorted answers for few sorted numbers: how many lie before each value."""
    compare = np.greater_equal if side == "right" else np.greater
    values = np.ascontiguousarray(values)
    found, before = np.zeros(values.shape, np.int8), np.empty(values.shape, np.bool_)
    for each in ordered:
        np.add(found, compare(values, each, out=before).view(np.int8), out=found)
    return found.astype(np.int64)


def _places(ordered: Any, values: Any, side: str) -> Any:
    """What NumPy's searchsorted answers; None where too many are in one cell."""
    count = min(_CELLS * len(ordered), _MOST_CELLS)
    scale = values.dtype.type(count) / (ordered[-1] - ordered[0])
    if not np.isfinite(scale):
        return None
    filled = np.bincount(_cells(ordered, ordered[0], scale, count), minlength=count)
    steps = int(filled.max())
    if steps > _MOST_STEPS:
        return None
    starts = np.cumsum(filled) - filled
    found = starts.take(_cells(values.reshape(-1), ordered[0], scale, count))
    ended = np.append(ordered, ordered.dtype.type(np.nan))  # which nothing is beyond
    compare = np.greater_equal if side == "right" else np.greater
    for _ in range(steps):
        found += compare(values.reshape(-1), ended.take(found))
    return found.reshape(values.shape)


class SearchKernels(Namespace):
    """What NumPy's namespace answers about places among sorted numbers."""

    def searchsorted(self, ordered: Any, values: Any, side: Any = "left") -> Any:
        """NumPy's own, which goes by halves, and guesses half of them wrong."""
        with quiet():  # what is far away may be too large to be divided into cells
            found = None
            if _can_be_placed(ordered, values):
                few = len(ordered) <= _FEW
                found = (_counted if few else _places)(ordered, values, side)
        return np.searchsorted(ordered, values, side=side) if found is None else found
