"""Convolutions over sequences, images and volumes, and the transposed ones.

Three ops that are each other's gradients do all the work: the product with filters, its adjoint
with respect to the images, and that with respect to the filters.
"""

import functools
import operator
from typing import Any, SupportsIndex

from adjoint.backends.convolution import Layout
from adjoint.call.arguments import conj
from adjoint.call.rule import FRONT
from adjoint.dtypes import refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import contiguous
from adjoint.ops.arranging.shape import flatten, flip, reshape, squeeze, transpose, unsqueeze
from adjoint.ops.batch_rules import with_batch
from adjoint.ops.dims import refuse_truth
from adjoint.ops.neural.batches import joined, one_after_another, parted, side_by_side
from adjoint.ops.neural.linear import column_sums
from adjoint.ops.op import composite, general, multilinear
from adjoint.ops.reducing.cumulative import narrowed, widened
from adjoint.ops.reducing.reduction import sum
from adjoint.ops.same_dtype import same_kind
from adjoint.ops.shared_rules import zero_of

# ---- the three products ----


def _bias_rule(grad: Value) -> Value:
    return sum(grad, (0, *range(2, grad.ndim)))


def _with_bias(xp: Any, out: Any, bias: Any) -> Any:
    if bias is None:
        return out
    return xp.into(xp.add, out, out, widened(bias).reshape(-1, *[1] * (out.ndim - 2)))


def _same_kind(images: Any, *others: Any) -> None:
    for other in others:
        if other is not None and other.dtype != images.dtype:
            raise RuntimeError(
                f"images, weight and bias must have one data type, got {images.dtype} and "
                f"{other.dtype}"
            )


def _jvp(
    convolution: Any,
    images: Any,
    weight: Any,
    images_tangent: Any,
    weight_tangent: Any,
    bias_tangent: Any,
    result: Any,
) -> Any:
    """Linear in images and weight; bias is only added."""
    parts = []
    if images_tangent is not None:
        parts.append(convolution(images_tangent, weight))
    if weight_tangent is not None:
        parts.append(convolution(images, weight_tangent))
    if bias_tangent is not None:
        shift = reshape(bias_tangent, (-1, *[1] * (images.ndim - 2)))
        parts.append(shift + (0 if parts else 0 * result))
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _over_batch(
    convolution: Any,
    images: Any,
    images_batched: bool,
    weight: Any,
    weight_batched: bool,
    bias: Any,
    bias_batched: bool,
    groups: int,
    size: int,
) -> Any:
    """All images by one bank of filters, or as many groups of channels as there are banks."""
    if weight_batched:
        channels = side_by_side(with_batch(images, images_batched, size))
        shifts = None if bias is None else joined(with_batch(bias, bias_batched, size))
        out = convolution(channels, joined(weight), shifts, groups * size)
        return one_after_another(out, size)
    own = None if bias_batched else bias
    if images_batched:
        out = parted(convolution(joined(images), weight, own, groups), size)
    else:
        out = convolution(images, weight, own, groups)
    if not bias_batched:
        return out
    return out + reshape(bias, (size, 1, bias.shape[1], *[1] * (weight.ndim - 2)))


def _convolve_over_batch(
    images: Any,
    images_batched: bool,
    weight: Any,
    weight_batched: bool,
    bias: Any,
    bias_batched: bool,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    batch_size: int,
) -> Any:
    def again(images: Any, weight: Any, bias: Any, groups: int) -> Any:
        return convolve(images, weight, bias, stride, padding, dilation, groups)

    if weight_batched and not images_batched and groups == 1:  # one bank, of all their filters
        shifts = None if bias is None else joined(with_batch(bias, bias_batched, batch_size))
        return one_after_another(again(images, joined(weight), shifts, 1), batch_size)
    given = images, images_batched, weight, weight_batched, bias, bias_batched
    return _over_batch(again, *given, groups, batch_size)


