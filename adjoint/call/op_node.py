"""The node of an op: what a call keeps for backward, and how a rule finds its arguments in it."""

from typing import TYPE_CHECKING, Any, Final

from adjoint._base import exchange, mypyc_attr
from adjoint.autograd.node import USER, Node, SavedItem, draw, sequence
from adjoint.autograd.provenance import INTERPRETED
from adjoint.autograd.saved_tensors import SavedTensor, check_version, freed, unpack_arrays
from adjoint.call.half_precision import half_type, wide
from adjoint.call.rule import (
    ALL_GRADS,
    GRAD,
    HIDDEN,
    NEEDS,
    OF_BOTH,
    OF_FIRST,
    OF_GRAD,
    OF_LATER,
    OF_RESULT,
    OF_SECOND,
    RESULT,
    SHAPE,
    TANGENT,
    VALUE,
    Rule,
)
from adjoint.tensors.core import NDARRAY, TensorCore, VersionCounter, backend_of, is_floating, raw
from adjoint.tensors.upper import renewed, upper

if TYPE_CHECKING:
    from adjoint.ops.op import Op


_kinds: Final[dict[str, Any]] = {}  # the classes of nodes by name, for those that were shown


class Rest:
    """What only some nodes keep: arguments after the second, shapes, and hidden arrays.

    By parameter: shapes, a list of them for a list; versions at which arguments after the second,
    and lists, were kept. Tables are made when needed, since the collector looks through each.
    """

    values: list[Any] | None = None  # of the parameters after the second
    shapes: dict[int, Any] | None = None
    versions: dict[int, Any] | None = None
    hidden: Any = None  # what forward computed for the rules alone
    lists: bool = False  # whether an input is a list of tensors

    def keep_shape(self, parameter: int, shape: Any) -> None:
        """Note the shape of an argument, or those of a list."""
        if self.shapes is None:
            self.shapes = {}
        self.shapes[parameter] = shape

    def keep_version(self, parameter: int, version: Any) -> None:
        """Note the version of an argument, or those of a list."""
        if self.versions is None:
            self.versions = {}
        self.versions[parameter] = version


class Watched:
    """What tells that results were changed in place since a node kept them."""

    def __init__(self) -> None:
        self.counters: dict[int, VersionCounter] = {}  # by output
        self.version = 0  # of the only one, if that is an argument that was changed
        self.shown: list[Any] = []  # what modes saw as kept of them, see call.dispatch.asked_below


