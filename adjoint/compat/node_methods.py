"""Private methods of nodes that programs written for PyTorch use; attached to Node."""

from typing import Any, NamedTuple

from adjoint._base import HookTable
from adjoint.autograd.node import Node
from adjoint.dtypes import from_numpy_dtype
from adjoint.size import Size
from adjoint.tensor import Tensor


class InputMetadata(NamedTuple):
    """What a gradient that arrives at a node must look like."""

    shape: Any
    dtype: Any


def _set_sequence_nr(self: Node, number: int) -> None:
    """Say when a node was made, which decides its turn among those that are ready."""
    self.sequence_number = number


def _register_hook_dict(self: Node, tensor: Tensor) -> None:
    """Make a dictionary of hooks, the tensor's `_backward_hooks`, those of the tensor's output."""
    hooks: Any = getattr(tensor, "_backward_hooks", None)
    self.any_hooks().tensor[tensor.output_nr] = HookTable() if hooks is None else hooks


def _input_metadata(self: Node) -> tuple[InputMetadata, ...]:
    """What each gradient that arrives must look like; nothing for a node that was never used."""
    outputs = self.outputs
    if outputs is None:
        outputs = [] if self.dtype is None else [(self.shape, self.dtype, self.array_type)]
    return tuple(InputMetadata(Size(shape), from_numpy_dtype(kind)) for shape, kind, _ in outputs)


METHODS: dict[str, Any] = {
    "_set_sequence_nr": _set_sequence_nr,
    "_register_hook_dict": _register_hook_dict,
    "_input_metadata": property(_input_metadata),
}


def attach() -> None:
    """Give Node these methods; those it has under the same name stay."""
    for name, method in METHODS.items():
        if not hasattr(Node, name):
            setattr(Node, name, method)
