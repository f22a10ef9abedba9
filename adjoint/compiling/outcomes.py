"""What a run on tracers has come to: which tensors it changed, and what it answered."""

from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any

from adjoint.autograd.node import edge_node
from adjoint.backends import xla
from adjoint.backends.meshes import pinned
from adjoint.call.layers import Ground
from adjoint.compiling.errors import CompileError
from adjoint.compiling.host import Showing
from adjoint.compiling.memory import overlap
from adjoint.compiling.places import Argument, Held, Lifted, Part, Place, Shown
from adjoint.compiling.reads import held_at
from adjoint.device import device
from adjoint.pytree import tree_flatten
from adjoint.tensors.core import NDARRAY
from adjoint.tensors.tensor import Tensor

LONG = 1500  # calls of ops: of so many XLA would work out again what is joined, at great length

AMONG_ANSWERS = -2  # in place of the number of a new tensor: it is a leaf of the answer


class Outcome:
    """Outputs of a program, and where they go."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []  # the outputs
        self.changed: list[tuple[Place, int, int]] = []  # whose values, which output, versions
        self.made: list[int] = []  # the outputs that become new tensors
        self.gradients: list[tuple[Place, int, Place | None]] = []  # whose: which is made, or is
        # Leaves of the answer: which is made, and by which steps it is shown, or what is.
        self.answers: list[tuple[int, Any]] = []
        self.again: list[tuple[int, int]] = []  # leaves that are the same as earlier ones
        self.tree: Any = None
        self.tensors: list[Any] = []  # the new tensors, as the trace has made them
        self.packing: Any = None
        self.rest: Any = None  # where the program rests, if gradients are asked for later
        self.bound: list[tuple[Any, Any, int, Any]] = []  # who holds what: as in answers
        # New tensors whose history is gone: which, names of its last and a freed node, where from.
        self.gone: list[tuple[int, str, str, list[Any]]] = []
        self.flags: list[tuple[Place, bool]] = []  # whose requires_grad was set
        self.staying: set[int] = set()  # the outputs that belong to tensors on XLA
        self._slots: dict[int, int] = {}

    def output(self, array: Any) -> int:
        """The number of an output."""
        self.arrays.append(array)
        return len(self.arrays) - 1

    def slot(self, tensor: Any) -> int:
        """The number of a new tensor; the same for the same one."""
        found = self._slots.get(id(tensor))
        if found is None:
            found = self._slots[id(tensor)] = len(self.made)
            self.made.append(self.output(tensor.current_array()))
            self.tensors.append(tensor)
        return found


def outcome_of(tracing: Any, result: Any, held: list[tuple[Any, Any, Any]]) -> Outcome:
    """The outcome of a trace that has ended with this result, of which others hold tensors."""
    outcome = Outcome()
    replaced = [(*each, held_at(*each[:2])) for each in held]
    replaced = [e for e in replaced if e[3] is not e[2] and isinstance(e[3], Tensor)]
    for holder, key, tensor, _ in replaced:
        record = tracing.lifted.get(id(tensor))
        if record is not None and type(record.place) is Place:
            carried = Held(holder, key)
            for call in tracing.host_calls:
                if isinstance(call, Showing):
                    call.replace(record.place, carried)
            record.place = carried
    records: list[Lifted] = list(tracing.lifted.values())
    for record in records:
        _note_changes(tracing, record, outcome)
    if records and all(type(record.array) is not NDARRAY for record in records):
        tracing.device = device("xla")  # as nothing that it met is elsewhere
    _refuse_shared(records)
    leaves, outcome.tree = tree_flatten(result)
    firsts: dict[int, int] = {}
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor) and firsts.setdefault(id(leaf), number) != number:
            outcome.again.append((number, firsts[id(leaf)]))
    shared = {*firsts, *(id(now) for *_, now in replaced)}
    for leaf in leaves:
        if isinstance(leaf, (Iterator, AsyncIterator, Coroutine)):
            raise CompileError(
                f"it answers a {type(leaf).__name__}, which can be run through once; answer a list"
            )
        if not isinstance(leaf, Tensor):
            outcome.answers.append((-1, leaf))
            continue
        if leaf.layer is not None and (
            isinstance(leaf.layer.level, Ground) or not leaf.layer.level.fades
        ):
            raise CompileError(
                f"it answers a {type(leaf).__name__} that answers calls by itself, or is inside a "
                "transform; answer the tensors that it holds"
            )
        place = _place_of(tracing, leaf)
        answer = _shown(tracing, leaf, shared, outcome) if place is None else (-1, place)
        outcome.answers.append(answer or (outcome.slot(leaf), None))
    for holder, key, _, now in replaced:
        place = _place_of(tracing, now)
        made = _shown(tracing, now, shared, outcome) if place is None else (-1, place)
        if id(now) in firsts:
            made = (AMONG_ANSWERS, firsts[id(now)])
        outcome.bound.append((holder, key, *(made or (outcome.slot(now), None))))
    if tracing.device.type != "xla":
        copied = {output for _, output, _ in outcome.changed} - outcome.staying
        outcome.packing = xla.Packing(outcome.arrays, copied, outcome.staying, tracing.met < LONG)
        outcome.arrays = outcome.packing.packed(outcome.arrays)
    return outcome


def _place_of(tracing: Any, tensor: Any) -> Place | None:
    """Where a tensor from outside is found, whether an op has met it or not."""
    record = tracing.lifted.get(id(tensor))
    if record is not None:
        place: Place = record.place
        return place
    if xla.is_traced(tensor.array) or id(tensor.array) in tracing.constants:
        return None
    number = tracing.numbers.get(id(tensor))
    return Place(tensor) if number is None else Argument(tensor, number)


def _shown(tracing: Any, leaf: Any, returned: set[int], outcome: Outcome) -> tuple[Any, Any] | None:
    """The answer that a result is which shares the memory of another tensor.

    That may be one from outside, or another new one among the results.
    """
    leaf.current_array()
    base, steps, apart = tracing.memory_of(leaf)
    if base is leaf or not _is_made_again(leaf, base, apart):
        return None
    part = Part(steps, apart, leaf)
    record = tracing.lifted.get(id(base))
    if record is not None:
        if apart and type(record.array) is not NDARRAY:  # where detach() shares nothing
            return None
        return -1, Shown(record.place, part)
    return (outcome.slot(base), part) if id(base) in returned else None


def _is_made_again(leaf: Any, base: Any, apart: bool) -> bool:
    """Whether the steps of a view give all of its history: that of its base, without hooks."""
    node, end = leaf.node, edge_node(base)
    if node is None:
        return True
    while node is not end:
        if apart or node is None or node.edge_count != 1:
            return False
        hooks = node.hooks
        if hooks is not None and (node is not leaf.node or hooks.tensor or hooks.pre or hooks.post):
            return False
        node = node.next0
    return True


def _refuse_shared(records: list[Lifted]) -> None:
    """Refuse a change of memory that another tensor reads without being known to share it."""
    apart = [r for r in records if r.index >= 0 and type(r.array) is NDARRAY]
    for record in apart:
        if record.tensor.array is record.tracer:
            continue
        for other in apart:
            if other is not record and overlap(record.array, other.array):
                raise CompileError(
                    f"a tensor of shape {list(record.array.shape)} is changed in place, and shares "
                    f"its memory with one of shape {list(other.array.shape)} that is used too, but "
                    "is no view of it that the trace knows: it was made outside by detach(), "
                    ".data or from_numpy(), or is a view among the arguments. Use one of the two, "
                    "or a clone()"
                )


def _note_changes(tracing: Any, record: Lifted, outcome: Outcome) -> None:
    """What has become of a tensor from outside."""
    tensor = record.tensor
    tensor.current_array()
    if tensor.node is not None and record.index >= 0:
        raise CompileError(
            f"a tensor of shape {list(tensor.shape)} from outside was changed in place by what "
            "needs a gradient, so that its history would lead from one call to the next; change "
            "it under no_grad(), or by detached values"
        )
    if record.index >= 0 and tensor.needs_grad is not record.needs_grad:
        outcome.flags.append((record.place, tensor.needs_grad))
    if record.node is not None and tensor.gradient is not record.gradient:
        raise CompileError(
            f"a backward pass ends at a tensor of shape {list(tensor.shape)} whose history was "
            "recorded outside, where it would have to go on; return the loss and call backward() "
            "outside, or pass a detach()ed tensor"
        )
    if record.index >= 0 and tensor.array is not record.tracer:
        if record.is_apart and type(record.array) is not NDARRAY:
            raise CompileError(
                f"an argument of shape {list(tensor.shape)} is changed in place, and is a view on "
                "xla, whose base would not change with it; pass the base too, or a clone()"
            )
        if tuple(tensor.array.shape) != tuple(record.array.shape):
            raise CompileError(
                f"a tensor from outside has got another shape: {list(record.array.shape)} has "
                f"become {list(tensor.array.shape)}"
            )
        bumps = tensor.version() - record.version
        array = tensor.array
        if tracing.spread is not None and type(record.array) is not NDARRAY:
            array = pinned(array, record.sharding(tracing.spread))
        outcome.changed.append((record.place, outcome.output(array), bumps))
        if type(record.array) is not NDARRAY:
            outcome.staying.add(len(outcome.arrays) - 1)
    if tensor.gradient is record.gradient:
        return
    other = None if tensor.gradient is None else _place_of(tracing, tensor.gradient)
    if tensor.gradient is not None and other is None:
        found = _shown(tracing, tensor.gradient, set(), outcome)
        other = None if found is None else found[1]
    if tensor.gradient is None or other is not None:
        outcome.gradients.append((record.place, -1, other))
    else:
        slot = outcome.slot(tensor.gradient)
        outcome.gradients.append((record.place, slot, None))
        if type(record.array) is not NDARRAY:
            outcome.staying.add(outcome.made[slot])
