"""Rules and forwards of several steps on 16-bit floats: computed in float32, rounded once.

So are complex numbers made of them, in complex64, in all that is no view.
"""

import functools
from collections.abc import Callable
from typing import Any

from adjoint.backends import lookup
from adjoint.dtypes import (
    FLOAT,
    by_name,
    category_of,
    complex64,
    float16,
    float32,
    from_numpy_dtype,
)
from adjoint.tensors.core import F32, F64, TensorCore

Function = Callable[..., Any]
C64 = complex64.numpy_dtype


def is_half(kind: Any) -> bool:
    """Whether a type is floating with two bytes: too short to gather sums in."""
    return bool(kind.itemsize == 2 and category_of(kind) == FLOAT)


def is_pair(kind: Any) -> bool:
    """Whether a type is complex, of two 16-bit floats: ml_dtypes' complex32."""
    return bool(kind.kind == "W")


def half_type(value: Any) -> Any:
    """The type of a Tensor or an array of 16-bit floats, or pairs of them; None for all else."""
    while isinstance(value, (tuple, list)) and value:
        value = value[0]
    kind = getattr(value.array if isinstance(value, TensorCore) else value, "dtype", None)
    if kind is None or kind is F32 or kind is F64:
        return None
    return kind if is_half(kind) or is_pair(kind) else None


def wide(value: Any) -> Any:
    """A Tensor or an array of 16-bit floats in float32, in lists too; all else as it is."""
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)([wide(element) for element in value])
    kind = half_type(value)
    if kind is None:
        return value
    return cast(value, C64 if is_pair(kind) else F32)


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
    own = getattr(array, "dtype", None)
    if own == C64 and is_half(kind):
        return cast(answer, from_numpy_dtype(kind).to_complex().numpy_dtype)
    return cast(answer, kind) if own == F32 else answer


def rounded_pairs(answer: Any, kind: Any) -> Any:
    """What was computed in complex64 in complex32, real numbers in float16; in tuples too."""
    if isinstance(answer, (tuple, list)):
        several = [rounded_pairs(element, kind) for element in answer]
        return several if isinstance(answer, list) else tuple(several)
    own = getattr(answer, "dtype", None)
    if own == C64:
        return cast(answer, kind)
    return cast(answer, float16.numpy_dtype) if own == F32 else answer


def forward_on_pairs(op: Any, xp: Any, arrays: Any, run: Function) -> Any:
    """What a forward answers to pairs of 16-bit floats: a view, or computed in complex64."""
    if op.view:
        return run(op, xp, arrays)
    kind = by_name("complex32").numpy_dtype
    out = run(op, xp, [wide(array) for array in arrays])
    asked = op.index_of.get("dtype")
    if asked is not None and arrays[asked] is not None:
        return out
    return (rounded_pairs(out[0], kind), *out[1:]) if op.hides else rounded_pairs(out, kind)


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
