"""Attention: each query's mean of the values, weighted by how well their keys match it."""

from typing import Any

from adjoint.call.dispatch import run_forward
from adjoint.call.half_precision import is_half
from adjoint.call.rule import ALIGN, LEAD
from adjoint.dtypes import BOOL, bool_ as boolean, category_of, float32
from adjoint.ops.annotations import Array, Value, Values
from adjoint.ops.arranging.arrange import repeat_interleave
from adjoint.ops.arranging.conversion import to
from adjoint.ops.arranging.shape import expand
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.elementwise.selection import where
from adjoint.ops.matrices.matmul import matmul, mT
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.cumulative import narrowed, widened
from adjoint.ops.reducing.reduction import all, softmax, sum
from adjoint.ops.same_dtype import same_kind
from adjoint.ops.shared_rules import zero_of
from adjoint.tensors.core import TensorCore


def _matches(query: Any, key: Any, mask: Any, scale: float, causal: bool) -> Any:
    """The weights of the values, from ops: zeros where a mask left nothing to choose."""
    scores = matmul(query * scale, mT(key))
    if causal:
        mask = lower_mask(scores, *scores.shape[-2:])
    if mask is None:
        return softmax(scores, -1)
    if category_of(mask.dtype.numpy_dtype) == BOOL:
        scores = where(mask, scores, float("-inf"))
    else:
        scores = scores + mask
    if causal:  # each row has its first place
        return softmax(scores, -1)
    shut = all(scores == float("-inf"), -1, True)
    return where(shut, 0.0, softmax(where(shut, 0.0, scores), -1))


def _score_rule(
    grad: Any, slope: Any, value: Any, mean: Any, weights: Any, needs: Any
) -> tuple[Any, Any, Any, Any]:
    weighted = grad * weights
    totals = sum(weighted, -1, True)
    by_weights = None
    if needs[3]:
        by_weights = grad * (matmul(slope, mT(value)) - sum(slope * mean, -1, True))
    return (
        matmul(weighted, value) - mean * totals if needs[0] else None,
        matmul(mT(weighted), slope) if needs[1] else None,
        -slope * totals if needs[2] else None,
        by_weights,
    )


def _score_tangent(
    slope: Any,
    value: Any,
    mean: Any,
    weights: Any,
    slope_tangent: Any,
    value_tangent: Any,
    mean_tangent: Any,
    weights_tangent: Any,
) -> Any:
    """One factor at a time."""
    inner = zero_of(weights)  # how what is multiplied by the weights moves
    if slope_tangent is not None:
        inner = matmul(slope_tangent, mT(value)) - sum(slope_tangent * mean, -1, True)
    if value_tangent is not None:
        inner = inner + matmul(slope, mT(value_tangent))
    if mean_tangent is not None:
        inner = inner - sum(slope * mean_tangent, -1, True)
    if weights_tangent is None:
        return inner * weights
    return inner * weights + score_slope(slope, value, mean, weights_tangent)


@general(
    joint=("slope value mean weights", _score_rule),
    jvp=_score_tangent,
    batching=LEAD,
    home=None,
)
def score_slope(xp: Any, slope: Any, value: Any, mean: Any, weights: Any) -> Any:
    """The gradient of scores, from that of their softmax's mean of values."""
    out = xp.matmul(slope, mT(value))
    out = xp.into(xp.subtract, out, out, xp.sums_along(slope * mean, (slope.ndim - 1,)))
    return xp.into(xp.multiply, out, out, weights)


def _attend_tangent(
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    scale: float,
    causal: bool,
    query_tangent: Any,
    key_tangent: Any,
    value_tangent: Any,
    mask_tangent: Any,
    hidden: Any,
) -> Any:
    """W dV + (W * (dS - sum of W * dS)) V, with dS the tangents of the scores."""
    weights = _matches(query, key, mask, scale, causal) if hidden is None else hidden
    scores = mask_tangent
    for pair in ((query_tangent, key), (query, key_tangent)):
        if pair[0] is not None and pair[1] is not None:
            term = matmul(pair[0] * scale, mT(pair[1]))
            scores = term if scores is None else scores + term
    total = None if value_tangent is None else matmul(weights, value_tangent)
    if scores is None:
        return total
    weighted = weights * scores
    turned = matmul(weighted - weights * sum(weighted, -1, True), value)
    return turned if total is None else total + turned


def _share_slope(grad: Any, shares: Any) -> Any:
    """The gradient of scores from that of their softmax, by its own rule: one pass over rows."""
    rule = softmax.rules[0]
    assert rule is not None
    return rule.of_list([grad, shares, -1])


