"""Pooling whose windows follow from the sizes wanted, or from chance."""

import functools
import math
import operator
from numbers import Number
from typing import Any

from adjoint.backends.numpy import host
from adjoint.call.rule import FOLD, FRONT
from adjoint.dtypes import bfloat16, float16, float32, int64, refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import following, to
from adjoint.ops.arranging.shape import cat, narrow, squeeze, unsqueeze
from adjoint.ops.dims import refuse_truth
from adjoint.ops.neural.convolution import batched, each
from adjoint.ops.neural.pooling import average_windows, table_of
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.cumulative import pick_along, place_along
from adjoint.ops.reducing.reduction import mean
from adjoint.ops.sampling.random import uniform
from adjoint.tensors.tensor import Tensor

# ---- sizes that are wanted ----


# The functions that take an input without channels; the others refuse it, as PyTorch does.
_WITHOUT_CHANNELS = ("adaptive_avg_pool1d", "adaptive_avg_pool2d")


def wanted_sizes(name: str, input: Any, output_size: Any) -> tuple[int, ...]:
    """The size of each pooled dimension; None means that of the input."""
    count = int(name[-2])
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * count
    refuse_truth(f"{name}(): output_size", *given[:1])
    if output_size is None or (count == 1 and None in given):
        raise TypeError(f"{name}(): output_size must be given, None stands for one size of several")
    if input.ndim not in (count + 1, count + 2):
        listed = isinstance(output_size, (tuple, list)) and count > 1
        refusal = ValueError if listed and input.ndim <= count else RuntimeError
        raise refusal(
            f"{name}(): expected {count + 1} dimensions or, for a batch, {count + 2}, got shape "
            f"{list(input.shape)}"
        )
    mean_of_all = "avg" in name and set(given) == {1}
    refuse_kinds(name, input, "biu" if mean_of_all else "bciu")
    if len(given) != count:
        raise RuntimeError(f"{name}(): output_size must be {count} numbers, got {list(given)}")
    own = input.shape[-count:]
    sizes = tuple(size if n is None else operator.index(n) for n, size in zip(given, own))
    filled = own if name in _WITHOUT_CHANNELS else input.shape[1:]
    if min(sizes) < 0 or 0 in filled:
        raise RuntimeError(
            f"{name}(): can't make sizes {list(sizes)} of an input of shape {list(input.shape)}"
        )
    return sizes


