"""torch._C._functions: nodes that fail or give no gradient, which PyTorch's own tests use."""

from typing import Any

from adjoint.autograd.node import (
    AccumulateGrad as AccumulateGrad,
    Node,
    edge_node,
    next_sequence_number,
)
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
