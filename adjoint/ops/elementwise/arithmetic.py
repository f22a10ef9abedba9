"""Arithmetic: sums, products, quotients and what they leave over, signs and sizes."""

from typing import Any

from adjoint.call.arguments import conj, holds_complex
from adjoint.dtypes import (
    BOOL,
    INTEGER,
    as_real,
    category_of,
    fitted_integer,
    from_numpy_dtype,
    refuse_factor,
)
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.elementwise.comparison import isnan, kind_of, refuse_complex
from adjoint.ops.elementwise.selection import where
from adjoint.ops.node_names import by_number, of_difference
from adjoint.ops.op import composite, elementwise, find
from adjoint.ops.shared_rules import refused_derivative, zero_of
from adjoint.tensors.changes import apply_inplace
from adjoint.tensors.tensor import Tensor


def _scaled(xp: Any, other: Any, alpha: Any) -> Any:
    """other * alpha in other's data type."""
    refuse_factor(alpha, other.dtype)
    if alpha == 1:
        return other
    if type(alpha) is int and other.dtype.kind in "iu":
        alpha = fitted_integer(alpha, other.dtype, True)
    return xp.multiply(other, alpha).astype(other.dtype)


def _add_scaled(xp: Any, array: Any, other: Any, alpha: Any, sign: int = 1) -> None:
    """array += sign * alpha * other; a negative factor wraps around in unsigned numbers."""
    kind = array.dtype.kind
    if kind != "f" or type(alpha) not in (int, float):
        refuse_factor(alpha, array.dtype)
    alpha = alpha if sign == 1 else -alpha
    if kind == "u" and type(alpha) is int:
        alpha = fitted_integer(alpha, array.dtype, True)
    elif kind == "b":
        alpha = bool(alpha)
    elif kind == "W":  # complex32, whose product with a number is complex64
        other, alpha = _scaled(xp, other, alpha), 1
    xp.add_scaled(array, other, alpha)


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, alpha: grad if alpha == 1 else grad * conj(alpha),
    mutate=_add_scaled,
    numbers=True,
)
def add(xp: Any, input: Operand, other: Operand, *, alpha: Any = 1) -> Array:
    """input + alpha * other."""
    plain = type(alpha) is int and alpha == 1
    return xp.add(input, other if plain else _scaled(xp, other, alpha))


def _difference_tangent(input_tangent: Any, other_tangent: Any, alpha: Any) -> Any:
    """input_tangent - alpha * other_tangent."""
    if other_tangent is None:
        return input_tangent
    moved = other_tangent if alpha == 1 else other_tangent * alpha
    return -moved if input_tangent is None else input_tangent - moved


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, alpha: -grad if alpha == 1 else -grad * conj(alpha),
    jvp=_difference_tangent,
    mutate=lambda xp, array, other, alpha: _add_scaled(xp, array, other, alpha, -1),
    bools=False,
    also="subtract",
    numbers=True,
    numbers_without_edge=("input",),
    node_name=of_difference,
)
def sub(xp: Any, input: Operand, other: Operand, *, alpha: Any = 1) -> Array:
    """input - alpha * other."""
    plain = type(alpha) is int and alpha == 1
    return xp.subtract(input, other if plain else _scaled(xp, other, alpha))


@composite(method=False)
def rsub(input: Value, other: Operand, *, alpha: Any = 1) -> Value:
    """other - alpha * input."""
    if not isinstance(input, Tensor):
        raise TypeError(f"rsub(): argument 'input' must be a Tensor, not {type(input).__name__}")
    return sub(other, input, alpha=alpha)


@elementwise(
    input=lambda grad, other: grad * conj(other),
    other=lambda grad, input: grad * conj(input),
    also="multiply",
    numbers=True,
    wide_numbers=True,
)
def mul(xp: Any, input: Operand, other: Operand) -> Array:
    """input * other."""
    return xp.multiply(input, other)


def _quotient_tangent(input_tangent: Any, other_tangent: Any, other: Any, result: Any) -> Any:
    """(input_tangent - result * other_tangent) / other."""
    if other_tangent is None:
        return input_tangent / other
    moved = other_tangent * result
    return moved / -other if input_tangent is None else (input_tangent - moved) / other


@elementwise(
    input=lambda grad, other: grad / conj(other),
    other=lambda grad, input, other: -grad * conj(input / other / other),
    jvp=_quotient_tangent,
    floats=True,
    node_name="DivBackward0",
    domain=(0.5, 3.0),
    numbers=True,
    wide_numbers=True,
)
def true_divide(xp: Any, input: Operand, other: Operand) -> Array:
    """input / other."""
    return xp.divide(input, other)


def _refuse_zero_divisor(xp: Any, other: Any) -> None:
    """Integers have no value for x / 0; on the CPU, as in PyTorch, that is an error."""
    if kind_of(other) == "b":
        raise NotImplementedError("bools have no whole quotients; convert one with .to(...)")
    if kind_of(other) in ("i", "u") and xp.readable() and not other.all():
        raise RuntimeError("ZeroDivisionError: an integer division by zero")


