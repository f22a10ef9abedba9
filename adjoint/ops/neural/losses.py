"""Losses: how far numbers are from others, from probabilities, or beyond a margin."""

import math
import warnings
from typing import Any

from adjoint.call.arguments import holds_complex
from adjoint.call.half_precision import half_type, rounded, wide
from adjoint.dtypes import can_cast, promote_types, refuse_kinds
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.shape import reshape, unsqueeze
from adjoint.ops.dims import broadcast_shape
from adjoint.ops.elementwise.activation import logsigmoid, sigmoid, softplus
from adjoint.ops.elementwise.arithmetic import abs, div, sgn
from adjoint.ops.elementwise.powers import exp, log, log1p, square
from adjoint.ops.elementwise.selection import clamp_min, minimum, where
from adjoint.ops.elementwise.special import xlogy
from adjoint.ops.matrices.distances import pairwise_distance
from adjoint.ops.op import composite, elementwise, general
from adjoint.ops.reducing.cumulative import narrowed, widened
from adjoint.ops.reducing.reduction import mean, sum
from adjoint.ops.same_dtype import same_kind
from adjoint.tensors.concrete import has_values
from adjoint.tensors.core import TensorCore

# ---- what all have in common ----


REDUCTIONS = ("none", "mean", "sum")  # in the order of the numbers that PyTorch has for them


def old_reduction(size_average: Any, reduce: Any) -> str:
    """The reduction that is meant by the two arguments it replaced."""
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def warn_of_old_reduction(meant: str, stacklevel: int) -> None:
    """Say what to write instead of the two arguments."""
    text = f"size_average and reduce are deprecated; write reduction='{meant}'"
    warnings.warn(text, stacklevel=stacklevel + 1)


def chosen_reduction(reduction: str, size_average: Any, reduce: Any) -> str:
    """The reduction that is meant where the two arguments it replaced are given."""
    if size_average is None and reduce is None:
        return reduction
    meant = old_reduction(size_average, reduce)
    warn_of_old_reduction(meant, 3)
    return meant


def check_reduction(reduction: str) -> None:
    """Refuse what is no reduction."""
    if reduction not in REDUCTIONS:
        raise ValueError(
            f"{reduction!r} is not a valid value for reduction: 'none', 'mean' or 'sum'"
        )


def reduced(loss: Any, reduction: str, count: Any = None) -> Any:
    """A loss per element as its mean, its sum, or as it is."""
    if reduction == "mean":
        return mean(loss) if count is None else div(sum(loss), count)
    if reduction == "sum":
        return sum(loss)
    check_reduction(reduction)
    return loss


def _warn_of_broadcast(name: str, input: Any, target: Any) -> None:
    """Warn of shapes that differ; refuse those that do not broadcast."""
    broadcast_shape(input.shape, target.shape)
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size {tuple(target.shape)} that differs from the input's, "
            f"{tuple(input.shape)}: {name}() broadcasts them, which is seldom meant",
            stacklevel=3,
        )


def _same_shape(name: str, input: Any, target: Any) -> None:
    if input.shape != target.shape:
        raise ValueError(
            f"{name}(): Using a target size {tuple(target.shape)} that is different to the input "
            f"size {tuple(input.shape)} is not allowed"
        )


# ---- distances ----


def _squared_error_tangent(input_tangent: Any, target_tangent: Any, input: Any, target: Any) -> Any:
    """Twice the difference, times that of the tangents."""
    slope = (input - target) * 2
    if target_tangent is None:
        return input_tangent * slope
    return slope * (-target_tangent if input_tangent is None else input_tangent - target_tangent)


@elementwise(
    input=lambda grad, input, target: grad * (2 * (input - target)),
    target=lambda grad, input, target: grad * (2 * (target - input)),
    jvp=_squared_error_tangent,
    inplace=False,
    node_name="MseLossBackward0",
    home=None,
)
def squared_error(xp: Any, input: Array, target: Array) -> Array:
    """The square of the difference."""
    difference = xp.subtract(input, target)
    return xp.multiply(difference, difference)


