"""Elementwise ops: arithmetic, powers, exponentials, rounding, extremes, choice."""

import cmath
import math
from typing import Any

from adjoint.backends import NDARRAY, backend_of
from adjoint.dispatch import conj as conj, holds_complex
from adjoint.dtypes import category_of
from adjoint.ops.comparison import isfinite, isnan, kind_of, refuse_complex
from adjoint.ops.op import composite, elementwise, find
from adjoint.views import apply_inplace


@elementwise(input=lambda grad: conj_physical(grad))
def conj_physical(xp: Any, input: Any) -> Any:
    """Complex conjugate of each element."""
    return xp.array(input) if input.dtype.kind == "b" else xp.conjugate(input)


def _conjugated(input: Any) -> Any:
    """Complex conjugate of each element; real input is returned as it is."""
    return conj(input)


_conjugated.__name__ = "conj"
composite(_conjugated)  # rules call the compiled conj itself, which can't be a method


@composite
def resolve_conj(input: Any) -> Any:
    """The input itself: conjugation is never postponed."""
    return input


@composite
def resolve_neg(input: Any) -> Any:
    """The input itself: negation is never postponed."""
    return input


@elementwise(input=lambda grad: zero_of(grad), method=False, inplace=False)
def zero_of(xp: Any, input: Any) -> Any:
    """Zeros in the form of input: the gradient of what is constant almost everywhere."""
    return xp.zeros_like(input)


# ---- choice ----


class MethodOrder:
    """A function that, as a method, takes the tensor as its second argument."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__: str = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        return lambda first, *rest, **kwargs: self.function(first, instance, *rest, **kwargs)


@elementwise(
    input=lambda grad, condition: choose(condition, grad, 0),
    other=lambda grad, condition: choose(condition, 0, grad),
    promotes="input other",
    inplace=False,
    method=False,
    node_name="WhereBackward0",
)
def choose(xp: Any, condition: Any, input: Any, other: Any) -> Any:
    """input where condition holds, other elsewhere."""
    if condition.dtype.kind != "b":
        raise RuntimeError(
            f"expected condition to be a boolean tensor, got {condition.dtype}; compare first, "
            "as in where(condition != 0, ...)"
        )
    return xp.where(condition, input, other)


@composite
@MethodOrder
def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """input where condition holds, other elsewhere; alone, the indices where condition holds."""
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    return choose(condition, input, other)


# ---- arithmetic ----


def _scaled(xp: Any, other: Any, alpha: Any) -> Any:
    """other * alpha in other's data type."""
    scaled = xp.multiply(other, alpha)
    fits = category_of(scaled.dtype) <= category_of(other.dtype)
    if isinstance(alpha, (float, complex)) and not fits:
        raise RuntimeError(f"alpha={alpha} does not fit {other.dtype}; convert the tensors first")
    return scaled.astype(other.dtype)


def _add_in_place(array: Any, other: Any, alpha: Any) -> None:
    backend_of(array).xp.add_scaled(array, other, alpha)


def _subtract_in_place(array: Any, other: Any, alpha: Any) -> None:
    backend_of(array).xp.add_scaled(array, other, -alpha)


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, alpha: grad if alpha == 1 else grad * conj(alpha),
    mutate=_add_in_place,
)
def add(xp: Any, input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input + alpha * other."""
    return xp.add(input, other if alpha == 1 else _scaled(xp, other, alpha))


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, alpha: -grad if alpha == 1 else -grad * conj(alpha),
    mutate=_subtract_in_place,
    bools=False,
)
def sub(xp: Any, input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha * other."""
    return xp.subtract(input, other if alpha == 1 else _scaled(xp, other, alpha))


@composite(method=False)
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """other - alpha * input."""
    return sub(other, input, alpha=alpha)


@elementwise(
    input=lambda grad, other: grad * conj(other),
    other=lambda grad, input: grad * conj(input),
)
def mul(xp: Any, input: Any, other: Any) -> Any:
    """input * other."""
    return xp.multiply(input, other)


@elementwise(
    input=lambda grad, other: grad / conj(other),
    other=lambda grad, input, other: -grad * conj(input / other / other),
    floats=True,
    node_name="DivBackward0",
    domain=(0.5, 3.0),
)
def true_divide(xp: Any, input: Any, other: Any) -> Any:
    """input / other."""
    return xp.divide(input, other)


def _refuse_zero_divisor(other: Any) -> None:
    """Integers have no value for x / 0; on the CPU, as in PyTorch, that is an error."""
    if type(other) is NDARRAY and other.dtype.kind in "iub" and not other.all():
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
    method=False,
    node_name="DivBackward1",
    domain=(0.5, 3.0),
)
def rounded_divide(xp: Any, input: Any, other: Any, rounding_mode: str = "trunc") -> Any:
    """input / other, rounded towards zero ("trunc") or downwards ("floor")."""
    _refuse_zero_divisor(other)
    if rounding_mode == "floor":
        return xp.floor_divide(input, other)
    return _truncated_quotient(xp, input, other)


