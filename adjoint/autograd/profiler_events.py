"""What a profile saw: single events, their sums by op, module or source line, tables and traces."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from adjoint.autograd.provenance import Source

MICROSECOND = 1_000  # in nanoseconds, the unit of everything that is kept


class Interval(NamedTuple):
    """From when to when, in microseconds since the profile began."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long it is."""
        return self.end - self.start


@dataclass(slots=True, eq=False)
class FunctionEvent:
    """One run of an op, of a node, or of a range that `record_function` names.

    Times are in nanoseconds, and the events within are part of them; PyTorch's names for them,
    below, are in microseconds.
    """

    name: str
    kind: str  # "op", "node" or "range"
    phase: str  # "forward", or "backward" for a node and all that runs within it
    thread: int
    cpu_parent: "FunctionEvent | None" = field(default=None, repr=False)
    module: str = ""  # the path of the module whose forward made it; "" outside of all
    source: Source | None = None
    input_shapes: tuple[Any, ...] = ()
    sequence_nr: int = -1  # of the node; for an op, of the next node that was made
    forward: "FunctionEvent | None" = field(default=None, repr=False)  # the op that made the node
    start: int = 0
    end: int = 0
    own_bytes: int = 0
    inner_time: int = 0
    inner_bytes: int = 0
    count: int = 1

    @property
    def key(self) -> str:
        """What it is counted under."""
        return self.name

    @property
    def time_range(self) -> Interval:
        """When it ran."""
        return Interval(self.start / MICROSECOND, self.end / MICROSECOND)

    @property
    def cpu_time_total(self) -> float:
        """Its time with all that ran within it, in microseconds."""
        return (self.end - self.start) / MICROSECOND

    @property
    def cpu_time(self) -> float:
        """PyTorch's other name of cpu_time_total, which is an average where events are summed."""
        return self.cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """Its time without what ran within it on the same thread, in microseconds."""
        return (self.end - self.start - self.inner_time) / MICROSECOND

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes of new results, with those of all that ran within it."""
        return self.own_bytes + self.inner_bytes

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes of new results of its own."""
        return self.own_bytes

    @property
    def forward_time(self) -> float:
        """Its own time if it was part of the forward, in microseconds."""
        return self.self_cpu_time_total if self.phase == "forward" else 0.0

    @property
    def backward_time(self) -> float:
        """Its own time if it was part of the backward, in microseconds."""
        return self.self_cpu_time_total if self.phase == "backward" else 0.0


