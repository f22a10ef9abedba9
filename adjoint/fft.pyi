"""The types of fft.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint.tensors.tensor import Tensor
from typing import Any

def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform over one dimension, cut or padded to n points."""
def fft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The transform over two dimensions."""
def fftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequencies of fft's entries for n points that are d apart."""
def fftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform over several dimensions."""
def fftshift(input: Tensor, dim: Any = None, *, out: Tensor | None = None) -> Tensor:
    """A spectrum with frequency zero moved to the middle."""
def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a Hermitian signal, given by half."""
def hfft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a Hermitian signal over two dimensions."""
def hfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The transform of a signal given by half, since it is Hermitian; the output is real."""
def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of fft."""
def ifft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of fft2."""
def ifftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of fftn."""
def ifftshift(input: Tensor, dim: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of fftshift."""
def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of hfft."""
def ihfft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of hfft2."""
def ihfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of hfftn: half of a Hermitian signal from a real spectrum."""
def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of rfft, with n real points."""
def irfft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of rfft2."""
def irfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of rfftn: real output from half a spectrum."""
def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of the transform of real input."""
def rfft2(
    input: Tensor,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The transform of real input over two dimensions; of the last one the first half."""
def rfftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequencies of rfft's entries for n points that are d apart."""
def rfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The transform of real input; of the last dimension only the first half."""