def _mean_error_tangent(
    input: Value, target: Value, input_tangent: Any, target_tangent: Any
) -> Value:
    moved = -target_tangent if input_tangent is None else input_tangent
    if input_tangent is not None and target_tangent is not None:
        moved = moved - target_tangent
    return sum((input - target) * moved) * (2 / max(math.prod(input.shape), 1))


def _mean_error_rule(grad: Value, input: Value, target: Value, needs: Any) -> tuple[Any, Any]:
    slope = (input - target) * (grad * (2 / max(math.prod(input.shape), 1)))
    return slope if needs[0] else None, -slope if needs[1] else None


def _mean_error_over_batch(input: Any, target: Any, input_shape: Any) -> Any:
    """Of nothing the mean is NaN, and the derivative 0."""
    count = math.prod(input_shape)
    errors = squared_error(input, target)
    total = sum(reshape(errors, (errors.shape[0], count)), 1)
    return total / count if count else total + math.nan


@general(
    joint=("input target", _mean_error_rule),
    vmap=_mean_error_over_batch,
    promotes="input target",
    node_name="MseLossBackward0",
    home=None,
    autocast="float32",
    jvp=_mean_error_tangent,
)
def mean_squared_error(xp: Any, input: Array, target: Array) -> Array:
    """The mean of the squares of the differences of two tensors of one shape, in one step."""
    difference = (widened(input) - widened(target)).reshape(-1)
    if not difference.size:
        return xp.asarray(math.nan, dtype=input.dtype)
    return narrowed(xp.asarray(xp.dot(difference, difference) / difference.size), input.dtype)


def _refuse_but_floats(name: str, input: Any, target: Any) -> None:
    """Refuse two tensors whose common type is not floating."""
    if input.dtype is target.dtype:
        refuse_kinds(name, input, "bciu")
    elif not promote_types(input.dtype, target.dtype).is_floating_point:
        refuse_kinds(name, target if input.dtype.is_floating_point else input, "bciu")


@composite(home="nn.functional")
def mse_loss(
    input: Value,
    target: Value,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Value | None = None,
) -> Value:
    """The squared difference."""
    _refuse_but_floats("mse_loss", input, target)
    reduction = chosen_reduction(reduction, size_average, reduce)
    _warn_of_broadcast("mse_loss", input, target)
    if weight is not None:
        return _weighted(squared_error(input, target), weight, reduction)
    if reduction == "mean" and input.shape == target.shape and not input.dtype.is_complex:
        return mean_squared_error(input, target)
    return reduced(squared_error(input, target), reduction)


def _check_weight(losses: Any, weight: Any) -> None:
    if weight.shape != losses.shape:
        raise ValueError(
            f"weight must have the shape of the losses, {list(losses.shape)}, got "
            f"{list(weight.shape)}"
        )


def _weighted(losses: Any, weight: Any, reduction: str) -> Any:
    """Losses times weights; their mean is over the sum of the weights."""
    _check_weight(losses, weight)
    return reduced(losses * weight, reduction, sum(weight))


