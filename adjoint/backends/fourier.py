"""Fourier transforms for NumPy, over one axis after the other, so that threads share the rows.

Many rows of single precision are transformed by a loop of the wheel, others by SciPy's functions,
which take half the time of NumPy's; these are called where SciPy is not installed.
"""

import functools
import importlib
import math
from typing import Any

import numpy as np

from adjoint.backends.loops import written
from adjoint.backends.namespace import Namespace
from adjoint.backends.shared_rows import by_rows

SHARED = 1 << 17  # elements from which rows are worth a thread of Python's
_FEW = 4  # rows that would leave most of a vector empty
_LONG = 1 << 13  # elements of a row, which are in the cache eight times
_FACTOR = 256  # above which a factor of a length takes too many products


@functools.lru_cache(maxsize=256)
def _is_product(size: int) -> bool:
    """Whether a length is not too large for the loop, and nor is any factor of it."""
    left = size
    for factor in range(2, min(_FACTOR, size + 1)):
        while left % factor == 0:
            left //= factor
    return 1 < size <= _LONG and left == 1


@functools.lru_cache(maxsize=64)
def _roots(size: int, inverse: bool) -> Any:
    """All powers of a root of unity; shared, so never written to."""
    angles = np.arange(size) * (2j * np.pi / size)
    return np.exp(angles if inverse else -angles).astype(np.complex64)


@functools.lru_cache(maxsize=256)
def _scale(size: int, norm: str, inverse: bool) -> Any:
    """What a transform is multiplied by; shared, so never written to."""
    if norm == "ortho":
        return np.float32(1 / math.sqrt(size))
    return np.float32(1 / size if inverse == (norm == "backward") else 1)


def _by_loop(name: str, array: Any, size: int, axis: int, norm: str) -> Any:
    """A transform of rows by a loop of the wheel; None where none applies."""
    kind, inverse = array.dtype.char, name in ("ifft", "irfft")
    loop = _loop(name, kind)
    if loop is None or array.size < _FEW * array.shape[axis] or not _is_product(size):
        return None
    shape = list(array.shape)
    shape[axis] = size // 2 + 1 if name == "rfft" else size
    out = np.empty(shape, np.float32 if name == "irfft" else np.complex64)
    turned = kind == "f" and name == "ifft"  # the loop for real numbers goes forth
    given = array.astype(np.complex64) if kind == "f" and name == "irfft" else array
    roots, scale = _roots(size, inverse and not turned), _scale(size, norm, inverse)
    loop(given.swapaxes(axis, -1), roots, scale, out=out.swapaxes(axis, -1))
    return np.conjugate(out, out=out) if turned else out


def _loop(name: str, kind: str) -> Any:
    """The loop of a transform for a type, by its letter; None where there is none."""
    if kind not in "fF":
        return None
    if name == "irfft":
        return written("fourier_to_real")
    return written("fourier_to_half" if kind == "f" else "fourier")


def _is_small(array: Any, axes: Any) -> bool:
    """Whether one call of a library for several axes is what takes least time."""
    return len(axes) > 1 and array.size < SHARED and _loop("fft", array.dtype.char) is None


class Transforms:
    """The transforms that NumPy's namespace has."""

    def __init__(self, library: Any) -> None:
        self.library = library

    def fftn(self, array: Any, s: Any, axes: Any, norm: str) -> Any:
        """The transform over each of some axes."""
        if _is_small(array, axes):
            return self.library.fftn(array, s, axes, norm)
        return self._over("fft", array, s, axes, norm)

    def ifftn(self, array: Any, s: Any, axes: Any, norm: str) -> Any:
        """Its inverse."""
        if _is_small(array, axes):
            return self.library.ifftn(array, s, axes, norm)
        return self._over("ifft", array, s, axes, norm)

    def rfftn(self, array: Any, s: Any, axes: Any, norm: str) -> Any:
        """The transform of real numbers: of the last axis only the half that says all."""
        if _is_small(array, axes):
            return self.library.rfftn(array, s, axes, norm)
        half = self._along("rfft", array, s[-1], axes[-1], norm)
        return self._over("fft", half, s[:-1], axes[:-1], norm)

    def irfftn(self, array: Any, s: Any, axes: Any, norm: str) -> Any:
        """Its inverse."""
        if _is_small(array, axes):
            return self.library.irfftn(array, s, axes, norm)
        half = self._over("ifft", array, s[:-1], axes[:-1], norm)
        return self._along("irfft", half, s[-1], axes[-1], norm)

    def _over(self, name: str, array: Any, s: Any, axes: Any, norm: str) -> Any:
        for size, axis in zip(reversed(s), reversed(axes)):
            array = self._along(name, array, size, axis, norm)
        return array

    def _along(self, name: str, array: Any, size: int, axis: int, norm: str) -> Any:
        found = _by_loop(name, array, size, axis, norm)
        if found is not None:
            return found
        function = functools.partial(getattr(self.library, name), n=size, axis=axis, norm=norm)
        shape = list(array.shape)
        shape[axis] = size // 2 + 1 if name == "rfft" else size
        real = np.float32 if array.dtype.char in "fF" else np.float64
        kind = real if name == "irfft" else np.result_type(real, np.complex64)
        if array.dtype.char not in "fdFD" or not math.prod(shape):
            return function(array)
        return by_rows(function, array, axis, shape, kind, SHARED)


@functools.cache
def transforms() -> Any:
    """Those over SciPy's, or over NumPy's where it is not installed."""
    try:
        return Transforms(importlib.import_module("scipy.fft"))
    except ImportError:
        return Transforms(np.fft)


class FourierKernels(Namespace):
    """What NumPy's namespace answers to `fft`."""

    @property
    def fft(self) -> Any:
        """Imported when it is first used."""
        return transforms()
