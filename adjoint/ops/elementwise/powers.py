"""Powers, exponentials and logarithms."""

import cmath
import math
from typing import Any

from adjoint.call.arguments import conj, holds_complex
from adjoint.dtypes import BOOL, FLOAT, INTEGER, float16, float64, int64
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.elementwise.arithmetic import floor_divide, mul
from adjoint.ops.elementwise.comparison import kind_of
from adjoint.ops.elementwise.selection import clamp, where
from adjoint.ops.node_names import of_power
from adjoint.ops.op import composite, elementwise, find
from adjoint.ops.shared_rules import zero_of
from adjoint.tensors.changes import apply_inplace


@elementwise(
    input=lambda grad, input: grad * conj(input + input),
    inplace="function",
    node_name="PowBackward0",
)
def square(xp: Any, input: Array) -> Array:
    """input * input."""
    return xp.multiply(input, input, dtype="int64") if kind_of(input) == "b" else xp.square(input)


@elementwise(
    input=lambda grad, result: grad / conj(result + result),
    floats=True,
    domain=(0.5, 3.0),
    inplace="function",
)
def sqrt(xp: Any, input: Array) -> Array:
    """Square root."""
    return xp.sqrt(input)


@elementwise(
    input=lambda grad, result: grad * (-0.5 * conj(result * result * result)),
    floats=True,
    domain=(0.5, 3.0),
    inplace="function",
)
def rsqrt(xp: Any, input: Array) -> Array:
    """1 / sqrt(input)."""
    return xp.reciprocal(xp.sqrt(input))


def _base_rule(grad: Value, input: Value, exponent: Any) -> Value:
    """exponent * input ** (exponent - 1); 0 for exponent 0, also where input is 0."""
    if isinstance(exponent, (int, float, complex)):
        if exponent == 2:
            return grad * (2 * conj(input))
        if exponent == 0:
            return zero_of(grad)
        return grad * conj(exponent * input ** (exponent - 1))
    slope = exponent * input ** (exponent - 1)
    return where(exponent == 0, 0, grad * conj(slope))


def _exponent_rule(grad: Value, input: Value, exponent: Any, result: Value) -> Value:
    """result * log(input); 0 where input is 0 and the exponent is not negative."""
    if isinstance(input, (int, float, complex)) and input != 0:
        if isinstance(input, complex) or (input < 0 and holds_complex(result)):
            logarithm: Any = cmath.log(input)
        else:
            logarithm = math.log(input) if input > 0 else math.nan
        return grad * conj(result * logarithm)
    # The table of its parts needs this one.
    power = find("real_part")(exponent) if holds_complex(exponent) else exponent
    flat = (power >= 0) & (input == 0)
    base = where(flat, 0 * result + 1, input)  # of the result's type: a negative one may be complex
    return where(flat, 0, grad * conj(result * log(base)))


@elementwise(
    input=lambda grad, input, exponent: _base_rule(grad, input, exponent - 1),
    exponent=lambda grad, input, exponent, result: _exponent_rule(
        grad, input, exponent - 1, result
    ),
    power=lambda grad: zero_of(grad),
    domain=(0.5, 3.0),
    home=None,
    inplace=False,
    node_name="PowBackward0",
)
def power_before(xp: Any, input: Operand, exponent: Operand, power: Array) -> Array:
    """input ** (exponent - 1), where power is input ** exponent: for a loop, their quotient."""
    return xp.power_before(input, exponent, power)


def _power_tangent(
    input: Any, exponent: Any, input_tangent: Any, exponent_tangent: Any, result: Value
) -> Any:
    """The slopes by both arguments times their tangents; see their rules."""
    moved: Any = None
    if input_tangent is not None:
        fixed = _is_number(exponent)
        if fixed and exponent == 2:
            moved = input_tangent * (2 * input)
        elif fixed and exponent == 0:
            moved = zero_of(input_tangent)
        else:
            moved = input_tangent * (exponent * power_before(input, exponent, result))
            moved = moved if fixed else where(exponent == 0, 0, moved)
    if exponent_tangent is not None:
        other = conj(_exponent_rule(conj(exponent_tangent), input, exponent, result))
        moved = other if moved is None else moved + other
    return moved


