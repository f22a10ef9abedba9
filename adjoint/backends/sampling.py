"""Images read between their pixels, for NumPy: by the loops of `loops/sampling.h`."""

from typing import Any

import numpy as np

from adjoint.backends.loops import written
from adjoint.backends.namespace import Namespace

_PADDINGS = ("zeros", "border", "reflection")  # by the numbers that the loops know


class SamplingKernels(Namespace):
    """What NumPy's namespace answers about places in images."""

    def sampled(self, images: Any, grid: Any, padding: str, align: bool) -> Any:
        loop = _loop("sampled", images, grid)
        if loop is None:
            return None
        out = np.empty((*images.shape[:2], *grid.shape[1:-1]), images.dtype)
        given = _channels(images), _places(grid), _settings(images, padding, align)
        loop(*given, out=_channels(out))
        return out

    def sampled_back(self, grad: Any, images: Any, grid: Any, padding: str, align: bool) -> Any:
        loop = _loop("sampled_back", images, grid, grad)
        if loop is None:
            return None
        by_images, by_grid = np.empty(images.shape, images.dtype), np.empty(grid.shape, grid.dtype)
        given = _channels(grad), _channels(images), _places(grid)
        made = _channels(by_images), _places(by_grid)
        loop(*given, _settings(images, padding, align), out=made)
        return by_images, by_grid


def _loop(name: str, *arrays: Any) -> Any:
    """The loop for some arrays of one type; None where there is none."""
    kind = arrays[0].dtype
    if kind.char not in "fd" or not all(array.dtype == kind and array.size for array in arrays):
        return None
    return written(name)


def _channels(images: Any) -> Any:
    """The pixels of each channel as a row."""
    return np.ascontiguousarray(images).reshape(*images.shape[:2], -1)


def _places(grid: Any) -> Any:
    """The places of each image as a list."""
    return np.ascontiguousarray(grid).reshape(len(grid), -1, grid.shape[-1])


def _settings(images: Any, padding: str, align: bool) -> Any:
    """The sizes of images, and what is read beyond them."""
    return np.array((*images.shape[2:], _PADDINGS.index(padding), align), np.int64)
