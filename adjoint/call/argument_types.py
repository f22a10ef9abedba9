"""Arguments of another kind than their parameters are declared: asked when a call has failed.

PyTorch looks at the kinds of all arguments before anything else, and refuses them by TypeError.
"""

import math
from collections.abc import Iterable, Sequence
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

_ARRAYS = ("Array", "Tensor")  # by name: those classes belong to higher layers
# What PyTorch looks at in Python, and so takes for true or false whatever it is.
_LOOSE_FLAGS = (
    "antialias",
    "get_infos",
    "inplace",
    "recompute_scale_factor",
    "return_indices",
)
_LOOSE_BY_FUNCTION = {("stft", "center")}
_LOOSE_FUNCTIONS = ("gaussian_nll_loss", "multi_head_attention_forward")
_WORDS = {"Array": "a Tensor", "Tensor": "a Tensor", "complex": "a number", "float": "a number"}


def misplaced(
    name: str, kinds: dict[str, Any], given: Iterable[tuple[str, Any]], error: Exception
) -> TypeError | None:
    """The error for the first argument that is not of its parameter's kind, if there is one."""
    for parameter, value in given:
        kind = kinds.get(parameter)
        if kind is not None and not _fits(value, kind, isinstance(error, AttributeError)):
            return TypeError(
                f"{name}(): argument '{parameter}' must be {_said(kind)}, not "
                f"{type(value).__name__}"
            )
    return None


def flags_of(function: Any) -> dict[str, bool]:
    """The parameters that must be true or false, and whether each may be None besides."""
    if function.__name__ in _LOOSE_FUNCTIONS:
        return {}
    return {
        name: kind is not bool
        for name, kind in getattr(function, "__annotations__", {}).items()
        if name not in ("return", *_LOOSE_FLAGS) and (kind is bool or kind == bool | None)
        if (function.__name__, name) not in _LOOSE_BY_FUNCTION
    }


def refuse_no_flag(name: str, parameter: str, value: Any, optional: bool) -> None:
    """Refuse what is neither True nor False; NumPy's own are not, as in PyTorch."""
    if type(value) is bool or (optional and value is None):
        return
    kind = "NumPy's bool; bool() it" if "bool" in type(value).__name__ else type(value).__name__
    raise TypeError(f"{name}(): argument '{parameter}' must be bool, not {kind}")


def _fits(value: Any, kind: Any, strict: bool) -> bool:
    """Whether a value is of a kind; numbers and None may stand for arrays, unless strict."""
    if isinstance(kind, UnionType):
        return any(_fits(value, each, strict) for each in get_args(kind))
    if kind is NoneType:
        return value is None
    if getattr(kind, "__name__", "") in _ARRAYS:
        array = hasattr(value, "shape") and hasattr(value, "dtype")
        return array or (not strict and isinstance(value, (int, float, complex, NoneType)))
    if get_origin(kind) is Sequence:
        (each,) = get_args(kind)
        return isinstance(value, (list, tuple)) and all(_fits(v, each, True) for v in value)
    if kind is str:
        return isinstance(value, str)
    if kind in (bool, int, float, complex):
        return _is_number(value, kind)
    return True


def _is_number(value: Any, kind: Any) -> bool:
    """Whether a value can stand for a number; a complex one is refused by its value."""
    if kind is int and isinstance(value, bool):
        return False
    if math.prod(getattr(value, "shape", ())) != 1:
        return False
    method = "__index__" if kind in (bool, int) else "__float__"
    return hasattr(value, method) or (isinstance(value, complex) and kind is not bool)


def _said(kind: Any) -> str:
    """A kind in words."""
    kinds = [each for each in get_args(kind) or (kind,) if each is not NoneType]
    if get_origin(kind) is Sequence:
        return "a list of Tensors"
    words = [_WORDS.get(each.__name__, each.__name__) for each in kinds]
    return " or ".join(dict.fromkeys(words))