def _rounding(mode: str) -> str:
    if mode not in ("trunc", "floor"):
        raise RuntimeError(f"div(): rounding_mode must be None, 'trunc' or 'floor', got {mode!r}")
    return mode


@composite
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    """input / other; with rounding_mode "trunc" or "floor", the quotient as a whole number."""
    target = {} if out is None else {"out": out}
    if rounding_mode is None:
        return true_divide(input, other, **target)
    return rounded_divide(input, other, _rounding(rounding_mode), **target)


@composite
def div_(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """In-place form of div."""
    if rounding_mode is None:
        return apply_inplace(true_divide, [input, other])
    return apply_inplace(rounded_divide, [input, other, _rounding(rounding_mode)])


def refused_derivative(name: str) -> Any:
    """The rule of an op that PyTorch records but refuses to differentiate."""

    def rule(grad: Any) -> Any:
        raise RuntimeError(f"the derivative of {name} is not implemented")

    return rule


@elementwise(
    input=refused_derivative("floor_divide"),
    other=refused_derivative("floor_divide"),
    domain=(0.5, 3.0),
)
def floor_divide(xp: Any, input: Any, other: Any) -> Any:
    """input / other, rounded downwards."""
    _refuse_zero_divisor(other)
    return xp.floor_divide(input, other)


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, input, other: -grad * rounded_divide(input, other, "floor"),
    domain=(0.5, 3.0),
)
def remainder(xp: Any, input: Any, other: Any) -> Any:
    """What division leaves over, with the sign of other."""
    _refuse_zero_divisor(other)
    return xp.remainder(input, other)


@elementwise(
    input=lambda grad: grad,
    other=lambda grad, input, other: -grad * rounded_divide(input, other, "trunc"),
    domain=(0.5, 3.0),
)
def fmod(xp: Any, input: Any, other: Any) -> Any:
    """What division leaves over, with the sign of input."""
    _refuse_zero_divisor(other)
    return xp.fmod(input, other)


@elementwise(input=lambda grad: -grad)
def neg(xp: Any, input: Any) -> Any:
    """-input."""
    if kind_of(input) == "b":
        raise RuntimeError("bool tensors have no negative; use ~ or logical_not")
    return xp.negative(input)


@elementwise(input=lambda grad: grad, inplace=False)
def positive(xp: Any, input: Any) -> Any:
    """+input."""
    if kind_of(input) == "b":
        raise RuntimeError("bool tensors have no +; convert with .to(...) first")
    return xp.positive(input)


@elementwise(
    input=lambda grad, result: -grad * conj(result * result), floats=True, domain=(0.5, 3.0)
)
def reciprocal(xp: Any, input: Any) -> Any:
    """1 / input."""
    return xp.reciprocal(input)


def _sgn_rule(grad: Any, input: Any, result: Any) -> Any:
    """Turning moves z / |z|, stretching does not: the part of grad along result is removed."""
    if not holds_complex(input):
        return zero_of(grad)
    size = abs(input)
    across = grad - result * find("real")(conj(result) * grad)
    return where(size == 0, 0, across / where(size == 0, 1, size))


