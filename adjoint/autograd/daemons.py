"""Threads of the engine's own, which an interrupt of their starter can't leave in doubt."""

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Halted(BaseException):
    """Ends a pass on a thread of its own, because the thread that waits for it was interrupted."""


class Daemon:
    """A daemon thread that calls one function.

    Its starter waits for it by a queue: other ways to wait are written in Python, and may lose a
    lock to a signal.
    """

    def __init__(self, name: str, function: Callable[[], None]) -> None:
        self.function: Callable[[], None] | None = function
        self.decided = threading.Lock()  # who has it has decided whether the function is called
        self.ended = False
        self.wake: SimpleQueue[None] = SimpleQueue()
        self.thread: threading.Thread | None = threading.Thread(
            target=self.run, daemon=True, name=name
        )

    def start(self) -> None:
        """Start it. After an error ask `cancel` whether it runs."""
        assert self.thread is not None
        self.thread.start()

    def run(self) -> None:
        """What the thread does."""
        if not self.decided.acquire(blocking=False):
            return
        try:
            assert self.function is not None
            self.function()
        finally:
            self.ended = True
            self.wake.put(None)

    def cancel(self) -> bool:
        """Keep it from calling the function; False if that is too late."""
        if not self.decided.acquire(blocking=False):
            return False
        self.thread = self.function = None  # which refer to this, and to the pass
        return True

    def wait(self) -> None:
        """Wait until the function has returned."""
        while not self.ended:
            self.wake.get()
        if self.thread is not None:
            self.thread.join()

    def outlast(self) -> None:
        """Wait even if interrupted; the last interrupt is raised then."""
        interrupt: BaseException | None = None
        while not self.ended or (self.thread is not None and self.thread.is_alive()):
            try:
                self.wait()
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            try:
                raise interrupt
            finally:
                interrupt = None  # which refers to this frame
