"""What a node keeps for backward, and what happens when it's asked for again.

A node keeps an input Tensor itself, with the version it had, or the array of its own result. Only
where hooks on saving are active is a value packed into a `SavedTensor`.
"""

from typing import Any

from adjoint.tensor_core import TensorCore, VersionCounter, factory


class SavedTensor:
    """A value that a pack hook has taken; its unpack hook gives it back each time."""

    def __init__(self, tensor: TensorCore, pairs: tuple[Any, ...]) -> None:
        self.shape = tensor.array.shape
        self.dtype = tensor.array.dtype
        self.needs_grad = tensor.needs_grad
        self.node = tensor.node
        self.output_number = tensor.output_number
        self.leaf: TensorCore | None = tensor if tensor.node is None else None
        self.pairs = pairs
        value: Any = tensor
        for take, _ in pairs[::-1]:
            value = take(value)
        self.packed = value

    def unpack(self) -> TensorCore:
        """The tensor again, checked, with its place in the graph."""
        value: Any = self.packed
        for _, give in self.pairs:
            value = give(value)
        if not isinstance(value, TensorCore):
            raise TypeError(
                f"the unpack hook of a saved tensor must return a Tensor, "
                f"returned {type(value).__name__}"
            )
        if value.array.shape != self.shape or value.array.dtype != self.dtype:
            raise RuntimeError(
                f"the unpack hook of a saved tensor returned shape {tuple(value.array.shape)}, "
                f"{value.array.dtype}; saved were {tuple(self.shape)}, {self.dtype}"
            )
        if value is self.leaf:
            return value
        tensor = factory.tensor(value.array)
        tensor.needs_grad = self.needs_grad
        tensor.node = self.node
        tensor.output_number = self.output_number
        return tensor


def pack(value: Any, pairs: tuple[Any, ...]) -> Any:
    """A value for backward, through the hooks if it is a tensor."""
    if not pairs or not isinstance(value, TensorCore):
        return value
    detached = value
    if value.node is not None:
        detached = factory.tensor(value.array)
        detached.extras = value.extras
    saved = SavedTensor(detached, pairs)
    saved.needs_grad = value.needs_grad
    saved.node, saved.output_number = value.node, value.output_number
    saved.leaf = value if value.node is None else None
    return saved


def changed(name: str, what: str, saved_at: int, now: int) -> RuntimeError:
    """The error for a saved tensor that was changed in place."""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {name} saved '{what}' at version {saved_at}, but it is at version {now} now. "
        "Change a copy instead (x = x + 1 in place of x += 1), or clone it before it's used."
    )


def freed(name: str) -> RuntimeError:
    """The error for running a freed graph again."""
    return RuntimeError(
        f"Trying to backward through the graph a second time: {name} has let go of the tensors it "
        "saved when an earlier backward pass went through it. Give that earlier pass "
        "retain_graph=True to keep them, or compute the forward again."
    )


def check_version(name: str, what: str, saved_at: int, counter: VersionCounter | None) -> None:
    """Refuse a saved value that has been changed since."""
    if counter is not None and counter.value != saved_at:
        raise changed(name, what, saved_at, counter.value)
