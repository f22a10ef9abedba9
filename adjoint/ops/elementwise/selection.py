"""Which of several elements is taken: by a condition, the larger one, the one within bounds."""

import math
import warnings
from typing import Any

from adjoint.dtypes import uint8
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.elementwise.comparison import isfinite, isnan, refuse_complex
from adjoint.ops.method_order import MethodOrder
from adjoint.ops.op import composite, elementwise
from adjoint.ops.shared_rules import refused_derivative
from adjoint.tensors.tensor import Tensor


@elementwise(
    input=lambda grad, condition: choose(condition, grad, 0),
    other=lambda grad, condition: choose(condition, 0, grad),
    promotes="input other",
    inplace=False,
    exact_out=True,
    node_name="WhereBackward0",
    home=None,
)
def choose(xp: Any, condition: Array, input: Array, other: Array) -> Array:
    """input where condition holds, other elsewhere."""
    if condition.dtype == "uint8":
        warnings.warn("where: a condition of uint8 is a mask, as bool is; use bool", stacklevel=3)
        condition = condition != 0
    elif condition.dtype.kind != "b":
        raise RuntimeError(
            f"expected condition to be a boolean tensor, got {condition.dtype}; compare first, "
            "as in where(condition != 0, ...)"
        )
    return xp.where(condition, input, other)


