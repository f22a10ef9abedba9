"""Infinities and NaNs are results, as in PyTorch: NumPy's warnings about them are switched off.

`np.errstate` takes longer to enter and leave than NumPy takes for a small array. What it does is to
set a context variable, which is found here once, by watching NumPy do so, and set directly.
"""

import contextvars
from typing import Any, Final

import numpy as np


def _watched() -> tuple[Any, Any]:
    """The variable that holds NumPy's error state, and the value of it that ignores everything."""
    context = contextvars.copy_context()
    before = dict(context)
    context.run(np.seterr, all="ignore")
    changed = [(key, value) for key, value in context.items() if before.get(key) is not value]
    return changed[0] if len(changed) == 1 else (None, None)


class _ErrorState:
    """The context manager's way, for a NumPy that keeps its state elsewhere."""

    def set(self, _: Any) -> Any:
        entered = np.errstate(all="ignore")
        entered.__enter__()
        return entered

    def reset(self, token: Any) -> None:
        token.__exit__(None, None, None)


_found, IGNORE = _watched()
STATE: Final[Any] = _ErrorState() if _found is None else _found


class quiet:
    """Inside, NumPy makes infinities and NaNs without a warning."""

    __slots__ = ("token",)

    def __enter__(self) -> None:
        self.token = STATE.set(IGNORE)

    def __exit__(self, *error: object) -> None:
        STATE.reset(self.token)


def quietly(function: Any) -> Any:
    """A function that makes infinities and NaNs without a warning."""
    begin, end, ignore = STATE.set, STATE.reset, IGNORE

    def call(*args: Any, **kwargs: Any) -> Any:
        token = begin(ignore)
        try:
            return function(*args, **kwargs)
        finally:
            end(token)

    return call
