"""Convolutions whose windows lie side by side, for NumPy: by the loops of `loops/planes.h`.

No window is copied: filters meet slices of flat padded planes. Samples are worked on in pieces that
stay in the cache; threads share the calls of the loops, which know of several pieces.
"""

import math
from typing import Any

import numpy as np

from adjoint.backends.apart import offsets_of
from adjoint.backends.convolution import Layout, places_inside, wide_sizes
from adjoint.backends.error_state import quiet
from adjoint.backends.loops import written
from adjoint.backends.threads import helpers
from adjoint.backends.turning import turned_into

PIECE = 1 << 16  # elements of images at a time
VECTOR = 16  # elements of the longest vector
MOST = 16  # pieces whose sums wait to be added
BANK = 8  # filters that lie side by side


def fits(images: Any, other: Any, layout: Layout) -> bool:
    """Whether there is a loop for it: floats of 32 bits, and a window at each place."""
    if images.dtype.char != "f" or other.dtype.char != "f" or set(layout.stride) != {1}:
        return False
    if written("planes") is None or not images.size or not other.size:
        return False
    counts = layout.counts(images.shape[2:])
    pitch = images.shape[-1] + sum(layout.padding[-1])
    rows = (1, *counts)[-2]
    # In planes of few places most of a vector is in vain.
    return bool(5 * rows * counts[-1] >= 3 * (-(-rows * pitch // VECTOR) * VECTOR))


def put(out: Any, array: Any) -> None:
    """Write an array; one of other order in few columns at a time, whose lines the cache holds."""
    if turned_into(out, array):
        return
    if array.strides[-1] == array.itemsize or array.shape[-1] <= VECTOR:
        out[...] = array
        return
    for start in range(0, array.shape[-1], VECTOR):
        part = (Ellipsis, slice(start, start + VECTOR))
        out[part] = array[part]


def laid(whole: Any, images: Any, starts: list[int]) -> bool:
    """Lay images or lines into zeros by a loop; False, and nothing is done, if they are others."""
    if images.ndim > 4 or not images.size or images.strides[-1] != images.itemsize:
        return False
    if images.ndim == 3:
        whole, images, starts = whole[:, :, None], images[:, :, None], [0, *starts]
    written("laid")(images, *starts, out=whole)
    return True


class Planes:
    """Images as flat padded planes, and where the elements of a window lie in them."""

    def __init__(self, images: Any, layout: Layout, space: Any) -> None:
        self.images, self.layout, self.space = images, layout, space
        self.batch, self.channels = images.shape[:2]
        self.groups = layout.groups
        self.sizes = wide_sizes(images.shape[2:], layout.padding)
        self.counts = layout.counts(images.shape[2:])
        self.size = math.prod(self.sizes)
        self.pitch = self.sizes[-1]
        self.rows = (1, *self.counts)[-2]
        elements = np.array(offsets_of(layout, self.sizes))
        own = np.arange(self.channels // self.groups) * self.size
        self.offsets = (own[:, None] + elements).reshape(-1)
        self.starts = self.starts_of_planes()

    def starts_of_planes(self) -> Any:
        """Where each plane that windows begin in starts, in a flat image."""
        starts = np.zeros(1, np.int64)
        for d, count in enumerate(self.counts[:-2]):
            step = math.prod(self.sizes[d + 1 :])
            starts = (starts[:, None] + np.arange(count) * step).reshape(-1)
        return starts

    def step(self) -> int:
        """How many samples fit the cache."""
        fitting: int = PIECE // max(1, self.channels * self.size)
        return max(1, fitting)

    def even_step(self) -> int:
        """How many samples fit the cache, in pieces of which there is an even number."""
        batch: int = self.batch
        pieces = 2 * -(-batch // (2 * self.step()))
        return max(1, -(-batch // max(1, pieces)))

    def padded(self, piece: slice) -> Any:
        """Some images with zeros around them, as (samples, groups, elements)."""
        images = self.images[piece]
        size = len(images) * self.channels * self.size
        room = self.space("padded", (size + self.pitch + VECTOR,))
        room[size:] = 0
        flat = room[:size]
        inner, kept = places_inside(images.shape[2:], self.layout.padding)
        whole, given = flat.reshape(*images.shape[:2], *self.sizes), images[kept]
        if not laid(whole, given, [place.start for place in inner[1:]]):
            if self.size != math.prod(images.shape[2:]):
                flat[...] = 0
            put(whole[inner], given)
        return flat.reshape(len(images), self.groups, -1)

    def by_planes(self, array: Any) -> Any:
        """An array of (samples, filters, *counts) as (samples, groups, planes, filters, h, w)."""
        shape = (len(array), self.groups, -1, len(self.starts), self.rows, self.counts[-1])
        return array.reshape(shape).swapaxes(2, 3)

    def bank(self, weight: Any) -> Any:
        """Filters by eight, whose elements lie side by side, as (groups, eights, elements, 8)."""
        filters = len(weight) // self.groups
        rows = weight.reshape(self.groups, filters, -1)
        if filters % BANK:
            more = -filters % BANK
            rows = np.concatenate(
                [rows, np.zeros_like(rows, shape=(len(rows), more, rows.shape[2]))], 1
            )
        eights = rows.reshape(self.groups, -1, BANK, rows.shape[2])
        return np.ascontiguousarray(eights.swapaxes(2, 3))

    def convolve(self, weight: Any) -> Any:
        """The product of each filter with each window."""
        bank = self.bank(weight)
        out = np.empty((self.batch, len(weight), *self.counts), np.float32)
        loop, planes = written("planes"), self.by_planes(out)

        step = self.step() * helpers.allowed  # a piece for each thread
        for start in range(0, self.batch, step):
            piece = slice(start, start + step)
            images = self.padded(piece)
            loop(images, self.starts, self.offsets, bank, self.pitch, out=planes[piece])
        return out

    def laid_out(self, grad: Any) -> Any:
        """Gradients of windows at the windows' places, as (samples, groups, planes, filters, n)."""
        whole, filters = self.rows * self.pitch, grad.shape[1] // self.groups
        length = -(-whole // VECTOR) * VECTOR
        rows = 1 if filters == 1 else -(-filters // 4) * 4
        room = self.space("product", (len(grad), self.groups, rows, len(self.starts), length))
        room[:, :, filters:] = 0
        room[..., whole:] = 0
        inner = room[:, :, :filters, :, :whole]
        inner = inner.reshape(*inner.shape[:4], self.rows, self.pitch)
        given = grad.reshape(*inner.shape[:5], self.counts[-1])
        if given.strides[-1] == given.itemsize:
            written("laid")(given, 0, 0, out=inner)
        else:
            inner[..., self.counts[-1] :] = 0
            put(inner[..., : self.counts[-1]], given)
        return room.swapaxes(2, 3)

    def filters(self, grad: Any) -> Any:
        """The gradient of the filters; None where infinities or NaN may have strayed."""
        each = grad.shape[1] // self.groups
        rows = 1 if each == 1 else -(-each // 4) * 4
        shape = (self.groups, rows, len(self.offsets))
        total, step, start = np.zeros(shape, np.float32), self.even_step(), 0
        at_once = 1 if helpers.allowed < 2 else 2 * helpers.allowed  # who is early takes another
        while start < self.batch:
            # Some pieces of equal length, or the rest: sums don't depend on how many are at once.
            whole = min(max(1, (self.batch - start) // step), at_once, MOST)
            length = min(step, self.batch - start)
            samples = slice(start, start + whole * length)
            parts = np.empty((whole, *shape), np.float32)
            given = [self.padded(samples), self.laid_out(grad[samples])]
            images, grads = (x.reshape(whole, length, *x.shape[1:]).swapaxes(1, 2) for x in given)
            written("planes_back")(images, self.starts, self.offsets, grads, out=parts)
            with quiet():
                for part in parts:
                    total += part
            start = samples.stop
        # A window's neighbour in the next row is multiplied by zero: harmless, if it is finite.
        if not np.isfinite(total).all():
            return None
        kernel = self.layout.kernel
        total = total[:, :each]
        return total.reshape(grad.shape[1], self.channels // self.groups, *kernel)


def convolve(images: Any, weight: Any, layout: Layout, space: Any) -> Any:
    """See Convolutions; only for what fits."""
    return Planes(images, layout, space).convolve(weight)


def convolve_filters(images: Any, grad: Any, layout: Layout, space: Any) -> Any:
    """See Convolutions; only for what fits, and None where another way must be taken."""
    return Planes(images, layout, space).filters(grad)
