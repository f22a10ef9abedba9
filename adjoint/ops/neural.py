"""What networks do most: linear maps, losses, normalisation, attention, windows over images."""

import warnings
from typing import Any

from adjoint.ambient import is_grad_enabled
from adjoint.dtypes import BOOL, FLOAT, category_of
from adjoint.ops.arrange import repeat_interleave
from adjoint.ops.elementwise import add, conj, div, mul, rsqrt, sub, where
from adjoint.ops.indexing import getitem
from adjoint.ops.matmul import matmul, turned_product
from adjoint.ops.op import COMPOSITES, composite, general
from adjoint.ops.reduction import all, log_softmax, mean, softmax, sum, var
from adjoint.ops.shape import reshape, transpose
from adjoint.ops.sorting import as_index
from adjoint.tensor_core import NDARRAY, TensorCore, backend_of

# ---- linear ----


def _rows(x: Any) -> Any:
    """All leading dimensions as one."""
    return x if x.ndim == 2 else reshape(x, (-1, x.shape[-1]))


def _linear_input(grad: Any, weight: Any) -> Any:
    if weight.ndim == 1:
        return reshape(grad, (*grad.shape, 1)) * conj(weight)
    return grad @ conj(weight)


def _linear_weight(grad: Any, input: Any, weight_shape: Any) -> Any:
    rows = conj(_rows(input))
    if len(weight_shape) == 1:
        return reshape(grad, (-1,)) @ rows
    return turned_product(_rows(grad), rows)


def _linear_bias(grad: Any) -> Any:
    if grad.ndim == 2:
        return grad.sum(0)
    return sum(grad, tuple(range(grad.ndim - 1))) if grad.ndim > 1 else grad


@general(
    input=_linear_input,
    weight=_linear_weight,
    bias=_linear_bias,
    jvp=lambda args, tangents: _linear_jvp(*args, *tangents),
    method=False,
)
def linear(xp: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias."""
    if input.dtype != weight.dtype or (bias is not None and bias.dtype != weight.dtype):
        raise RuntimeError("input, weight and bias must have the same dtype")
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            f"the last dimension of input, {input.shape[-1]}, must be that of weight, "
            f"{weight.shape[-1]}"
        )
    return xp.linear(input, weight, bias)


def _linear_jvp(input: Any, weight: Any, bias: Any, *tangents: Any) -> Any:
    """Linear in each argument but bias, which is only added."""
    along_input, along_weight, along_bias = tangents
    parts = []
    if along_input is not None:
        parts.append(linear(along_input, weight))
    if along_weight is not None:
        parts.append(linear(input, along_weight))
    total = parts[0] if len(parts) == 1 else add(*parts) if parts else None
    if along_bias is None:
        return total
    return along_bias + (0 * linear(input, weight) if total is None else total)


# ---- losses ----


def _reduction(reduction: str, size_average: Any, reduce: Any) -> str:
    """The reduction that is meant where the two arguments it replaced are given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        meant = "none"
    else:
        meant = "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce are deprecated; write reduction='{meant}'", stacklevel=3
    )
    return meant


def _reduced(loss: Any, reduction: str, count: Any = None) -> Any:
    """A loss per element as its mean, its sum, or as it is."""
    if reduction == "mean":
        return mean(loss) if count is None else div(sum(loss), count)
    if reduction == "sum":
        return sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction!r} is not a valid value for reduction: 'none', 'mean' or 'sum'")


def _pick(xp: Any, input: Any, target: Any, ignore_index: int) -> tuple[Any, Any]:
    """The indices of the target classes, classes in dimension 1, and which targets count."""
    classes = input.shape[1]
    counted = target != ignore_index
    outside = counted & ((target < 0) | (target >= classes))
    if not hasattr(outside, "aval") and bool(xp.any(outside)):
        wrong = target[outside].reshape(-1)[0]
        raise IndexError(f"Target {int(wrong)} is out of bounds for {classes} classes")
    safe = xp.where(counted, target, 0)
    return safe, counted


def _open_index(xp: Any, target: Any, safe: Any) -> tuple[Any, ...]:
    """An index that takes for each target the element of its class."""
    grid = xp.meshgrid(*(xp.arange(n) for n in target.shape), indexing="ij", sparse=True)
    return (grid[0], safe, *grid[1:])


@general(
    input=lambda grad, input_shape, target, ignore_index: _spread_losses(
        grad, target, input_shape, ignore_index
    ),
    method=False,
)
def picked_losses(xp: Any, input: Any, target: Any, ignore_index: int = -100) -> Any:
    """-input at the target class of each sample; 0 where the target is ignored."""
    safe, counted = _pick(xp, input, target, ignore_index)
    picked = input[_open_index(xp, target, safe)]
    return xp.where(counted, -picked, xp.zeros((), picked.dtype))


