"""The node of an op: what a call keeps for backward, and how its rules are run again."""

from typing import TYPE_CHECKING, Any, Final

from adjoint._base import mypyc_attr
from adjoint.autograd.node import Node, SavedItem, sequence
from adjoint.autograd.saved_tensors import SavedTensor, check_version, freed, unpack_arrays
from adjoint.tensors.core import TensorCore, VersionCounter, backend_of, factory, is_floating

if TYPE_CHECKING:
    from adjoint.ops.op import Op


def items_of(name: str, value: Any, version: Any) -> list[SavedItem]:
    """A saved value, or those of a list, as records."""
    if isinstance(value, SavedTensor):
        packed = value.packed
        array = packed.array if isinstance(packed, TensorCore) else None
        return [SavedItem(name, array, value.version, value.counter)]
    if isinstance(value, TensorCore):
        counter = None if value.extras is None else value.extras.counter
        return [SavedItem(name, value.array, version, counter)]
    if isinstance(value, (list, tuple)):
        versions = version if isinstance(version, list) else [0] * len(value)
        return [item for v, at in zip(value, versions) for item in items_of(name, v, at)]
    return [SavedItem(name, value, 0, None)] if hasattr(value, "nbytes") else []


_kinds: Final[dict[str, Any]] = {}  # the classes of nodes by name, for those that were shown


class Kept:
    """What a node of the general path keeps of a call's arguments, by place in the parameters."""

    def __init__(self, mask: int, values: list[Any], hidden: Any) -> None:
        self.mask = mask  # which of op.inputs need a gradient
        self.values = values
        self.hidden = hidden  # what forward computed for the rules alone
        self.lists = False  # whether an input is a list of tensors
        self.versions: dict[int, Any] | None = None
        self.shapes: dict[int, Any] | None = None


