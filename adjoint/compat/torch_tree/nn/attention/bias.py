"""torch.nn.attention.bias: masks that are named, and made where they are used."""

import enum
import warnings
from typing import Any, Self

from adjoint.creation.factories import empty, ones
from adjoint.dtypes import bool_
from adjoint.nn.functional import scaled_dot_product_attention
from adjoint.ops.arranging.arrange import tril
from adjoint.tensors.subclass import as_subclass, torch_function
from adjoint.tensors.tensor import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner the diagonal of a causal mask begins at, if it is not square."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask, which stands for its elements as the `attn_mask` of attention."""

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Self:
        if not isinstance(variant, CausalVariant):
            raise TypeError(f"CausalBias(): variant must be a CausalVariant, got {variant!r}")
        made: Self = as_subclass(empty(variant, seq_len_q, seq_len_kv), cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        return made

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if variant is CausalVariant.LOWER_RIGHT and seq_len_q > seq_len_kv:
            warnings.warn(
                f"a lower right causal mask of {seq_len_q} queries and {seq_len_kv} keys leaves "
                "the first queries nothing to look at: they give NaN",
                stacklevel=2,
            )

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask as bools: True where a query may look."""
        lower = self.variant is CausalVariant.LOWER_RIGHT
        beyond = self.seq_len_kv - self.seq_len_q if lower else 0
        every = ones(self.seq_len_q, self.seq_len_kv, dtype=bool_, device=device)
        mask: Tensor = tril(every, beyond)
        return mask

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return repr(self._materialize())

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is scaled_dot_product_attention:
            return _attention(*args, **(kwargs or {}))
        return torch_function(cls, func, types, args, kwargs)


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **others: Any,
) -> Any:
    """Attention whose mask is a CausalBias."""
    if not isinstance(attn_mask, CausalBias):
        raise TypeError("scaled_dot_product_attention(): a CausalBias is an attn_mask alone")
    if is_causal:
        raise ValueError("a CausalBias is causal by itself: leave out is_causal")
    mask = attn_mask._materialize(query.device)  # noqa: SLF001  # the name that PyTorch's has
    return scaled_dot_product_attention(query, key, value, mask, dropout_p, **others)


def causal_upper_left(*size: int) -> CausalBias:
    """A causal mask of queries and keys that begin together."""
    return _made(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """A causal mask of queries and keys that end together."""
    return _made(CausalVariant.LOWER_RIGHT, size)


def _made(variant: CausalVariant, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"a causal mask has two sizes, of queries and keys, got {size}")
    return CausalBias(variant, *size)
