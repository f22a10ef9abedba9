"""Threads of the engine's own, which an interrupt of their starter can't leave in doubt."""

import threading
from _thread import start_new_thread
from collections.abc import Callable
from queue import SimpleQueue
from time import sleep


class Halted(BaseException):
    """Ends a pass on a thread of its own, because the thread that waits for it was interrupted."""


class Daemon:
    """A daemon thread that calls one function.

    Another thread makes it, starts it and lets go of it: a signal that is heard in the methods of
    Thread, which are written in Python, breaks them. The starter waits by queues, where one can do
    no harm.
    """

    def __init__(self, name: str, function: Callable[[], None]) -> None:
        self.name = name
        self.function: Callable[[], None] | None = function
        self.decided = threading.Lock()  # who has it has decided whether the function is called
        self.begun: list[int] = []  # the thread that starts it, once there is one
        self.failed: BaseException | None = None  # why it could not be started
        self.started: SimpleQueue[None] = SimpleQueue()
        self.returned: SimpleQueue[None] = SimpleQueue()
        self.ended = False
        self.wake: SimpleQueue[None] = SimpleQueue()

    def start(self) -> None:
        """Start it. After an error ask `cancel` whether it runs."""
        # In one call, so that it is known whether there is a thread if a signal is heard after it.
        self.begun.extend(map(start_new_thread, (self.attend,), ((),)))
        self.started.get()
        failed, self.failed = self.failed, None
        if failed is not None:
            try:
                raise failed
            finally:
                failed = None  # which refers to this frame

    def attend(self) -> None:
        """Start the thread, and wait for its end."""
        thread: threading.Thread | None = None
        try:
            thread = threading.Thread(target=self.run, daemon=True, name=self.name)
            thread.start()
        except BaseException as error:
            self.failed = error
        self.started.put(None)
        if thread is not None and thread.is_alive():
            self.returned.get()
            while thread.is_alive():  # to join it would make this thread known to `threading`
                sleep(0)
        del thread
        self.ended = True
        self.wake.put(None)

    def run(self) -> None:
        """What the thread does."""
        try:
            if self.decided.acquire(blocking=False):
                assert self.function is not None
                self.function()
        finally:
            self.returned.put(None)

    def cancel(self) -> bool:
        """Keep it from calling the function; False if that is too late."""
        if not self.decided.acquire(blocking=False):
            return False
        self.function = None  # which refers to the pass
        return True

    def wait(self) -> None:
        """Wait until it is over."""
        while not self.ended:
            self.wake.get()

    def outlast(self) -> None:
        """Wait even if interrupted; the last interrupt is raised then."""
        interrupt: BaseException | None = None
        while self.begun and not self.ended:
            try:
                self.wait()
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            try:
                raise interrupt
            finally:
                interrupt = None  # which refers to this frame
