"""What an op's node saved, as attributes of the node: `_saved_self`, `_saved_result`, `_saved_dim`.

A `_saved_…` attribute answers the tensor or value; `_raw_saved_…` the place it is kept in, where
hooks can be registered. The names are PyTorch's for the ops that both save the same for.
"""

from typing import Any

from adjoint.autograd.node import USER
from adjoint.autograd.saved_tensors import SavedTensor, freed
from adjoint.call.op_node import OpNode
from adjoint.call.rule import RESULT, SHAPE, VALUE
from adjoint.ops.op import TABLE, Op
from adjoint.tensors.tensor import AS_IS, Tensor

_names: dict[str, dict[str, tuple[int, int]]] = {}


def names_of(op: Op) -> dict[str, tuple[int, int]]:
    """What the nodes of an op may save, by name: where it comes from, as in a rule."""
    found = _names.get(op.name)
    if found is None:
        rules = [rule for rule in (*op.rules, op.joint) if rule is not None]
        sources = sorted({source for rule in rules for source in rule.sources})
        found = _names[op.name] = {
            _name(op, kind, index): (kind, index)
            for kind, index in sources
            if kind in (RESULT, SHAPE, VALUE)
        }
    return found


def _name(op: Op, kind: int, index: int) -> str:
    if kind == RESULT and op.outputs is not None:
        field: str = op.outputs._fields[index]
        return field
    name = "result" if kind == RESULT else op.parameters[index]
    name = op.saved_as.get(name, "self" if name == "input" else name)
    return f"{name}_sym_sizes" if kind == SHAPE else name


def _place(node: OpNode, name: str) -> tuple[int, int]:
    place = names_of(node.op).get(name)
    if place is None:
        raise AttributeError(f"{node.name()} saves no '{name}'")
    return place


def saved_value(node: OpNode, name: str) -> Any:
    """What a node saved under a name, as the rules see it; None if no rule of it will run."""
    kind, index = _place(node, name)
    if node.released:
        raise freed(node.name())
    if kind == SHAPE:
        shapes = None if node.rest is None else node.rest.shapes
        known = node.rest is None or (shapes is not None and index in shapes)
        return tuple(node.shape(index) if known else ())
    if kind == VALUE:
        value = node.value(index, True)
        if node.op.name == "pick":
            return _looked_up(value)
        return _counted_from_front(node, index, value)
    if node.result is None:
        return None
    if isinstance(node.result, list) and node.result[index] is None:
        return None
    tensor = node.result_value(index, True)
    if tensor.extras is None:
        tensor.rare().counter = node.output_counter(index)
    return tensor


def _counted_from_front(node: OpNode, parameter: int, value: Any) -> Any:
    """A dimension as PyTorch saves it; any other value, and a default, as it is."""
    for place, more in node.op.dims:
        if place == parameter and node.next0 is not None and value != node.op.defaults[place]:
            ndim = len(node.next0.spec_of(node.nr0).shape) + more
            if isinstance(value, tuple):
                return tuple(dim % ndim if isinstance(dim, int) else dim for dim in value)
            return value % ndim if isinstance(value, int) and ndim else value
    return value


def _looked_up(index: Any) -> Any:
    """An index as PyTorch saves it: None for a dimension that is taken whole."""
    if not isinstance(index, tuple):
        return index
    whole = (isinstance(part, slice) and part == slice(None) for part in index)
    return tuple(None if all_of_it else part for all_of_it, part in zip(whole, index))


