"""Convolutions of each channel by itself, for NumPy: columns of flat images, times a filter each.

In a flat padded image, what one place of all windows sees is a slice, which is long, and so is
copied fast. What belongs to windows that would begin in one row and end in the next is computed
too, and not taken.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.backends.convolution import Layout, Sizes, padded

BLOCK = 1 << 18  # elements of columns at a time


def is_apart(layout: Layout, channels: int, filters: int) -> bool:
    """Whether each channel has a filter of its own, and each place a window."""
    return 1 < layout.groups == channels == filters and set(layout.stride) == {1}


def offsets_of(layout: Layout, sizes: Sizes) -> list[int]:
    """How far each place of a window lies behind its first, in a flat image."""
    found = [0]
    for width, dilation, size in zip(layout.kernel, layout.dilation, sizes):
        found = [size * offset + place * dilation for offset in found for place in range(width)]
    return found


class FlatImages:
    """Padded images whose windows have a filter for each channel."""

    def __init__(self, images: Any, layout: Layout, space: Any) -> None:
        self.counts = layout.counts(images.shape[2:])
        self.inner = (slice(None), *[slice(count) for count in self.counts])
        images = padded(images, layout.padding, space)
        self.batch, self.channels, *self.sizes = images.shape
        self.size = math.prod(self.sizes)
        self.flat = images.reshape(self.batch, self.channels, self.size)
        self.offsets = offsets_of(layout, tuple(self.sizes))
        self.length = self.size - self.offsets[-1]
        self.space = space

    def pieces(self) -> Iterator[tuple[int, slice]]:
        """A sample, and some channels whose columns fit the cache."""
        step = max(1, BLOCK // max(1, self.size * len(self.offsets)))
        for sample in range(self.batch):
            for start in range(0, self.channels, step):
                yield sample, slice(start, min(start + step, self.channels))

    def columns(self, piece: tuple[int, slice]) -> Any:
        """What each place of all windows sees, of (channels, places, windows)."""
        source = self.flat[piece]
        columns = self.space("columns", (len(source), len(self.offsets), self.length))
        for place, offset in enumerate(self.offsets):
            columns[:, place] = source[:, offset : offset + self.length]
        return columns

    def convolve(self, weight: Any) -> Any:
        """Each channel's filter times each of its windows."""
        filters = np.ascontiguousarray(weight).reshape(self.channels, 1, -1)  # else not by BLAS
        out = np.empty((self.batch, self.channels, *self.counts), self.flat.dtype)
        for piece in self.pieces():
            columns = self.columns(piece)
            whole = self.space("product", (len(columns), 1, self.size))
            np.matmul(filters[piece[1]], columns, out=whole[..., : self.length])
            out[piece] = whole.reshape(-1, *self.sizes)[self.inner]
        return out

    def filters(self, grad: Any) -> Any:
        """The gradient of the filters, of (channels, 1, places of a window)."""
        total = np.zeros((self.channels, 1, len(self.offsets)), grad.dtype)
        for piece in self.pieces():
            columns = self.columns(piece)
            whole = self.space("product", (len(columns), 1, self.size))
            whole[...] = 0
            whole.reshape(-1, *self.sizes)[self.inner] = grad[piece]
            total[piece[1]] += np.matmul(whole[..., : self.length], columns.swapaxes(1, 2))
        return total
