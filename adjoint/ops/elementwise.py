"""Elementwise ops: arithmetic, functions of one number, comparison, choice."""

from typing import Any

from adjoint.ops.op import elementwise


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, alpha: grad if alpha == 1 else grad * alpha,
)
def add(xp: Any, input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input + alpha * other."""
    return xp.add(input, other if alpha == 1 else xp.multiply(other, alpha))


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, alpha: -grad if alpha == 1 else -grad * alpha,
)
def sub(xp: Any, input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha * other."""
    return xp.subtract(input, other if alpha == 1 else xp.multiply(other, alpha))


@elementwise(
    input=lambda grad, other: grad * conj(other),
    other=lambda grad, input: grad * conj(input),
)
def mul(xp: Any, input: Any, other: Any) -> Any:
    """input * other."""
    return xp.multiply(input, other)


@elementwise(input=lambda grad: -grad)
def neg(xp: Any, input: Any) -> Any:
    """-input."""
    return xp.negative(input)


@elementwise(input=lambda grad, result: grad * (1 - result * result), floats=True)
def tanh(xp: Any, input: Any) -> Any:
    """Hyperbolic tangent."""
    return xp.tanh(input)


@elementwise(input=lambda grad, result: grad * result, floats=True)
def exp(xp: Any, input: Any) -> Any:
    """e to the power of each element."""
    return xp.exp(input)


def conj(value: Any) -> Any:
    return value
