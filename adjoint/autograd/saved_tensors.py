"""What a node keeps for backward, and what happens when it's asked for again.

A node keeps an input Tensor itself, with the version it had, or the array of its own result. Only
where hooks on saving are active is a value packed into a `SavedTensor`.
"""

import weakref
from typing import Any

from adjoint.autograd.hooks import is_traceable, name_of
from adjoint.autograd.node import AccumulateGrad, Node, edge_node
from adjoint.backends import lookup
from adjoint.call.context import change_grad_enabled, current, set_current
from adjoint.tensors.core import TensorCore, VersionCounter, backend_of, is_floating
from adjoint.tensors.upper import renewed, upper


class SavedTensor:
    """A value that a pack hook has taken; its unpack hook gives it back each time."""

    def __init__(self, tensor: TensorCore, pairs: tuple[Any, ...]) -> None:
        array = tensor.array
        self.shape = array.shape
        self.dtype = array.dtype
        self.device = backend_of(array).device(array)
        self.counter = tensor.counter()
        self.version = self.counter.value
        self.needs_grad = tensor.needs_grad
        self.node = edge_node(tensor)  # of a leaf its accumulator, never the leaf's memory
        self.output_number = tensor.output_number
        self.pairs = pairs
        self.packed: Any = packed(tensor, pairs)
        self.opened: TensorCore | None = None  # while a node is run that has unpacked it already

    def unpack(self, result: bool = False) -> TensorCore:
        """The tensor again, checked, with its place in the graph; or a result of the node."""
        if self.opened is not None:
            return self.opened
        value: Any = unpacked(self.packed, self.pairs)
        give = self.pairs[-1][1]
        if not isinstance(value, TensorCore):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor, but "
                f"'{name_of(give)}' returned {type(value).__name__}"
            )
        self.check(value, give)
        if (self.needs_grad or (result and is_floating(value.array))) and current().modes:
            value = upper.seen_below("detach", value)
        node = self.node
        if node is None and not self.needs_grad and not value.needs_grad:
            return value  # type: ignore[no-any-return]  # a mode's
        if isinstance(node, AccumulateGrad):
            if value is node.variable:
                return value
            tensor = renewed(value)
            tensor.rare().accumulator = weakref.ref(node)
        else:
            tensor = renewed(value)
            tensor.node = node
            tensor.output_number = self.output_number
        tensor.needs_grad = self.needs_grad
        return tensor

    def check(self, value: TensorCore, give: Any) -> None:
        """Refuse what is not like the tensor that was saved, or is that tensor, but changed."""
        array = value.array
        where = backend_of(array).device(array)
        if array.shape != self.shape or array.dtype != self.dtype or where != self.device:
            raise RuntimeError(
                f"the unpack hook '{name_of(give)}' of a saved tensor returned shape "
                f"{tuple(array.shape)}, {array.dtype} on {where}; saved were {tuple(self.shape)}, "
                f"{self.dtype} on {self.device}"
            )
        extras = value.extras
        if extras is not None and extras.counter is self.counter:
            check_version(None, "tensor", self.version, self.counter)


class Packed:
    """Stands where a tensor was that an inner pair of hooks returned and an outer pair took."""

    def __init__(self, value: Any) -> None:
        self.value = value


def packed(tensor: TensorCore, pairs: tuple[Any, ...]) -> Any:
    """A tensor through all pack hooks; outer pairs see the tensors that inner ones return."""
    settings = current()
    try:
        change_grad_enabled(False)
        value = taken(pairs[-1][0], tensor)
        for take, _ in pairs[-2::-1]:
            value = taken_inside(take, value)
        return value
    finally:
        set_current(settings)


def taken(take: Any, tensor: TensorCore) -> Any:
    """What a pack hook makes of a tensor, which it may not change."""
    tracing = current().tracing
    if tracing is not None and not is_traceable(take):
        return tracing.pack(take, tensor)
    version = tensor.version()
    answer = take(tensor)
    if tensor.version() != version:
        raise RuntimeError(
            f"A saved tensor pack hook is modifying its input in place: '{name_of(take)}'. "
            "Return a changed copy instead."
        )
    return answer