@mypyc_attr(allow_interpreted_subclasses=True)
class OpNode(Node):
    """The backward of one call of an op.

    Calls on the short path keep their arguments in `saved0` and `saved1`, all others in `kept`.
    """

    saved0: Any = None
    saved1: Any = None
    version0: int = 0
    version1: int = 0
    result: Any = None  # the output's array, or the list of them
    result_version: int = 0
    result_counters: dict[int, VersionCounter] | None = None
    kept: Kept | None = None
    holds: bool = False
    packed: bool = False  # result went through hooks on saving, which look after its version

    def __init__(self, op: "Op") -> None:
        number = sequence.next
        sequence.next = number + 1
        self.sequence_number = number  # not through super(): it would be a third of the cost
        self.op = op

    def name(self) -> str:
        """PyTorch's name of this step."""
        name: str = self.op.node_name
        return name

    def makes_new(self) -> bool:
        return True

    def shown(self) -> Node:
        """See Node. Only now does it get a class named after its op: tools print the name."""
        if type(self) is OpNode:
            kind = _kinds.get(self.op.node_name)
            if kind is None:
                members = {"__slots__": (), "__module__": "adjoint.autograd.graph"}
                kind = _kinds[self.op.node_name] = type(self.op.node_name, (OpNode,), members)
            self.__class__ = kind
        return self

    # -- the short path --

    def vjp(self, edge: int, grad: Any) -> Any:
        """See Node: a rule on raw arrays, its saved values in the fixed places."""
        rule = self.op.rule0 if edge == 0 else self.op.rule1
        if rule is None:
            return None
        if self.released:
            raise freed(self.name())
        pattern = rule.pattern
        if pattern == 0:
            return rule.function(grad)
        if pattern == 1:
            self.check_result()
            return rule.function(grad, self.result)
        if pattern == 2:
            return rule.function(grad, self.raw_value(self.saved0, self.version0, 0))
        if pattern == 3:
            return rule.function(grad, self.raw_value(self.saved1, self.version1, 1))
        if pattern == 4:
            return rule.function(grad, self.first(), self.second())
        return rule.function(*[self.short_source(k, i, grad) for k, i in rule.sources])

    def short_source(self, kind: int, index: int, grad: Any) -> Any:
        """One argument of a rule on the short path."""
        if kind == 0:
            return grad
        if kind == 1:
            self.check_result()
            return self.result
        if kind == 3:
            return self.shape_of_input(index)
        if index >= self.op.fast_arity:
            return self.op.defaults[index]
        return self.first() if index == 0 else self.second()

    def shape_of_input(self, index: int) -> Any:
        """The shape of an input, which the node that its gradient goes to knows."""
        node, number = (self.next0, self.nr0) if index == 0 else (self.next1, self.nr1)
        assert node is not None
        return node.spec_of(number).shape

    def first(self) -> Any:
        """The first saved argument as a raw value."""
        return self.raw_value(self.saved0, self.version0, 0)

    def second(self) -> Any:
        """The second saved argument as a raw value."""
        return self.raw_value(self.saved1, self.version1, 1)

    def raw_value(self, saved: Any, version: int, index: int) -> Any:
        """A saved argument as a raw value, unless it was changed since."""
        if isinstance(saved, TensorCore):
            extras = saved.extras
            if extras is not None and extras.counter is not None:
                check_version(self, self.op.parameters[index], version, extras.counter)
            return saved.array
        return saved

    def check_result(self, index: int = 0) -> None:
        """Refuse if a saved result was changed since."""
        if self.result_counters is not None and not self.packed:
            counter = self.result_counters.get(index)
            check_version(self, "result", self.result_version, counter)

    def watch(self, output_number: int, counter: VersionCounter) -> None:
        if self.result_counters is None:
            self.result_counters = {}
        self.result_counters[output_number] = counter

    def output_counter(self, output_number: int) -> VersionCounter:
        """See Node; the saved result counts along."""
        if self.result_counters is None:
            self.result_counters = {}
        found = self.result_counters.get(output_number)
        if found is None:
            found = self.result_counters[output_number] = VersionCounter()
        return found

    # -- the general path --

    def vjp_of(self, edge: int, grad: Any) -> Any:
        """See Node: a rule on raw arrays."""
        if self.released:
            raise freed(self.name())
        rule = self.op.rules[edge]
        return None if rule is None else self.call(rule, [grad], False, None)

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        """See Node; the rules of all inputs that need a gradient."""
        if self.released:
            raise freed(self.name())
        kept = self.kept
        lists = kept is not None and kept.lists
        active = self.active_lists(wanted) if lists else self.active(wanted)
        if self.outputs is not None:
            grads = self.materialised(grads, create_graph)
        op = self.op
        if op.joint is not None:
            answers = list(self.call(op.joint, grads, create_graph, active))
        else:
            answers = []
            for i, rule in enumerate(op.rules):
                runs = rule is not None and active[i]
                answers.append(self.call(rule, grads, create_graph, active) if runs else None)
        if not lists:
            return answers[: self.edge_count]
        flat: list[Any] = []
        for i, answer in zip(op.inputs, answers):
            width = self.width(i)
            if width < 0:
                flat.append(answer)
            else:
                flat.extend([None] * width if answer is None else answer)
        return flat

    def active(self, wanted: list[bool] | None) -> list[bool]:
        """For each of op.inputs, one edge each, whether its rule must run."""
        if self.kept is None:
            found = [self.next0 is not None, self.next1 is not None][: self.edge_count]
        else:
            mask = self.kept.mask
            found = [mask >> i & 1 != 0 for i in range(self.edge_count)]
        if wanted is not None:
            found = [runs and followed for runs, followed in zip(found, wanted)]
        return found

    def active_lists(self, wanted: list[bool] | None) -> list[bool]:
        """The same where an input may be a list, of as many edges as it has elements."""
        found: list[bool] = []
        edge = 0
        assert self.kept is not None
        for i, parameter in enumerate(self.op.inputs):
            width = abs(self.width(parameter))
            runs = self.kept.mask >> i & 1 != 0
            if wanted is not None and not any(wanted[edge : edge + width]):
                runs = False
            found.append(runs)
            edge += width
        return found

    def width(self, parameter: int) -> int:
        """How many edges a parameter has: -1 for a single tensor, else the length of its list."""
        if self.kept is None:
            return -1
        if self.kept.shapes is None:
            return -1
        shape = self.kept.shapes.get(parameter)
        return len(shape) if isinstance(shape, list) else -1

    def materialised(self, grads: list[Any], create_graph: bool) -> list[Any]:
        """Gradients of all outputs, zeros where none came."""
        assert self.outputs is not None
        full: list[Any] = []
        for grad, spec in zip(grads, self.outputs):
            if grad is None:
                grad = backend_of(spec.array_type).xp.zeros(spec.shape, spec.dtype)
                if create_graph:
                    grad = factory.tensor(grad)
            full.append(grad)
        return full

    def call(
        self, rule: Any, grads: list[Any], create_graph: bool, active: list[bool] | None
    ) -> Any:
        """A rule, its arguments looked up by where they come from; `active` is None for all."""
        args: list[Any] = []
        for kind, index in rule.sources:
            if kind == 0:
                args.append(grads[index] if index >= 0 else tuple(grads))
            elif kind == 1:
                self.check_result(index)
                args.append(self.result_value(index, create_graph))
            elif kind == 2:
                args.append(self.value(index, create_graph))
            elif kind == 3:
                known = None if self.kept is None else self.kept.shapes
                args.append(self.shape_of_input(index) if known is None else known[index])
            elif kind == 4:
                args.append(tuple(self.active(None) if active is None else active))
            else:
                hidden = None if self.kept is None else self.kept.hidden
                args.append(unpack_arrays(hidden) if self.runs_user_code else hidden)
        return rule.function(*args)

    def result_value(self, index: int, create_graph: bool) -> Any:
        """A saved result, as a Tensor of this node if a graph is made."""
        saved = self.result[index] if self.outputs is not None else self.result
        array = saved.unpack().array if isinstance(saved, SavedTensor) else saved
        if not create_graph:
            return array
        tensor = factory.tensor(array)  # a new one: what hooks returned must not lead back here
        if is_floating(tensor.array):
            tensor.needs_grad = True
            tensor.node, tensor.output_number = self, index
        return tensor

    def value(self, index: int, create_graph: bool) -> Any:
        """A saved argument; tensors raw unless a graph is made."""
        version: Any
        if self.kept is None:
            if index >= self.op.fast_arity:
                return self.op.defaults[index]
            if index == 0:
                saved, version = self.saved0, self.version0
            else:
                saved, version = self.saved1, self.version1
        else:
            saved = self.kept.values[index]
            versions = self.kept.versions
            version = 0 if versions is None else versions.get(index, 0)
        return self.unpacked(saved, version, index, create_graph)

    def unpacked(self, saved: Any, version: Any, index: int, create_graph: bool) -> Any:
        """A saved value as a rule sees it, lists element by element."""
        if isinstance(saved, SavedTensor):
            tensor = saved.unpack()
            return tensor if create_graph else tensor.array
        if isinstance(saved, TensorCore):
            array = self.raw_value(saved, version, index)
            if not create_graph:
                return array
            if not saved.needs_grad and self.differentiates(index):
                raise RuntimeError(
                    f"{self.name()}: Trying to use a saved tensor that has been detached in-place, "
                    f"'{self.op.parameters[index]}', for a second derivative, which would be "
                    "wrong; use the out-of-place .detach() instead"
                )
            return saved
        if isinstance(saved, (list, tuple)):
            versions = version if isinstance(version, list) else [0] * len(saved)
            return type(saved)(
                [self.unpacked(s, v, index, create_graph) for s, v in zip(saved, versions)]
            )
        return saved

    def differentiates(self, parameter: int) -> bool:
        """Whether a single tensor that was given for a parameter required grad."""
        if parameter not in self.op.inputs or self.width(parameter) >= 0:
            return False
        i = self.op.inputs.index(parameter)
        if self.kept is not None:
            return self.kept.mask >> i & 1 != 0
        return (self.next0 if i == 0 else self.next1) is not None

    def saved_items(self) -> list[SavedItem]:
        """See Node."""
        items: list[SavedItem] = []
        if self.kept is None:
            pairs: list[tuple[int, Any, Any]] = [
                (0, self.saved0, self.version0),
                (1, self.saved1, self.version1),
            ]
        else:
            versions = self.kept.versions or {}
            pairs = [(i, v, versions.get(i, 0)) for i, v in enumerate(self.kept.values)]
            items.extend(items_of("hidden", self.kept.hidden, 0))
        for index, value, version in pairs:
            if value is not None and index < len(self.op.parameters):
                items.extend(items_of(self.op.parameters[index], value, version))
        counters = self.result_counters or {}
        kept = self.result if isinstance(self.result, list) else [self.result]
        for number, value in enumerate(kept):
            for item in items_of("result", value, self.result_version):
                counter = counters.get(number)
                items.append(SavedItem(item.name, item.array, self.result_version, counter))
        return items

    def release(self) -> None:
        """Let go of saved values; a node that had none can run again."""
        if self.holds:
            self.saved0 = None
            self.saved1 = None
            self.result = None
            self.kept = None
            self.released = True
