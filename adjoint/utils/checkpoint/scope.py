"""Checkpointing a `with` block: the calls inside are noted, and made again for what backward needs.

A function can be run again, a block can't; but every call in it is of an op with known arguments.
So a saved tensor that a noted call made is replaced by a `Made`, and computed from the block's
inputs when asked for. What can't be computed again is kept: results of random and custom ops, of
subclasses that see calls for themselves, and tensors changed in place since they were made.
"""

import weakref
from typing import Any

from adjoint.autograd.saved_tensors import SavedTensor, check_version, pack
from adjoint.call import dispatch
from adjoint.call.context import Changed, Settings, replaced
from adjoint.ops.op import Op
from adjoint.ops.sampling import random
from adjoint.tensors.tensor import Tensor
from adjoint.utils.checkpoint.passes import PerPass
from adjoint.utils.checkpoint.spill import Folder, Spilled
from adjoint.utils.checkpoint.trace import Watcher


class Result:
    """One result of a noted call, as an argument of another."""

    __slots__ = ("call", "number")

    def __init__(self, call: int, number: int) -> None:
        self.call = call
        self.number = number


class Made:
    """Stands in a node for a result; it alone keeps the recording alive."""

    __slots__ = ("__weakref__", "kept", "recording", "result")

    def __init__(self, recording: "Recording", result: Result) -> None:
        self.recording = recording
        self.result = result
        self.kept: Tensor | None = None  # if it turned out to be no result of that call

    def tensor(self) -> Tensor:
        """The values again."""
        return self.recording.value(self.result) if self.kept is None else self.kept


class Input:
    """A tensor from outside, for the calls to be made again: its array, without history."""

    __slots__ = ("counter", "value", "version")

    def __init__(self, tensor: Tensor, pairs: tuple[Any, ...]) -> None:
        tensor.up_to_date()
        self.counter = tensor.counter()
        self.version = self.counter.value
        self.value = pack(Tensor(tensor.array), pairs)

    def tensor(self) -> Any:
        """The values again, unless they were changed in place since."""
        if isinstance(self.value, SavedTensor):
            return self.value.unpack()
        check_version(None, "an input of checkpoint_scope", self.version, self.counter)
        return self.value


class Recording:
    """The calls of one block, and what passes under way have computed of it again."""

    def __init__(self) -> None:
        self.calls: list[tuple[Op, list[Any]]] = []
        self.handed: weakref.WeakSet[Made] = weakref.WeakSet()
        self.replays: PerPass[Replay] = PerPass()

    def value(self, wanted: Result) -> Tensor:
        """A result again; what this pass computed before is not computed twice."""
        return self.replays.get(lambda: Replay(self.calls)).value(wanted)

    def hand_out(self, result: Result) -> Made:
        """What a node gets in place of a saved tensor."""
        made = Made(self, result)
        self.handed.add(made)
        return made

    def prune(self) -> None:
        """Forget the calls that no saved tensor depends on, and their inputs with them."""
        needed: set[int] = set()
        pending = [made.result.call for made in self.handed if made.kept is None]
        while pending:
            index = pending.pop()
            if index not in needed:
                needed.add(index)
                pending += [result.call for result in _results_in(self.calls[index][1])]
        for index, (op, _) in enumerate(self.calls):
            if index not in needed:
                self.calls[index] = (op, [])


_UNRECORDED = {"saved_hooks": (), "hooks_refusal": None, "watchers": (), "grad_enabled": False}


class Replay:
    """Results that one pass has computed again."""

    def __init__(self, calls: list[tuple[Op, list[Any]]]) -> None:
        self.calls = calls
        self.results: dict[int, Any] = {}

    def value(self, wanted: Result) -> Tensor:
        """One result; the calls it depends on first."""
        calls = self.calls
        pending = [wanted.call]
        while pending:
            index = pending[-1]
            missing = [r.call for r in _results_in(calls[index][1]) if r.call not in self.results]
            if index in self.results or not missing:
                pending.pop()
                if index not in self.results:
                    self.results[index] = self.computed(*calls[index])
            else:
                pending += missing
        picked: Tensor = self.picked(wanted)
        return picked

    def computed(self, op: Op, values: list[Any]) -> Any:
        """A call made again, outside of any recording."""
        with Changed(_UNRECORDED):
            return op.run([self.argument(value) for value in values])

    def argument(self, value: Any) -> Any:
        """A noted argument as the call gets it."""
        if isinstance(value, Result):
            return self.picked(value)
        if isinstance(value, Input):
            return value.tensor()
        if isinstance(value, (list, tuple)):
            return type(value)([self.argument(element) for element in value])
        return value

    def picked(self, wanted: Result) -> Any:
        """One of the results of a call that was made again."""
        found = self.results[wanted.call]
        return found[wanted.number] if isinstance(found, tuple) else found


def _results_in(values: list[Any]) -> list[Result]:
    found: list[Result] = []
    for value in values:
        if isinstance(value, Result):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _results_in(list(value))
    return found


