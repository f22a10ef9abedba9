"""Orthogonal polynomials by degree: Chebyshev's four, Hermite's two, Laguerre's and Legendre's.

A degree is a whole number; of a fraction the whole part counts, and below 0 the polynomial is 0,
as it is for NaN and infinity.
Derivatives are by the place alone. They lead to Gegenbauer's polynomials and Laguerre's general
ones, whose derivatives are of their own kind.
"""

import math
from typing import Any

from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.elementwise.rounding import trunc
from adjoint.ops.elementwise.special import kernel
from adjoint.ops.op import composite, elementwise
from adjoint.ops.shared_rules import refused_derivative


def _degree(n: Any) -> Any:
    """The whole part of a degree, in a rule: a number or a tensor."""
    return math.trunc(n) if isinstance(n, (int, float)) else trunc(n)


def _by_loop(xp: Any, family: str, input: Any, n: Any, *more: float) -> tuple[Any, Any, Any]:
    """A polynomial if the library has a loop for it, or None; input and degree as arrays."""
    if not isinstance(input, (int, float)):  # one may be a number, where a rule runs on arrays
        n = xp.asarray(n, input.dtype) if isinstance(n, (int, float)) else n
    input, n = xp.asarray(input), xp.asarray(n)
    return xp.polynomial(family, input, n, *more), input, n


def _below_zero(xp: Any, n: Any) -> Any:
    """Degrees that make a polynomial 0: those that no whole number is, too."""
    return ~((xp.trunc(n) >= 0) & (n < 2.0**63))


def _by_name(xp: Any, name: str, family: str, input: Any, n: Any, *more: float) -> Any:
    """A polynomial that SciPy has, 0 where the degree is negative."""
    found, input, n = _by_loop(xp, family, input, n, *more)
    if found is not None:
        return found
    none = _below_zero(xp, n)
    degree = xp.where(none, 0, xp.trunc(n)).astype("int64")
    values = kernel(xp, name, degree, *more, input)
    return xp.where(none, 0, values).astype(input.dtype)


# ---- Chebyshev's, by their angles ----


def _chebyshev(xp: Any, family: str, x: Any, n: Any, sizes: Any) -> Any:
    """A polynomial from its form by angles inside [-1, 1] and by hyperbolic ones outside.

    `sizes` answers both, the second for |x|, from an angle, another, the degree and whether x is
    negative; the sign of an odd degree is put here.
    """
    found, x, n = _by_loop(xp, family, x, n)
    if found is not None:
        return found
    kind, none = x.dtype, _below_zero(xp, n)
    degree = xp.where(none, 0, xp.trunc(n))
    x = x.astype("float64")  # an angle of float32 is off by what a zero of the polynomial is
    size = xp.absolute(x)
    angle = xp.arccos(xp.clip(x, -1, 1))
    stretch = xp.arccosh(xp.maximum(size, 1))
    inside, outside = sizes(angle, stretch, degree, x < 0)
    turned = (x < 0) & (degree % 2 == 1)
    values = xp.where(size <= 1, inside, xp.where(turned, -outside, outside))
    return xp.where(none, 0, values).astype(kind)


def _quotient(xp: Any, above: Any, below: Any, limit: Any) -> Any:
    """above / below, and a limit where below vanishes."""
    flat = xp.absolute(below) < (1e-12 if below.dtype.itemsize == 8 else 1e-5)
    return xp.where(flat, limit, above / xp.where(flat, 1, below))


def _first_kind(xp: Any, x: Any, n: Any) -> Any:
    return _chebyshev(
        xp,
        "chebyshev_t",
        x,
        n,
        lambda angle, stretch, k, _: (xp.cos(k * angle), xp.cosh(k * stretch)),
    )


def _second_kind(xp: Any, x: Any, n: Any) -> Any:
    def sizes(angle: Any, stretch: Any, k: Any, negative: Any) -> tuple[Any, Any]:
        ends = xp.where(negative & (k % 2 == 1), -k - 1, k + 1)
        inside = _quotient(xp, xp.sin((k + 1) * angle), xp.sin(angle), ends)
        return inside, _quotient(xp, xp.sinh((k + 1) * stretch), xp.sinh(stretch), k + 1)

    return _chebyshev(xp, "chebyshev_u", x, n, sizes)


