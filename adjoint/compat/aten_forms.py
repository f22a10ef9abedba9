"""The overloads of torch.ops.aten: which one a call is, and how PyTorch writes its arguments.

`aten_forms.txt` lists them, written by tools/aten_forms.py.
"""

import ast
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from adjoint.device import device
from adjoint.dtypes import bool_, by_name, dtype
from adjoint.library.schema import DTYPE_NUMBERS, Argument, Kind, Schema
from adjoint.library.streams import Stream
from adjoint.ops.arranging import conversion
from adjoint.ops.op import MISSING
from adjoint.random import Generator
from adjoint.tensors.tensor import Tensor

_FILE = Path(__file__).with_suffix(".txt")
# Operations that PyTorch calls with a number in place of a tensor; the others have a Scalar form.
_NUMBERS_AS_TENSORS: Final = frozenset(
    f"{name}{end}"
    for name in ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "floor_divide")
    for end in ("", "_")
) | {"true_divide", "maximum", "minimum", "atan2", "bitwise_left_shift", "bitwise_right_shift"}
_ON_TENSORS: Final = ("Tensor", "Tensor_mode", "default")
# What adjoint calls an argument, where PyTorch's operation has another name for it.
_OTHER_NAMES: Final = {"input": "self", "A": "self", "x": "self", "shape": "size"}
_FITS, _FITS_AS_NUMBER = 2, 1


