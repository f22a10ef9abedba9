"""Fourier transforms under the names of torch.fft."""

from typing import Any

from adjoint.creation import tensor
from adjoint.dtypes import FLOAT, as_dtype
from adjoint.ops.fft import fft_fft as fft
from adjoint.ops.fft import fft_fft2 as fft2
from adjoint.ops.fft import fft_fftn as fftn
from adjoint.ops.fft import fft_fftshift as fftshift
from adjoint.ops.fft import fft_hfft as hfft
from adjoint.ops.fft import fft_hfft2 as hfft2
from adjoint.ops.fft import fft_hfftn as hfftn
from adjoint.ops.fft import fft_ifft as ifft
from adjoint.ops.fft import fft_ifft2 as ifft2
from adjoint.ops.fft import fft_ifftn as ifftn
from adjoint.ops.fft import fft_ifftshift as ifftshift
from adjoint.ops.fft import fft_ihfft as ihfft
from adjoint.ops.fft import fft_ihfft2 as ihfft2
from adjoint.ops.fft import fft_ihfftn as ihfftn
from adjoint.ops.fft import fft_irfft as irfft
from adjoint.ops.fft import fft_irfft2 as irfft2
from adjoint.ops.fft import fft_irfftn as irfftn
from adjoint.ops.fft import fft_rfft as rfft
from adjoint.ops.fft import fft_rfft2 as rfft2
from adjoint.ops.fft import fft_rfftn as rfftn
from adjoint.tensor import Tensor

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