@dataclass(slots=True, eq=False)
class FunctionEventAvg:
    """Events under one key, summed; the fields have PyTorch's names, times in microseconds."""

    key: str
    input_shapes: tuple[Any, ...] = ()
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    forward_time: float = 0.0
    backward_time: float = 0.0

    @property
    def name(self) -> str:
        """What was counted."""
        return self.key

    @property
    def cpu_time(self) -> float:
        """The average time of one event."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, event: Any, nested: bool = False, within: bool = False) -> "FunctionEventAvg":
        """Count an event, with those `nested` in it unless they are counted here themselves.

        One that lies `within` what the key stands for, and is not it, adds to the totals alone.
        """
        self.cpu_time_total += event.cpu_time_total if nested else event.self_cpu_time_total
        self.cpu_memory_usage += event.cpu_memory_usage if nested else event.self_cpu_memory_usage
        if not within:
            self.count += event.count
            self.self_cpu_time_total += event.self_cpu_time_total
            self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.forward_time += event.forward_time
        self.backward_time += event.backward_time
        return self


SORT_KEYS = (
    "count",
    "cpu_time",
    "cpu_time_total",
    "self_cpu_time_total",
    "cpu_memory_usage",
    "self_cpu_memory_usage",
    "forward_time",
    "backward_time",
)


class EventList(list[Any]):
    """Events, or sums of events, in the order in which they began."""

    def __init__(self, events: Iterable[Any] = (), by: str = "op") -> None:
        super().__init__(events)
        self.by = by

    @property
    def self_cpu_time_total(self) -> float:
        """All time that was seen, counted once."""
        return float(sum(event.self_cpu_time_total for event in self))

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        *,
        by: str | None = None,
    ) -> "EventList":
        """Sums by "op" (or node), "module" or source "line"; totals of a module have its parts."""
        by = by or ("line" if group_by_stack_n else "op")
        if by not in GROUPINGS:
            raise ValueError(f"key_averages: by must be one of {sorted(GROUPINGS)}, is {by!r}")
        rows: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else ()
            for key, within in GROUPINGS[by](event):
                row = rows.setdefault((key, shapes), FunctionEventAvg(key, shapes))
                row.add(event, nested=by == "op", within=within)
        return EventList(rows.values(), by)

    def total_average(self) -> FunctionEventAvg:
        """Everything under one key."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, the largest first if `sort_by` names a column.

        The CPU's times have those of devices, which it waits for: sorting by these does nothing.
        """
        if sort_by is not None and sort_by.removeprefix("self_").startswith(("cuda_", "device_")):
            sort_by = None
        if sort_by is not None and sort_by not in SORT_KEYS:
            raise ValueError(
                f"table: sort_by must be one of {', '.join(SORT_KEYS)}; is {sort_by!r}"
            )
        rows = [e for e in self if not top_level_events_only or _is_top_level(e)]
        if sort_by is not None:
            rows.sort(key=lambda event: float(getattr(event, sort_by)), reverse=True)
        return _table(rows[:row_limit], self, max_name_column_width, header)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace that chrome://tracing and Perfetto show."""
        write_trace(path, self)

    def __str__(self) -> str:
        return self.table()


class Results:
    """What a profile can be asked once it has run: everything its events can."""

    @property
    def function_events(self) -> EventList:
        """Every event, in the order in which they began."""
        raise NotImplementedError

    @property
    def self_cpu_time_total(self) -> float:
        """All time that was seen, in microseconds."""
        return self.function_events.self_cpu_time_total

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        *,
        by: str | None = None,
    ) -> EventList:
        """See EventList.key_averages."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, by=by)

    def total_average(self) -> FunctionEventAvg:
        """See EventList.total_average."""
        return self.function_events.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """See EventList.table."""
        return self.function_events.table(sort_by, row_limit, **options)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """See EventList.export_chrome_trace."""
        self.function_events.export_chrome_trace(path)


def _is_top_level(event: Any) -> bool:
    return getattr(event, "cpu_parent", None) is None


def line_text(source: Source | None) -> str:
    """A line of the user's program, short enough for a table."""
    if source is None:
        return ""
    return f"{Path(source.filename).name}:{source.lineno} {source.function}"


# ---- what an event is counted under: keys, and whether it lies within what the key stands for ----


def _by_op(event: FunctionEvent) -> list[tuple[str, bool]]:
    return [(event.name, False)]


def _by_module(event: FunctionEvent) -> list[tuple[str, bool]]:
    """The module itself, and for the totals all modules around it."""
    if event.kind == "range":
        return []
    path = event.module
    keys = [(path or "(no module)", False)]
    while "." in path:
        path = path.rpartition(".")[0]
        keys.append((path, True))
    return keys


def _by_line(event: FunctionEvent) -> list[tuple[str, bool]]:
    if event.kind == "range":
        return []
    return [(line_text(event.source) or "(unknown)", False)]


GROUPINGS: dict[str, Callable[[Any], list[tuple[str, bool]]]] = {
    "op": _by_op,
    "module": _by_module,
    "line": _by_line,
}


# ---- tables ----


def time_text(microseconds: float) -> str:
    """A time with a unit in which it is easily read."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def bytes_text(count: int) -> str:
    """A number of bytes with a unit in which it is easily read."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


