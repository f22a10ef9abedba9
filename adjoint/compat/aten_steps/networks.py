"""The steps of convolutions, pools, normalisations and losses."""

import math
from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.places import reshaped
from adjoint.ops.neural.pooling import max_pool_places


def even_padding(pairs: Any) -> list[int] | None:
    """The padding of each dimension; None if it is not the same on both sides."""
    if any(before != after for before, after in pairs):
        return None
    return [before for before, _ in pairs]


def rounded_up(sizes: Any, kernel: Any, stride: Any, padding: Any) -> tuple[list[int], bool] | None:
    """The padding of each dimension, and whether ceil_mode made that behind another; or None."""
    lengths = even_padding(padding)
    if lengths is not None:
        return lengths, False
    for size, width, step, (before, after) in zip(sizes, kernel, stride, padding, strict=True):
        count = -(-(size + 2 * before - width) // step) + 1
        if (count - 1) * step >= size + before:
            count -= 1
        if after < before or (size + before + after - width) // step + 1 != count:
            return None
    return [before for before, _ in padding], True


def as_images(kernel: Any, stride: Any, padding: Any) -> tuple[Any, Any, Any]:
    """Windows over rows as windows over images of one row."""
    return (1, *kernel), (1, *stride), ((0, 0), *padding)


def beyond(
    images: Any, weight: Any, sizes: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[list[int], list[int]] | None:
    """The padding of a transposed convolution, and by how much its results are larger.

    None if that is not what makes padding differ on both sides.
    """
    facts = zip(sizes, images.shape[2:], stride, padding, dilation, weight.shape[2:], strict=True)
    more = [
        size - ((n - 1) * step - 2 * before + apart * (kernel - 1) + 1)
        for size, n, step, (before, _), apart, kernel in facts
    ]
    known = all(
        after in (before, before - n) and 0 <= n < max(step, apart)
        for (before, after), n, step, apart in zip(padding, more, stride, dilation, strict=True)
    )
    return ([before for before, _ in padding], more) if known else None


def _convolve(
    ask: Steps,
    images: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    lengths = even_padding(padding)
    if lengths is None:
        sides = [side for pair in reversed(padding) for side in pair]
        images = ask("constant_pad_nd", images, sides, 0.0)
        lengths = [0] * len(padding)
    rest = (stride, lengths, dilation, False, [0] * len(lengths), groups)
    return ask("convolution", images, weight, bias, *rest)


def _convolve_back(
    ask: Steps,
    images: Any,
    weight: Any,
    bias: Any,
    sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    found = beyond(images, weight, sizes, stride, padding, dilation)
    if found is None:
        rest = (sizes, stride, padding, dilation, groups)
        return ask("convolve_back", images, weight, bias, *rest)
    before, more = found
    return ask("convolution", images, weight, bias, stride, before, dilation, True, more, groups)


def _layer_standardized(
    ask: Steps, input: Any, weight: Any, bias: Any, axes: Any, eps: float
) -> Any:
    last = tuple(range(input.ndim - len(axes), input.ndim))
    shape = list(input.shape[-len(axes) :])
    usual = tuple(sorted(axis % input.ndim for axis in axes)) == last
    if not usual or any(each is not None and list(each.shape) != shape for each in (weight, bias)):
        return ask("layer_standardized", input, weight, bias, axes, eps)
    out, mean, inverse = ask("native_layer_norm", input, shape, weight, bias, eps)
    return out, mean, _variance(inverse, eps, mean.shape)


def _batch_standardized(
    ask: Steps, input: Any, weight: Any, bias: Any, axes: Any, eps: float
) -> Any:
    dims = sorted(axis % input.ndim for axis in axes)
    if dims == list(range(2, input.ndim)):
        return _each_standardized(ask, input, weight, bias, eps)
    if 0 not in dims:
        return ask("batch_standardized", input, weight, bias, axes, eps)
    with unseen():
        factor, shift = (None if each is None else each.reshape(-1) for each in (weight, bias))
    statistics = (None, None, True, 0.0, eps)
    out, mean, inverse = ask("native_batch_norm", input, factor, shift, *statistics)
    shape = (1, -1, *[1] * (input.ndim - 2))
    with unseen():
        centre = mean.reshape(shape)
    return out, centre, _variance(inverse, eps, centre.shape)


def _each_standardized(ask: Steps, input: Any, weight: Any, bias: Any, eps: float) -> Any:
    """The channels of each sample, as those of one."""
    samples, channels, *sizes = input.shape
    factor, shift = (
        None if each is None else ask("repeat", reshaped(ask, each, [channels]), [samples])
        for each in (weight, bias)
    )
    flat = reshaped(ask, input, [1, samples * channels, *sizes])
    statistics = (None, None, True, 0.0, eps)
    out, mean, inverse = ask("native_batch_norm", flat, factor, shift, *statistics)
    shape = (samples, channels, *[1] * len(sizes))
    with unseen():
        centre = mean.reshape(shape)
    return ask("view", out, list(input.shape)), centre, _variance(inverse, eps, shape)


def _group_standardized(
    ask: Steps, input: Any, weight: Any, bias: Any, groups: int, eps: float
) -> Any:
    samples, channels, *sizes = input.shape
    facts = (samples, channels, math.prod(sizes), groups, eps)
    out, mean, inverse = ask("native_group_norm", input, weight, bias, *facts)
    return out, mean, _variance(inverse, eps, (samples, groups))


def _variance(inverse: Any, eps: float, shape: Any) -> Any:
    """The variance, of which one over the deviation is known; in the shape that rules expect."""
    with unseen():
        return (inverse**-2 - eps).clamp(min=0).reshape(tuple(shape))


def _pool_name(rank: int) -> str:
    return f"max_pool{rank - 2}d_with_indices"


def _reaches_out(padding: Any) -> bool:
    """Whether ceil_mode made the border behind images larger than that before them."""
    return even_padding(padding) is None


def _max_pool_values(
    ask: Steps, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    return _pooled(ask, images, kernel, stride, padding, dilation, 0)


def _max_pool_places(
    ask: Steps, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    return _pooled(ask, images, kernel, stride, padding, dilation, 1)


def _pooled(
    ask: Steps, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, which: int
) -> Any:
    if images.ndim == 3:
        rows = (*as_images(kernel, stride, padding), (1, *dilation), which)
        return ask("squeeze", _pooled(ask, ask("unsqueeze", images, -2), *rows), -2)
    rest = (kernel, stride, [before for before, _ in padding], dilation, _reaches_out(padding))
    return ask(_pool_name(images.ndim), images, *rest)[which]


def _max_pool_back(
    ask: Steps, pooled: Any, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    if images.ndim == 3:
        rows = (*as_images(kernel, stride, padding), (1, *dilation))
        wide = ask("unsqueeze", pooled, -2), ask("unsqueeze", images, -2)
        return ask("squeeze", _max_pool_back(ask, wide[0], wide[1], *rows), -2)
    with unseen():
        places = max_pool_places(images, kernel, stride, padding, dilation)
    lengths = [before for before, _ in padding]
    rest = (kernel, stride, lengths, dilation, _reaches_out(padding), places)
    return ask(f"{_pool_name(images.ndim)}_backward", pooled, images, *rest)


def _average_windows(
    ask: Steps, images: Any, kernel: Any, stride: Any, padding: Any, counting: Any
) -> Any:
    if images.ndim == 3:
        wide = as_images(kernel, stride, padding)
        found = _average_windows(ask, ask("unsqueeze", images, -2), *wide, counting)
        return ask("squeeze", found, -2)
    found = rounded_up(images.shape[2:], kernel, stride, padding)
    if images.ndim not in (4, 5) or (found is None and counting[1] is None):
        return ask("average_windows", images, kernel, stride, padding, counting)
    if found is None:  # the divisor is given, so that a border may count
        sides = [side for pair in reversed(padding) for side in pair]
        images, found = ask("constant_pad_nd", images, sides, 0.0), ([0] * len(padding), False)
    return ask(f"avg_pool{images.ndim - 2}d", images, kernel, stride, *found, *counting)


def _columns_of(
    ask: Steps, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    lengths = even_padding(padding)
    if lengths is None:
        return ask("columns_of", images, kernel, stride, padding, dilation)
    return ask("im2col", images, kernel, dilation, lengths, stride)


def _images_of(
    ask: Steps, columns: Any, sizes: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    lengths = even_padding(padding)
    if lengths is None:
        return ask("images_of", columns, sizes, kernel, stride, padding, dilation)
    return ask("col2im", columns, sizes, kernel, dilation, lengths, stride)


def _embedded(
    ask: Steps, weight: Any, indices: Any, padding_idx: Any, by_frequency: bool, sparse: bool
) -> Any:
    number = padding_idx if isinstance(padding_idx, int) else -1
    return ask("embedding", weight, indices, number, by_frequency, sparse)


# ---- losses ----


def _mean_cross_entropy(ask: Steps, input: Any, target: Any, ignore_index: int) -> Any:
    logarithms = ask("_log_softmax", input, 1 if input.ndim > 1 else 0, False)
    return ask("nll_loss_forward", logarithms, target, None, 1, ignore_index)[0]


def _picked_losses(ask: Steps, input: Any, target: Any, ignore_index: int) -> Any:
    return ask("nll_loss_forward", input, target, None, 0, ignore_index)[0]


def _reduced_loss(name: str) -> Any:
    """Steps of a loss of each element, of which adjoint takes the mean or sum in another op."""

    def steps(ask: Steps, input: Any, target: Any, *rest: Any) -> Any:
        return ask(name, input, target, *_BEFORE_REDUCTION[name], 0, *rest)

    return steps


_BEFORE_REDUCTION: Final[dict[str, tuple[Any, ...]]] = {
    "binary_cross_entropy": (None,),
    "binary_cross_entropy_with_logits": (None, None),
    "huber_loss": (),
}


def _mean_squared_error(ask: Steps, input: Any, target: Any) -> Any:
    return ask("mse_loss", input, target)


def _squared_error(ask: Steps, input: Any, target: Any) -> Any:
    return ask("mse_loss", input, target, 0)


SINGLE: Final[dict[str, Any]] = {
    "embedded": _embedded,
    "mean_squared_error": _mean_squared_error,
    "squared_error": _squared_error,
}
STEPS: Final[dict[str, Any]] = {
    "convolve": _convolve,
    "convolve_back": _convolve_back,
    "layer_standardized": _layer_standardized,
    "batch_standardized": _batch_standardized,
    "group_standardized": _group_standardized,
    "max_pool_values": _max_pool_values,
    "max_pool_places": _max_pool_places,
    "max_pool_back": _max_pool_back,
    "average_windows": _average_windows,
    "columns_of": _columns_of,
    "images_of": _images_of,
    "mean_cross_entropy": _mean_cross_entropy,
    "picked_losses": _picked_losses,
    "chance_error": _reduced_loss("binary_cross_entropy"),
    "logit_error": _reduced_loss("binary_cross_entropy_with_logits"),
    "huber_error": _reduced_loss("huber_loss"),
}
