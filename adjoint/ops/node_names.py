"""PyTorch's names of nodes where they depend on the call: asked for when a node is shown."""

from collections.abc import Callable
from typing import Any

from adjoint.call.op_node import OpNode
from adjoint.tensors.core import TensorCore

NodeName = Callable[[OpNode], str]


def by_dim(stem: str) -> NodeName:
    """Of a reduction: 0 over everything, 1 over dimensions that were named."""
    return lambda node: f"{stem}Backward{int(node.kept(1) is not None)}"


def of_power(node: OpNode) -> str:
    """Of a power: 0 to a number, 1 to a tensor, 2 of a number."""
    if _is_number(node.kept(1)):
        return "PowBackward0"
    return "PowBackward2" if _is_number(node.kept(0)) else "PowBackward1"


def of_product(node: OpNode) -> str:
    """Of a product: of matrices, batches of them, or with vectors."""
    ranks = (_rank(node, 0), _rank(node, 1))
    if ranks == (1, 1):
        return "DotBackward0"
    if ranks == (2, 1):
        return "MvBackward0"
    return "BmmBackward0" if max(ranks) > 2 else "MmBackward0"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex))


def _rank(node: OpNode, parameter: int) -> int:
    """How many dimensions an argument had; that of a matrix where nothing of it is left."""
    after, number = node.edges()[parameter]
    if after is not None:
        return len(after.spec_of(number).shape)
    kept = node.kept(parameter)
    return len(kept.spec().shape) if isinstance(kept, TensorCore) else 2
