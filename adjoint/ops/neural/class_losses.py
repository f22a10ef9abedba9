"""Losses of class numbers and of probabilities over classes."""

import math
from typing import Any

from adjoint.call.context import is_recording
from adjoint.call.rule import FOLD, FRONT
from adjoint.dtypes import FLOAT, int64, refuse_kinds, uint8
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import is_index
from adjoint.ops.arranging.indexing import gather, getitem
from adjoint.ops.arranging.positions import one_hot
from adjoint.ops.arranging.shape import narrow, reshape, unsqueeze
from adjoint.ops.elementwise.activation import logsigmoid, relu
from adjoint.ops.elementwise.arithmetic import div, mul
from adjoint.ops.elementwise.comparison import isnan
from adjoint.ops.elementwise.powers import square
from adjoint.ops.elementwise.selection import where
from adjoint.ops.neural.batches import joined, parted
from adjoint.ops.neural.losses import check_reduction, chosen_reduction, reduced
from adjoint.ops.op import composite, general, linear
from adjoint.ops.reducing.cumulative import cumsum
from adjoint.ops.reducing.reduction import log_softmax, softmax, sum
from adjoint.ops.reducing.sorting import as_index
from adjoint.ops.same_dtype import same_kind
from adjoint.tensors.concrete import has_values
from adjoint.tensors.core import TensorCore
from adjoint.tensors.tensor import AS_IS, Tensor


def _pick(xp: Any, input: Any, target: Any, ignore_index: int) -> tuple[Any, Any]:
    """The indices of the target classes, classes in dimension 1, and which targets count."""
    classes = input.shape[1]
    if not 0 <= ignore_index < classes and xp.are_indices(target):
        if xp.all_below(target, classes):
            return target, xp.broadcast_to(xp.asarray(True), target.shape)
    counted = target != ignore_index
    outside = counted & ((target < 0) | (target >= classes))
    if xp.readable(waiting=True) and bool(xp.any(outside)):
        wrong = target[outside].reshape(-1)[0]
        raise IndexError(f"Target {int(wrong)} is out of bounds for {classes} classes")
    safe = xp.where(counted, target, 0)
    return safe, counted


def _open_index(xp: Any, target: Any, safe: Any) -> tuple[Any, ...]:
    """An index that takes for each target the element of its class."""
    if target.ndim == 1:
        return (xp.arange(target.shape[0]), safe)
    grid = xp.meshgrid(*(xp.arange(n) for n in target.shape), indexing="ij", sparse=True)
    return (grid[0], safe, *grid[1:])


@linear(
    input=lambda grad, input_shape, target, ignore_index: _spread_losses(
        grad, target, input_shape, ignore_index
    ),
    batching=FOLD,
    home=None,
    autocast="float32",
)
def picked_losses(xp: Any, input: Array, target: Array, ignore_index: int = -100) -> Array:
    """-input at the target class of each sample; 0 where the target is ignored."""
    safe, counted = _pick(xp, input, target, ignore_index)
    picked = input[_open_index(xp, target, safe)]
    return xp.where(counted, -picked, xp.zeros((), picked.dtype))


def _spread_losses(grad: Value, target: Value, shape: Any, ignore_index: int) -> Value:
    return spread_losses(grad, target, tuple(shape), ignore_index)


def _spread_over_batch(
    input_each: Any, target_each: Any, shape: Any, ignore_index: int, batch_size: int
) -> Any:
    values, classes = joined(input_each), joined(target_each)
    whole = (batch_size * shape[0], *shape[1:])
    return parted(spread_losses(values, classes, whole, ignore_index), batch_size)


@linear(
    input=lambda grad, target, ignore_index: picked_losses(grad, target, ignore_index),
    vmap=_spread_over_batch,
    home=None,
)
def spread_losses(
    xp: Any, input: Array, target: Array, shape: Any, ignore_index: int = -100
) -> Array:
    """Zeros of `shape` with -input at the target classes: the gradient of picked_losses."""
    safe, counted = _pick(xp, xp.zeros((1, shape[1]), "bool"), target, ignore_index)
    zeros = xp.zeros(shape, input.dtype)
    values = xp.where(counted, -input, xp.zeros((), input.dtype))
    return xp.placed(zeros, _open_index(xp, target, safe), values)


