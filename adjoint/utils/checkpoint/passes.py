"""What belongs to one backward pass, and goes with it."""

import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from adjoint._base import after_fork
from adjoint.autograd.graph_task import current_task
from adjoint.autograd.hooks import traceable
from adjoint.call.held import Held

Value = TypeVar("Value")


@traceable
class _Mark:
    """Lives as long as the pass, or the group of passes, that holds it."""

    __slots__ = ("__weakref__",)

    def __call__(self) -> None:
        """A pass holds it as a callback; at its end nothing is left to do."""


class GraphExecGroup(Held):
    """Backward passes inside share what is recomputed, so that a region runs again once.

    They should go through different parts of the graph; where they overlap, it runs once more.
    """

    def __init__(self) -> None:
        self.marks: list[_Mark] = []

    def _variable(self) -> Any:
        """See Held."""
        return _groups

    def _inside(self, before: Any) -> Any:
        """See Held."""
        if before:
            raise RuntimeError(
                "GraphExecGroup contexts cannot be nested; leave the outer one first"
            )
        return (self,)

    def _left(self) -> None:
        """See Held: what was recomputed goes."""
        self.marks.clear()


_groups: ContextVar[tuple[GraphExecGroup, ...]] = ContextVar("adjoint_exec_group", default=())


class _Locks:
    """One lock for all tables, which a process that is forked meanwhile can renew."""

    def __init__(self) -> None:
        self.marks = threading.Lock()


locks = _Locks()


def _after_fork() -> None:
    locks.marks = threading.Lock()


after_fork(_after_fork)


class PerPass(Generic[Value]):
    """One value for each pass under way, until that pass ends or this table goes."""

    def __init__(self) -> None:
        self.marks: weakref.WeakValueDictionary[tuple[str, int], _Mark] = (
            weakref.WeakValueDictionary()
        )
        self.values: weakref.WeakKeyDictionary[_Mark, Value] = weakref.WeakKeyDictionary()

    def get(self, make: Callable[[], Value]) -> Value:
        """The value of the pass under way, made if there is none; outside a pass, a new one."""
        groups, task = _groups.get(), current_task()
        holder: list[Any]
        if groups:
            key, holder = ("group", id(groups[-1])), groups[-1].marks
        elif task is not None:
            key, holder = ("pass", task.id), task.callbacks
        else:
            return make()
        with locks.marks:
            mark = self.marks.get(key)
            if mark is None:
                mark = self.marks[key] = _Mark()
                self.values[mark] = make()
                holder.append(mark)
            return self.values[mark]