def _truncated_quotient(xp: Any, input: Any, other: Any) -> Any:
    """The quotient rounded towards zero."""
    if input.dtype.kind not in "biu":
        return xp.trunc(xp.divide(input, other))
    quotient = xp.floor_divide(input, other)
    return quotient + ((quotient < 0) & (quotient * other != input)).astype(quotient.dtype)


@elementwise(
    input=lambda grad: zero_of(grad),
    other=lambda grad: zero_of(grad),
    node_name="DivBackward1",
    domain=(0.5, 3.0),
    home=None,
    numbers=True,
    wide_numbers=True,
)
def rounded_divide(xp: Any, input: Array, other: Array, rounding_mode: str = "trunc") -> Array:
    """input / other, rounded towards zero ("trunc") or downwards ("floor")."""
    _refuse_zero_divisor(xp, other)
    if rounding_mode == "floor":
        return xp.floor_divide(input, other)
    return _truncated_quotient(xp, input, other)


def _rounding(mode: str) -> str:
    if mode not in ("trunc", "floor"):
        kind = RuntimeError if isinstance(mode, str) else TypeError
        raise kind(f"div(): rounding_mode must be None, 'trunc' or 'floor', got {mode!r}")
    return mode


@composite(also="divide", numpy="true_divide")
def div(
    input: Value, other: Operand, *, rounding_mode: str | None = None, out: Any = None
) -> Value:
    """input / other; with rounding_mode "trunc" or "floor", the quotient as a whole number."""
    target = {} if out is None else {"out": out}
    if rounding_mode is None:
        return true_divide(input, other, **target)
    return rounded_divide(input, other, _rounding(rounding_mode), **target)


true_divide.known_as = div  # which the operator is in PyTorch


@composite(home="Tensor", also="divide_")
def div_(input: Value, other: Operand, *, rounding_mode: str | None = None) -> Value:
    """In-place form of div."""
    if rounding_mode is None:
        return apply_inplace(true_divide, [input, other])
    return apply_inplace(rounded_divide, [input, other, _rounding(rounding_mode)])


@elementwise(
    input=refused_derivative("floor_divide"),
    other=refused_derivative("floor_divide"),
    domain=(0.5, 3.0),
    numbers=True,
    wide_numbers=True,
)
def floor_divide(xp: Any, input: Operand, other: Operand) -> Array:
    """input / other, rounded downwards."""
    _refuse_zero_divisor(xp, other)
    return xp.floor_divide(input, other)


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, input, other: -grad * rounded_divide(input, other, "floor"),
    domain=(0.5, 3.0),
    numbers_without_edge=("other",),
    node_name=by_number("Remainder"),
)
def remainder(xp: Any, input: Operand, other: Operand) -> Array:
    """What division leaves over, with the sign of other."""
    _refuse_zero_divisor(xp, other)
    return xp.remainder(input, other)


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, input, other: -grad * rounded_divide(input, other, "trunc"),
    domain=(0.5, 3.0),
    numbers_without_edge=("other",),
    node_name=by_number("Fmod"),
)
def fmod(xp: Any, input: Array, other: Operand) -> Array:
    """What division leaves over, with the sign of input."""
    _refuse_zero_divisor(xp, other)
    return xp.fmod(input, other)


@elementwise(input=lambda grad: -grad, exact_out=True, also="negative", inplace="function")
def neg(xp: Any, input: Array) -> Array:
    """-input."""
    if kind_of(input) == "b":
        raise RuntimeError("bool tensors have no negative; use ~ or logical_not")
    return xp.negative(input)


@composite(numpy=True, exact_out=TypeError)
def positive(input: Value) -> Value:
    """+input, which is the input itself."""
    if kind_of(input) == "b":
        raise RuntimeError("bool tensors have no +; convert with .to(...) first")
    return input


@elementwise(
    input=lambda grad, result: -grad * conj(result * result),
    floats=True,
    domain=(0.5, 3.0),
    inplace="function",
)
def reciprocal(xp: Any, input: Array) -> Array:
    """1 / input."""
    return xp.reciprocal(input)


def _sign(xp: Any, input: Any) -> Any:
    """The sign of real numbers; 0 of nan."""
    if input.dtype.kind == "b":
        return xp.array(input)
    sign = xp.sign(input)
    return sign if input.dtype.kind in "iu" else xp.where(xp.isnan(input), 0, sign)


def _sgn_rule(grad: Value, input: Value, result: Value) -> Value:
    """Turning moves z / |z|, stretching does not: the part of grad along result is removed."""
    if not holds_complex(input):
        return zero_of(grad)
    size = abs(input)
    real = find("real_part")  # whose table needs products
    across = grad - result * real(conj(result) * grad)
    return where(size == 0, 0, across / where(size == 0, 1, size))


