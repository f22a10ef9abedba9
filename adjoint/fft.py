"""Fourier transforms under the names of torch.fft."""

from typing import Any

from adjoint.creation.factories import tensor
from adjoint.dtypes import FLOAT, as_dtype
from adjoint.ops.signals.fft import (
    fft_fft as fft,
    fft_fft2 as fft2,
    fft_fftn as fftn,
    fft_fftshift as fftshift,
    fft_hfft as hfft,
    fft_hfft2 as hfft2,
    fft_hfftn as hfftn,
    fft_ifft as ifft,
    fft_ifft2 as ifft2,
    fft_ifftn as ifftn,
    fft_ifftshift as ifftshift,
    fft_ihfft as ihfft,
    fft_ihfft2 as ihfft2,
    fft_ihfftn as ihfftn,
    fft_irfft as irfft,
    fft_irfft2 as irfft2,
    fft_irfftn as irfftn,
    fft_rfft as rfft,
    fft_rfft2 as rfft2,
    fft_rfftn as rfftn,
)
from adjoint.tensors.tensor import Tensor

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def _frequencies(name: str, cycles: list[int], n: int, d: float, options: dict[str, Any]) -> Tensor:
    """Numbers of cycles over n points, as cycles in the unit of which a point is d."""
    kind = options.get("dtype")
    if kind is not None and as_dtype(kind).category < FLOAT:
        raise RuntimeError(f"{name}: dtype must be floating point or complex, got {kind}")
    if n < 0:
        raise RuntimeError(f"{name}: n must not be negative, got {n}")
    return tensor([count / (n * d) for count in cycles], **options)


def fftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequencies of fft's entries for n points that are d apart."""
    cycles = [k if 2 * k < n else k - n for k in range(n)]
    return _frequencies("fftfreq", cycles, n, d, options)


def rfftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequencies of rfft's entries for n points that are d apart."""
    return _frequencies("rfftfreq", list(range(n // 2 + 1)) if n else [], n, d, options)
