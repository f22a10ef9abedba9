"""Transformers: layers of attention and small networks, in stacks (Vaswani et al., 2017)."""

import copy
from collections.abc import Callable
from typing import Any

from adjoint.creation.factories import full
from adjoint.nn import functional, init
from adjoint.nn.containers import ModuleList
from adjoint.nn.layers.attention import MultiheadAttention
from adjoint.nn.layers.dropout import Dropout
from adjoint.nn.layers.linear import Linear
from adjoint.nn.layers.normalization import LayerNorm
from adjoint.nn.module import Module
from adjoint.nn.multihead import as_added
from adjoint.ops.arranging.arrange import triu

Activation = str | Callable[[Any], Any]


def _activation(given: Activation) -> Callable[[Any], Any]:
    if not isinstance(given, str):
        return given
    known: dict[str, Callable[[Any], Any]] = {
        "relu": functional.relu,
        "gelu": functional.gelu,
    }
    if given not in known:
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return known[given]


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Any:
    """-inf where a source lies after its target, else 0."""
    return triu(full((size, size), float("-inf"), device=device, dtype=dtype), 1)


def _is_causal(mask: Any, hint: bool | None, size: int) -> bool:
    """Whether a mask is the causal one; taken from the hint where there is one."""
    if hint is not None or mask is None or tuple(mask.shape) != (size, size):
        return bool(hint)
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


class _Layer(Module):
    """What the layers of encoders and decoders have in common: a network of two linear maps."""

    norm_count: int

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn")[: self.norm_count - 1]:
            made = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **options
            )
            self.add_module(name, made)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **options)
        self.norm_first = norm_first
        for number in range(1, self.norm_count + 1):
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
            self.add_module(f"norm{number}", norm)
        for number in range(1, self.norm_count + 1):
            self.add_module(f"dropout{number}", Dropout(dropout))
        self.activation = _activation(activation)

    def _sum(self, x: Any, number: int, block: Callable[[Any], Any]) -> Any:
        """x and a block of it, with the layer's norm before the block or after the sum."""
        norm = getattr(self, f"norm{number}")
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    # Programs derive from a layer and say anew what its blocks are, under PyTorch's names.

    def _sa_block(
        self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        options = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask}
        attended = self.self_attn(x, x, x, need_weights=False, is_causal=is_causal, **options)
        return self.dropout1(attended[0])

    def _ff_block(self, x: Any) -> Any:
        drop = getattr(self, f"dropout{self.norm_count}")
        return drop(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a small network."""

    norm_count = 2

    def forward(
        self,
        src: Any,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Any:
        """The sequence after this layer."""
        padding = as_added(src_key_padding_mask, "src_key_padding_mask", src.dtype)
        mask = as_added(src_mask, "src_mask", src.dtype)
        x = self._sum(src, 1, lambda x: self._sa_block(x, mask, padding, is_causal=is_causal))
        return self._sum(x, 2, self._ff_block)


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself and to a memory, then a small network."""

    norm_count = 3

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """The sequence after this layer."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        x = self._sum(tgt, 1, lambda x: self._sa_block(x, *own))
        x = self._sum(x, 2, lambda x: self._mha_block(x, *other))
        return self._sum(x, 3, self._ff_block)

    def _mha_block(
        self,
        x: Any,
        mem: Any,
        attn_mask: Any,
        key_padding_mask: Any,
        is_causal: bool = False,
    ) -> Any:
        options = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask}
        attend = self.multihead_attn
        attended = attend(x, mem, mem, need_weights=False, is_causal=is_causal, **options)
        return self.dropout2(attended[0])


class _Stack(Module):
    """Copies of a layer, one after the other, and a norm at the end if there is one."""

    def __init__(self, layer: Module, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _through(self, x: Any, *args: Any, **options: Any) -> Any:
        for layer in self.layers:
            x = layer(x, *args, **options)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """A stack of encoder layers."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Any = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Any,
        mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Any:
        """The sequence after all layers."""
        first = getattr(getattr(self.layers[0], "self_attn", None), "batch_first", False)
        length = src.shape[1 if first and src.ndim == 3 else 0]
        padding = as_added(src_key_padding_mask, "src_key_padding_mask", src.dtype)
        mask = as_added(mask, "mask", src.dtype)
        return self._through(
            src,
            src_mask=mask,
            src_key_padding_mask=padding,
            is_causal=_is_causal(mask, is_causal, length),
        )


class TransformerDecoder(_Stack):
    """A stack of decoder layers."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Any = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The sequence after all layers."""
        first = getattr(getattr(self.layers[0], "self_attn", None), "batch_first", False)
        length = tgt.shape[1 if first and tgt.ndim == 3 else 0]
        return self._through(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=_is_causal(tgt_mask, tgt_is_causal, length),
            memory_is_causal=memory_is_causal,
        )


class Transformer(Module):
    """An encoder, and a decoder that attends to what it made."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = (bias, device, dtype)
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        settings = (*sizes, batch_first, norm_first, *place)

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, True, *place)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings), num_decoder_layers, norm()
        )
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The decoded sequence."""
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(
                f"the batch number of src and tgt must be equal, got {src.shape[batch]} and "
                f"{tgt.shape[batch]}"
            )
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model, {self.d_model}"
            )
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """-inf where a source lies after its target, else 0."""
        return _causal_mask(sz, device, dtype)
