"""The signature of a custom op: read from type hints, or from text (schema_text.py).

`foo(Tensor x, Tensor(a1!) out, int[] dims=[0], *, float? eps=None) -> (Tensor, Tensor[])`: a type
may be a list, optional, or both; `!` marks an argument that the op changes in place.
"""

import collections.abc
import functools
import inspect
import keyword
import numbers
import operator
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from adjoint.device import device
from adjoint.dtypes import bool_, dtype
from adjoint.library.streams import Stream
from adjoint.ops.arranging.conversion import layout, memory_format
from adjoint.ops.op import MISSING
from adjoint.random import Generator
from adjoint.tensors.tensor import Tensor

Number = int | float | bool
BASES = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    Number: "Scalar",
    dtype: "ScalarType",
    device: "Device",
}
REPEATED = ("SymInt", "int", "float")  # one number may stand for a list of so many
RETURNED = ("Tensor", "Tensor[]", "SymInt", "int", "float", "bool", "Scalar")
NAMES = {
    **{name: name for name in BASES.values()},
    "int": "int",
    "Layout": "Layout",
    "MemoryFormat": "MemoryFormat",
    "Stream": "Stream",
    "Generator": "Generator",
    "DeviceIndex": "int",
    "complex": "complex",
    "Any": "Any",
}


# Data types by PyTorch's numbers, as defaults of arguments have them.
DTYPE_NUMBERS = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "complex32": 8,
    "complex64": 9,
    "complex128": 10,
    "bool": 11,
    "bfloat16": 15,
    "float8_e5m2": 23,
    "float8_e4m3fn": 24,
    "float8_e5m2fnuz": 25,
    "float8_e4m3fnuz": 26,
    "uint16": 27,
    "uint32": 28,
    "uint64": 29,
    "float8_e8m0fnu": 44,
}
FORMAT_NUMBERS = {
    "strided": 0,
    "contiguous_format": 0,
    "preserve_format": 1,
    "channels_last": 2,
    "channels_last_3d": 3,
}


class Aliased(NamedTuple):
    """Which memory an argument or a result shows, by letters, and whether it is written to."""

    is_write: bool
    before_set: set[str]
    after_set: set[str]


class SchemaType(str):
    """A type as PyTorch's schemas show it when they are asked: Optional[List[int]]."""

    __slots__ = ()

    def kind(self) -> str:
        """The name of its class: TensorType, ListType, OptionalType."""
        outer = self.partition("[")[0]
        return f"{_KINDS_OF_TYPES.get(outer, outer)}Type"

    def getElementType(self) -> "SchemaType":  # noqa: N802  # PyTorch's name
        """What is in a list, or may be None."""
        if not self.endswith("]"):
            raise RuntimeError(f"{self} has no elements")
        return SchemaType(self.partition("[")[2][:-1])


_KINDS_OF_TYPES = {
    "number": "Number",
    "int": "Int",
    "float": "Float",
    "bool": "Bool",
    "str": "String",
    "complex": "Complex",
    "Device": "DeviceObj",
}
# What PyTorch calls the values of types that have another name in a schema.
_SHOWN_TYPES = {
    "SymInt": "int",
    "Scalar": "number",
    "ScalarType": "int",
    "Layout": "int",
    "MemoryFormat": "int",
}


