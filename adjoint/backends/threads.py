"""Work on large arrays, shared among threads: bit for bit what one thread makes of it."""

import importlib.util
import os
import sys
from _thread import start_new_thread
from collections.abc import Callable, Iterable
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any

LEAST = 1 << 18  # elements from which to wake a thread is worth its time
SHARED = 1 << 16  # the same, where each element takes many steps
PART = 1 << 16  # elements of a part of rows
_NOTHING = Context()


class Work:
    """Parts of one call, taken by whoever is free, its caller too: it ends without any other."""

    def __init__(self, function: Callable[[Any], object], parts: list[Any]) -> None:
        self.function: Callable[[Any], object] | None = function
        self.parts = parts  # still to be done; to take one is a single step of the interpreter
        self.context: Context = copy_context()  # of the caller, with NumPy's error state
        self.processor = -1 if pool is None else pool.processor()  # of the caller
        self.held: Any = None  # keeps those threads away that share calls of ufuncs
        self.errors: list[BaseException] = []
        self.entered: list[None] = []  # one for each helper that may have taken a part
        self.left: list[None] = []
        self.wake: SimpleQueue[None] = SimpleQueue()

    def help(self) -> None:
        """Do parts in another thread than the caller's."""
        self.entered.append(None)
        try:
            if pool is not None:
                pool.leave(self.processor)
            self.context.copy().run(self.go_on)
        except BaseException as error:
            self.errors.append(error)
        self.left.append(None)
        self.wake.put(None)

    def go_on(self) -> None:
        """Do parts until none is left."""
        while True:
            try:
                part = self.parts.pop()
            except IndexError:
                return
            assert self.function is not None
            self.function(part)

    def run(self) -> None:
        """Do parts as the caller, with helpers, and wait for these even if interrupted."""
        interrupt: BaseException | None = None
        try:
            self.held = None if pool is None else pool.hold()
            helpers.offer(self)
            self.go_on()
        except BaseException as error:
            interrupt = error
        while True:
            try:
                self.parts.clear()  # after an error; who enters now finds nothing to do
                while len(self.left) < len(self.entered):
                    self.wake.get()
                break
            except BaseException as error:
                interrupt = error
        # A helper may let go of this much later.
        self.function, self.context, self.held = None, _NOTHING, None
        try:
            for raised in (interrupt, *self.errors):
                if raised is not None:
                    raise raised
        finally:
            interrupt = raised = None  # which refer to this frame
            self.errors.clear()


class Helpers:
    """Threads that wait for work; a process that was forked starts its own."""

    def __init__(self) -> None:
        self.allowed = _allowed_at_start()  # threads for one call, the caller's among them
        self.forget()

    def forget(self) -> None:
        """Begin anew, in a process that has none of the threads."""
        self.started: list[int] = []
        self.waiting: SimpleQueue[Work] = SimpleQueue()

    def offer(self, work: Work) -> None:
        """Have others help with work that its caller goes on with."""
        for _ in range(min(self.allowed - 1, len(work.parts) - 1)):
            if len(self.started) < self.allowed - 1 and not self.start():
                return
            self.waiting.put(work)

    def start(self) -> bool:
        """Start a thread; False if the system has none to give."""
        try:
            # In one call, so that a thread that runs is known whenever a signal is heard.
            self.started.extend(map(start_new_thread, (attend,), ((self.waiting,),)))
        except RuntimeError:
            return False
        return True


def attend(waiting: "SimpleQueue[Work]") -> None:
    """What a helper does, until the process ends."""
    while True:
        waiting.get().help()


def _allowed_at_start() -> int:
    """What OMP_NUM_THREADS says, as for PyTorch and BLAS; else one.

    More are for who asks: where others use the processors too, a call waits for its slowest part.
    """
    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdecimal() and int(told) > 0 else 1


helpers = Helpers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=helpers.forget)


def allow(count: int) -> None:
    """Let a call have so many threads."""
    helpers.allowed = count
    if pool is not None:
        _share_waiting()
        pool.allow(count)


# ---- calls of ufuncs ----

NUMBERS = "?bBhHiIlLqQefdFD"  # the letters of types whose loops don't ask for the interpreter


def share(functions: Iterable[Any], kinds: str = NUMBERS, most: int = sys.maxsize) -> None:
    """Let threads share the calls of ufuncs, for some types, where those have many elements.

    They are changed in place, bit for bit the same; without `sharing.c` one thread goes on alone.
    Above `most` elements of one row or matrix a function has threads of its own.
    """
    _waiting.append((functions, kinds, most))
    _share_waiting()


def share_at_once(function: Any, kinds: str) -> None:
    """Let threads share a ufunc, which `applied` knows from now on, however many there are."""
    if pool is not None:
        pool.share(function, kinds, sys.maxsize)


def applied(function: Any, *arrays: Any) -> bool:
    """Let a ufunc write into the last array, row after row; False, and nothing is done, if not so.

    That is sooner done than by NumPy, which finds its way from each row to the next.
    """
    return pool is not None and bool(pool.apply(function, *arrays))


def _share_waiting() -> None:
    """Tell the pool of what it is to share, as soon as there are threads for it."""
    if pool is not None and helpers.allowed > 1:
        while _waiting:
            functions, kinds, most = _waiting.pop()
            for function in functions:
                pool.share(function, kinds, most)


def _compiled_pool() -> Any:
    """The module of threads that share calls; None in the pure package, and where it is not."""
    name = "adjoint.backends.sharing"
    return None if importlib.util.find_spec(name) is None else importlib.import_module(name)


_waiting: list[tuple[Iterable[Any], str, int]] = []
pool = _compiled_pool()
allow(helpers.allowed)


# ---- copies ----


def copied_into(out: Any, array: Any) -> bool:
    """Write an array into another of its type by threads; False, and nothing is done, by one."""
    return helpers.allowed > 1 and pool is not None and bool(pool.copy(array, out))


# ---- parts of work that is written in Python ----


def shared(function: Callable[[Any], object], parts: list[Any], size: int = SHARED) -> None:
    """Call a function with each of some parts, at once if there are threads and it is worth it."""
    if helpers.allowed < 2 or len(parts) < 2 or size < SHARED:
        for part in parts:
            function(part)
        return
    Work(function, parts[::-1]).run()


def row_parts(count: int, width: int) -> list[slice]:
    """Rows of `width` elements in parts that don't depend on how many threads there are."""
    step = max(1, PART // max(1, width)) if count * width >= 2 * PART else max(1, count)
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]
