"""Modified Bessel functions, those scaled to stay finite, the spherical one, and Airy's."""

import math
from typing import Any

from adjoint.ops.annotations import Array, Value
from adjoint.ops.elementwise.arithmetic import abs
from adjoint.ops.elementwise.selection import where
from adjoint.ops.elementwise.special import i0, i1, kernel
from adjoint.ops.elementwise.trigonometry import cos
from adjoint.ops.op import composite, elementwise

# ---- modified: of the first and of the second kind ----


@composite(home="special", method=False)
def modified_bessel_i0(input: Value) -> Value:
    """Modified Bessel function of the first kind of order 0."""
    return i0(input)


@composite(home="special", method=False)
def modified_bessel_i1(input: Value) -> Value:
    """Modified Bessel function of the first kind of order 1."""
    return i1(input)


def _second_kind(xp: Any, name: str, input: Any) -> Any:
    """A function of the second kind: infinite at 0, and below it nan."""
    inside = kernel(xp, name, xp.where(input > 0, input, 1))
    edge = xp.where(input == 0, math.inf, inside + math.nan)
    return xp.where(input > 0, inside, edge).astype(input.dtype)


@elementwise(
    input=lambda grad, input: -grad * modified_bessel_k1(input),
    floats=True,
    inplace=False,
    domain=(0.5, 3.0),
    home="special",
)
def modified_bessel_k0(xp: Any, input: Array) -> Array:
    """Modified Bessel function of the second kind of order 0."""
    return _second_kind(xp, "k0", input)


@elementwise(
    input=lambda grad, input, result: -grad * (modified_bessel_k0(input) + result / input),
    floats=True,
    inplace=False,
    domain=(0.5, 3.0),
    home="special",
)
def modified_bessel_k1(xp: Any, input: Array) -> Array:
    """Modified Bessel function of the second kind of order 1."""
    return _second_kind(xp, "k1", input)


@elementwise(
    x=lambda grad, x, result: grad * (result - scaled_modified_bessel_k1(x)),
    floats=True,
    inplace=False,
    domain=(0.5, 3.0),
    home="special",
)
def scaled_modified_bessel_k0(xp: Any, x: Array) -> Array:
    """exp(x) * modified_bessel_k0(x), without underflow."""
    return _second_kind(xp, "k0e", x)


@elementwise(
    x=lambda grad, x, result: grad * (result - scaled_modified_bessel_k0(x) - result / x),
    floats=True,
    inplace=False,
    domain=(0.5, 3.0),
    home="special",
)
def scaled_modified_bessel_k1(xp: Any, x: Array) -> Array:
    """exp(x) * modified_bessel_k1(x), without underflow."""
    return _second_kind(xp, "k1e", x)


# ---- spherical ----


def _spherical_rule(grad: Value, x: Value, result: Value) -> Value:
    """(cos x - j0) / x; near 0, where that cancels, the first terms of its series."""
    small = abs(x) < 1e-2
    size = where(small, 1, x)
    z = x * x
    series = x * (z * (1 / 30 - z / 840) - 1 / 3)
    return grad * where(small, series, (cos(size) - result) / size)


@elementwise(
    x=_spherical_rule, floats=True, inplace=False, domain=(0.5, 3.0), home="special", refuses="c"
)
def spherical_bessel_j0(xp: Any, x: Array) -> Array:
    """Spherical Bessel function of the first kind of order 0: sin(x) / x, and 1 at 0."""
    size = xp.where(x == 0, 1, x)
    return xp.where(xp.isinf(x), 0, xp.where(x == 0, 1, xp.sin(size) / size)).astype(x.dtype)


# ---- Airy's function, by Bessel functions of order 1/3 and 2/3 ----

_AT_ZERO = 0.355028053887817239  # 3 ** (-2 / 3) / gamma(2 / 3)
_SLOPE_AT_ZERO = -0.258819403792806798  # -(3 ** (-1 / 3)) / gamma(1 / 3)


def _airy(xp: Any, x: Any, order: float, rising: Any, waving: Any, at_zero: float) -> Any:
    """A function of |x| and Bessel functions of 2/3 |x| ** 1.5, one for each sign of x."""
    size = xp.where(x == 0, 1, xp.absolute(x)).astype("float64")
    place = size * xp.sqrt(size) * (2 / 3)
    above = rising(size) * kernel(xp, "kv", order, place)
    below = waving(size, kernel(xp, "jv", order, place), kernel(xp, "jv", -order, place))
    values = xp.where(x > 0, above, below)
    return xp.where(x == 0, at_zero, values).astype(x.dtype)


@elementwise(
    x=lambda grad, x: grad * airy_slope(x),
    floats=True,
    inplace=False,
    domain=(-2.0, 3.0),
    home="special",
    refuses="c",
)
def airy_ai(xp: Any, x: Array) -> Array:
    """Airy's function Ai."""
    found = xp.airy(x, False)
    if found is not None:
        return found
    return _airy(
        xp,
        x,
        1 / 3,
        lambda size: xp.sqrt(size / 3) / math.pi,
        lambda size, first, second: xp.sqrt(size) / 3 * (first + second),
        _AT_ZERO,
    )


@elementwise(
    x=lambda grad, x: grad * (x * airy_ai(x)),
    floats=True,
    inplace=False,
    domain=(-3.0, 3.0),
    home=None,
)
def airy_slope(xp: Any, x: Array) -> Array:
    """The derivative of Airy's function Ai."""
    found = xp.airy(x, True)
    if found is not None:
        return found
    return _airy(
        xp,
        x,
        2 / 3,
        lambda size: size * (-1 / (math.pi * math.sqrt(3))),
        lambda size, first, second: size / 3 * (first - second),
        _SLOPE_AT_ZERO,
    )