class RawSaved:
    """The place in a node where a tensor is kept for backward; one in a list has an `element`."""

    def __init__(self, node: OpNode, kind: int, index: int, element: int | None = None) -> None:
        self._node = node
        self._kind = kind
        self._index = index
        self._element = element

    def _kept(self) -> Any:
        node, index = self._node, self._index
        if self._kind == RESULT:
            return node.result[index] if isinstance(node.result, list) else node.result
        value = None if node.released else node.kept(index)
        if self._element is None:
            return value
        return None if value is None else value[self._element]

    def elements(self) -> tuple["RawSaved", ...] | None:
        """The places in a list that holds tensors; None if this is none."""
        kept = self._kept() if self._kind == VALUE else None
        if not isinstance(kept, tuple | list):
            return None
        if not any(isinstance(value, Tensor | SavedTensor) for value in kept):
            return None
        return tuple(RawSaved(self._node, VALUE, self._index, i) for i in range(len(kept)))

    def holds_tensor(self) -> bool:
        """Whether this is the place of a tensor, and not of a plain value or a list."""
        if self._kind == VALUE and self._index not in self._node.op.inputs:
            return isinstance(self._kept(), Tensor | SavedTensor)
        return self._kind != SHAPE and not isinstance(self._kept(), tuple | list)

    @property
    def data(self) -> Any:
        """What is kept: a tensor, or what a pack hook made of it; None once it is freed."""
        kept = self._kept()
        if isinstance(kept, SavedTensor):
            return kept.packed
        return kept if kept is None or self._kind == VALUE else Tensor(kept, AS_IS)

    @property
    def unpack_hook(self) -> Any:
        """The hook that gives it back; None if there is none."""
        kept = self._kept()
        return kept.pairs[-1][1] if isinstance(kept, SavedTensor) else None

    def unpack(self) -> Any:
        """The tensor, as the node's rules see it."""
        names = names_of(self._node.op)
        (name,) = [n for n, place in names.items() if place == (self._kind, self._index)]
        value = saved_value(self._node, name)
        return value if self._element is None else value[self._element]

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Pack the tensor now, and unpack it each time the node needs it."""
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(f"register_hooks: hooks are functions, got {type(hook).__name__}")
        node = self._node
        kept = self._kept()
        if node.released:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed: an earlier "
                f"backward went through {node.name()}. Give that pass retain_graph=True."
            )
        if isinstance(kept, SavedTensor):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set; "
                "only one pair is allowed here"
            )
        if kept is None or (self._kind == VALUE and not isinstance(kept, Tensor)):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden: "
                f"{node.name()} keeps no tensor here"
            )
        tensor = Tensor(kept, AS_IS) if self._kind == RESULT else kept
        self._replace(SavedTensor(tensor, ((pack_hook, unpack_hook),)))

    def _replace(self, saved: SavedTensor) -> None:
        node, index = self._node, self._index
        node.lane = USER  # the other lanes know no hooks
        if self._kind == RESULT:
            node.packed = True
            if isinstance(node.result, list):
                node.result[index] = saved
            else:
                node.result = saved
        elif self._element is None:
            node.keep(index, saved)
        else:
            values = list(node.kept(index))
            values[self._element] = saved
            node.keep(index, type(node.kept(index))(values))


def attach_names(op: Op) -> None:
    """Give nodes the attributes under which those of this op save."""
    for name in names_of(op):
        if not hasattr(OpNode, f"_saved_{name}"):
            setattr(OpNode, f"_saved_{name}", property(_getter(name)))
            setattr(OpNode, f"_raw_saved_{name}", property(_raw_getter(name)))


def _getter(name: str) -> Any:
    return lambda node: saved_value(node, name)


def _raw_getter(name: str) -> Any:
    def get(node: OpNode) -> RawSaved | tuple[RawSaved, ...]:
        raw = RawSaved(node, *_place(node, name))
        elements = raw.elements()
        if elements is not None:
            return elements
        if not raw.holds_tensor():
            raise AttributeError(f"{node.name()} saves '{name}', which is no tensor")
        return raw

    return get


def _listed(node: OpNode) -> list[str]:
    """The attributes of a node, without those that only nodes of other ops have."""
    names = names_of(node.op)
    places = {f"_saved_{name}" for name in names}
    for name, place in names.items():
        raw = RawSaved(node, *place)
        if raw.holds_tensor() or raw.elements() is not None:
            places.add(f"_raw_saved_{name}")
    return [
        name
        for name in object.__dir__(node)
        if name in places or not name.startswith(("_saved_", "_raw_saved_"))
    ]


def attach_all() -> None:
    """Give nodes the attributes of every op in the table."""
    for op in TABLE.values():
        attach_names(op)
    kind: Any = OpNode
    kind.__dir__ = _listed