@mypyc_attr(allow_interpreted_subclasses=True)
class OpNode(Node):
    """The backward of one call of an op.

    The first two arguments have fixed places and the others a list, because most ops have no more
    than two.
    """

    mask: int = 0  # which of op.inputs need a gradient, as bits
    first: Any = None
    second: Any = None
    first_version: int = 0
    second_version: int = 0
    rest: Rest | None = None
    result: Any = None  # the output's array, or the list of them
    watched: Watched | None = None  # for results that can be changed in place
    holds: bool = False  # whether there is anything to let go of
    packed: bool = False  # result went through hooks on saving, which look after its version

    def __init__(self, op: "Op") -> None:
        # Not through super(), and not by a call: each would be a third of the cost.
        if INTERPRETED:
            self.sequence_number = draw()
        else:
            number = sequence.next
            sequence.next = number + 1
            self.sequence_number = number
        self.op = op

    def name(self) -> str:
        """PyTorch's name of this step."""
        name = self.op.node_name
        found: str = name if isinstance(name, str) else name(self)
        return found

    def makes_new(self) -> bool:
        return True

    def shown(self) -> Node:
        """See Node. Only now does it get a class named after its op: tools print the name."""
        if type(self) is OpNode:
            name = self.name()
            kind = _kinds.get(name)
            if kind is None:
                members = {"__slots__": (), "__module__": "adjoint.autograd.graph"}
                made = type(name.rpartition(":")[2], (OpNode,), members)
                kind = _kinds.setdefault(name, made)  # one, whoever asks first
            self.__class__ = kind
        return self

    def shown_edges(self) -> list[tuple[Node | None, int]]:
        """See Node. PyTorch has none for some arguments, where they are numbers."""
        edges = self.edges()
        for parameter in self.op.numbers_without_edge:
            place = self.op.inputs.index(parameter) - len(self.op.inputs)
            kept = self.kept(parameter)
            if edges[place][0] is not None or isinstance(kept, (TensorCore, SavedTensor)):
                continue
            if kept is not None or self.op.defaults[parameter] is None:  # or no rule wanted it
                edges[place] = (None, -1)
        return [edge for edge in edges if edge[1] >= 0]

    # ---- running rules ----

    def vjp(self, edge: int, grad: Any) -> Any:
        """See Node. Rules of the common forms are called straight: that makes no list."""
        op = self.op
        rule = op.first_rule if edge == 0 else op.second_rule if edge == 1 else op.rules[edge]
        if rule is None:
            return None
        if self.released:
            raise freed(self.name())
        spec = self.spec
        if rule.wide < 0 or (spec is not None and spec.full):
            form = rule.form
            if form == OF_GRAD:
                return rule.function(grad) if rule.fused is None else rule.of_list([grad])
            if form == OF_RESULT:
                result = self.result
                self.check_result(0)
                return rule.of_two(grad, result)
            if form == OF_FIRST:
                return rule.of_two(grad, self.raw(self.first, self.first_version, 0))
            if form == OF_SECOND:
                return rule.of_two(grad, self.raw(self.second, self.second_version, 1))
            if form == OF_BOTH:
                first = self.raw(self.first, self.first_version, 0)
                second = self.raw(self.second, self.second_version, 1)
                if rule.fused is not None:
                    return rule.of_list([grad, first, second])
                return rule.function(grad, first, second)
            if form == OF_LATER:
                return rule.function(grad, self.value(rule.later, False))
        return self.run(rule, [grad], False, None)

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        """See Node; the rules of all inputs that need a gradient."""
        if self.released:
            raise freed(self.name())
        active = self.active(wanted)
        answers: list[Any] | None = None
        if create_graph and upper.gradients is not None:  # there is someone who sees the steps
            answers = upper.gradients(self, grads, active)
        if answers is None:
            answers = self.by_rules(grads, create_graph, active)
        if self.rest is None or not self.rest.lists:
            return answers[: self.edge_count]
        flat: list[Any] = []
        for parameter, answer in zip(self.op.inputs, answers):
            width = self.width(parameter)
            if width < 0:
                flat.append(answer)
            else:
                flat.extend([None] * width if answer is None else answer)
        return flat

    def by_rules(self, grads: list[Any], recorded: bool, active: list[bool]) -> list[Any]:
        """What the rules of the active inputs answer."""
        if self.outputs is not None:
            grads = self.materialised(grads, recorded)
        if self.op.joint is not None:
            return list(self.run(self.op.joint, grads, recorded, active))
        answers: list[Any] = []
        for i, rule in enumerate(self.op.rules):
            if rule is not None and active[i]:
                answers.append(self.run(rule, grads, recorded, active))
            else:
                answers.append(None)
        return answers

    def run(self, rule: Rule, grads: list[Any], recorded: bool, active: list[bool] | None) -> Any:
        """A rule, each argument from where its name says: the one interpreter of all rules.

        Values are arrays, or Tensors if the work is to be recorded; `active` is None for all.
        """
        args: list[Any] = []
        for kind, index in rule.sources:
            if kind == GRAD:
                args.append(tuple(grads) if index == ALL_GRADS else grads[index])
            elif kind == RESULT:
                args.append(self.result_value(index, recorded))
            elif kind == VALUE:
                args.append(self.value(index, recorded))
            elif kind == SHAPE:
                args.append(self.shape(index))
            elif kind == NEEDS:
                args.append(tuple(self.active(None) if active is None else active))
            elif kind == TANGENT:
                args.append(self.tangent(index))
            elif kind == HIDDEN:
                args.append(self.hidden())
            else:
                args.append(self.of_batch(kind, index))
        if self.released:  # meanwhile, by a pass of another thread
            raise freed(self.name())
        if rule.passes and args[1] is self.op.defaults[rule.later]:
            return args[0]  # of 16 bits: there is nothing to be computed in 32
        if rule.wide >= 0 and half_type(args[rule.wide]) is not None:
            # A loop rounds, and a kernel: before a sum that undoes broadcasting that is too soon.
            lone = len(self.op.promotes) == 1 or type(args[rule.wide]) is not NDARRAY
            if rule.fused is not None and lone:
                found = rule.fused.answer(args)
                if found is not None:
                    return found
            args = [wide(value) for value in args]
        return rule.of_list(args)

    def active(self, wanted: list[bool] | None) -> list[bool]:
        """For each of op.inputs whether its rule must run; a list has an edge for each element."""
        found: list[bool] = []
        edge = 0
        for i, parameter in enumerate(self.op.inputs):
            width = abs(self.width(parameter))
            runs = self.mask >> i & 1 != 0
            if runs and wanted is not None:
                runs = any(wanted[edge : edge + width])
            found.append(runs)
            edge += width
        return found

    def materialised(self, grads: list[Any], recorded: bool) -> list[Any]:
        """Gradients of all outputs, zeros where none came."""
        assert self.outputs is not None
        full: list[Any] = []
        for grad, spec in zip(grads, self.outputs):
            if grad is None:
                grad = backend_of(spec.array_type).xp.zeros(spec.shape, spec.dtype)
                if recorded:
                    grad = upper.tensor(grad)
            full.append(grad)
        return full

    # ---- what is kept ----

    def kept(self, parameter: int) -> Any:
        """What is kept of an argument: as it was given, or packed; None if no rule wants it."""
        if parameter == 0:
            return self.first
        if parameter == 1:
            return self.second
        rest = self.rest
        if rest is None or rest.values is None:
            return self.op.defaults[parameter]
        return rest.values[parameter - 2]

    def keep(self, parameter: int, value: Any) -> None:
        """Put something in the place of an argument."""
        if parameter == 0:
            self.first = value
        elif parameter == 1:
            self.second = value
        elif self.rest is not None and self.rest.values is not None:
            self.rest.values[parameter - 2] = value

    def keep_version(self, parameter: int, version: Any) -> None:
        """Note the version at which an argument is kept; a list of them for a list."""
        self.holds = True
        if parameter == 0 and not isinstance(version, list):
            self.first_version = version
        elif parameter == 1 and not isinstance(version, list):
            self.second_version = version
        elif version and self.rest is not None:
            self.rest.keep_version(parameter, version)

    def version_of(self, parameter: int) -> Any:
        """The version at which an argument was kept; a list of them for a list."""
        versions = None if self.rest is None else self.rest.versions
        if versions is not None and parameter in versions:
            return versions[parameter]
        if parameter == 0:
            return self.first_version
        return self.second_version if parameter == 1 else 0

    def value(self, parameter: int, recorded: bool) -> Any:
        """A kept argument as a rule sees it: raw, unless the work is recorded."""
        kept = self.kept(parameter)
        if self.released:  # looked at after the value, as in raw
            raise freed(self.name())
        return self.unpacked(kept, self.version_of(parameter), parameter, recorded)

    def unpacked(self, kept: Any, version: Any, parameter: int, recorded: bool) -> Any:
        """A kept value as a rule sees it, lists element by element."""
        if isinstance(kept, SavedTensor):
            tensor = kept.unpack()
            return tensor if recorded else tensor.array
        if isinstance(kept, TensorCore):
            array = self.raw(kept, version, parameter)
            if not recorded:
                return array
            if not kept.needs_grad and self.differentiates(parameter):
                raise RuntimeError(
                    f"{self.name()}: Trying to use a saved tensor that has been detached in-place, "
                    f"'{self.op.parameters[parameter]}', for a second derivative, which would be "
                    "wrong; use the out-of-place .detach() instead"
                )
            return kept
        if isinstance(kept, (list, tuple)):
            versions = version if isinstance(version, list) else [0] * len(kept)
            pairs = zip(kept, versions)
            return type(kept)([self.unpacked(k, v, parameter, recorded) for k, v in pairs])
        return kept

    def raw(self, kept: Any, version: int, parameter: int) -> Any:
        """A kept argument as a raw value, unless it was changed since."""
        if self.released:  # a pass of another thread says so before it lets go of values
            raise freed(self.name())
        if isinstance(kept, TensorCore):
            extras = kept.extras
            if extras is not None and extras.counter is not None:
                check_version(self, self.op.parameters[parameter], version, extras.counter)
            return kept.array
        return kept

    def differentiates(self, parameter: int) -> bool:
        """Whether a single tensor that was given for a parameter required grad."""
        if parameter not in self.op.inputs or self.width(parameter) >= 0:
            return False
        return self.mask >> self.op.inputs.index(parameter) & 1 != 0

    def shape(self, parameter: int) -> Any:
        """The shape of an argument; an input's own is known where its gradient goes."""
        rest = self.rest
        if rest is not None and rest.shapes is not None:
            return rest.shapes[parameter]
        node, number = (self.next0, self.nr0) if parameter == 0 else (self.next1, self.nr1)
        assert node is not None
        return node.spec_of(number).shape

    def width(self, parameter: int) -> int:
        """How many edges a parameter has: -1 for a single tensor, else the length of its list."""
        rest = self.rest
        if rest is None or not rest.lists:
            return -1
        shapes = rest.shapes
        shape = None if shapes is None else shapes.get(parameter)
        return len(shape) if isinstance(shape, list) else -1

    def tangent(self, parameter: int) -> Any:
        """The tangent of an argument; a node has none, a call that is pushed forward does."""
        raise NotImplementedError(f"{self.name()} keeps no tangent of argument {parameter}")

    def of_batch(self, kind: int, parameter: int) -> Any:
        """What a rule over batches asks for besides values; only a call inside vmap knows."""
        raise NotImplementedError(f"{self.name()} knows no batch of argument {parameter}")

    def hidden(self) -> Any:
        """What forward computed for the rules alone."""
        rest = self.rest
        if rest is None:
            return None
        hidden = rest.hidden
        return unpack_arrays(hidden) if self.lane == USER else hidden

    def result_value(self, index: int, recorded: bool) -> Any:
        """A kept result, unless it was changed since; as a Tensor of this node if recorded."""
        result = self.result
        self.check_result(index)
        kept = result[index] if self.outputs is not None else result
        if isinstance(kept, SavedTensor):
            kept = kept.unpack(True)
            if kept.layer is None:
                kept = kept.array
        if not recorded:
            return raw(kept)
        # A new tensor: what hooks returned must not lead back here.
        if isinstance(kept, TensorCore) and not self.op.derived >> index & 1:
            return kept
        tensor = renewed(kept) if isinstance(kept, TensorCore) else upper.tensor(kept)
        if is_floating(tensor.array):
            tensor.needs_grad = True
            tensor.node, tensor.output_number = self, index
        return tensor

    def check_result(self, index: int) -> None:
        """Refuse if a kept result was changed since, or let go of."""
        if self.released:
            raise freed(self.name())
        watched = self.watched
        if watched is not None and not self.packed:
            check_version(self, "result", watched.version, watched.counters.get(index))

    def watch(self, output_number: int, counter: VersionCounter) -> None:
        self.watches().counters[output_number] = counter

    def output_counter(self, output_number: int) -> VersionCounter:
        """See Node; the kept result counts along."""
        return self.watches().counters.setdefault(output_number, VersionCounter())

    def watches(self) -> Watched:
        """What tells of changes to results, made at the first need."""
        if self.watched is None:
            made = Watched()
            anew: Any = self
            if INTERPRETED:
                exchange(self, "watched", None, made)
            elif anew.watched is None:
                self.watched = made
        found = self.watched
        assert found is not None
        return found

    def saved_items(self) -> list[SavedItem]:
        """See Node."""
        items: list[SavedItem] = []
        for i in range(len(self.op.parameters) if self.rest is not None else 2):
            if i < len(self.op.parameters):
                items.extend(items_of(self.op.parameters[i], self.kept(i), self.version_of(i)))
        if self.rest is not None:
            items.extend(items_of("hidden", self.rest.hidden, 0))
        watched = self.watched or Watched()
        kept = self.result if isinstance(self.result, list) else [self.result]
        for number, value in enumerate(kept):
            for item in items_of("result", value, watched.version):
                counter = watched.counters.get(number)
                items.append(SavedItem(item.name, item.array, watched.version, counter))
        return items

    def release(self) -> None:
        """Let go of kept values; a node that had none can run again."""
        if self.holds:
            self.released = True  # first: another thread may be reading the values
            self.first = None
            self.second = None
            self.result = None
            self.rest = None
        if self.watched is not None:
            self.watched.shown = []


def items_of(name: str, value: Any, version: Any) -> list[SavedItem]:
    """A kept value, or those of a list, as records."""
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
