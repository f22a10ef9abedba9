"""The observer behind a profile: it notes each op, each node and each named range as it runs."""

import math
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from adjoint import backends
from adjoint.autograd.node import LEAF, Node, next_sequence_number
from adjoint.autograd.profiler_events import EventList, FunctionEvent
from adjoint.autograd.provenance import Source, locate, user_frame
from adjoint.tensors.core import NDARRAY, TensorCore, backend_of


@dataclass(slots=True, eq=False)
class Running:
    """An event that has begun, and what is needed to end it."""

    event: FunctionEvent
    recorder: "Recorder"
    thread: int
    inputs: frozenset[int] = frozenset()  # which results are no new memory
    waits_for: Any = None  # the backend of a device that works by itself


# What runs in this context, outermost first.
running_in_context: ContextVar[tuple[Running, ...]] = ContextVar("adjoint_profiled", default=())


@dataclass(slots=True, eq=False)
class Recorder:
    """An observer that notes what runs, for how long, and how much it makes."""

    record_shapes: bool = False
    profile_memory: bool = True
    with_stack: bool = True
    module_path: Callable[[], str] | None = None
    synchronize: bool = True
    clock: Callable[[], int] = time.perf_counter_ns
    began: int = 0
    events: list[FunctionEvent] = field(default_factory=list)
    ops: list[FunctionEvent] = field(default_factory=list)
    finished: EventList | None = None

    def __post_init__(self) -> None:
        self.began = self.clock()

    # ---- what dispatch and the engine call ----

    def __call__(self, op: Any, values: list[Any]) -> Any:
        """Make the call of an op, and note it."""
        token = self.enter_op(op.name, values)
        result: Any = None
        try:
            result = op.run(values)
        finally:
            self.leave_op(token, result)
        return result

    def enter_op(self, op_name: str, values: Any) -> Running:
        """An op is about to run on these arguments."""
        running = self.begin(op_name, "op")
        event = running.event
        # If it is recorded, its node is made after it has run, and has the number after this one.
        event.sequence_nr = next_sequence_number() + 1
        if self.module_path is not None:
            event.module = self.module_path()
        if self.with_stack:
            event.source = caller()
        if self.record_shapes:
            event.input_shapes = tuple(tuple(array.shape) for array in arrays_in(values))
        running.inputs = frozenset(id(array) for array in arrays_in(values))
        self.ops.append(event)
        event.start = self.now()
        return running

    def leave_op(self, token: Running, result: Any) -> None:
        """The op that `token` stands for has run, or has failed, and then its result is None."""
        made = [array for array in arrays_in(result) if id(array) not in token.inputs]
        if self.synchronize:
            for array in made:
                if type(array) is not NDARRAY:
                    backend_of(array).synchronize()
        token.event.end = self.now()
        if self.profile_memory:
            token.event.own_bytes = sum(array.nbytes for array in made if not is_view(array))
        self.finish(token)

    def enter_node(self, node: Node) -> Running:
        """A node of the backward is about to run."""
        running = self.begin(node.name(), "node")
        event = running.event
        event.phase = "backward"
        if node.lane != LEAF:  # whose number says nothing
            event.sequence_nr = node.sequence_number
            event.forward = self.maker_of(node)
        if event.forward is not None:
            event.module = event.forward.module
            event.source = event.forward.source
        elif self.with_stack:
            event.source = node.source()
        if self.profile_memory:
            event.own_bytes = gradient_bytes(node)
        if self.record_shapes:
            event.input_shapes = tuple(tuple(shape) for shape in node.output_shapes())
        if self.synchronize:
            running.waits_for = device_of(node)
        event.start = self.now()
        return running

    def leave_node(self, token: Running) -> None:
        """The node that `token` stands for has run."""
        if token.waits_for is not None:
            token.waits_for.synchronize()
        token.event.end = self.now()
        if token.event.inner_bytes:  # the ops within made its gradients, and are counted
            token.event.own_bytes = 0
        self.finish(token)

    # ---- what record_function calls ----

    def new_range(self, name: str, running: tuple[Running, ...]) -> Running:
        """A part of the program that has a name begins, within what runs."""
        token = self.made(name, "range", running)
        token.event.start = self.now()
        return token

    def leave_range(self, token: Running) -> None:
        """The part that `token` stands for is over."""
        token.event.end = self.now()
        self.finish(token)

    # ---- bookkeeping ----

    def now(self) -> int:
        """Nanoseconds since the recorder was made."""
        return self.clock() - self.began

    def begin(self, name: str, kind: str) -> Running:
        """A new event, within the one that runs in this context on this thread."""
        running = running_in_context.get()
        token = self.made(name, kind, running)
        running_in_context.set((*running, token))
        return token

    def made(self, name: str, kind: str, running: tuple[Running, ...]) -> Running:
        """A new event, within one of those that run."""
        thread = threading.get_native_id()
        event = FunctionEvent(name, kind, "forward", thread)
        for outer in reversed(running):
            if outer.recorder is self and outer.thread == thread:
                event.cpu_parent = outer.event
                event.phase = outer.event.phase
                break
        return Running(event, self, thread)

    def finish(self, token: Running) -> None:
        """An event is over, and with it all within it that never ended because they failed."""
        event = token.event
        running = running_in_context.get()
        if token in running:
            running_in_context.set(running[: running.index(token)])
        outer = event.cpu_parent
        if outer is not None:
            outer.inner_time += event.end - event.start
            outer.inner_bytes += event.cpu_memory_usage
        self.events.append(event)

    def maker_of(self, node: Node) -> FunctionEvent | None:
        """The op that made a node, if it ran under this recorder: the last one before it."""
        at = bisect_right(self.ops, node.sequence_number, key=lambda event: event.sequence_nr)
        if at == 0:
            return None
        found = self.ops[at - 1]
        op = getattr(node, "op", None)  # a Function's node has none
        same = op is None or op.name.rstrip("_") == found.name.rstrip("_")
        return found if same else None

    def results(self) -> EventList:
        """What has ended so far, in the order in which it began."""
        return EventList(sorted(self.events, key=lambda event: event.start))

    def conclude(self) -> None:
        """Keep what has ended so far as the result."""
        self.finished = self.results()


# ---- what can be told of a call ----


def caller() -> Source | None:
    """The line of the user's program that is being run: the nearest outside of this package."""
    frame = user_frame(1)
    return None if frame is None else locate(frame.f_code, frame.f_lasti)


def arrays_in(value: Any) -> Iterator[Any]:
    """The arrays among arguments or results, however nested; those of tensors too."""
    if isinstance(value, TensorCore):
        yield value.array
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from arrays_in(element)
    elif type(value) is NDARRAY or backends.lookup(type(value)) is not None:
        yield value


def is_view(array: Any) -> bool:
    """Whether an array shows memory of another; JAX's never do."""
    return getattr(array, "base", None) is not None


def device_of(node: Node) -> Any:
    """The backend of a node's gradients, if there may be work to wait for."""
    array_type = node.spec_of(0).array_type if node.output_count() else NDARRAY
    return None if array_type is NDARRAY else backend_of(array_type)


def gradient_bytes(node: Node) -> int:
    """The size of the gradients that a node sends on."""
    total = 0
    for following, number in node.edges():
        if following is not None:
            spec = following.spec_of(number)
            total += math.prod(spec.shape) * int(spec.dtype.itemsize)
    return total
