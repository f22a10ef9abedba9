"""Gradients written by a pass that may still fail, and how they are taken back.

A pass within another, and one with hooks that wait to see a gradient, write before it is certain
that the outermost pass succeeds. Each such gradient has a log of who wrote to it. Taking a pass
back gives what the others would have written by themselves, to the bit.
"""

from typing import TYPE_CHECKING, Any, Final

from adjoint.tensors.core import NDARRAY, TensorCore, VersionCounter, backend_of
from adjoint.tensors.upper import upper

if TYPE_CHECKING:
    from adjoint.autograd.graph_task import GraphTask
    from adjoint.autograd.leaves import Writes


def base_of(gradient: TensorCore) -> tuple[TensorCore, tuple[Any, ...]]:
    """The tensor whose array a gradient shows, where arrays never change; and by which steps."""
    extras = gradient.extras
    base = None if extras is None else extras.base
    if extras is None or base is None or backend_of(gradient.array).mutable:
        return gradient, ()
    return base, extras.steps


class State:
    """What a `.grad` was at one moment: the tensor, its values, how often it had been changed.

    One in a layer, as a sparse gradient, is never changed but replaced: its values are None.
    """

    def __init__(self, gradient: "TensorCore | None", values: Any) -> None:
        self.gradient = gradient
        self.array: Any = None if gradient is None else gradient.array
        self.values = values
        self.version = 0
        self.code: Any = None
        self.instruction = 0


def state_of(tensor: "TensorCore") -> State:
    """What the `.grad` of a tensor is now, with a copy of its values."""
    gradient = tensor.gradient
    if gradient is None:
        return State(None, None)
    state = State(gradient, _copied(gradient))
    counter = _counter_of(gradient)
    if counter is not None:
        state.version = counter.value
        state.code = counter.code
        state.instruction = counter.instruction
    return state


def _copied(gradient: "TensorCore") -> Any:
    """The values of a gradient; None if it has a layer."""
    if gradient.layer is not None:
        return None
    return backend_of(gradient.array).copy(gradient.array)


def _counter_of(gradient: "TensorCore") -> VersionCounter | None:
    return None if gradient.extras is None else gradient.extras.counter


class Entry:
    """One addition, or a run of them, to a gradient by a pass."""

    def __init__(self, owner: "GraphTask | None", before: State | None, part: Any) -> None:
        self.owner = owner
        self.before = before  # None where it follows from the entries in front
        self.part = part  # what was added; None for a run, which only its own pass takes back

    def writer(self) -> "GraphTask | None":
        """The pass that decides whether this stays; None if that is decided."""
        found = self.owner
        while found is not None and found.committed:
            found = found.parent
        return found


class Log:
    """Who has written to one gradient, while one of them may still fail.

    First come runs, of passes each within the one in front; behind them single additions.
    """

    def __init__(self, tensor: "TensorCore") -> None:
        self.tensor = tensor
        self.entries: list[Entry] = []

    def settle(self) -> None:
        """Forget what can't be taken back any more."""
        runs: list[Entry] = []
        parts: list[Entry] = []
        after: State | None = None
        for entry in self.entries:
            writer = entry.writer()
            if entry.part is None:
                if writer is not None and not (runs and runs[-1].owner is writer):
                    runs.append(Entry(writer, entry.before, None))
                continue
            before = entry.before if after is None else after
            if writer is not None or parts:
                parts.append(Entry(writer, None if parts else before, entry.part))
                continue
            after = self.advanced(before, entry.part)
            runs = [Entry(run.owner, self.advanced(run.before, entry.part), None) for run in runs]
        self.entries = _joined(runs, parts)

    def advanced(self, before: State | None, part: Any) -> State:
        """What a gradient is if to what it was this is added."""
        assert before is not None
        old: Any = before.gradient
        if isinstance(part, TensorCore):  # whose history is wanted, or which has a layer
            return self.advanced_by_tensor(before, part)
        array = part
        if old is None:
            values = backend_of(array).copy(array)
            # Of its own memory, which changes with what is added to it, while this state stays.
            return State(upper.tensor(backend_of(array).copy(array)), values)
        if before.values is None:
            return self.advanced_by_tensor(before, upper.tensor(array))
        if backend_of(before.values).mutable:
            values = backend_of(before.values).copy(before.values)
            values += array
        else:
            values = before.values + array
        state = State(old, values)
        state.array = before.array
        state.version = before.version + 1
        counter = _counter_of(old)
        if counter is not None:
            state.code, state.instruction = counter.code, counter.instruction
        return state

    def advanced_by_tensor(self, before: State, part: Any) -> State:
        """The same where what is added is a Tensor, or what it is added to has a layer."""
        old: Any = before.gradient
        if old is None:
            made = part.clone()
            return State(made, _copied(made))
        if before.values is None or part.layer is not None:
            made = (old if before.values is None else upper.tensor(before.values)) + part
            return State(made, _copied(made))
        return State(old + part, before.values + part.array)

    def add(self, writes: "Writes", writer: "GraphTask | None", part: Any) -> None:
        """Note what a pass is about to add; only where others wrote too, what that is."""
        entries = self.entries
        last = entries[-1] if entries else None
        if writer is not None and all(e.part is None and _within(e, writer) for e in entries):
            if last is None or last.writer() is not writer:
                writes.note(self.entries, Entry(writer, state_of(self.tensor), None))
            return
        if not isinstance(part, TensorCore):
            part = backend_of(part).copy(part)  # the array itself may become the gradient
        follows = last is not None and last.part is not None
        before = None if follows else state_of(self.tensor)
        writes.note(self.entries, Entry(writer, before, part))

    def take_back(self, writes: "Writes", task: "GraphTask") -> None:
        """Make the gradient what it would be without a pass."""
        entries = self.entries
        own = [i for i, entry in enumerate(entries) if entry.writer() is task]
        if not own:
            return
        start = own[0]
        while entries[start].before is None:
            start -= 1
        kept = entries[:start]
        state = entries[start].before
        for entry in entries[start:]:
            if entry.writer() is not task:
                follows = bool(kept) and kept[-1].part is not None
                kept.append(Entry(entry.owner, None if follows else state, entry.part))
                state = self.advanced(state, entry.part)
        assert state is not None
        _put_back(writes, self.tensor, state)
        writes.set(self, "entries", kept)


