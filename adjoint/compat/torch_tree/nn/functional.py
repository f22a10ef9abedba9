"""torch.nn.functional: what a program puts in the place of a function, layers call from then on."""

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from adjoint.compat import attention_parts
from adjoint.compat.torch_tree.nn.modules import utils
from adjoint.compat.torch_tree.overrides import (
    handle_torch_function as handle_torch_function,
    has_torch_function as has_torch_function,
    has_torch_function_unary as has_torch_function_unary,
    has_torch_function_variadic as has_torch_function_variadic,
)
from adjoint.nn import functional
from adjoint.nn.layers import activation as layers
from adjoint.ops.elementwise import activation

_single, _pair, _triple = utils.single, utils.pair, utils.triple
_list_with_default = utils.list_with_default
_canonical_mask = attention_parts.canonical_mask
_in_projection = attention_parts.in_projection
_in_projection_packed = attention_parts.in_projection_packed
_mha_shape_check = attention_parts.mha_shape_check
_none_or_dtype = attention_parts.none_or_dtype

ASSIGNABLE = {name for name in dir(functional) if callable(getattr(functional, name))}


class _Replaced(NamedTuple):
    """A place where adjoint's layers held a function that was replaced, and what was there."""

    put: Callable[[Any], None]
    original: Any


_replaced: dict[str, list[_Replaced]] = {}
_originals: dict[str, Any] = {}


def _places(name: str) -> Iterator[_Replaced]:
    original = getattr(functional, name)
    short = getattr(activation, name, None)  # what a layer calls that needs no option
    modules = [module for path, module in sys.modules.items() if path.startswith("adjoint.nn")]
    for module in modules:
        for key, value in list(vars(module).items()):
            if value is original or (value is short is not None and module is layers):
                yield _Replaced(functools.partial(setattr, module, key), value)
            elif isinstance(value, type) and vars(value).get("function") is original:
                yield _Replaced(functools.partial(setattr, value, "function"), original)


def assign(name: str, value: Any) -> None:
    """Have a function, or another one, under a name; layers see it."""
    if name not in _replaced:
        _replaced[name] = list(_places(name))
        _originals[name] = getattr(functional, name)
    for put, original in _replaced[name]:
        put(original if value is _originals[name] else value)


def restore(name: str) -> None:
    """Have the function that was there at first."""
    if name in _replaced:
        assign(name, _originals[name])