def _whole_power(xp: Any, input: Any, exponent: Any) -> Any:
    """A power of integers; one below 1 is rounded towards 0."""
    result = xp.power(input, xp.maximum(exponent, 0))
    odd = xp.where(exponent % 2 == 0, 1, input)
    return xp.where(exponent < 0, xp.where(xp.absolute(input) == 1, odd, 0), result)


@elementwise(
    input=_base_rule,
    exponent=_exponent_rule,
    jvp=_power_tangent,
    domain=(0.5, 3.0),
    numpy="power",
    node_name=of_power,
    numbers_without_edge=("input", "exponent"),
)
def pow(xp: Any, input: Operand, exponent: Operand) -> Array:
    """input to the power of exponent."""
    if kind_of(exponent) == "b":
        raise NotImplementedError("pow() is not implemented for bool; convert with .to(...) first")
    if kind_of(exponent) == "i":
        return _whole_power(xp, input, exponent)
    return xp.power(input, exponent)


def _double_base_rule(grad: Value, input: Any, exponent: Any) -> Value:
    """The rule of pow, in the double precision of grad."""
    zero = zero_of(grad)
    return _base_rule(grad, input + zero, exponent if _is_number(exponent) else exponent + zero)


def _double_exponent_rule(grad: Value, input: Any, exponent: Any, result: Value) -> Value:
    zero = zero_of(grad)
    base = input if _is_number(input) else input + zero
    return _exponent_rule(grad, base, exponent + zero, result)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex))


@elementwise(
    input=_double_base_rule,
    exponent=_double_exponent_rule,
    promotes="",  # an exponent that is a number keeps its digits
    inplace=False,
    domain=(0.5, 3.0),
    wide=False,  # its gradients come in double precision
    node_name="PowBackward1",
    exact_out=True,
)
def float_power(xp: Any, input: Operand, exponent: Operand) -> Array:
    """input to the power of exponent, in double precision."""
    double = "complex128" if holds_complex(input) or holds_complex(exponent) else "float64"
    return xp.power(xp.asarray(input, dtype=double), xp.asarray(exponent, dtype=double))


@composite(home="Tensor")
def float_power_(input: Value, exponent: Operand) -> Value:
    """In-place form of float_power, for tensors of double precision."""
    double = "complex128" if holds_complex(input) or holds_complex(exponent) else "float64"
    if input.dtype.name != double:
        raise RuntimeError(f"float_power_(): the result is {double}, the tensor {input.dtype.name}")
    return apply_inplace(float_power, [input, exponent])


@elementwise(input=lambda grad, result: grad * conj(result), floats=True, inplace="function")
def exp(xp: Any, input: Array) -> Array:
    """e to the power of each element."""
    return xp.exp(input)


_LOG_2 = math.log(2)
_LOG_10 = math.log(10)


@elementwise(
    input=lambda grad, result: grad * (conj(result) * _LOG_2),
    floats=True,
    also="special",
    inplace="function",
)
def exp2(xp: Any, input: Array) -> Array:
    """2 to the power of each element."""
    if input.dtype.kind != "c":
        return xp.exp2(input)
    # Each part by itself: infinity times 0j would be nan.
    parts = xp.real(input) * _LOG_2, xp.imag(input) * _LOG_2
    return xp.exp(xp.complex_of(*parts, input.dtype))


@elementwise(
    input=lambda grad, result: grad * conj(result) + grad,
    floats=True,
    also="special",
    inplace="function",
)
def expm1(xp: Any, input: Array) -> Array:
    """exp(input) - 1, exact for small elements."""
    return xp.expm1(input)


@elementwise(
    input=lambda grad, input: grad / conj(input), floats=True, domain=(0.5, 3.0), inplace="function"
)
def log(xp: Any, input: Array) -> Array:
    """Natural logarithm."""
    return xp.log(input)


@elementwise(
    input=lambda grad, input: grad / (conj(input) * _LOG_2),
    floats=True,
    domain=(0.5, 3.0),
    inplace="function",
)
def log2(xp: Any, input: Array) -> Array:
    """Logarithm to base 2."""
    return xp.log2(input)


@elementwise(
    input=lambda grad, input: grad / (conj(input) * _LOG_10),
    floats=True,
    domain=(0.5, 3.0),
    inplace="function",
)
def log10(xp: Any, input: Array) -> Array:
    """Logarithm to base 10."""
    return xp.log10(input)


