"""Floating numbers taken apart, and their neighbours."""

from typing import Any

from adjoint.call.rule import FRONT
from adjoint.dtypes import FLOAT, category_of
from adjoint.ops.annotations import Array
from adjoint.ops.elementwise.powers import exp2
from adjoint.ops.elementwise.selection import choose
from adjoint.ops.op import elementwise, general
from adjoint.ops.reducing.cumulative import widened
from adjoint.ops.shared_rules import zero_of


@general(
    input=lambda grad0, result1: grad0 / exp2(result1),
    jvp=lambda input_tangent, result1: (input_tangent / exp2(result1), None),
    returns="mantissa exponent",
    exact_out=True,
    batching=FRONT,
)
def frexp(xp: Any, input: Array) -> tuple[Array, Array]:
    """The mantissa, at least 1/2 and below 1, and the power of 2 that makes each element of it."""
    if category_of(input.dtype) != FLOAT:
        raise RuntimeError(f"frexp takes floating numbers apart, not {input.dtype}")
    mantissa, exponent = xp.frexp(widened(input))
    return mantissa.astype(input.dtype), exponent.astype("int32")


@elementwise(
    input=lambda grad, input, other: choose(input == other, 0, grad),
    other=lambda grad: zero_of(grad),
)
def nextafter(xp: Any, input: Array, other: Array) -> Array:
    """The next floating number after each element in the direction of other."""
    if category_of(input.dtype) != FLOAT:
        raise NotImplementedError(f"nextafter is not implemented for {input.dtype}")
    return xp.nextafter(input, other)
