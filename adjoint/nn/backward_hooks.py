"""How the gradients of a module's inputs and outputs are seen: gates in the graph around a call.

A gate is a node that passes gradients on as they are, one for all inputs of a call and one for all
its outputs, so that it runs when the last of them is there. The forward is given stand-ins for the
tensors that need a gradient: the same memory, their gradients through the gate, and what the
forward does to them in place is done to the tensors it was called with. Its results stay the
objects they are; only their grad_fn becomes the gate. Copies are returned of what the call did not
make itself (a parameter, an input as it came), because others may use those too.
"""

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from adjoint.autograd.graph_task import current_task
from adjoint.autograd.hooks import name_of
from adjoint.autograd.node import Node, edge_node, next_sequence_number, sequence
from adjoint.call.context import is_grad_enabled
from adjoint.pytree import TreeSpec, tree_flatten
from adjoint.tensors.core import (
    CUSTOM_VIEW,
    DEFAULT_VIEW,
    Extras,
    Spec,
    VersionCounter,
    backend_of,
)
from adjoint.tensors.pickling import attributes_of
from adjoint.tensors.subclass import as_subclass
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.views import set_history

Hooks = Callable[[], Iterable[Any]]


class Gate(Node):
    """Passes gradients on; its hooks see those of several tensors at once."""

    def __init__(self, tensors: list[Tensor], materialises: bool) -> None:
        super().__init__(next_sequence_number())
        self.materialises = materialises
        self.describe_outputs(list(tensors))
        for tensor in tensors:
            self.add_edge(edge_node(tensor), tensor.output_number)

    def name(self) -> str:
        """PyTorch's name of this step."""
        return "BackwardHookFunctionBackward"

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        """The same gradients; zeros for those of inputs that did not come."""
        if not self.materialises:
            return list(grads)
        assert self.outputs is not None
        full = zip(grads, self.outputs, strict=True)
        return [zeros(spec) if grad is None else grad for grad, spec in full]

    def watch(self, output_number: int, counter: VersionCounter) -> None:
        """The step that made the value must hear of changes to it."""
        node, number = self.edges()[output_number]
        if node is not None:
            node.watch(number, counter)


def zeros(spec: Spec) -> Any:
    """The gradient where none came, of a tensor that looks like this."""
    return Tensor(backend_of(spec.array_type).xp.zeros(spec.shape, spec.dtype))


def is_view(tensor: Any) -> bool:
    """Whether a tensor shows the memory of another."""
    return tensor.extras is not None and tensor.extras.base is not None


def stand_in(tensor: Tensor, gate: Gate, number: int, *, guarded: bool) -> Any:
    """A tensor on the same memory whose gradient goes through a gate.

    A guarded one is a view that can't be changed in place while gradients are recorded: its base
    would not hear of the gate.
    """
    shown: Any = as_subclass(tensor, type(tensor) if tensor.special else Tensor)
    for name, value in attributes_of(tensor).items():
        setattr(shown, name, value)
    if guarded:
        shown.extras.creation = CUSTOM_VIEW
    else:
        shown.extras = Extras()
        shown.extras.counter = tensor.counter()
    shown.node, shown.output_number, shown.needs_grad = gate, number, True
    return shown


class Replaced:
    """A list or dictionary that forward is given in place of one that holds tensors."""

    def __init__(self, original: Any, given: Any) -> None:
        self.original = original
        self.given = given
        self.before = contents(given)

    def write_back(self, own: Callable[[Any], Any]) -> None:
        """Do to the original what forward has done to it."""
        after = contents(self.given)
        if len(after) == len(self.before) and all(
            key is old_key and value is old
            for (key, value), (old_key, old) in zip(after, self.before, strict=True)
        ):
            return
        if isinstance(self.original, dict):
            self.original.clear()
            self.original.update((key, own(value)) for key, value in after)
        else:
            self.original[:] = [own(value) for _, value in after]


