"""Trigonometric and hyperbolic functions, their inverses, and angles."""

import math
from typing import Any

from adjoint.call.arguments import conj
from adjoint.ops.annotations import Array, Value
from adjoint.ops.elementwise.powers import sqrt
from adjoint.ops.op import elementwise
from adjoint.tensors.core import TensorCore


@elementwise(input=lambda grad, input: grad * conj(cos(input)), floats=True, inplace="function")
def sin(xp: Any, input: Array) -> Array:
    """Sine."""
    return xp.sin(input)


@elementwise(input=lambda grad, input: -grad * conj(sin(input)), floats=True, inplace="function")
def cos(xp: Any, input: Array) -> Array:
    """Cosine."""
    return xp.cos(input)


@elementwise(
    input=lambda grad, result: grad + grad * conj(result * result),
    floats=True,
    domain=(-1.2, 1.2),
    inplace="function",
)
def tan(xp: Any, input: Array) -> Array:
    """Tangent."""
    return xp.tan(input)


@elementwise(
    input=lambda grad, input: grad / conj(sqrt(1 - input * input)),
    floats=True,
    domain=(-0.9, 0.9),
    also="arcsin",
    inplace="function",
)
def asin(xp: Any, input: Array) -> Array:
    """Inverse sine."""
    return xp.arcsin(input)


@elementwise(
    input=lambda grad, input: -grad / conj(sqrt(1 - input * input)),
    floats=True,
    domain=(-0.9, 0.9),
    also="arccos",
    inplace="function",
)
def acos(xp: Any, input: Array) -> Array:
    """Inverse cosine."""
    return xp.arccos(input)


@elementwise(
    input=lambda grad, input: grad / (1 + conj(input * input)),
    floats=True,
    also="arctan",
    inplace="function",
)
def atan(xp: Any, input: Array) -> Array:
    """Inverse tangent."""
    return xp.arctan(input)


def _turned(grad: Value, along: Any, across: Any) -> Value:
    """grad * along / (along² + across²); 0 at the origin, where there is no direction."""
    distance = along * along + across * across
    return grad * (along / (distance + (distance == 0)))


def _turn(input_tangent: Any, other_tangent: Any, input: Any, other: Any) -> Any:
    """How far the point (other, input) goes across its direction, over its distance."""
    distance = input * input + other * other
    across = None if input_tangent is None else input_tangent * other
    if other_tangent is not None:
        back = other_tangent * input
        across = -back if across is None else across - back
    return across / (distance + (distance == 0))


@elementwise(
    input=lambda grad, input, other: _turned(grad, other, input),
    other=lambda grad, input, other: -_turned(grad, input, other),
    jvp=_turn,
    floats=True,
    domain=(0.5, 3.0),
    also="arctan2",
)
def atan2(xp: Any, input: Array, other: Array) -> Array:
    """The angle of the point (other, input), from -π to π."""
    return xp.arctan2(input, other)


@elementwise(
    input=lambda grad, input, result: grad * (input / result),
    other=lambda grad, other, result: grad * (other / result),
    domain=(0.5, 3.0),
)
def hypot(xp: Any, input: Array, other: Array) -> Array:
    """sqrt(input² + other²), without overflow."""
    if input.dtype.kind in "biu":
        raise NotImplementedError(f"hypot() needs floating point numbers, got {input.dtype}")
    return xp.hypot(input, other)


@elementwise(input=lambda grad, input: grad * conj(cosh(input)), floats=True, inplace="function")
def sinh(xp: Any, input: Array) -> Array:
    """Hyperbolic sine."""
    return xp.sinh(input)


@elementwise(input=lambda grad, input: grad * conj(sinh(input)), floats=True, inplace="function")
def cosh(xp: Any, input: Array) -> Array:
    """Hyperbolic cosine."""
    return xp.cosh(input)


@elementwise(
    slope=lambda grad, output: tanh_back(grad, conj(output)),
    output=lambda grad, slope, output: grad * conj(slope * output * -2),
    home=None,
    inplace=False,
    node_name="TanhBackwardBackward0",
)
def tanh_back(xp: Any, slope: Array, output: Array) -> Array:
    """slope times the derivative of tanh, given its output: its gradient, in one step."""
    return xp.tanh_back(slope, output)


def _tanh_slope(grad: Value, result: Value) -> Value:
    """Where it is recorded or batched one call instead of three; to arrays a call is a cost."""
    if isinstance(grad, TensorCore):
        return tanh_back(grad, conj(result))
    return grad - grad * conj(result * result)


@elementwise(
    input=_tanh_slope,
    floats=True,
    also="nn.functional",
    inplace="function",
)
def tanh(xp: Any, input: Array) -> Array:
    """Hyperbolic tangent."""
    return xp.tanh(input)


@elementwise(
    input=lambda grad, input: grad / conj(sqrt(1 + input * input)),
    floats=True,
    also="arcsinh",
    inplace="function",
)
def asinh(xp: Any, input: Array) -> Array:
    """Inverse hyperbolic sine."""
    return xp.arcsinh(input)


@elementwise(
    input=lambda grad, input: grad / conj(sqrt(input - 1) * sqrt(input + 1)),
    floats=True,
    domain=(1.2, 3.0),
    also="arccosh",
    inplace="function",
)
def acosh(xp: Any, input: Array) -> Array:
    """Inverse hyperbolic cosine."""
    return xp.arccosh(input)


@elementwise(
    input=lambda grad, input: grad / conj(1 - input * input),
    floats=True,
    domain=(-0.9, 0.9),
    also="arctanh",
    inplace="function",
)
def atanh(xp: Any, input: Array) -> Array:
    """Inverse hyperbolic tangent."""
    return xp.arctanh(input)


_DEGREE = math.pi / 180


@elementwise(
    input=lambda grad: grad * _DEGREE, floats=True, inplace="function", numpy="radians", refuses="c"
)
def deg2rad(xp: Any, input: Array) -> Array:
    """Degrees as radians."""
    return xp.multiply(input, _DEGREE)


@elementwise(
    input=lambda grad: grad / _DEGREE, floats=True, inplace="function", numpy="degrees", refuses="c"
)
def rad2deg(xp: Any, input: Array) -> Array:
    """Radians as degrees."""
    return xp.multiply(input, 1 / _DEGREE)
