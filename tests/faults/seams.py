"""Where events of the inside are found, on the compiled package and on the sources.

| kind | compiled | sources |
|---|---|---|
| hook, function, pack, unpack, callback | the graph's own | the graph's own |
| rule | `Rule.function` of every op | the same |
| kernel | `Op.forward` and `Op.direct` of every op | the same |
| allocation | what creates and copies arrays, NumPy's and probed ones | the same |
| accumulate, commit | sums of probed arrays | and calls of the functions that do it |
| queue | what a pass hands to a device's thread | and calls of the functions that do it |
| lock | the lock of leaves and those of devices, as the main thread waits for them | the same |
| thread | `Thread.start` | the same |
| call | any function of the package that is interpreted | all functions of the package |
| bytecode | any bytecode that is interpreted, the package's or not | the same |

A seam is there only while its own kind is swept: a lock that is written in Python would have
bytecodes of its own at which a signal is heard, and the real one has not.
"""

import contextlib
import functools
import os
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import adjoint
from adjoint.autograd import engine, leaves, workers
from adjoint.backends.numpy import NumpyBackend, numpy_backend
from adjoint.ops.declaration import DECLARED
from adjoint.ops.op import Op
from tests.faults.graphs.arrays import ALLOCATING
from tests.faults.injection import MAIN, Calls, Events

OF_GRAPHS = ("hook", "function", "pack", "unpack", "callback")
PACKAGE = f"{Path(adjoint.__file__).parent}{os.sep}"


def replaced(owner: Any, name: str, new: Any, undo: contextlib.ExitStack) -> None:
    """Set an attribute until the stack is left."""
    undo.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, new)


def told(events: Events, kind: str, function: Any) -> Any:
    """A function whose calls are events."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        events(kind)
        return function(*args, **kwargs)

    return call


def ops() -> list[Op]:
    """All ops of the table."""
    return [each.function for each in DECLARED.values() if isinstance(each.function, Op)]


@contextlib.contextmanager
def rules(events: Events) -> Iterator[None]:
    """Each rule that is run."""
    with contextlib.ExitStack() as undo:
        found = {id(rule): rule for op in ops() for rule in (*op.rules, op.joint) if rule}
        for rule in found.values():
            replaced(rule, "function", told(events, "rule", rule.function), undo)
        yield


@contextlib.contextmanager
def kernels(events: Events) -> Iterator[None]:
    """Each forward of an op, in a forward pass and in rules."""
    with contextlib.ExitStack() as undo:
        for op in ops():
            replaced(op, "forward", told(events, "kernel", op.forward), undo)
            if op.direct is not None:
                replaced(op, "direct", told(events, "kernel", op.direct), undo)
        yield


@contextlib.contextmanager
def allocations(events: Events) -> Iterator[None]:
    """New arrays of NumPy's that a backend makes; probed arrays tell of theirs."""
    with contextlib.ExitStack() as undo:
        for name in ALLOCATING:
            function = getattr(numpy_backend.xp, name)
            replaced(numpy_backend.xp, name, told(events, "allocation", function), undo)
        for name in ("copy", "asarray"):
            function = getattr(NumpyBackend, name)
            replaced(NumpyBackend, name, told(events, "allocation", function), undo)
        yield


class ToldLock:
    """A lock, of which it is told before the main thread waits for it: there a signal is heard."""

    def __init__(self, events: Events, lock: Any) -> None:
        self.events = events
        self.lock = lock

    def acquire(self, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == MAIN:
            self.events("lock")
        return self.lock.acquire(*args, **kwargs)

    def __enter__(self) -> Any:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lock, name)


@contextlib.contextmanager
def locks(events: Events) -> Iterator[None]:
    """The lock under which leaves are written, and those of a device's thread and its passes."""
    shown = types.SimpleNamespace(**vars(threading))
    shown.Lock = lambda: ToldLock(events, threading.Lock())
    shown.RLock = lambda: ToldLock(events, threading.RLock())
    with contextlib.ExitStack() as undo:
        replaced(workers, "threading", shown, undo)
        for owner, name in ((leaves._locks, "accumulate"), (workers._locks, "threads")):
            replaced(owner, name, ToldLock(events, getattr(owner, name)), undo)
        yield


@contextlib.contextmanager
def threads(events: Events) -> Iterator[None]:
    """Threads that are started: deep passes start one each, a device the first time."""
    kept: dict[Any, Any] = {}

    def hide() -> None:  # as if no device had been used before
        kept.update(workers._threads)
        workers._threads.clear()

    with contextlib.ExitStack() as undo:
        replaced(events, "before", hide, undo)
        replaced(events, "after", lambda: workers._threads.update(kept), undo)
        start = threading.Thread.start
        replaced(threading.Thread, "start", told(events, "thread", start), undo)
        yield


@contextlib.contextmanager
def tracing(events: Events, calls: Calls) -> Iterator[None]:
    """Have runs tell of calls."""
    events.tracer = calls.enter
    try:
        yield
    finally:
        events.tracer = None


def calls_of(kind: str, functions: tuple[Any, ...]) -> Callable[[Events], Any]:
    """Calls of some functions; of none that is compiled."""
    codes = {function.__code__ for function in functions if hasattr(function, "__code__")}

    @contextlib.contextmanager
    def installed(events: Events) -> Iterator[None]:
        if not codes:
            yield
            return
        with tracing(events, Calls(events, kind, codes.__contains__)):
            yield

    return installed


def of_package(code: Any) -> bool:
    """Whether a function belongs to the package, but for the loops of its threads.

    What fails there, before any work of a pass, is a thread that does not start.
    """
    file = code.co_filename
    if not file.startswith(PACKAGE):
        return False
    return threading.get_ident() == MAIN or not file.endswith(("daemons.py", "workers.py"))


@contextlib.contextmanager
def any_calls(events: Events) -> Iterator[None]:
    """Each call of a function of the package that is interpreted."""
    with tracing(events, Calls(events, "call", of_package)):
        yield


@contextlib.contextmanager
def nothing(events: Events) -> Iterator[None]:
    """The graph tells of it."""
    yield


SEAMS: dict[str, Callable[[Events], Any]] = {
    **dict.fromkeys(OF_GRAPHS, nothing),
    "rule": rules,
    "kernel": kernels,
    "allocation": allocations,
    "accumulate": calls_of("accumulate", (leaves.accumulate, engine.add, engine.gathered)),
    "commit": calls_of("commit", (leaves.prepare, leaves.first, leaves.check_leaf)),
    "queue": calls_of("queue", (engine.queue, engine.enqueue, workers.Workers.push)),
    "lock": locks,
    "thread": threads,
    "call": any_calls,
    "bytecode": nothing,
}