def _check_classes(input: Any, target: Any, weight: Any) -> None:
    if target.dtype is not uint8 and not is_index(target):
        raise RuntimeError(f"class numbers must be int64 or uint8, not {target.dtype}")
    if weight is None:
        return
    if tuple(weight.shape) != (input.shape[1],):
        raise RuntimeError(
            f"weight must hold a number for each of the {input.shape[1]} classes, got shape "
            f"{list(weight.shape)}"
        )
    if weight.requires_grad and is_recording():
        raise RuntimeError("the loss has no derivative by weight; detach() it first")


@composite(home="nn.functional")
def nll_loss(
    input: Value,
    target: Value,
    weight: Value | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """The negative log likelihood of the target classes, given log-probabilities."""
    refuse_kinds("nll_loss", input, "bciu")
    reduction = chosen_reduction(reduction, size_average, reduce)
    if not input.ndim:
        raise ValueError("nll_loss(): expected an input of 1 or more dimensions")
    if input.ndim == 1:
        if target.numel() != 1:
            raise ValueError(
                f"Expected one target for an input without a batch, got shape {list(target.shape)}"
            )
        one = nll_loss(
            reshape(input, (1, -1)),
            reshape(target, (1,)),
            weight,
            None,
            ignore_index,
            None,
            reduction,
        )
        return reshape(one, ()) if reduction == "none" else one
    alike = bool(target.ndim) and input.shape[0] == target.shape[0]
    if not alike or tuple(input.shape[2:]) != tuple(target.shape[1:]):
        kind = RuntimeError if alike else ValueError  # as many targets as inputs come first
        raise kind(
            f"Expected input and target to agree but for the class dimension, got shapes "
            f"{tuple(input.shape)} and {tuple(target.shape)}"
        )
    _check_classes(input, target, weight)
    same_kind("nll_loss", input, weight=weight)
    target = target if is_index(target) else as_index(target)
    if weight is None and reduction == "mean" and input.ndim == 2:
        return picked_mean(input, target, ignore_index)
    losses = picked_losses(input, target, ignore_index)
    kept = target != ignore_index
    if weight is None:
        count = None if ignore_index < 0 and reduction != "mean" else sum(kept)
    else:
        counted = getitem(weight, where(kept, target, 0)) * kept
        losses, count = mul(losses, counted), sum(counted)
    return reduced(losses, reduction, count if reduction == "mean" else None)


def _targets(xp: Any, target: Any, classes: int, ignore_index: int) -> tuple[Any, Any, Any]:
    """Class numbers safe to index with, which of them count (None for all), how many in a mean.

    The numbers lie in one dimension, the others are as the target is.
    """
    if not 0 <= ignore_index < classes and xp.all_below(target, classes):
        safe, counted, count = target, None, target.shape[-1]
    else:
        safe, counted = _pick(xp, xp.zeros((1, classes), "bool"), target, ignore_index)
        count = counted.sum(-1)
    return safe if safe.ndim == 1 else safe.reshape(-1), counted, count


def _rows(values: Any) -> Any:
    """The rows of all means under each other."""
    if values.ndim == 2:
        return values
    return values.reshape(math.prod(values.shape[:-1]), values.shape[-1])


@linear(
    input=lambda grad, input_shape, target, ignore_index: spread_mean(
        grad, target, input_shape[-1], ignore_index
    ),
    batching=FRONT,
    wide=True,
    node_name="NllLossBackward0",
    home=None,
    autocast="float32",
)
def picked_mean(xp: Any, input: Array, target: Array, ignore_index: int = -100) -> Array:
    """The mean over rows of -input at the target class; ignored rows don't count."""
    safe, counted, count = _targets(xp, target, input.shape[-1], ignore_index)
    losses = -xp.row_elements(_rows(input), safe).reshape(target.shape)
    if counted is not None:
        losses = xp.where(counted, losses, xp.zeros((), losses.dtype))
    total = xp.total(losses) if losses.ndim == 1 else losses.sum(-1)
    return xp.asarray(total / count if counted is None else xp.divide(total, count), losses.dtype)


@linear(
    input=lambda grad, target, ignore_index: picked_mean(grad, target, ignore_index),
    batching=FRONT,
    wide=True,
    home=None,
)
def spread_mean(
    xp: Any, input: Array, target: Array, classes: int, ignore_index: int = -100
) -> Array:
    """Zeros with each row's share of -input at the target class: the gradient of picked_mean."""
    safe, counted, count = _targets(xp, target, classes, ignore_index)
    shares = -(input / count if counted is None else xp.divide(input, count))
    values = xp.broadcast_to(xp.asarray(shares, input.dtype)[..., None], target.shape)
    if counted is not None:
        values = xp.where(counted, values, xp.zeros((), values.dtype))
    zeros = xp.zeros((safe.shape[0], classes), input.dtype)
    placed = xp.placed(zeros, _open_index(xp, safe, safe), values.reshape(-1))
    return placed.reshape(*target.shape, classes)


def _of_each(grad: Value) -> Value:
    """The gradient of each mean, to meet its rows."""
    return grad if grad.ndim == 0 else reshape(grad, (*grad.shape, 1, 1))


def _of_all_rows(terms: Value) -> Value:
    """Sums over the rows of each mean."""
    return sum(terms) if terms.ndim == 2 else sum(terms, (-2, -1))


def _cross_entropy_rule(
    grad: Value, input: Value, target: Value, ignore_index: int, hidden: Any
) -> Value:
    """By the slope that forward has kept; in a transform it has kept none, and comes again."""
    slope = hidden
    if hidden is None:
        slope = class_slope(input, target, ignore_index)
    elif isinstance(grad, TensorCore):
        slope = class_slope.recorded([input, target, ignore_index], Tensor(hidden, AS_IS))
    return _of_each(grad) * slope


def _cross_entropy_tangent(
    input: Any, target: Any, ignore_index: int, result: Any, hidden: Any, input_tangent: Any
) -> Any:
    """Along the slope; the mean of no rows is nan, and moves by nan."""
    slope = class_slope(input, target, ignore_index) if hidden is None else hidden
    return where(isnan(result), result, _of_all_rows(slope * input_tangent))


# The forwards below know batches themselves: made of ops, one takes eight to ten of them.
@general(
    input=_cross_entropy_rule,
    batching=FRONT,
    hides=True,
    wide=True,
    node_name="NllLossBackward0",
    home=None,
    autocast="float32",
    jvp=_cross_entropy_tangent,
)
def mean_cross_entropy(xp: Any, input: Array, target: Array, ignore_index: int = -100) -> Any:
    """The mean over rows of -log softmax(input) at the target class, in one step."""
    found = xp.mean_class_losses(input, target, ignore_index) if input.ndim == 2 else None
    if found is not None:
        return found
    safe, counted, count = _targets(xp, target, input.shape[-1], ignore_index)
    places = xp.places_of(safe, input.shape[-1])
    shifted, logs, shares = xp.row_shares(_rows(input), 1 if counted is not None else count)
    losses = logs - shifted.reshape(-1)[places]
    if input.ndim > 2:
        losses = losses.reshape(target.shape)
    if counted is not None:
        losses = xp.where(counted, losses, xp.zeros((), losses.dtype))
    total = xp.total(losses) if input.ndim == 2 else losses.sum(-1)
    mean = xp.asarray(total / count if counted is None else xp.divide(total, count), losses.dtype)
    return mean, _slope(xp, shares, input.shape, places, counted, count)


def _share(xp: Any, count: Any, dtype: Any) -> Any:
    """Each row's share of a mean; where every target is ignored, one that keeps zeros zeros."""
    if isinstance(count, int):
        return 1 / count
    return xp.asarray(1 / xp.maximum(count, 1), dtype)[..., None, None]


def _slope(xp: Any, shares: Any, shape: Any, places: Any, counted: Any, count: Any) -> Any:
    """A fresh softmax, made the gradient of the mean cross entropy over so many rows.

    Where all rows count it is divided by their number already.
    """
    if counted is None:
        return xp.lowered(shares.reshape(-1), places, 1 / count).reshape(shape)
    shares = xp.lowered(shares.reshape(-1), places, 1).reshape(shape)
    shares = xp.where(counted[..., None], shares, xp.zeros((), shares.dtype))
    return xp.into(xp.multiply, shares, shares, _share(xp, count, shares.dtype))


@general(
    input=lambda grad, input, target, ignore_index: class_turn(grad, input, target, ignore_index),
    batching=FRONT,
    home=None,
    wide=True,
    jvp=lambda input, target, ignore_index, input_tangent: class_turn(
        input_tangent, input, target, ignore_index
    ),
)
def class_slope(xp: Any, input: Array, target: Array, ignore_index: int = -100) -> Array:
    """The gradient of mean_cross_entropy: softmax(input) less 1 at the target, by rows."""
    safe, counted, count = _targets(xp, target, input.shape[-1], ignore_index)
    shares = xp.row_shares(_rows(input), 1 if counted is not None else count)[2]
    places = xp.places_of(safe, input.shape[-1])
    return _slope(xp, shares, input.shape, places, counted, count)


def _turn_rule(
    grad: Any, direction: Any, input: Any, target: Any, ignore_index: int, needs: Any
) -> Any:
    """It is linear in the direction, and its own transpose."""
    by_direction = class_turn(grad, input, target, ignore_index) if needs[0] else None
    if not needs[1]:
        return by_direction, None
    shares = softmax(input, -1)
    means = sum(direction * shares, -1, True), sum(grad * shares, -1, True)
    slope = grad * (direction - means[0]) - direction * means[1]
    return by_direction, class_turn(slope, input, target, ignore_index)


def _turn_tangent(
    direction: Any,
    input: Any,
    target: Any,
    ignore_index: int,
    direction_tangent: Any,
    input_tangent: Any,
) -> Any:
    """Linear in the direction; by input, the transpose of its rule."""
    moved: Any = None
    if direction_tangent is not None:
        moved = class_turn(direction_tangent, input, target, ignore_index)
    if input_tangent is None:
        return moved
    shares = softmax(input, -1)
    turned = class_turn(input_tangent, input, target, ignore_index)
    bend = turned * (direction - sum(direction * shares, -1, True))
    bend = bend - shares * sum(direction * turned, -1, True)
    return bend if moved is None else moved + bend


@general(
    joint=("direction input", _turn_rule),
    jvp=_turn_tangent,
    batching=FRONT,
    home=None,
    wide=True,
)
def class_turn(
    xp: Any, direction: Array, input: Array, target: Array, ignore_index: int = -100
) -> Array:
    """How class_slope moves with input along a direction: softmax's derivative, by rows."""
    shares = xp.row_shares(_rows(input), 1)[2]
    _, counted, count = _targets(xp, target, input.shape[-1], ignore_index)
    weighted = direction * _share(xp, count, direction.dtype)
    if counted is not None:
        weighted = xp.where(counted[..., None], weighted, xp.zeros((), weighted.dtype))
    if input.ndim == 2:
        return shares * (weighted - xp.row_sums(weighted * shares))
    shares = shares.reshape(input.shape)
    return shares * (weighted - (weighted * shares).sum(-1, keepdims=True))


@composite(home="nn.functional")
def cross_entropy(
    input: Value,
    target: Value,
    weight: Value | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Value:
    """The cross entropy of softmax(input) against class numbers or class probabilities."""
    refuse_kinds("cross_entropy", input, "bciu")
    if size_average is not None or reduce is not None:
        reduction = chosen_reduction(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0 and 1, got {label_smoothing}")
    kind = target.dtype
    classes = kind.category < FLOAT
    if classes and weight is None and reduction == "mean" and label_smoothing == 0:
        sizes, rows = input.spec().shape, target.spec().shape  # plain tuples, sooner indexed
        if len(sizes) == 2 and len(rows) == 1 and sizes[0] == rows[0]:
            if kind is not int64:
                _check_classes(input, target, None)
                target = as_index(target)
            return mean_cross_entropy(input, target, ignore_index)
    dim = 0 if input.ndim == 1 else 1
    logs = log_softmax(input, dim)
    if not classes:
        _check_probabilities(input, target, ignore_index)
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, dim)
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0:
        return loss
    smooth = _smoothing_loss(logs, target, weight, ignore_index, reduction, dim)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / input.shape[dim])


def _check_probabilities(input: Any, target: Any, ignore_index: int) -> None:
    """Refuse probabilities that are not one for each class of each input."""
    sizes, own = tuple(target.shape), tuple(input.shape)
    if sizes != own:
        kind = RuntimeError if sizes[:1] == own[:1] else ValueError
        raise kind(
            f"Expected a probability for each class, got a target of shape {list(sizes)} for an "
            f"input of shape {list(own)}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is for class numbers; target holds probabilities")


def _along(weight: Any, dim: int, ndim: int) -> Any:
    """A weight per class, aligned with dimension dim."""
    return reshape(weight, [-1 if i == dim else 1 for i in range(ndim)])


def _soft_cross_entropy(
    logs: Any, target: Any, weight: Any, reduction: str, label_smoothing: float, dim: int
) -> Any:
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / logs.shape[dim]
    product = logs * target if weight is None else logs * target * _along(weight, dim, logs.ndim)
    losses = -sum(product, dim)
    return reduced(losses, reduction, losses.numel())


def _smoothing_loss(
    logs: Any, target: Any, weight: Any, ignore_index: int, reduction: str, dim: int
) -> Any:
    """The cross entropy against the uniform distribution, as label smoothing mixes it in."""
    kept = target != ignore_index
    weighted = logs if weight is None else logs * _along(weight, dim, logs.ndim)
    losses = -sum(weighted, dim) * kept
    if reduction != "mean":
        return reduced(losses, reduction)
    if weight is None:
        return div(sum(losses), sum(kept))
    return div(sum(losses), sum(getitem(weight, where(kept, target, 0)) * kept))


# ---- margins ----


def _batched_rows(name: str, input: Any, target: Any, labels: int) -> tuple[Any, Any]:
    """Rows of scores, and for each row its target, of `labels` dimensions."""
    rows, wanted = input, target
    if input.ndim < 2:
        rows = reshape(input, (1, -1))
        wanted = reshape(target, (1, -1) if labels else (1,))
    if rows.ndim != 2 or tuple(wanted.shape) != tuple(rows.shape)[: 1 + labels]:
        raise RuntimeError(
            f"{name}(): target of shape {list(target.shape)} does not fit input of shape "
            f"{list(input.shape)}"
        )
    return rows, wanted


@composite(home="nn.functional", autocast="float32")
def multi_margin_loss(
    input: Value,
    target: Value,
    p: float = 1,
    margin: float = 1.0,
    weight: Value | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """What the score of the target class lacks to exceed each other by a margin."""
    refuse_kinds("multi_margin_loss", input, "bciu")
    reduction = chosen_reduction(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss(): only p == 1 and p == 2 supported, got {p}")
    check_reduction(reduction)
    rows, classes = _batched_rows("multi_margin_loss", input, target, 0)
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"multi_margin_loss(): weight must be 1-d, got {weight.ndim} dimensions")
    column = unsqueeze(classes, 1)
    lacking = relu(rows + (margin - gather(rows, 1, column)))
    if p == 2:
        lacking = square(lacking)
    if weight is not None:
        if tuple(weight.shape) != (rows.shape[1],):
            raise RuntimeError(
                f"multi_margin_loss(): weight must hold a number for each of {rows.shape[1]} "
                f"classes, got shape {list(weight.shape)}"
            )
        lacking = lacking * getitem(weight, (column,))
    others = one_hot(classes, rows.shape[1]) == 0
    losses = sum(where(others, lacking, 0.0), 1) / rows.shape[1]
    return reduced(reshape(losses, tuple(target.shape)), reduction)


@composite(home="nn.functional", autocast="float32")
def multilabel_margin_loss(
    input: Value,
    target: Value,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """What the scores of the target classes lack to exceed all others by 1.

    The classes of a row are those before the first -1.
    """
    refuse_kinds("multilabel_margin_loss", input, "bciu")
    reduction = chosen_reduction(reduction, size_average, reduce)
    check_reduction(reduction)
    rows, classes = _batched_rows("multilabel_margin_loss", input, target, 1)
    given = cumsum(classes < 0, 1) == 0
    if has_values(classes) and classes.layer is None and classes.shape[0]:
        longest = max(1, int(sum(given, 1).max()))  # most rows name few classes
        classes, given = narrow(classes, 1, 0, longest), narrow(given, 1, 0, longest)
    known = where(given, classes, 0)
    hot = one_hot(known, rows.shape[1]) * unsqueeze(given, 2)
    others = unsqueeze(sum(hot, 1) == 0, 1)
    lacking = relu(1 - unsqueeze(gather(rows, 1, known), 2) + unsqueeze(rows, 1))
    losses = sum(where(unsqueeze(given, 2) & others, lacking, 0.0), (1, 2)) / rows.shape[1]
    return reduced(losses if input.ndim == 2 else reshape(losses, ()), reduction)


@composite(home="nn.functional")
def multilabel_soft_margin_loss(
    input: Value,
    target: Value,
    weight: Value | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Value:
    """The mean over classes of the cross entropy of sigmoid(input) against targets 0 and 1."""
    refuse_kinds("multilabel_soft_margin_loss", input, "c")
    reduction = chosen_reduction(reduction, size_average, reduce)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(sum(losses, input.ndim - 1) / input.shape[-1], reduction)
