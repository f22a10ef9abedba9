"""The types of special.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint.tensors.tensor import Tensor
from typing import Any

def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind of order 0; as in PyTorch, without a derivative."""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind of order 1; as in PyTorch, without a derivative."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind of order 0; as in PyTorch, without a derivative."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind of order 1; as in PyTorch, without a derivative."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input * log(input); 0 at 0, and negative infinity below."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact for large elements."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input²) * erfc(input), without overflow."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input)); an overflow of exp is the limit 0, as it should be."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) - 1, exact for small elements."""
def gammainc(
    input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """The part of a gamma distribution of shape input below other."""
def gammaincc(
    input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """The part of a gamma distribution of shape input above other."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of order 0."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) * i0(input), without overflow."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) * i1(input), without overflow."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact for small elements."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(ndtr(input)), exact for small elements."""
def log_softmax(
    input: Tensor, dim: int, dtype: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """The logarithm of softmax, without its underflow."""
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(p / (1 - p)), the inverse of sigmoid; with eps, p is kept in [eps, 1 - eps]."""
def logsumexp(
    input: Tensor, dim: Any, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Logarithm of the sum of exponentials over dim."""
def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the gamma function of p dimensions."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The part of a standard normal distribution below each element."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ndtr."""
def polygamma(n: int, input: Tensor) -> Tensor:
    """The derivative of order n of digamma."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with `decimals` decimals; halves go to the even one."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
def softmax(input: Tensor, dim: int, dtype: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Exponentials along dim, scaled to sum 1."""
def xlog1py(
    input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """input * log1p(other), and 0 where input is 0."""
def xlogy(
    input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """input * log(other), and 0 where input is 0."""
def zeta(
    input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Hurwitz's zeta function: the sum of (k + other) ** -input over k = 0, 1, ..."""
