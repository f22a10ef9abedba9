"""Checkpointing a `with` block: the calls inside are noted, and made again for what backward needs.

A function can be run again, a block can't; but every call in it is of an op with known arguments.
So a saved tensor that a noted call made is replaced by a `Made`, and computed from the block's
inputs when asked for. What can't be computed again is kept: results of random and custom ops, of
subclasses that see calls for themselves, and tensors changed in place since they were made.
"""

import weakref
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from sys import getrefcount
from typing import Any

from adjoint.autograd.hooks import traceable
from adjoint.autograd.saved_tensors import SavedTensor, check_version, pack
from adjoint.call import dispatch
from adjoint.call.arguments import tensors_in
from adjoint.call.context import Changed, Settings, replaced
from adjoint.ops.op import Op
from adjoint.ops.sampling import random
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.utils.checkpoint.passes import PerPass
from adjoint.utils.checkpoint.spill import Folder, Spilled
from adjoint.utils.checkpoint.trace import Watcher


def _references_of_one() -> int:
    """How many references there are to what one variable has."""
    value = object()
    return getrefcount(value)


ALONE = _references_of_one()

MOST_MARKS = 64  # parts so small that smaller ones would save little


class Result:
    """One result of a noted call, as an argument of another."""

    __slots__ = ("call", "number")

    def __init__(self, call: int, number: int) -> None:
        self.call = call
        self.number = number


class Place:
    """Stands for a result that nodes want; what was computed again for it goes when they do."""

    __slots__ = ("__weakref__",)


class Made:
    """Stands in a node for a result; it alone keeps the recording alive."""

    __slots__ = ("__weakref__", "kept", "place", "recording", "result")

    def __init__(self, recording: "Recording", result: Result) -> None:
        self.recording = recording
        self.result = result
        self.place: Place | None = None
        self.kept: Any = None  # the values, while the budget has room for them

    def tensor(self) -> Any:
        """The values, or the values again."""
        if self.kept is None:
            return self.recording.value(self.result)
        return self.kept.unpack() if isinstance(self.kept, SavedTensor) else self.kept