def _spread_losses(grad: Any, target: Any, shape: Any, ignore_index: int) -> Any:
    return spread_losses(grad, target, tuple(shape), ignore_index)


@general(
    input=lambda grad, target, ignore_index: picked_losses(grad, target, ignore_index),
    method=False,
)
def spread_losses(xp: Any, input: Any, target: Any, shape: Any, ignore_index: int = -100) -> Any:
    """Zeros of `shape` with -input at the target classes: the gradient of picked_losses."""
    safe, counted = _pick(xp, xp.zeros((1, shape[1]), "bool"), target, ignore_index)
    zeros = xp.zeros(shape, input.dtype)
    values = xp.where(counted, -input, xp.zeros((), input.dtype))
    return xp.updated(zeros, _open_index(xp, target, safe), values)


def _check_classes(input: Any, target: Any, weight: Any) -> None:
    if target.array.dtype not in ("int64", "uint8"):
        raise RuntimeError(f"class numbers must be int64 or uint8, not {target.dtype}")
    if weight is None:
        return
    if tuple(weight.shape) != (input.shape[1],):
        raise RuntimeError(
            f"weight must hold a number for each of the {input.shape[1]} classes, got shape "
            f"{list(weight.shape)}"
        )
    if weight.requires_grad and is_grad_enabled():
        raise RuntimeError("the loss has no derivative by weight; detach() it first")


@composite(method=False)
def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """The negative log likelihood of the target classes, given log-probabilities."""
    reduction = _reduction(reduction, size_average, reduce)
    if input.ndim == 1:
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
    if input.shape[0] != target.shape[0] or tuple(input.shape[2:]) != tuple(target.shape[1:]):
        raise ValueError(
            f"Expected input and target to agree but for the class dimension, got shapes "
            f"{tuple(input.shape)} and {tuple(target.shape)}"
        )
    _check_classes(input, target, weight)
    target = as_index(target)
    losses = picked_losses(input, target, ignore_index)
    kept = target != ignore_index
    if weight is None:
        count = None if ignore_index < 0 and reduction != "mean" else sum(kept)
    else:
        counted = getitem(weight, where(kept, target, 0)) * kept
        losses, count = mul(losses, counted), sum(counted)
    return _reduced(losses, reduction, count if reduction == "mean" else None)


def _targets(xp: Any, target: Any, classes: int, ignore_index: int) -> tuple[Any, Any, Any]:
    """Class numbers safe to index with, which of them count (None for all), and how many do."""
    if type(target) is NDARRAY and target.size and not 0 <= ignore_index < classes:
        if (target.view("uint64") < classes).all():  # negative ones are seen as very large
            return target, None, target.size
    safe, counted = _pick(xp, xp.zeros((1, classes), "bool"), target, ignore_index)
    return safe, counted, counted.sum()


def _exponentials(xp: Any, input: Any) -> tuple[Any, Any]:
    """input less the greatest of its row, and e to the power of that; nothing overflows."""
    shifted = input - xp.row_peaks(input)
    return shifted, xp.library.exp(shifted)


def _cross_entropy_rule(grad: Any, input: Any, target: Any, ignore_index: int, hidden: Any) -> Any:
    """From the softmax that forward has kept; where it is recorded, from the input again."""
    if isinstance(grad, TensorCore):
        return grad * class_slope(input, target, ignore_index)
    shares, places, counted, count = hidden
    xp = backend_of(shares).xp
    return _slope(xp, xp.array(shares), places, counted, grad / _at_least_one(xp, count))


@general(input=_cross_entropy_rule, hides=True, method=False, node_name="NllLossBackward0")
def mean_cross_entropy(xp: Any, input: Any, target: Any, ignore_index: int = -100) -> Any:
    """The mean over rows of -log softmax(input) at the target class, in one step."""
    safe, counted, count = _targets(xp, target, input.shape[1], ignore_index)
    places = (xp.arange(input.shape[0]), safe)
    shifted, powers = _exponentials(xp, input)
    totals = xp.row_sums(powers)
    losses = xp.library.log(totals[:, 0]) - shifted[places]
    if counted is not None:
        losses = xp.where(counted, losses, xp.zeros((), losses.dtype))
    total = xp.total(losses)
    mean = xp.asarray(total / count if counted is None else xp.divide(total, count), losses.dtype)
    shares = xp.into(xp.library.divide, powers, powers, totals)
    return mean, (shares, places, counted, count)


def _at_least_one(xp: Any, count: Any) -> Any:
    """A divisor for rows of zeros: where every target is ignored the gradient is 0."""
    return count if isinstance(count, int) else xp.maximum(count, 1)


def _slope(xp: Any, shares: Any, places: Any, counted: Any, factor: Any) -> Any:
    """A fresh softmax, made the gradient of the mean cross entropy by the factor."""
    shares = xp.lowered(shares, places, 1)
    if counted is not None:
        shares = xp.where(counted[:, None], shares, xp.zeros((), shares.dtype))
    return xp.into(xp.multiply, shares, shares, xp.asarray(factor, shares.dtype))


