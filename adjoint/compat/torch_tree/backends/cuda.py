"""torch.backends.cuda: settings of PyTorch's own libraries, remembered without effect."""

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

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