@dataclass(frozen=True)
class Kind:
    """The type of an argument or a result."""

    base: str
    is_list: bool = False
    optional: bool = False  # it may be None
    optional_elements: bool = False
    mutated: bool = False
    alias: str = ""
    length: int | None = None  # of a list for which one value stands, repeated
    name: str = ""  # a result may have one

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor or a list of them."""
        return self.base == "Tensor"

    @property
    def type(self) -> SchemaType:
        """The same without what it shares memory with, as PyTorch spells types."""
        shown = _SHOWN_TYPES.get(self.base, self.base)
        shown = f"Optional[{shown}]" if self.optional_elements else shown
        shown = f"List[{shown}]" if self.is_list else shown
        return SchemaType(f"Optional[{shown}]" if self.optional else shown)

    @property
    def alias_info(self) -> Aliased | None:
        """Which memory it shows; None if it is its own."""
        if not self.alias:
            return None
        before, arrow, after = self.alias.partition("->")
        if self.is_list:  # the letters are those of its elements
            return Aliased("!" in before, set(), set())
        letters = before.rstrip("!")
        kept = after if arrow else letters
        return Aliased("!" in before, set(letters.split("|")), set(kept.split("|")))

    def __str__(self) -> str:
        length = "" if self.length is None else self.length
        elements = ("?" if self.optional_elements else "") + f"[{length}]" if self.is_list else ""
        alias = f"({self.alias.replace('->', ' -> ')})" if self.alias else ""
        if self.alias.startswith("$"):  # no letter of the program's
            alias = "!"
        return f"{self.base}{alias}{elements}{'?' if self.optional else ''}"


@dataclass(frozen=True)
class Argument:
    """One parameter of a custom op."""

    name: str
    kind: Kind
    default: Any = MISSING
    keyword_only: bool = False

    def parameter(self) -> inspect.Parameter:
        """The same as Python's own tools show it."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        default = inspect.Parameter.empty if self.default is MISSING else self.default
        name = f"{self.name}_" if keyword.iskeyword(self.name) else self.name
        return inspect.Parameter(
            name, kinds[self.keyword_only], default=default, annotation=str(self.kind)
        )

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self.default is not MISSING

    @property
    def default_value(self) -> Any:
        """What it is if it is left out, as PyTorch shows it: data types and formats by number."""
        if self.default is MISSING:
            return None
        found = accepted(self.kind, self.default)
        if isinstance(found, (layout, memory_format)):
            return FORMAT_NUMBERS[found.name]
        return DTYPE_NUMBERS[found.name] if isinstance(found, dtype) else found

    @property
    def N(self) -> int | None:  # noqa: N802  # PyTorch's name
        """The length that a list is said to have."""
        return self.kind.length

    @property
    def is_write(self) -> bool:
        """Whether it is changed in place."""
        return self.kind.mutated

    @property
    def type(self) -> SchemaType:
        """Its type, without what it shares memory with."""
        return self.kind.type

    @property
    def kwarg_only(self) -> bool:
        """Whether it is given by name only."""
        return self.keyword_only

    @property
    def alias_info(self) -> Aliased | None:
        """Which memory it shows; None if it is its own."""
        return self.kind.alias_info

    @property
    def is_out(self) -> bool:
        """Whether results are written to it."""
        return self.keyword_only and self.kind.mutated

    def __str__(self) -> str:
        return self.shown(_shown)

    def shown(self, written: Callable[[Any], str]) -> str:
        """Its text, with the default as this function writes it."""
        default = self.default
        if default is MISSING:
            return f"{self.kind} {self.name}"
        if self.kind.base == "int" and self.kind.length and default and len(set(default)) == 1:
            default = default[0]  # of a list of so many, one stands for all
        return f"{self.kind} {self.name}={written(default)}"


@dataclass(frozen=True, repr=False)
class Schema:
    """What a custom op takes and gives."""

    path: str  # space::f.overload
    arguments: tuple[Argument, ...]
    returns: tuple[Kind, ...]
    single: bool  # one result that stands for itself, not a tuple of one

    @property
    def name(self) -> str:
        """The name that all overloads have."""
        return self.path.partition(".")[0]

    @property
    def overload_name(self) -> str:
        """Which of them it is; empty for the one that needs no name."""
        return self.path.partition(".")[2]

    @property
    def is_mutable(self) -> bool:
        """Whether an argument is changed in place."""
        return bool(self.mutated)

    @property
    def mutated(self) -> list[str]:
        """The arguments that are changed in place."""
        return [a.name for a in self.arguments if a.kind.mutated]

    @property
    def positional(self) -> list[Argument]:
        """The arguments that may be given by position."""
        return [a for a in self.arguments if not a.keyword_only]

    def signature(self) -> inspect.Signature:
        """The same as Python's own tools show it."""
        ordered = sorted(self.arguments, key=lambda argument: argument.keyword_only)
        return inspect.Signature([argument.parameter() for argument in ordered])

    def __str__(self) -> str:
        return self.shown(_shown)

    __repr__ = __str__

    def shown(self, written: Callable[[Any], str]) -> str:
        """Its text, with defaults as this function writes them."""
        parts = [a.shown(written) for a in self.positional]
        keywords = [a.shown(written) for a in self.arguments if a.keyword_only]
        if keywords:
            parts += ["*", *keywords]
        given = ", ".join(f"{kind} {kind.name}".rstrip() for kind in self.returns)
        if not self.single:
            given = f"(({given}))" if len(self.returns) == 1 else f"({given})"
        return f"{self.path}({', '.join(parts)}) -> {given}"


