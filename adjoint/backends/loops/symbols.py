"""Symbols: arrays of one element whose value is not known yet, and what forwards make of them.

A forward or a rule that runs on symbols leaves an expression, equal parts of it shared. What asks
for a value or a shape is refused; of a number it may ask, and what it was told becomes a condition.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from adjoint.backends import Backend, Namespace, register
from adjoint.device import CPU, device

BOOL: Final = np.dtype(bool)
DOUBLE: Final = np.dtype(float)

# The functions of NumPy that an expression may hold, by how many operands they have.
ONE: Final = """
    absolute arccos arccosh arcsin arcsinh arctan arctanh ceil cos cosh exp exp2 expm1 floor log
    log10 log1p log2 negative reciprocal rint sign sin sinh sqrt tan tanh trunc
"""
TWO: Final = """
    add arctan2 copysign divide floor_divide fmax fmin fmod hypot logaddexp logaddexp2 maximum
    minimum multiply nextafter power remainder subtract
"""
FUNCTIONS: Final = frozenset(f"{ONE} {TWO}".split())
COMPARISONS: Final = frozenset(
    "equal greater greater_equal less less_equal not_equal".split()  # noqa: SIM905  a sentence
)
TESTS: Final = frozenset(("isfinite", "isinf", "isnan", "signbit"))
LOGIC: Final = frozenset(("logical_and", "logical_not", "logical_or", "logical_xor"))
_SPECIAL: Final = "digamma erf erfc erfinv gammaln i0 i0e i1 i1e k0 k0e k1 k1e"
SPECIAL: Final = frozenset(_SPECIAL.split())  # by SciPy's names

# How C writes them that has no function for them, by their operands.
IN_C: Final = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "reciprocal": "1 / {0}",
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
    "isnan": "{0} != {0}",
    "logical_and": "{0} & {1}",
    "logical_not": "!{0}",
    "logical_or": "{0} | {1}",
    "logical_xor": "{0} ^ {1}",
    "where": "{0} ? {1} : {2}",
}
# And the functions whose names it has shortened.
NAMES_IN_C: Final = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "gammaln": "lgamma",
    "power": "pow",
}

REDUCTIONS: Final = frozenset(("row_max", "row_sum"))
LENGTH: Final = "length of a row"

SAME: Final = {
    "abs": "absolute",
    "true_divide": "divide",
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor",
    "invert": "logical_not",
}


class RefusedError(Exception):
    """A declaration can't be traced; the message says what it asked for."""


