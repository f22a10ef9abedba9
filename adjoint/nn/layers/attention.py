"""Attention as a layer."""

from typing import Any

from adjoint.creation.factories import empty
from adjoint.nn import functional, init
from adjoint.nn.layers.linear import NonDynamicallyQuantizableLinear
from adjoint.nn.module import Module
from adjoint.nn.multihead import as_added
from adjoint.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Attention of several heads, with projections of queries, keys, values and the result."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got {embed_dim} and {num_heads}"
            )
        if embed_dim % num_heads:
            raise AssertionError(
                f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim == self.vdim
        options = {"device": device, "dtype": dtype}
        shapes: dict[str, Any] = {
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim),
        }
        if self._qkv_same_embed_dim:
            shapes |= dict.fromkeys(list(shapes)[:3])
        else:
            shapes["in_proj_weight"] = None
        shapes["in_proj_bias"] = (3 * embed_dim,) if bias else None
        for name in ("bias_k", "bias_v"):
            shapes[name] = (1, 1, embed_dim) if add_bias_kv else None
        order = ["in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"]
        if not self._qkv_same_embed_dim:
            order = [*order[1:], order[0]]
        for name in [*order, "in_proj_bias"]:
            self._add(name, shapes[name], options)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, **options)
        for name in ("bias_k", "bias_v"):
            self._add(name, shapes[name], options)
        self._reset_parameters()

    def _add(self, name: str, shape: Any, options: dict[str, Any]) -> None:
        made = None if shape is None else Parameter(empty(shape, **options))
        self.register_parameter(name, made)

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for name in ("bias_k", "bias_v"):
            if getattr(self, name) is not None:
                init.xavier_normal_(getattr(self, name))

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """The result, and if need_weights the weights of the sources, else None."""
        turned = self.batch_first and query.ndim == 3
        key_padding_mask = as_added(key_padding_mask, "key_padding_mask", query.dtype)
        attn_mask = as_added(attn_mask, "attn_mask", query.dtype)
        if turned:
            given = {id(each): each for each in (query, key, value)}  # one stays one
            given = {name: each.transpose(1, 0) for name, each in given.items()}
            query, key, value = (given[id(each)] for each in (query, key, value))
        out, weights = functional.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if turned else out), weights
