"""Losses, each one operation with its mean or sum, as PyTorch has them."""

import math
from typing import Any, Final

from adjoint.autograd.grad_mode import no_grad
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.composed_functions import DIVIDED
from adjoint.compat.aten_steps.composed_products import SCALED
from adjoint.compat.aten_steps.composed_samples import SHIFTED
from adjoint.compat.aten_steps.products import common
from adjoint.compat.aten_steps.recorded import Operation, recording
from adjoint.compat.torch_tree import ops
from adjoint.dtypes import int64
from adjoint.ops.arranging.conversion import (
    clone,
    contiguous,
    contiguous_format,
    preserve_format,
)
from adjoint.ops.arranging.indexing import gather, masked_fill
from adjoint.ops.arranging.shape import expand, flatten, reshape
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.elementwise.arithmetic import add, div, mul, neg, sub
from adjoint.ops.elementwise.comparison import bitwise_not, eq, le, ne
from adjoint.ops.elementwise.powers import exp, log, pow, sqrt
from adjoint.ops.elementwise.selection import clamp_min, minimum, where
from adjoint.ops.neural.losses import variances
from adjoint.ops.reducing.reduction import log_softmax, mean, sum
from adjoint.tensors.changes import apply_inplace

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
    by_input = ask.answerer(function, (grad, *given, *rest), {}) if wanted[0] else None
    if not wanted[1]:
        return by_input, None
    return by_input, _by_target(ask, ask("neg_", ask("logit", given[0])), grad, args)


def _by_target(ask: Any, slope: Any, grad: Any, args: Any) -> Any:
    """The gradient of a chance that is wanted, for what it counts: weighted, and in the mean."""
    input, weight, reduction = args[0], args[2], args[-1]
    slope = ask("mul", slope, grad)
    if weight is not None:
        slope = ask("mul", slope, weight)
    return ask("div_.Scalar", slope, input.numel()) if reduction == _NUMBERS["mean"] else slope