def contents(container: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a dictionary; of a list the values, without keys."""
    if isinstance(container, dict):
        return list(container.items())
    return [(None, value) for value in container]


def replaced_in(original: Any, given: Any) -> Iterator[Replaced]:
    """The lists and dictionaries of a nest and those of its copy, pair by pair."""
    if original is given or type(original) not in (list, dict, tuple):
        return
    pairs = zip(contents(original), contents(given), strict=True)
    for (_, inner), (_, inner_given) in pairs:
        yield from replaced_in(inner, inner_given)
    if type(original) is not tuple:
        yield Replaced(original, given)


class Side:
    """The arguments or the results of a call: a nest, and which of its leaves have gates."""

    def __init__(self, leaves: list[Any], spec: TreeSpec) -> None:
        self.spec = spec
        self.tensors = [leaf if isinstance(leaf, Tensor) else None for leaf in leaves]
        self.places = [
            place for place, t in enumerate(self.tensors) if t is not None and t.requires_grad
        ]
        self.gated = bool(self.places) and is_grad_enabled()
        self.specs: dict[int, Spec] = {}

    def refreshed(self) -> list[Any]:
        """The tensors that get gates, their places in the graph up to date."""
        found: list[Any] = [self.tensors[place] for place in self.places]
        for tensor in found:
            tensor.up_to_date()
        return found

    def forget(self, keep_specs: bool) -> None:
        """Let go of the tensors; what they looked like may be remembered."""
        if keep_specs:
            found = enumerate(self.tensors)
            self.specs = {place: tensor.spec() for place, tensor in found if tensor is not None}
        self.tensors = []

    def nest(self, grads: Iterable[Any] = ()) -> Any:
        """Gradients of gated leaves in a nest like that of the values."""
        flat: list[Any] = [None] * self.spec.num_leaves
        for place, spec in self.specs.items():
            flat[place] = zeros(spec)
        for place, grad in zip(self.places, grads, strict=False):
            if grad is not None:
                flat[place] = grad
        return self.spec.unflatten(flat)

    def flat(self, nest: Any) -> list[Any]:
        """The gradients of gated leaves from a nest."""
        flat = self.spec.flatten_up_to(nest)
        return [flat[place] for place in self.places]

    def checked(self, hook: Any, old: Any, new: Any) -> Any:
        """What a hook answered in place of a nest of gradients, if it may take its place."""
        for before, after in zip(self.flat(old), self.flat(new), strict=True):
            if after is None or after is before:
                continue
            if not isinstance(after, Tensor):
                raise TypeError(
                    f"backward hook '{name_of(hook)}' must return Tensors or None in place of "
                    f"gradients, returned a {type(after).__name__}"
                )
            if before is not None and after.shape != before.shape:
                raise RuntimeError(
                    f"backward hook '{name_of(hook)}' has changed the size of value: a gradient "
                    f"has shape {tuple(before.shape)}, it returned {tuple(after.shape)}"
                )
        return new


class BackwardHooks:
    """The full backward hooks and pre-hooks of one call."""

    def __init__(self, module: Any, pre: Hooks, full: Hooks) -> None:
        self.module = module
        self.pre = pre
        self.full = full
        self.started = 0
        self.inputs: Side | None = None
        self.outputs: Side | None = None
        self.gate: Gate | None = None
        self.stand_ins: list[tuple[Tensor, Any]] = []
        self.replaced: list[Replaced] = []
        self.changed: dict[int, Tensor] = {}

    # ---- forward ----

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        """Around forward and its hooks; what they did in place is done even if they fail."""
        try:
            yield
        except BaseException:
            self.write_back()
            self.finish()
            raise
        self.write_back()

    def enter(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments forward is given."""
        self.started = sequence.next
        leaves, spec = tree_flatten((tuple(args), kwargs))
        side = self.inputs = Side(leaves, spec)
        if side.gated:
            self.gate = gate = Gate(side.refreshed(), materialises=True)
            gate.register_hook(self.on_inputs)
            often = Counter(id(leaves[place]) for place in side.places)
            for number, place in enumerate(side.places):
                tensor = leaves[place]
                guarded = tensor.node is None or is_view(tensor) or often[id(tensor)] > 1
                leaves[place] = stand_in(tensor, gate, number, guarded=guarded)
                self.stand_ins.append((tensor, leaves[place]))
            values = self.given([*args, *kwargs.values()], side, leaves)
            args = tuple(values[: len(args)])
            kwargs = dict(zip(kwargs, values[len(args) :], strict=True))
        side.forget(keep_specs=side.gated)
        return args, kwargs

    def given(self, arguments: list[Any], side: Side, leaves: list[Any]) -> list[Any]:
        """The arguments with stand-ins; nests without any stay the objects they are."""
        positional, named = side.spec.children_specs
        chosen: list[Any] = []
        start = 0
        specs = (*positional.children_specs, *named.children_specs)
        for argument, spec in zip(arguments, specs, strict=True):
            end = start + spec.num_leaves
            if any(start <= place < end for place in side.places):
                chosen.append(spec.unflatten(leaves[start:end]))
                self.replaced.extend(replaced_in(argument, chosen[-1]))
            else:
                chosen.append(argument)
            start = end
        return chosen

    def write_back(self) -> None:
        """Do to the tensors and containers of the caller what was done to the stand-ins."""
        for tensor, shown in self.stand_ins:
            if shown.extras.base is not None:
                continue
            if tensor.array is not shown.array:  # one that can't be changed was replaced
                tensor.replace_array(shown.array)
            if shown.node is self.gate:
                continue
            if shown.node is None:
                tensor.detach_()
            else:
                set_history(tensor, shown.node, shown.output_number)
            self.changed[id(shown)] = tensor
        for container in self.replaced:
            container.write_back(self.own)

    def own(self, value: Any) -> Any:
        """The caller's tensor or container for what stands in for it; anything else is itself."""
        for tensor, shown in self.stand_ins:
            if shown is value:
                return tensor
        for container in self.replaced:
            if container.given is value:
                return container.original
        return value

    def finish(self) -> None:
        """The call is over: keep none of its tensors alive."""
        self.gate = None
        self.stand_ins.clear()
        self.replaced.clear()
        self.changed.clear()

    def leave(self, result: Any) -> Any:
        """The results, their gradients through a gate."""
        single = not isinstance(result, tuple)
        before, spec = tree_flatten((result,) if single else tuple(result))
        leaves = [self.changed.get(id(leaf), leaf) for leaf in before]
        side = self.outputs = Side(leaves, spec)
        if side.gated:
            self.put_gate(leaves, side)
        side.forget(keep_specs=False)
        self.finish()
        if all(new is old for new, old in zip(leaves, before, strict=True)):
            return result
        rebuilt = spec.unflatten(leaves)
        if single:
            return rebuilt[0]
        return rebuilt if type(result) is tuple else type(result)(*rebuilt)

    def put_gate(self, leaves: list[Any], side: Side) -> None:
        """Let the gradients of results pass through a gate.

        Only what the call has made is changed; of all else a stand-in is returned.
        """
        gate = Gate(side.refreshed(), materialises=False)
        gate.register_hook(self.on_outputs)
        for number, place in enumerate(side.places):
            tensor = leaves[place]
            source = self.own(tensor)
            node = tensor.node
            if (
                source is not tensor
                or node is None
                or node is gate
                or node.sequence_number < self.started
            ):
                leaves[place] = stand_in(source, gate, number, guarded=True)
                continue
            set_history(tensor, gate, number)
            if is_view(tensor) and tensor.extras.creation == DEFAULT_VIEW:
                tensor.extras.creation = CUSTOM_VIEW

    # ---- backward ----

    def on_outputs(self, results: tuple[Any, ...], grads: tuple[Any, ...]) -> Any:
        """The gradients of all outputs are there."""
        assert self.outputs is not None
        assert self.inputs is not None
        nest = self.outputs.nest(grads)
        for hook in self.pre():
            with named(hook, "full backward pre-hook", self.module):
                answer = hook(self.module, nest)
            if answer is not None:
                answer = counted(hook, "pre hook", "grad_output", nest, answer)
                nest = self.outputs.checked(hook, nest, answer)
        if self.inputs.gated:
            task: Any = current_task()
            task.notes[self] = nest  # for the hooks on the inputs, in this pass
        else:
            self.run_without_inputs(nest)
        return passed(results, self.outputs.flat(nest))

    def on_inputs(self, results: tuple[Any, ...], grads: tuple[Any, ...]) -> Any:
        """The gradients of all inputs are there."""
        task: Any = current_task()
        grad_output = task.notes.pop(self, None)
        if grad_output is None:
            return None  # they did not come by way of the outputs, as in a second derivative
        assert self.inputs is not None
        nest = self.inputs.nest(grads)
        for hook in self.full():
            answer = called(hook, self.module, nest, grad_output)
            if answer is not None:
                if not getattr(hook, "with_kwargs", False):
                    answer = (answer, nest[1])
                args, kwargs = counted(hook, "hook", "results", nest, answer)
                args = counted(hook, "hook", "grad_input", nest[0], args)
                nest = self.inputs.checked(hook, nest, (args, kwargs))
        return passed(results, self.inputs.flat(nest))

    def run_without_inputs(self, grad_output: Any) -> None:
        """No input needs a gradient: the hooks are called now, and can't change anything."""
        assert self.inputs is not None
        nest = self.inputs.nest()
        warned = False
        for hook in self.full():
            if not warned:
                warned = True
                warnings.warn(
                    f"full backward hook '{name_of(hook)}' of {type(self.module).__name__} is "
                    "called when the gradients of its outputs are there, because no input "
                    "requires a gradient",
                    stacklevel=2,
                )
            answer = called(hook, self.module, nest, grad_output)
            if answer is not None and not (
                isinstance(answer, tuple) and all(leaf is None for leaf in tree_flatten(answer)[0])
            ):
                raise RuntimeError(
                    f"backward hook '{name_of(hook)}' of {type(self.module).__name__}, no input of "
                    "which requires a gradient, should always return None or None for all "
                    "gradients"
                )


@contextlib.contextmanager
def named(hook: Any, kind: str, module: Any) -> Iterator[None]:
    """Around the call of a hook: what it raises says which it was."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the {kind} '{name_of(hook)}' of {type(module).__name__}")
        raise


def called(hook: Any, module: Any, grad_inputs: Any, grad_output: Any) -> Any:
    """What a full backward hook answers."""
    args, kwargs = grad_inputs
    with named(hook, "full backward hook", module):
        if getattr(hook, "with_kwargs", False):
            return hook(module, args, kwargs, grad_output)
        return hook(module, args, grad_output)


def counted(hook: Any, kind: str, what: str, old: tuple[Any, ...], answer: Any) -> tuple[Any, ...]:
    """What a hook answered in place of gradients, if it has as many."""
    if isinstance(answer, Tensor) and len(old) == 1:
        return (answer,)
    if not isinstance(answer, (tuple, list)):
        count = f"a {type(answer).__name__}"
    elif len(answer) == len(old):
        return tuple(answer)
    else:
        count = str(len(answer))
    raise RuntimeError(
        f"backward {kind} '{name_of(hook)}' returned an invalid number of {what}, got {count}, "
        f"but expected {len(old)}"
    )


def passed(results: tuple[Any, ...], new: list[Any]) -> Any:
    """What a gate passes on: nothing along edges where nothing goes in this pass."""
    return tuple(
        None if result is None else value for result, value in zip(results, new, strict=True)
    )