class Graph:
    """The symbols of one trace: equal ones are one object.

    A trace of rows may also take sums and maxima along them, which are one number for each row.
    """

    def __init__(self, kind: Any, rows: bool = False) -> None:
        self.kind = np.dtype(kind)  # of the arrays that the trace begins with
        self.rows = rows
        self.known: dict[Any, Symbol] = {}
        # What was asked of numbers, and which answer the trace has gone on with.
        self.conditions: dict[tuple[str, str, Any], bool] = {}

    def symbol(self, function: str, operands: tuple["Symbol", ...], dtype: Any, value: Any) -> Any:
        """The one symbol of this description."""
        kind = "nan" if value != value else (type(value), str(value))  # noqa: PLR0124  no NaN equals itself
        key = (function, tuple([id(operand) for operand in operands]), dtype, kind)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Symbol(self, function, operands, dtype, value)
        return found

    def element(self, name: str) -> "Symbol":
        """One element of an array that the trace begins with."""
        return self.symbol("array", (), self.kind, name)  # type: ignore[no-any-return]  # it is one

    def column(self, name: str) -> "Symbol":
        """An array with one number for each row."""
        return self.symbol("column", (), self.kind, name)  # type: ignore[no-any-return]  # it is one

    def number(self, name: str, sample: float) -> "Number":
        """A number that the trace begins with; conditions are decided as for the sample."""
        return Number(self.symbol("number", (), DOUBLE, name), sample)

    def constant(self, value: Any, dtype: Any) -> Any:
        """A number that is known, in a data type."""
        return self.symbol("constant", (), dtype, bool(value) if dtype == BOOL else float(value))

    def cast(self, value: Any, dtype: Any) -> Any:
        """A symbol or a number in a data type."""
        if isinstance(value, Number):
            value = value.symbol
        if not isinstance(value, Symbol):
            if not isinstance(value, (bool, int, float, np.generic)):
                raise RefusedError(f"it computes with {type(value).__name__}")
            return self.constant(value, dtype)
        if value.dtype == dtype:
            return value
        if dtype.kind not in "fb":
            raise RefusedError(f"it computes in {dtype}")
        if dtype == BOOL:
            return self.symbol("not_equal", (value, self.constant(0, value.dtype)), BOOL, None)
        return self.symbol("cast", (value,), dtype, None)

    def common(self, values: tuple[Any, ...]) -> Any:
        """The data type in which values meet; numbers take on that of the arrays."""
        kinds = [value.dtype for value in values if isinstance(value, Symbol)]
        floating = [kind for kind in kinds if kind != BOOL]
        if floating:
            return np.result_type(*floating)
        if any(not isinstance(value, (Symbol, bool)) for value in values):
            raise RefusedError("it computes with truth values as numbers")
        return BOOL

    def call(self, name: str, *values: Any) -> "Symbol":
        """A function of NumPy."""
        name = SAME.get(name, name)
        if name in LOGIC:
            operands = [self.cast(value, BOOL) for value in values]
            return self.symbol(name, tuple(operands), BOOL, None)  # type: ignore[no-any-return]  # it is one
        kind = self.common(values)
        if kind == BOOL and name not in COMPARISONS:
            raise RefusedError(f"it takes {name} of truth values")
        operands = [self.cast(value, kind) for value in values]
        answers = BOOL if name in COMPARISONS or name in TESTS else kind
        return self.symbol(name, tuple(operands), answers, None)  # type: ignore[no-any-return]  # it is one

    def chosen(self, condition: Any, first: Any, second: Any) -> "Symbol":
        """NumPy's where, of three arguments."""
        kind = self.common((first, second))
        operands = (self.cast(condition, BOOL), self.cast(first, kind), self.cast(second, kind))
        return self.symbol("where", operands, kind, None)  # type: ignore[no-any-return]  # it is one


