"""Work on large arrays, shared among threads: bit for bit what one thread makes of it."""

import functools
import os
import re
from _thread import start_new_thread
from collections.abc import Callable
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any

import numpy as np

LEAST = 1 << 18  # elements from which to wake a thread is worth its time
SHARED = 1 << 16  # the same, where each element takes many steps
PART = 1 << 16  # elements of a part of rows
_SHORTEST = 1 << 15  # elements of a part
# Parts begin at multiples of it, so that the same elements share a vector as in one thread.
_STEP = 1 << 10
_NOTHING = Context()


class Work:
    """Parts of one call, taken by whoever is free, its caller too: it ends without any other."""

    def __init__(self, function: Callable[[Any], object], parts: list[Any]) -> None:
        self.function: Callable[[Any], object] | None = function
        self.parts = parts  # still to be done; to take one is a single step of the interpreter
        self.context: Context = copy_context()  # of the caller, with NumPy's error state
        self.errors: list[BaseException] = []
        self.entered: list[None] = []  # one for each helper that may have taken a part
        self.left: list[None] = []
        self.wake: SimpleQueue[None] = SimpleQueue()

    def help(self) -> None:
        """Do parts in another thread than the caller's."""
        self.entered.append(None)
        try:
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
        self.function, self.context = None, _NOTHING  # a helper may let go of this much later
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


_told: list[Callable[[int], object]] = []


def allow(count: int) -> None:
    """Let a call have so many threads."""
    helpers.allowed = count
    for function in _told:
        function(count)


def tell(function: Callable[[int], object]) -> None:
    """Tell a function how many threads are allowed, now and whenever that changes."""
    if function not in _told:
        _told.append(function)
        function(helpers.allowed)


def in_parts(function: Callable[[slice], object], size: int) -> None:
    """Call a function with slices that make up a range, several at a time if there are threads."""
    allowed = helpers.allowed
    if allowed < 2 or size < LEAST:
        function(slice(0, size))
        return
    length = max(size // (2 * allowed), _SHORTEST) // _STEP * _STEP
    starts = range(0, size, length)
    Work(function, [slice(start, min(start + length, size)) for start in reversed(starts)]).run()


def shared(function: Callable[[Any], object], parts: list[Any], size: int) -> None:
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


def over_rows(function: Callable[[slice], object], count: int, width: int) -> None:
    """Call a function with slices of rows that don't know of each other, or with all of them."""
    if helpers.allowed < 2 or count * width < SHARED:
        function(slice(0, count))
        return
    step = max(1, -(-count // (2 * helpers.allowed)))
    parts = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    shared(function, parts, count * width)


@functools.cache
def _core_counts(signature: str) -> tuple[int, ...]:
    """How many dimensions of its own each operand and result of a function over rows has."""
    groups = re.findall(r"\(([^)]*)\)", signature)
    return tuple([len(group.split(",")) if group else 0 for group in groups])


def spread_rows(function: Any, *operands: Any) -> Any:
    """What a ufunc over rows answers; many are shared among threads, along their first axis."""
    first = operands[0]
    if helpers.allowed < 2 or first.ndim < 2 or first.size < SHARED:
        return function(*operands)
    cores = _core_counts(function.signature)
    count, depth = first.shape[0], first.ndim - cores[0]
    parted = [
        type(each) is np.ndarray and each.ndim - core == depth and each.shape[0] == count
        for each, core in zip(operands, cores)
    ]
    none = function(*[each[:0] if apart else each for each, apart in zip(operands, parted)])
    several = type(none) is tuple
    made = tuple(
        [np.empty((count, *part.shape[1:]), part.dtype) for part in (none if several else (none,))]
    )

    def compute(part: slice) -> None:
        taken = [each[part] if apart else each for each, apart in zip(operands, parted)]
        function(*taken, out=tuple([each[part] for each in made]))

    over_rows(compute, count, first.size // count)
    return made if several else made[0]


@functools.cache
def _can_write(function: Any, count: int) -> bool:
    """Whether a function writes its result where it is told to; tried once, on nothing."""
    try:
        function(*[np.empty(0)] * count, out=np.empty(0))
    except TypeError:
        return False
    return True


def spread(function: Any, first: Any, second: Any = None) -> Any:
    """What an elementwise function of one or two NumPy arrays, or of one and a number, answers.

    Arrays that lie in memory alike are shared among threads; others the function has as they are.
    """
    arrays = (first,) if second is None else (first, second)
    large = first if type(first) is np.ndarray and first.ndim else second
    if type(large) is not np.ndarray or large.size < LEAST or helpers.allowed < 2:
        return function(*arrays)
    for array in arrays:
        if type(array) is np.ndarray and array.ndim:
            if array.shape != large.shape or not array.flags.c_contiguous:
                return function(*arrays)
    if not _can_write(function, len(arrays)):
        return function(*arrays)
    flat = [a.reshape(-1) if type(a) is np.ndarray and a.ndim else a for a in arrays]
    kind = function(*[a[:0] if type(a) is np.ndarray and a.ndim else a for a in flat]).dtype
    result = np.empty(large.shape, kind)
    written = result.reshape(-1)

    def compute(part: slice) -> None:
        taken = [a[part] if type(a) is np.ndarray and a.ndim else a for a in flat]
        function(*taken, out=written[part])

    in_parts(compute, large.size)
    return result
