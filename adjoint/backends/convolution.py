"""Convolutions for libraries that have none: windows copied to columns, and one matrix product.

Images are (batch, channels, *sizes), filters (filters, channels / groups, *sizes). Padding is a
pair for each size, what to add before and after; a negative number takes away. The batch is worked
on in blocks, so that the columns of one stay in the cache. Of many channels, the windows become
rows rather than columns, with the channels of a place side by side: those are copied in long runs.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

BLOCK = 1 << 18  # elements of columns at a time
ROWS = 1 << 19  # elements of rows at a time
MANY = 16  # channels whose copy is a long run
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

    def windows(self, xp: Any, images: Any, counts: Sizes, space: Any, last: bool = False) -> Any:
        """A view of shape (batch, channels, *kernel, *counts).

        With `last`, the channels of a place lie side by side in memory.
        """
        images = padded(images, self.padding, space)
        if last:
            batch, channels, *sizes = images.shape
            copy = xp.moveaxis(space("last", (batch, *sizes, channels)), -1, 1)
            copy[...] = images
            images = copy
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

    def adjoint(self) -> "Layout":
        """How the windows of a result lie over the images' gradient, for strides of one."""
        reach = [step * (width - 1) for step, width in zip(self.dilation, self.kernel)]
        padding = [(n - before, n - after) for n, (before, after) in zip(reach, self.padding)]
        return Layout(self.kernel, self.stride, padding, self.dilation, self.groups)

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


def wide_sizes(sizes: Sizes, padding: Any) -> Sizes:
    """The sizes of padded images."""
    return tuple([size + before + after for size, (before, after) in zip(sizes, padding)])