def _attend_rule(
    grad: Value,
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    scale: float,
    causal: bool,
    result: Value,
    hidden: Any,
    needs: Any,
) -> Values:
    """From the weights that forward has kept; where it is recorded, from queries and keys again."""
    recorded = isinstance(grad, TensorCore)
    weights = _matches(query, key, mask, scale, causal) if recorded else hidden
    by_value = mT(weights) @ grad if needs[2] else None
    if not (needs[0] or needs[1] or needs[3]):
        return None, None, by_value, None
    if recorded:
        slope = score_slope(grad, value, result, weights)
    else:
        slope = _share_slope(matmul(grad, mT(value)), weights)
    return (
        slope @ key * scale if needs[0] else None,
        mT(slope) @ query * scale if needs[1] else None,
        by_value,
        slope if needs[3] else None,
    )


def _open_shares(xp: Any, scores: Any) -> Any:
    """softmax of the last dimension; zeros where nothing is left to choose. Scores are ours."""
    peaks = scores.max(axis=-1, keepdims=True)
    peaks = xp.where(peaks == float("-inf"), xp.zeros((), peaks.dtype), peaks)
    powers = xp.into(xp.subtract, scores, scores, peaks)
    powers = xp.into(xp.exp, powers, powers)
    totals = xp.sums_along(powers, (powers.ndim - 1,))
    totals = xp.where(totals == 0, xp.ones((), totals.dtype), totals)
    return xp.into(xp.divide, powers, powers, totals)


@general(
    joint=("query key value mask", _attend_rule),
    hides=True,
    wide="rules",
    node_name="ScaledDotProductFlashAttentionForCpuBackward0",
    batching=ALIGN,
    home=None,
    autocast="narrow",
    jvp=_attend_tangent,
)
def attend(
    xp: Any, query: Array, key: Array, value: Array, mask: Array | None, scale: float, causal: bool
) -> Any:
    """softmax(query @ key.T * scale + mask) @ value, in one step."""
    kind = query.dtype
    scores = xp.matmul(widened(query) * xp.asarray(scale, widened(query).dtype), mT(widened(key)))
    if causal:
        mask = xp.tril(xp.ones(scores.shape[-2:], "bool"))
    if mask is not None:
        if mask.dtype == "bool":
            scores = xp.where(mask, scores, xp.asarray(float("-inf"), scores.dtype))
        else:
            scores = scores + widened(mask)
    if mask is None or causal:  # each row has something to choose
        weights = run_forward(softmax, xp, [scores, -1, None])
    else:
        weights = _open_shares(xp, scores)
    mean = xp.matmul(weights, widened(value))
    return narrowed(mean, kind), weights


@general(
    vmap=lambda like, rows, columns: expand(
        lower_mask(like, rows, columns), (like.shape[0], rows, columns)
    ),
    home=None,
)
def lower_mask(xp: Any, like: Array, rows: int, columns: int) -> Array:
    """A lower triangle of True on the device of `like`."""
    return xp.tril(xp.ones((rows, columns), "bool"))


@composite(home="nn.functional")
def scaled_dot_product_attention(
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """softmax(query @ key.T * scale + mask) @ value."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("give attn_mask or is_causal=True, not both")
    same_kind("scaled_dot_product_attention", query, key=key, value=value)
    if attn_mask is not None and attn_mask.dtype not in (boolean, float32, query.dtype):
        raise RuntimeError(
            f"attn_mask must be bool, float32, or of the type of query, {query.dtype}, not "
            f"{attn_mask.dtype}"
        )
    if (enable_gqa or dropout_p) and is_half(query.dtype.numpy_dtype):  # rounded once, after both
        q, k, v = (to(each, float32) for each in (query, key, value))
        if attn_mask is not None and attn_mask.dtype is query.dtype:
            attn_mask = to(attn_mask, float32)
        rest = (attn_mask, dropout_p, is_causal, scale, enable_gqa)
        return to(scaled_dot_product_attention(q, k, v, *rest), query.dtype)
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = (repeat_interleave(heads, repeats, -3) for heads in (key, value))
    factor = (query.shape[-1] or 1) ** -0.5 if scale is None else scale
    if not dropout_p:
        return attend(query, key, value, attn_mask, factor, is_causal)
    weights = _matches(query, key, attn_mask, factor, is_causal)
    return matmul(COMPOSITES["dropout"](weights, dropout_p, True), value)