def _shown(value: Any) -> str:
    """A default as a schema that was read shows it: in full, data types and formats by number."""
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, float):
        text = f"{value:.17g}"
        return f"{text}." if text.lstrip("-").isdigit() else text
    if isinstance(value, dtype):
        return str(DTYPE_NUMBERS[value.name])
    if isinstance(value, (layout, memory_format)):
        return str(FORMAT_NUMBERS[value.name])
    return str(value) if isinstance(value, device) else _written(value)


def _written(value: Any) -> str:
    """A default as it stands in the text that infer_schema makes."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, (str, device)):
        plain = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{plain}"'
    if isinstance(value, (dtype, layout, memory_format)):
        return value.name
    return str(value)


# ---- from type hints ----


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """The schema of a function, from its type hints, as text."""
    return from_hints(prototype_function, mutates_args, op_name or "").shown(_written)


def from_hints(function: Any, mutates_args: str | Iterable[str], name: str) -> Schema:
    """The schema of a function, from its type hints."""
    if not callable(function):
        raise TypeError(f"infer_schema(func): func is no function but a {type(function).__name__}")
    signature = inspect.signature(function)

    def error(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {signature}")

    if isinstance(mutates_args, str):
        if mutates_args != "unknown":
            raise ValueError(
                "mutates_args must be a sequence of the names of the arguments that are changed in "
                f"place, or the string 'unknown'; got {mutates_args!r}"
            )
        changed = None
    else:
        changed = named_arguments(mutates_args)
        absent = sorted(changed - set(signature.parameters))
        if absent:
            raise error(f"{absent} in mutates_args were not found among its parameters.")
    arguments = [
        _argument(i, parameter, function, changed, error)
        for i, parameter in enumerate(signature.parameters.values())
    ]
    returns, single = _returns(_resolved(signature.return_annotation, function, error), error)
    return Schema(name, tuple(arguments), returns, single)


def named_arguments(mutates_args: Any) -> set[str]:
    """The names that mutates_args lists."""
    if not isinstance(mutates_args, collections.abc.Iterable):
        kind = type(mutates_args).__name__
        raise TypeError(f"mutates_args must be a sequence of names, got a {kind}")
    names = list(mutates_args)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"mutates_args has names of arguments, but {name!r} is no str")
    return set(names)


def _argument(
    place: int, parameter: inspect.Parameter, function: Any, changed: set[str] | None, error: Any
) -> Argument:
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise error("positional-only args, varargs and varkwargs are not supported.")
    if parameter.annotation is parameter.empty:
        raise error(f"Parameter {name} must have a type annotation.")
    hint = _resolved(parameter.annotation, function, error)
    kind = kind_of(hint)
    if kind is None:
        advice = "Take a list in place of a tuple. " if typing.get_origin(hint) is tuple else ""
        raise error(
            f"Parameter {name} has unsupported type {parameter.annotation}. {advice}The valid "
            f"types are {', '.join(NAMES)} with Optional and list of them."
        )
    mutated = kind.is_tensor if changed is None else name in changed
    if mutated:
        if not kind.is_tensor:
            raise error(f"Parameter {name} is in mutates_args but only Tensors can be mutated.")
        kind = Kind(
            kind.base, kind.is_list, kind.optional, kind.optional_elements, True, f"a{place}!"
        )
    default = MISSING if parameter.default is parameter.empty else parameter.default
    if default is not MISSING and default is not None:
        plain = isinstance(default, (int, float, bool, str, dtype, device))
        if not plain or accepted(kind, default) is MISSING:
            raise error(f"Parameter {name} has an unsupported default value {default!r}.")
    return Argument(name, kind, default, parameter.kind is parameter.KEYWORD_ONLY)


def _resolved(hint: Any, function: Any, error: Any) -> Any:
    """A hint that was given as a string, as the type it names."""
    if isinstance(hint, str):
        try:
            return eval(hint, function.__globals__)  # noqa: S307  # the module's own annotation
        except Exception as problem:
            raise error(
                f"Unsupported type annotation {hint}. It is not a type ({problem})."
            ) from None
    arguments = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if any(isinstance(a, (str, typing.ForwardRef)) for a in arguments) and origin is not None:
        names = [a.__forward_arg__ if isinstance(a, typing.ForwardRef) else a for a in arguments]
        whole = tuple(_resolved(a, function, error) for a in names)
        return functools.reduce(operator.or_, whole) if origin is typing.Union else origin[whole]
    return hint


def kind_of(hint: Any) -> Kind | None:
    """The type that a hint stands for; None if there is none."""
    base = _base(hint)
    if base is not None:
        return Kind(base)
    inner = _optional(hint)
    if inner is not None:
        kind = kind_of(inner)
        if kind is None or kind.optional or (kind.is_list and kind.is_tensor):
            return None
        return Kind(kind.base, kind.is_list, True)
    if typing.get_origin(hint) in (list, collections.abc.Sequence):
        elements = typing.get_args(hint)
        kind = kind_of(elements[0]) if len(elements) == 1 else None
        allowed = kind is not None and not kind.is_list and (kind.is_tensor or not kind.optional)
        if kind is None or not allowed or kind.base in ("str", "ScalarType", "Device"):
            return None
        return Kind(kind.base, True, False, kind.optional)
    return None


def _base(hint: Any) -> str | None:
    try:
        return BASES.get(hint)
    except TypeError:  # it is not hashable, and so no type
        return None


def _optional(hint: Any) -> Any:
    """T of Optional[T], else None."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return None
    parts = typing.get_args(hint)
    if type(None) not in parts:
        return None
    rest = tuple(part for part in parts if part is not type(None))
    return functools.reduce(operator.or_, rest)


