"""Rules and forwards of several steps on 16-bit floats: computed in float32, rounded once."""

import functools
from collections.abc import Callable
from typing import Any

from adjoint.backends import lookup
from adjoint.dtypes import FLOAT, category_of, float32, from_numpy_dtype
from adjoint.tensors.core import F32, F64, TensorCore

Function = Callable[..., Any]


def is_half(kind: Any) -> bool:
    """Whether a type is floating with two bytes: too short to gather sums in."""
    return bool(kind.itemsize == 2 and category_of(kind) == FLOAT)


def half_type(value: Any) -> Any:
    """NumPy's name for the type of a Tensor or an array of 16-bit floats; None for all else."""
    while isinstance(value, (tuple, list)) and value:
        value = value[0]
    kind = getattr(value.array if isinstance(value, TensorCore) else value, "dtype", None)
    if kind is None or kind is F32 or kind is F64 or not is_half(kind):
        return None
    return kind


def wide(value: Any) -> Any:
    """A Tensor or an array of 16-bit floats in float32, in lists too; all else as it is."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)([wide(element) for element in value])
    if half_type(value) is None:
        return value
    return cast(value, F32)


def cast(value: Any, kind: Any) -> Any:
    """A Tensor or an array in another type; a Tensor's cast is recorded."""
    if isinstance(value, TensorCore):
        tensor: Any = value
        return tensor.to(float32 if kind is F32 else from_numpy_dtype(kind))
    backend = lookup(type(value))  # which may know a faster way than the array
    return value.astype(kind) if backend is None else backend.xp.copied(value, kind)


def rounded(answer: Any, kind: Any) -> Any:
    """What was computed in float32 in a 16-bit type, in tuples too."""
    if isinstance(answer, tuple):
        return tuple([rounded(element, kind) for element in answer])
    array = answer.array if isinstance(answer, TensorCore) else answer
    return cast(answer, kind) if getattr(array, "dtype", None) == F32 else answer


def mixed(values: Any, kind: Any) -> bool:
    """Whether an array among the values is of another floating type."""
    for value in values:
        own = getattr(value, "dtype", kind)
        if own != kind and category_of(own) == FLOAT:
            return True
    return False


def widening_forward(forward: Function) -> Function:
    """A forward that sees 16-bit floats in float32, and whose result is rounded to their type.

    Types that are mixed are left to it: it may refuse them.
    """

    @functools.wraps(forward)
    def call(xp: Any, first: Any, *args: Any, **named: Any) -> Any:
        kind = getattr(first, "dtype", None)
        if kind is F32 or kind is F64 or half_type(first) is None:
            return forward(xp, first, *args, **named)
        if mixed(args, kind) or mixed(named.values(), kind):
            return forward(xp, first, *args, **named)
        arguments = [wide(value) for value in args]
        keywords = {name: wide(value) for name, value in named.items()}
        return rounded(forward(xp, wide(first), *arguments, **keywords), kind)

    return call
