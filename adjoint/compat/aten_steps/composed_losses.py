"""Losses, each one operation with its mean or sum, as PyTorch has them."""

from typing import Any, Final

from adjoint.compat.aten_steps.recorded import Operation
from adjoint.compat.torch_tree import ops
from adjoint.dtypes import FLOAT, int64
from adjoint.ops.arranging.conversion import contiguous
from adjoint.ops.arranging.shape import expand, reshape
from adjoint.ops.reducing.reduction import log_softmax

_NUMBERS: Final = {"none": 0, "mean": 1, "sum": 2}


def _by_both(name: str) -> Any:
    """Steps of a loss whose gradients by input and target are one operation, turned round."""

    def steps(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        input, target, *rest = args
        by_input = ask(name, grad, input, target, *rest) if wanted[0] else None
        by_target = ask(name, grad, target, input, *rest) if wanted[1] else None
        return by_input, by_target

    return steps


_SQUARED: Final = Operation("mse_loss", (0, 1), _by_both("mse_loss_backward"))
_HUBER: Final = Operation("huber_loss", (0, 1), _by_both("huber_loss_backward"))
_SMOOTH: Final = Operation("smooth_l1_loss", (0, 1), _by_both("smooth_l1_loss_backward"))


def _is_usual(input: Any, target: Any, reduction: Any, old: tuple[Any, ...] = ()) -> bool:
    """Whether a loss is of two tensors of one shape and type, with a reduction by its name."""
    return (
        reduction in _NUMBERS
        and not any(each is not None for each in old)
        and input.shape == target.shape
        and input.dtype is target.dtype
        and input.dtype.is_floating_point
        and input.numel() > 0
    )


def _mse_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    if not _is_usual(input, target, reduction, (size_average, reduce, weight)):
        return NotImplemented
    return _SQUARED(input, target, _NUMBERS[reduction])


def _huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    if not _is_usual(input, target, reduction, (weight,)) or delta <= 0:
        return NotImplemented
    return _HUBER(input, target, _NUMBERS[reduction], delta)


def _smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    if not _is_usual(input, target, reduction, (size_average, reduce)) or beta <= 0:
        return NotImplemented
    return _SMOOTH(input, target, _NUMBERS[reduction], beta)


# ---- chances ----


def _chance_gradients(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    *given, reduction = args  # PyTorch writes a weight that is not there
    rest = (reduction,) if reduction != _NUMBERS["mean"] else ()
    function = ops.named("binary_cross_entropy_backward")
    return (ask.answerer(function, (grad, *given, *rest), {}),)


def _logit_gradients(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, target, weight, more, reduction = args
    if more is None:
        slope = ask("sub", ask("sigmoid", input), target)
    else:
        factor = ask("mul", more, target)
        raised = ask("sub", ask("add.Scalar", factor, 1), target)
        slope = ask("sub", ask("mul", raised, ask("sigmoid", input)), factor)
    slope = ask("mul", slope, grad)
    if weight is not None:
        slope = ask("mul", slope, weight)
    return (ask("div_.Scalar", slope, input.numel()) if reduction == 1 else slope,)


_CHANCES: Final = Operation("binary_cross_entropy", (0,), _chance_gradients)
_LOGITS: Final = Operation("binary_cross_entropy_with_logits", (0,), _logit_gradients)


def _binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    usual = _is_usual(input, target, reduction, (size_average, reduce))
    if not usual or target.requires_grad or not _fits(weight, input):
        return NotImplemented
    if weight is not None:
        weight = expand(weight, tuple(input.shape))
    return _CHANCES(input, target, weight, _NUMBERS[reduction])


def _with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    usual = _is_usual(input, target, reduction, (size_average, reduce))
    weights = _fits(weight, input) and _fits(pos_weight, input)
    if not usual or target.requires_grad or not weights:
        return NotImplemented
    return _LOGITS(input, target, weight, pos_weight, _NUMBERS[reduction])


def _fits(weight: Any, input: Any) -> bool:
    """Whether a weight, if there is one, is spread over the input as it is."""
    if weight is None:
        return True
    sizes = tuple(input.shape)[input.ndim - weight.ndim :] if weight.ndim <= input.ndim else None
    return weight.dtype is input.dtype and tuple(weight.shape) == sizes and not weight.requires_grad


# ---- classes ----


def _picked_gradients(name: str) -> Any:
    def steps(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        return (ask(name, grad, *args, results[1]),)

    return steps


_PICKED: Final = Operation("nll_loss_forward", (0,), _picked_gradients("nll_loss_backward"))
_PIXELS: Final = Operation("nll_loss2d_forward", (0,), _picked_gradients("nll_loss2d_backward"))
_PIXEL_RANK: Final = 4


def _nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    old = size_average is not None or reduce is not None or reduction not in _NUMBERS
    if old or not _are_classes(input, target, weight):
        return NotImplemented
    rest = (weight, _NUMBERS[reduction], ignore_index)
    if input.ndim <= 2:
        return _PICKED(input, target, *rest)
    if input.ndim == _PIXEL_RANK:
        return _PIXELS(input, target, *rest)
    samples, classes, *sizes = input.shape
    flat = reshape(contiguous(input), (samples, classes, 1, -1))
    loss = _PIXELS(flat, reshape(contiguous(target), (samples, 1, -1)), *rest)
    return reshape(loss, (samples, *sizes)) if reduction == "none" else loss


def _are_classes(input: Any, target: Any, weight: Any) -> bool:
    """Whether targets are class numbers, one for each row of input, and weights one for each."""
    if not input.ndim or not input.numel() or target.dtype is not int64:
        return False
    rows = () if input.ndim == 1 else (input.shape[0], *input.shape[2:])
    classes = (input.shape[0 if input.ndim == 1 else 1],)
    if tuple(target.shape) != rows or not input.dtype.is_floating_point:
        return False
    if weight is None:
        return True
    fits = tuple(weight.shape) == classes and weight.dtype is input.dtype
    return fits and not weight.requires_grad


def _cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    smoothed = target.dtype.category >= FLOAT or label_smoothing
    old = size_average is not None or reduce is not None or reduction not in _NUMBERS
    if smoothed or old or not _are_classes(input, target, weight):
        return NotImplemented
    logarithms = log_softmax(input, 0 if input.ndim == 1 else 1)
    return _nll_loss(logarithms, target, weight, None, ignore_index, None, reduction)


FUNCTIONS: Final[dict[str, Any]] = {
    "mse_loss": _mse_loss,
    "huber_loss": _huber_loss,
    "smooth_l1_loss": _smooth_l1_loss,
    "binary_cross_entropy": _binary_cross_entropy,
    "binary_cross_entropy_with_logits": _with_logits,
    "nll_loss": _nll_loss,
    "cross_entropy": _cross_entropy,
}