def _joined(runs: list[Entry], parts: list[Entry]) -> list[Entry]:
    """Runs and additions in one list; additions that go all at once become a run, or part of one.

    So the log of passes within passes has two entries, however deep they are.
    """
    owner = parts[0].owner if parts else None
    if owner is None or any(part.owner is not owner for part in parts):
        return [*runs, *parts]
    if not runs:
        return [Entry(owner, parts[0].before, None)]
    return runs if runs[-1].owner is owner else [*runs, *parts]


def _within(entry: Entry, task: "GraphTask") -> bool:
    """Whether what a pass wrote goes as well if this entry is taken back."""
    writer = entry.writer()
    outer: GraphTask | None = task
    while outer is not None and writer is not None and outer.depth > writer.depth:
        outer = outer.parent
    return outer is writer


def _put_back(writes: "Writes", tensor: "TensorCore", state: State) -> None:
    """Make the `.grad` of a tensor what it was."""
    gradient = state.gradient
    writes.give(tensor, gradient)
    if gradient is None:
        return
    if state.values is None:
        pass
    elif not backend_of(state.array).mutable:
        writes.put(*base_of(gradient), state.values)
        if gradient.extras is not None and gradient.extras.counter is not None:
            writes.count(gradient.extras.counter)  # onwards, so that views look again
        return
    elif type(state.array) is not NDARRAY or state.array.flags.writeable:
        writes.restore(state.array, state.values)
    counter = gradient.counter() if state.version else _counter_of(gradient)
    if counter is not None:
        writes.set(counter, "value", state.version)
        writes.set(counter, "code", state.code)
        writes.set(counter, "instruction", state.instruction)


# ---- all logs; whoever comes here holds the lock under which gradients are written ----

_logs: Final[dict[int, Log]] = {}


def note(writes: "Writes", writer: "GraphTask | None", tensor: "TensorCore", part: Any) -> None:
    """What a pass is about to add to a `.grad` is taken back if that of `writer` fails."""
    log = _logs.get(id(tensor))
    if log is not None:
        log.settle()
        if writer is None and not log.entries:
            del _logs[id(tensor)]
            return
    elif writer is None:
        return
    else:
        log = _logs[id(tensor)] = Log(tensor)
    if writer is not None:
        writer.journal[id(tensor)] = log
    log.add(writes, writer, part)


def take_back(writes: "Writes", task: "GraphTask") -> None:
    """Make the gradients that a pass wrote to what they would be without it."""
    for log in task.journal.values():
        log.take_back(writes, task)


def close(task: "GraphTask") -> None:
    """A pass has ended: forget what nobody can take back."""
    for key, log in list(task.journal.items()):
        log.settle()
        if not log.entries and _logs.get(key) is log:  # or it is one that another pass began
            del _logs[key]


def any_open() -> bool:
    """Whether some gradient was written by a pass that may still fail."""
    return bool(_logs)


def forget_all() -> None:
    """In a forked process: the passes of other threads are gone, and so is what they waited for."""
    _logs.clear()
