"""torch.backends.cuda: settings of PyTorch's own libraries, remembered without effect."""

import contextlib
import enum
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

from adjoint.nn.attention import ALLOWED, SDPBackend, sdpa_kernel

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)

_KINDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


def _setting(kind: str) -> dict[str, Any]:
    """The functions that set and ask whether one kind of attention may be chosen."""

    def enable(enabled: bool) -> None:
        ALLOWED[_KINDS[kind]] = enabled

    def is_enabled() -> bool:
        return ALLOWED[_KINDS[kind]]

    return {f"enable_{kind}_sdp": enable, f"{kind}_sdp_enabled": is_enabled}


for _kind in _KINDS:
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


is_ck_sdpa_available = is_flash_attention_available


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Whether sums of an attention may be in half precision, where it is computed step by step."""
    _reductions["allowed"] = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What was said of that."""
    return _reductions["allowed"]


_reductions = {"allowed": False}


class _LinalgBackend(enum.Enum):
    """Which library factorises matrices on a GPU."""

    Default = 0
    Cusolver = 1


class _BlasBackend(enum.Enum):
    """Which library multiplies matrices on a GPU."""

    Default = 0
    Cublas = 1


_preferred: dict[type[enum.Enum], Any] = {
    _LinalgBackend: _LinalgBackend.Default,
    _BlasBackend: _BlasBackend.Cublas,
}


def _prefer(kind: type[enum.Enum], backend: Any) -> Any:
    """Remember a choice among the libraries that CuPy has; what is chosen."""
    if backend is not None:
        known = {each.name.lower(): each for each in kind}
        chosen = known.get(backend) if isinstance(backend, str) else backend
        if not isinstance(chosen, kind):
            names = ", ".join(known)
            raise RuntimeError(f"there is no library {backend!r:.60}; choose from {names}")
        _preferred[kind] = chosen
    return _preferred[kind]


def preferred_linalg_library(backend: Any = None) -> _LinalgBackend:
    """The library for factors of matrices; CuPy has one, whatever is chosen."""
    return _prefer(_LinalgBackend, backend)  # type: ignore[no-any-return]  # of either kind


def preferred_blas_library(backend: Any = None) -> _BlasBackend:
    """The library for products of matrices; CuPy has one, whatever is chosen."""
    return _prefer(_BlasBackend, backend)  # type: ignore[no-any-return]  # of either kind


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """Inside, only some kinds of attention may be chosen; all of them are one here."""
    chosen = (enable_flash, enable_mem_efficient, enable_math, enable_cudnn)
    kinds = [kind for kind, wanted in zip(_KINDS.values(), chosen, strict=True) if wanted]
    with sdpa_kernel(kinds):
        yield
