"""Comparison, logic, bits and tests of each element: ops whose results carry no gradient."""

from typing import Any

from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.op import composite, elementwise


def kind_of(value: Any) -> str:
    """The kind of an array's data type ("b", "i", "u", "f", "c"); "" if value is no array."""
    data_type = getattr(value, "dtype", None)
    return "" if data_type is None else str(data_type.kind)


def refuse_complex(name: str, value: Any) -> None:
    """Refuse complex numbers, which have no order."""
    if kind_of(value) in ("c", "W"):
        raise NotImplementedError(
            f"{name}() is not implemented for complex numbers, which have no order; look at abs(), "
            ".real or .imag"
        )


@elementwise(numpy="equal")
def eq(xp: Any, input: Array, other: Operand) -> Array:
    """input == other."""
    return xp.equal(input, other)


@elementwise(also="not_equal")
def ne(xp: Any, input: Array, other: Operand) -> Array:
    """input != other."""
    return xp.not_equal(input, other)


@elementwise(also="less")
def lt(xp: Any, input: Array, other: Operand) -> Array:
    """input < other."""
    refuse_complex("lt", input)
    return xp.less(input, other)


@elementwise(also="less_equal")
def le(xp: Any, input: Array, other: Operand) -> Array:
    """input <= other."""
    refuse_complex("le", input)
    return xp.less_equal(input, other)


@elementwise(also="greater")
def gt(xp: Any, input: Array, other: Operand) -> Array:
    """input > other."""
    refuse_complex("gt", input)
    return xp.greater(input, other)


@elementwise(also="greater_equal")
def ge(xp: Any, input: Array, other: Operand) -> Array:
    """input >= other."""
    refuse_complex("ge", input)
    return xp.greater_equal(input, other)


@elementwise()
def logical_and(xp: Any, input: Array, other: Array) -> Array:
    """Whether both elements are nonzero."""
    return xp.logical_and(input, other)


@elementwise()
def logical_or(xp: Any, input: Array, other: Array) -> Array:
    """Whether at least one element is nonzero."""
    return xp.logical_or(input, other)


@elementwise()
def logical_xor(xp: Any, input: Array, other: Array) -> Array:
    """Whether exactly one element is nonzero."""
    return xp.logical_xor(input, other)


@elementwise()
def logical_not(xp: Any, input: Array) -> Array:
    """Whether the element is zero."""
    return xp.logical_not(input)


def refuse_fractions(name: str, array: Any, kinds: str = "biu") -> None:
    """Refuse a data type that has no bits to work on."""
    if array.dtype.kind not in kinds:
        allowed = "integers and bool" if "b" in kinds else "integers"
        raise NotImplementedError(
            f"{name}() is not implemented for {array.dtype}, but for {allowed}; convert with "
            ".to(...) first"
        )


@elementwise()
def bitwise_and(xp: Any, input: Operand, other: Operand) -> Array:
    """The bits set in both."""
    refuse_fractions("bitwise_and", input)
    return xp.bitwise_and(input, other)


@elementwise()
def bitwise_or(xp: Any, input: Operand, other: Operand) -> Array:
    """The bits set in at least one."""
    refuse_fractions("bitwise_or", input)
    return xp.bitwise_or(input, other)


@elementwise()
def bitwise_xor(xp: Any, input: Operand, other: Operand) -> Array:
    """The bits set in exactly one."""
    refuse_fractions("bitwise_xor", input)
    return xp.bitwise_xor(input, other)


@elementwise(exact_out=True, numpy="invert")
def bitwise_not(xp: Any, input: Array) -> Array:
    """Every bit turned over."""
    if input.dtype.kind == "b":  # of which NumPy's other function takes less time
        return xp.logical_not(input)
    refuse_fractions("bitwise_not", input)
    return xp.invert(input)


@elementwise(numpy="left_shift")
def bitwise_left_shift(xp: Any, input: Operand, other: Operand) -> Array:
    """The bits moved up by other places."""
    refuse_fractions("bitwise_left_shift", input, "iu")
    return xp.left_shift(input, other)


@elementwise(numpy="right_shift")
def bitwise_right_shift(xp: Any, input: Operand, other: Operand) -> Array:
    """The bits moved down by other places; the sign stays."""
    refuse_fractions("bitwise_right_shift", input, "iu")
    return xp.right_shift(input, other)


@elementwise(inplace="function")
def gcd(xp: Any, input: Array, other: Array) -> Array:
    """Greatest common divisor."""
    refuse_fractions("gcd", input, "iu")
    return xp.gcd(input, other)


@elementwise(inplace="function")
def lcm(xp: Any, input: Array, other: Array) -> Array:
    """Least common multiple."""
    refuse_fractions("lcm", input, "iu")
    return xp.lcm(input, other)


@elementwise(inplace=False)
def isnan(xp: Any, input: Array) -> Array:
    """Whether the element is not a number."""
    return xp.isnan(input)


@elementwise(inplace=False)
def isinf(xp: Any, input: Array) -> Array:
    """Whether the element is infinite."""
    return xp.isinf(input)


@elementwise(inplace=False)
def isfinite(xp: Any, input: Array) -> Array:
    """Whether the element is neither infinite nor nan."""
    return xp.isfinite(input)


@elementwise(inplace=False, exact_out=True)
def isposinf(xp: Any, input: Array) -> Array:
    """Whether the element is positive infinity."""
    refuse_complex("isposinf", input)
    return xp.logical_and(xp.isinf(input), input > 0)


@elementwise(inplace=False, exact_out=True)
def isneginf(xp: Any, input: Array) -> Array:
    """Whether the element is negative infinity."""
    refuse_complex("isneginf", input)
    return xp.logical_and(xp.isinf(input), input < 0)


@elementwise(inplace=False)
def isreal(xp: Any, input: Array) -> Array:
    """Whether the imaginary part is zero."""
    if input.dtype.kind == "c":
        return xp.imag(input) == 0
    return xp.ones_like(input, dtype=bool)


@elementwise(inplace=False, exact_out=True)
def signbit(xp: Any, input: Array) -> Array:
    """Whether the sign is set; true of -0.0."""
    return input < 0 if input.dtype.kind in "biu" else xp.signbit(input)


@elementwise(inplace=False, numpy=True)
def isclose(
    xp: Any,
    input: Array,
    other: Array,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Whether the elements differ by at most atol + rtol * |other|."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"isclose(): {name} must not be negative, got {value}")
    if input.dtype.kind in "iu" and not (rtol or atol):
        return xp.equal(input, other)  # floats would not tell large ones apart
    return xp.isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@composite(numpy=True)
def allclose(
    input: Value, other: Value, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether every element is close to its counterpart."""
    close = isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return bool(close.numpy_array().all())


@composite(numpy="array_equal")
def equal(input: Value, other: Value) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    if input.shape != other.shape:
        return False
    return bool(eq(input, other).numpy_array().all())