@composite(numpy=True, without={"input other": tuple[Tensor, ...]})
@MethodOrder
def where(
    condition: Value,
    input: Operand | None = None,
    other: Operand | None = None,
    *,
    out: Any = None,
) -> Value:
    """input where condition holds, other elsewhere; alone, the indices where condition holds."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if not hasattr(condition, "dtype"):
        raise TypeError(f"where(): condition must be a Tensor, not {type(condition).__name__}")
    if condition.dtype is uint8:
        warnings.warn("a condition of uint8 counts as one of bool; use bool", stacklevel=2)
        condition = condition != 0
    return (
        choose(condition, input, other) if out is None else choose(condition, input, other, out=out)
    )


def _either(condition: Value, first: Any, second: Any) -> Value:
    """One tangent where a condition holds, and another elsewhere; one that is not there is 0."""
    return where(condition, 0 if first is None else first, 0 if second is None else second)


@elementwise(inplace=False, wide=False, home=None)
def share_of_larger(xp: Any, input: Array, other: Array) -> Array:
    """1 where input is larger than other, 0 where it is smaller, 1/2 where they are equal."""
    above = xp.greater(input, other).astype(input.dtype)
    return (above + xp.greater_equal(input, other).astype(input.dtype)) * 0.5


def _blended(first: Any, second: Any, share: Value) -> Value:
    """share * first + (1 - share) * second, of tangents; one that is not there is 0."""
    if second is None:
        return first * share
    return second + share * (-second if first is None else first - second)


@elementwise(
    input=lambda grad, input, other: where(input == other, grad / 2, where(input < other, 0, grad)),
    other=lambda grad, input, other: where(input == other, grad / 2, where(input > other, 0, grad)),
    jvp=lambda input_tangent, other_tangent, input, other: _blended(
        input_tangent, other_tangent, share_of_larger(input, other)
    ),
    inplace=False,
)
def maximum(xp: Any, input: Array, other: Array) -> Array:
    """The larger element, nan if either is nan; equal ones share the gradient."""
    refuse_complex("maximum", input)
    return xp.maximum(input, other)


@elementwise(
    input=lambda grad, input, other: where(input == other, grad / 2, where(input > other, 0, grad)),
    other=lambda grad, input, other: where(input == other, grad / 2, where(input < other, 0, grad)),
    jvp=lambda input_tangent, other_tangent, input, other: _blended(
        input_tangent, other_tangent, share_of_larger(other, input)
    ),
    inplace=False,
)
def minimum(xp: Any, input: Array, other: Array) -> Array:
    """The smaller element, nan if either is nan; equal ones share the gradient."""
    refuse_complex("minimum", input)
    return xp.minimum(input, other)


@elementwise(
    input=lambda grad, input, other: where((input >= other) | isnan(other), grad, 0),
    other=lambda grad, input, other: where((input >= other) | isnan(other), 0, grad),
    jvp=lambda input_tangent, other_tangent, input, other: _either(
        (input >= other) | isnan(other), input_tangent, other_tangent
    ),
    inplace=False,
)
def fmax(xp: Any, input: Array, other: Array) -> Array:
    """The larger element; a nan gives way to a number."""
    refuse_complex("fmax", input)
    return xp.fmax(input, other)


@elementwise(
    input=lambda grad, input, other: where((input <= other) | isnan(other), grad, 0),
    other=lambda grad, input, other: where((input <= other) | isnan(other), 0, grad),
    jvp=lambda input_tangent, other_tangent, input, other: _either(
        (input <= other) | isnan(other), input_tangent, other_tangent
    ),
    inplace=False,
)
def fmin(xp: Any, input: Array, other: Array) -> Array:
    """The smaller element; a nan gives way to a number."""
    refuse_complex("fmin", input)
    return xp.fmin(input, other)


def _clamp_rule(grad: Value, input: Value, min: Any, max: Any) -> Value:
    """The gradient passes where the element lies within the bounds, or on them."""
    if max is None:
        return where(input >= min, grad, 0)
    if min is None:
        return where(input <= max, grad, 0)
    return where((input >= min) & (input <= max), grad, 0)


def _lower_bound_rule(grad: Value, input: Value, min: Any, max: Any) -> Value:
    below = input < min
    return where(below if max is None else below & (min < max), grad, 0)


def _upper_bound_rule(grad: Value, input: Value, min: Any, max: Any) -> Value:
    above = input > max
    return where(above if min is None else above | (max < min), grad, 0)


@elementwise(
    input=_clamp_rule,
    min=_lower_bound_rule,
    max=_upper_bound_rule,
    promotes="input min max",
    node_name="ClampBackward1",
    numbers_without_edge=("min", "max"),
    also="clip",
    inplace="function",
    numpy="clip",
    refuses="b",
)
def clamp(xp: Any, input: Array, min: Operand | None = None, max: Operand | None = None) -> Array:
    """input, but at least min and at most max."""
    if min is None and max is None:
        raise RuntimeError("at least one of min and max must be given")
    refuse_complex("clamp", input)
    if min is not None:
        input = xp.maximum(input, min)
    return input if max is None else xp.minimum(input, max)


@elementwise(
    input=lambda grad, input, min: where(input >= min, grad, 0),
    min=lambda grad, input, min: where(input < min, grad, 0),
    jvp=lambda input_tangent, min_tangent, input, min: _either(
        input >= min, input_tangent, min_tangent
    ),
    inplace="function",
)
def clamp_min(xp: Any, input: Array, min: Operand) -> Array:
    """input, but at least min."""
    refuse_complex("clamp_min", input)
    return xp.maximum(input, min)


@elementwise(
    input=lambda grad, input, max: where(input <= max, grad, 0),
    max=lambda grad, input, max: where(input > max, grad, 0),
    jvp=lambda input_tangent, max_tangent, input, max: _either(
        input <= max, input_tangent, max_tangent
    ),
    inplace="function",
)
def clamp_max(xp: Any, input: Array, max: Operand) -> Array:
    """input, but at most max."""
    refuse_complex("clamp_max", input)
    return xp.minimum(input, max)


@elementwise(
    input=lambda grad, input: where(isfinite(input), grad, 0),
    wide=False,
    exact_out=True,
    inplace="function",
)
def nan_to_num(
    xp: Any,
    input: Array,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Array:
    """input with nan replaced by a number, infinities by numbers or the largest finite ones."""
    if input.dtype.name == "bfloat16":  # none of NumPy's own types, so that it knows no limits
        high = 3.3895313892515355e38 if posinf is None else posinf
        low = -3.3895313892515355e38 if neginf is None else neginf
        finite = xp.where(input == math.inf, high, xp.where(input == -math.inf, low, input))
        return xp.where(xp.isnan(input), nan or 0.0, finite).astype(input.dtype)
    return xp.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@elementwise(
    input=refused_derivative("heaviside"),
    values=refused_derivative("heaviside"),
    promotes="",
    exact_out=True,
)
def heaviside(xp: Any, input: Array, values: Array) -> Array:
    """0 below 0, 1 above, values at 0."""
    if input.dtype.kind == "c":
        raise RuntimeError("heaviside is not implemented for complex tensors")
    if input.dtype != values.dtype:
        raise RuntimeError("input and values must have one data type; convert one with .to(...)")
    return xp.where(input == 0, values, (input > 0).astype(input.dtype))
