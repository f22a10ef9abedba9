"""Special functions, with SciPy's kernels where it is installed."""

import math
from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.half_precision import is_half
from adjoint.dtypes import FLOAT, can_cast, category_of, refuse_kinds
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.conversion import clone, contiguous
from adjoint.ops.elementwise.arithmetic import add, sgn, sub
from adjoint.ops.elementwise.powers import exp, log, log1p
from adjoint.ops.elementwise.selection import where
from adjoint.ops.elementwise.trigonometry import cos, sin
from adjoint.ops.method_order import MethodOrder
from adjoint.ops.op import composite, elementwise
from adjoint.ops.reducing.cumulative import narrowed, widened
from adjoint.ops.shared_rules import refused_derivative
from adjoint.tensors.changes import apply_inplace

_ROOT_PI = math.sqrt(math.pi)
_ROOT_2 = math.sqrt(2)
_ROOT_2_PI = math.sqrt(2 * math.pi)


def kernel(xp: Any, name: str, *arguments: Any) -> Any:
    """A function of scipy.special; half precision, which its kernels lack, goes through single."""
    function = xp.special(name)
    kind = next(a.dtype for a in arguments if hasattr(a, "dtype"))
    if not is_half(kind):
        return function(*arguments)
    return function(*[widened(a) if hasattr(a, "dtype") else a for a in arguments]).astype(kind)


def error_function(xp: Any, name: str, input: Any) -> Any:
    """erf or erfc; without SciPy from Python's math, exact but one element at a time."""
    try:
        return kernel(xp, name, input)
    except ImportError:
        return xp.vectorize(getattr(math, name), otypes="d")(input).astype(input.dtype)


@elementwise(
    input=lambda grad, input: grad * (exp(-(input * input)) * (2 / _ROOT_PI)),
    floats=True,
    also="special",
    inplace="function",
    refuses="c",
)
def erf(xp: Any, input: Array) -> Array:
    """The error function."""
    return error_function(xp, "erf", input)


@elementwise(
    input=lambda grad, input: grad * (exp(-(input * input)) * (-2 / _ROOT_PI)),
    floats=True,
    also="special",
    inplace="function",
    refuses="c",
)
def erfc(xp: Any, input: Array) -> Array:
    """1 - erf(input), exact for large elements."""
    return error_function(xp, "erfc", input)


def _erfinv_rule(grad: Value, input: Value) -> Value:
    result = erfinv(input)
    return grad * (exp(result * result) * (_ROOT_PI / 2))


@elementwise(input=_erfinv_rule, floats=True, domain=(-0.9, 0.9), also="special")
def erfinv(xp: Any, input: Array) -> Array:
    """The inverse of erf."""
    return kernel(xp, "erfinv", input)


@elementwise(
    input=lambda grad, input, result: grad * (2 * (input * result) - 2 / _ROOT_PI),
    floats=True,
    inplace=False,
    node_name="SpecialErfcxBackward0",
    home="special",
    refuses="c",
)
def erfcx(xp: Any, input: Array) -> Array:
    """exp(input²) * erfc(input), without overflow."""
    return kernel(xp, "erfcx", input)


# ---- the normal distribution ----


def _normal_density(input: Any) -> Any:
    return exp(input * input * -0.5) / _ROOT_2_PI


@elementwise(
    input=lambda grad, input: grad * _normal_density(input),
    floats=True,
    inplace=False,
    node_name="SpecialNdtrBackward0",
    home="special",
    refuses="c",
)
def ndtr(xp: Any, input: Array) -> Array:
    """The part of a standard normal distribution below each element."""
    half = error_function(xp, "erfc", widened(input) * (-1 / _ROOT_2)) * 0.5
    return narrowed(half, input.dtype)


@elementwise(
    input=lambda grad, result: grad * (exp(result * result * 0.5) * _ROOT_2_PI),
    floats=True,
    inplace=False,
    domain=(0.1, 0.9),
    node_name="SpecialNdtriBackward0",
    home="special",
)
def ndtri(xp: Any, input: Array) -> Array:
    """The inverse of ndtr."""
    return kernel(xp, "ndtri", input)