def _third_kind(xp: Any, x: Any, n: Any) -> Any:
    def sizes(angle: Any, stretch: Any, k: Any, negative: Any) -> tuple[Any, Any]:
        half, odd = k + 0.5, k % 2 == 1
        end = xp.where(odd, -2 * k - 1, 2 * k + 1)
        inside = _quotient(xp, xp.cos(half * angle), xp.cos(angle / 2), end)
        even = xp.cosh(half * stretch) / xp.cosh(stretch / 2)
        mirrored = _quotient(xp, xp.sinh(half * stretch), xp.sinh(stretch / 2), 2 * k + 1)
        return inside, xp.where(negative, mirrored, even)

    return _chebyshev(xp, "chebyshev_v", x, n, sizes)


def _fourth_kind(xp: Any, x: Any, n: Any) -> Any:
    def sizes(angle: Any, stretch: Any, k: Any, negative: Any) -> tuple[Any, Any]:
        half = k + 0.5
        inside = _quotient(xp, xp.sin(half * angle), xp.sin(angle / 2), 2 * k + 1)
        even = _quotient(xp, xp.sinh(half * stretch), xp.sinh(stretch / 2), 2 * k + 1)
        return inside, xp.where(negative, xp.cosh(half * stretch) / xp.cosh(stretch / 2), even)

    return _chebyshev(xp, "chebyshev_w", x, n, sizes)


def _slope_of_second(x: Any, n: Any) -> Any:
    """The derivative of the polynomial of the second kind."""
    return gegenbauer(x, _degree(n) - 1, 2.0) * 2


@elementwise(
    input=lambda grad, input, n: (
        grad * (_degree(n) * chebyshev_polynomial_u(input, _degree(n) - 1))
    ),
    n=refused_derivative("chebyshev_polynomial_t by its degree"),
    floats=True,
    inplace=False,
    domain=(-0.9, 0.9),
    home="special",
)
def chebyshev_polynomial_t(xp: Any, input: Operand, n: Operand) -> Array:
    """Chebyshev's polynomial of the first kind of degree n."""
    return _first_kind(xp, input, n)


@elementwise(
    input=lambda grad, input, n: grad * _slope_of_second(input, n),
    n=refused_derivative("chebyshev_polynomial_u by its degree"),
    floats=True,
    inplace=False,
    domain=(-0.9, 0.9),
    home="special",
)
def chebyshev_polynomial_u(xp: Any, input: Operand, n: Operand) -> Array:
    """Chebyshev's polynomial of the second kind of degree n."""
    return _second_kind(xp, input, n)


@elementwise(
    input=lambda grad, input, n: (
        grad * (_slope_of_second(input, n) - _slope_of_second(input, _degree(n) - 1))
    ),
    n=refused_derivative("chebyshev_polynomial_v by its degree"),
    floats=True,
    inplace=False,
    domain=(-0.9, 0.9),
    home="special",
)
def chebyshev_polynomial_v(xp: Any, input: Operand, n: Operand) -> Array:
    """Chebyshev's polynomial of the third kind of degree n."""
    return _third_kind(xp, input, n)


@elementwise(
    input=lambda grad, input, n: (
        grad * (_slope_of_second(input, n) + _slope_of_second(input, _degree(n) - 1))
    ),
    n=refused_derivative("chebyshev_polynomial_w by its degree"),
    floats=True,
    inplace=False,
    domain=(-0.9, 0.9),
    home="special",
)
def chebyshev_polynomial_w(xp: Any, input: Operand, n: Operand) -> Array:
    """Chebyshev's polynomial of the fourth kind of degree n."""
    return _fourth_kind(xp, input, n)


