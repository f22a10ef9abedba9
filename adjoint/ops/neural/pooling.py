"""Windows over sequences, images and volumes, each reduced to its maximum or its mean."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.backends.convolution import Layout
from adjoint.backends.numpy import host
from adjoint.call.rule import FOLD
from adjoint.dtypes import refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import following
from adjoint.ops.arranging.shape import flatten, reshape
from adjoint.ops.dims import check_positions
from adjoint.ops.elementwise.activation import relu
from adjoint.ops.elementwise.arithmetic import abs, mul, sign
from adjoint.ops.elementwise.comparison import refuse_complex
from adjoint.ops.elementwise.powers import pow
from adjoint.ops.neural.convolution import batched, each
from adjoint.ops.op import composite, general, linear
from adjoint.ops.reducing.cumulative import narrowed, pick_along, place_along, widened
from adjoint.ops.shared_rules import zero_of
from adjoint.tensors.tensor import Tensor

MOST_PLACES = 1 << 19  # of a table of windows
MANY_PLACES = 8  # of a window: those are sooner compared all at once than side after side

# ---- windows ----


def _is_empty(stride: Any) -> bool:
    return isinstance(stride, (list, tuple)) and not stride


def _filled(xp: Any, images: Any, padding: Any, value: Any) -> Any:
    """Images with a border of one value."""
    if not any(map(any, padding)):
        return images
    return xp.pad(images, ((0, 0), (0, 0), *padding), constant_values=value)


def _along(axis: int, start: int, count: int, stride: int) -> tuple[Any, ...]:
    """The index of every stride-th element of an axis, from start on."""
    return (*[slice(None)] * axis, slice(start, start + (count - 1) * stride + 1, stride))


def _reduced(
    xp: Any, images: Any, kernel: Any, stride: Any, dilation: Any, function: Callable[..., Any]
) -> Any:
    """Windows reduced by a function of two arrays, one dimension after the other."""
    out = images
    for axis, (width, step, reach) in enumerate(zip(kernel, stride, dilation), 2):
        count = (images.shape[axis] - reach * (width - 1) - 1) // step + 1
        places = [out[_along(axis, place * reach, count, step)] for place in range(width)]
        total = places[0]
        for number, place in enumerate(places[1:]):
            total = xp.into(function, total if number else None, total, place)
        out = total
    return xp.array(out) if math.prod(kernel) == 1 else out


def _greatest(xp: Any, parts: list[Any]) -> Any:
    """The maximum of several arrays of one shape, element by element."""
    total = parts[0]
    for number, part in enumerate(parts[1:]):
        total = xp.into(xp.maximum, total if number else None, total, part)
    return total


def _cropped(images: Any, sizes: Any, padding: Any) -> Any:
    """What lies inside a border."""
    if not any(map(any, padding)):
        return images
    inner = [slice(before, before + size) for size, (before, _) in zip(sizes, padding)]
    return images[(Ellipsis, *inner)]


def _lowest(xp: Any, dtype: Any) -> Any:
    return xp.iinfo(dtype).min if dtype.kind in "iu" else -math.inf


# ---- maxima ----


def table_of(sizes: Any, lists: Any) -> Any:
    """The places in a flattened image of all windows, a row each; their last fills up short ones.

    `lists` has for each dimension the places of each window along it.
    """
    table = host.zeros((1, 1), "int64")
    for size, windows in zip(sizes, lists):
        most = max(len(window) for window in windows)
        along = host.full((len(windows), most), -1, "int64")
        for row, window in enumerate(windows):
            along[row, : len(window)] = window
        place = table[:, None, :, None] * size + along[None, :, None, :]
        kept = (table >= 0)[:, None, :, None] & (along >= 0)[None, :, None, :]
        table = host.where(kept, place, -1).reshape(place.shape[0] * place.shape[1], -1)
    order = host.argsort(table < 0, axis=1, stable=True)  # those that there are come first
    table = host.take_along_axis(table, order, 1).astype("int32")
    for column in range(1, table.shape[1]):
        before, own = table[:, column - 1], table[:, column]
        own[...] = host.where(own < 0, before, own)
    return host.ascontiguousarray(table.T).T  # one place of all windows lies side by side


@functools.lru_cache(maxsize=64)
def _table(sizes: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """The windows of a pooling as a table; None if it is large, or a window is outside."""
    counts = Layout(kernel, stride, padding, dilation, 1).counts(sizes)
    if math.prod(counts) * math.prod(kernel) > MOST_PLACES:
        return None
    lists = []
    for size, count, width, step, (before, _), reach in zip(
        sizes, counts, kernel, stride, padding, dilation
    ):
        starts = [number * step - before for number in range(count)]
        ends = [start + reach * width for start in starts]
        windows = [range(start, end, reach) for start, end in zip(starts, ends)]
        lists.append([[place for place in window if 0 <= place < size] for window in windows])
    if not all(window for windows in lists for window in windows):
        return None
    return table_of(sizes, lists)


def _looped(
    xp: Any, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[Any, Any] | None:
    """The maxima of windows and their places by the library's loop; None if it has none."""
    if not xp.has_loop("windows", images) or not images.size:
        return None
    sizes = tuple(images.shape[2:])
    table = _table(sizes, tuple(kernel), tuple(stride), tuple(padding), tuple(dilation))
    if table is None:
        return None
    counts = Layout(kernel, stride, padding, dilation, 1).counts(sizes)
    found = xp.window_maxima(images.reshape(*images.shape[:2], math.prod(sizes)), table)
    values, places = (part.reshape(*images.shape[:2], *counts) for part in found)
    return values, places


