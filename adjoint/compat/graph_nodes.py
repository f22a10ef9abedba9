"""Nodes that PyTorch's own tests put into graphs: one that fails, one that gives no gradient."""

import weakref
from typing import Any

from adjoint.autograd.node import Node, edge_node, next_sequence_number
from adjoint.tensors.tensor import Tensor


class _Joined(Node):
    """A node that takes tensors as they are and says what becomes of their gradients."""

    def __init__(self) -> None:
        super().__init__(next_sequence_number())

    def __call__(self, *tensors: Tensor) -> Any:
        """The tensors, as results of this node."""
        results: list[Any] = []
        for number, tensor in enumerate(tensors):
            self.add_edge(edge_node(tensor), tensor.output_number)
            result = tensor.detach()
            result.node, result.output_number, result.needs_grad = self, number, True
            results.append(result)
        if len(results) == 1:
            self.spec = results[0].spec()
            return results[0]
        self.describe_outputs(results)
        return tuple(results)


class DelayedError(_Joined):
    """Raises an error when a gradient reaches it."""

    def __init__(self, message: str, num_inputs: int) -> None:
        super().__init__()
        self.message = message

    def apply(self, grads: list[Any], create_graph: bool, wanted: Any = None) -> list[Any]:
        """Fail."""
        raise RuntimeError(self.message)


class UndefinedGrad(_Joined):
    """Passes no gradient on."""

    def apply(self, grads: list[Any], create_graph: bool, wanted: Any = None) -> list[Any]:
        """No gradient for any of its inputs."""
        return [None] * self.edge_count


class Resize:
    """What Tensor.view was when it was a Function."""

    @staticmethod
    def apply(tensor: Any, sizes: Any) -> Any:
        """The tensor in another shape with as many elements."""
        return tensor.contiguous().view(sizes)


class _WeakTensorRef:
    """A weak reference to a tensor that can be asked whether it is gone."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None
