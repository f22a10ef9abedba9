"""The steps of gradients of convolutions, pools, normalisations and losses."""

from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.kept import Kept, TooLittleKeptError, from_front
from adjoint.compat.aten_steps.networks import beyond, even_padding, rounded_up
from adjoint.ops.reducing.reduction import log_softmax


def _convolve(ask: Steps, kept: Kept, grad: Any) -> Any:
    images, weight = kept.value(0), kept.value(1)
    lengths = even_padding(kept.option(4))
    if lengths is None:
        raise TooLittleKeptError
    has_bias = kept.wanted[2] or kept.option(2) is not None
    rest = (kept.option(3), lengths, kept.option(5), False, [0] * len(lengths), kept.option(6))
    sizes = [weight.shape[0] if has_bias else 0]
    mask = list(kept.wanted)
    found = ask("convolution_backward", grad, images, weight, sizes, *rest, mask)
    return [each if wanted else None for each, wanted in zip(found, mask, strict=True)]


def _convolve_back(ask: Steps, kept: Kept, grad: Any) -> Any:
    """Of a transposed convolution."""
    images, weight = kept.value(0), kept.value(1)
    stride, dilation, groups = kept.option(4), kept.option(6), kept.option(7)
    found = beyond(images, weight, kept.option(3), stride, kept.option(5), dilation)
    if found is None:
        raise TooLittleKeptError
    lengths, more = found
    has_bias = kept.wanted[2] or kept.option(2) is not None
    sizes = [weight.shape[1] * groups if has_bias else 0]
    mask = list(kept.wanted)
    rest = (sizes, stride, lengths, dilation, True, more, groups, mask)
    slopes = ask("convolution_backward", grad, images, weight, *rest)
    return [each if wanted else None for each, wanted in zip(slopes, mask, strict=True)]


def _layer_standardized(ask: Steps, kept: Kept, grad: Any, *others: Any) -> Any:
    input, weight, axes, eps = kept.value(0), kept.option(1), kept.option(3), kept.option(4)
    if grad is None or any(other is not None for other in others):
        raise TooLittleKeptError
    last = list(range(input.ndim - len(axes), input.ndim))
    bias = kept.value(2) if kept.wanted[2] else kept.input(2)
    shape = list(input.shape[-len(axes) :])
    fits = all(each is None or list(each.shape) == shape for each in (weight, bias))
    if sorted(from_front(axes, input.ndim)) != last or not fits:
        raise TooLittleKeptError
    with unseen():
        inverse = (kept.result(2) + eps).rsqrt()
    rest = (shape, kept.result(1), inverse, weight, bias, list(kept.wanted))
    return ask("native_layer_norm_backward", grad, input, *rest)


def _average_windows(ask: Steps, kept: Kept, grad: Any) -> Any:
    window = (kept.option(1), kept.option(2))
    sides = rounded_up(kept.shape(0)[2:], *window, kept.option(3))
    if grad.ndim not in (4, 5) or sides is None:
        raise TooLittleKeptError
    with unseen():  # of which only the shape counts
        images = grad.new_zeros(kept.shape(0)) if kept.option(0) is None else kept.option(0)
    rest = (*window, *sides, *kept.option(4))
    return (ask(f"avg_pool{grad.ndim - 2}d_backward", grad, images, *rest),)


def _mean_cross_entropy(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, target, ignore_index = kept.value(0), kept.value(1), kept.option(2)
    if input.ndim != 2 or target.ndim != 1:
        raise TooLittleKeptError
    with unseen():
        logarithms = log_softmax(input, 1)
        counted = (target != ignore_index).sum().to(input.dtype)
    rest = (None, 1, ignore_index, counted)
    grad = ask("nll_loss_backward", grad, logarithms, target, *rest)
    return (ask("_log_softmax_backward_data", grad, logarithms, 1, input.dtype),)


def _mean_squared_error(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, target = kept.value(0), kept.value(1)
    if input.shape != target.shape:
        raise TooLittleKeptError
    by_input = ask("mse_loss_backward", grad, input, target, 1) if kept.wanted[0] else None
    by_target = ask("mse_loss_backward", grad, target, input, 1) if kept.wanted[1] else None
    return by_input, by_target


STEPS: Final[dict[str, Any]] = {
    "convolve": _convolve,
    "convolve_back": _convolve_back,
    "layer_standardized": _layer_standardized,
    "average_windows": _average_windows,
    "mean_cross_entropy": _mean_cross_entropy,
    "mean_squared_error": _mean_squared_error,
}
