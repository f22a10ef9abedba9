"""The signature of a custom op: read from type hints or from text.

`foo(Tensor x, Tensor(a1!) out, int[] dims=[0], *, float? eps=None) -> (Tensor, Tensor[])`: a type
may be a list, optional, or both; `!` marks an argument that the op changes in place.
"""

import collections.abc
import functools
import inspect
import numbers
import operator
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from adjoint.device import device
from adjoint.dtypes import bool_, by_name, dtype
from adjoint.ops.arranging.conversion import layout, memory_format
from adjoint.ops.op import MISSING
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
RETURNED = ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar")
NAMES = {
    **{name: name for name in BASES.values()},
    "int": "SymInt",
    "Layout": "Layout",
    "MemoryFormat": "MemoryFormat",
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

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor or a list of them."""
        return self.base == "Tensor"

    def __str__(self) -> str:
        elements = ("?" if self.optional_elements else "") + "[]" if self.is_list else ""
        alias = f"({self.alias})" if self.alias else ""
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
        return inspect.Parameter(
            self.name, kinds[self.keyword_only], default=default, annotation=str(self.kind)
        )

    def __str__(self) -> str:
        if self.default is MISSING:
            return f"{self.kind} {self.name}"
        return f"{self.kind} {self.name}={_written(self.default)}"


@dataclass(frozen=True)
class Schema:
    """What a custom op takes and gives."""

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Kind, ...]
    single: bool  # one result that stands for itself, not a tuple of one

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
        parts = [str(a) for a in self.positional]
        keywords = [str(a) for a in self.arguments if a.keyword_only]
        if keywords:
            parts += ["*", *keywords]
        given = ", ".join(str(kind) for kind in self.returns)
        if not self.single:
            given = f"(({given}))" if len(self.returns) == 1 else f"({given})"
        return f"{self.name}({', '.join(parts)}) -> {given}"


def _written(value: Any) -> str:
    """A default as it stands in a schema."""
    if isinstance(value, (str, device)):
        return f'"{value}"'
    if isinstance(value, dtype):
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
    schema = from_hints(prototype_function, mutates_args, op_name or "")
    return str(schema)


def from_hints(function: Any, mutates_args: str | Iterable[str], name: str) -> Schema:
    """The schema of a function, from its type hints."""
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
        changed = set(mutates_args)
        absent = sorted(changed - set(signature.parameters))
        if absent:
            raise error(f"{absent} in mutates_args were not found among its parameters.")
    arguments = [
        _argument(i, parameter, function, changed, error)
        for i, parameter in enumerate(signature.parameters.values())
    ]
    returns, single = _returns(_resolved(signature.return_annotation, function, error), error)
    return Schema(name, tuple(arguments), returns, single)


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
        if not isinstance(default, (int, float, bool, str, dtype, device)):
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
    if hint in BASES:
        return Kind(BASES[hint])
    inner = _optional(hint)
    if inner is not None:
        kind = kind_of(inner)
        if kind is None or kind.optional or (kind.is_list and kind.is_tensor):
            return None
        return Kind(kind.base, kind.is_list, True)
    if typing.get_origin(hint) in (list, collections.abc.Sequence):
        (element,) = typing.get_args(hint)
        kind = kind_of(element)
        allowed = kind is not None and not kind.is_list and (kind.is_tensor or not kind.optional)
        if kind is None or not allowed or kind.base in ("str", "ScalarType", "Device"):
            return None
        return Kind(kind.base, True, False, kind.optional)
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


# ---- from text ----

_TOKEN = re.compile(r'\s*(->|"[^"]*"|[\w.:+-]+|[()\[\]?,*=!|])')


class _Reader:
    """The tokens of a schema, one after another."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        found = _TOKEN.match(self.text, self.at)
        return found.group(1) if found else ""

    def take(self, expected: str = "") -> str:
        found = _TOKEN.match(self.text, self.at)
        token = found.group(1) if found else ""
        if not token or (expected and token != expected):
            raise RuntimeError(
                f"schema {self.text!r}: expected {expected or 'more'} but found "
                f"{token or 'nothing'!r} at position {self.at}"
            )
        assert found is not None
        self.at = found.end()
        return token

    def takes(self, token: str) -> bool:
        """Take this token if it comes next."""
        if self.peek() != token:
            return False
        self.take()
        return True


def parse(text: str) -> Schema:
    """A schema from its text; the name may be left out."""
    reader = _Reader(text)
    name = "" if reader.peek() == "(" else reader.take()
    reader.take("(")
    arguments: list[Argument] = []
    keyword_only = False
    while not reader.takes(")"):
        if arguments or keyword_only:
            reader.take(",")
        if reader.takes("*"):
            keyword_only = True
            if reader.peek() == ",":
                continue
        arguments.append(_read_argument(reader, keyword_only))
    reader.take("->")
    returns, single = _read_returns(reader)
    if reader.at != len(text.rstrip()):
        reader.take("the end")
    return Schema(name, tuple(arguments), tuple(returns), single)


def _read_argument(reader: _Reader, keyword_only: bool) -> Argument:
    kind = _read_kind(reader)
    name = reader.take()
    default = _read_default(reader, kind) if reader.takes("=") else MISSING
    return Argument(name, kind, default, keyword_only)


def _read_kind(reader: _Reader) -> Kind:
    word = reader.take()
    if word not in NAMES:
        raise RuntimeError(
            f"schema {reader.text!r}: unknown type specifier {word!r}; the types are "
            + ", ".join(NAMES)
        )
    alias = ""
    if reader.takes("("):
        while not reader.takes(")"):
            alias += reader.take()
    optional = reader.takes("?")
    is_list = reader.takes("[")
    if is_list:
        if reader.peek() != "]":
            reader.take()  # a length, as in int[2]
        reader.take("]")
        return Kind(NAMES[word], True, reader.takes("?"), optional, "!" in alias, alias)
    return Kind(NAMES[word], False, optional, False, "!" in alias, alias)


def _read_returns(reader: _Reader) -> tuple[list[Kind], bool]:
    if not reader.takes("("):
        kind = _read_kind(reader)
        if reader.peek():
            reader.take()  # the result's name
        return [kind], True
    nested = reader.takes("(")
    returns: list[Kind] = []
    while not reader.takes(")"):
        if returns:
            reader.take(",")
        returns.append(_read_kind(reader))
        if reader.peek() not in (",", ")"):
            reader.take()  # the result's name
    if nested:
        reader.take(")")
    return returns, False


CONSTANTS = {"None": None, "True": True, "False": False}


def _read_default(reader: _Reader, kind: Kind) -> Any:
    if reader.takes("["):
        values: list[Any] = []
        while not reader.takes("]"):
            if values:
                reader.take(",")
            values.append(_read_default(reader, Kind(kind.base)))
        return values
    word = reader.take()
    if word in CONSTANTS:
        return CONSTANTS[word]
    if word.startswith('"'):
        return device(word[1:-1]) if kind.base == "Device" else word[1:-1]
    if kind.base == "ScalarType":
        return by_name(word)
    number = float(word)
    return number if kind.base == "float" or not number.is_integer() else int(number)


# ---- values ----


def accepted(kind: Kind, value: Any) -> Any:
    """A value as an argument of this type; MISSING if it is none."""
    if value is None:
        return None if kind.optional else MISSING
    if kind.is_list:
        if not isinstance(value, collections.abc.Sequence) or isinstance(value, str):
            return MISSING
        element = Kind(kind.base, optional=kind.optional_elements)
        values = [accepted(element, v) for v in value]
        return MISSING if any(v is MISSING for v in values) else values
    return _ACCEPT[kind.base](value)


def _number(wanted: Any, value: Any) -> Any:
    """A number of this sort; a tensor of one element counts as one."""
    if isinstance(value, Tensor) and value.array.size == 1:
        value = value.item()
    return value if isinstance(value, wanted) else MISSING


def _converted(make: Any, wanted: Any, value: Any) -> Any:
    found = _number(wanted, value)
    return found if found is MISSING else make(found)


def _kept(wanted: Any, value: Any) -> Any:
    return value if isinstance(value, wanted) else MISSING


_ACCEPT: dict[str, Callable[[Any], Any]] = {
    "Tensor": lambda value: _kept(Tensor, value),
    "SymInt": lambda value: _number(numbers.Integral, value),
    "float": lambda value: _converted(float, numbers.Real, value),
    "bool": lambda value: _converted(bool, numbers.Integral, value),
    "Scalar": lambda value: _number(numbers.Number, value),
    "str": lambda value: _kept(str, value),
    "ScalarType": lambda value: bool_ if value is bool else _kept(dtype, value),
    "Device": lambda value: device(value) if isinstance(value, str) else _kept(device, value),
    "Layout": lambda value: _kept(layout, value),
    "MemoryFormat": lambda value: _kept(memory_format, value),
}
