"""What all stand on: bases of compiled classes that must not be, threads, forks, signals."""

import os
import signal
import threading
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Final

try:
    from mypy_extensions import mypyc_attr as mypyc_attr
except ImportError:  # only mypyc reads it; at run time there is nothing to do

    def mypyc_attr(**options: Any) -> Any:  # type: ignore[misc]  # stands in for the above
        return lambda kind: kind


class WeakBase:
    """A class compiled below this one has `__dict__` and can be weakly referenced."""


class HookTable(dict[int, object]):
    """Hooks by id, in the order of registration; a dict that can be weakly referenced."""

    __slots__ = ("__weakref__",)


def after_fork(renew: Callable[[], None]) -> None:
    """Call `renew` in each process forked from this one; where none can be, there is no need."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)


class _Moments:
    """The lock that interpreted code holds for a moment, to look at an attribute and set it.

    Nothing is made or called under it, so nobody waits for it while they hold another. Compiled
    code needs none: between two instructions of its own no other thread runs.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()


moments: Final[_Moments] = _Moments()


def _after_fork() -> None:
    moments.lock = threading.RLock()  # a thread that there is no more may hold the other


after_fork(_after_fork)


def exchange(holder: Any, name: str, old: Any, new: Any) -> bool:
    """Set an attribute if no other thread has set it since it was `old`; whether it was set."""
    with moments.lock:
        if getattr(holder, name) is not old:
            return False
        setattr(holder, name, new)
        return True


def advance(holder: Any, name: str) -> None:
    """Add one to an attribute, in one piece."""
    with moments.lock:
        setattr(holder, name, getattr(holder, name) + 1)


def signal_handlers() -> set[Any]:
    """The code of all functions that handle signals."""
    found = [signal.getsignal(number) for number in signal.valid_signals()]
    functions = [f.__func__ if isinstance(f, MethodType) else f for f in found]
    return {f.__code__ for f in functions if isinstance(f, FunctionType)}


def is_of_handler(error: BaseException) -> bool:
    """Whether a signal's handler raised this, while other code ran that may fail by itself."""
    trace = error.__traceback__
    handlers = signal_handlers()
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        trace = trace.tb_next
    return False
