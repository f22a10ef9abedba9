"""The types of special.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint.tensors.tensor import Tensor
from typing import Any

def expit(input: Any, *, out: Any = None) -> Tensor:
    """1 / (1 + exp(-input)); an overflow of exp is the limit 0, as it should be."""
def exp2(input: Any, *, out: Any = None) -> Tensor:
    """2 to the power of each element."""
def expm1(input: Any, *, out: Any = None) -> Tensor:
    """exp(input) - 1, exact for small elements."""
def log1p(input: Any, *, out: Any = None) -> Tensor:
    """log(1 + input), exact for small elements."""
def round(input: Any, *, decimals: int = 0, out: Any = None) -> Tensor:
    """The nearest number with `decimals` decimals; halves go to the even one."""
def bessel_j0(input: Any, *, out: Any = None) -> Tensor:
    """Bessel function of the first kind of order 0; as in PyTorch, without a derivative."""
def bessel_j1(input: Any, *, out: Any = None) -> Tensor:
    """Bessel function of the first kind of order 1; as in PyTorch, without a derivative."""
def bessel_y0(input: Any, *, out: Any = None) -> Tensor:
    """Bessel function of the second kind of order 0; as in PyTorch, without a derivative."""
def bessel_y1(input: Any, *, out: Any = None) -> Tensor:
    """Bessel function of the second kind of order 1; as in PyTorch, without a derivative."""
def digamma(input: Any, *, out: Any = None) -> Tensor:
    """The derivative of lgamma."""
def entr(input: Any, *, out: Any = None) -> Tensor:
    """-input * log(input); 0 at 0, and negative infinity below."""
def erf(input: Any, *, out: Any = None) -> Tensor:
    """The error function."""
def erfc(input: Any, *, out: Any = None) -> Tensor:
    """1 - erf(input), exact for large elements."""
def erfcx(input: Any, *, out: Any = None) -> Tensor:
    """exp(input²) * erfc(input), without overflow."""
def erfinv(input: Any, *, out: Any = None) -> Tensor:
    """The inverse of erf."""
def i0(input: Any, *, out: Any = None) -> Tensor:
    """Modified Bessel function of order 0."""
def i0e(input: Any, *, out: Any = None) -> Tensor:
    """exp(-|input|) * i0(input), without overflow."""
def i1(input: Any, *, out: Any = None) -> Tensor:
    """Modified Bessel function of order 1."""
def i1e(input: Any, *, out: Any = None) -> Tensor:
    """exp(-|input|) * i1(input), without overflow."""
def gammainc(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The part of a gamma distribution of shape input below other."""
def gammaincc(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The part of a gamma distribution of shape input above other."""
def gammaln(input: Any, *, out: Any = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
def log_ndtr(input: Any, *, out: Any = None) -> Tensor:
    """log(ndtr(input)), exact for small elements."""
def logit(input: Any, eps: float | None = None, *, out: Any = None) -> Tensor:
    """log(p / (1 - p)), the inverse of sigmoid; with eps, p is kept in [eps, 1 - eps]."""
def multigammaln(input: Any, p: int, *, out: Any = None) -> Tensor:
    """Logarithm of the gamma function of p dimensions."""
def ndtr(input: Any, *, out: Any = None) -> Tensor:
    """The part of a standard normal distribution below each element."""
def ndtri(input: Any, *, out: Any = None) -> Tensor:
    """The inverse of ndtr."""
def polygamma(n: int, input: Any) -> Tensor:
    """The derivative of order n of digamma."""
def sinc(input: Any, *, out: Any = None) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
def xlog1py(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input * log1p(other), and 0 where input is 0."""
def xlogy(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input * log(other), and 0 where input is 0."""
def zeta(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Hurwitz's zeta function: the sum of (k + other) ** -input over k = 0, 1, ..."""
def log_softmax(input: Any, dim: int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """The logarithm of softmax, without its underflow."""
def logsumexp(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """Logarithm of the sum of exponentials over dim."""
def softmax(input: Any, dim: int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """Exponentials along dim, scaled to sum 1."""
def psi(input: Any, *, out: Any = None) -> Tensor:
    """The derivative of lgamma."""
