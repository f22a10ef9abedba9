"""Images in other sizes and other orders: interpolation, shuffled pixels, columns of windows."""

import functools
import math
from collections.abc import Callable
from operator import index
from typing import Any, SupportsIndex

from adjoint.backends.convolution import Layout
from adjoint.call.promotion import channels_last
from adjoint.call.rule import FOLD, FRONT
from adjoint.dtypes import bfloat16, float16, float32, refuse_kinds, uint8
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import clone, contiguous_format, following, to
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.composites import overridable
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.rounding import round
from adjoint.ops.elementwise.selection import clamp
from adjoint.ops.neural.adaptive_pooling import adaptive_average
from adjoint.ops.neural.convolution import each
from adjoint.ops.op import composite, general, linear
from adjoint.tensors.tensor import Tensor, is_numpy

# ---- interpolation ----

LARGEST = (1 << 31) - 1  # along one dimension: places are found one by one
_MANY = 8  # with more taps than this a product of matrices is quicker
CUBIC = -0.75  # the slope of the cubic kernel at 1, as image libraries choose it


def cubic_weights(t: Any) -> list[Any]:
    """How much the four neighbours of a place count, t being its distance from the second."""

    def near(x: Any) -> Any:
        return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _sinc(x: float) -> float:
    return math.sin(math.pi * x) / (math.pi * x) if x else 1.0


def _smooth_cubic(x: float) -> float:
    """The cubic kernel of slope -1/2 at 1, which image libraries smooth with."""
    if x < 1:
        return (1.5 * x - 2.5) * x * x + 1
    return ((-0.5 * x + 2.5) * x - 4) * x + 2


# How far the kernels of antialiasing reach, and what they are at a distance below that.
_SMOOTH: dict[str, tuple[int, Callable[[float], float]]] = {
    "smooth linear": (1, lambda x: 1 - x),
    "smooth cubic": (2, _smooth_cubic),
    "lanczos": (3, lambda x: _sinc(x) * _sinc(x / 3)),
}