def _sgn_tangent(args: list[Any], tangents: list[Any]) -> Any:
    """The rule again: taking away what is along result is its own transpose."""
    return _sgn_rule(tangents[0], args[0], sgn(args[0]))


@elementwise(input=_sgn_rule, jvp=_sgn_tangent)
def sgn(xp: Any, input: Any) -> Any:
    """The sign of a real number, z / |z| of a complex one; 0 at 0."""
    if input.dtype.kind == "c":
        size = xp.absolute(input)
        return input / xp.where(size == 0, 1, size)
    return xp.array(input) if input.dtype.kind in "bu" else xp.sign(input)


@elementwise(input=lambda grad: zero_of(grad))
def sign(xp: Any, input: Any) -> Any:
    """-1, 0 or 1."""
    refuse_complex("sign", input)
    return xp.array(input) if input.dtype.kind == "b" else xp.sign(input)


@elementwise(input=lambda grad, input: grad * sgn(input), inplace=False, domain=(0.5, 3.0))
def abs(xp: Any, input: Any) -> Any:
    """Absolute value, or modulus."""
    return xp.absolute(input)


@composite
def abs_(input: Any) -> Any:
    """In-place form of abs, for real tensors."""
    if holds_complex(input):
        raise RuntimeError("abs_(): the moduli of a complex tensor are real; use abs()")
    return apply_inplace(abs, [input])


@elementwise(
    input=lambda grad, input, result: grad * sign(input) * sign(result),
    other=lambda grad: zero_of(grad),
    floats=True,
)
def copysign(xp: Any, input: Any, other: Any) -> Any:
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
)
def lerp(xp: Any, input: Any, end: Any, weight: Any) -> Any:
    """input + weight * (end - input)."""
    for name, value in (("end", end), ("weight", weight)):
        if getattr(value, "dtype", input.dtype) != input.dtype and (name == "end" or value.ndim):
            raise RuntimeError(
                f"expected dtype {input.dtype}, that of input, for {name}, got {value.dtype}"
            )
    if input.dtype.kind in "iub":
        raise NotImplementedError(f"lerp() is not implemented for {input.dtype}")
    if hasattr(weight, "dtype"):
        weight = weight.astype(input.dtype)
    return _lerp(xp, input, end, weight)