@composite(home="nn.functional", autocast="float32")
def l1_loss(
    input: Value,
    target: Value,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Value | None = None,
) -> Value:
    """The absolute difference."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    _warn_of_broadcast("l1_loss", input, target)
    losses = abs(input - target)
    return reduced(losses, reduction) if weight is None else _weighted(losses, weight, reduction)


def _bounded_slope(difference: Any, bound: float) -> Any:
    """The difference, but at most `bound` away from 0."""
    return where(abs(difference) > bound, sgn(difference) * bound, difference)  # NaN stays


@elementwise(
    input=lambda grad, input, target, delta: grad * _bounded_slope(input - target, delta),
    target=lambda grad, input, target, delta: grad * _bounded_slope(target - input, delta),
    inplace=False,
    promotes="input target",
    node_name="HuberLossBackward0",
    home=None,
    autocast="float32",
)
def huber_error(xp: Any, input: Array, target: Array, delta: float) -> Array:
    """Half the square of the difference where that is below delta, else a straight line on."""
    size = xp.absolute(xp.subtract(input, target))
    return xp.where(size < delta, 0.5 * size * size, delta * (size - 0.5 * delta))


@composite(home="nn.functional", autocast="float32")
def huber_loss(
    input: Value,
    target: Value,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Value | None = None,
) -> Value:
    """Half the squared difference up to delta, from there on linear."""
    refuse_kinds("huber_loss", input, "bciu")
    refuse_kinds("huber_loss", target, "c")
    _warn_of_broadcast("huber_loss", input, target)
    check_reduction(reduction)
    if not delta > 0:
        raise RuntimeError(f"huber_loss(): delta must be positive, got {delta}")
    losses = huber_error(input, target, float(delta)).to(input.dtype)
    if weight is not None:
        _check_weight(losses, weight)
        losses = losses * weight
    return reduced(losses, reduction)


@composite(home="nn.functional")
def smooth_l1_loss(
    input: Value,
    target: Value,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Value:
    """The absolute difference less beta / 2, rounded off to a parabola below beta."""
    _refuse_but_floats("smooth_l1_loss", input, target)
    reduction = chosen_reduction(reduction, size_average, reduce)
    _warn_of_broadcast("smooth_l1_loss", input, target)
    check_reduction(reduction)
    if not beta >= 0:
        raise RuntimeError(f"smooth_l1_loss(): beta must not be negative, got {beta}")
    if beta == 0:
        return reduced(abs(input - target), reduction)
    loss = reduced(huber_error(input, target, float(beta)), reduction)
    return loss if beta == 1 else loss / beta


# ---- probabilities ----


def _check_broadcast(name: str, input: Any, **weights: Any) -> None:
    """Refuse weights and targets that do not broadcast to the shape of input."""
    for key, weight in weights.items():
        if weight is None or broadcast_shape(input.shape, weight.shape) == tuple(input.shape):
            continue
        raise RuntimeError(
            f"{name}(): {key} of shape {list(weight.shape)} does not broadcast to input's, "
            f"{list(input.shape)}"
        )


_LEAST_LOG = -100.0


def _chance_rule(grad: Value, input: Value, target: Value) -> Value:
    """The derivative by the probability, which a denominator near 0 does not blow up."""
    return grad * ((input - target) / clamp_min(input * (1 - input), 1e-12))


@elementwise(
    input=_chance_rule,
    target=lambda grad, input: (
        grad * (clamp_min(log(1 - input), _LEAST_LOG) - clamp_min(log(input), _LEAST_LOG))
    ),
    inplace=False,
    domain=(0.0, 1.0),
    node_name="BinaryCrossEntropyBackward0",
    home=None,
    autocast="float32",
)
def chance_error(xp: Any, input: Array, target: Array) -> Array:
    """The cross entropy of a probability; its logarithms are at least -100."""
    if xp.readable(waiting=True):
        for name, values in (("input", input), ("target", target)):
            if not bool(xp.all((values >= 0) & (values <= 1))):  # nor is NaN
                raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    with xp.errstate(divide="ignore"):
        right = xp.maximum(xp.log(input), _LEAST_LOG)
        wrong = xp.maximum(xp.log1p(-input), _LEAST_LOG)
    return -(target * right + (1 - target) * wrong)


@composite(home="nn.functional")
def binary_cross_entropy(
    input: Value,
    target: Value,
    weight: Value | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """The cross entropy of probabilities against targets between 0 and 1."""
    refuse_kinds("binary_cross_entropy", input, "bciu")
    reduction = chosen_reduction(reduction, size_average, reduce)
    _same_shape("binary_cross_entropy", input, target)
    same_kind("binary_cross_entropy", input, target=target)
    losses = chance_error(input, target)
    _check_broadcast("binary_cross_entropy", input, weight=weight)
    if weight is not None:
        losses = (losses * weight).to(input.dtype)
    return reduced(losses, reduction)


@elementwise(
    input=lambda grad, input, target: grad * (sigmoid(input) - target),
    target=lambda grad, input: -grad * input,
    inplace=False,
    node_name="BinaryCrossEntropyWithLogitsBackward0",
    home=None,
    autocast="float32",
)
def logit_error(xp: Any, input: Array, target: Array) -> Array:
    """The cross entropy of the probability whose logit is input."""
    tail = xp.log1p(xp.exp(-xp.absolute(input)))
    # The two shares apart, so that an infinity is not taken from one.
    return xp.maximum(input, 0) * (1 - target) - xp.minimum(input, 0) * target + tail


@composite(
    home="nn.functional",
    native="input target [weight pos_weight reduction]",
    autocast="float32",
)
def binary_cross_entropy_with_logits(
    input: Value,
    target: Value,
    weight: Value | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Value | None = None,
) -> Value:
    """The cross entropy of sigmoid(input) against targets between 0 and 1, without overflow."""
    refuse_kinds("binary_cross_entropy_with_logits", input, "bciu")
    reduction = chosen_reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits(): Target size {tuple(target.shape)} must be the "
            f"same as input size {tuple(input.shape)}"
        )
    name = "binary_cross_entropy_with_logits"
    _check_broadcast(name, input, weight=weight, pos_weight=pos_weight)
    if pos_weight is None:
        losses = logit_error(input, target)
    else:
        factor = (pos_weight - 1) * target + 1
        losses = (1 - target) * input - factor * logsigmoid(input)
    if weight is not None:
        losses = losses * weight
    return reduced(_in_type_of(name, target, losses), reduction)


def _in_type_of(name: str, argument: Value, losses: Value) -> Value:
    """Losses of arguments of several types in the one that PyTorch computes in place in."""
    if losses.dtype is argument.dtype:
        return losses
    if not can_cast(losses.dtype, argument.dtype):
        raise RuntimeError(
            f"{name}(): losses of {losses.dtype} can't be cast to {argument.dtype}; give both "
            "arguments a floating type"
        )
    return losses.to(argument.dtype)


@composite(home="nn.functional", autocast="float32")
def kl_div(
    input: Value,
    target: Value,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Value:
    """The divergence of a distribution, given by logarithms, from a target distribution."""
    refuse_kinds("kl_div", input, "bciu")
    refuse_kinds("kl_div", target, "bciu")
    if size_average is not None or reduce is not None:
        reduction = chosen_reduction(reduction, size_average, reduce)
    if reduction == "mean":
        warnings.warn(
            "kl_div(): reduction='mean' is over all elements; 'batchmean' is the divergence",
            stacklevel=2,
        )
    if log_target:
        apart = target - input
        losses = exp(target) * apart
    else:
        product = target * input
        losses = xlogy(target, target) - product
    if reduction == "batchmean":
        return div(sum(losses), input.shape[0] if input.ndim else 1)
    return reduced(losses, reduction)


@composite(
    home="nn.functional", native="input target log_input full eps reduction", autocast="float32"
)
def poisson_nll_loss(
    input: Value,
    target: Value,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-8,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """The negative log likelihood of counts, given their expectation or its logarithm."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    kind = half_type(input) if input.dtype is target.dtype else None
    if kind is not None:  # rounded once
        input, target = wide(input), wide(target)
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        tail = xlogy(target, target) - target + log(clamp_min(target, 1) * (2 * math.pi)) * 0.5
        losses = losses + where(target > 1, tail, 0.0)
    total = reduced(losses, reduction)
    return total if kind is None else rounded(total, kind)


