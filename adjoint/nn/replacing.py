"""Functions of nn.functional that a program puts others in the place of: layers call those."""

import functools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from adjoint.ops.elementwise import activation

_FUNCTIONAL = "adjoint.nn.functional"


class _Replaced(NamedTuple):
    """A place where adjoint's layers held a function that was replaced, and what was there."""

    put: Callable[[Any], None]
    original: Any


_replaced: dict[str, list[_Replaced]] = {}
_originals: dict[str, Any] = {}


def _places(name: str, original: Any) -> Iterator[_Replaced]:
    short = getattr(activation, name, None)  # what a layer calls that needs no option
    modules = [module for path, module in sys.modules.items() if path.startswith("adjoint.nn")]
    for module in modules:
        held = vars(module)
        is_layers = module.__name__ == "adjoint.nn.layers.activation"
        for key, value in list(held.items()):
            if value is original or (value is short is not None and is_layers):
                yield _Replaced(functools.partial(held.__setitem__, key), value)
            elif isinstance(value, type) and vars(value).get("function") is original:
                yield _Replaced(functools.partial(setattr, value, "function"), original)


def assign(name: str, value: Any) -> None:
    """Have a function, or another one, under a name; layers see it."""
    if name not in _replaced:
        _originals[name] = vars(sys.modules[_FUNCTIONAL])[name]
        _replaced[name] = list(_places(name, _originals[name]))
    for put, original in _replaced[name]:
        put(original if value is _originals[name] else value)


def restore(name: str) -> None:
    """Have the function that was there at first."""
    if name in _replaced:
        assign(name, _originals[name])


class Replaceable(ModuleType):
    """A module with functions that programs may replace."""

    def __setattr__(self, name: str, value: Any) -> None:
        if callable(vars(self).get(name)):
            assign(name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in _replaced:  # as unittest.mock does it where a name was replaced
            restore(name)
        else:
            super().__delattr__(name)