def _returns(hint: Any, error: Any) -> tuple[tuple[Kind, ...], bool]:
    if hint is None or hint is type(None):
        return (), False
    if hint is inspect.Signature.empty:
        raise error("No return type annotation was provided.")
    several = typing.get_origin(hint) is tuple
    parts = typing.get_args(hint) if several else (hint,)
    found = [k for k in map(kind_of, parts) if k is not None and str(k) in RETURNED]
    if len(found) != len(parts) or any(
        typing.get_origin(part) is collections.abc.Sequence for part in parts
    ):
        raise error(
            f"Return has unsupported type {hint}; return Tensors, lists of them or numbers."
        )
    return tuple(found), not several


# ---- values ----


def accepted(kind: Kind, value: Any) -> Any:
    """A value as an argument of this type; MISSING if it is none."""
    if value is None:
        return None if kind.optional else MISSING
    if kind.is_list:
        element = Kind(kind.base, optional=kind.optional_elements)
        whole = not isinstance(value, Tensor) or kind.base in ("SymInt", "int")
        if whole and not kind.is_tensor and hasattr(value, "tolist") and value.ndim == 1:
            value = value.tolist()  # numbers in an array or a tensor
        if not isinstance(value, collections.abc.Sequence) or isinstance(value, str):
            repeated = kind.length is not None and kind.base in REPEATED
            one = (
                accepted(element, value) if repeated and not isinstance(value, Tensor) else MISSING
            )
            return MISSING if one is MISSING else [one] * (kind.length or 0)
        values = [accepted(element, v) for v in value]
        return MISSING if any(v is MISSING for v in values) else values
    return _ACCEPT[kind.base](value)


def _number(wanted: Any, value: Any) -> Any:
    """A number of this sort; a tensor of one element counts as one, and NumPy's are Python's."""
    single = value.array.size == 1 if isinstance(value, Tensor) else hasattr(value, "item")
    if single and (isinstance(value, Tensor) or not value.ndim):
        value = value.item()
    if not isinstance(value, wanted):
        return MISSING
    fits = not isinstance(value, int) or -(1 << 63) <= value < 1 << 63
    return value if fits else MISSING


def _converted(make: Any, wanted: Any, value: Any) -> Any:
    found = _number(wanted, value)
    return found if found is MISSING else make(found)


def _kept(wanted: Any, value: Any) -> Any:
    return value if isinstance(value, wanted) else MISSING


_ACCEPT: dict[str, Callable[[Any], Any]] = {
    "Tensor": lambda value: _kept(Tensor, value),
    "SymInt": lambda value: _number(numbers.Integral, value),
    "int": lambda value: _number(numbers.Integral, value),
    "float": lambda value: _converted(float, numbers.Real, value),
    "bool": lambda value: _converted(bool, numbers.Integral, value),
    "Scalar": lambda value: _number(numbers.Number, value),
    "str": lambda value: _kept(str, value),
    "ScalarType": lambda value: bool_ if value is bool else _kept(dtype, value),
    "Device": lambda value: device(value) if isinstance(value, str) else _kept(device, value),
    "Layout": lambda value: _kept(layout, value),
    "MemoryFormat": lambda value: _kept(memory_format, value),
    "Stream": lambda value: _kept(Stream, value),
    "Generator": lambda value: _kept(Generator, value),
    "complex": lambda value: _converted(complex, numbers.Complex, value),
    "Any": lambda value: value,
}