class Input:
    """A tensor from outside, for the calls to be made again: its array, without history."""

    __slots__ = ("counter", "value", "version")

    def __init__(self, tensor: Tensor, pairs: tuple[Any, ...]) -> None:
        tensor.up_to_date()
        self.counter = tensor.counter()
        self.version = self.counter.value
        self.value = pack(Tensor(tensor.array, AS_IS), pairs)

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
        self.places: weakref.WeakValueDictionary[tuple[int, int], Place] = (
            weakref.WeakValueDictionary()
        )
        self.holders: weakref.WeakValueDictionary[tuple[int, int], Made] = (
            weakref.WeakValueDictionary()
        )
        self.marked: dict[tuple[int, int], Tensor] = {}  # from where it can be gone on
        self.replays: PerPass[Replay] = PerPass()

    def value(self, wanted: Result) -> Tensor:
        """A result again; what this pass computed before is not computed twice."""
        return self.replays.get(lambda: Replay(self)).value(wanted)

    def hand_out(self, result: Result) -> Made:
        """What a node gets in place of a saved tensor."""
        made = Made(self, result)
        self.handed.add(made)
        if result.number >= 0:
            self.settle(made)
        return made

    def settle(self, made: Made) -> None:
        """Of a result it is known by now which one it is."""
        key = (made.result.call, made.result.number)
        place = self.places.get(key)
        if place is None:
            place = self.places[key] = Place()
        made.place = place
        self.holders.setdefault(key, made)

    def prune(self) -> None:
        """Forget the calls that no saved tensor depends on, and their inputs with them."""
        needed: set[int] = set()
        pending = [made.result.call for made in self.handed if made.result.number >= 0]
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
    """Results that one pass has computed again, for as long as nodes want them."""

    def __init__(self, recording: Recording) -> None:
        # Not the recording itself, which ends with the nodes that want something of it.
        self.calls, self.places = recording.calls, recording.places
        self.holders, self.marked = recording.holders, recording.marked
        self.results: weakref.WeakKeyDictionary[Place, Tensor] = weakref.WeakKeyDictionary()

    def value(self, wanted: Result) -> Tensor:
        """One result; the calls it depends on first."""
        known: Tensor | None = self.known(wanted)
        if known is not None:
            return known
        self.pass_marks()
        order = self.ordered(wanted)
        uses = Counter(r.call for index in order for r in _results_in(self.calls[index][1]))
        made: dict[int, Any] = {}
        for index in order:
            op, values = self.calls[index]
            made[index] = self.computed(op, values, made)
            self.store(index, made[index])
            for result in _results_in(values):
                uses[result.call] -= 1
                if not uses[result.call] and result.call != wanted.call:
                    made.pop(result.call, None)
        found = made[wanted.call]
        picked: Tensor = found[wanted.number] if isinstance(found, tuple) else found
        return picked

    def pass_marks(self) -> None:
        """Give up the marks behind everything that nodes still want."""
        last = max((call for call, _ in list(self.places)), default=-1)
        for key in [key for key in self.marked if key[0] > last]:
            self.marked.pop(key, None)

    def known(self, result: Result) -> Any:
        """A result that is in memory; or None."""
        key = (result.call, result.number)
        place = self.places.get(key)
        found = None if place is None else self.results.get(place)
        if found is None:
            found = self.marked.get(key)
        holder = self.holders.get(key) if found is None else None
        return found if holder is None or holder.kept is None else holder.tensor()

    def ordered(self, wanted: Result) -> list[int]:
        """The calls to make again, each after those it depends on."""
        order: dict[int, None] = {}
        pending = [wanted.call]
        while pending:
            index = pending[-1]
            found = _results_in(self.calls[index][1])
            missing = [r.call for r in found if r.call not in order and self.known(r) is None]
            if index in order or not missing:
                pending.pop()
                order.setdefault(index)
            else:
                pending += missing
        return list(order)

    def store(self, index: int, output: Any) -> None:
        """Keep what nodes are going to ask for."""
        for number, tensor in enumerate(output if isinstance(output, tuple) else (output,)):
            place = self.places.get((index, number))
            if place is not None:
                self.results[place] = tensor

    def computed(self, op: Op, values: list[Any], made: dict[int, Any]) -> Any:
        """A call made again, outside of any recording."""
        with Changed(_UNRECORDED):
            return op.run([self.argument(value, made) for value in values])

    def argument(self, value: Any, made: dict[int, Any]) -> Any:
        """A noted argument as the call gets it."""
        if isinstance(value, Result):
            found = made.get(value.call)
            if found is None:
                return self.known(value)
            return found[value.number] if isinstance(found, tuple) else found
        if isinstance(value, Input):
            return value.tensor()
        if isinstance(value, (list, tuple)):
            return type(value)([self.argument(element, made) for element in value])
        return value


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

    @property
    def key(self) -> tuple[int, int]:
        """Which result it is."""
        return self.result.call, self.result.number

    def is_held(self, marked: dict[tuple[int, int], Tensor]) -> bool:
        """Whether it is alive not just because the scope keeps it: later calls may use it."""
        array = self.array()
        if array is None:
            return False
        own = isinstance(self.decision, Made) and self.decision.kept is not None
        return getrefcount(array) - ALONE > own + (self.key in marked)


@dataclass(slots=True)
class Mark:
    """All that the calls behind a place depend on."""

    values: dict[tuple[int, int], Tensor]
    size: int
    gap: int  # bytes of results that were dropped since the mark before


class Marks:
    """Places of a block from which it can be gone on, in up to half of a budget.

    When there is no more room, the one goes that leaves the smallest gap for the room it took.
    """

    def __init__(self, budget: int) -> None:
        self.room = budget // 2
        self.apart = budget // 16  # bytes of results that are dropped between two marks, at least
        self.dropped = 0  # since the last one
        self.least = 0  # the smallest size of a mark that there was a chance for
        self.taken: list[Mark] = []
        self.size = 0

    def drop(self, size: int) -> None:
        """So many bytes are not kept."""
        self.dropped += size

    def fits(self, size: int) -> bool:
        """Whether this is the time for a mark of so many bytes: not when there are better ones."""
        self.least = min(self.least or size, size)
        if size > self.room or self.dropped < self.apart:
            return False
        return size <= 1.25 * self.least or self.dropped >= 2 * self.room

    def add(self, values: dict[tuple[int, int], Tensor], size: int) -> None:
        """Take a mark, and make room for it."""
        # Before the first one, what is still kept goes when marks need the room.
        self.taken.append(Mark(values, size, self.dropped + (0 if self.taken else self.room)))
        self.size += size
        self.dropped = 0
        while self.size > self.room or len(self.taken) > MOST_MARKS:
            gaps = [(one.gap + other.gap) / max(1, one.size) for one, other in pairwise(self.taken)]
            place = gaps.index(min(gaps))
            gone = self.taken.pop(place)
            self.taken[place].gap += gone.gap
            self.size -= gone.size

    def values(self) -> dict[tuple[int, int], Tensor]:
        """All that is kept by them."""
        return {key: tensor for mark in self.taken for key, tensor in mark.values.items()}


