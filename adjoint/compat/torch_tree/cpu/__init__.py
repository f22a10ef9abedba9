"""torch.cpu: mixed precision on the CPU, and what programs ask of every device."""

import contextlib
from typing import Any


def is_available() -> bool:
    """There always is one."""
    return True


is_initialized = is_available


def device_count() -> int:
    """One, whatever its cores."""
    return 1


def current_device() -> str:
    """Its name."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Nothing waits: calls on the CPU are done when they return."""


set_device = synchronize


class Stream:
    """The one queue of work that there is: calls are done when they return."""

    def __init__(self, priority: int = -1) -> None:
        """Nothing is kept of it."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing is left to wait for."""

    record_event = wait_event = wait_stream


_one = Stream()


def current_stream(device: Any = None) -> Stream:
    """The one there is."""
    return _one


class StreamContext(contextlib.AbstractContextManager[None]):
    """A context that changes nothing."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __exit__(self, *exc: object) -> None:
        """Nothing to put back."""


stream = StreamContext
