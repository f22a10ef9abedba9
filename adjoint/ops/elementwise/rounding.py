"""Whole numbers near an element, and the fraction that is left."""

from typing import Any

from adjoint.ops.annotations import Array
from adjoint.ops.elementwise.comparison import refuse_complex
from adjoint.ops.op import elementwise
from adjoint.ops.shared_rules import zero_of


@elementwise(
    input=lambda grad: zero_of(grad),
    domain=(0.1, 0.9),
    exact_out=True,
    inplace="function",
    refuses="b",
)
def floor(xp: Any, input: Array) -> Array:
    """The largest whole number that is not above the element."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.floor(input)


@elementwise(
    input=lambda grad: zero_of(grad),
    domain=(0.1, 0.9),
    exact_out=True,
    inplace="function",
    refuses="b",
)
def ceil(xp: Any, input: Array) -> Array:
    """The smallest whole number that is not below the element."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.ceil(input)


@elementwise(
    input=lambda grad: zero_of(grad),
    domain=(0.1, 0.9),
    exact_out=True,
    also="fix",
    inplace="function",
    refuses="b",
)
def trunc(xp: Any, input: Array) -> Array:
    """The whole number without the fraction."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.trunc(input)


@elementwise(
    input=lambda grad: zero_of(grad),
    domain=(0.1, 0.4),
    exact_out=True,
    also="special",
    inplace="function",
    numpy="rint",
    refuses="b",
)
def round(xp: Any, input: Array, *, decimals: int = 0) -> Array:
    """The nearest number with `decimals` decimals; halves go to the even one."""
    refuse_complex("round", input)
    return xp.array(input) if input.dtype.kind in "iu" else xp.round(input, decimals)


@elementwise(input=lambda grad: grad, domain=(0.1, 0.9), exact_out=True, inplace="function")
def frac(xp: Any, input: Array) -> Array:
    """The fraction, with the sign of the element."""
    if input.dtype.kind in "biu":
        raise NotImplementedError(f"frac() is not implemented for {input.dtype}")
    return input - xp.trunc(input)
