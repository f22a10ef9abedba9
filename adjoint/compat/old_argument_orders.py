"""Sums with a factor before what it multiplies, `x.add_(-rate, grad)`, as programs once wrote."""

import warnings
from collections.abc import Callable
from typing import Any

from adjoint.autograd.provenance import user_frame
from adjoint.ops.op import TABLE, Op
from adjoint.tensors.tensor import Tensor

_WITH_FACTOR = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}
_PRODUCTS = ("addmm", "addmv", "addr", "addbmm", "baddbmm")


def _warn(op: Op) -> None:
    message = f"{op.name} with its factors by position is deprecated; use {op.signature()}"
    frame = user_frame(1)
    if frame is None:
        warnings.warn(message, UserWarning, stacklevel=3)
    else:
        warnings.warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno)


def _factor_second(op: Op, factor: str) -> Callable[[tuple[Any, ...]], dict[str, Any] | None]:
    """input, the factor, and then what it multiplies."""
    first, *rest = op.parameters[: op.positional]
    names = (first, factor, *rest)

    def name(args: tuple[Any, ...]) -> dict[str, Any] | None:
        if len(args) != len(names) or (isinstance(args[1], Tensor) and args[1].ndim):
            return None
        _warn(op)
        return dict(zip(names, args, strict=True))

    return name


def _factors_first(op: Op) -> Callable[[tuple[Any, ...]], dict[str, Any] | None]:
    """beta and input, in one order as a function and in the other as a method; maybe alpha."""
    first, *rest = op.parameters[: op.positional]

    def name(args: tuple[Any, ...]) -> dict[str, Any] | None:
        if len(args) > op.positional + 2:
            return None
        start = (first, "beta") if isinstance(args[0], Tensor) else ("beta", first)
        alpha = ("alpha",) if len(args) == op.positional + 2 else ()
        _warn(op)
        return dict(zip((*start, *alpha, *rest), args, strict=True))

    return name


def accept() -> None:
    """Let the operations take such calls."""
    for name, factor in _WITH_FACTOR.items():
        TABLE[name].older = _factor_second(TABLE[name], factor)
    for name in _PRODUCTS:
        TABLE[name].older = _factors_first(TABLE[name])
