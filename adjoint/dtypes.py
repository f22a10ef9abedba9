"""The data types, their NumPy counterparts, and PyTorch's rules of promotion."""

import functools
from typing import Any, Final

import numpy as np

NumpyDtype: Final = np.dtype


class dtype:
    """One element type; there is exactly one object for each, so `is` compares them."""

    def __init__(self, name: str, numpy_dtype: Any, rank: int) -> None:
        self.name = name
        self.numpy_dtype = numpy_dtype
        self.category = category_of(numpy_dtype)
        # So that arrays and tensors can be asked alike.
        self.kind: str = "c" if self.category == COMPLEX else numpy_dtype.kind
        self.rank = rank
        self.itemsize: int = numpy_dtype.itemsize
        self.is_floating_point = self.category == FLOAT
        self.is_complex = self.category == COMPLEX
        self.is_signed = self.category >= FLOAT or numpy_dtype.kind == "i"

    def __repr__(self) -> str:
        return f"adjoint.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (by_name, (self.name,))

    @property
    def abbr(self) -> str:
        """The name in short: f32, bf16, i64, b8."""
        if self.category == BOOL:
            return "b8"
        word = self.name.rstrip("0123456789")
        return _SHORT.get(word, word) + self.name[len(word) :]

    def to_real(self) -> "dtype":
        """The real type of a complex one; itself otherwise."""
        return _REAL_OF.get(self, self)

    def to_complex(self) -> "dtype":
        """The complex type whose parts are this one."""
        if self.category < FLOAT:
            raise RuntimeError(f"no complex type has parts of {self.name}")
        return _COMPLEX_OF.get(self, self)


_SHORT: Final = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}
BOOL: Final = 0
INTEGER: Final = 1
FLOAT: Final = 2
COMPLEX: Final = 3
_CATEGORY_OF_KIND: Final = {
    "b": BOOL,
    "i": INTEGER,
    "u": INTEGER,
    "f": FLOAT,
    "c": COMPLEX,
    "W": COMPLEX,  # ml_dtypes' complex32; its bfloat16 is "V", and counts as float
}


def category_of(data_type: Any) -> int:
    """bool, integer, float or complex, of a dtype of ours or of NumPy's."""
    return _CATEGORY_OF_KIND.get(data_type.kind, FLOAT)


# `bool`, `int` and `float` keep their Python meaning here; `adjoint.bool` is `bool_`.
bool_ = dtype("bool", np.dtype(np.bool_), 0)
uint8 = dtype("uint8", np.dtype(np.uint8), 1)
int8 = dtype("int8", np.dtype(np.int8), 2)
int16 = dtype("int16", np.dtype(np.int16), 3)
int32 = dtype("int32", np.dtype(np.int32), 4)
int64 = dtype("int64", np.dtype(np.int64), 5)
float16 = dtype("float16", np.dtype(np.float16), 7)
float32 = dtype("float32", np.dtype(np.float32), 8)
float64 = dtype("float64", np.dtype(np.float64), 9)
complex64 = dtype("complex64", np.dtype(np.complex64), 11)
complex128 = dtype("complex128", np.dtype(np.complex128), 12)
uint16 = dtype("uint16", np.dtype(np.uint16), 3)
uint32 = dtype("uint32", np.dtype(np.uint32), 4)
uint64 = dtype("uint64", np.dtype(np.uint64), 5)

_BY_NUMPY: dict[Any, dtype] = {}
_BY_NAME: dict[str, dtype] = {}


def _register(new: dtype, *aliases: str) -> None:
    _BY_NUMPY[new.numpy_dtype] = new
    for name in (new.name, *aliases):
        _BY_NAME[name] = new


for _dtype in (bool_, uint8, int8, uint16, uint32, uint64, complex64, complex128):
    _register(_dtype)
_register(int16, "short")
_register(int32, "int")
_register(int64, "long")
_register(float16, "half")
_register(float32, "float")
_register(float64, "double")

try:
    import ml_dtypes

    _bfloat16 = dtype("bfloat16", np.dtype(ml_dtypes.bfloat16), 6)
    _register(_bfloat16)
    bfloat16: dtype | None = _bfloat16
