"""Attention of several heads at once, as a function of all its weights."""

from typing import Any

from adjoint.call.context import current
from adjoint.creation.factories import zeros, zeros_like
from adjoint.dtypes import bool_
from adjoint.ops.arranging.arrange import pad, repeat
from adjoint.ops.arranging.conversion import contiguous
from adjoint.ops.arranging.shape import (
    cat,
    chunk,
    expand,
    permute,
    reshape,
    split,
    squeeze,
    transpose,
    unflatten,
    unsqueeze,
)
from adjoint.ops.composites import overridable
from adjoint.ops.matrices.added_products import baddbmm
from adjoint.ops.matrices.matmul import bmm
from adjoint.ops.neural.attention import scaled_dot_product_attention
from adjoint.ops.neural.linear import linear
from adjoint.ops.reducing.reduction import mean, softmax
from adjoint.ops.sampling.random import dropout

# ---- masks ----


def as_added(mask: Any, name: str, kind: Any) -> Any:
    """A mask to be added to scores: -inf where a mask of booleans says True."""
    if mask is None:
        return None
    if mask.dtype is bool_:
        added: Any = zeros_like(mask, dtype=kind)
        return added.masked_fill_(mask, float("-inf"))
    if not mask.dtype.is_floating_point:
        raise AssertionError(f"{name} must be bool or floating point, not {mask.dtype}")
    return mask


def _check_shapes(query: Any, key: Any, value: Any, padding: Any, mask: Any, heads: int) -> bool:
    """Refuse what does not go together; whether there is a batch."""
    if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
        raise AssertionError(
            f"query, key and value must all have 2 dimensions or, for a batch, 3; got shapes "
            f"{list(query.shape)}, {list(key.shape)} and {list(value.shape)}"
        )
    if padding is not None and padding.ndim != query.ndim - 1:
        raise AssertionError(
            f"key_padding_mask must have {query.ndim - 1} dimensions, got {padding.ndim}"
        )
    if mask is not None and mask.ndim not in (2, 3):
        raise AssertionError(f"attn_mask must have 2 or 3 dimensions, got {mask.ndim}")
    if mask is not None and mask.ndim == 3 and query.ndim == 2:
        wanted = (heads, query.shape[0], key.shape[0])
        if tuple(mask.shape) != wanted:
            raise AssertionError(f"attn_mask must have shape {wanted}, got {tuple(mask.shape)}")
    return bool(query.ndim == 3)


def _joined_mask(mask: Any, padding: Any, batch: int, heads: int, sizes: Any) -> Any:
    """One mask that broadcasts over (batch * heads, targets, sources), or None."""
    targets, sources = sizes
    if mask is not None:
        wanted = (1 if mask.shape[0] == 1 else batch * heads, targets, sources)
        if tuple(mask.shape) != wanted:
            raise RuntimeError(
                f"attn_mask has shape {list(mask.shape)}, but should be {list(wanted)}"
            )
    if padding is None:
        return mask
    if tuple(padding.shape) != (batch, sources):
        raise AssertionError(
            f"key_padding_mask has shape {list(padding.shape)}, but should be {[batch, sources]}"
        )
    padding = expand(reshape(padding, (batch, 1, 1, sources)), (-1, heads, -1, -1))
    padding = reshape(padding, (batch * heads, 1, sources))
    return padding if mask is None else mask + padding


# ---- projections ----


def _projected(inputs: Any, weights: Any, bias: Any) -> tuple[Any, ...]:
    """Each of query, key and value by its own matrix and its third of the bias."""
    biases = (None, None, None) if bias is None else chunk(bias, 3)
    return tuple(linear(x, w, b) for x, w, b in zip(inputs, weights, biases))


def _packed(query: Any, key: Any, value: Any, weight: Any, bias: Any) -> tuple[Any, ...]:
    """Query, key and value by one matrix for all three; in one product where they are the same."""
    if key.shape != value.shape:
        raise AssertionError(
            f"key of shape {list(key.shape)} does not match value of {list(value.shape)}"
        )
    width = query.shape[-1]
    if query is key and key is value:
        return _apart(linear(query, weight, bias), 3)
    if key is value:
        own, other = split(weight, [width, 2 * width])
        shifts = (None, None) if bias is None else split(bias, [width, 2 * width])
        projected = linear(query, own, shifts[0])
        return projected, *_apart(linear(key, other, shifts[1]), 2)
    return _projected((query, key, value), chunk(weight, 3), bias)