class _Known:
    """An array that a call of the block made, while it is alive; and what stands for it."""

    __slots__ = ("array", "decision", "result", "version")

    def __init__(self, tensor: Tensor, result: Result) -> None:
        self.array = weakref.ref(tensor.array)
        self.version = tensor.version()
        self.result = result
        self.decision: Any = None


class checkpoint_scope(Watcher):
    """Inside, tensors saved for backward are dropped, and computed again from the block's inputs.

    The first `memory_budget` bytes are kept. What is beyond them is computed again, or, with
    `beyond="disk"`, written to temporary files in `directory`, which go with the graph.
    """

    def __init__(
        self, memory_budget: int = 0, *, beyond: str = "recompute", directory: Any = None
    ) -> None:
        if beyond not in ("recompute", "disk"):
            raise ValueError(f"beyond must be 'recompute' or 'disk', got {beyond!r}")
        if memory_budget < 0:
            raise ValueError(f"memory_budget must be a number of bytes, got {memory_budget}")
        super().__init__()
        self.budget = memory_budget
        self.left = memory_budget
        self.beyond = beyond
        self.directory = directory
        self.folder: Folder | None = None
        self.recording: Recording | None = None
        self.pairs: tuple[Any, ...] = ()
        self.known: dict[int, _Known] = {}  # by id; good as long as the array is alive
        self.current = -1  # the call under way, and the arrays it was given
        self.given: list[Any] = []
        self.early: list[tuple[Tensor, Any]] = []  # results that it has saved, and as what

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("watchers", "saved_hooks", "hooks_refusal")

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        if self.recording is not None:
            raise RuntimeError("this checkpoint_scope is entered already; make another")
        if outer.hooks_refusal is not None:
            raise RuntimeError(outer.hooks_refusal)
        self.recording = Recording()
        self.left = self.budget
        self.pairs = outer.saved_hooks
        values = {"saved_hooks": ((self.pack, _unpack),), "hooks_refusal": None}
        return replaced(super()._inside(outer), values)

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        assert self.recording is not None
        self.recording.prune()
        self.recording, self.folder = None, None
        self.known = {}

    def call(self, op: Any, values: list[Any]) -> Any:
        """Note a call, and of what its results are made."""
        tensors = dispatch.tensors_in(values)
        recording = self.recording
        if recording is None or not _repeatable(op, tensors):
            return op.run(values)
        self.current = len(recording.calls)
        self.given = [tensor.array for tensor in tensors]
        recording.calls.append((op, [self.noted(value) for value in values]))
        try:
            output = op.run(values)
        finally:
            index, self.current, self.given = self.current, -1, []
            early, self.early = self.early, []
        for number, tensor in enumerate(output if isinstance(output, tuple) else (output,)):
            known = _Known(tensor, Result(index, number))
            self.known[id(tensor.array)] = known
            for saved, decision in early:
                if saved.array is tensor.array:
                    known.decision = decision
                    if isinstance(decision, Made):
                        decision.result.number = number
        for saved, decision in early:
            if isinstance(decision, Made) and decision.result.number < 0:
                decision.kept = saved
        return output

    def find(self, tensor: Tensor) -> _Known | None:
        """What is known of a tensor's array, if it still has the values it was made with."""
        known = self.known.get(id(tensor.array))
        if known is None or known.array() is not tensor.array:
            return None
        return known if known.version == tensor.version() else None

    def noted(self, value: Any) -> Any:
        """An argument as the recording keeps it."""
        if isinstance(value, Tensor):
            known = self.find(value)
            return Input(value, self.pairs) if known is None else known.result
        if isinstance(value, (list, tuple)):
            return type(value)([self.noted(element) for element in value])
        return value

    def pack(self, value: Any) -> Any:
        """What a node saves, kept or replaced by what stands for it."""
        if not isinstance(value, Tensor) or self.recording is None:
            return value
        known = self.find(value)
        if known is None:
            if self.current < 0 or any(value.array is array for array in self.given):
                return pack(value, self.pairs)
            decision = self.decided(value, Result(self.current, -1))
            self.early.append((value, decision))
            return decision
        if known.decision is None:
            known.decision = self.decided(value, known.result)
        if isinstance(known.decision, Made):
            return self.recording.hand_out(known.result)
        return known.decision

    def decided(self, tensor: Tensor, result: Result) -> Any:
        """Keep a result while the budget lasts, else write it down, or drop it."""
        assert self.recording is not None
        size = int(tensor.array.nbytes)
        if size <= self.left:
            self.left -= size
            return pack(Tensor(tensor.array), self.pairs)
        if self.beyond == "recompute":
            return self.recording.hand_out(result)
        if self.folder is None:
            self.folder = Folder(self.directory)
        return Spilled(tensor, self.folder)


def _unpack(packed: Any) -> Any:
    if isinstance(packed, (Made, Spilled)):
        return packed.tensor()
    return packed.unpack() if isinstance(packed, SavedTensor) else packed


def _repeatable(op: Any, tensors: list[Tensor]) -> bool:
    """Whether a call changes nothing, and gives the same each time; of custom ops nobody knows."""
    if not isinstance(op, Op) or op.lane == dispatch.OWN:
        return False
    return op.forward.__module__ != random.__name__ and not any(t.special for t in tensors)