def variances(input: Any, var: Any) -> Any:
    """Variances that broadcast with input; refuses others and negative ones."""
    if not isinstance(var, TensorCore):
        var = input.detach().new_full(tuple(input.shape), var)
    spread: Any = var
    if has_values(spread) and bool((spread < 0).any()):
        raise ValueError("gaussian_nll_loss(): var has negative entry/entries")
    sizes, own = tuple(spread.shape), tuple(input.shape)
    if sizes != own:
        others = [size for size, mine in zip(sizes, own) if size != mine]
        if sizes == own[:-1]:
            spread = unsqueeze(spread, -1)
        elif len(sizes) != len(own) or others != [1]:
            raise ValueError(
                f"gaussian_nll_loss(): var is of incorrect size {list(sizes)} for input of shape "
                f"{list(own)}"
            )
    return spread


@composite(home="nn.functional")
def gaussian_nll_loss(
    input: Value,
    target: Value,
    var: Operand,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Value:
    """The negative log likelihood of targets, given their expectations and variances."""
    refuse_kinds("gaussian_nll_loss", input, "iu")
    spread = variances(input, var)
    low = spread.detach()
    floor = spread + (clamp_min(low, eps) - low)  # bounded below, with the gradient of var
    losses = (log(floor) + square(input - target) / floor) * 0.5
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction)


