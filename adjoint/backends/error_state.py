"""Infinities and NaNs are results, as in PyTorch: NumPy's warnings about them are switched off.

`np.errstate` takes longer to enter and leave than NumPy takes for a small array. What it does is to
set a context variable, which is found here once, by watching NumPy do so, and set directly.
"""

import contextvars
from typing import Any, Final

import numpy as np

INTERPRETED: Final[bool] = __file__.endswith(".py")


def _watched() -> tuple[Any, Any]:
    """The variable that holds NumPy's error state, and the value of it that ignores everything."""
    context = contextvars.copy_context()
    before = dict(context)
    context.run(np.seterr, all="ignore")
    changed = [(key, value) for key, value in context.items() if before.get(key) is not value]
    return changed[0] if len(changed) == 1 else (None, None)


class _ErrorState:
    """NumPy's own functions, for a NumPy that keeps its state elsewhere."""

    def get(self) -> Any:
        return np.geterr()

    def set(self, value: Any) -> None:
        np.seterr(**value)


_found, _ignoring = _watched()
STATE: Final[Any] = _ErrorState() if _found is None else _found
IGNORE: Final[Any] = dict.fromkeys(np.geterr(), "ignore") if _found is None else _ignoring


class quiet:
    """Inside, NumPy makes infinities and NaNs without a warning."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = STATE.get()
        try:
            STATE.set(IGNORE)
        except BaseException:  # a signal that is heard now must not leave it set
            STATE.set(self.before)
            raise

    def __exit__(self, *error: object) -> None:
        STATE.set(self.before)


def call_quietly(function: Any, argument: Any) -> Any:
    """One call in which NumPy makes infinities and NaNs without a warning.

    In the interpreter, where a signal may be heard before the state is put back, nothing has to be:
    it is set in a copy of the context, which ends with the call.
    """
    if _found is None or not INTERPRETED:
        before = STATE.get()
        try:
            STATE.set(IGNORE)
            return function(argument)
        finally:
            STATE.set(before)
    context = contextvars.copy_context()
    context.run(_found.set, _ignoring)
    return context.run(function, argument)


def quietly(function: Any) -> Any:
    """A function that makes infinities and NaNs without a warning."""
    get, put, ignore = STATE.get, STATE.set, IGNORE

    def call(*args: Any, **kwargs: Any) -> Any:
        before = get()
        try:
            put(ignore)
            return function(*args, **kwargs)
        finally:
            put(before)

    call.__wrapped__ = function  # type: ignore[attr-defined]  # as functools.wraps tells it
    return call


def ufunc_of(function: Any) -> Any:
    """The ufunc of NumPy's that a function is, or calls without warnings; None if it is none."""
    inner = getattr(function, "__wrapped__", function)
    return inner if isinstance(inner, np.ufunc) else None