@elementwise(
    input=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj(tensor2 * value),
    tensor2=lambda grad, tensor1, value: grad * conj(tensor1 * value),
)
def addcmul(xp: Any, input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value * tensor1 * tensor2."""
    product = xp.multiply(tensor1, tensor2)
    return xp.add(input, product if value == 1 else _scaled(xp, product, value))


@elementwise(
    input=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conj(value / tensor2),
    tensor2=lambda grad, tensor1, tensor2, value: (
        -grad * conj(value * (tensor1 / tensor2) / tensor2)
    ),
    domain=(0.5, 3.0),
)
def addcdiv(xp: Any, input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value * tensor1 / tensor2."""
    if tensor1.dtype.kind in "iub":
        raise RuntimeError("addcdiv does not divide integers; convert with .to(...) first")
    quotient = xp.divide(tensor1, tensor2)
    return xp.add(input, quotient if value == 1 else _scaled(xp, quotient, value))


# ---- powers, exponentials and logarithms ----


@elementwise(input=lambda grad, input: grad * (2 * conj(input)))
def square(xp: Any, input: Any) -> Any:
    """input * input."""
    return xp.multiply(input, input, dtype="int64") if kind_of(input) == "b" else xp.square(input)


@elementwise(input=lambda grad, result: grad / (2 * conj(result)), floats=True, domain=(0.5, 3.0))
def sqrt(xp: Any, input: Any) -> Any:
    """Square root."""
    return xp.sqrt(input)


@elementwise(
    input=lambda grad, result: grad * (-0.5 * conj(result * result * result)),
    floats=True,
    domain=(0.5, 3.0),
)
def rsqrt(xp: Any, input: Any) -> Any:
    """1 / sqrt(input)."""
    return xp.reciprocal(xp.sqrt(input))


def _base_rule(grad: Any, input: Any, exponent: Any) -> Any:
    """exponent * input ** (exponent - 1); 0 for exponent 0, also where input is 0."""
    if isinstance(exponent, (int, float, complex)):
        if exponent == 2:
            return grad * (2 * conj(input))
        if exponent == 0:
            return zero_of(grad)
        return grad * conj(exponent * input ** (exponent - 1))
    slope = exponent * input ** (exponent - 1)
    return where(exponent == 0, 0, grad * conj(slope))


def _exponent_rule(grad: Any, input: Any, exponent: Any, result: Any) -> Any:
    """result * log(input); 0 where input is 0 and the exponent is not negative."""
    if isinstance(input, (int, float, complex)) and input != 0:
        if isinstance(input, complex) or (input < 0 and holds_complex(result)):
            logarithm: Any = cmath.log(input)
        else:
            logarithm = math.log(input) if input > 0 else math.nan
        return grad * conj(result * logarithm)
    power = find("real")(exponent) if holds_complex(exponent) else exponent
    flat = (power >= 0) & (input == 0)
    base = where(flat, 0 * result + 1, input)  # of the result's type: a negative one may be complex
    return where(flat, 0, grad * conj(result * log(base)))


def _whole_power(xp: Any, input: Any, exponent: Any) -> Any:
    """A power of integers; one below 1 is rounded towards 0."""
    if exponent.ndim == 0 and type(exponent) is NDARRAY and exponent < 0:
        raise RuntimeError("integers to negative integer powers are fractions; convert to float")
    result = xp.power(input, xp.maximum(exponent, 0))
    odd = xp.where(exponent % 2 == 0, 1, input)
    return xp.where(exponent < 0, xp.where(xp.absolute(input) == 1, odd, 0), result)


@elementwise(input=_base_rule, exponent=_exponent_rule, domain=(0.5, 3.0))
def pow(xp: Any, input: Any, exponent: Any) -> Any:
    """input to the power of exponent."""
    if kind_of(exponent) == "b":
        raise NotImplementedError("pow() is not implemented for bool; convert with .to(...) first")
    if kind_of(exponent) == "i":
        return _whole_power(xp, input, exponent)
    return xp.power(input, exponent)


@elementwise(
    input=_base_rule,
    exponent=_exponent_rule,
    promotes="",  # an exponent that is a number keeps its digits
    inplace=False,
    domain=(0.5, 3.0),
    wide=False,  # its gradients come in double precision
    node_name="PowBackward1",
)
def float_power(xp: Any, input: Any, exponent: Any) -> Any:
    """input to the power of exponent, in double precision."""
    double = "complex128" if holds_complex(input) or holds_complex(exponent) else "float64"
    return xp.power(xp.asarray(input, dtype=double), xp.asarray(exponent, dtype=double))


@composite
def float_power_(input: Any, exponent: Any) -> Any:
    """In-place form of float_power, for tensors of double precision."""
    double = "complex128" if holds_complex(input) or holds_complex(exponent) else "float64"
    if input.dtype.name != double:
        raise RuntimeError(f"float_power_(): the result is {double}, the tensor {input.dtype.name}")
    return apply_inplace(float_power, [input, exponent])


@elementwise(input=lambda grad, result: grad * conj(result), floats=True)
def exp(xp: Any, input: Any) -> Any:
    """e to the power of each element."""
    return xp.exp(input)


_LOG_2 = math.log(2)
_LOG_10 = math.log(10)


@elementwise(input=lambda grad, result: grad * (conj(result) * _LOG_2), floats=True)
def exp2(xp: Any, input: Any) -> Any:
    """2 to the power of each element."""
    return xp.exp(input * _LOG_2) if input.dtype.kind == "c" else xp.exp2(input)


@elementwise(input=lambda grad, result: grad * (conj(result) + 1), floats=True)
def expm1(xp: Any, input: Any) -> Any:
    """exp(input) - 1, exact for small elements."""
    return xp.expm1(input)


@elementwise(input=lambda grad, input: grad / conj(input), floats=True, domain=(0.5, 3.0))
def log(xp: Any, input: Any) -> Any:
    """Natural logarithm."""
    return xp.log(input)


@elementwise(
    input=lambda grad, input: grad / (conj(input) * _LOG_2), floats=True, domain=(0.5, 3.0)
)
def log2(xp: Any, input: Any) -> Any:
    """Logarithm to base 2."""
    return xp.log2(input)


@elementwise(
    input=lambda grad, input: grad / (conj(input) * _LOG_10), floats=True, domain=(0.5, 3.0)
)
def log10(xp: Any, input: Any) -> Any:
    """Logarithm to base 10."""
    return xp.log10(input)


@elementwise(input=lambda grad, input: grad / (conj(input) + 1), floats=True, domain=(-0.5, 3.0))
def log1p(xp: Any, input: Any) -> Any:
    """log(1 + input), exact for small elements."""
    return xp.log1p(input)


def complex_logaddexp(xp: Any, a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), the one of larger real part taken out."""
    larger = xp.where(a.real >= b.real, a, b)
    smaller = xp.where(a.real >= b.real, b, a)
    return xp.where(xp.isinf(larger.real), larger, larger + xp.log1p(xp.exp(smaller - larger)))


@elementwise(
    input=lambda grad, input, other: grad / conj(1 + exp(other - input)),
    other=lambda grad, input, other: grad / conj(1 + exp(input - other)),
    floats=True,
    inplace=False,
)
def logaddexp(xp: Any, input: Any, other: Any) -> Any:
    """log(exp(input) + exp(other)), without overflow."""
    if holds_complex(input):
        return complex_logaddexp(xp, input, other)
    return xp.logaddexp(input, other)


@elementwise(
    input=lambda grad, input, other: grad / (1 + exp2(other - input)),
    other=lambda grad, input, other: grad / (1 + exp2(input - other)),
    floats=True,
    inplace=False,
)
def logaddexp2(xp: Any, input: Any, other: Any) -> Any:
    """log2(2 ** input + 2 ** other), without overflow."""
    return xp.logaddexp2(input, other)


@composite
def ldexp(input: Any, other: Any) -> Any:
    """input * 2 ** other."""
    result = mul(input, pow(2.0, other))
    keeps = input.is_floating_point() and not other.is_floating_point()
    return result.to(input.dtype) if keeps else result


@composite
def ldexp_(input: Any, other: Any) -> Any:
    """In-place form of ldexp."""
    return apply_inplace(mul, [input, pow(2.0, other)])


# ---- rounding ----


@elementwise(input=lambda grad: zero_of(grad), domain=(0.1, 0.9))
def floor(xp: Any, input: Any) -> Any:
    """The largest whole number that is not above the element."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.floor(input)


@elementwise(input=lambda grad: zero_of(grad), domain=(0.1, 0.9))
def ceil(xp: Any, input: Any) -> Any:
    """The smallest whole number that is not below the element."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.ceil(input)


@elementwise(input=lambda grad: zero_of(grad), domain=(0.1, 0.9))
def trunc(xp: Any, input: Any) -> Any:
    """The whole number without the fraction."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.trunc(input)


@elementwise(input=lambda grad: zero_of(grad), domain=(0.1, 0.4))
def round(xp: Any, input: Any, *, decimals: int = 0) -> Any:
    """The nearest number with `decimals` decimals; halves go to the even one."""
    return xp.array(input) if input.dtype.kind in "iu" else xp.round(input, decimals)


@elementwise(input=lambda grad: grad, domain=(0.1, 0.9))
def frac(xp: Any, input: Any) -> Any:
    """The fraction, with the sign of the element."""
    if input.dtype.kind in "biu":
        raise NotImplementedError(f"frac() is not implemented for {input.dtype}")
    return input - xp.trunc(input)


# ---- extremes and bounds ----


@elementwise(
    input=lambda grad, input, other: where(input == other, grad / 2, where(input < other, 0, grad)),
    other=lambda grad, input, other: where(input == other, grad / 2, where(input > other, 0, grad)),
    inplace=False,
)
def maximum(xp: Any, input: Any, other: Any) -> Any:
    """The larger element, nan if either is nan; equal ones share the gradient."""
    refuse_complex("maximum", input)
    return xp.maximum(input, other)


@elementwise(
    input=lambda grad, input, other: where(input == other, grad / 2, where(input > other, 0, grad)),
    other=lambda grad, input, other: where(input == other, grad / 2, where(input < other, 0, grad)),
    inplace=False,
)
def minimum(xp: Any, input: Any, other: Any) -> Any:
    """The smaller element, nan if either is nan; equal ones share the gradient."""
    refuse_complex("minimum", input)
    return xp.minimum(input, other)


@elementwise(
    input=lambda grad, input, other: where((input >= other) | isnan(other), grad, 0),
    other=lambda grad, input, other: where((input >= other) | isnan(other), 0, grad),
    inplace=False,
)
def fmax(xp: Any, input: Any, other: Any) -> Any:
    """The larger element; a nan gives way to a number."""
    refuse_complex("fmax", input)
    return xp.fmax(input, other)


@elementwise(
    input=lambda grad, input, other: where((input <= other) | isnan(other), grad, 0),
    other=lambda grad, input, other: where((input <= other) | isnan(other), 0, grad),
    inplace=False,
)
def fmin(xp: Any, input: Any, other: Any) -> Any:
    """The smaller element; a nan gives way to a number."""
    refuse_complex("fmin", input)
    return xp.fmin(input, other)


def _clamp_rule(grad: Any, input: Any, min: Any, max: Any) -> Any:
    """The gradient passes where the element lies within the bounds, or on them."""
    if max is None:
        return where(input >= min, grad, 0)
    if min is None:
        return where(input <= max, grad, 0)
    return where((input >= min) & (input <= max), grad, 0)


def _lower_bound_rule(grad: Any, input: Any, min: Any, max: Any) -> Any:
    below = input < min
    return where(below if max is None else below & (min < max), grad, 0)


def _upper_bound_rule(grad: Any, input: Any, min: Any, max: Any) -> Any:
    above = input > max
    return where(above if min is None else above | (max < min), grad, 0)


@elementwise(
    input=_clamp_rule,
    min=_lower_bound_rule,
    max=_upper_bound_rule,
    promotes="input min max",
    node_name="ClampBackward1",
)
def clamp(xp: Any, input: Any, min: Any = None, max: Any = None) -> Any:
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
)
def clamp_min(xp: Any, input: Any, min: Any) -> Any:
    """input, but at least min."""
    return xp.maximum(input, min)


