"""Steps of PyTorch's attention that programs with an attention of their own call."""

import math
import warnings
from typing import Any

from adjoint.creation.factories import zeros_like
from adjoint.dtypes import bool_ as truth
from adjoint.nn.functional import linear


def in_projection(
    q: Any,
    k: Any,
    v: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    b_q: Any = None,
    b_k: Any = None,
    b_v: Any = None,
) -> tuple[Any, Any, Any]:
    """Queries, keys and values, each by a linear layer of its own."""
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def in_projection_packed(q: Any, k: Any, v: Any, w: Any, b: Any = None) -> list[Any]:
    """Queries, keys and values by layers whose weights lie in one tensor."""
    weights = w.chunk(3)
    biases = (None, None, None) if b is None else b.chunk(3)
    return [linear(*parts) for parts in zip((q, k, v), weights, biases, strict=True)]


def none_or_dtype(input: Any) -> Any:
    """The type of a tensor that may be None."""
    return None if input is None else input.dtype


def canonical_mask(
    mask: Any,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Any:
    """A mask as numbers to add: minus infinity where it is True."""
    if mask is None:
        return None
    if mask.dtype is not truth and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"{mask_name} and {other_name} have different types, {mask.dtype} and {other_type}",
            stacklevel=2,
        )
    if mask.dtype is not truth:
        return mask
    added: Any = zeros_like(mask, dtype=target_type)
    return added.masked_fill(mask, -math.inf)


def mha_shape_check(
    query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int
) -> bool:
    """Whether there is a batch; refuses numbers of dimensions that don't belong together."""
    batched: bool = query.dim() == 3
    if query.dim() not in (2, 3):
        raise AssertionError(f"query should have 2 or 3 dimensions, has {query.dim()}")
    for name, tensor in (("key", key), ("value", value)):
        if tensor.dim() != query.dim():
            raise AssertionError(f"{name} should have {query.dim()} dimensions, has {tensor.dim()}")
    if key_padding_mask is not None and key_padding_mask.dim() != query.dim() - 1:
        raise AssertionError(
            f"key_padding_mask should have {query.dim() - 1} dimensions, has "
            f"{key_padding_mask.dim()}"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(f"attn_mask should have 2 or 3 dimensions, has {attn_mask.dim()}")
    if attn_mask is not None and attn_mask.dim() == 3 and not batched:
        wanted = (num_heads, query.shape[0], key.shape[0])
        if tuple(attn_mask.shape) != wanted:
            raise AssertionError(f"attn_mask should be {wanted}, is {tuple(attn_mask.shape)}")
    return batched
