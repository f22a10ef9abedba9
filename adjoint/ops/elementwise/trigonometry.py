"""Trigonometric and hyperbolic functions, their inverses, and angles."""

import math
from typing import Any

from adjoint.call.dispatch import conj
from adjoint.ops.elementwise.powers import sqrt
from adjoint.ops.elementwise.selection import where
from adjoint.ops.op import elementwise


@elementwise(input=lambda grad, input: grad * conj(cos(input)), floats=True)
def sin(xp: Any, input: Any) -> Any:
    """Sine."""
    return xp.sin(input)


@elementwise(input=lambda grad, input: -grad * conj(sin(input)), floats=True)
def cos(xp: Any, input: Any) -> Any:
    """Cosine."""
    return xp.cos(input)


@elementwise(
    input=lambda grad, result: grad * (1 + conj(result * result)), floats=True, domain=(-1.2, 1.2)
)
def tan(xp: Any, input: Any) -> Any:
    """Tangent."""
    return xp.tan(input)


@elementwise(
    input=lambda grad, input: grad / conj(sqrt(1 - input * input)),
    floats=True,
    domain=(-0.9, 0.9),
)
def asin(xp: Any, input: Any) -> Any:
    """Inverse sine."""
    return xp.arcsin(input)


@elementwise(
    input=lambda grad, input: -grad / conj(sqrt(1 - input * input)),
    floats=True,
    domain=(-0.9, 0.9),
)
def acos(xp: Any, input: Any) -> Any:
    """Inverse cosine."""
    return xp.arccos(input)


@elementwise(input=lambda grad, input: grad / (1 + conj(input * input)), floats=True)
def atan(xp: Any, input: Any) -> Any:
    """Inverse tangent."""
    return xp.arctan(input)


def _turned(grad: Any, along: Any, across: Any) -> Any:
    """grad * along / (along² + across²); 0 at the origin, where there is no direction."""
    distance = along * along + across * across
    return grad * (along / where(distance == 0, 1, distance))


@elementwise(
    input=lambda grad, input, other: _turned(grad, other, input),
    other=lambda grad, input, other: -_turned(grad, input, other),
    floats=True,
    domain=(0.5, 3.0),
)
def atan2(xp: Any, input: Any, other: Any) -> Any:
    """The angle of the point (other, input), from -π to π."""
    return xp.arctan2(input, other)


@elementwise(
    input=lambda grad, input, result: grad * (input / result),
    other=lambda grad, other, result: grad * (other / result),
    domain=(0.5, 3.0),
)
def hypot(xp: Any, input: Any, other: Any) -> Any:
    """sqrt(input² + other²), without overflow."""
    if input.dtype.kind in "biu":
        raise NotImplementedError(f"hypot() needs floating point numbers, got {input.dtype}")
    return xp.hypot(input, other)


@elementwise(input=lambda grad, input: grad * conj(cosh(input)), floats=True)
def sinh(xp: Any, input: Any) -> Any:
    """Hyperbolic sine."""
    return xp.sinh(input)


@elementwise(input=lambda grad, input: grad * conj(sinh(input)), floats=True)
def cosh(xp: Any, input: Any) -> Any:
    """Hyperbolic cosine."""
    return xp.cosh(input)


@elementwise(input=lambda grad, result: grad - grad * conj(result * result), floats=True)
def tanh(xp: Any, input: Any) -> Any:
    """Hyperbolic tangent."""
    return xp.tanh(input)


@elementwise(input=lambda grad, input: grad / conj(sqrt(1 + input * input)), floats=True)
def asinh(xp: Any, input: Any) -> Any:
    """Inverse hyperbolic sine."""
    return xp.arcsinh(input)


@elementwise(
    input=lambda grad, input: grad / conj(sqrt(input - 1) * sqrt(input + 1)),
    floats=True,
    domain=(1.2, 3.0),
)
def acosh(xp: Any, input: Any) -> Any:
    """Inverse hyperbolic cosine."""
    return xp.arccosh(input)


@elementwise(
    input=lambda grad, input: grad / conj(1 - input * input), floats=True, domain=(-0.9, 0.9)
)
def atanh(xp: Any, input: Any) -> Any:
    """Inverse hyperbolic tangent."""
    return xp.arctanh(input)


_DEGREE = math.pi / 180


@elementwise(input=lambda grad: grad * _DEGREE, floats=True)
def deg2rad(xp: Any, input: Any) -> Any:
    """Degrees as radians."""
    return xp.multiply(input, _DEGREE)


@elementwise(input=lambda grad: grad / _DEGREE, floats=True)
def rad2deg(xp: Any, input: Any) -> Any:
    """Radians as degrees."""
    return xp.multiply(input, 1 / _DEGREE)


ALIASES = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
}
