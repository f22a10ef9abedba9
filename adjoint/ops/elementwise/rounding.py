"""Whole numbers near an element, and the fraction that is left."""

from typing import Any

from adjoint.ops.op import elementwise
from adjoint.ops.shared_rules import zero_of


@elementwise(input=lambda grad: zero_of(grad), domain=(0.1, 0.9), exact_out=True)
def floor(xp: Any, input: Any) -> Any:
    """The largest whole number that is not above the element."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.floor(input)


@elementwise(input=lambda grad: zero_of(grad), domain=(0.1, 0.9), exact_out=True)
def ceil(xp: Any, input: Any) -> Any:
    """The smallest whole number that is not below the element."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.ceil(input)


@elementwise(input=lambda grad: zero_of(grad), domain=(0.1, 0.9), exact_out=True)
def trunc(xp: Any, input: Any) -> Any:
    """The whole number without the fraction."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.trunc(input)


@elementwise(input=lambda grad: zero_of(grad), domain=(0.1, 0.4), exact_out=True)
def round(xp: Any, input: Any, *, decimals: int = 0) -> Any:
    """The nearest number with `decimals` decimals; halves go to the even one."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.round(input, decimals)


@elementwise(input=lambda grad: grad, domain=(0.1, 0.9), exact_out=True)
def frac(xp: Any, input: Any) -> Any:
    """The fraction, with the sign of the element."""
    if input.dtype.kind in "biu":
        raise NotImplementedError(f"frac() is not implemented for {input.dtype}")
    return input - xp.trunc(input)


ALIASES = {"fix": "trunc"}
