"""PyTorch's names of nodes where they depend on the call: asked for when a node is shown."""

from collections.abc import Callable
from typing import Any

from adjoint.call.op_node import OpNode
from adjoint.tensors.core import TensorCore

NodeName = Callable[[OpNode], str]


def by_dim(stem: str) -> NodeName:
    """Of a reduction: 0 over everything, 1 over dimensions that were named."""
    return lambda node: f"{stem}Backward{int(node.kept(1) is not None)}"


def by_number(stem: str) -> NodeName:
    """Of a function of two: 0 where the second is a number, 1 where it is a tensor."""
    return lambda node: f"{stem}Backward{int(len(node.shown_edges()) > 1)}"


def of_difference(node: OpNode) -> str:
    """Of a difference: another one where the first is a number."""
    return "RsubBackward1" if _is_number(node.kept(0)) else "SubBackward0"


def of_squeezed(node: OpNode) -> str:
    """Of dimensions left out: 0 where none is said, 1 of one, 2 of several."""
    dim = node.kept(1)
    return f"SqueezeBackward{0 if dim is None else 2 if isinstance(dim, (tuple, list)) else 1}"


def of_index(node: OpNode) -> str:
    """Of an index of ints, slices and None: that of its last part, which PyTorch takes last."""
    parts = [p for p in node.kept(1) or () if p is not Ellipsis and not _is_whole(p)]
    if parts and parts[-1] is None:
        return "UnsqueezeBackward0"
    return "SelectBackward0" if parts and isinstance(parts[-1], int) else "SliceBackward0"


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


def _is_whole(part: Any) -> bool:
    return isinstance(part, slice) and part == slice(None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex))


def _rank(node: OpNode, parameter: int) -> int:
    """How many dimensions an argument had; that of a matrix where nothing of it is left."""
    after, number = node.edges()[parameter]
    if after is not None:
        return len(after.spec_of(number).shape)
    kept = node.kept(parameter)
    return len(kept.spec().shape) if isinstance(kept, TensorCore) else 2
