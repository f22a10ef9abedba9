"""Old and private members of nodes and of what Functions and hooks are given."""

import warnings
from typing import Any, NamedTuple

from adjoint._base import HookTable
from adjoint.autograd.node import Node
from adjoint.dtypes import from_numpy_dtype
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import Tensor


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
    specs = self.outputs
    if specs is None:
        specs = [] if self.spec is None else [self.spec]
    return tuple(InputMetadata(Size(spec.shape), from_numpy_dtype(spec.dtype)) for spec in specs)


def _saved_variables(ctx: Any) -> Any:
    what = "saved_variables is deprecated; use saved_tensors"
    warnings.warn(what, DeprecationWarning, stacklevel=2)
    return ctx.saved_tensors


NODE: dict[str, Any] = {
    "_set_sequence_nr": _set_sequence_nr,
    "_register_hook_dict": _register_hook_dict,
    "_input_metadata": property(_input_metadata),
}
FUNCTION_CTX: dict[str, Any] = {"saved_variables": property(_saved_variables)}
MUTATION_CONTEXT: dict[str, Any] = {
    "tid_to_weakhandle": property(lambda context: context.handles),
    "sid_to_tid": property(lambda context: context.memories),
}