def _spans(size: int, wanted: int) -> list[tuple[int, int]]:
    """Where each window along a dimension starts, and how wide it is."""
    starts = [n * size // wanted for n in range(wanted)]
    return [(start, -(-(n + 1) * size // wanted) - start) for n, start in enumerate(starts)]


def adaptive_average(images: Any, sizes: tuple[int, ...]) -> Any:
    """Means of windows that divide images of (batch, channels, *sizes) into `sizes`."""
    own = images.shape[2:]
    if all(n == 1 for n in sizes):
        return mean(images, tuple(range(2, images.ndim)), True)
    if 0 not in sizes and not any(size % n for size, n in zip(own, sizes)):
        kernel = tuple(size // n for size, n in zip(own, sizes))
        return average_windows(images, kernel, kernel, ((0, 0),) * len(own), (True, None))
    half = images.dtype in (float16, bfloat16)
    out = to(images, float32) if half else images  # rounded once, not for each dimension
    for dim, (size, wanted) in enumerate(zip(own, sizes), 2):
        parts = [mean(narrow(out, dim, *span), dim, True) for span in _spans(size, wanted)]
        out = cat(parts, dim) if parts else narrow(out, dim, 0, 0)
    return to(out, images.dtype) if half else out


def _adaptive_average(count: int) -> Any:
    """adaptive_avg_pool1d, adaptive_avg_pool2d or adaptive_avg_pool3d."""
    name = f"adaptive_avg_pool{count}d"

    def function(input: Value, output_size: Any) -> Value:
        if (
            count > 1 and output_size is not True and output_size in (1, (1,) * count, [1] * count)
        ):  # of any dimensions
            return mean(input, tuple(range(-count, 0)), True)
        sizes = wanted_sizes(name, input, output_size)
        found = batched(lambda images: adaptive_average(images, sizes), input, count)
        return following(found, input) if count == 2 else found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Means of windows that are chosen so that the result is of output_size."
    return composite(home="nn.functional", also="adjoint" if count == 1 else "")(function)


adaptive_avg_pool1d = _adaptive_average(1)
adaptive_avg_pool2d = _adaptive_average(2)
adaptive_avg_pool3d = _adaptive_average(3)


@functools.lru_cache(maxsize=64)
def _table(own: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """The windows that divide an image into `sizes`, as a table."""
    lists = [
        [range(start, start + width) for start, width in _spans(size, n)]
        for size, n in zip(own, sizes)
    ]
    return table_of(own, lists)


def _flat(value: Any, count: int) -> Any:
    """The last `count` dimensions of a Tensor or an array as one."""
    lead = len(value.shape) - count
    return value.reshape((*value.shape[:lead], math.prod(value.shape[lead:])))


def _shaped(found: Any, lead: Any, sizes: Any) -> tuple[Any, Any]:
    """The greatest elements of flat windows, and their places, in rows and columns again."""
    values, places = (part.reshape(*lead, *sizes) for part in found)
    return values, places


def _greatest_back(grad0: Value, result1: Value, input_shape: Any, sizes: Any) -> Value:
    count = len(sizes)
    whole = math.prod(input_shape[-count:])
    placed = place_along(_flat(grad0, count), _flat(result1, count), -1, whole, False)
    return placed.reshape((*grad0.shape[:-count], *input_shape[-count:]))


def _greatest_tangent(input_tangent: Any, result1: Any, sizes: Any) -> tuple[Any, None]:
    count = len(sizes)
    picked = pick_along(_flat(input_tangent, count), _flat(result1, count), -1)
    return picked.reshape(tuple(result1.shape)), None


@general(
    input=_greatest_back,
    jvp=_greatest_tangent,
    returns="values indices",
    node_name="AdaptiveMaxPool2DBackward0",
    batching=FRONT,
    home=None,
)
def greatest_in(xp: Any, input: Array, sizes: Any) -> tuple[Array, Array]:
    """The greatest elements of windows over the last dimensions, and their places in an image."""
    count = len(sizes)
    found = xp.window_maxima(_flat(input, count), _table(tuple(input.shape[-count:]), sizes))
    return _shaped(found, input.shape[:-count], sizes)


def _adaptive_max(count: int) -> Any:
    """adaptive_max_pool1d, adaptive_max_pool2d or adaptive_max_pool3d."""
    name = f"adaptive_max_pool{count}d"

    def function(input: Value, output_size: Any, return_indices: bool = False) -> Any:
        sizes = wanted_sizes(name, input, output_size)
        if 0 in sizes:  # no window, of which a mean is as good as a maximum
            values = batched(lambda images: adaptive_average(images, sizes), input, count)
            places = to(values.detach(), int64)
        else:
            values, places = greatest_in(input, tuple(sizes))
        if count == 2:
            values, places = following(values, input), following(places, input)
        return (values, places) if return_indices else values

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        "Maxima of windows that are chosen so that the result is of output_size, and with "
        "return_indices their places in the input."
    )
    return composite(home="nn.functional", without={"return_indices": Tensor})(function)


adaptive_max_pool1d = _adaptive_max(1)
adaptive_max_pool2d = _adaptive_max(2)
adaptive_max_pool3d = _adaptive_max(3)


# ---- windows by chance ----


@general(
    input=_greatest_back,
    jvp=_greatest_tangent,
    returns="values indices",
    node_name="FractionalMaxPool2DBackward0",
    batching=FRONT,
    home=None,
)
def greatest_at(
    xp: Any, input: Array, starts: Array, inner: Any, sizes: Any
) -> tuple[Array, Array]:
    """The greatest elements of windows over the last dimensions, and their places in an image.

    Each begins at one of starts, and has the places that lie `inner` behind it.
    """
    flat = _flat(input, len(sizes))
    return _shaped(xp.window_maxima_from(flat, starts, inner), flat.shape[:-1], sizes)


@functools.lru_cache(maxsize=64)
def _distances(sizes: Any, wanted: Any, kernel: Any) -> tuple[Any, Any, Any, Any]:
    """For each dimension how far windows are apart, which is the last, where it is; a count."""
    spans = [size - width for size, width in zip(sizes, kernel)]
    gaps = [span / (n - 1) if n > 1 else 0.0 for span, n in zip(spans, wanted)]
    count = host.arange(max(wanted))
    last = count == host.asarray(wanted)[:, None] - 1
    columns = [host.asarray(each)[:, None, None] for each in (gaps, spans)]
    return columns[0], last[..., None], columns[1].astype("int32"), count[:, None]


@general(batching=FOLD, home=None)
def random_windows(xp: Any, samples: Array, sizes: Any, wanted: Any, kernel: Any) -> Array:
    """Where in a flattened image windows begin whose distances samples decide.

    samples is (batch, channels, dimensions), of numbers in [0, 1); the result is
    (batch, channels, windows). Images go last on the way there: few windows are short rows.
    """
    lead, axes = samples.shape[:2], len(sizes)
    known = _distances(tuple(sizes), tuple(wanted), tuple(kernel))
    gap, last, span, count = map(xp.asarray, known)
    each = samples.reshape(-1, axes)
    # Samples of an image are for its columns, then its rows; those of a volume in order.
    offsets = xp.copied((each[:, ::-1] if axes == 2 else each).T, ordered=True)[:, None]
    places = xp.floor((count + offsets) * gap) - xp.floor(offsets * gap.astype(samples.dtype))
    narrow = math.prod(sizes) < 1 << 31  # what loops take, and half as much to write
    places = xp.where(last, span, places.astype("int32" if narrow else "int64"))
    first = places[0, : wanted[0]]
    for axis in range(1, axes):
        first = (first * sizes[axis])[:, None] + places[axis, : wanted[axis]]
        first = first.reshape(math.prod(wanted[: axis + 1]), len(each))
    return xp.copied(first.T, ordered=True).reshape(*lead, math.prod(wanted))


def _inner_places(sizes: Any, kernel: Any) -> tuple[int, ...]:
    """How far behind its first each place of a window lies, in a flattened image."""
    found = [0]
    for size, width in zip(sizes, kernel):
        found = [place * size + n for place in found for n in range(width)]
    return tuple(found)


def fractional_sizes(
    name: str, input: Any, kernel: Any, output_size: Any, output_ratio: Any
) -> tuple[int, ...]:
    """How many windows there are in each dimension."""
    count = int(name[-2])
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name}(): give output_size or output_ratio")
    own = input.shape[-count:]
    if output_size is None:
        single = isinstance(output_ratio, Number)
        ratios = (output_ratio,) * count if single else tuple(output_ratio)
        if len(ratios) != count:
            raise ValueError(
                f"{name}(): output_ratio must be a number or {count} numbers, got {list(ratios)}"
            )
        wanted = tuple(int(size * ratio) for size, ratio in zip(own, ratios))
    else:
        if isinstance(output_size, (tuple, list)) and len(output_size) != count:
            raise RuntimeError(
                f"{name}(): output_size must either be a number or {count} numbers, got "
                f"{list(output_size)}"
            )
        wanted = each(output_size, count, f"{name}(): output_size")
    for size, n, width in zip(own, wanted, kernel):
        if n + width - 1 > size - (count == 3):  # a volume must have room to choose
            raise RuntimeError(f"{name}(): {n} windows of {width} don't fit a size of {size}")
    return wanted


def _fractional(count: int) -> Any:
    """fractional_max_pool2d or fractional_max_pool3d."""
    name = f"fractional_max_pool{count}d"

    def function(
        input: Value,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Value | None = None,
    ) -> Any:
        if isinstance(kernel_size, (tuple, list)) and len(kernel_size) != count:
            raise RuntimeError(
                f"{name}(): kernel_size must either be a number or {count} numbers, got "
                f"{list(kernel_size)}"
            )
        if 0 in input.shape[1:]:
            raise RuntimeError(
                f"{name}(): only the first dimension may be empty, got an input of shape "
                f"{list(input.shape)}"
            )
        kernel = each(kernel_size, count, f"{name}(): kernel_size")
        wanted = fractional_sizes(name, input, kernel, output_size, output_ratio)
        images = unsqueeze(input, 0) if input.ndim == count + 1 else input
        lead = tuple(images.shape[:2])
        samples = _random_samples
        if samples is None:
            samples = uniform(input.new_zeros((*lead, count)))
        elif tuple(samples.shape[1:]) != (lead[1], count) or samples.shape[0] < lead[0]:
            raise RuntimeError(
                f"{name}(): Expect _random_samples of shape {[*lead, count]}, got "
                f"{list(samples.shape)}"
            )
        if samples.dtype != input.dtype:
            raise RuntimeError(
                f"{name}(): _random_samples of {samples.dtype} for an input of {input.dtype}; "
                "convert them with .to(input.dtype)"
            )
        if samples.shape[0] > lead[0]:
            samples = narrow(samples, 0, 0, lead[0])
        own = tuple(input.shape[-count:])
        starts = random_windows(samples, own, wanted, kernel)
        found = greatest_at(images, starts, _inner_places(own, kernel), tuple(wanted))
        values, index = found if images is input else [squeeze(part, 0) for part in found]
        return (values, index) if return_indices else values

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Maxima of windows at distances drawn by chance."
    return composite(home="nn.functional", without={"return_indices": Tensor})(function)


fractional_max_pool2d = _fractional(2)
fractional_max_pool3d = _fractional(3)