def _smooth_taps(
    kind: str, size: int, wanted: int, align: bool, step: float
) -> tuple[list[list[int]], list[list[float]]]:
    """taps with a kernel as wide as the places of the result lie apart in the input."""
    reach, kernel = _SMOOTH[kind]
    if align:
        step = (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    width = max(step, 1.0)
    places, weights = [], []
    for place in range(wanted):
        middle = step * (place + 0.5)
        first = max(int(middle - reach * width + 0.5), 0)
        near = list(range(first, min(int(middle + reach * width + 0.5), size)))
        away = [abs(n + 0.5 - middle) / width for n in near]
        factors = [kernel(x) if x < reach else 0.0 for x in away]
        places.append(near)
        weights.append([factor / sum(factors) for factor in factors])
    longest = max(map(len, places))
    for near, factors in zip(places, weights):  # lists of one length, as the other kinds have
        factors += [0.0] * (longest - len(factors))
        near += near[-1:] * (longest - len(near))
    return places, weights


def _source(place: int, size: int, wanted: int, align: bool, step: float) -> float:
    """Where a place of the result lies in the input."""
    if align:
        return place * (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    return (place + 0.5) * step - 0.5


@functools.lru_cache(maxsize=256)
def taps(
    kind: str, size: int, wanted: int, align: bool, scale: float | None
) -> tuple[list[list[int]], list[list[float]]]:
    """For each place of the result, the places of the input it comes from, and their weights."""
    step = size / wanted if scale is None else 1 / scale
    if kind in _SMOOTH:
        return _smooth_taps(kind, size, wanted, align, step)
    places, weights = [], []
    for place in range(wanted):
        if kind.startswith("nearest"):
            shift = 0.5 if kind == "nearest-exact" else 0.0
            places.append([min(int((place + shift) * step), size - 1)])
            weights.append([1.0])
            continue
        source = _source(place, size, wanted, align, step)
        if kind == "linear":
            source = max(source, 0.0)
            low = min(int(source), size - 1)
            places.append([low, min(low + 1, size - 1)])
            weights.append([1 - (source - low), source - low])
        else:
            low = math.floor(source)
            places.append([min(max(low + n, 0), size - 1) for n in (-1, 0, 1, 2)])
            weights.append(cubic_weights(source - low))
    return places, weights


def _joined(places: list[int], weights: list[float]) -> list[float]:
    """The weights of one place of the result; those of an element that is met again in one."""
    joined = [0.0] * len(places)
    for place, weight in zip(places, weights):
        joined[places.index(place)] += weight
    return joined


_MOST_BITS = 22  # of a weight of bytes


def _matrix(places: Any, weights: Any, size: int) -> list[list[float]]:
    """Taps as a matrix: a row for each place of the result, a column for each of the input."""
    matrix = [[0.0] * size for _ in places]
    for row, near, factors in zip(matrix, places, weights):
        for place, factor in zip(near, factors):
            row[place] += factor
    return matrix


def _resample_rule(
    grad: Value, input_shape: Any, dim: int, kind: str, wanted: int, align: bool, scale: Any
) -> Value:
    return resample_back(grad, dim, kind, input_shape[dim], wanted, align, scale)


@linear(input=_resample_rule, wide=True, node_name="UpsampleBackward0", batching=FRONT, home=None)
def resample(
    xp: Any, input: Array, dim: int, kind: str, wanted: int, align: bool, scale: float | None
) -> Array:
    """input with `wanted` elements along dim, each a weighted sum of a few neighbours."""
    dim = normal_dim(dim, input.ndim)
    if not xp.valued():
        return _as_they_lie(_unweighted, xp, input, dim, wanted)
    places, weights = taps(kind, input.shape[dim], wanted, align, scale)
    return _as_they_lie(_weighted, xp, input, dim, places, weights)


@general(batching=FRONT, home=None)
def resample_bytes(
    xp: Any, input: Array, dim: int, kind: str, wanted: int, align: bool, scale: float | None
) -> Array:
    """resample of bytes, in integers: weights have as many bits as 16 can hold."""
    dim = normal_dim(dim, input.ndim)
    if not xp.valued():
        return _as_they_lie(_unweighted, xp, input, dim, wanted)
    places, weights = taps(kind, input.shape[dim], wanted, align, scale)
    weights = [_joined(near, factors) for near, factors in zip(places, weights)]
    largest, bits = max(max(row) for row in weights), 0
    while bits < _MOST_BITS and int(0.5 + largest * (2 << bits)) < 1 << 15:
        bits += 1
    whole = [[int(w * (1 << bits) + math.copysign(0.5, w)) for w in row] for row in weights]
    return _as_they_lie(_weighted_bytes, xp, input, dim, places, whole, bits)


def _weighted_bytes(xp: Any, input: Any, dim: int, places: Any, whole: Any, bits: int) -> Any:
    total: Any = (1 << bits) >> 1  # so that what is cut off below is rounded
    for tap in range(len(places[0])):
        part = xp.take(input, xp.asarray([row[tap] for row in places]), dim).astype("int32")
        factors = xp.asarray([row[tap] for row in whole], dtype="int32")
        total = total + part * factors.reshape(-1, *[1] * (input.ndim - dim - 1))
    return xp.clip(total >> bits, 0, 255).astype("uint8")


def _as_they_lie(function: Any, xp: Any, input: Any, dim: int, *rest: Any) -> Any:
    """What a function makes of images along dim, with their channels last if theirs are."""
    if channels_last(input):
        return xp.moveaxis(function(xp, xp.moveaxis(input, 1, -1), dim - 1, *rest), -1, 1)
    return function(xp, input, dim, *rest)


def _unweighted(xp: Any, input: Any, dim: int, wanted: int) -> Any:
    """A result of sums that have no values, without counting its places."""
    return xp.take(input, xp.arange(wanted), dim)


def _weighted(xp: Any, input: Any, dim: int, places: Any, weights: Any) -> Any:
    total: Any = None
    if len(places[0]) > _MANY:
        matrix = xp.asarray(_matrix(places, weights, input.shape[dim]), dtype=input.dtype)
        product = xp.matmul(xp.moveaxis(input, dim, -1), matrix.T)
        return xp.ascontiguousarray(xp.moveaxis(product, -1, dim))
    for tap in range(len(places[0])):
        part = xp.take(input, xp.asarray([row[tap] for row in places]), dim)
        if len(places[0]) > 1:
            factors = xp.asarray([row[tap] for row in weights], dtype=input.dtype)
            part = part * factors.reshape(-1, *[1] * (input.ndim - dim - 1))
        total = part if total is None else total + part
    return total


@linear(
    input=lambda grad, dim, kind, wanted, align, scale: resample(
        grad, dim, kind, wanted, align, scale
    ),
    wide=True,
    node_name="UpsampleBackward0",
    batching=FRONT,
    home=None,
)
def resample_back(
    xp: Any, input: Array, dim: int, kind: str, size: int, wanted: int, align: bool, scale: Any
) -> Array:
    """Each element given to those it came from: the gradient of resample."""
    if not xp.valued():
        return xp.ascontiguousarray(_unweighted(xp, input, normal_dim(dim, input.ndim), size))
    places, weights = taps(kind, size, wanted, align, scale)
    matrix = xp.asarray(_matrix(places, weights, size), dtype=input.dtype)
    product = xp.matmul(xp.moveaxis(input, dim, -1), matrix)
    return xp.ascontiguousarray(xp.moveaxis(product, -1, dim))


_KINDS = {
    "nearest": ("nearest", (1, 2, 3)),
    "nearest-exact": ("nearest-exact", (1, 2, 3)),
    "linear": ("linear", (1,)),
    "bilinear": ("linear", (2,)),
    "trilinear": ("linear", (3,)),
    "bicubic": ("cubic", (2,)),
    "area": ("area", (1, 2, 3)),
    "lanczos": ("lanczos", (2,)),
}
_ANTIALIASED = {"bilinear": "smooth linear", "bicubic": "smooth cubic", "lanczos": "lanczos"}


def wanted_sizes(
    input: Any, size: Any, scale_factor: Any, recompute: Any
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The sizes of the result, and the scales to find its places by where the caller gave them."""
    count = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate(): give either size or scale_factor")
    if size is not None:
        if recompute:
            raise ValueError("interpolate(): recompute_scale_factor goes with scale_factor only")
        one = isinstance(size, SupportsIndex) and not getattr(size, "ndim", 0)
        wanted = (index(size),) * count if one else tuple(index(n) for n in size)
        if len(wanted) != count:
            raise ValueError(f"interpolate(): size must be {count} numbers, got {list(wanted)}")
        return wanted, (None,) * count
    scales = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * count
    for scale in scales:
        if isinstance(scale, (Tensor, str)) or is_numpy(scale):
            raise TypeError(
                f"interpolate(): scale_factor must be numbers, not {type(scale).__name__}: take "
                ".item() of it"
            )
    scales = tuple(map(float, scales))
    if len(scales) != count:
        raise ValueError(f"interpolate(): scale_factor must be {count} numbers, got {scales}")
    wanted = tuple(math.floor(n * scale) for n, scale in zip(input.shape[2:], scales))
    return wanted, (None,) * count if recompute else scales


def _antialiased(input: Any, mode: str, align_corners: bool | None) -> str:
    """The kind of resampling for antialias=True."""
    if mode not in _ANTIALIASED or input.ndim != 4:
        raise ValueError(
            f"interpolate(): antialias=True is for {list(_ANTIALIASED)} and a 4-D tensor, got "
            f"{mode!r} and {input.ndim} dimensions"
        )
    if mode == "lanczos" and align_corners:
        raise ValueError("interpolate(): mode 'lanczos' does not go with align_corners=True")
    return _ANTIALIASED[mode]


def _check_kind(input: Any, mode: str) -> None:
    """Refuse integers, of which only the bytes of images have other sizes."""
    kind = input.dtype
    if kind.is_floating_point or kind.is_complex or (kind is uint8 and mode != "area"):
        return
    raise NotImplementedError(
        f"interpolate(): mode {mode!r} is not implemented for {kind}; convert to float before"
    )


@composite(home="nn.functional")
def interpolate(
    input: Value,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Value:
    """Images of (batch, channels, *sizes) in other sizes."""
    refuse_kinds("interpolate", input, "c")
    if align_corners is not None and mode in ("nearest", "nearest-exact", "area"):
        raise ValueError(f"interpolate(): mode {mode!r} takes no align_corners")
    wanted, scales = wanted_sizes(input, size, scale_factor, recompute_scale_factor)
    return resized(input, wanted, scales, mode, align_corners, antialias)


def resized(
    input: Any,
    wanted: tuple[int, ...],
    scales: tuple[float | None, ...],
    mode: str,
    align_corners: bool | None,
    antialias: bool,
) -> Any:
    """Images in the sizes wanted; where a scale is given, it says how far apart pixels are."""
    if mode not in _KINDS:
        raise NotImplementedError(
            f"interpolate(): mode must be one of {list(_KINDS)}, got {mode!r}"
        )
    kind, counts = _KINDS[mode]
    if antialias:
        kind = _antialiased(input, mode, align_corners)
    elif mode == "lanczos":
        raise ValueError("interpolate(): mode 'lanczos' needs antialias=True")
    if input.ndim - 2 not in counts:
        raise NotImplementedError(
            f"interpolate(): mode {mode!r} is for inputs of {[n + 2 for n in counts]} dimensions, "
            f"got shape {list(input.shape)}"
        )
    if 0 in input.shape[1:] or min(wanted) < 1:
        raise RuntimeError(
            f"interpolate(): input and output sizes should be greater than 0, got "
            f"{list(input.shape)} and {list(wanted)}"
        )
    if max(wanted) > LARGEST:
        raise RuntimeError(
            f"interpolate(): an output of {list(wanted)} is too large: no dimension may have more "
            f"than {LARGEST} elements"
        )
    _check_kind(input, mode)
    if kind == "area":
        means = adaptive_average(input, wanted)
        return following(means, input) if input.ndim == 4 else means
    if input.dtype is uint8 and input.ndim == 4 and not kind.startswith("nearest"):
        out = input
        for dim in (3, 2):  # rows first; each step is rounded
            if wanted[dim - 2] != input.shape[dim] or scales[dim - 2] not in (None, 1.0):
                rest = (kind, wanted[dim - 2], bool(align_corners), scales[dim - 2])
                out = resample_bytes(out, dim, *rest)
        return _same_size(out) if out is input else out
    if input.dtype is uint8 and not kind.startswith("nearest"):
        options = (wanted, scales, mode, align_corners, antialias)
        return clamp(round(resized(to(input, float32), *options)), 0, 255).to(uint8)
    half = input.dtype in (float16, bfloat16)
    if kind.startswith("nearest"):  # whose gradients alone are sums
        half = half and input.requires_grad and len(wanted) > 1
    out = start = to(input, float32) if half else input  # rounded once, not for each dimension
    for dim, (n, scale) in enumerate(zip(wanted, scales), 2):
        if n != out.shape[dim] or scale not in (None, 1.0):
            out = resample(out, dim, kind, n, bool(align_corners), scale)
    if half:
        return to(out, input.dtype)
    return _same_size(out) if out is start else out


def _same_size(input: Any) -> Any:
    """A copy that lies in order, or as images in channels_last memory do."""
    return following(clone(input, memory_format=contiguous_format), input)


# ---- pixels in another order ----


@linear(
    input=lambda grad, upscale_factor: pixel_unshuffle(grad, upscale_factor),
    also="nn.functional",
    ordered="images",
    batching=FRONT,
)
def pixel_shuffle(xp: Any, input: Array, upscale_factor: int) -> Array:
    """Channels as pixels: (*, C r², H, W) becomes (*, C, H r, W r)."""
    if input.ndim < 3:
        raise RuntimeError(f"pixel_shuffle(): expected at least 3 dimensions, got {input.ndim}")
    r = upscale_factor
    if r < 1 or input.shape[-3] % (r * r):
        raise RuntimeError(
            f"pixel_shuffle(): {input.shape[-3]} channels can't be divided by the square of "
            f"upscale_factor={r}"
        )
    lead, (channels, rows, columns) = tuple(input.shape[:-3]), input.shape[-3:]
    parts = input.reshape(*lead, channels // (r * r), r, r, rows, columns)
    n = len(lead)
    turned = xp.transpose(parts, (*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    ordered = xp.copied(turned, ordered=True)
    return ordered.reshape(*lead, channels // (r * r), rows * r, columns * r)


@linear(
    input=lambda grad, downscale_factor: pixel_shuffle(grad, downscale_factor),
    also="nn.functional",
    ordered="images",
    batching=FRONT,
)
def pixel_unshuffle(xp: Any, input: Array, downscale_factor: int) -> Array:
    """Pixels as channels: (*, C, H r, W r) becomes (*, C r², H, W)."""
    if input.ndim < 3:
        raise RuntimeError(f"pixel_unshuffle(): expected at least 3 dimensions, got {input.ndim}")
    r = downscale_factor
    lead, (channels, rows, columns) = tuple(input.shape[:-3]), input.shape[-3:]
    if r < 1 or rows % r or columns % r:
        raise RuntimeError(
            f"pixel_unshuffle(): height and width, {rows} and {columns}, must be divisible by "
            f"downscale_factor={r}"
        )
    parts = input.reshape(*lead, channels, rows // r, r, columns // r, r)
    n = len(lead)
    turned = xp.transpose(parts, (*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return xp.copied(turned, ordered=True).reshape(*lead, channels * r * r, rows // r, columns // r)


@linear(
    input=lambda grad, input_shape, groups: channel_shuffle(grad, input_shape[1] // groups),
    method=False,
    also="nn.functional nn.functional.native_channel_shuffle",
    ordered="first",
    batching=FOLD,
)
def channel_shuffle(xp: Any, input: Array, groups: int) -> Array:
    """Channels of all groups by turns."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle(): expected at least 3 dimensions, got {input.ndim}")
    batch, channels = input.shape[:2]
    if groups < 1 or channels % groups:
        raise RuntimeError(f"channel_shuffle(): {channels} channels don't make {groups} groups")
    parts = input.reshape(batch, groups, channels // groups, *input.shape[2:])
    turned = xp.copied(xp.swapaxes(parts, 1, 2), ordered=True)
    return turned.reshape(input.shape)


# ---- columns of windows ----


@linear(
    images=lambda grad, images_shape, kernel, stride, padding, dilation: images_of(
        grad, tuple(images_shape[2:]), kernel, stride, padding, dilation
    ),
    node_name="Im2ColBackward0",
    ordered=True,
    batching=FOLD,
    home=None,
)
def columns_of(
    xp: Any, images: Array, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Array:
    """The windows of images, a column each: (batch, channels * window, windows)."""
    layout = Layout(kernel, stride, padding, dilation, 1)
    counts = layout.counts(images.shape[2:])
    if min(counts) < 1:
        raise RuntimeError(f"no window of {list(kernel)} fits images of {list(images.shape[2:])}")
    wide = xp.pad(images, ((0, 0), (0, 0), *padding)) if any(map(any, padding)) else images
    parts = [wide[(slice(None), slice(None), *target)] for _, target in layout.targets(counts)]
    batch, channels = images.shape[:2]
    shape = (batch, channels * len(parts), math.prod(counts))
    return xp.stack(parts, axis=2).reshape(shape)


@linear(
    columns=lambda grad, kernel, stride, padding, dilation: columns_of(
        grad, kernel, stride, padding, dilation
    ),
    node_name="Col2ImBackward0",
    batching=FOLD,
    home=None,
)
def images_of(
    xp: Any, columns: Array, sizes: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Array:
    """Columns added up at their places in images of `sizes`: the gradient of columns_of."""
    layout = Layout(kernel, stride, padding, dilation, 1)
    counts = layout.counts(sizes)
    width = math.prod(kernel)
    batch, channels = columns.shape[0], columns.shape[1] // width
    if channels * width != columns.shape[1] or math.prod(counts) != columns.shape[2]:
        raise RuntimeError(
            f"images of {list(sizes)} have {math.prod(counts)} windows of {width} elements a "
            f"channel, which columns of shape {list(columns.shape)} don't fit"
        )
    parts = columns.reshape(batch, channels, width, *counts)
    reach = [size + before + after for size, (before, after) in zip(sizes, padding)]
    whole = xp.zeros((batch, channels, *reach), columns.dtype)
    for number, (_, target) in enumerate(layout.targets(counts)):
        whole = xp.raised(whole, (slice(None), slice(None), *target), parts[:, :, number])
    inner = [slice(before, before + size) for size, (before, _) in zip(sizes, padding)]
    return xp.ascontiguousarray(whole[(Ellipsis, *inner)])


def _window(name: str, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Kernel, stride, padding in pairs and dilation, as the two ops above take them."""
    kernel, step, side, reach = (
        each(value, 2, f"{name}(): {what}")
        for what, value in (
            ("kernel_size", kernel_size),
            ("stride", stride),
            ("padding", padding),
            ("dilation", dilation),
        )
    )
    if min(*kernel, *step, *reach) < 1 or min(side) < 0:
        raise RuntimeError(
            f"{name}(): kernel_size, stride and dilation must be positive, padding not negative"
        )
    return kernel, step, tuple((n, n) for n in side), reach


def _as_batch(name: str, input: Any, ndim: int) -> tuple[Any, bool]:
    if input.ndim not in (ndim - 1, ndim):
        raise RuntimeError(
            f"{name}(): expected {ndim - 1} dimensions or, for a batch, {ndim}, got shape "
            f"{list(input.shape)}"
        )
    single = input.ndim == ndim - 1
    return (reshape(input, (1, *input.shape)) if single else input), single


@overridable
def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """The windows of images, a column each; see fold."""
    refuse_kinds("unfold", input, "iu")
    images, single = _as_batch("unfold", input, 4)
    if 0 in images.shape[1:]:
        raise RuntimeError(
            f"unfold(): only the batch may be empty, got an input of shape {list(input.shape)}"
        )
    out = columns_of(images, *_window("unfold", kernel_size, dilation, padding, stride))
    return reshape(out, tuple(out.shape[1:])) if single else out


@composite(home="nn.functional")
def fold(
    input: Value,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Value:
    """Images of output_size, columns of windows added up at their places."""
    columns, single = _as_batch("fold", input, 3)
    sizes = each(output_size, 2, "fold(): output_size")
    out = images_of(columns, sizes, *_window("fold", kernel_size, dilation, padding, stride))
    return reshape(out, tuple(out.shape[1:])) if single else out
