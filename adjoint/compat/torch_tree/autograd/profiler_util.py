"""torch.autograd.profiler_util's events, which PyTorch's programs make by themselves."""

from typing import Any

from adjoint.autograd import profiler_events
from adjoint.autograd.profiler_events import MICROSECOND, Interval as Interval

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


class _AnyEvent(type):
    """Of an event that a profile has made, too, it can be asked whether it is one."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, profiler_events.FunctionEvent)


class FunctionEvent(profiler_events.FunctionEvent, metaclass=_AnyEvent):
    """One run of an op, told from outside; what adjoint does not profile is left out."""

    device_time_total = 0.0

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, end_us: float, **others: Any
    ) -> None:
        start, end = (round(time * MICROSECOND) for time in (start_us, end_us))
        super().__init__(name, "op", "forward", thread, start=start, end=end)
        self.id = id
        self.node_id: int = others.get("node_id", -1)
        self.input_shapes = tuple(others.get("input_shapes") or ())
        self.sequence_nr = others.get("sequence_nr", -1)
        self.own_bytes = others.get("cpu_memory_usage", 0)
        self.cpu_children: list[FunctionEvent] = []

    def append_cpu_child(self, child: "FunctionEvent") -> None:
        """Note an event as part of this one."""
        self.cpu_children.append(child)
        child.cpu_parent = self
        self.inner_time += child.end - child.start


class FunctionEventAvg(profiler_events.FunctionEventAvg):
    """Events summed, under the key of the first that comes."""

    device_time_total = 0.0

    def __init__(self) -> None:
        super().__init__("")

    def add(self, event: Any, nested: bool = True, within: bool = False) -> Any:
        """Count an event, with all that ran within it, or the events of another sum."""
        self.key = self.key or event.key
        return super().add(event, nested, within)


class EventList(profiler_events.EventList):
    """Events that can find out which of them ran within which."""

    def _populate_cpu_children(self) -> None:
        """Make each event part of the shortest one on its thread that it lies in."""
        open_events: dict[int, list[Any]] = {}
        for event in sorted(self, key=lambda event: (event.start, -event.end)):
            outer = open_events.setdefault(event.thread, [])
            while outer and (event.start >= outer[-1].end or event.end > outer[-1].end):
                outer.pop()
            if outer:
                outer[-1].append_cpu_child(event)
            outer.append(event)
