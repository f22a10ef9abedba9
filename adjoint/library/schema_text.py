"""A schema read from text; what is wrong with it is said with its place."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

from adjoint.device import device
from adjoint.dtypes import by_name
from adjoint.library.schema import (
    DTYPE_NUMBERS,
    FORMAT_NUMBERS,
    NAMES,
    Argument,
    Kind,
    Schema,
)
from adjoint.ops.arranging import conversion
from adjoint.ops.op import MISSING

_QUOTED = r"%(?:[^%\\]|\\.)*%"
_TEXT = "|".join(_QUOTED.replace("%", quote) for quote in ('"', "'"))
_TOKEN = re.compile(rf"\s*(->|{_TEXT}|(?:[\w.:+]|-(?!>))+|[()\[\]?,*=!|])", re.DOTALL)
_ALIAS = re.compile(r"(?:\w+(?:\|\w+)*|\*)!?(?:->(?:\w+(?:\|\w+)*|\*))?")
_NAME = re.compile(r"(?:[A-Za-z_]\w*::)?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf|nan)", re.ASCII
)
_LONGEST_SHOWN = 200
_LONGEST_LIST = 1000


class _Reader:
    """The tokens of a schema, one after another."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.changed = 0  # how many say that they are changed, and no letter

    def error(self, what: str) -> RuntimeError:
        """The error for what is wrong where the reader stands."""
        long = len(self.text) > _LONGEST_SHOWN
        shown = f"{self.text[:_LONGEST_SHOWN]}…" if long else self.text
        return RuntimeError(f"schema {shown!r}: {what} at position {self.at}")

    def peek(self) -> str:
        """The token that comes next; "" at the end, or before what is none."""
        found = _TOKEN.match(self.text, self.at)
        return found.group(1) if found else ""

    def take(self, expected: str = "") -> str:
        """The next token, which must be the one expected if any is."""
        found = _TOKEN.match(self.text, self.at)
        token = found.group(1) if found else self.text[self.at :].strip()[:1]
        if found is None or (expected and token != expected):
            raise self.error(f"expected {expected or 'more'} but found {token or 'nothing'!r}")
        self.at = found.end()
        return token

    def takes(self, token: str) -> bool:
        """Take this token if it comes next."""
        if self.peek() != token:
            return False
        self.take()
        return True

    def name(self, of: str) -> str:
        """Take the name of an argument or a result."""
        word = self.peek()
        if not word.isidentifier():
            raise self.error(f"expected the name of {of} but found {word or 'nothing'!r}")
        return self.take()

    def end(self) -> None:
        """Refuse anything more."""
        rest = self.text[self.at :].strip()
        if rest:
            raise self.error(f"expected the end but found {rest[:20]!r}")


def checked(text: Any) -> str:
    """The text of a schema, if it is one."""
    if not isinstance(text, str):
        raise TypeError(f"a schema must be a str, got {type(text).__name__}")
    return text


def parse(text: str) -> Schema:
    """A schema from its text; the name may be left out."""
    reader = _Reader(checked(text))
    name = "" if reader.peek() == "(" else reader.peek()
    if name and not _NAME.fullmatch(name):
        raise reader.error(f"expected a name such as f, f.out or space::f but found {name!r}")
    if name:
        reader.take()
    arguments = _read_arguments(reader)
    reader.take("->")
    returns, single = _read_returns(reader)
    reader.end()
    return Schema(name, tuple(arguments), tuple(returns), single)


def _read_arguments(reader: _Reader) -> list[Argument]:
    reader.take("(")
    arguments: list[Argument] = []
    keyword_only = optional = False
    names: set[str] = set()
    while not reader.takes(")"):
        if arguments or keyword_only:
            reader.take(",")
        if not keyword_only and reader.takes("*"):
            keyword_only = True
            continue
        argument = _read_argument(reader, keyword_only)
        if argument.name in names:
            raise reader.error(f"a second argument is called {argument.name!r}")
        if not keyword_only and argument.default is MISSING and optional:
            raise reader.error(f"{argument.name!r} has no default, and one before it has,")
        optional = argument.default is not MISSING
        names.add(argument.name)
        arguments.append(argument)
    return arguments


def _read_argument(reader: _Reader, keyword_only: bool) -> Argument:
    kind = _read_kind(reader)
    name = reader.name("an argument")
    default: Any = MISSING
    if reader.takes("="):
        default = _read_default(reader, kind, name)
        if kind.is_list and default is not None and not isinstance(default, list):
            if kind.length is None:
                raise reader.error(f"one value can't be the default of {name}, a {kind},")
            default = [default] * kind.length
    return Argument(name, kind, default, keyword_only)


