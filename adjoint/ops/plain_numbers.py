"""Arguments that are numbers and have no derivative: which they are, and what may stand for one."""

from math import prod
from numbers import Number
from types import NoneType, UnionType
from typing import Any, get_args

from adjoint.dtypes import FLOAT, category_of
from adjoint.tensors.concrete import read_freely
from adjoint.tensors.tensor import Tensor

FACTORS = ("alpha", "beta", "value")  # numbers wherever they have no derivative
_NUMBERS = {int, float, complex}


def numbers_of(function: Any) -> dict[str, bool]:
    """The parameters that are numbers and never tensors, and whether each must be whole."""
    found: dict[str, bool] = {}
    for name, kind in getattr(function, "__annotations__", {}).items():
        kinds = set(get_args(kind) if isinstance(kind, UnionType) else (kind,))
        if name != "return" and kinds & _NUMBERS and kinds <= _NUMBERS | {str, NoneType}:
            found[name] = kinds.isdisjoint((float, complex))
    return found


def needs_look(value: Any, whole: bool) -> bool:
    """Whether a value is not at once seen to be a plain number, or none at all."""
    kind = type(value)
    return kind is not int and (whole or kind is not float) and value is not None


def plain_number(name: str, parameter: str, value: Any, whole: bool) -> Any:
    """Python's number for NumPy's and for a tensor that is one; refuses what is none.

    So it does a tensor whose gradient would be lost.
    """
    if isinstance(value, Tensor):
        fits = value.ndim == 0 or (whole and prod(value.shape) == 1)
        if value.requires_grad or not fits or (whole and category_of(value.dtype) >= FLOAT):
            raise TypeError(
                f"{name}(): argument '{parameter}' must be a {'whole ' * whole}number, not a "
                "Tensor; call .item() on it"
            )
        return value.item() if read_freely(value) else value
    if isinstance(value, Number) and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (list, tuple)) or (whole and isinstance(value, (bool, float, complex))):
        raise TypeError(
            f"{name}(): argument '{parameter}' must be a {'whole ' * whole}number, not {value!r}"
        )
    return value