@composite(home="special", method=False)
def shifted_chebyshev_polynomial_t(input: Operand, n: Operand) -> Value:
    """Chebyshev's polynomial of the first kind of degree n, moved to [0, 1]."""
    return chebyshev_polynomial_t(2.0 * input - 1, n)


@composite(home="special", method=False)
def shifted_chebyshev_polynomial_u(input: Operand, n: Operand) -> Value:
    """Chebyshev's polynomial of the second kind of degree n, moved to [0, 1]."""
    return chebyshev_polynomial_u(2.0 * input - 1, n)


@composite(home="special", method=False)
def shifted_chebyshev_polynomial_v(input: Operand, n: Operand) -> Value:
    """Chebyshev's polynomial of the third kind of degree n, moved to [0, 1]."""
    return chebyshev_polynomial_v(2.0 * input - 1, n)


@composite(home="special", method=False)
def shifted_chebyshev_polynomial_w(input: Operand, n: Operand) -> Value:
    """Chebyshev's polynomial of the fourth kind of degree n, moved to [0, 1]."""
    return chebyshev_polynomial_w(2.0 * input - 1, n)


# ---- those that SciPy has ----


@elementwise(
    input=lambda grad, input, n, alpha: (
        grad * (gegenbauer(input, _degree(n) - 1, alpha + 1) * (2 * alpha))
    ),
    n=refused_derivative("a polynomial by its degree"),
    floats=True,
    inplace=False,
    promotes="input n",
    domain=(-0.9, 0.9),
    home=None,
)
def gegenbauer(xp: Any, input: Operand, n: Operand, alpha: float = 1.0) -> Array:
    """Gegenbauer's polynomial of degree n."""
    return _by_name(xp, "eval_gegenbauer", "gegenbauer", input, n, alpha)


@elementwise(
    input=lambda grad, input, n, alpha: -grad * laguerre(input, _degree(n) - 1, alpha + 1),
    n=refused_derivative("a polynomial by its degree"),
    floats=True,
    inplace=False,
    promotes="input n",
    domain=(0.5, 3.0),
    home=None,
)
def laguerre(xp: Any, input: Operand, n: Operand, alpha: float = 0.0) -> Array:
    """Laguerre's general polynomial of degree n."""
    return _by_name(xp, "eval_genlaguerre", "laguerre", input, n, alpha)


@composite(home="special", method=False)
def laguerre_polynomial_l(input: Operand, n: Operand) -> Value:
    """Laguerre's polynomial of degree n."""
    return laguerre(input, n)


@elementwise(
    input=lambda grad, input, n: grad * gegenbauer(input, _degree(n) - 1, 1.5),
    n=refused_derivative("legendre_polynomial_p by its degree"),
    floats=True,
    inplace=False,
    domain=(-0.9, 0.9),
    home="special",
)
def legendre_polynomial_p(xp: Any, input: Operand, n: Operand) -> Array:
    """Legendre's polynomial of degree n."""
    return _by_name(xp, "eval_legendre", "legendre", input, n)


@elementwise(
    input=lambda grad, input, n: (
        grad * (hermite_polynomial_h(input, _degree(n) - 1) * (2 * _degree(n)))
    ),
    n=refused_derivative("hermite_polynomial_h by its degree"),
    floats=True,
    inplace=False,
    domain=(-1.0, 1.0),
    home="special",
)
def hermite_polynomial_h(xp: Any, input: Operand, n: Operand) -> Array:
    """Hermite's polynomial of degree n, as physicists count it."""
    return _by_name(xp, "eval_hermite", "hermite_h", input, n)


@elementwise(
    input=lambda grad, input, n: grad * (hermite_polynomial_he(input, _degree(n) - 1) * _degree(n)),
    n=refused_derivative("hermite_polynomial_he by its degree"),
    floats=True,
    inplace=False,
    domain=(-1.0, 1.0),
    home="special",
)
def hermite_polynomial_he(xp: Any, input: Operand, n: Operand) -> Array:
    """Hermite's polynomial of degree n, as probability counts it."""
    return _by_name(xp, "eval_hermitenorm", "hermite_he", input, n)
