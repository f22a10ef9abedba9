"""torch.backends.cuda: settings of PyTorch's own libraries, remembered without effect."""

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)

_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def _setting(kind: str) -> dict[str, Any]:
    """The functions that set and ask whether one kind of attention may be chosen."""

    def enable(enabled: bool) -> None:
        _attention[kind] = enabled

    def is_enabled() -> bool:
        return _attention[kind]

    return {f"enable_{kind}_sdp": enable, f"{kind}_sdp_enabled": is_enabled}


for _kind in _attention:
    globals().update(_setting(_kind))


class SDPAParams(NamedTuple):
    """The arguments of an attention, about which the functions below are asked."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any
    dropout: float
    is_causal: bool
    enable_gqa: bool


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether an attention may be computed by a kernel of its own: there is one way for all."""
    return False


can_use_cudnn_attention = can_use_efficient_attention = can_use_flash_attention


def is_flash_attention_available() -> bool:
    """Whether there are such kernels."""
    return False


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Inside, only some kinds of attention may be chosen; all of them are one here."""
    before = dict(_attention)
    chosen = (enable_flash, enable_mem_efficient, enable_math, enable_cudnn)
    _attention.update(zip(_attention, chosen, strict=True))
    try:
        yield
    finally:
        _attention.update(before)