def _slope_rule(grad: Any, input: Any, target: Any, ignore_index: int) -> Any:
    """The derivative of softmax, each row by its share of the mean."""
    kept = target != ignore_index
    shares = softmax(input, 1)
    weighted = grad * reshape(kept / sum(kept), (-1, 1))
    return shares * (weighted - sum(weighted * shares, 1, True))


@general(input=_slope_rule, method=False)
def class_slope(xp: Any, input: Any, target: Any, ignore_index: int = -100) -> Any:
    """The gradient of mean_cross_entropy: softmax(input) less 1 at the target, by rows."""
    powers = _exponentials(xp, input)[1]
    shares = xp.into(xp.library.divide, powers, powers, xp.row_sums(powers))
    safe, counted, count = _targets(xp, target, input.shape[1], ignore_index)
    factor = 1 / _at_least_one(xp, count)
    return _slope(xp, shares, (xp.arange(input.shape[0]), safe), counted, factor)


@composite(method=False)
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of softmax(input) against class numbers or class probabilities."""
    reduction = _reduction(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0 and 1, got {label_smoothing}")
    classes = category_of(target.array.dtype) < FLOAT
    if input.ndim == 2 and classes and weight is None and reduction == "mean":
        if label_smoothing == 0 and input.shape[0] == target.shape[0] and target.ndim == 1:
            _check_classes(input, target, None)
            return mean_cross_entropy(input, as_index(target), ignore_index)
    dim = 0 if input.ndim == 1 else 1
    logs = log_softmax(input, dim)
    if not classes:
        return _soft_cross_entropy(logs, target, weight, reduction, label_smoothing, dim)
    loss = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if label_smoothing == 0:
        return loss
    smooth = _smoothing_loss(logs, target, weight, ignore_index, reduction, dim)
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / input.shape[dim])


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
    return (
        div(sum(losses), max(1, losses.numel()))
        if reduction == "mean"
        else _reduced(losses, reduction)
    )


def _smoothing_loss(
    logs: Any, target: Any, weight: Any, ignore_index: int, reduction: str, dim: int
) -> Any:
    """The cross entropy against the uniform distribution, as label smoothing mixes it in."""
    kept = target != ignore_index
    weighted = logs if weight is None else logs * _along(weight, dim, logs.ndim)
    losses = -sum(weighted, dim) * kept
    if reduction != "mean":
        return _reduced(losses, reduction)
    if weight is None:
        return div(sum(losses), sum(kept))
    return div(sum(losses), sum(getitem(weight, where(kept, target, 0)) * kept))


@composite(method=False)
def mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """The squared difference."""
    difference = input - target
    return _reduced(difference * difference, _reduction(reduction, size_average, reduce))


# ---- normalisation and attention ----


@composite(method=False)
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """input with mean 0 and variance 1 over its last dimensions, scaled and shifted."""
    if tuple(input.shape[-len(normalized_shape) :]) != tuple(normalized_shape):
        raise RuntimeError(
            f"normalized_shape {list(normalized_shape)} is not the end of input's shape "
            f"{list(input.shape)}"
        )
    dims = tuple(range(-len(normalized_shape), 0))
    centred = sub(input, mean(input, dims, keepdim=True))
    normal = mul(centred, rsqrt(var(input, dims, correction=0, keepdim=True) + eps))
    if weight is not None:
        normal = mul(normal, weight)
    return normal if bias is None else add(normal, bias)


def _masked_softmax(scores: Any) -> Any:
    """softmax over the last dimension; zeros where a mask left nothing to choose."""
    shut = all(scores == float("-inf"), -1, True)
    return where(shut, 0.0, softmax(where(shut, 0.0, scores), -1))


@composite(method=False)
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(query @ key.T * scale + mask) @ value."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("give attn_mask or is_causal=True, not both")
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = (repeat_interleave(heads, repeats, -3) for heads in (key, value))
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = matmul(query, transpose(key, -2, -1)) * factor
    if is_causal:
        attn_mask = lower_mask(scores, *scores.shape[-2:])
    if attn_mask is not None:
        kind = category_of(attn_mask.array.dtype)
        if BOOL < kind < FLOAT:
            raise RuntimeError(
                f"attn_mask must be bool, or of the type of query, not {attn_mask.dtype}"
            )
        scores = where(attn_mask, scores, float("-inf")) if kind == BOOL else scores + attn_mask
    weights = softmax(scores, -1) if attn_mask is None else _masked_softmax(scores)
    if dropout_p:
        weights = COMPOSITES["dropout"](weights, dropout_p, True)
    return matmul(weights, value)


@general(method=False)
def lower_mask(xp: Any, like: Any, rows: int, columns: int) -> Any:
    """A lower triangle of True on the device of `like`."""
    return xp.tril(xp.ones((rows, columns), "bool"))