class checkpoint_scope(Watcher):
    """Inside, tensors saved for backward are dropped, and computed again from the block's inputs.

    Up to `memory_budget` bytes are kept, among them places to go on from, so that backward has to
    hold one part of the block at a time. What is beyond them is computed again, or, with
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
        self.marks = Marks(memory_budget)
        self.kept: list[tuple[Any, int]] = []  # weak: what is kept, and its bytes
        self.kept_size = 0
        self.alive: list[_Known] = []  # results that were alive when last looked at
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
        self._after = self.finish
        self.marks = Marks(self.budget)
        self.kept, self.kept_size, self.alive = [], 0, []
        self.pairs = outer.saved_hooks
        values = {"saved_hooks": ((self.pack, _unpack),), "hooks_refusal": None}
        return replaced(super()._inside(outer), values)

    def finish(self) -> None:
        """After the block: keep what its calls need."""
        assert self.recording is not None
        self.recording.marked = self.marks.values()
        self.recording.prune()
        self.recording, self.folder, self._after = None, None, None
        self.known, self.kept, self.alive = {}, [], []
        self.marks = Marks(self.budget)

    def call(self, op: Any, values: list[Any]) -> Any:
        """Note a call, and of what its results are made."""
        tensors = tensors_in(values)
        recording = self.recording
        if recording is None or not _repeatable(op, tensors):
            return op.run(values)
        if self.budget and self.beyond == "recompute":
            self.mark()
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
            self.alive.append(known)
            for saved, decision in early:
                if saved.array is tensor.array:
                    known.decision = decision
                    if isinstance(decision, Made):
                        decision.result.number = number
                        recording.settle(decision)
        for saved, decision in early:
            if isinstance(decision, Made) and decision.result.number < 0:
                decision.kept = saved
        return output

    def mark(self) -> None:
        """Before a call: let this be a place to go on from, if it is time for one.

        What later calls depend on is alive now, and little else is.
        """
        self.alive = [known for known in self.alive if known.array() is not None]
        marks = self.marks
        if not marks.dropped:
            return
        before = marks.values()
        found = [known for known in self.alive if known.is_held(before)]
        size = sum(_size(known.array()) for known in found)
        if not marks.fits(size):
            return
        tensors = {known.key: Tensor(known.array(), AS_IS) for known in found}
        marks.add({key: before.get(key, tensor) for key, tensor in tensors.items()}, size)
        while self.kept and self.kept_size + marks.size > self.budget:
            reference, released = self.kept.pop()
            self.kept_size -= released
            made = reference()
            if made is not None:
                made.kept = None

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

    @traceable
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
        if isinstance(known.decision, Made) and known.decision.kept is None:
            return self.recording.hand_out(known.result)
        return known.decision

    def decided(self, tensor: Tensor, result: Result) -> Any:
        """Keep a result while the budget lasts, else write it down, or drop it."""
        assert self.recording is not None
        size = int(tensor.array.nbytes)
        if self.kept_size + self.marks.size + size <= self.budget:
            made = self.recording.hand_out(result)
            made.kept = pack(Tensor(tensor.array, AS_IS), self.pairs)
            self.kept.append((weakref.ref(made), size))
            self.kept_size += size
            return made
        if self.beyond == "recompute":
            self.marks.drop(size)
            return self.recording.hand_out(result)
        if self.folder is None:
            self.folder = Folder(self.directory)
        return Spilled(tensor, self.folder)


def _size(array: Any) -> int:
    """The bytes that an array keeps in memory: of a view those of what it shows."""
    base = getattr(array, "base", None)
    return int(array.nbytes if base is None or not hasattr(base, "nbytes") else base.nbytes)


@traceable
def _unpack(packed: Any) -> Any:
    if isinstance(packed, (Made, Spilled)):
        return packed.tensor()
    return packed.unpack() if isinstance(packed, SavedTensor) else packed


def _repeatable(op: Any, tensors: list[Tensor]) -> bool:
    """Whether a call changes nothing, and gives the same each time; of custom ops nobody knows."""
    if not isinstance(op, Op) or op.lane == dispatch.OWN:
        return False
    return op.forward.__module__ != random.__name__ and not any(t.special for t in tensors)