@elementwise(
    input=lambda grad, input, max: where(input <= max, grad, 0),
    max=lambda grad, input, max: where(input > max, grad, 0),
)
def clamp_max(xp: Any, input: Any, max: Any) -> Any:
    """input, but at most max."""
    return xp.minimum(input, max)


@elementwise(input=lambda grad, input: where(isfinite(input), grad, 0), wide=False)
def nan_to_num(
    xp: Any, input: Any, nan: float | None = None, posinf: Any = None, neginf: Any = None
) -> Any:
    """input with nan replaced by a number, infinities by numbers or the largest finite ones."""
    if input.dtype.name == "bfloat16":  # none of NumPy's own types, so that it knows no limits
        high = 3.3895313892515355e38 if posinf is None else posinf
        low = -3.3895313892515355e38 if neginf is None else neginf
        finite = xp.where(input == math.inf, high, xp.where(input == -math.inf, low, input))
        return xp.where(xp.isnan(input), nan or 0.0, finite).astype(input.dtype)
    return xp.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@elementwise(
    input=refused_derivative("heaviside"), values=refused_derivative("heaviside"), promotes=""
)
def heaviside(xp: Any, input: Any, values: Any) -> Any:
    """0 below 0, 1 above, values at 0."""
    if input.dtype.kind == "c":
        raise RuntimeError("heaviside is not implemented for complex tensors")
    if input.dtype != values.dtype:
        raise RuntimeError("input and values must have one data type; convert one with .to(...)")
    return xp.where(input == 0, values, (input > 0).astype(input.dtype))


ALIASES = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "divide_": "div_",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "negative": "neg",
    "absolute": "abs",
    "absolute_": "abs_",
    "fix": "trunc",
    "clip": "clamp",
}