@elementwise(
    input=lambda grad, input: grad * (math.sqrt(2 / math.pi) / erfcx(input * (-1 / _ROOT_2))),
    floats=True,
    inplace=False,
    node_name="SpecialLogNdtrBackward0",
    home="special",
    refuses="c",
)
def log_ndtr(xp: Any, input: Array) -> Array:
    """log(ndtr(input)), exact for small elements."""
    return kernel(xp, "log_ndtr", input)


# ---- the gamma function and its derivatives ----


@elementwise(
    input=lambda grad, input: grad * digamma(input),
    floats=True,
    domain=(0.5, 3.0),
    also="special.gammaln",
)
def lgamma(xp: Any, input: Array) -> Array:
    """Logarithm of the absolute value of the gamma function."""
    logarithm = kernel(xp, "gammaln", input)
    return xp.where(input == -math.inf, xp.asarray(math.inf, dtype=logarithm.dtype), logarithm)


@elementwise(
    input=lambda grad, input: grad * polygamma_of_order(input, 1),
    floats=True,
    domain=(0.5, 3.0),
    also="special special.psi",
    refuses="c",
)
def digamma(xp: Any, input: Array) -> Array:
    """The derivative of lgamma."""
    return kernel(xp, "digamma", input)


@elementwise(
    input=lambda grad, input, n: grad * polygamma_of_order(input, n + 1),
    floats=True,
    promotes="input",
    domain=(0.5, 3.0),
    node_name="PolygammaBackward0",
    home=None,
)
def polygamma_of_order(xp: Any, input: Array, n: int) -> Array:
    """The derivative of order n of digamma."""
    if n < 0:
        raise RuntimeError(f"polygamma is not defined for the order {n}; it must not be negative")
    if n == 0:
        return kernel(xp, "digamma", input)
    factor = math.factorial(n) * (-1.0) ** (n + 1)
    return factor * kernel(xp, "zeta", n + 1.0, input)


@composite(also="special")
@MethodOrder
def polygamma(n: int, input: Value, *, out: Any = None) -> Value:
    """The derivative of order n of digamma."""
    return polygamma_of_order(input, n) if out is None else polygamma_of_order(input, n, out=out)


@composite(home="Tensor")
def polygamma_(input: Value, n: int) -> Value:
    """In-place form of polygamma."""
    return apply_inplace(polygamma_of_order, [input, n])


@composite(also="special.multigammaln")
def mvlgamma(input: Value, p: int) -> Value:
    """Logarithm of the gamma function of p dimensions."""
    refuse_kinds("mvlgamma", input, "b")
    if p < 1:
        raise RuntimeError(f"mvlgamma(): p has to be greater than or equal to 1, got {p}")
    total = lgamma(input)
    for j in range(1, p):
        total = add(total, lgamma(sub(input, j / 2)))
    return contiguous(add(total, p * (p - 1) / 4 * math.log(math.pi)))


@composite(home="Tensor")
def mvlgamma_(input: Value, p: int) -> Value:
    """In-place form of mvlgamma."""
    result = mvlgamma(clone(input), p)
    if not can_cast(result.dtype, input.dtype):
        raise RuntimeError(
            f"mvlgamma_(): result type {result.dtype.name} can't be cast to the desired output "
            f"type {input.dtype.name}"
        )
    return input.copy_(result)


def _gamma_density(input: Any, other: Any) -> Any:
    """The derivative of igamma by its second argument."""
    return exp((input - 1) * log(other) - other - lgamma(input))


def _incomplete(xp: Any, name: str, input: Any, other: Any) -> Any:
    if category_of(input.dtype) != FLOAT:
        raise NotImplementedError(f"{name} is not implemented for {input.dtype}")
    return kernel(xp, name, input, other)


