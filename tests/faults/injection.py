"""Events, counted as they come, and the fault that is injected at one of them."""

import _thread
import collections
import contextlib
import ctypes
import dis
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# What is raised at an event. With "signal" and "alarm" a real signal arrives, whose handler raises
# KeyboardInterrupt, or an Exception as a handler of alarms would.
RAISED = ("Exception", "MemoryError", "KeyboardInterrupt")
SIGNALS = ("signal", "alarm")

SIGNAL = signal.SIGINT
MAIN = threading.main_thread().ident or 0
OWN_FILES = tuple(
    str(Path(__file__).with_name(name))
    for name in ("injection.py", "seams.py", "state.py", "sweep.py", "soak.py")
)


class Injected(Exception):
    """What no library knows, and so nobody may translate."""


def made(fault: str) -> BaseException:
    """The exception object of a fault."""
    if fault == "MemoryError":
        return MemoryError("injected")
    if fault in ("KeyboardInterrupt", "signal"):
        return KeyboardInterrupt("injected")
    return Injected("injected")


def signal_main() -> None:
    """Let the signal come for the main thread, which may be waiting; Windows can't wake it."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(MAIN, SIGNAL)
    else:
        _thread.interrupt_main(SIGNAL)


def nothing() -> None:
    """Needed where nothing is to be done."""


class Events:
    """Counts the events of a run, or raises at one of them; graphs and seams tell it of each."""

    def __init__(self) -> None:
        self.counting = False
        self.kind: str | None = None
        self.left = 0
        self.fault = ""
        self.error: BaseException | None = None
        self.fired = False
        self.dropped = ""  # in what the interpreter passed nothing on, as it said
        self.counts: collections.Counter[str] = collections.Counter()
        self.noted: str | None = None  # the kind of which each event is noted
        self.note: Callable[[], Any] = nothing
        self.notes: list[Any] = []
        self.tracer: Any = None  # tells of calls, while a run is under way
        self.before: Callable[[], Any] = nothing  # what is done around such a run
        self.after: Callable[[], Any] = nothing

    def __call__(self, kind: str) -> None:
        """An event of this kind happens now."""
        if self.counting:
            self.counts[kind] += 1
            if self.noted == kind:
                self.notes.append(self.note())
        elif self.kind == kind:
            self.left -= 1
            if self.left == 0:
                self.fire()

    def fire(self) -> None:
        """Raise, or let a signal come for the main thread."""
        self.fired = True
        if self.fault in SIGNALS:
            signal_main()
        elif self.error is not None:
            raise self.error

    def arm(self, kind: str, number: int, fault: str) -> None:
        """Wait for one event."""
        self.kind, self.left, self.fault = kind, number, fault
        self.fired, self.dropped = False, ""
        self.error = made(fault)

    def disarm(self) -> None:
        """Events are only told from now on; the exception is dropped."""
        self.kind = None
        self.error = None

    @contextlib.contextmanager
    def count(self, kind: str, note: Callable[[], Any]) -> Iterator[None]:
        """Count the events of a run, with a note on each of a kind.

        Notes call functions of the library: on other events those would be counted as calls.
        """
        self.counts.clear()
        self.notes = []
        self.noted, self.note = kind, note
        self.counting = True
        try:
            yield
        finally:
            self.counting = False
            self.noted = None

    def handle(self, number: int, frame: Any) -> None:
        """The handler of the signal."""
        if self.error is None:
            raise KeyboardInterrupt
        raise self.error


class _Pending:
    """A signal arrives while `pending[number]` is evaluated, and is heard where the interpreter
    looks for signals next: in no call of this module, since a subscript is none.
    """

    __getitem__ = ctypes.pythonapi.PyErr_SetInterruptEx


pending = _Pending()


class Bytecodes:
    """Lets a signal arrive at the n-th bytecode that is run by the interpreter; or counts them."""

    def __init__(self, events: Events, number: int = 0) -> None:
        self.events = events
        self.left = number

    def enter(self, frame: Any, event: str, arg: Any) -> Any:
        """Trace each frame but the harness's own."""
        if frame.f_code.co_filename in OWN_FILES:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self.trace

    def trace(self, frame: Any, event: str, arg: Any) -> Any:
        """One bytecode is about to be run."""
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                self.events.fired = True
                if threading.get_ident() != MAIN:
                    signal_main()
                    return None
                pending[SIGNAL]
        return self.trace


class Calls:
    """Raises at the n-th call of functions, known by their code, as if their first line did."""

    def __init__(self, events: Events, kind: str, wanted: Callable[[Any], bool]) -> None:
        self.events = events
        self.kind = kind
        self.wanted = wanted

    def enter(self, frame: Any, event: str, arg: Any) -> Any:
        """A function is called."""
        if self.wanted(frame.f_code):
            self.events(self.kind)


@contextlib.contextmanager
def handled(events: Events) -> Iterator[None]:
    """The signal goes to the events' own handler, and what Python drops is noted.

    That is an exception in the callback of a weak reference, or where an object is finalized.
    """

    def note(dropped: Any) -> None:
        if dropped.exc_value is not events.error or events.error is None:
            sys.__unraisablehook__(dropped)
        events.dropped = f"dropped in {getattr(dropped.object, '__qualname__', dropped.object)}"

    before, hook = signal.signal(SIGNAL, events.handle), sys.unraisablehook
    sys.unraisablehook = note
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(SIGNAL, before)


def left_undone(error: BaseException) -> str:
    """The `__exit__` written in Python at whose very first bytecode an exception came, or "".

    There it has left its `with` block, and not begun to put anything back: nothing can.
    """
    step, last = error.__traceback__, None
    while step is not None:
        if step.tb_frame.f_code.co_filename not in OWN_FILES:
            last = step
        step = step.tb_next
    if last is None or last.tb_frame.f_code.co_name != "__exit__":
        return ""
    code = last.tb_frame.f_code
    instructions = dis.get_instructions(code)
    first = next((each.offset for each in instructions if each.opname == "RESUME"), 0)
    found = f"before {Path(code.co_filename).stem}.{code.co_qualname}"
    return found if last.tb_lasti <= first else ""