def places_inside(sizes: Sizes, padding: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Where in padded images something of the images is, and what of them that is."""
    inner, kept = [], []
    for size, (before, after) in zip(sizes, padding):
        kept.append(slice(max(-before, 0), size + min(after, 0)))
        start = max(before, 0)
        inner.append(slice(start, max(start, before + size + min(after, 0))))
    return (Ellipsis, *inner), (Ellipsis, *kept)


def padded(images: Any, padding: Any, space: Any) -> Any:
    """Images with zeros around them, or themselves where there is nothing to add."""
    if not any(map(any, padding)):
        return images
    sizes = images.shape[2:]
    out = space("padded", (*images.shape[:2], *wide_sizes(sizes, padding)))
    inner, kept = places_inside(sizes, padding)
    out[...] = 0
    out[inner] = images[kept]
    return out


class Piece:
    """Some samples, or some rows of one, whose windows make as many columns as the caches hold."""

    def __init__(self, samples: slice, rows: slice, counts: Sizes) -> None:
        self.samples = samples
        self.rows = rows
        self.counts = (rows.stop - rows.start, *counts[1:])
        self.batch = samples.stop - samples.start
        inner = math.prod(counts[1:])
        self.places = slice(rows.start * inner, rows.stop * inner)

    def windows(self, xp: Any, windows: Any, shape: tuple[int, ...], space: Any) -> Any:
        """The windows of this piece as columns of (groups, elements of a window, windows)."""
        count = len(self.counts)
        part = windows[(self.samples, *[slice(None)] * (count + 1), self.rows)]
        columns = space("columns", (*part.shape[1 : count + 2], self.batch, *self.counts))
        columns[...] = xp.moveaxis(part, 0, count + 1)
        return columns.reshape(shape)

    def rows_of(self, windows: Any, groups: int, space: Any) -> Any:
        """The windows of this piece as rows of (groups, windows, elements of a window)."""
        count = len(self.counts)
        part = windows[(self.samples, *[slice(None)] * (count + 1), self.rows)]
        part = part.reshape(self.batch, groups, -1, *part.shape[2:])
        order = (1, 0, *range(3 + count, 3 + 2 * count), *range(3, 3 + count), 2)
        part = part.transpose(order)
        rows = space("columns", part.shape)
        rows[...] = part
        return rows.reshape(groups, self.batch * math.prod(self.counts), -1)

    def side_by_side(self, xp: Any, images: Any) -> Any:
        """Of images of (batch, groups, channels, places), (groups, channels, batch * places)."""
        part = images[(self.samples, slice(None), slice(None), self.places)]
        if self.batch == 1:
            return part[0]
        return xp.moveaxis(part, 0, 2).reshape(*part.shape[1:3], -1)


def pieces(
    batch: int, counts: Sizes, width: int, few: bool = False, block: int = BLOCK
) -> Iterator[Piece]:
    """All windows of a batch, in pieces of `block`; each window has `width` elements.

    With `few`, samples whose own windows make an efficient product are not taken together.
    """
    places = math.prod(counts)
    each = max(1, width * places)
    step = 1 if few and places >= 256 else max(1, block // each)
    rows = counts[0] if each <= block else max(1, block * counts[0] // each)
    for start in range(0, batch, step):
        samples = slice(start, min(start + step, batch))
        for row in range(0, counts[0], rows):
            yield Piece(samples, slice(row, min(row + rows, counts[0])), counts)


def convolve(xp: Any, images: Any, weight: Any, layout: Layout, space: Any) -> Any:
    """Each filter's product with each window of the images."""
    batch, groups = images.shape[0], layout.groups
    counts = layout.counts(images.shape[2:])
    places = math.prod(counts)
    bank = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    shape = (batch, weight.shape[0], *counts)
    if layout.is_plain():
        flat = images.reshape(batch, groups, bank.shape[2], places)
        return xp.matmul(bank, flat).reshape(shape)
    out = xp.empty((batch, *bank.shape[:2], places), images.dtype)
    # Rows give results with channels side by side, too; to turn many around is dear.
    if weight.shape[1] >= MANY and bank.shape[1] <= 2 * weight.shape[1]:
        convolve_rows(xp, images, weight, layout, space, out)
        return out.reshape(shape)
    windows = layout.windows(xp, images, counts, space)
    for piece in pieces(batch, counts, groups * bank.shape[2], few=True):
        columns = piece.windows(xp, windows, (groups, bank.shape[2], -1), space)
        target = out[(piece.samples, slice(None), slice(None), piece.places)]
        if piece.batch == 1:
            xp.matmul(bank, columns, out=target[0])
        else:
            made = space("product", (*bank.shape[:2], piece.batch, places))
            xp.matmul(bank, columns, out=made.reshape(*bank.shape[:2], -1))
            target[...] = xp.moveaxis(made, 2, 0)
    return out.reshape(shape)


def convolve_rows(xp: Any, images: Any, weight: Any, layout: Layout, space: Any, out: Any) -> None:
    """convolve for many channels, into `out` of (batch, groups, filters / groups, places)."""
    batch, groups, filters = out.shape[:3]
    counts = layout.counts(images.shape[2:])
    windows = layout.windows(xp, images, counts, space, last=True)
    bank = xp.moveaxis(weight, 1, -1).reshape(groups, filters, math.prod(weight.shape[1:]))
    bank = xp.ascontiguousarray(bank.swapaxes(1, 2))
    for piece in pieces(batch, counts, groups * bank.shape[1], block=ROWS):
        rows = piece.rows_of(windows, groups, space)
        made = space("product", (*rows.shape[:2], filters))
        xp.matmul(rows, bank, out=made)
        target = out[(piece.samples, slice(None), slice(None), piece.places)]
        target[...] = made.reshape(groups, piece.batch, target.shape[3], filters).transpose(
            1, 0, 3, 2
        )


def convolve_filters(xp: Any, images: Any, grad: Any, layout: Layout, space: Any) -> Any:
    """The gradient of convolve's filters."""
    batch, channels = images.shape[:2]
    filters, groups, counts = grad.shape[1], layout.groups, grad.shape[2:]
    width = channels // groups * math.prod(layout.kernel)
    many = channels // groups >= MANY
    windows = layout.windows(xp, images, counts, space, last=many)
    places = math.prod(counts)
    grad = grad.reshape(batch, groups, filters // groups, places)
    total = xp.zeros((groups, filters // groups, width), images.dtype)
    few, block = (False, ROWS) if many else (width <= places, BLOCK)
    for piece in pieces(batch, counts, groups * width, few, block):
        if many:
            rows = piece.rows_of(windows, groups, space)
        else:
            columns = piece.windows(xp, windows, (groups, width, -1), space)
            rows = columns.swapaxes(-1, -2)
        made = space("product", total.shape)
        xp.matmul(piece.side_by_side(xp, grad), rows, out=made)
        total += made
    if many:
        whole = total.reshape(filters, *layout.kernel, channels // groups)
        return xp.ascontiguousarray(xp.moveaxis(whole, -1, 1))
    return total.reshape(filters, channels // groups, *layout.kernel)


def turned(xp: Any, weight: Any, groups: int) -> Any:
    """The filters of the adjoint of a convolution of strides of one, which is a convolution too."""
    filters, channels, *kernel = weight.shape
    swapped = weight.reshape(groups, filters // groups, channels, *kernel).swapaxes(1, 2)
    return xp.flip(swapped.reshape(groups * channels, -1, *kernel), tuple(range(2, weight.ndim)))


def convolve_back(xp: Any, grad: Any, weight: Any, sizes: Sizes, layout: Layout, space: Any) -> Any:
    """The gradient of convolve's images, which are of `sizes`; a transposed convolution."""
    batch, groups, counts = grad.shape[0], layout.groups, grad.shape[2:]
    channels = weight.shape[1] * groups
    filters, width = weight.shape[0] // groups, math.prod(weight.shape[1:])
    bank = weight.reshape(groups, filters, width).swapaxes(1, 2)
    grad = grad.reshape(batch, groups, filters, math.prod(counts))
    if layout.is_plain() and counts == sizes:
        return xp.matmul(bank, grad).reshape(batch, channels, *sizes)
    # As a product with windows of `grad` there is nothing to add up, but more to copy.
    if MANY <= filters <= 2 * weight.shape[1] and set(layout.stride) == {1}:
        images = grad.reshape(batch, groups * filters, *counts)
        return convolve(xp, images, turned(xp, weight, groups), layout.adjoint(), space)
    reach = [size + before + max(after, 0) for size, (before, after) in zip(sizes, layout.padding)]
    whole = xp.zeros((batch, channels, *reach), grad.dtype)
    for piece in pieces(batch, counts, groups * width):
        made = space("columns", (channels, *layout.kernel, piece.batch, *piece.counts))
        part = piece.side_by_side(xp, grad)
        xp.matmul(bank, part, out=made.reshape(groups, width, part.shape[-1]))
        inner = whole[piece.samples, :, piece.rows.start * layout.stride[0] :]
        for place, target in layout.targets(piece.counts):
            seen = inner[(slice(None), slice(None), *target)]
            seen += made[(slice(None), *place)].swapaxes(0, 1)
    inside = [slice(before, before + size) for size, (before, _) in zip(sizes, layout.padding)]
    return xp.ascontiguousarray(whole[(Ellipsis, *inside)])


class Convolutions:
    """The three products, for the namespace of a library with strides."""

    library: Any

    def space(self, dtype: Any) -> Any:
        """A function that gives room for a shape; what it held is lost when it is asked again."""
        return lambda name, shape: self.library.empty(shape, dtype)

    def convolve(self, images: Any, weight: Any, layout: Layout) -> Any:
        return convolve(self.library, images, weight, layout, self.space(images.dtype))

    def convolve_filters(self, images: Any, grad: Any, layout: Layout) -> Any:
        return convolve_filters(self.library, images, grad, layout, self.space(images.dtype))

    def convolve_back(self, grad: Any, weight: Any, sizes: Sizes, layout: Layout) -> Any:
        return convolve_back(self.library, grad, weight, sizes, layout, self.space(grad.dtype))
