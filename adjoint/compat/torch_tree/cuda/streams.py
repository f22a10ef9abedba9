"""torch.cuda's streams and events, over CuPy's: queues of work on a GPU, and marks in them."""

from typing import Any

from adjoint.backends import backend_for
from adjoint.device import device as as_device


def _cupy() -> Any:
    return backend_for(as_device("cuda")).xp.cuda


class Event:
    """A mark in a stream: others can wait for it, and two of them tell the time between."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self.event = _cupy().Event(block=blocking, disable_timing=not enable_timing)
        self.recorded = False

    @property
    def cuda_event(self) -> int:
        """CUDA's own handle."""
        return int(self.event.ptr)

    def record(self, stream: "Stream | None" = None) -> None:
        """Put the mark behind all work that a stream has been given."""
        self.event.record((current_stream() if stream is None else stream).stream)
        self.recorded = True

    def wait(self, stream: "Stream | None" = None) -> None:
        """Let what a stream is given from now on wait for the mark."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether the work before the mark is done."""
        return not self.recorded or bool(self.event.done)

    def synchronize(self) -> None:
        """Wait until it is."""
        self.event.synchronize()

    def elapsed_time(self, end_event: "Event") -> float:
        """Milliseconds from this mark to another."""
        return float(_cupy().get_elapsed_time(self.event, end_event.event))


class Stream:
    """A queue of work on a GPU; as a context, it gets the work of what is inside."""

    def __init__(self, device: Any = None, priority: int = 0, *, stream: Any = None) -> None:
        library = _cupy()
        if stream is None:
            number = None if device is None else as_device(device).index
            with library.Device(number):
                stream = library.Stream(non_blocking=True, priority=priority)
        self.stream = stream
        self.priority = priority

    @property
    def cuda_stream(self) -> int:
        """CUDA's own handle."""
        return int(self.stream.ptr)

    @property
    def device(self) -> Any:
        """The GPU whose work it takes."""
        number = self.stream.device_id
        return as_device("cuda", _cupy().Device().id if number in (None, -1) else number)

    def __enter__(self) -> "Stream":
        self.stream.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.stream.__exit__(*error)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def record_event(self, event: Event | None = None) -> Event:
        """A mark behind the work that it has been given."""
        mark = Event() if event is None else event
        mark.record(self)
        return mark

    def wait_event(self, event: Event) -> None:
        """Let what it is given from now on wait for a mark."""
        if event.recorded:
            self.stream.wait_event(event.event)

    def wait_stream(self, stream: "Stream") -> None:
        """Let what it is given from now on wait for what another has been given."""
        self.wait_event(stream.record_event())

    def query(self) -> bool:
        """Whether all of its work is done."""
        return bool(self.stream.done)

    def synchronize(self) -> None:
        """Wait until it is."""
        self.stream.synchronize()


def current_stream(device: Any = None) -> Stream:
    """The stream that gets the work of this thread."""
    return Stream(stream=_cupy().get_current_stream())


def default_stream(device: Any = None) -> Stream:
    """The stream that gets it where no other was chosen."""
    return Stream(stream=_cupy().Stream.null)


def set_stream(stream: Stream) -> None:
    """Let a stream get the work of this thread from now on."""
    stream.stream.use()


class stream:
    """A context in which a stream gets the work; None: the one that gets it already."""

    def __init__(self, stream: Stream | None) -> None:
        self.chosen = stream

    def __enter__(self) -> None:
        if self.chosen is not None:
            self.chosen.__enter__()

    def __exit__(self, *error: object) -> None:
        if self.chosen is not None:
            self.chosen.__exit__(*error)