Column = tuple[str, Callable[[Any, float], str]]


def _columns(by: str, shapes: bool) -> list[Column]:
    """The headings after the name, and how a row fills them from an event and the whole time."""
    average: list[Column] = [("CPU time avg", lambda event, whole: time_text(event.cpu_time))]
    split: list[Column] = [
        ("Forward", lambda event, whole: time_text(event.forward_time)),
        ("Backward", lambda event, whole: time_text(event.backward_time)),
    ]
    listed: list[Column] = [
        ("Input Shapes", lambda event, whole: str([list(s) for s in event.input_shapes]))
    ]
    return [
        ("Self CPU %", lambda event, whole: f"{event.self_cpu_time_total / whole:.2%}"),
        ("Self CPU", lambda event, whole: time_text(event.self_cpu_time_total)),
        ("CPU total", lambda event, whole: time_text(event.cpu_time_total)),
        *(average if by == "op" else split),
        ("Bytes", lambda event, whole: bytes_text(event.cpu_memory_usage)),
        ("Self bytes", lambda event, whole: bytes_text(event.self_cpu_memory_usage)),
        ("# of Calls", lambda event, whole: str(event.count)),
        *(listed if shapes else []),
    ]


def _table(rows: list[Any], events: EventList, name_width: int, header: str | None) -> str:
    whole = events.self_cpu_time_total
    columns = _columns(events.by, any(row.input_shapes for row in rows))
    lines = [["Name", *(heading for heading, _ in columns)]]
    for row in rows:
        name = row.name
        if len(name) > name_width:
            name = name[: name_width - 3] + "..."
        lines.append([name, *(fill(row, whole or 1.0) for _, fill in columns)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    rule = "  ".join("-" * width for width in widths)
    text = [
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))])
        for line in lines
    ]
    body = [rule, text[0], rule, *text[1:], rule]
    title = [] if header is None else [header]
    return "\n".join([*title, *body, f"Self CPU time total: {time_text(whole)}"])


# ---- traces ----


def write_trace(
    path: str | os.PathLike[str],
    events: Iterable[FunctionEvent],
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a trace of events, with what is to be known of all of them."""
    whole = {**chrome_trace(events), **(metadata or {})}
    Path(path).write_text(json.dumps(whole), encoding="utf-8")


def chrome_trace(events: Iterable[FunctionEvent]) -> dict[str, Any]:
    """Events as Chrome's and Perfetto's viewers read them, with arrows from forward to backward."""
    entries: list[dict[str, Any]] = []
    process = os.getpid()
    for number, event in enumerate(events):
        where = {"pid": process, "tid": event.thread}
        entries.append(
            {
                "ph": "X",
                "name": event.name,
                "cat": "user_annotation" if event.kind == "range" else event.phase,
                "ts": event.start / MICROSECOND,
                "dur": event.cpu_time_total,
                "args": _arguments(event),
                **where,
            }
        )
        made_by = event.forward
        if made_by is not None:
            arrow = {"name": "fwdbwd", "cat": "fwdbwd", "id": number}
            origin = {"pid": process, "tid": made_by.thread, "ts": made_by.start / MICROSECOND}
            entries.append({"ph": "s", **arrow, **origin})
            entries.append(
                {"ph": "f", "bp": "e", "ts": event.start / MICROSECOND, **arrow, **where}
            )
    return {"displayTimeUnit": "ms", "traceEvents": entries}


def _arguments(event: FunctionEvent) -> dict[str, Any]:
    """What the viewer shows of an event besides its time."""
    known: dict[str, Any] = {
        "Bytes": event.cpu_memory_usage,
        "Module": event.module,
        "Source": line_text(event.source),
        "Input Dims": [list(shape) for shape in event.input_shapes],
    }
    if event.sequence_nr >= 0:
        known["Sequence number"] = event.sequence_nr
    return {name: value for name, value in known.items() if value not in ("", [])}
