"""What NumPy and SciPy do to each row by itself, for NumPy: threads share the rows of many.

Rows are sorted, and transformed, by the same functions whatever number of threads there is; a
large transform over several axes is one over each of them, so that it has rows too.
"""

import functools
import math
from typing import Any

import numpy as np

from adjoint.backends.namespace import Namespace
from adjoint.backends.threads import helpers, shared

LEAST = 1 << 16  # elements from which rows that are sorted are worth a thread
LONG = 1 << 17  # the same, of rows that are transformed


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

    @property
    def fft(self) -> Any:
        """Imported when it is first used."""
        return transforms()

    def argsort(self, array: Any, axis: int = -1, **options: Any) -> Any:
        """NumPy's own, of many rows by parts."""
        function = functools.partial(np.argsort, axis=axis, **options)
        return by_rows(function, array, axis, array.shape, np.intp)

    def argpartition(self, array: Any, kth: Any, axis: int = -1) -> Any:
        """See argsort."""
        function = functools.partial(np.argpartition, kth=kth, axis=axis)
        return by_rows(function, array, axis, array.shape, np.intp)


class Transforms:
    """SciPy's transforms over rows, which take half the time of NumPy's, as those of all axes."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def fftn(self, array: Any, s: Any, axes: Any, norm: str) -> Any:
        """The transform over each of some axes."""
        if len(axes) > 1 and array.size < LONG:
            return self.library.fftn(array, s, axes, norm)
        return self._over("fft", array, s, axes, norm)

    def ifftn(self, array: Any, s: Any, axes: Any, norm: str) -> Any:
        """Its inverse."""
        if len(axes) > 1 and array.size < LONG:
            return self.library.ifftn(array, s, axes, norm)
        return self._over("ifft", array, s, axes, norm)

    def rfftn(self, array: Any, s: Any, axes: Any, norm: str) -> Any:
        """The transform of real numbers: of the last axis only the half that says all."""
        if len(axes) > 1 and array.size < LONG:
            return self.library.rfftn(array, s, axes, norm)
        half = self._along("rfft", array, s[-1], axes[-1], norm)
        return self._over("fft", half, s[:-1], axes[:-1], norm)

    def irfftn(self, array: Any, s: Any, axes: Any, norm: str) -> Any:
        """Its inverse."""
        if len(axes) > 1 and array.size < LONG:
            return self.library.irfftn(array, s, axes, norm)
        half = self._over("ifft", array, s[:-1], axes[:-1], norm)
        return self._along("irfft", half, s[-1], axes[-1], norm)

    def _over(self, name: str, array: Any, s: Any, axes: Any, norm: str) -> Any:
        for size, axis in zip(reversed(s), reversed(axes)):
            array = self._along(name, array, size, axis, norm)
        return array

    def _along(self, name: str, array: Any, size: int, axis: int, norm: str) -> Any:
        function = functools.partial(getattr(self.library, name), n=size, axis=axis, norm=norm)
        shape = list(array.shape)
        shape[axis] = size // 2 + 1 if name == "rfft" else size
        real = np.float32 if array.dtype.char in "fF" else np.float64
        kind = real if name == "irfft" else np.result_type(real, np.complex64)
        if array.dtype.char not in "fdFD" or not math.prod(shape):
            return function(array)
        return by_rows(function, array, axis, shape, kind, LONG)


@functools.cache
def transforms() -> Any:
    """SciPy's transforms; NumPy's where it is not installed."""
    try:
        import scipy.fft
    except ImportError:
        return np.fft
    return Transforms(scipy.fft)