@elementwise(
    input=refused_derivative("igamma by its first argument", NotImplementedError),
    other=lambda grad, input, other: grad * _gamma_density(input, other),
    domain=(0.5, 3.0),
    also="special.gammainc",
)
def igamma(xp: Any, input: Array, other: Array) -> Array:
    """The part of a gamma distribution of shape input below other."""
    return _incomplete(xp, "gammainc", input, other)


@elementwise(
    input=refused_derivative("igammac by its first argument", NotImplementedError),
    other=lambda grad, input, other: -grad * _gamma_density(input, other),
    domain=(0.5, 3.0),
    also="special.gammaincc",
)
def igammac(xp: Any, input: Array, other: Array) -> Array:
    """The part of a gamma distribution of shape input above other."""
    return _incomplete(xp, "gammaincc", input, other)


@elementwise(
    input=refused_derivative("zeta by its first argument", NotImplementedError),
    other=lambda grad, input, other: -grad * (input * zeta(input + 1, other)),
    floats=True,
    inplace=False,
    domain=(1.5, 3.0),
    node_name="SpecialZetaBackward0",
    home="special",
)
def zeta(xp: Any, input: Operand, other: Operand) -> Array:
    """Hurwitz's zeta function: the sum of (k + other) ** -input over k = 0, 1, ..."""
    return kernel(xp, "zeta", input, other)


# ---- logarithms with a removable singularity ----


def _xlogy_rule(grad: Value, input: Value, other: Value) -> Value:
    """log(other); 0 where input is 0 and there is no logarithm."""
    flat = (input == 0) & (other <= 0)
    return where(flat, 0, grad * log(where(flat, input + 1, other)))


def _xlog1py_rule(grad: Value, input: Value, other: Value) -> Value:
    """log1p(other); 0 where input is 0 and there is no logarithm."""
    flat = (input == 0) & (other <= -1)
    return where(flat, 0, grad * log1p(where(flat, input, other)))


def _times_log(xp: Any, input: Any, logarithm: Any) -> Any:
    """input * logarithm, 0 where input is 0, nan where the logarithm's argument is."""
    return xp.where((input == 0) & ~xp.isnan(logarithm), 0, input * logarithm)


@elementwise(
    input=_xlogy_rule,
    other=lambda grad, input, other: grad * (input / other),
    floats=True,
    domain=(0.5, 3.0),
    also="special",
    inplace="function",
    refuses="c",
)
def xlogy(xp: Any, input: Operand, other: Operand) -> Array:
    """input * log(other), and 0 where input is 0."""
    size = xp.where((input == 0) & (other <= 0), 1, other)
    return _times_log(xp, input, xp.log(size))


@elementwise(
    input=_xlog1py_rule,
    other=lambda grad, input, other: grad * (input / (other + 1)),
    floats=True,
    inplace=False,
    domain=(0.5, 3.0),
    node_name="SpecialXlog1PyBackward0",
    home="special",
    refuses="c",
)
def xlog1py(xp: Any, input: Operand, other: Operand) -> Array:
    """input * log1p(other), and 0 where input is 0."""
    size = xp.where((input == 0) & (other <= -1), 0, other)
    return _times_log(xp, input, xp.log1p(size))


@elementwise(
    input=lambda grad, input: grad * (-log(input) - 1),
    floats=True,
    inplace=False,
    domain=(0.5, 3.0),
    node_name="SpecialEntrBackward0",
    home="special",
    refuses="c",
)
def entr(xp: Any, input: Array) -> Array:
    """-input * log(input); 0 at 0, and negative infinity below."""
    positive = xp.where(input > 0, input, 1)
    entropy = xp.where(input < 0, -math.inf, -(positive * xp.log(positive)))
    return xp.where(xp.isnan(input), input, entropy)


def _logit_rule(grad: Value, input: Value, eps: float | None) -> Value:
    """1 / (p (1 - p)) inside the bounds; outside 0 with eps, and undefined without."""
    low = 0.0 if eps is None else eps
    outside = (input < low) | (input > 1 - low)  # NaN is neither
    chance = input if eps is None else where(outside, 0.5, input)
    return where(outside, math.nan if eps is None else 0, grad / (chance * (1 - chance)))