class Symbol(NDArrayOperatorsMixin):
    """One element of an array, or what a function makes of such: a part of an expression."""

    __slots__ = ("dtype", "function", "graph", "operands", "value")

    def __init__(
        self, graph: Graph, function: str, operands: tuple["Symbol", ...], dtype: Any, value: Any
    ) -> None:
        self.graph = graph
        self.function = function  # "array", "number" and "constant": what it begins with
        self.operands = operands
        self.dtype = dtype
        self.value = value  # the name of an array or a number, the value of a constant

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Operators, and functions of NumPy that are called by themselves."""
        if options.keys() == {"out"} and options["out"][0] is inputs[0]:
            options = {}  # as `x /= y` does: what is called x from then on is the answer
        if method != "__call__" or options:
            raise RefusedError(f"it calls {ufunc.__name__} with {method} {sorted(options)}")
        function = getattr(symbols_backend.xp, ufunc.__name__)
        return function(*inputs)

    def astype(self, dtype: Any, **options: Any) -> Any:
        """The same in another data type."""
        return self.graph.cast(self, np.dtype(dtype))

    def conjugate(self) -> "Symbol":
        """Itself: it is real."""
        return self

    @property
    def real(self) -> "Symbol":
        """Itself."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.graph.rows and name in ("ndim", "shape", "size"):
            length = self.graph.number(LENGTH, 8.0) if self.varies() else 1
            return {"ndim": 2, "shape": (Some(), length), "size": Some()}[name]
        raise RefusedError(f"it asks for the {name} of an array")

    def __bool__(self) -> bool:
        raise RefusedError("it decides by an element")

    def varies(self) -> bool:
        """Whether it differs from element to element of a row."""
        if self.function in REDUCTIONS:
            return False
        return self.function == "array" or any(operand.varies() for operand in self.operands)

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> "Symbol":
        """The sum of each row."""
        return self._reduced("row_sum", axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> "Symbol":
        """The greatest element of each row."""
        return self._reduced("row_max", axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        """The mean of each row."""
        return self._reduced("row_sum", axis, keepdims) / self.shape[1]

    def _reduced(self, name: str, axis: Any, keepdims: bool) -> "Symbol":
        if not self.graph.rows or axis not in (1, -1, (1,), (-1,)) or not keepdims:
            raise RefusedError("it reduces an array by other than rows")
        if not self.varies():
            raise RefusedError("it reduces what is one number for each row")
        return self.graph.symbol(name, (self,), self.dtype, None)  # type: ignore[no-any-return]  # it is one

    def __getitem__(self, index: Any) -> NoReturn:
        raise RefusedError("it takes a part of an array")

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise RefusedError("it asks for values")

    def __repr__(self) -> str:
        if self.function == "constant" or not self.operands:
            return str(self.value)
        return f"{self.function}({', '.join(map(repr, self.operands))})"


class Some:
    """How many rows there are, or elements: some, of which no more can be asked."""

    def __bool__(self) -> bool:
        return True


class Number:
    """A number among the arguments: known when the loop runs, the same for all elements.

    It is computed with in double precision, as Python does, and rounded where it meets an array.
    """

    __slots__ = ("sample", "symbol")
    # isinstance() finds a float, as it will in the call; what reads its value is refused below.
    __class__ = property(lambda self: float)

    def __init__(self, symbol: Symbol, sample: float) -> None:
        self.symbol = symbol
        self.sample = sample

    def _with(self, name: str, one: Any, other: Any) -> Any:
        graph = self.symbol.graph
        if isinstance(one, Symbol) or isinstance(other, Symbol):
            return graph.call(name, one, other)
        if name == "multiply" and type(one) is int and one == 1:
            return other
        made = [graph.cast(value, DOUBLE) for value in (one, other)]
        samples = [v.sample if isinstance(v, Number) else v for v in (one, other)]
        with np.errstate(all="ignore"):
            sample = float(getattr(np, name)(*samples))
        return Number(graph.symbol(name, tuple(made), DOUBLE, None), sample)

    def _decided(self, name: str, other: Any) -> bool:
        """Whether a comparison holds, for the sample; the loop is for numbers of which it does."""
        sample = other.sample if isinstance(other, Number) else other
        asked = other.symbol.value if isinstance(other, Number) else float(other)
        if self.symbol.function != "number" or asked is None:
            raise RefusedError("it compares what it has computed of numbers")
        holds = bool(getattr(np, name)(self.sample, sample))
        self.symbol.graph.conditions[name, self.symbol.value, asked] = holds
        return holds

    def __add__(self, other: Any) -> Any:
        return self._with("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self._with("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self._with("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return self._with("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._with("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._with("divide", other, self)

    def __neg__(self) -> Any:
        return self._with("multiply", -1.0, self)

    def __lt__(self, other: Any) -> Any:
        return self._compared("less", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared("greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared("greater_equal", other)

    def __eq__(self, other: object) -> Any:
        return self._compared("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._compared("not_equal", other)

    def _compared(self, name: str, other: Any) -> Any:
        if isinstance(other, Symbol):
            return self.symbol.graph.call(name, self, other)
        if isinstance(other, (int, float, Number)):
            return self._decided(name, other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # which numbers it equals is not known

    def __float__(self) -> float:
        raise RefusedError("it asks for the value of a number")

    __int__ = __index__ = __bool__ = __float__


def _function(name: str) -> Callable[..., Any]:
    def call(*values: Any, **options: Any) -> Any:
        if options:
            raise RefusedError(f"it calls {name} with {sorted(options)}")
        return _graph(values).call(name, *values)

    return call


def _zeta(order: Any, value: Any) -> Any:
    """Hurwitz's zeta function, of the one order that loops have: the curvature of lgamma."""
    if type(order) is not float or order != 2 or not isinstance(value, Symbol):
        raise RefusedError("it calls SciPy's zeta")
    return value.graph.call("trigamma", value)


def _graph(values: Any) -> Graph:
    for value in values:
        if isinstance(value, Symbol):
            return value.graph
        if isinstance(value, Number):
            return value.symbol.graph
    raise RefusedError("it calls a function of constants")


class SymbolNamespace(Namespace):
    """NumPy's functions of elements, which note what they are asked to compute."""

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        for name in (*FUNCTIONS, *COMPARISONS, *TESTS, *LOGIC, *SAME):
            setattr(self, name, _function(name))
        self.inf = library.inf
        self.finfo = library.finfo

    def __getattr__(self, name: str) -> NoReturn:
        raise RefusedError(f"it calls {name}")

    def readable(self, waiting: bool = False) -> bool:
        raise RefusedError("it looks at values")

    def valued(self) -> bool:
        return False

    def errstate(self, **kinds: str) -> Any:
        return nullcontext()

    def special(self, name: str) -> Any:
        if name == "zeta":
            return _zeta
        if name not in SPECIAL:
            raise RefusedError(f"it calls SciPy's {name}")
        return _function(name)

    # ---- what NumPy says in one call, and an expression in several ----

    def positive(self, value: Any) -> Any:
        return value

    def conjugate(self, value: Any) -> Any:
        return value

    def square(self, value: Any) -> Any:
        return value * value

    def power(self, value: Any, exponent: Any) -> Any:
        if type(exponent) in (int, float) and exponent == 2:
            return self.square(value)
        return _graph((value, exponent)).call("power", value, exponent)

    def power_before(self, array: Any, exponent: Any, power: Any) -> Any:
        return _function("power_before")(array, exponent, power)

    def where(self, condition: Any, *choices: Any) -> Any:
        if len(choices) != 2:
            raise RefusedError("it asks where elements are true")
        return _graph((condition, *choices)).chosen(condition, *choices)

    def clip(self, value: Any, least: Any, most: Any) -> Any:
        return self.minimum(self.maximum(value, least), most)

    def round(self, value: Any, decimals: int = 0) -> Any:
        if decimals != 0:
            raise RefusedError("it rounds to decimals")
        return self.rint(value)

    def nan_to_num(self, value: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
        limits = np.finfo(value.dtype)
        high = float(limits.max) if posinf is None else posinf
        low = float(limits.min) if neginf is None else neginf
        finite = self.where(value == np.inf, high, self.where(value == -np.inf, low, value))
        return self.where(self.isnan(value), nan, finite)

    def zeros_like(self, value: Any, dtype: Any = None) -> Any:
        return value.graph.constant(0, value.dtype if dtype is None else np.dtype(dtype))

    def ones_like(self, value: Any, dtype: Any = None) -> Any:
        return value.graph.constant(1, value.dtype if dtype is None else np.dtype(dtype))

    def zeros(self, shape: Any, dtype: Any = None) -> Any:
        if shape != ():
            raise RefusedError("it makes an array")
        return 0.0

    def asarray(self, value: Any, dtype: Any = None) -> Any:
        if isinstance(value, Symbol):
            return value if dtype is None else value.astype(dtype)
        if dtype is not None and isinstance(value, Number):
            return value.symbol.graph.cast(value, np.dtype(dtype))
        return value

    array = asarray

    # ---- what expressions of elements have no place for ----

    def _refused(self, *args: Any, **options: Any) -> NoReturn:
        raise RefusedError("it does not work on each element by itself")

    _on_host = updated = added_at = _combined_at = _refused
    convolve = convolve_filters = convolve_back = _refused
    memory = address = reshaped_view = strided = _refused


_LIMITS: Final = frozenset(
    abs(float(getattr(np.finfo("float32"), name))) for name in ("max", "min", "eps", "tiny")
)


def has_limit(part: Symbol) -> bool:
    """Whether a constant is a limit of float32, in the place of which another type has its own."""
    if part.function == "constant":
        return abs(part.value) in _LIMITS
    return any(has_limit(operand) for operand in part.operands)


class SymbolBackend(Backend):
    """Arrays that stand for expressions."""

    name = "symbols"
    device_type = "symbols"
    array_type = Symbol

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        return self.xp.asarray(value, numpy_dtype)

    def device(self, array: Any) -> device:
        return CPU


symbols_backend = SymbolBackend()
SymbolBackend.xp = SymbolNamespace(np)
register(symbols_backend, Symbol)
