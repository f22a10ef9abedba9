"""What NumPy does to each row by itself: threads share the rows of many.

Rows are sorted by the same functions whatever number of threads there is.
"""

import functools
import math
from typing import Any

import numpy as np

from adjoint.backends.namespace import Namespace
from adjoint.backends.threads import helpers, shared

LEAST = 1 << 16  # elements from which rows that are sorted are worth a thread


def by_rows(
    function: Any, array: Any, axis: int, shape: Any, dtype: Any, least: int = LEAST
) -> Any:
    """What a function along an axis answers, of a shape and type that are known before."""
    others = [d for d in range(array.ndim) if d != axis % array.ndim]
    across = max(others, key=lambda d: array.shape[d], default=None)
    size = max(array.size, math.prod(shape))
    if helpers.allowed < 2 or size < least or across is None or array.shape[across] < 2:
        return function(array)
    out, before = np.empty(shape, dtype), (slice(None),) * across
    step = -(-array.shape[across] // (2 * helpers.allowed))

    def compute(start: int) -> None:
        part = (*before, slice(start, start + step))
        out[part] = function(array[part])

    shared(compute, [*range(0, array.shape[across], step)])
    return out


def by_parts(function: Any, *arrays: Any) -> Any:
    """What an elementwise function answers that takes long: its parts are called by Python.

    SciPy's may raise an error, or warn, which is heard in the thread of a part.
    """
    large = max(arrays, key=np.size)
    if helpers.allowed < 2 or np.size(large) < LEAST:
        return function(*arrays)
    for each in arrays:
        if np.ndim(each) and (each.shape != large.shape or not each.flags.c_contiguous):
            return function(*arrays)
    flat = [each.reshape(-1) if np.ndim(each) else each for each in arrays]
    nothing = function(*[each[:0] if np.ndim(each) else each for each in flat])
    out, step = np.empty(large.size, nothing.dtype), -(-large.size // (2 * helpers.allowed))

    def compute(start: int) -> None:
        part = slice(start, start + step)
        out[part] = function(*[each[part] if np.ndim(each) else each for each in flat])

    shared(compute, [*range(0, large.size, step)])
    return out.reshape(large.shape)


class SharedRows(Namespace):
    """What NumPy's namespace answers by rows."""

    def argsort(self, array: Any, axis: int = -1, **options: Any) -> Any:
        """NumPy's own, of many rows by parts."""
        function = functools.partial(np.argsort, axis=axis, **options)
        return by_rows(function, array, axis, array.shape, np.intp)

    def argpartition(self, array: Any, kth: Any, axis: int = -1) -> Any:
        """See argsort."""
        function = functools.partial(np.argpartition, kth=kth, axis=axis)
        return by_rows(function, array, axis, array.shape, np.intp)

    def sorted_values(self, array: Any, axis: int) -> Any:
        return by_rows(functools.partial(np.sort, axis=axis), array, axis, array.shape, array.dtype)