@elementwise(
    input=_logit_rule,
    floats=True,
    domain=(0.1, 0.9),
    also="special",
    inplace="function",
    refuses="c",
)
def logit(xp: Any, input: Array, eps: float | None = None) -> Array:
    """log(p / (1 - p)), the inverse of sigmoid; with eps, p is kept in [eps, 1 - eps]."""
    if eps is not None:
        input = xp.where(input < eps, eps, xp.where(input > 1 - eps, 1 - eps, input))
    return xp.log(xp.divide(input, 1 - input))


# ---- oscillation and Bessel functions ----


def _sinc_rule(grad: Value, input: Value) -> Value:
    """(cos πx - sinc x) / x; 0 at 0."""
    flat = input * input == 0  # of the smallest numbers the square has vanished
    x = where(flat, 1, input) * math.pi
    slope = (x * cos(x) - sin(x)) / (x * x) * math.pi
    return where(flat, 0, grad * conj(slope))


@elementwise(input=_sinc_rule, floats=True, domain=(0.2, 3.0), also="special", inplace="function")
def sinc(xp: Any, input: Array) -> Array:
    """sin(πx) / (πx), and 1 at 0."""
    x = xp.where(input == 0, 1, input) * math.pi
    return xp.where(input == 0, 1, xp.sin(x) / x)


@elementwise(
    input=lambda grad, input: grad * i1(input), floats=True, also="special", inplace="function"
)
def i0(xp: Any, input: Array) -> Array:
    """Modified Bessel function of order 0."""
    return kernel(xp, "i0", input)


@elementwise(
    input=lambda grad, input, result: grad * (i1e(input) - sgn(input) * result),
    floats=True,
    inplace=False,
    node_name="SpecialI0EBackward0",
    home="special",
)
def i0e(xp: Any, input: Array) -> Array:
    """exp(-|input|) * i0(input), without overflow."""
    return kernel(xp, "i0e", input)


def _i1_rule(grad: Value, input: Value, result: Value) -> Value:
    x = where(input == 0, 1, input)
    return grad * where(input == 0, 0.5, i0(input) - result / x)


@elementwise(
    input=_i1_rule, floats=True, inplace=False, node_name="SpecialI1Backward0", home="special"
)
def i1(xp: Any, input: Array) -> Array:
    """Modified Bessel function of order 1."""
    return kernel(xp, "i1", input)


def _i1e_rule(grad: Value, input: Value, result: Value) -> Value:
    x = where(input == 0, 1, input)
    return grad * where(input == 0, 0.5, i0e(input) - result * (sgn(input) + 1 / x))


@elementwise(
    input=_i1e_rule, floats=True, inplace=False, node_name="SpecialI1EBackward0", home="special"
)
def i1e(xp: Any, input: Array) -> Array:
    """exp(-|input|) * i1(input), without overflow."""
    return kernel(xp, "i1e", input)


@elementwise(floats=True, inplace=False, home="special")
def bessel_j0(xp: Any, input: Array) -> Array:
    """Bessel function of the first kind of order 0; as in PyTorch, without a derivative."""
    return kernel(xp, "j0", input)


@elementwise(floats=True, inplace=False, home="special")
def bessel_j1(xp: Any, input: Array) -> Array:
    """Bessel function of the first kind of order 1; as in PyTorch, without a derivative."""
    return kernel(xp, "j1", input)


@elementwise(floats=True, inplace=False, home="special")
def bessel_y0(xp: Any, input: Array) -> Array:
    """Bessel function of the second kind of order 0; as in PyTorch, without a derivative."""
    return kernel(xp, "y0", input)


@elementwise(floats=True, inplace=False, home="special")
def bessel_y1(xp: Any, input: Array) -> Array:
    """Bessel function of the second kind of order 1; as in PyTorch, without a derivative."""
    return kernel(xp, "y1", input)
