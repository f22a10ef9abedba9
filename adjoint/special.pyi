"""The types of special.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint.tensors.tensor import Tensor
from typing import Any

def airy_ai(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Airy's function Ai."""
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind of order 0; as in PyTorch, without a derivative."""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind of order 1; as in PyTorch, without a derivative."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind of order 0; as in PyTorch, without a derivative."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind of order 1; as in PyTorch, without a derivative."""
def chebyshev_polynomial_t(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the first kind of degree n."""
def chebyshev_polynomial_u(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the second kind of degree n."""
def chebyshev_polynomial_v(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the third kind of degree n."""
def chebyshev_polynomial_w(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the fourth kind of degree n."""
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
def hermite_polynomial_h(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Hermite's polynomial of degree n, as physicists count it."""
def hermite_polynomial_he(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Hermite's polynomial of degree n, as probability counts it."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of order 0."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) * i0(input), without overflow."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|input|) * i1(input), without overflow."""
def laguerre_polynomial_l(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Laguerre's polynomial of degree n."""
def legendre_polynomial_p(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Legendre's polynomial of degree n."""
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
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind of order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind of order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the second kind of order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the second kind of order 1."""
def multigammaln(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the gamma function of p dimensions."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The part of a standard normal distribution below each element."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ndtr."""
def polygamma(n: int, input: Tensor, *, out: Any = None) -> Tensor:
    """The derivative of order n of digamma."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with `decimals` decimals; halves go to the even one."""
def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) * modified_bessel_k0(x), without underflow."""
def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) * modified_bessel_k1(x), without underflow."""
def shifted_chebyshev_polynomial_t(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the first kind of degree n, moved to [0, 1]."""
def shifted_chebyshev_polynomial_u(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the second kind of degree n, moved to [0, 1]."""
def shifted_chebyshev_polynomial_v(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the third kind of degree n, moved to [0, 1]."""
def shifted_chebyshev_polynomial_w(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    """Chebyshev's polynomial of the fourth kind of degree n, moved to [0, 1]."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
def softmax(input: Tensor, dim: int, dtype: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Exponentials along dim, scaled to sum 1."""
def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Spherical Bessel function of the first kind of order 0: sin(x) / x, and 1 at 0."""
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