@elementwise(
    input=lambda grad, input: grad / (conj(input) + 1),
    floats=True,
    domain=(-0.5, 3.0),
    also="special",
    inplace="function",
)
def log1p(xp: Any, input: Array) -> Array:
    """log(1 + input), exact for small elements."""
    return _complex_log1p(xp, input) if input.dtype.kind == "c" else xp.log1p(input)


def _complex_log1p(xp: Any, input: Any) -> Any:
    """|1 + z|² - 1 is known more exactly than |1 + z| where z is small."""
    x, y = xp.real(input), xp.imag(input)
    near = xp.absolute(input) < 0.5
    excess = xp.where(near, x * (x + 2) + y * y, 0)
    size = xp.where(near, xp.log1p(excess) / 2, xp.log(xp.hypot(x + 1, y)))
    return xp.complex_of(size, xp.arctan2(y, x + 1), input.dtype)


def complex_logaddexp(xp: Any, a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), the one of larger real part taken out; nan if either is."""
    larger = xp.where(a.real >= b.real, a, b)
    smaller = xp.where(a.real >= b.real, b, a)
    endless = xp.isinf(larger.real)
    found = xp.where(endless, larger, larger + xp.log1p(xp.exp(smaller - larger)))
    twice = endless & (larger.real == smaller.real)
    a, b = xp.where(twice, a, 0), xp.where(twice, b, 0)
    both = xp.where(larger.real < 0, smaller, xp.log(xp.exp(a) + xp.exp(b)))
    unknown = xp.isnan(larger) | xp.isnan(smaller)
    return xp.where(unknown, complex(math.nan, math.nan), xp.where(twice, both, found))


def _weighed(first: Any, second: Any, whole: Value) -> Value:
    """The mean of two tangents, the first of which counts 1 of a whole; None is 0."""
    if first is None:
        return second - second / whole
    return first / whole if second is None else second + (first - second) / whole


@elementwise(
    input=lambda grad, input, other: grad / conj(1 + exp(other - input)),
    other=lambda grad, input, other: grad / conj(1 + exp(input - other)),
    jvp=lambda input_tangent, other_tangent, input, other: _weighed(
        input_tangent, other_tangent, 1 + exp(other - input)
    ),
    floats=True,
    inplace=False,
)
def logaddexp(xp: Any, input: Array, other: Array) -> Array:
    """log(exp(input) + exp(other)), without overflow."""
    if holds_complex(input):
        return complex_logaddexp(xp, input, other)
    return xp.logaddexp(input, other)


@elementwise(
    input=lambda grad, input, other: grad / (1 + exp2(other - input)),
    other=lambda grad, input, other: grad / (1 + exp2(input - other)),
    jvp=lambda input_tangent, other_tangent, input, other: _weighed(
        input_tangent, other_tangent, 1 + exp2(other - input)
    ),
    floats=True,
    inplace=False,
)
def logaddexp2(xp: Any, input: Array, other: Array) -> Array:
    """log2(2 ** input + 2 ** other), without overflow."""
    return xp.logaddexp2(input, other)


# A third of the way from the smallest to the largest number, in powers of two.
_THIRDS = {float16: 14, float64: 700}


def _powers_of_two(input: Value, other: Value) -> list[Value]:
    """2 ** other; for floats and whole exponents as three factors, none of which overflows."""
    if input.dtype.category != FLOAT or other.dtype.category > INTEGER:
        return [pow(2.0, other)]
    if other.dtype.category == BOOL:
        raise NotImplementedError("ldexp(): exponents of floats are integers, not bools")
    third = _THIRDS.get(input.dtype, 100)
    rest = clamp(other.to(int64), -3 * third, 3 * third)
    factors = []
    for parts in (3, 2, 1):
        part = floor_divide(rest, parts)
        factors.append(pow(2.0, part.to(input.dtype)))
        rest = rest - part
    return factors


@composite
def ldexp(input: Value, other: Value) -> Value:
    """input * 2 ** other."""
    result = input
    for factor in _powers_of_two(input, other):
        result = mul(result, factor)
    return result


@composite
def ldexp_(input: Value, other: Value) -> Value:
    """In-place form of ldexp."""
    for factor in _powers_of_two(input, other):
        input = apply_inplace(mul, [input, factor])
    return input