def _read_kind(reader: _Reader) -> Kind:
    """A type, with the length that a list is said to have."""
    word = reader.peek()
    if word not in NAMES:
        raise reader.error(
            f"unknown type specifier {word or 'nothing'!r}; the types are {', '.join(NAMES)};"
        )
    reader.take()
    alias = _read_alias(reader)
    optional = reader.takes("?")
    mutated = "!" in alias
    if not reader.takes("["):
        return Kind(NAMES[word], False, optional, False, mutated, alias)
    length = None
    if reader.peek() != "]":
        said = reader.peek()
        if not said.isdecimal() or int(said) > _LONGEST_LIST:
            raise reader.error(f"expected the length of a list but found {said or 'nothing'!r}")
        length = int(reader.take())
    reader.take("]")
    alias = alias or _read_alias(reader)
    mutated = "!" in alias
    return Kind(NAMES[word], True, reader.takes("?"), optional, mutated, alias, length)


def _read_alias(reader: _Reader) -> str:
    """Which memory a tensor shows: `(a)`, `(a!)`, `(a|b)`, `(*)`, `(a -> *)`; `!` is its own."""
    if reader.takes("!"):
        reader.changed += 1
        return f"${reader.changed - 1}!"
    if not reader.takes("("):
        return ""
    alias = ""
    while not reader.takes(")"):
        alias += reader.take()
    if not _ALIAS.fullmatch(alias):
        raise reader.error(f"{alias!r} is no alias, such as a, a! or a|b,")
    return alias


def _read_returns(reader: _Reader) -> tuple[list[Kind], bool]:
    if reader.takes("None"):
        return [], False
    if not reader.takes("("):
        return [_read_result(reader)], True
    nested = reader.takes("(")
    returns: list[Kind] = []
    while not reader.takes(")"):
        if returns:
            reader.take(",")
        returns.append(_read_result(reader))
    if nested:
        reader.take(")")
    return returns, len(returns) == 1 and not nested


def _read_result(reader: _Reader) -> Kind:
    """The type of a result, with its name if it has one."""
    kind = _read_kind(reader)
    if reader.peek() in ("", ",", ")"):
        return kind
    return dataclasses.replace(kind, name=reader.name("a result"))


# ---- defaults ----


def _read_default(reader: _Reader, kind: Kind, name: str) -> Any:
    if kind.is_list and reader.takes("["):
        element = Kind(kind.base)
        values: list[Any] = []
        while not reader.takes("]"):
            if values:
                reader.take(",")
            values.append(_read_default(reader, element, name))
        return values
    word = reader.peek()
    try:
        value = None if word == "None" else _CONSTANT[kind.base](word)
    except (KeyError, RuntimeError, ValueError):
        what = f"{word or 'nothing'!r} can't be the default of {name}, a {kind},"
        raise reader.error(what) from None
    reader.take()
    return value


def _quoted(word: str) -> str:
    if word[:1] not in ('"', "'"):
        raise ValueError(word)
    return re.sub(
        r"\\(.)", lambda found: _ESCAPED.get(found[1], found[1]), word[1:-1], flags=re.DOTALL
    )


def _integer(word: str) -> int:
    if word in _TRUTHS:
        return _TRUTHS[word]
    if not _INTEGER.fullmatch(word) or len(word) > 20 or abs(int(word)) >= 1 << 63:
        raise ValueError(word)
    return int(word)


def _floating(word: str) -> float:
    if word in _TRUTHS:
        return _TRUTHS[word]
    if not _NUMBER.fullmatch(word):
        raise ValueError(word)
    return float(word)


def _scalar(word: str) -> Any:
    return _integer(word) if _INTEGER.fullmatch(word) else _floating(word)


def _absent(word: str) -> Any:
    """A tensor, a stream or a generator has no default but None."""
    raise ValueError(word)


def _place(word: str) -> device:
    """A device, in quotes or as a schema shows it."""
    return device(_quoted(word) if word[:1] in ('"', "'") else word)


_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_TRUTHS = {"True": True, "False": False}
_FORMATS = {
    format.name: format
    for format in (
        conversion.contiguous_format,
        conversion.preserve_format,
        conversion.channels_last,
        conversion.channels_last_3d,
    )
}
_NUMBERED = {str(FORMAT_NUMBERS[name]): format for name, format in _FORMATS.items()}
_DTYPES = {str(number): name for name, number in DTYPE_NUMBERS.items()}
_CONSTANT: dict[str, Callable[[str], Any]] = {
    "Tensor": _absent,
    "SymInt": _integer,
    "int": _integer,
    "float": _floating,
    "bool": lambda word: {**_TRUTHS, "0": False, "1": True}[word],
    "Scalar": _scalar,
    "str": _quoted,
    "ScalarType": lambda word: by_name(_DTYPES.get(word, word)),
    "Device": _place,
    "Layout": {"strided": conversion.strided, "0": conversion.strided}.__getitem__,
    "MemoryFormat": {**_FORMATS, **_NUMBERED}.__getitem__,
    "Stream": _absent,
    "Generator": _absent,
    "complex": _floating,
    "Any": _absent,
}
