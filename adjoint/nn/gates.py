"""Gates: the nodes around a call of a module at which its full backward hooks see gradients.

A gate passes gradients on as they are, one for all inputs of a call and one for all its outputs, so
that it runs when the last of them is there. The forward is given stand-ins for the tensors that
need a gradient: the same memory, their gradients through the gate, and what the forward does to
them in place is done to the tensors it was called with. Its results stay the objects they are;
only their grad_fn becomes the gate. Copies are returned of what the call did not make itself (a
parameter, an input as it came), because others may use those too.
"""

from typing import Any

from adjoint.autograd.node import USER, Node, edge_node, next_sequence_number
from adjoint.call.context import current
from adjoint.nn.backward_hooks import Arguments, BackwardHooks, Side, zeros
from adjoint.nn.nests import NestedArguments
from adjoint.pytree import container_of, tree_flatten
from adjoint.tensors.core import CUSTOM_VIEW, DEFAULT_VIEW, Extras, VersionCounter
from adjoint.tensors.pickling import attributes_of
from adjoint.tensors.subclass import instance
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import renewed
from adjoint.tensors.views import set_history


class Gate(Node):
    """Passes on the gradients of all inputs of a call, or of all outputs, once its hooks saw them.

    Gradients of inputs that did not come are zeros.
    """

    def __init__(self, hooks: BackwardHooks, of_inputs: bool, tensors: list[Tensor]) -> None:
        super().__init__(next_sequence_number())
        self.lane = USER
        self.call_hooks = hooks
        self.of_inputs = of_inputs
        if len(tensors) == 1:
            self.spec = tensors[0].spec()
        else:
            self.outputs = [tensor.spec() for tensor in tensors]
        for tensor in tensors:
            self.add_edge(edge_node(tensor), tensor.output_number)

    def name(self) -> str:
        """PyTorch's name of this step."""
        return "BackwardHookFunctionBackward"

    def takes_none(self) -> bool:
        return True

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        """What hooks make of the gradients that came."""
        if self.of_inputs:
            return self.call_hooks.on_inputs(self.seen(grads))
        return self.call_hooks.on_outputs(self.seen(grads))

    def __call__(self, *grads: Any) -> Any:
        """See Node: hooks are not called, so nothing happens to the gradients."""
        if len(grads) != self.output_count():
            return super().__call__(*grads)  # which refuses
        answers = self.seen(list(grads))
        return answers[0] if len(answers) == 1 else tuple(answers)

    def seen(self, grads: list[Any]) -> list[Any]:
        """Gradients as hooks see them."""
        found: list[Any] = []
        for number, grad in enumerate(grads):
            if grad is None and self.of_inputs:
                found.append(zeros(self.spec_of(number)))
            else:
                known = grad is None or isinstance(grad, Tensor)
                found.append(grad if known else Tensor(grad, AS_IS))
        return found

    def watch(self, output_number: int, counter: VersionCounter) -> None:
        """The step that made the value must hear of changes to it."""
        node, number = self.edges()[output_number]
        if node is not None:
            node.watch(number, counter)


def is_view(tensor: Tensor) -> bool:
    """Whether a tensor shows the memory of another."""
    return tensor.extras is not None and tensor.extras.base is not None


def stand_in(tensor: Tensor, gate: Gate, number: int, guarded: bool) -> Tensor:
    """A tensor on the same memory whose gradient goes through a gate.

    A guarded one is a view that can't be changed in place while gradients are recorded: its base
    would not hear of the gate.
    """
    shown: Any = (
        instance(type(tensor), tensor.array) if tensor.special else Tensor(tensor.array, AS_IS)
    )
    if tensor.layer is not None:
        shown = renewed(tensor)
    for name, value in attributes_of(tensor).items():
        setattr(shown, name, value)
    if tensor.inference:
        shown.mark_inference()
    extras = Extras()
    extras.counter = tensor.counter()
    if guarded:
        above = tensor.extras
        extras.base = tensor
        if above is not None and above.base is not None:
            extras.base, extras.steps = above.base, above.steps
        extras.view_version = extras.counter.value
        extras.creation = CUSTOM_VIEW
    shown.extras = extras
    shown.known = tensor.known
    shown.node, shown.output_number, shown.needs_grad = gate, number, True
    return shown  # type: ignore[no-any-return]  # a Tensor, of the same class


def has_nest(values: tuple[Any, ...]) -> bool:
    """Whether one of these values is a container."""
    for value in values:
        if type(value) is not Tensor and container_of(type(value)) is not None:
            return True
    return False


