"""torch.overrides: who answers calls of functions, by `__torch_function__`, and which those are.

`adjoint.call.overriding` is where functions ask.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from adjoint.autograd.grad_mode import recording
from adjoint.call.context import Changed, Scope, Settings, current, replaced
from adjoint.call.overriding import by_mode, refusal, taking_part
from adjoint.compat.asking_methods import ask_modes
from adjoint.compat.overridable import (
    get_default_nowrap_functions as get_default_nowrap_functions,
    get_ignored_functions as get_ignored_functions,
    get_overridable_functions as get_overridable_functions,
    get_testing_overrides as get_testing_overrides,
    is_own as _is_own,
    is_tensor_method_or_property as is_tensor_method_or_property,
    resolve_name as resolve_name,
)
from adjoint.tensors import subclass
from adjoint.tensors.tensor import Tensor, wants_calls

# In a `__torch_dispatch__`, calls are recorded again inside.
enable_reentrant_dispatch = recording


# ---- for functions written in Python ----

# Whether the next question who answers a call is that of a function which nobody shall answer.
_passed_over: ContextVar[bool] = ContextVar("adjoint_passed_over", default=False)


def _wants(value: Any) -> bool:
    """Whether a value's class wants to see calls; that of plain tensors does not."""
    return type(value) is not Tensor and wants_calls(type(value))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments, or a mode, wants to see calls."""
    settings = current()
    if _passed_over.get():
        _passed_over.set(False)
        return False
    if settings.functions:
        return True
    return settings.overrides and any(_wants(value) for value in relevant_args)


def has_torch_function_unary(value: Any) -> bool:
    """Whether the argument, or a mode, wants to see calls."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Whether one of the arguments, or a mode, wants to see calls."""
    return has_torch_function(values)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Offer a call to the mode of the context, or to the arguments' types; the first answer."""
    found = taking_part(relevant_args)
    types = tuple(type(value) for value in found)
    settings = current()
    if settings.functions:
        return by_mode(settings, public_api, types, args, kwargs)
    for value in found:
        result = value.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise refusal(public_api, types)


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Make a call that is offered to nobody, while those inside a function of a program are."""
    if _is_own(getattr(func, "__module__", None) or ""):
        with subclass.unseen():
            return func(*args, **(kwargs or {}))
    token = _passed_over.set(True)
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _passed_over.reset(token)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Decorates a function, given one that answers the arguments that may want its calls."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or takes part in calls like one."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


# ---- modes ----


class TorchFunctionMode(Scope):
    """Inside its block, `__torch_function__(func, types, args, kwargs)` answers every function."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Answer a call; a mode that only looks calls func itself."""
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_function__")

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("functions",)

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        if isinstance(inspect.getattr_static(type(self), "__torch_function__"), classmethod):
            raise RuntimeError(
                f"{type(self).__name__}.__torch_function__: a classmethod is not supported, please "
                "make it a plain method"
            )
        ask_modes()
        return replaced(outer, {"functions": (*outer.functions, self)})

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> "TorchFunctionMode":
        """A new mode of this class, to be entered."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that makes the calls as they are."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode_stack() -> list[Any]:
    """The modes of the calling context, the innermost last."""
    return list(current().functions)


def _get_current_function_mode() -> Any:
    """The innermost mode of the calling context."""
    modes = current().functions
    return modes[-1] if modes else None


def _len_torch_function_stack() -> int:
    """How many modes the calling context is in."""
    return len(current().functions)


def mode_at(level: int) -> Any:
    """One of the modes of the calling context, counted from the outermost."""
    return current().functions[level]


# The modes that a block without any has left out; None outside of such a block.
_left_out: ContextVar[tuple[Any, ...] | None] = ContextVar("adjoint_functions_off", default=None)


def is_all_disabled() -> bool:
    """Whether this is inside a block in which neither classes nor modes answer functions."""
    return _left_out.get() is not None


class disabled:
    """As a context: neither classes nor modes are asked about functions."""

    def __enter__(self) -> None:
        self.token = _left_out.set(_left_out.get() or current().functions)
        self.unseen = subclass.unseen()
        self.unseen.__enter__()

    def __exit__(self, *exc: object) -> None:
        self.unseen.__exit__(*exc)
        _left_out.reset(self.token)


class _enable_torch_function:
    """As a context: classes and modes are asked about functions, also inside such a block."""

    def __enter__(self) -> None:
        kept = _left_out.get()
        self.token = _left_out.set(None)
        changes: dict[str, Any] = {"overrides": True}
        self.seen = Changed(changes if kept is None else changes | {"functions": kept})
        self.seen.__enter__()

    def __exit__(self, *exc: object) -> None:
        self.seen.__exit__(*exc)
        _left_out.reset(self.token)


class EnabledAgain:
    """The same from where it is made until it is deleted."""

    def __init__(self) -> None:
        self.block = _enable_torch_function()
        self.block.__enter__()

    def __del__(self) -> None:
        self.block.__exit__()