def _apart(x: Any, count: int) -> tuple[Any, ...]:
    """What lies side by side in the last dimension, each as a whole where somebody sees the steps.

    Where nobody does, the heads are copied from there: a small layer takes 0.87 of the time.
    """
    if current().plain and not x.special:
        return tuple(chunk(x, count, -1))
    x = unsqueeze(unflatten(x, -1, (count, x.shape[-1] // count)), 0)
    x = contiguous(squeeze(transpose(x, 0, -2), -2))
    return tuple(x[i] for i in range(count))


# ---- sequences and heads ----


def _as_batch(query: Any, key: Any, value: Any, padding: Any) -> tuple[Any, ...]:
    """Single sequences and the mask of their padding, as a batch of one."""
    query, key, value = (unsqueeze(each, 1) for each in (query, key, value))
    return query, key, value, None if padding is None else unsqueeze(padding, 0)


def _head_width(features: int, wanted: int, heads: int) -> int:
    """How many of the features each head gets."""
    if features != wanted:
        raise AssertionError(f"expected an embedding dimension of {wanted}, but got {features}")
    width = features // heads
    if width * heads != features:
        raise AssertionError(f"embed_dim {features} not divisible by num_heads {heads}")
    return width


def _heads(x: Any, width: int) -> Any:
    """(length, batch, features) as (batch * heads, length, width)."""
    length, batch, features = x.shape
    return transpose(reshape(x, (length, batch * (features // width), width)), 0, 1)


def _has_biases(bias_k: Any, bias_v: Any, static: bool) -> bool:
    """Whether there is a source of biases, one more for every sample."""
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v go together")
    if bias_k is not None and static:
        raise AssertionError("a bias can't be added to static keys or values")
    return bias_k is not None


def _with_extra(x: Any, extra: Any) -> Any:
    """One more source for every sample."""
    return cat([x, repeat(extra, (1, x.shape[1], 1))])


def _one_longer(mask: Any) -> Any:
    """A mask that lets one more source be seen."""
    return None if mask is None else pad(mask, (0, 1))


def _attend(
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    rate: float,
    heads: int,
    need_weights: bool,
    is_causal: bool,
) -> tuple[Any, Any]:
    """What heads make of the values, (targets * batch, features), and with which weights."""
    count, targets, width = query.shape
    batch = count // heads
    rows = (targets * batch, heads * width)
    if not need_weights:
        if mask is not None:
            single = mask.shape[0] == 1
            shape = (batch, heads, -1, mask.shape[2])
            mask = unsqueeze(mask, 0) if single else reshape(mask, shape)
        query, key, value = (reshape(x, (batch, heads, *x.shape[1:])) for x in (query, key, value))
        out = scaled_dot_product_attention(query, key, value, mask, rate, is_causal)
        return reshape(permute(out, (2, 0, 1, 3)), rows), None
    query, turned = query * width**-0.5, transpose(key, -2, -1)
    scores = bmm(query, turned) if mask is None else baddbmm(mask, query, turned)
    weights = softmax(scores, -1)
    weights = dropout(weights, rate, True) if rate else weights
    out = reshape(transpose(bmm(weights, value), 0, 1), rows)
    return out, weights


def _shown(weights: Any, heads: int, average: bool) -> Any:
    """The weights as the caller wants them: of each head, or averaged over the heads."""
    if weights is None:
        return None
    weights = reshape(weights, (weights.shape[0] // heads, heads, *weights.shape[1:]))
    return mean(weights, 1) if average else weights


@overridable
def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """Attention of several heads, and its weights or None, on (length, [batch,] features)."""
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError("is_causal says what attn_mask is, so attn_mask must be given too")
    if not batched:
        query, key, value, key_padding_mask = _as_batch(query, key, value, key_padding_mask)
    targets, batch, features = query.shape
    width = _head_width(features, embed_dim_to_check, num_heads)
    padding = as_added(key_padding_mask, "key_padding_mask", query.dtype)
    causal = is_causal and padding is None and not need_weights  # so that no mask is wanted
    mask = None if causal else as_added(attn_mask, "attn_mask", query.dtype)
    if use_separate_proj_weight:
        matrices = (q_proj_weight, k_proj_weight, v_proj_weight)
        query, key, value = _projected((query, key, value), matrices, in_proj_bias)
    else:
        query, key, value = _packed(query, key, value, in_proj_weight, in_proj_bias)
    if mask is not None and mask.ndim == 2:
        mask = unsqueeze(mask, 0)
    if _has_biases(bias_k, bias_v, static_k is not None or static_v is not None):
        key, value = _with_extra(key, bias_k), _with_extra(value, bias_v)
        mask, padding = _one_longer(mask), _one_longer(padding)
    query = _heads(query, width)
    key = _heads(key, width) if static_k is None else static_k
    value = _heads(value, width) if static_v is None else static_v
    if add_zero_attn:
        shape = (batch * num_heads, 1, width)
        key, value = (
            cat([x, zeros(shape, dtype=x.dtype, device=x.device)], 1) for x in (key, value)
        )
        mask, padding = _one_longer(mask), _one_longer(padding)
    mask = _joined_mask(mask, padding, batch, num_heads, (targets, key.shape[1]))
    rate = dropout_p if training else 0.0
    out, found = _attend(query, key, value, mask, rate, num_heads, need_weights, causal)
    out = linear(out, out_proj_weight, out_proj_bias)
    out = reshape(out, (targets, batch, out.shape[1]))
    weights = _shown(found, num_heads, average_attn_weights)
    if batched:
        return out, weights
    return squeeze(out, 1), None if weights is None else squeeze(weights, 0)