except ImportError:
    bfloat16 = None

try:
    from ml_dtypes import complex32 as _pairs  # since 0.6

    _complex32 = dtype("complex32", np.dtype(_pairs), 10)
    _register(_complex32, "chalf")
    complex32: dtype | None = _complex32
except ImportError:
    complex32 = None

_UNSIGNED = (uint16, uint32, uint64)
_REAL_OF = {complex64: float32, complex128: float64}
_COMPLEX_OF = {float16: complex64, float32: complex64, float64: complex128}
if bfloat16 is not None:
    _COMPLEX_OF[bfloat16] = complex64
if complex32 is not None:
    _COMPLEX_OF[float16] = complex32
    _REAL_OF[complex32] = float16
_PYTHON_TYPES: dict[Any, Any] = {bool: bool_, int: int64, float: float64, complex: complex128}

ALL: Final = tuple(dict.fromkeys(_BY_NAME.values()))


def by_name(name: str) -> dtype:
    """The data type called `name` (pickles refer to data types by it)."""
    return _BY_NAME[name]


def make_known(new: dtype) -> None:
    """Let a data type that no tensor has be found by its name: pickles and schemas mention it."""
    _BY_NAME.setdefault(new.name, new)


class _Defaults:
    """What factory functions and int → float promotion use."""

    def __init__(self) -> None:
        self.floating = float32


defaults = _Defaults()


def get_default_dtype() -> dtype:
    """The floating type of new tensors made from Python numbers."""
    return defaults.floating


def set_default_dtype(d: dtype) -> None:
    """Change it; only floating types are accepted."""
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise TypeError(f"set_default_dtype: only floating-point types are supported, got {d!r}")
    defaults.floating = d


def default_complex() -> dtype:
    """The complex type that goes with the default floating type."""
    return defaults.floating.to_complex()


def from_numpy_dtype(numpy_dtype: Any) -> dtype:
    """The dtype of a NumPy dtype; a TypeError for those we have none for."""
    found = _BY_NUMPY.get(numpy_dtype)
    if found is None:
        names = ", ".join(d.name for d in ALL)
        raise TypeError(
            f"can't hold NumPy's {numpy_dtype}: the supported data types are {names}. "
            "Convert with .astype(...) first."
        )
    return found


def as_dtype(value: Any) -> dtype:
    """A dtype from ours, NumPy's, or Python's bool, int, float, complex."""
    if isinstance(value, dtype):
        return value
    if value in _PYTHON_TYPES:
        found: dtype = _PYTHON_TYPES[value]
        return found
    return from_numpy_dtype(np.dtype(value))


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type both convert to, by PyTorch's table."""
    if type1 is type2:
        return type1
    if (
        (type1 in _UNSIGNED or type2 in _UNSIGNED)
        and type1.category <= INTEGER
        and type2.category <= INTEGER
    ):
        raise RuntimeError(
            f"promotion of {type1!r} with {type2!r} is not defined; cast one of them"
        )
    if type1.category != type2.category:
        low, high = (type1, type2) if type1.category < type2.category else (type2, type1)
        if high.category == COMPLEX and low.category == FLOAT:
            return from_numpy_dtype(
                np.promote_types(low.to_complex().numpy_dtype, high.numpy_dtype)
            )
        return high
    if type1.category == FLOAT:
        if type1.itemsize == 2 and type2.itemsize == 2:
            return float32
        return type1 if type1.itemsize > type2.itemsize else type2
    promoted = np.promote_types(type1.numpy_dtype, type2.numpy_dtype)
    if type1.category == INTEGER and promoted.kind == "f":
        raise TypeError(
            f"promote_types: no integer type holds both {type1!r} and {type2!r}; cast one first"
        )
    return from_numpy_dtype(promoted)


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether a result of type `from_` may be written into `to` (no category is lost)."""
    if to is bool_:
        return from_ is bool_
    return from_.category <= to.category


def fitted_integer(number: float, numpy_dtype: Any, wraps: bool = False) -> int:
    """A Python number as an integer type holds it.

    One that is too large wraps around if asked to, and a negative one of an unsigned type always,
    as in PyTorch; else it is refused, as a float outside of the type's limits is always.
    """
    bits: int = 8 * numpy_dtype.itemsize
    low = -(1 << (bits - 1)) if numpy_dtype.kind == "i" else 0
    if isinstance(number, float):
        if not low <= number < low + (1 << bits):  # nan is not, either
            raise RuntimeError(f"{number} cannot be converted to type {numpy_dtype}")
        return int(number)
    distance = number - low
    if 0 <= distance < 1 << bits:
        return number
    if not -(1 << 63) <= number < 1 << 64:
        raise OverflowError(f"{number} has more than 64 bits; write it as a float")
    if not wraps and not (low == 0 and -(1 << bits) <= number < 0):
        raise RuntimeError(f"value cannot be converted to type {numpy_dtype} without overflow")
    return distance % (1 << bits) + low


def as_real(number: Any) -> Any:
    """A complex number without imaginary part as a real one; any other value as it is."""
    return number.real if isinstance(number, complex) and not number.imag else number


def refuse_factor(factor: object, data_type: Any, name: str = "alpha") -> None:
    """Refuse a factor of a higher category than the result's, and a bool of anything but bools."""
    held = category_of(data_type)
    if isinstance(factor, np.generic):
        factor = factor.item()
    bools = isinstance(factor, bool) and held != BOOL
    floats = isinstance(factor, float) and held < FLOAT
    if bools or floats or (isinstance(factor, complex) and held < COMPLEX):
        raise RuntimeError(f"{name}={factor} does not fit {data_type}; convert the tensors first")


