"""torch.autograd.variable: what Tensor was called when it could need a gradient."""

from collections.abc import Callable
from typing import Any

from adjoint.autograd import graph
from adjoint.tensors.tensor import Tensor


class Engine:
    """torch.autograd.Variable._execution_engine."""

    def queue_callback(self, callback: Callable[[], object]) -> None:
        """Call callback when the backward pass that is under way ends."""
        graph.queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Whether the pass that is under way computes the gradients of all leaves."""
        return graph.is_checkpoint_valid()


class _VariableType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __call__(cls, data: Any = None, requires_grad: bool = False) -> Tensor:
        """A leaf on the memory of a tensor."""
        leaf = Tensor() if data is None else data.detach()
        return leaf.requires_grad_() if requires_grad else leaf


class Variable(metaclass=_VariableType):
    """What Tensor was called when it could need a gradient; every tensor is one."""

    _execution_engine = Engine()