class Passage:
    """One call of a module between its gates."""

    def __init__(self, hooks: BackwardHooks) -> None:
        self.hooks = hooks
        self.started = next_sequence_number()
        self.gate: Gate | None = None
        self.tensors: list[Tensor] = []  # of the caller, which forward gets stand-ins for
        self.stand_ins: list[Tensor] = []
        self.nest: Any = None  # the NestedArguments, if a container is among them
        self.changed: dict[int, Tensor] = {}  # the caller's by the id of a stand-in, if changed

    # ---- in ----

    def enter(self, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, Any]:
        """The arguments forward is given."""
        values = (*args, *kwargs.values()) if kwargs else args
        if has_nest(values):
            self.nest = NestedArguments(args, kwargs)
            leaves: list[Any] = self.nest.leaves
            side = Arguments(leaves, self.nest.spec, [])
        else:
            leaves = list(values)
            side = Arguments(leaves, None, list(kwargs))
        self.hooks.inputs = side
        if not side.places:
            return args, kwargs
        side.zero_others(leaves)
        self.tensors = [leaves[place] for place in side.places]
        tracing = current().tracing
        if tracing is not None:  # so that stand-ins are of what the program works on
            tracing.lift_all(self.tensors)
        gate = self.gate = Gate(self.hooks, True, self.tensors)
        for number, tensor in enumerate(self.tensors):
            guarded = tensor.node is None or is_view(tensor) or self.is_repeated(tensor)
            shown = stand_in(tensor, gate, number, guarded)
            self.stand_ins.append(shown)
            leaves[side.places[number]] = shown
        if self.nest is not None:
            rebuilt: tuple[Any, Any] = self.nest.rebuilt(leaves, side.places)
            return rebuilt
        if not kwargs:
            return tuple(leaves), kwargs
        return tuple(leaves[: len(args)]), dict(zip(kwargs, leaves[len(args) :]))

    def is_repeated(self, tensor: Tensor) -> bool:
        """Whether an argument was given more than once."""
        times = 0
        for other in self.tensors:
            times += other is tensor
        return times > 1

    # ---- out ----

    def write_back(self) -> None:
        """Do to the tensors and containers of the caller what was done to the stand-ins."""
        for tensor, shown in zip(self.tensors, self.stand_ins):
            if is_view(shown):
                continue
            if tensor.array is not shown.array:  # one that can't be changed was replaced
                tensor.replace_array(shown.array)
            if tensor.layer is not shown.layer:
                tensor.layer = shown.layer
            if shown.node is self.gate:
                continue
            if shown.node is None:
                tensor.detach_()
            else:
                set_history(tensor, shown.node, shown.output_number)
            self.changed[id(shown)] = tensor
        if self.nest is not None:
            self.nest.write_back(self.own)

    def own(self, value: Any) -> Any:
        """The caller's tensor for what stands in for it; anything else is itself."""
        for tensor, shown in zip(self.tensors, self.stand_ins):
            if shown is value:
                return tensor
        return value

    def leave(self, result: Any) -> Any:
        """The results, their gradients through a gate."""
        single = not isinstance(result, tuple)
        values: tuple[Any, ...] = (result,) if single else tuple(result)
        leaves: list[Any] = list(values)
        spec: Any = None
        if has_nest(values):
            leaves, spec = tree_flatten(values)
        others = 0
        if self.changed:
            for place, leaf in enumerate(leaves):
                if id(leaf) in self.changed:
                    leaves[place] = self.changed[id(leaf)]
                    others += 1
        side = self.hooks.outputs = Side(leaves, spec)
        if side.places:
            others += self.put_gate(leaves, side.places)
        if not others:
            return result
        rebuilt = tuple(leaves) if spec is None else spec.unflatten(leaves)
        if single:
            return rebuilt[0]
        return rebuilt if type(result) is tuple else type(result)(*rebuilt)

    def put_gate(self, leaves: list[Any], places: list[int]) -> int:
        """Let the gradients of results pass through a gate; how many others take their place.

        Only what the call has made is changed; of all else a stand-in is returned.
        """
        tensors: list[Tensor] = [leaves[place] for place in places]
        gate = Gate(self.hooks, False, tensors)
        others = 0
        for number, tensor in enumerate(tensors):
            source: Tensor = self.own(tensor)
            node = tensor.node
            if (
                source is not tensor
                or node is None
                or node is gate
                or node.sequence_number < self.started
            ):
                leaves[places[number]] = stand_in(source, gate, number, True)
                others += 1
                continue
            set_history(tensor, gate, number)
            extras = tensor.extras
            if extras is not None and extras.base is not None and extras.creation == DEFAULT_VIEW:
                extras.creation = CUSTOM_VIEW
        return others