def _convolve_back_over_batch(
    images: Any,
    images_batched: bool,
    weight: Any,
    weight_batched: bool,
    bias: Any,
    bias_batched: bool,
    sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    batch_size: int,
) -> Any:
    def again(images: Any, weight: Any, bias: Any, groups: int) -> Any:
        return convolve_back(images, weight, bias, sizes, stride, padding, dilation, groups)

    given = images, images_batched, weight, weight_batched, bias, bias_batched
    return _over_batch(again, *given, groups, batch_size)


def _filters_over_batch(
    images: Any,
    images_batched: bool,
    other: Any,
    other_batched: bool,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    batch_size: int,
) -> Any:
    """Each element's products in a group of their own; what is shared need not be repeated."""
    size = batch_size
    rest = (kernel, stride, padding, dilation)
    if groups == 1 and not other_batched:
        return one_after_another(convolve_filters(side_by_side(images), other, *rest, 1), size)
    if groups == 1 and not images_batched:
        return parted(convolve_filters(images, side_by_side(other), *rest, 1), size)
    channels = side_by_side(with_batch(images, images_batched, size))
    products = side_by_side(with_batch(other, other_batched, size))
    return parted(convolve_filters(channels, products, *rest, groups * size), size)


def _convolve_jvp(
    images: Any,
    weight: Any,
    images_tangent: Any,
    weight_tangent: Any,
    bias_tangent: Any,
    result: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    def again(images: Any, weight: Any) -> Any:
        return convolve(images, weight, None, stride, padding, dilation, groups)

    return _jvp(again, images, weight, images_tangent, weight_tangent, bias_tangent, result)


@general(
    images=lambda grad, weight, images_shape, stride, padding, dilation, groups: convolve_back(
        grad, conj(weight), None, tuple(images_shape[2:]), stride, padding, dilation, groups
    ),
    weight=lambda grad, images, weight_shape, stride, padding, dilation, groups: convolve_filters(
        conj(images), grad, tuple(weight_shape[2:]), stride, padding, dilation, groups
    ),
    bias=_bias_rule,
    jvp=_convolve_jvp,
    vmap=_convolve_over_batch,
    node_name="ConvolutionBackward0",
    home=None,
    ordered="either",
    autocast="narrow",
)
def convolve(
    xp: Any,
    images: Array,
    weight: Array,
    bias: Array,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Array:
    """The product of each filter with each window of the images; padding is a pair for each size.

    Images are (batch, channels, *sizes).
    """
    _same_kind(images, weight, bias)
    refuse_kinds("convolution", images, "b")
    layout = Layout(tuple(weight.shape[2:]), stride, padding, dilation, groups)
    counts = layout.counts(images.shape[2:])
    if min(counts) < 1:
        raise RuntimeError(
            f"windows of {list(layout.kernel)}, {list(dilation)} apart within, don't fit images of "
            f"{list(images.shape[2:])} with {[before for before, _ in padding]} around them"
        )
    out = xp.convolve(widened(images), widened(weight), layout)
    return narrowed(_with_bias(xp, out, bias), images.dtype)


def _convolve_back_jvp(
    images: Any,
    weight: Any,
    images_tangent: Any,
    weight_tangent: Any,
    bias_tangent: Any,
    result: Any,
    sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    def again(images: Any, weight: Any) -> Any:
        return convolve_back(images, weight, None, sizes, stride, padding, dilation, groups)

    return _jvp(again, images, weight, images_tangent, weight_tangent, bias_tangent, result)


@general(
    images=lambda grad, weight, stride, padding, dilation, groups: convolve(
        grad, conj(weight), None, stride, padding, dilation, groups
    ),
    weight=lambda grad, images, weight_shape, stride, padding, dilation, groups: convolve_filters(
        grad, conj(images), tuple(weight_shape[2:]), stride, padding, dilation, groups
    ),
    bias=_bias_rule,
    jvp=_convolve_back_jvp,
    vmap=_convolve_back_over_batch,
    node_name="ConvolutionBackward0",
    home=None,
    ordered="either",
    autocast="narrow",
)
def convolve_back(
    xp: Any,
    images: Array,
    weight: Array,
    bias: Array,
    sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Array:
    """The transposed convolution, whose results are of `sizes`: the gradient of convolve's images.

    `images` has one element for each window of the result.
    """
    _same_kind(images, weight, bias)
    layout = Layout(tuple(weight.shape[2:]), stride, padding, dilation, groups)
    out = xp.convolve_back(widened(images), widened(weight), sizes, layout)
    return narrowed(_with_bias(xp, out, bias), images.dtype)


@multilinear(
    images=lambda grad, other, images_shape, stride, padding, dilation, groups: convolve_back(
        conj(other), grad, None, tuple(images_shape[2:]), stride, padding, dilation, groups
    ),
    other=lambda grad, images, stride, padding, dilation, groups: convolve(
        conj(images), grad, None, stride, padding, dilation, groups
    ),
    vmap=_filters_over_batch,
    node_name="ConvolutionBackward0",
    home=None,
)
def convolve_filters(
    xp: Any,
    images: Array,
    other: Array,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Array:
    """For each place in a window, its product with `other`: the gradient of convolve's weight."""
    layout = Layout(kernel, stride, padding, dilation, groups)
    return narrowed(xp.convolve_filters(widened(images), widened(other), layout), images.dtype)


# ---- the public functions ----


def each(value: Any, count: int, name: str) -> tuple[int, ...]:
    """One number for all sizes, or a number for each."""
    if isinstance(value, int):
        refuse_truth(name, value)
        return (value,) * count
    if isinstance(value, SupportsIndex) and not getattr(value, "ndim", 0):  # one of NumPy's
        return (operator.index(value),) * count
    try:
        numbers = tuple(operator.index(n) for n in value)
    except TypeError as error:
        raise TypeError(f"{name} must be a whole number, or {count}, got {value!r}") from error
    if isinstance(value, (tuple, list)):
        refuse_truth(name, *value[:1])
    if len(numbers) == 1:
        return numbers * count
    if len(numbers) != count:
        raise RuntimeError(f"{name} must be a number or {count} numbers, got {list(numbers)}")
    return numbers


def _sides(
    name: str, padding: Any, kernel: Any, stride: Any, dilation: Any
) -> tuple[tuple[int, int], ...]:
    """How much to add before and after each size."""
    count = len(kernel)
    if padding == "valid":
        return ((0, 0),) * count
    if padding == "same":
        if any(step != 1 for step in stride):
            raise RuntimeError(f"{name}(): padding='same' is not supported for strides above 1")
        spare = [step * (width - 1) for step, width in zip(dilation, kernel)]
        return tuple((n // 2, n - n // 2) for n in spare)
    if isinstance(padding, str):
        raise RuntimeError(f"{name}(): padding must be numbers, 'same' or 'valid', got {padding!r}")
    numbers = each(padding, count, f"{name}(): padding")
    if min(numbers) < 0:
        raise RuntimeError(f"{name}(): padding must not be negative, got {list(numbers)}")
    return tuple((n, n) for n in numbers)


def _check(name: str, input: Any, weight: Any, bias: Any, groups: int, transposed: bool) -> None:
    """Refuse images, filters and a bias that don't fit each other."""
    count = int(name[-2])
    if not hasattr(input, "ndim"):
        raise TypeError(f"{name}(): expected a Tensor as input, got {type(input).__name__}")
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            f"{name}(): expected {count + 1} dimensions or, for a batch, {count + 2}, got input of "
            f"shape {list(input.shape)}"
        )
    if weight.ndim != count + 2:
        raise RuntimeError(
            f"{name}(): expected a weight of {count + 2} dimensions, got shape {list(weight.shape)}"
        )
    if groups < 1 or weight.shape[0] % groups:
        raise RuntimeError(
            f"{name}(): {weight.shape[0]} filters can't be divided into {groups} groups"
        )
    channels = input.shape[-1 - count]
    wanted = weight.shape[0] if transposed else weight.shape[1] * groups
    if channels != wanted:
        raise RuntimeError(
            f"{name}(): weight of shape {list(weight.shape)} with groups={groups} expects {wanted} "
            f"channels, but input has {channels}"
        )
    filters = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and tuple(bias.shape) != (filters,):
        raise RuntimeError(
            f"{name}(): bias must hold a number for each of {filters} filters, got shape "
            f"{list(bias.shape)}"
        )


def _steps(name: str, count: int, stride: Any, dilation: Any) -> tuple[Any, Any]:
    strides = each(stride, count, f"{name}(): stride")
    dilations = each(dilation, count, f"{name}(): dilation")
    if min(strides) < 1 or min(dilations) < 1:
        raise RuntimeError(
            f"{name}(): stride and dilation must be positive, got {stride} and {dilation}"
        )
    return strides, dilations


def batched(function: Any, input: Any, count: int) -> Any:
    """A function of a batch of images, applied to one or to a batch."""
    if input.ndim == count + 2:
        return function(input)
    return squeeze(function(unsqueeze(input, 0)), 0)


def _convolution(count: int, things: str) -> Any:
    """conv1d, conv2d or conv3d."""
    name = f"conv{count}d"

    def function(
        input: Value,
        weight: Value,
        bias: Value | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Value:
        _check(name, input, weight, bias, groups, False)
        strides, dilations = _steps(name, count, stride, dilation)
        sides = _sides(name, padding, tuple(weight.shape[2:]), strides, dilations)
        return batched(
            lambda images: convolve(images, weight, bias, strides, sides, dilations, groups),
            input,
            count,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The cross-correlation of {things} with a bank of filters."
    return composite(method=False, also="nn.functional")(function)


def _transposed(count: int, things: str) -> Any:
    """conv_transpose1d, conv_transpose2d or conv_transpose3d."""
    name = f"conv_transpose{count}d"

    def function(
        input: Value,
        weight: Value,
        bias: Value | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Value:
        _check(name, input, weight, bias, groups, True)
        strides, dilations = _steps(name, count, stride, dilation)
        sides = each(padding, count, f"{name}(): padding")
        extra = each(output_padding, count, f"{name}(): output_padding")
        if min(sides) < 0 or min(extra) < 0:
            raise RuntimeError(f"{name}(): padding must not be negative, got {padding}")
        if any(n >= max(pair) for n, *pair in zip(extra, strides, dilations)):
            raise RuntimeError(
                f"{name}(): output_padding must be smaller than stride or dilation, got "
                f"{list(extra)} for stride {list(strides)} and dilation {list(dilations)}"
            )
        inner = tuple(input.shape[-count:])
        sizes = tuple(
            (n - 1) * step - 2 * side + reach * (width - 1) + more + 1
            for n, step, side, reach, width, more in zip(
                inner, strides, sides, dilations, weight.shape[2:], extra
            )
        )
        if min(sizes) < 1:
            raise RuntimeError(f"{name}(): the result would have sizes {list(sizes)}, too small")
        pairs = tuple((side, side - more) for side, more in zip(sides, extra))
        return batched(
            lambda images: convolve_back(
                images, weight, bias, sizes, strides, pairs, dilations, groups
            ),
            input,
            count,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The transposed convolution of {things}, the gradient of a convolution."
    return composite(method=False, also="nn.functional")(function)


conv1d = _convolution(1, "sequences")
conv2d = _convolution(2, "images")
conv3d = _convolution(3, "volumes")
conv_transpose1d = _transposed(1, "sequences")
conv_transpose2d = _transposed(2, "images")
conv_transpose3d = _transposed(3, "volumes")


# ---- time first ----


def _frames(xp: Any, input: Any, pad: int) -> Any:
    """Frames of (time, batch, channels) with `pad` of zeros around them, or without as many."""
    if pad <= 0:
        return input[..., -pad : input.shape[-3] + pad, :, :]
    edge = xp.zeros((*input.shape[:-3], pad, *input.shape[-2:]), input.dtype)
    return xp.concatenate([edge, input, edge], axis=-3)


_PART = 4096  # elements of a matrix up to which threads share a batch of them, and BLAS is quick


def _rows_from(frames: Any, start: int, count: int, width: int) -> Any:
    """Some frames, of all samples, as the rows of matrices of at most `width` columns."""
    part = frames[..., start : start + count, :, :]
    *lead, batch, channels = part.shape
    most = max(1, min(count, _PART // max(batch * max(channels, width), 1)))
    each = next((n for n in range(most, most // 2, -1) if count % n == 0), max(count, 1))
    return part.reshape(*lead[:-1], count // each, each * batch, channels)


def _taps_back(grad: Value, weight: Value, pad: int) -> Value:
    """By the frames: each goes to those it came from, by the filters turned around."""
    turned = contiguous(transpose(flip(conj(weight), (-3,)), -1, -2))
    return taps(grad, turned, None, weight.shape[-3] - 1 - pad)


def _taps_tangent(
    input: Any,
    weight: Any,
    pad: int,
    input_tangent: Any,
    weight_tangent: Any,
    bias_tangent: Any,
    result: Any,
) -> Any:
    parts = [] if bias_tangent is None else [zero_of(result) + bias_tangent]
    if input_tangent is not None:
        parts.append(taps(input_tangent, weight, None, pad))
    if weight_tangent is not None:
        parts.append(taps(input, weight_tangent, None, pad))
    return functools.reduce(operator.add, parts)


@general(
    input=_taps_back,
    weight=lambda grad, input, pad: tap_products(conj(input), grad, pad),
    bias=lambda grad: column_sums(flatten(grad, -3, -2)),
    jvp=_taps_tangent,
    batching=FRONT,
    node_name="ConvTbcBackward0",
    wide=True,
    home=None,
)
def taps(xp: Any, input: Array, weight: Array, bias: Array | None, pad: int) -> Array:
    """Sums of frames, each times its matrix of a filter, for all places of the filter."""
    frames, width = _frames(xp, input, pad), weight.shape[-3]
    count = frames.shape[-3] - width + 1
    total: Any = None
    for k in range(width):
        rows = _rows_from(frames, k, count, weight.shape[-1])
        part = xp.matmul(rows, weight[..., k, None, :, :])
        total = part if total is None else xp.into(xp.add, total, total, part)
    if bias is not None:
        total = xp.into(xp.add, total, total, bias[..., None, None, :])
    return total.reshape(*frames.shape[:-3], count, frames.shape[-2], weight.shape[-1])


@multilinear(
    input=lambda grad, other, pad: _taps_back(other, grad, pad),
    other=lambda grad, input, pad: taps(conj(input), grad, None, pad),
    batching=FRONT,
    wide=True,
    home=None,
)
def tap_products(xp: Any, input: Array, other: Array, pad: int) -> Array:
    """The products of frames with those of other, for each distance: taps' gradient by weight."""
    frames, count = _frames(xp, input, pad), other.shape[-3]
    widths = frames.shape[-1], other.shape[-1]
    rows = _rows_from(other, 0, count, widths[0])
    parts = []
    for k in range(frames.shape[-3] - count + 1):
        columns = xp.swapaxes(_rows_from(frames, k, count, widths[1]), -1, -2)
        parts.append(xp.matmul(columns, rows).sum(axis=-3))
    return xp.stack(parts, axis=-3)


@composite(also="nn.functional")
def conv_tbc(input: Value, weight: Value, bias: Value, pad: int = 0) -> Value:
    """conv1d of (time, batch, channels) with filters of (width, channels, filters)."""
    same_kind("conv_tbc", input, weight=weight, bias=bias)
    shapes = f"input {list(input.shape)}, weight {list(weight.shape)}, bias {list(bias.shape)}"
    if input.ndim != 3 or weight.ndim != 3 or input.shape[2] != weight.shape[1]:
        raise RuntimeError(
            f"conv_tbc(): expected input of (time, batch, channels) and weight of (width, "
            f"channels, filters), got {shapes}"
        )
    if tuple(bias.shape) != (weight.shape[2],):
        raise RuntimeError(f"conv_tbc(): bias must hold a number for each filter, got {shapes}")
    if not 0 < weight.shape[0] <= input.shape[0] + 2 * pad + 1:
        raise RuntimeError(f"conv_tbc(): no frame is left with pad={pad}, got {shapes}")
    return taps(input, weight, bias, pad)