# ---- margins ----


@composite(home="nn.functional", autocast="float32")
def soft_margin_loss(
    input: Value,
    target: Value,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    _check_broadcast("soft_margin_loss", input, target=target)
    kind = half_type(input) if input.dtype is target.dtype else None
    products = -(wide(target) * wide(input) if kind is not None else target * input)
    losses = log1p(exp(products)) if holds_complex(products) else softplus(products)
    if kind is not None:
        return rounded(reduced(losses, reduction), kind)
    return reduced(_in_type_of("soft_margin_loss", input, losses), reduction)


@composite(
    home="nn.functional",
    native="input target [margin reduction]",
    autocast="float32",
)
def hinge_embedding_loss(
    input: Value,
    target: Value,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """input where target is 1; where it is -1, what input lacks to the margin."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    whole = input.dtype.numpy_dtype.kind in "iu"  # then the margin is taken in its type
    short = clamp_min((int(margin) if whole else margin) - input, 0)
    return reduced(where(target == 1, 0, short) + where(target == -1, 0, input), reduction)


@composite(
    home="nn.functional", native="input1 input2 target [margin reduction]", autocast="float32"
)
def margin_ranking_loss(
    input1: Value,
    input2: Value,
    target: Value,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """What input1 lacks to be above input2, or below it where target is -1, by a margin."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss(): all tensors must have as many dimensions, got shapes "
            f"{list(input1.shape)}, {list(input2.shape)} and {list(target.shape)}"
        )
    return reduced(clamp_min(-target * (input1 - input2) + float(margin), 0), reduction)


@composite(
    home="nn.functional", native="input1 input2 target [margin reduction]", autocast="float32"
)
def cosine_embedding_loss(
    input1: Value,
    input2: Value,
    target: Value,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """1 - cos for pairs that belong together; for others, cos above the margin."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    check_reduction(reduction)
    if input1.ndim not in (1, 2) or not target.ndim + 1 == input1.ndim == input2.ndim:
        raise RuntimeError(
            f"cosine_embedding_loss(): expected matrices and a vector of targets, or vectors and "
            f"one target, got shapes {list(input1.shape)}, {list(input2.shape)} and "
            f"{list(target.shape)}"
        )
    along = sum(input1 * input2, -1)
    sizes = (sum(square(input1), -1) + 1e-12) * (sum(square(input2), -1) + 1e-12)
    cosine = along / sizes**0.5
    losses = where(target == 1, 1 - cosine, 0.0)
    return reduced(losses + where(target == -1, clamp_min(cosine - margin, 0), 0.0), reduction)


@composite(
    home="nn.functional",
    native="anchor positive negative [margin p eps swap reduction]",
    autocast="float32",
)
def triplet_margin_loss(
    anchor: Value,
    positive: Value,
    negative: Value,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """What the negative lacks to be further from the anchor than the positive, by a margin."""
    reduction = chosen_reduction(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss(): margin must be greater than 0, got {margin}")

    def distance(one: Any, other: Any) -> Any:
        return pairwise_distance(one, other, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: Any, positive: Any, negative: Any, distance: Any, margin: float, swap: bool, how: str
) -> Any:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced(clamp_min(margin + near - far, 0), how)


@composite(home="nn.functional")
def triplet_margin_with_distance_loss(
    anchor: Value,
    positive: Value,
    negative: Value,
    *,
    distance_function: Any = None,
    margin: Operand = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Value:
    """triplet_margin_loss with a distance of one's own."""
    check_reduction(reduction)
    if margin <= 0:
        raise ValueError(
            f"triplet_margin_with_distance_loss(): margin must be greater than 0, got {margin}"
        )
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "triplet_margin_with_distance_loss(): all tensors must have as many dimensions"
        )
    function = pairwise_distance if distance_function is None else distance_function
    return _triplet(anchor, positive, negative, function, margin, swap, reduction)
