"""Results whose gradients are asked for after the call: the program rests, and goes on then."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.autograd.entry_points import grad
from adjoint.autograd.function import Function, once_differentiable
from adjoint.autograd.hooks import traceable
from adjoint.autograd.node import Node, edge_node, next_sequence_number
from adjoint.autograd.saved_tensors import freed
from adjoint.backends import xla
from adjoint.compiling.errors import CompileError
from adjoint.compiling.host import OnHost
from adjoint.compiling.outcomes import Outcome
from adjoint.compiling.places import Place
from adjoint.ops.arranging.shape import select, stack
from adjoint.tensors.tensor import AS_IS, Tensor


class Rest:
    """Where a program rests: for which results it waits, and whose gradients it finds then."""

    def __init__(
        self, slots: list[int], places: list[Any], found: list[int], reached: list[set[int]]
    ) -> None:
        self.slots = slots  # the new tensors that need a gradient
        self.places = places  # the tensors from outside that they depend on
        self.found = found  # of each of these the number of its gradient among the outputs, or -1
        self.reached = reached  # and which of the new tensors depend on it, by their order
        self.specs: list[Any] = []  # of the new tensors: shape and data type


class Gone(Node):
    """Stands for a graph that a backward pass of the program has gone through, and let go of."""

    def __init__(self, label: str, freed_by: str, spec: Any, before: list[Any]) -> None:
        super().__init__(next_sequence_number())
        self.label = label
        self.freed_by = freed_by
        self.spec = spec
        self.released = True
        for node, number in before:
            self.add_edge(node, number)

    def name(self) -> str:
        """The name of the last of its nodes."""
        return self.label

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        raise freed(self.freed_by)


class Going:
    """What makes such a node at each call; what is behind it at every call is one node for all."""

    def __init__(self, label: str, freed_by: str, spec: Any, places: list[Any]) -> None:
        same = [place.tensor for place in places if type(place) is Place]
        edges = [(edge_node(tensor), tensor.output_number) for tensor in same]
        self.fixed = [(Gone(label, freed_by, spec, edges), 0)] if edges else []
        self.looks = label, freed_by, spec
        self.places = [place for place in places if type(place) is not Place]

    def node(self, arguments: list[Any]) -> Gone:
        """The node of a call."""
        found = [place.found(arguments) for place in self.places]
        edges = [(edge_node(tensor), tensor.output_number) for tensor in found]
        return Gone(*self.looks, self.fixed + edges)


def rest_of(tracing: Any, outcome: Outcome) -> tuple[Rest | None, list[Any]]:
    """Trace the backward of the results of a trace; the outputs that come of it."""
    returned = {slot for slot, _ in outcome.answers if slot >= 0}
    returned.update(slot for _, _, slot, _ in outcome.bound if slot >= 0)
    records = [r for r in tracing.lifted.values() if r.index >= 0 and r.needs_grad]
    slots: list[int] = []
    for slot, tensor in enumerate(outcome.tensors):
        if slot not in returned or tensor.node is None:
            continue
        nodes = _nodes_behind(tensor.node)
        freed_by = [node for node in nodes.values() if node.released]
        if not freed_by:
            slots.append(slot)
            continue
        places = [r.place for r in records if id(edge_node(r.tensor)) in nodes]
        outcome.gone.append((slot, tensor.node.name(), freed_by[0].name(), places))
    if not slots or not records:
        return None, outcome.arrays
    tensors = [outcome.tensors[slot] for slot in slots]
    specs = [(tuple(tensor.array.shape), tensor.array.dtype) for tensor in tensors]
    tracing.host_calls.append(OnHost())  # what follows comes in its turn
    starts = xla.call_on_host(xla.REST, outcome.arrays, specs)
    grads = [Tensor(start, AS_IS) for start in starts]
    try:
        with _alone([record.tensor for record in records]) as arrived:
            found = grad(tensors, [record.tensor for record in records], grads, allow_unused=True)
    except CompileError:
        raise
    except RuntimeError as error:  # which eager code would raise later, if it were asked at all
        raise CompileError(
            f"a result needs a gradient that could not be found later; detach() it ({error})"
        ) from error
    # In the order in which eager code reaches them, as their hooks see outside.
    turns = sorted(range(len(records)), key=lambda n: arrived.get(id(records[n].tensor), n))
    records, found = [records[n] for n in turns], tuple(found[n] for n in turns)
    arrays = [each.array for each in found if each is not None]
    numbers = iter(range(len(arrays)))
    order = [-1 if each is None else next(numbers) for each in found]
    reached: list[set[int]] = [set() for _ in records]
    for number, tensor in enumerate(tensors):
        nodes = _nodes_behind(tensor.node)
        for record, numbers_of in zip(records, reached):
            if id(edge_node(record.tensor)) in nodes:
                numbers_of.add(number)
    rest = Rest(slots, [record.place for record in records], order, reached)
    rest.specs = specs
    return rest, arrays


@contextmanager
def _alone(tensors: list[Any]) -> Iterator[dict[int, int]]:
    """Inside, leaves have no hooks: those are called where their gradients arrive outside.

    Notes when a gradient reached each of them, by their ids, as numbers below zero.
    """
    arrived: dict[int, int] = {}
    leaves = [tensor for tensor in tensors if tensor.node is None]
    ends: list[Any] = [edge_node(leaf) for leaf in leaves]
    kept = [end.hooks for end in ends]
    count = len(leaves)

    def note(leaf: Any) -> Any:
        return traceable(lambda _: arrived.setdefault(id(leaf), len(arrived) - count) and None)

    try:
        for leaf, end in zip(leaves, ends):
            end.hooks = None
            end.any_hooks().tensor[0] = {0: note(leaf)}
        yield arrived
    finally:
        for end, hooks in zip(ends, kept):
            end.hooks = hooks


def _nodes_behind(node: Any) -> dict[int, Any]:
    """All nodes of a graph, by their ids."""
    seen: dict[int, Any] = {}
    pending = [node]
    while pending:
        each = pending.pop()
        if each is not None and id(each) not in seen:
            seen[id(each)] = each
            pending += [following for following, _ in each.edges()]
    return seen


def _resumed(resume: Any, grads: Any) -> list[Any]:
    """The gradients of what a program has read, from those of its results."""
    found: list[Any] = resume([None if grad is None else grad.array for grad in grads])
    return found


class _OverBatch(Function):
    """The same in a vmap of gradients: the program goes on once for each element."""

    @staticmethod
    def forward(resume: Any, *grads: Any) -> Any:
        return tuple(_resumed(resume, grads))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """See Function."""

    @staticmethod
    def vmap(info: Any, in_dims: Any, resume: Any, *grads: Any) -> Any:
        each = [
            _OverBatch.apply(
                resume,
                *[g if dim is None else select(g, dim, n) for g, dim in zip(grads, in_dims[1:])],
            )
            for n in range(info.batch_size)
        ]
        found = [None if of_one[0] is None else stack(of_one) for of_one in zip(*each)]
        return tuple(found), tuple(None if grad is None else 0 for grad in found)


class Resumed(Function):
    """The results of a compiled call that need a gradient."""

    @staticmethod
    def forward(ctx: Any, resume: Any, made: list[Any], *tensors: Any) -> Any:
        ctx.resume = resume
        ctx.set_materialize_grads(False)  # so that it is known which results were used
        return tuple(made)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        if any(grad is not None and grad.layer is not None for grad in grads):
            return (None, None, *_OverBatch.apply(ctx.resume, *grads))
        return (None, None, *_resumed(ctx.resume, grads))