def _logit_gradients(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, target, _, more, _ = args
    by_input = by_target = None
    if wanted[0]:
        by_input = _by_target(ask, _logit_slope(ask, input, target, more), grad, args)
    if wanted[1] and more is None:
        by_target = _by_target(ask, ask("neg", input), grad, args)
    elif wanted[1]:
        rising = ask("log_sigmoid_forward", ask("neg", input))[0]
        falling = ask("mul", ask("log_sigmoid_forward", input)[0], more)
        by_target = _by_target(ask, ask("sub", rising, falling), grad, args)
    return by_input, by_target


def _logit_slope(ask: Any, input: Any, target: Any, more: Any) -> Any:
    if more is None:
        slope = ask("sub", ask("sigmoid", input), target)
    else:
        factor = ask("mul", more, target)
        raised = ask("sub", ask("add.Scalar", factor, 1), target)
        slope = ask("sub", ask("mul", raised, ask("sigmoid", input)), factor)
    return slope


_CHANCES: Final = Operation("binary_cross_entropy", (0, 1), _chance_gradients)
_LOGITS: Final = Operation("binary_cross_entropy_with_logits", (0, 1), _logit_gradients)


def _binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    usual = _is_usual(input, target, reduction, (size_average, reduce))
    if not usual or not _fits(weight, input):
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
    if not usual or not weights:
        return NotImplemented
    return _LOGITS(input, target, weight, pos_weight, _NUMBERS[reduction])


def _fits(weight: Any, input: Any) -> bool:
    """Whether a weight, if there is one, is spread over the input as it is."""
    if weight is None:
        return True
    fits = common(weight.shape, input.shape) == tuple(input.shape)
    return weight.dtype is input.dtype and fits and not weight.requires_grad


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
    old = size_average is not None or reduce is not None or reduction not in _NUMBERS
    dim = 0 if input.ndim == 1 else 1
    if old or not 0 <= label_smoothing <= 1:
        return NotImplemented
    if _are_chances(input, target, weight):
        return _by_chances(input, target, weight, dim, reduction, label_smoothing)
    if not _are_classes(input, target, weight):
        return NotImplemented
    logarithms = log_softmax(input, dim)
    loss = _nll_loss(logarithms, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return loss
    ignored = target, ignore_index
    smooth = _of_all_classes(logarithms, ignored, weight, dim, reduction)
    smooth = SCALED(smooth, label_smoothing / input.shape[dim])
    return add(SCALED(loss, 1 - label_smoothing), smooth)


def _are_chances(input: Any, target: Any, weight: Any) -> bool:
    """Whether targets are chances of all classes, and weights one for each class."""
    if target.dtype is not input.dtype or tuple(target.shape) != tuple(input.shape):
        return False
    if not input.numel() or not input.ndim:
        return False
    classes = (input.shape[0 if input.ndim == 1 else 1],)
    return weight is None or (tuple(weight.shape) == classes and weight.dtype is input.dtype)


def _weighted(values: Any, weight: Any, dim: int, product: Any = None) -> Any:
    """Values times the weights of their classes; the product is made after those are arranged."""
    if weight is not None and (product is None or values.ndim > 1):
        sizes = [1] * values.ndim
        sizes[dim] = weight.shape[0]
        weight = reshape(weight, sizes)
    values = values if product is None else mul(values, product)
    return values if weight is None else mul(values, weight)


def _by_chances(
    input: Any, target: Any, weight: Any, dim: int, reduction: str, label_smoothing: float
) -> Any:
    """Cross entropy of all classes, by how likely each is to be."""
    logarithms, classes = log_softmax(input, dim), input.shape[dim]
    if label_smoothing:
        target = SHIFTED(SCALED(target, 1 - label_smoothing), label_smoothing / classes)
    products = _weighted(logarithms, weight, dim, target)
    if reduction == "none":
        return neg(sum(products, [dim]))
    loss = neg(sum(products))
    return DIVIDED(loss, input.numel() / classes) if reduction == "mean" else loss


def _of_all_classes(
    logarithms: Any, ignored: tuple[Any, int], weight: Any, dim: int, reduction: str
) -> Any:
    """The loss as if each class were as likely: what a smoothed label takes a part of."""
    target, index = ignored
    losses = neg(sum(_weighted(logarithms, weight, dim), [dim]))
    left_out = eq(target, index)
    losses = apply_inplace(masked_fill, [losses, left_out, 0])
    if reduction != "mean":
        return sum(losses) if reduction == "sum" else losses
    if weight is None:
        count = sum(bitwise_not(left_out))
    else:
        count = gather(weight, 0, flatten(masked_fill(target, left_out, 0)))
        count = sum(apply_inplace(masked_fill, [count, flatten(left_out), 0]))
    return div(sum(losses), count)


# ---- margins ----


def _one_slope(name: str) -> Any:
    """Steps of a loss whose gradient is one operation, which is given the arguments."""

    def steps(ask: Any, wanted: Any, args: Any, results: Any, grad: Any, *others: Any) -> Any:
        return (ask(name, grad, *args, *results[1:]),)

    return steps


def _margin_slope(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    *given, reduction = args  # PyTorch writes a weight that is not there
    rest = (reduction,) if reduction != _NUMBERS["mean"] else ()
    function = ops.named("multi_margin_loss_backward")
    return (ask.answerer(function, (grad, *given, *rest), {}),)


_SOFT_MARGIN: Final = Operation("soft_margin_loss", (0,), _one_slope("soft_margin_loss_backward"))
_MULTI_MARGIN: Final = Operation("multi_margin_loss", (0,), _margin_slope)
_LABELS: Final = Operation(
    "multilabel_margin_loss_forward", (0,), _one_slope("multilabel_margin_loss_backward")
)


def _soft_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    usual = _is_usual(input, target, reduction, (size_average, reduce))
    if not usual or target.requires_grad:
        return NotImplemented
    return _SOFT_MARGIN(input, target, _NUMBERS[reduction])


def _multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    rows = [(), (1,)] if input.ndim < 2 else [(input.shape[0],)]
    fits = input.ndim < 3 and tuple(target.shape) in rows and p in (1, 2) and input.numel()
    old = size_average is not None or reduce is not None or reduction not in _NUMBERS
    if old or not fits or target.dtype is not int64 or not input.dtype.is_floating_point:
        return NotImplemented
    classes = (input.shape[-1] if input.ndim else 1,)
    if weight is not None and (tuple(weight.shape) != classes or weight.requires_grad):
        return NotImplemented
    return _MULTI_MARGIN(input, target, p, margin, weight, _NUMBERS[reduction])


def _multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    old = size_average is not None or reduce is not None or reduction not in _NUMBERS
    fits = input.ndim < 3 and input.shape == target.shape and input.numel()
    if old or not fits or target.dtype is not int64 or not input.dtype.is_floating_point:
        return NotImplemented
    return _LABELS(input, target, _NUMBERS[reduction])


def _reduced(losses: Any, reduction: str) -> Any:
    return losses if reduction == "none" else {"mean": mean, "sum": sum}[reduction](losses)


def _floored(losses: Any) -> Any:
    return apply_inplace(clamp_min, [losses, 0])


def _less(number: float, losses: Any) -> Any:
    """A number less each of losses, and zeros beside them, as PyTorch makes both."""
    with no_grad(), asking() as ask:
        zeros = ask("zeros_like", losses, memory_format=contiguous_format)
        whole = ask("empty_like", losses, memory_format=preserve_format)
        whole = ask("fill_.Scalar", whole, number)
    return apply_inplace(sub, [whole, losses, 1]), zeros


def _are_old(reduction: str, *old: Any) -> bool:
    return reduction not in _NUMBERS or any(each is not None for each in old)


def _margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    ranks = {each.ndim for each in (input1, input2, target)}
    if _are_old(reduction, size_average, reduce) or len(ranks) > 1:
        return NotImplemented
    apart = sub(input1, input2)
    lacking = SHIFTED(mul(neg(target), apart), margin)
    return _reduced(_floored(lacking), reduction)


def _hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    if _are_old(reduction, size_average, reduce) or not input.dtype.is_floating_point:
        return NotImplemented
    lacking, zeros = _less(margin, input)
    lacking = _floored(lacking)
    lacking = where(ne(target, 1), lacking, zeros)
    return _reduced(add(lacking, where(ne(target, -1), input, zeros)), reduction)


def _cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    fits = input1.ndim in (1, 2) and target.ndim + 1 == input1.ndim == input2.ndim
    if _are_old(reduction, size_average, reduce) or not fits:
        return NotImplemented
    dim = input1.ndim - 1
    along = sum(mul(input1, input2), dim)
    lengths = [SHIFTED(sum(mul(each, each), dim), _LEAST) for each in (input1, input2)]
    cosine = div(along, apply_inplace(sqrt, [mul(*lengths)]))
    lacking, zeros = _less(1, cosine)
    beyond = _floored(recording()("sub.Scalar", cosine, margin))
    lacking = where(eq(target, 1), lacking, zeros)
    return _reduced(add(lacking, where(eq(target, -1), beyond, zeros)), reduction)


_LEAST: Final = 9.999999960041972e-13  # 1e-12, as a float


def _triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    if _are_old(reduction, size_average, reduce) or margin <= 0:
        return NotImplemented
    distance = COMPOSITES["pairwise_distance"]
    near, far = distance(anchor, positive, p, eps), distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, distance(positive, negative, p, eps))
    return _reduced(clamp_min(sub(SHIFTED(near, margin), far), 0), reduction)


# ---- likelihoods ----


def _gaussian_nll_loss(
    input: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    if reduction not in _NUMBERS:
        return NotImplemented
    spread = clone(variances(input, var))
    with no_grad(), asking() as ask:
        ask("clamp_", spread, eps)
    losses = mul(add(log(spread), div(pow(sub(input, target), 2), spread)), 0.5)
    if full:
        losses = apply_inplace(add, [losses, 0.5 * math.log(2 * math.pi), 1])
    return _reduced(losses, reduction)


def _poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    if _are_old(reduction, size_average, reduce) or not input.dtype.is_floating_point:
        return NotImplemented
    if log_input:
        expected = mul(target, input)
        losses = sub(exp(input), expected)
    else:
        losses = sub(input, mul(target, log(SHIFTED(input, eps))))
    if full:
        tail = SCALED(log(SCALED(target, 2 * math.pi)), 0.5)
        tail = add(sub(mul(target, log(target)), target), tail)
        losses = apply_inplace(add, [losses, masked_fill(tail, le(target, 1), 0), 1])
    return _reduced(losses, reduction)


FUNCTIONS: Final[dict[str, Any]] = {
    "mse_loss": _mse_loss,
    "huber_loss": _huber_loss,
    "smooth_l1_loss": _smooth_l1_loss,
    "binary_cross_entropy": _binary_cross_entropy,
    "binary_cross_entropy_with_logits": _with_logits,
    "nll_loss": _nll_loss,
    "cross_entropy": _cross_entropy,
    "soft_margin_loss": _soft_margin_loss,
    "multi_margin_loss": _multi_margin_loss,
    "multilabel_margin_loss": _multilabel_margin_loss,
    "margin_ranking_loss": _margin_ranking_loss,
    "hinge_embedding_loss": _hinge_embedding_loss,
    "cosine_embedding_loss": _cosine_embedding_loss,
    "triplet_margin_loss": _triplet_margin_loss,
    "gaussian_nll_loss": _gaussian_nll_loss,
    "poisson_nll_loss": _poisson_nll_loss,
}