def _sgn_tangent(input_tangent: Any, input: Any, result: Any) -> Any:
    """The rule again: taking away what is along result is its own transpose."""
    return _sgn_rule(input_tangent, input, result)


@elementwise(input=_sgn_rule, jvp=_sgn_tangent, exact_out=True)
def sgn(xp: Any, input: Array) -> Array:
    """The sign of a real number, z / |z| of a complex one; 0 at 0."""
    if input.dtype.kind == "c":
        size = xp.absolute(input)
        return input / xp.where(size == 0, 1, size)
    return _sign(xp, input)


@elementwise(input=lambda grad: zero_of(grad), exact_out=True)
def sign(xp: Any, input: Array) -> Array:
    """-1, 0 or 1."""
    refuse_complex("sign", input)
    return _sign(xp, input)


@elementwise(
    input=lambda grad, input: grad * sgn(input),
    inplace=False,
    domain=(0.5, 3.0),
    also="absolute",
    numpy="fabs",
    exact_out=True,
    refuses="b",
)
def abs(xp: Any, input: Array) -> Array:
    """Absolute value, or modulus."""
    return xp.absolute(input)


@composite(also="Tensor.absolute_")
def abs_(input: Value) -> Value:
    """In-place form of abs, for real tensors."""
    if holds_complex(input):
        raise RuntimeError("abs_(): the moduli of a complex tensor are real; use abs()")
    return apply_inplace(abs, [input])


@elementwise(
    input=lambda grad, input, result: grad * where(isnan(input), input, sign(input) * sign(result)),
    other=lambda grad: zero_of(grad),
    floats=True,
)
def copysign(xp: Any, input: Array, other: Operand) -> Array:
    """|input| with the sign of other."""
    return xp.copysign(input, other)


def _lerp(xp: Any, input: Any, end: Any, weight: Any) -> Any:
    """Counted from the nearer end, so that both ends are met exactly."""
    span = end - input
    if isinstance(weight, (int, float)):
        return input + weight * span if weight < 0.5 else end - (1 - weight) * span
    return xp.where(xp.absolute(weight) < 0.5, input + weight * span, end - (1 - weight) * span)


@elementwise(
    input=lambda grad, weight: grad * (1 - conj(weight)),
    end=lambda grad, weight: grad * conj(weight),
    weight=lambda grad, input, end: grad * conj(end - input),
    promotes="",  # PyTorch mixes no data types here, but for a weight that is one number
    numbers_without_edge=("weight",),
)
def lerp(xp: Any, input: Array, end: Array, weight: Operand) -> Array:
    """input + weight * (end - input)."""
    for name, value in (("end", end), ("weight", weight)):
        if getattr(value, "dtype", input.dtype) != input.dtype and (name == "end" or value.ndim):
            raise RuntimeError(
                f"expected dtype {input.dtype}, that of input, for {name}, got {value.dtype}"
            )
    if input.dtype.kind in "iub":
        raise NotImplementedError(f"lerp() is not implemented for {input.dtype}")
    if hasattr(weight, "dtype"):
        kind = input.dtype
        if kind.kind == "f" and weight.dtype.kind == "c":
            kind = from_numpy_dtype(kind).to_complex().numpy_dtype
        weight = weight.astype(kind)
    elif isinstance(weight, complex):
        weight = as_real(weight)
        refuse_factor(weight, input.dtype, "weight")
    return _lerp(xp, input, end, weight)


@elementwise(
    input=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj(tensor2 * value),
    tensor2=lambda grad, tensor1, value: grad * conj(tensor1 * value),
)
def addcmul(xp: Any, input: Array, tensor1: Array, tensor2: Array, *, value: Any = 1) -> Array:
    """input + value * tensor1 * tensor2."""
    product = xp.multiply(tensor1, tensor2)
    held = category_of(product.dtype)
    if held == BOOL:
        raise NotImplementedError("addcmul() is not implemented for bool")
    if isinstance(value, bool):
        value = int(value)
    if held == INTEGER and not isinstance(value, complex):
        value = fitted_integer(value, product.dtype)
    return xp.add(input, product if value == 1 else _scaled(xp, product, value))


@elementwise(
    input=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj(value / tensor2),
    tensor2=lambda grad, tensor1, tensor2, value: (
        -grad * conj(value * (tensor1 / tensor2) / tensor2)
    ),
    domain=(0.5, 3.0),
)
def addcdiv(xp: Any, input: Array, tensor1: Array, tensor2: Array, *, value: Any = 1) -> Array:
    """input + value * tensor1 / tensor2."""
    if tensor1.dtype.kind in "iub":
        raise RuntimeError("addcdiv does not divide integers; convert with .to(...) first")
    if isinstance(value, bool):
        value = int(value)
    quotient = xp.divide(tensor1, tensor2)
    return xp.add(input, quotient if value == 1 else _scaled(xp, quotient, value))
