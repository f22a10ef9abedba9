"""Comparison, logic, bits and tests of each element: ops whose results carry no gradient."""

from typing import Any

from adjoint.ops.op import composite, elementwise


def kind_of(value: Any) -> str:
    """The kind of an array's data type ("b", "i", "u", "f", "c"); "" if value is no array."""
    data_type = getattr(value, "dtype", None)
    return "" if data_type is None else str(data_type.kind)


def refuse_complex(name: str, value: Any) -> None:
    """Refuse complex numbers, which have no order."""
    if kind_of(value) == "c":
        raise NotImplementedError(
            f"{name}() is not implemented for complex numbers, which have no order; look at abs(), "
            ".real or .imag"
        )


@elementwise()
def eq(xp: Any, input: Any, other: Any) -> Any:
    """input == other."""
    return xp.equal(input, other)


@elementwise()
def ne(xp: Any, input: Any, other: Any) -> Any:
    """input != other."""
    return xp.not_equal(input, other)


@elementwise()
def lt(xp: Any, input: Any, other: Any) -> Any:
    """input < other."""
    refuse_complex("lt", input)
    return xp.less(input, other)


@elementwise()
def le(xp: Any, input: Any, other: Any) -> Any:
    """input <= other."""
    refuse_complex("le", input)
    return xp.less_equal(input, other)


@elementwise()
def gt(xp: Any, input: Any, other: Any) -> Any:
    """input > other."""
    refuse_complex("gt", input)
    return xp.greater(input, other)


@elementwise()
def ge(xp: Any, input: Any, other: Any) -> Any:
    """input >= other."""
    refuse_complex("ge", input)
    return xp.greater_equal(input, other)


@elementwise()
def logical_and(xp: Any, input: Any, other: Any) -> Any:
    """Whether both elements are nonzero."""
    return xp.logical_and(input, other)


@elementwise()
def logical_or(xp: Any, input: Any, other: Any) -> Any:
    """Whether at least one element is nonzero."""
    return xp.logical_or(input, other)


@elementwise()
def logical_xor(xp: Any, input: Any, other: Any) -> Any:
    """Whether exactly one element is nonzero."""
    return xp.logical_xor(input, other)


@elementwise()
def logical_not(xp: Any, input: Any) -> Any:
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
def bitwise_and(xp: Any, input: Any, other: Any) -> Any:
    """The bits set in both."""
    refuse_fractions("bitwise_and", input)
    return xp.bitwise_and(input, other)


@elementwise()
def bitwise_or(xp: Any, input: Any, other: Any) -> Any:
    """The bits set in at least one."""
    refuse_fractions("bitwise_or", input)
    return xp.bitwise_or(input, other)


@elementwise()
def bitwise_xor(xp: Any, input: Any, other: Any) -> Any:
    """The bits set in exactly one."""
    refuse_fractions("bitwise_xor", input)
    return xp.bitwise_xor(input, other)


@elementwise(exact_out=True)
def bitwise_not(xp: Any, input: Any) -> Any:
    """Every bit turned over."""
    refuse_fractions("bitwise_not", input)
    return xp.invert(input)


@elementwise()
def bitwise_left_shift(xp: Any, input: Any, other: Any) -> Any:
    """The bits moved up by other places."""
    refuse_fractions("bitwise_left_shift", input, "iu")
    return xp.left_shift(input, other)


@elementwise()
def bitwise_right_shift(xp: Any, input: Any, other: Any) -> Any:
    """The bits moved down by other places; the sign stays."""
    refuse_fractions("bitwise_right_shift", input, "iu")
    return xp.right_shift(input, other)


@elementwise()
def gcd(xp: Any, input: Any, other: Any) -> Any:
    """Greatest common divisor."""
    refuse_fractions("gcd", input, "iu")
    return xp.gcd(input, other)


@elementwise()
def lcm(xp: Any, input: Any, other: Any) -> Any:
    """Least common multiple."""
    refuse_fractions("lcm", input, "iu")
    return xp.lcm(input, other)


@elementwise(inplace=False)
def isnan(xp: Any, input: Any) -> Any:
    """Whether the element is not a number."""
    return xp.isnan(input)


@elementwise(inplace=False)
def isinf(xp: Any, input: Any) -> Any:
    """Whether the element is infinite."""
    return xp.isinf(input)


@elementwise(inplace=False)
def isfinite(xp: Any, input: Any) -> Any:
    """Whether the element is neither infinite nor nan."""
    return xp.isfinite(input)


@elementwise(inplace=False, exact_out=True)
def isposinf(xp: Any, input: Any) -> Any:
    """Whether the element is positive infinity."""
    refuse_complex("isposinf", input)
    return xp.logical_and(xp.isinf(input), input > 0)


@elementwise(inplace=False, exact_out=True)
def isneginf(xp: Any, input: Any) -> Any:
    """Whether the element is negative infinity."""
    refuse_complex("isneginf", input)
    return xp.logical_and(xp.isinf(input), input < 0)


@elementwise(inplace=False)
def isreal(xp: Any, input: Any) -> Any:
    """Whether the imaginary part is zero."""
    if input.dtype.kind == "c":
        return xp.imag(input) == 0
    return xp.ones_like(input, dtype=bool)


@elementwise(inplace=False, exact_out=True)
def signbit(xp: Any, input: Any) -> Any:
    """Whether the sign is set; true of -0.0."""
    return input < 0 if input.dtype.kind in "biu" else xp.signbit(input)


@elementwise(inplace=False)
def isclose(
    xp: Any,
    input: Any,
    other: Any,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Any:
    """Whether the elements differ by at most atol + rtol * |other|."""
    return xp.isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


@composite
def allclose(
    input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether every element is close to its counterpart."""
    close = isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return bool(close.numpy_array().all())


@composite
def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same shape and the same elements."""
    if input.shape != other.shape:
        return False
    return bool(eq(input, other).numpy_array().all())


ALIASES = {
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
