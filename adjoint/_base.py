"""What all modules stand on: bases of compiled classes that must be interpreted, and forks."""

import os
from collections.abc import Callable
from typing import Any

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
