"""Convolutions for libraries that have none: windows copied to columns, and one matrix product.

Images are (batch, channels, *sizes), filters (filters, channels / groups, *sizes). Padding is a
pair for each size, what to add before and after; a negative number takes away. The batch is worked
on in blocks, so that the columns of one stay in the cache.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

BLOCK = 1 << 18  # elements of columns at a time
Sizes = tuple[int, ...]


class Layout:
    """How windows lie over images: the arguments all three products share."""

    def __init__(
        self, kernel: Sizes, stride: Sizes, padding: Any, dilation: Sizes, groups: int
    ) -> None:
        self.kernel = kernel
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups

    def counts(self, sizes: Sizes) -> Sizes:
        """How many windows there are along each size of an image."""
        return tuple(
            (size + sum(extra) - step * (width - 1) - 1) // stride + 1
            for size, extra, width, stride, step in zip(
                sizes, self.padding, self.kernel, self.stride, self.dilation
            )
        )

    def is_plain(self) -> bool:
        """Whether each window is one place, and all places have one."""
        plain = all(n == 1 for n in (*self.kernel, *self.stride))
        return plain and not any(map(any, self.padding))

    def windows(self, xp: Any, images: Any, counts: Sizes) -> Any:
        """A view of shape (batch, channels, *kernel, *counts)."""
        images = padded(xp, images, self.padding)
        steps = images.strides[2:]
        return xp.lib.stride_tricks.as_strided(
            images,
            (*images.shape[:2], *self.kernel, *counts),
            (
                *images.strides[:2],
                *[step * n for step, n in zip(steps, self.dilation)],
                *[step * n for step, n in zip(steps, self.stride)],
            ),
        )

    def targets(self, counts: Sizes) -> Iterator[tuple[Sizes, tuple[slice, ...]]]:
        """Each place in a window, and where in a padded image it lies for all windows."""
        for place in itertools.product(*map(range, self.kernel)):
            yield (
                place,
                tuple(
                    slice(start * step, start * step + (count - 1) * stride + 1, stride)
                    for start, step, count, stride in zip(place, self.dilation, counts, self.stride)
                ),
            )


def padded(xp: Any, images: Any, padding: Any) -> Any:
    """Images with zeros around them, or themselves where there is nothing to add."""
    if not any(map(any, padding)):
        return images
    sizes = images.shape[2:]
    wide = [size + before + after for size, (before, after) in zip(sizes, padding)]
    kept = [slice(0, size + min(after, 0)) for size, (_, after) in zip(sizes, padding)]
    inner = [
        slice(before, before + size + min(after, 0))
        for size, (before, after) in zip(sizes, padding)
    ]
    out = xp.zeros((*images.shape[:2], *wide), images.dtype)
    out[(Ellipsis, *inner)] = images[(Ellipsis, *kept)]
    return out


def _blocks(batch: int, columns: int) -> Iterator[slice]:
    step = max(1, BLOCK // max(columns, 1))
    return (slice(start, min(start + step, batch)) for start in range(0, batch, step))


def _columns(xp: Any, windows: Any, block: slice, groups: int, places: int) -> Any:
    """The windows of a block as (groups, elements of a window, windows)."""
    part = windows[block]
    part = part[0] if len(part) == 1 else xp.moveaxis(part, 0, windows.ndim // 2)
    part = xp.ascontiguousarray(part)
    return part.reshape(groups, -1, (block.stop - block.start) * places)


def _side_by_side(xp: Any, images: Any, block: slice) -> Any:
    """A block of (batch, groups, channels, places) as (groups, channels, batch * places)."""
    part = images[block]
    if len(part) == 1:
        return part[0]
    return xp.moveaxis(part, 0, 2).reshape(*part.shape[1:3], -1)


def convolve(xp: Any, images: Any, weight: Any, layout: Layout) -> Any:
    """Each filter's product with each window of the images."""
    batch, groups = images.shape[0], layout.groups
    counts = layout.counts(images.shape[2:])
    places = math.prod(counts)
    bank = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    shape = (batch, weight.shape[0], *counts)
    if layout.is_plain():
        return xp.matmul(bank, images.reshape(batch, groups, bank.shape[2], places)).reshape(shape)
    windows = layout.windows(xp, images, counts)
    out = xp.empty((batch, *bank.shape[:2], places), images.dtype)
    for block in _blocks(batch, groups * bank.shape[2] * places):
        columns = _columns(xp, windows, block, groups, places)
        if len(out[block]) == 1:
            xp.matmul(bank, columns, out=out[block.start])
        else:
            product = xp.matmul(bank, columns).reshape(*bank.shape[:2], -1, places)
            out[block] = xp.moveaxis(product, 2, 0)
    return out.reshape(shape)


def convolve_filters(xp: Any, images: Any, grad: Any, layout: Layout) -> Any:
    """The gradient of convolve's filters."""
    batch, channels = images.shape[:2]
    filters, groups = grad.shape[1], layout.groups
    counts = grad.shape[2:]
    places = math.prod(counts)
    width = channels // groups * math.prod(layout.kernel)
    windows = layout.windows(xp, images, counts)
    grad = grad.reshape(batch, groups, filters // groups, places)
    total = xp.zeros((groups, filters // groups, width), images.dtype)
    for block in _blocks(batch, groups * width * places):
        columns = _columns(xp, windows, block, groups, places)
        total += xp.matmul(_side_by_side(xp, grad, block), columns.swapaxes(-1, -2))
    return total.reshape(filters, channels // groups, *layout.kernel)


def convolve_back(xp: Any, grad: Any, weight: Any, sizes: Sizes, layout: Layout) -> Any:
    """The gradient of convolve's images, which are of `sizes`; a transposed convolution."""
    batch, groups, counts = grad.shape[0], layout.groups, grad.shape[2:]
    channels = weight.shape[1] * groups
    places = math.prod(counts)
    bank = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(1, 2)
    grad = grad.reshape(batch, groups, weight.shape[0] // groups, places)
    if layout.is_plain() and counts == sizes:
        return xp.matmul(bank, grad).reshape(batch, channels, *sizes)
    reach = [size + before + max(after, 0) for size, (before, after) in zip(sizes, layout.padding)]
    whole = xp.zeros((batch, channels, *reach), grad.dtype)
    for block in _blocks(batch, groups * bank.shape[1] * places):
        columns = xp.matmul(bank, _side_by_side(xp, grad, block))
        columns = columns.reshape(channels, *layout.kernel, -1, *counts)
        for place, target in layout.targets(counts):
            part = whole[(block, slice(None), *target)]
            part += columns[(slice(None), *place)].swapaxes(0, 1)
    inner = [slice(before, before + size) for size, (before, _) in zip(sizes, layout.padding)]
    return xp.ascontiguousarray(whole[(Ellipsis, *inner)])


class Convolutions:
    """The three products, for the namespace of a library with strides."""

    library: Any

    def convolve(self, images: Any, weight: Any, layout: Layout) -> Any:
        """Each filter's product with each window of the images."""
        return convolve(self.library, images, weight, layout)

    def convolve_filters(self, images: Any, grad: Any, layout: Layout) -> Any:
        """The gradient of convolve's filters."""
        return convolve_filters(self.library, images, grad, layout)

    def convolve_back(self, grad: Any, weight: Any, sizes: Sizes, layout: Layout) -> Any:
        """The gradient of convolve's images, which are of `sizes`."""
        return convolve_back(self.library, grad, weight, sizes, layout)