def taken_inside(take: Any, value: Any) -> Any:
    """What an inner pair packed, with each tensor in it packed once more."""
    if isinstance(value, TensorCore):
        return Packed(taken(take, value))
    if isinstance(value, Packed):
        return Packed(taken_inside(take, value.value))
    if type(value) is tuple or type(value) is list:
        return type(value)([taken_inside(take, element) for element in value])
    if type(value) is dict:
        return {key: taken_inside(take, element) for key, element in value.items()}
    return value


def unpacked(value: Any, pairs: tuple[Any, ...]) -> Any:
    """What was packed, through all unpack hooks, the outermost pair first."""
    depth = len(pairs) - 2
    for _, give in pairs[:-1]:
        value = given_inside(give, value, depth)
        depth -= 1
    give = pairs[-1][1]
    tracing = current().tracing
    if tracing is not None and not is_traceable(give):
        return tracing.unpack(give, value)
    return give(value)


def given_inside(give: Any, value: Any, depth: int) -> Any:
    """The inverse of taken_inside, for what lies below `depth` other pairs."""
    if isinstance(value, Packed):
        if depth == 0:
            return give(value.value)
        return Packed(given_inside(give, value.value, depth - 1))
    if type(value) is tuple or type(value) is list:
        return type(value)([given_inside(give, element, depth) for element in value])
    if type(value) is dict:
        return {key: given_inside(give, element, depth) for key, element in value.items()}
    return value


def pack(value: Any, pairs: tuple[Any, ...]) -> Any:
    """A value for backward, through the hooks if it is a tensor.

    A node's own output must come detached: hooks may keep what they are given.
    """
    if not pairs or not isinstance(value, TensorCore):
        return value
    return SavedTensor(value, pairs)


def pack_arrays(value: Any, pairs: tuple[Any, ...]) -> Any:
    """Raw arrays, one or a tuple of them, through the hooks as tensors without history."""
    if isinstance(value, tuple):
        return tuple([pack_arrays(element, pairs) for element in value])
    return value if lookup(type(value)) is None else pack(upper.tensor(value), pairs)


def unpack_arrays(value: Any) -> Any:
    """The inverse of pack_arrays."""
    if isinstance(value, tuple):
        return tuple([unpack_arrays(element) for element in value])
    return value.unpack().array if isinstance(value, SavedTensor) else value


def before_change(tensor: TensorCore) -> None:
    """A tensor is about to be changed in place: tell those of this context who wait for it."""
    for guard in current().guards:
        guard(tensor)


def changed(node: Node | None, what: str, saved_at: int, counter: VersionCounter) -> RuntimeError:
    """The error for a saved tensor that was changed in place: where it was saved, and changed."""
    name = "a node under hooks on saving" if node is None else node.name()
    saver = None if node is None else node.source()
    changer = counter.source()
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {name} saved '{what}' at version {saved_at}, but it is at version "
        f"{counter.value} now. Change a copy instead (x = x + 1 in place of x += 1), or clone it "
        "before it's used."
        + ("" if saver is None else f"\n  saved:   {saver}")
        + ("" if changer is None else f"\n  changed: {changer}")
    )


def freed(name: str) -> RuntimeError:
    """The error for running a freed graph again, or looking into it."""
    return RuntimeError(
        f"Trying to backward through the graph a second time (or directly access saved tensors "
        f"after they have already been freed): {name} has let go of the tensors it "
        "saved when an earlier backward pass went through it. Specify retain_graph=True in that "
        "earlier pass to keep them, or compute the forward again."
    )


def check_version(
    node: Node | None, what: str, saved_at: int, counter: VersionCounter | None
) -> None:
    """Refuse a saved value that has been changed since."""
    if counter is not None and counter.value != saved_at:
        raise changed(node, what, saved_at, counter)