def _picked(grad: Any, images: Any, *layout: Any) -> Any:
    """The elements of grad where the maxima of windows lie."""
    places = max_pool_places(images, *layout)
    return reshape(pick_along(_flat(grad), _flat(places), 2), tuple(places.shape))


@general(
    pooled=lambda grad, images, kernel, stride, padding, dilation: _picked(
        grad, images, kernel, stride, padding, dilation
    ),
    images=lambda grad: zero_of(grad),
    ordered="either",
    batching=FOLD,
    home=None,
    node_name="MaxPool2DWithIndicesBackwardBackward0",
    jvp=lambda pooled_tangent, images, kernel, stride, padding, dilation: (
        None
        if pooled_tangent is None
        else max_pool_back(pooled_tangent, images, kernel, stride, padding, dilation)
    ),
)
def max_pool_back(
    xp: Any, pooled: Any, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    """Each element at the first place of its window that has the maximum, zeros elsewhere.

    The maxima are taken again rather than kept: programs change them in place.
    """
    apart = all(step > n * (width - 1) for step, n, width in zip(stride, dilation, kernel))
    found = _looped(xp, images, kernel, stride, padding, dilation)
    if found is not None and found[1].shape == pooled.shape:
        flat, size = (*images.shape[:2], -1), math.prod(images.shape[2:])
        added = xp.added_along(widened(pooled).reshape(flat), found[1].reshape(flat), 2, size)
        return narrowed(added, pooled.dtype).reshape(images.shape)
    kind, pooled = pooled.dtype, pooled if apart else widened(pooled)
    layout = Layout(kernel, stride, padding, dilation, 1)
    bordered = _filled(xp, images, padding, _lowest(xp, images.dtype))
    counts = layout.counts(images.shape[2:])
    indices = [(slice(None), slice(None), *target) for _, target in layout.targets(counts)]
    parts = [bordered[index] for index in indices]
    if apart:  # each is read twice, and in order in a quarter of the time
        parts = [xp.ascontiguousarray(part) for part in parts]
        result = _greatest(xp, parts)
    else:
        result = _reduced(xp, bordered, kernel, stride, dilation, xp.maximum)
    whole = xp.zeros(bordered.shape, pooled.dtype)
    left: Any = None  # the windows whose maximum has not been met yet
    for number, (index, part) in enumerate(zip(indices, parts), 1):
        if number == len(parts) and left is not None:
            hit = left
        else:
            below = part < result
            hit = xp.logical_not(below) if left is None else xp.greater(left, below)
            left = below if left is None else left & below
        if apart:
            whole = xp.written(whole, index, xp.multiply, pooled, hit)
        else:
            whole = xp.raised(whole, index, pooled * hit)
    return narrowed(xp.ascontiguousarray(_cropped(whole, images.shape[2:], padding)), kind)


@general(
    images=lambda grad, images, kernel, stride, padding, dilation: max_pool_back(
        grad, images, kernel, stride, padding, dilation
    ),
    batching=FOLD,
    home=None,
    node_name="MaxPool2DWithIndicesBackward0",
    jvp=lambda images, images_tangent, kernel, stride, padding, dilation: _picked(
        images_tangent, images, kernel, stride, padding, dilation
    ),
    ordered="first",
)
def max_pool_values(
    xp: Any, images: Array, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Array:
    """The maximum of each window of (batch, channels, *sizes); padding is a pair for each size."""
    refuse_complex("max_pool", images)
    if math.prod(kernel) >= MANY_PLACES:
        found = _looped(xp, images, kernel, stride, padding, dilation)
        if found is not None:
            return found[0]
    bordered = _filled(xp, images, padding, _lowest(xp, images.dtype))
    return _reduced(xp, bordered, kernel, stride, dilation, xp.maximum)


def _numbers(xp: Any, coordinates: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Places in a flattened image from a vector of coordinates for each dimension."""
    total: Any = 0
    for axis, vector in enumerate(coordinates):
        along = vector.reshape(-1, *[1] * (len(sizes) - axis - 1))
        total = total + along * math.prod(sizes[axis + 1 :])
    return total


@general(batching=FOLD, home=None, ordered="first")
def max_pool_places(
    xp: Any, images: Array, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Array:
    """Where in the flattened image the maximum of each window lies."""
    found = _looped(xp, images, kernel, stride, padding, dilation)
    if found is not None:
        return found[1]
    layout = Layout(kernel, stride, padding, dilation, 1)
    sizes = images.shape[2:]
    counts = layout.counts(sizes)
    starts = [
        xp.arange(count) * step - before
        for count, step, (before, _) in zip(counts, stride, padding)
    ]
    inside = [start + -(-xp.maximum(-start, 0) // n) * n for start, n in zip(starts, dilation)]
    bordered = _filled(xp, images, padding, _lowest(xp, images.dtype))
    best = xp.full((*images.shape[:2], *counts), _lowest(xp, images.dtype), dtype=images.dtype)
    places = xp.broadcast_to(_numbers(xp, inside, sizes), best.shape)
    for place, target in layout.targets(counts):
        part = bordered[(slice(None), slice(None), *target)]
        better = (part > best) | xp.isnan(part)
        here = [start + n * step for start, n, step in zip(starts, place, dilation)]
        places = xp.where(better, _numbers(xp, here, sizes), places)
        best = xp.where(better, part, best)
    return places.astype("int64")


def _flat(images: Any) -> Any:
    return flatten(images, 2) if images.ndim > 3 else images


@linear(
    input=lambda grad, places: pick_along(grad, places, 2),
    batching=FOLD,
    home=None,
    node_name="MaxUnpool2DBackward0",
)
def unpooled(xp: Any, input: Any, places: Any, size: int) -> Any:
    """Zeros, `size` of them in the last of three dimensions, with input at its places."""
    check_positions(xp, places, size)
    return place_along.forward(xp, input, places, 2, size)


def _sides(size: int, reach: int, stride: int, padding: int, ceil_mode: bool) -> tuple[int, int]:
    """How much to add before and after a size, so that windows fill it to the end.

    With ceil_mode, one more window may hang over the end if it begins before it.
    """
    span = size + 2 * padding - reach
    count = (-(-span // stride) if ceil_mode else span // stride) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    if count < 1:
        raise RuntimeError(f"no window of {reach} fits a dimension of size {size}")
    if not ceil_mode:
        return padding, padding
    return padding, max((count - 1) * stride + reach - size - padding, 0)


def arranged(
    name: str,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> tuple[Any, Any, Any, Any]:
    """Kernel, stride, padding in pairs and dilation, a number for each dimension."""
    count = int(name[-2])
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            f"{name}(): expected {count + 1} dimensions or, for a batch, {count + 2}, got shape "
            f"{list(input.shape)}"
        )
    if 0 in input.shape[-count - 1 :]:
        raise RuntimeError(
            f"{name}(): only the batch may be empty, got an input of shape {list(input.shape)}"
        )
    kernel = each(kernel_size, count, f"{name}(): kernel_size")
    steps = (
        kernel if stride is None or _is_empty(stride) else each(stride, count, f"{name}(): stride")
    )
    sides = each(padding, count, f"{name}(): padding")
    reaches = each(dilation, count, f"{name}(): dilation")
    if min(*kernel, *steps, *reaches) < 1:
        raise RuntimeError(
            f"{name}(): kernel_size, stride and dilation must be positive, got {kernel_size}, "
            f"{stride} and {dilation}"
        )
    if min(sides) < 0 or any(2 * side > width for side, width in zip(sides, kernel)):
        raise RuntimeError(
            f"{name}(): padding {padding} must not be negative, nor above half of the kernel "
            f"{tuple(kernel)}"
        )
    extent = [reach * (width - 1) + 1 for reach, width in zip(reaches, kernel)]
    pairs = tuple(
        _sides(size, width, step, side, ceil_mode)
        for size, width, step, side in zip(input.shape[-count:], extent, steps, sides)
    )
    return kernel, steps, pairs, reaches


def _max_pool(count: int) -> Any:
    """max_pool1d, max_pool2d or max_pool3d."""
    name = f"max_pool{count}d"

    def function(
        input: Value,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        refuse_kinds(name, input, "bc")
        given = arranged(name, input, kernel_size, stride, padding, dilation, ceil_mode)
        values = batched(lambda images: max_pool_values(images, *given), input, count)
        if not return_indices:
            return values
        return values, batched(lambda images: max_pool_places(images, *given), input, count)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        "The greatest element of each window, and with return_indices its place in the input."
    )
    return composite(method=False, also="nn.functional", without={"return_indices": Tensor})(
        function
    )


max_pool1d = _max_pool(1)
max_pool2d = _max_pool(2)
max_pool3d = _max_pool(3)


def _max_unpool(count: int) -> Any:
    """max_unpool1d, max_unpool2d or max_unpool3d."""
    name = f"max_unpool{count}d"

    def function(
        input: Value,
        indices: Value,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Value:
        refuse_kinds(name, input, "bciu")
        rest = (kernel_size, stride, padding, output_size)
        sizes, _, _ = unpooled_sizes(name, input, *rest)
        return unpooled_images(name, input, indices, sizes)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Zeros with the elements of input where indices of a max_pool say."
    return composite(home="nn.functional")(function)


def unpooled_images(name: str, input: Any, indices: Any, sizes: tuple[int, ...]) -> Any:
    """Images of zeros of some sizes with the elements of input where indices say."""
    count = len(sizes)
    if indices.shape != input.shape:
        raise RuntimeError(
            f"{name}(): input and indices must have one shape, got {list(input.shape)} and "
            f"{list(indices.shape)}"
        )
    lead = (1, *input.shape[:1]) if input.ndim == count + 1 else tuple(input.shape[:2])
    shape = (*lead, math.prod(input.shape[-count:]))
    flat = reshape(input, shape), reshape(indices, shape)
    out = reshape(unpooled(*flat, math.prod(sizes)), (*input.shape[:-count], *sizes))
    return following(out, input) if count == 2 else out


def unpooled_sizes(
    name: str, input: Any, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> tuple[tuple[int, ...], Any, Any]:
    """The sizes of the result of an unpooling, its stride and its padding in each dimension."""
    count = int(name[-2])
    kernel = each(kernel_size, count, f"{name}(): kernel_size")
    steps = kernel if stride is None else each(stride, count, f"{name}(): stride")
    sides = each(padding, count, f"{name}(): padding")
    usual = [
        (size - 1) * step + width - 2 * side
        for size, step, width, side in zip(input.shape[-count:], steps, kernel, sides)
    ]
    return _unpool_sizes(name, usual, steps, output_size), steps, sides


def _unpool_sizes(name: str, usual: list[int], steps: Any, wanted: Any) -> tuple[int, ...]:
    """The sizes of the result of an unpooling: the usual, or near ones that are wanted."""
    if wanted is None:
        return tuple(usual)
    sizes = tuple(wanted)[-len(usual) :]
    if len(wanted) not in (len(usual), len(usual) + 2):
        raise ValueError(
            f"{name}(): output_size must be {len(usual)} numbers, or a whole shape of "
            f"{len(usual) + 2}, got {len(wanted)}"
        )
    for size, plain, step in zip(sizes, usual, steps):
        if not plain - step < size < plain + step:
            raise ValueError(
                f"{name}(): output_size {list(sizes)} is not within a stride of {usual}"
            )
    return sizes


max_unpool1d = _max_unpool(1)
max_unpool2d = _max_unpool(2)
max_unpool3d = _max_unpool(3)


# ---- means ----


def _divisor(xp: Any, sizes: Any, layout: Layout, rest: Any, dtype: Any) -> Any:
    """What the sum of each window is divided by: a number, or an array."""
    included, override = rest
    if override is not None:
        return override
    lengths = []
    for size, count, width, step, (before, _) in zip(
        sizes, layout.counts(sizes), layout.kernel, layout.stride, layout.padding
    ):
        starts = [n * step - before for n in range(count)]
        low, high = (-before, size + before) if included else (0, size)
        lengths.append([min(start + width, high) - max(start, low) for start in starts])
    if all(len(set(part)) == 1 for part in lengths):
        return math.prod(part[0] for part in lengths)
    total: Any = 1
    for axis, part in enumerate(lengths):
        total = total * xp.asarray(part, dtype=dtype).reshape(-1, *[1] * (len(sizes) - axis - 1))
    return total


@linear(
    images=lambda grad, images_shape, kernel, stride, padding, counting: spread_windows(
        grad, tuple(images_shape[2:]), kernel, stride, padding, counting
    ),
    node_name="AvgPool2DBackward0",
    batching=FOLD,
    home=None,
    ordered="images",
)
def average_windows(
    xp: Any, images: Array, kernel: Any, stride: Any, padding: Any, counting: Any
) -> Array:
    """The mean of each window of (batch, channels, *sizes); padding is a pair for each size.

    `counting` is whether the border counts, and a divisor to use instead of the count or None.
    """
    layout = Layout(kernel, stride, padding, (1,) * len(kernel), 1)
    wide = widened(images)
    divisor = _divisor(xp, images.shape[2:], layout, counting, wide.dtype)
    sums = xp.pooled_sums(wide, layout)
    if sums is None:
        sums = _reduced(xp, _filled(xp, wide, padding, 0), kernel, stride, layout.dilation, xp.add)
    return (sums / divisor).astype(images.dtype, copy=False)


@linear(
    images=lambda grad, kernel, stride, padding, counting: average_windows(
        grad, kernel, stride, padding, counting
    ),
    node_name="AvgPool2DBackward0",
    ordered="images",
    batching=FOLD,
    home=None,
)
def spread_windows(
    xp: Any, images: Array, sizes: Any, kernel: Any, stride: Any, padding: Any, counting: Any
) -> Array:
    """Each element in equal parts over its window: the gradient of average_windows."""
    layout = Layout(kernel, stride, padding, (1,) * len(kernel), 1)
    wide = widened(images)
    out = wide / _divisor(xp, sizes, layout, counting, wide.dtype)
    found = xp.pooled_back(out, sizes, layout)
    if found is not None:
        return narrowed(found, images.dtype)
    for axis in range(images.ndim - 1, 1, -1):
        count, step = out.shape[axis], stride[axis - 2]
        shape = list(out.shape)
        shape[axis] = sizes[axis - 2] + sum(padding[axis - 2])
        whole = xp.zeros(tuple(shape), wide.dtype)
        for place in range(kernel[axis - 2]):
            whole = xp.raised(whole, _along(axis, place, count, step), out)
        out = whole
    return narrowed(xp.ascontiguousarray(_cropped(out, sizes, padding)), images.dtype)


def _avg_pool(count: int) -> Any:
    """avg_pool1d, avg_pool2d or avg_pool3d."""
    name = f"avg_pool{count}d"

    def function(
        input: Value,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        refuse_kinds(name, input, "bcu")
        kernel, steps, pairs, _ = arranged(name, input, kernel_size, stride, padding, 1, ceil_mode)
        if count == 3 and any(n < width for n, width in zip(input.shape[-3:], kernel)):
            raise RuntimeError(
                f"{name}(): sizes {list(input.shape[-3:])} are smaller than the window "
                f"{list(kernel)}"
            )
        if divisor_override == 0:
            raise RuntimeError(f"{name}(): divisor_override must not be zero")
        counting = (count_include_pad, divisor_override)
        return batched(
            lambda images: average_windows(images, kernel, steps, pairs, counting), input, count
        )

    def without_override(
        input: Value,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Value:
        return function(input, kernel_size, stride, padding, ceil_mode, count_include_pad)

    public = without_override if count == 1 else function
    public.__name__ = public.__qualname__ = name
    public.__doc__ = "The mean of each window."
    also = "adjoint" if count == 1 else ""
    return composite(home="nn.functional", also=also, exact_out=True)(public)


avg_pool1d = _avg_pool(1)
avg_pool2d = _avg_pool(2)
avg_pool3d = _avg_pool(3)


def _lp_pool(count: int, average: Any, maximum: Any) -> Any:
    """lp_pool1d, lp_pool2d or lp_pool3d."""
    name = f"lp_pool{count}d"

    def function(
        input: Value, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Value:
        kernel = each(kernel_size, count, f"{name}(): kernel_size")
        if math.isinf(norm_type):
            side = math.copysign(1, norm_type)  # below 0 the norm is the least element
            return mul(maximum(mul(abs(input), side), kernel, stride, 0, 1, ceil_mode), side)
        means = average(pow(input, norm_type), kernel, stride, 0, ceil_mode)
        return pow(mul(sign(means) * relu(abs(means)), math.prod(kernel)), 1.0 / norm_type)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "The norm of exponent norm_type of each window."
    return composite(home="nn.functional")(function)


lp_pool1d = _lp_pool(1, avg_pool1d, max_pool1d)
lp_pool2d = _lp_pool(2, avg_pool2d, max_pool2d)
lp_pool3d = _lp_pool(3, avg_pool3d, max_pool3d)