def real_factor(number: Any, tensor: Any) -> Any:
    """A factor of a tensor's elements; refused if it is complex and they are not."""
    number = as_real(number)
    if isinstance(number, complex):
        refuse_factor(number, tensor.dtype, "a factor")
    return number


def refuse_kinds(name: str, value: Any, kinds: str) -> None:
    """Refuse a tensor or array whose data type is of one of the kinds, by NumPy's letters."""
    kind = getattr(value, "dtype", None)
    if kind is float32:  # which is most often so
        return
    letter = getattr(getattr(kind, "numpy_dtype", kind), "kind", "")
    if letter and ("c" if letter == "W" else letter) in kinds:
        raise NotImplementedError(f"{name}() is not implemented for {kind}; convert with .to(...)")


def refusing_forward(name: str, forward: Any, kinds: str) -> Any:
    """A forward that refuses a first argument of these kinds."""

    @functools.wraps(forward)
    def call(xp: Any, first: Any, *args: Any, **named: Any) -> Any:
        refuse_kinds(name, first, kinds)
        return forward(xp, first, *args, **named)

    return call


def of_python_scalar(value: object) -> dtype:
    """The type a Python number has when it stands alone."""
    kind = type(value)
    if kind is bool:
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return defaults.floating
    if isinstance(value, complex):
        return default_complex()
    if isinstance(value, np.generic):
        return of_python_scalar(value.item())
    raise TypeError(f"expected a number, got {kind.__name__}")


def result_of(dimensioned: list[dtype], zero_dim: list[dtype], scalars: list[dtype]) -> dtype:
    """PyTorch's result type: 0-d tensors, then Python numbers, only matter by category."""
    result: dtype | None = None
    for group in (scalars, zero_dim, dimensioned):
        best: dtype | None = None
        for d in group:
            best = d if best is None else promote_types(best, d)
        if best is not None:
            result = best if result is None else _outrank(best, result)
    if result is None:
        raise ValueError("result_of: nothing to promote")
    return result


def _outrank(stronger: dtype, weaker: dtype) -> dtype:
    """What remains of a weaker operand's type: its category, if that is higher."""
    if stronger.is_complex:
        return stronger
    if stronger.is_floating_point:
        return stronger.to_complex() if weaker.is_complex else stronger
    if stronger is bool_ or weaker.category >= FLOAT:
        return promote_types(stronger, weaker)
    return stronger
