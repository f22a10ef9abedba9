"""Pooling whose windows follow from the sizes wanted, or from chance."""

import functools
import math
from typing import Any

from adjoint.call.rule import FOLD, FRONT
from adjoint.dtypes import bfloat16, float16, float32
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import following, to
from adjoint.ops.arranging.shape import cat, narrow, reshape
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


def _wanted(name: str, input: Any, output_size: Any) -> tuple[int, ...]:
    """The size of each pooled dimension; None means that of the input."""
    count = int(name[-2])
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * count
    if output_size is None or (count == 1 and None in given):
        raise TypeError(f"{name}(): output_size must be given, None stands for one size of several")
    if input.ndim not in (count + 1, count + 2):
        listed = isinstance(output_size, (tuple, list)) and count > 1
        refusal = ValueError if listed and input.ndim <= count else RuntimeError
        raise refusal(
            f"{name}(): expected {count + 1} dimensions or, for a batch, {count + 2}, got shape "
            f"{list(input.shape)}"
        )
    if not input.dtype.is_floating_point and not input.dtype.is_complex:
        raise NotImplementedError(f"{name}() is not implemented for {input.dtype}; convert before")
    if len(given) != count:
        raise RuntimeError(f"{name}(): output_size must be {count} numbers, got {list(given)}")
    own = input.shape[-count:]
    sizes = tuple(size if n is None else int(n) for n, size in zip(given, own))
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
        if count > 1 and output_size in (1, (1,) * count, [1] * count):  # of any dimensions
            return mean(input, tuple(range(-count, 0)), True)
        sizes = _wanted(name, input, output_size)
        return batched(lambda images: adaptive_average(images, sizes), input, count)

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


def _greatest_back(grad0: Value, result1: Value, input_shape: Any) -> Value:
    return place_along(grad0, result1, -1, input_shape[-1], False)


@general(
    input=_greatest_back,
    jvp=lambda input_tangent, result1: (pick_along(input_tangent, result1, -1), None),
    returns="values indices",
    node_name="AdaptiveMaxPool2DBackward0",
    batching=FRONT,
    home=None,
)
def greatest_in(xp: Any, input: Array, own: Any, sizes: Any) -> tuple[Array, Array]:
    """The greatest elements of windows over flattened images of sizes `own`, and their places."""
    found: tuple[Any, Any] = xp.window_maxima(input, _table(own, sizes))
    return found


def _adaptive_max(count: int) -> Any:
    """adaptive_max_pool1d, adaptive_max_pool2d or adaptive_max_pool3d."""
    name = f"adaptive_max_pool{count}d"

    def function(input: Value, output_size: Any, return_indices: bool = False) -> Any:
        sizes = _wanted(name, input, output_size)
        if min(sizes) < 1:
            raise RuntimeError(f"{name}(): output_size must be positive, got {output_size}")
        own = tuple(input.shape[-count:])
        lead = tuple(input.shape[:-count])
        found = greatest_in(reshape(input, (*lead, math.prod(own))), own, sizes)
        values, places = (reshape(part, (*lead, *sizes)) for part in found)
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
    jvp=lambda input_tangent, result1: (pick_along(input_tangent, result1, -1), None),
    returns="values indices",
    node_name="FractionalMaxPool2DBackward0",
    batching=FRONT,
    home=None,
)
def greatest_at(xp: Any, input: Array, starts: Array, inner: Any) -> tuple[Array, Array]:
    """The greatest elements of windows over flattened images, and their places.

    Each begins at one of starts, and has the places that lie `inner` behind it.
    """
    found: tuple[Any, Any] = xp.window_maxima_from(input, starts, inner)
    return found


@general(batching=FOLD, home=None)
def random_windows(xp: Any, samples: Array, sizes: Any, wanted: Any, kernel: Any) -> Array:
    """Where in a flattened image windows begin whose distances samples decide.

    samples is (batch, channels, dimensions), of numbers in [0, 1); the result is
    (batch, channels, windows).
    """
    first: Any = 0
    lead, count = samples.shape[:2], len(sizes)
    for axis, (size, n, width) in enumerate(zip(sizes, wanted, kernel)):
        # Samples of an image are for its columns, then its rows; those of a volume in order.
        offset = samples[..., 1 - axis if count == 2 else axis, None]
        gap = (size - width) / (n - 1) if n > 1 else 0.0
        starts = xp.floor((xp.arange(n) + offset) * gap) - xp.floor(offset * gap)
        starts = xp.where(xp.arange(n) == n - 1, size - width, starts).astype("int64")
        step = math.prod(sizes[axis + 1 :])
        first = first + (starts * step).reshape(*lead, *_at(axis, n, count))
    return first.reshape(*lead, math.prod(wanted))


def _inner_places(sizes: Any, kernel: Any) -> tuple[int, ...]:
    """How far behind its first each place of a window lies, in a flattened image."""
    found = [0]
    for size, width in zip(sizes, kernel):
        found = [place * size + n for place in found for n in range(width)]
    return tuple(found)


def _at(axis: int, size: int, count: int) -> list[int]:
    return [size if n == axis else 1 for n in range(count)]


def _fractional_sizes(
    name: str, input: Any, kernel: Any, output_size: Any, output_ratio: Any
) -> tuple[int, ...]:
    count = int(name[-2])
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name}(): give output_size or output_ratio")
    own = input.shape[-count:]
    if output_size is None:
        ratios = (
            output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * count
        )
        if len(ratios) != count:
            raise ValueError(
                f"{name}(): output_ratio must be a number or {count} numbers, got {list(ratios)}"
            )
        wanted = tuple(int(size * ratio) for size, ratio in zip(own, ratios))
    else:
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
        kernel = each(kernel_size, count, f"{name}(): kernel_size")
        wanted = _fractional_sizes(name, input, kernel, output_size, output_ratio)
        lead = (1, input.shape[0]) if input.ndim == count + 1 else tuple(input.shape[:2])
        samples = _random_samples
        if samples is None:
            samples = uniform(input.new_zeros((*lead, count)))
        elif tuple(samples.shape[1:]) != (lead[1], count) or samples.shape[0] < lead[0]:
            raise RuntimeError(
                f"{name}(): Expect _random_samples of shape {[*lead, count]}, got "
                f"{list(samples.shape)}"
            )
        samples = narrow(samples, 0, 0, lead[0])
        own = tuple(input.shape[-count:])
        starts = random_windows(samples, own, wanted, kernel)
        flat = reshape(input, (*lead, math.prod(own)))
        shape = (*input.shape[:-count], *wanted)
        found = greatest_at(flat, starts, _inner_places(own, kernel))
        values, index = (reshape(part, shape) for part in found)
        return (values, index) if return_indices else values

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Maxima of windows at distances drawn by chance."
    return composite(home="nn.functional", without={"return_indices": Tensor})(function)


fractional_max_pool2d = _fractional(2)
fractional_max_pool3d = _fractional(3)
