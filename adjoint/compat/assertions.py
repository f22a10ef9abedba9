"""torch._assert and its like: conditions that a program states."""

from collections.abc import Callable
from typing import Any


def _assert(condition: Any, message: str) -> None:
    """Fail with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def _checking(name: str, kind: type[Exception]) -> Any:
    def check(cond: bool, message: Callable[[], Any] | None = None) -> None:
        if not cond:
            text = "Expected cond to be True, but got False." if message is None else message()
            raise kind(str(text))

    check.__name__ = check.__qualname__ = name
    check.__doc__ = (
        f"Raise {kind.__name__}, with what the message says, unless the condition holds."
    )
    return check


_CHECKS = {
    "_check": RuntimeError,
    "_check_index": IndexError,
    "_check_not_implemented": NotImplementedError,
    "_check_type": TypeError,
    "_check_value": ValueError,
}
globals().update({name: _checking(name, kind) for name, kind in _CHECKS.items()})