class Form:
    """One overload of an operation: its name, and what it takes."""

    def __init__(self, line: str) -> None:
        whole, *parts = line.split(" ")
        self.name, _, self.overload = whole.partition(".")
        arrow = parts.index("->")
        star = parts.index("*") if "*" in parts else arrow
        self.arguments = [
            _argument(part, place > star) for place, part in enumerate(parts[:arrow]) if part != "*"
        ]
        self.returns = tuple(_kind(part) for part in parts[arrow + 1 :])
        self.gives_list = len(self.returns) == 1 and self.returns[0].is_list
        # The names that may be given by place, how many arguments there must be, and all names.
        self.taking = (
            [each.name for each in self.arguments if not each.keyword_only],
            sum(each.default is MISSING for each in self.arguments),
            {each.name for each in self.arguments},
        )

    def schema(self) -> Schema:
        """The same as a custom op shows it."""
        rest = "" if self.overload == "default" else f".{self.overload}"
        single = len(self.returns) == 1
        return Schema(f"aten::{self.name}{rest}", tuple(self.arguments), self.returns, single)

    def fit(self, given: dict[str, Any]) -> int:
        """How well arguments by name fit: 0 if they don't, more if tensors are tensors."""
        known = {argument.name for argument in self.arguments}
        if any(value is not None for name, value in given.items() if name not in known):
            return 0
        total = 1
        for argument in self.arguments:
            if argument.name not in given:
                if argument.default is MISSING:
                    return 0
                continue
            found = _fit(argument.kind, given[argument.name])
            if not found:
                return 0
            total += found
        return total

    def spelled(
        self, given: dict[str, Any], read: Callable[[Tensor], Any] = Tensor.item
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by name as PyTorch writes them: in order, lists as lists, defaults left out.

        A tensor in the place of a number is read.
        """
        args: list[Any] = []
        named: dict[str, Any] = {}
        filled = 0
        for argument in self.arguments:
            value = given.get(argument.name, argument.default)
            value = _written(argument.kind, value, read)
            is_default = argument.default is not MISSING and _equal(value, argument.default)
            if argument.keyword_only:
                if not is_default:
                    named[argument.name] = value
                continue
            args.append(value)
            if not is_default:
                filled = len(args)
        return tuple(args[:filled]), named


def _kind(text: str) -> Kind:
    """A type, from its text in the file."""
    optional = text.endswith("?")
    text = text.removesuffix("?")
    is_list = text.endswith("[]")
    text = text.removesuffix("[]")
    inner = text.endswith("?")
    base, _, alias = text.removesuffix("?").removesuffix(")").partition("(")
    return Kind(base, is_list, optional, inner, "!" in alias, alias)


def _argument(text: str, keyword_only: bool) -> Argument:
    declared, equals, default = text.partition("=")
    name, _, kind = declared.partition(":")
    value = _default(_kind(kind), default) if equals else MISSING
    return Argument(name, _kind(kind), value, keyword_only)


def _default(kind: Kind, text: str) -> Any:
    """What an argument is that is left out."""
    if text == "None":
        return None
    if kind.base == "ScalarType":
        names = {str(number): name for name, number in DTYPE_NUMBERS.items()}
        return by_name(names[text])
    if kind.base == "MemoryFormat":
        return conversion.contiguous_format  # the only one that is a default
    if kind.base in ("Layout", "Device"):
        return text
    if text in ("inf", "-inf"):
        return float(text)
    value = ast.literal_eval(text)
    return [value] if kind.is_list and not isinstance(value, list) else value


def fits(kind: Kind, value: Any) -> bool:
    """Whether an operation takes a value as an argument of a kind; a number may be a tensor."""
    return bool(_fit(kind, value))


def _fit(kind: Kind, value: Any) -> int:
    """How well a value fits a type."""
    if value is None:
        return _FITS if kind.optional else 0
    if kind.is_list:
        if isinstance(value, (list, tuple)):
            element = Kind(kind.base, optional=kind.optional_elements)
            return min((_fit(element, each) for each in value), default=_FITS)
        is_one = kind.base == "int" and isinstance(value, int) and not isinstance(value, bool)
        return _FITS_AS_NUMBER if is_one or _is_number(kind, value) else 0
    if kind.base == "Tensor":
        if isinstance(value, Tensor):
            return _FITS
        return _FITS_AS_NUMBER if isinstance(value, (int, float, complex)) else 0
    if isinstance(value, bool) and kind.base in ("int", "float"):
        return 0
    if isinstance(value, Tensor):
        return _FITS_AS_NUMBER if _is_number(kind, value) else 0
    return _FITS if isinstance(value, _CLASSES[kind.base]) else 0


def _is_number(kind: Kind, value: Any) -> bool:
    """Whether a value is a tensor that PyTorch reads to have a number."""
    if not isinstance(value, Tensor) or value.array.ndim:
        return False
    if kind.base == "int":
        return bool(value.array.dtype.kind in "iu")
    return kind.base in ("Scalar", "float", "complex")


_CLASSES: Final[dict[str, Any]] = {
    "Scalar": (int, float, complex),
    "int": int,
    "float": (int, float),
    "complex": complex,
    "bool": bool,
    "str": str,
    "Generator": Generator,
    "ScalarType": (dtype, type),
    "Layout": conversion.layout,
    "Device": (device, str, int),
    "MemoryFormat": conversion.memory_format,
    "Stream": Stream,
}


def _written(kind: Kind, value: Any, read: Callable[[Tensor], Any]) -> Any:
    """A value as PyTorch hands it over: sizes in lists, types and devices as such."""
    if value is None or value is MISSING:
        return value
    if kind.is_list:
        found = list(value) if isinstance(value, (list, tuple)) else [value]
        return [read(each) if _is_number(kind, each) else each for each in found]
    if _is_number(kind, value):
        return read(value)
    if kind.base == "Device":
        return value if isinstance(value, device) else device(value)
    if kind.base == "ScalarType" and value is bool:
        return bool_
    return value


def _equal(value: Any, default: Any) -> bool:
    """Whether an argument is its default; a tensor is none."""
    if value is default:
        return True
    if type(value) is not type(default) or isinstance(value, Tensor):
        return False
    if isinstance(default, list) and len(default) == 1 and value:
        return all(_equal(each, default[0]) for each in value)  # one stands for all
    return bool(value == default)


@functools.cache
def _lines() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        found.setdefault(line.partition(".")[0], []).append(line)
    return found


@functools.cache
def forms(name: str) -> tuple[Form, ...]:
    """The overloads of an operation that are known; none if it has none here."""
    return tuple(Form(line) for line in _lines().get(name, ()))


def form(name: str, overload: str) -> Form | None:
    """One overload of an operation; None if it is not known."""
    return next((each for each in forms(name) if each.overload == overload), None)


def by_names(
    name: str, parameters: Sequence[str], values: Sequence[Any]
) -> tuple[Form, dict[str, Any]] | None:
    """The overload that takes arguments by adjoint's names, and they by PyTorch's; None if none."""
    known = {argument.name for each in forms(name) for argument in each.arguments}
    given: dict[str, Any] = {}
    for parameter, value in zip(parameters, values, strict=True):
        other = _OTHER_NAMES.get(parameter, parameter)
        given[parameter if parameter in known else other] = value
    return _best(name, [(each, given) for each in forms(name)])


def bound(
    name: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Form, dict[str, Any]] | None:
    """The overload that takes arguments in PyTorch's order, and they by name; None if none does.

    The name may be that of an operation, or of one overload as mul.Scalar.
    """
    given: list[tuple[Form, dict[str, Any]]] = []
    name, _, overload = name.partition(".")
    for each in forms(name):
        if overload and each.overload != overload:
            continue
        places = [argument.name for argument in each.arguments if not argument.keyword_only]
        if len(args) <= len(places):
            given.append((each, {**dict(zip(places, args, strict=False)), **kwargs}))
    return _best(name, given)


def better(
    first: tuple[Form, dict[str, Any]] | None, second: tuple[Form, dict[str, Any]] | None
) -> tuple[Form, dict[str, Any]] | None:
    """Of two overloads with their arguments the one that fits better."""
    if first is None or second is None:
        return first or second
    return second if second[0].fit(second[1]) > first[0].fit(first[1]) else first


def _best(
    name: str, found: list[tuple[Form, dict[str, Any]]]
) -> tuple[Form, dict[str, Any]] | None:
    """The overload that fits best, with its arguments."""
    fits = [pair for pair in found if pair[0].fit(pair[1])]
    if name in _NUMBERS_AS_TENSORS:
        fits = [pair for pair in fits if pair[0].overload in _ON_TENSORS] or fits
    return max(fits, key=lambda pair: pair[0].fit(pair[1]), default=None)
