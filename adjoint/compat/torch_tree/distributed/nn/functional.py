"""torch.distributed.nn.functional: exchanges of one process that gradients pass through."""

from collections.abc import Sequence
from typing import Any

from adjoint.compat.torch_tree.distributed.distributed_c10d import (
    ReduceOp,
    checked_rank,
    default_group,
)


def _own(tensor: Any, rank: int = 0) -> Any:
    """The tensor of this process, as what comes of an exchange."""
    default_group()
    checked_rank(rank)
    return tensor.clone()


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum over all processes."""
    return _own(tensor)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of one process, for all."""
    return _own(tensor, src)


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The sum over all processes, in one of them."""
    return _own(tensor, dst)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes."""
    return (_own(tensor),)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes, in one of them."""
    return (_own(tensor, dst),)


def scatter(tensors: Sequence[Any], src: int = 0, group: Any = None) -> Any:
    """The tensor that one process has for this one."""
    return _own(tensors[0], src)


def reduce_scatter(
    output: Any, input_list: Sequence[Any], op: Any = ReduceOp.SUM, group: Any = None
) -> Any:
    """The sum over all processes of what each has for this one."""
    return _own(input_list[0])


def all_to_all(
    output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None
) -> tuple[Any, ...]:
    """What each process has for this one."""
    return (_own(input_tensor_list[0]),)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
) -> Any:
    """The parts that each process has for this one."""
    return _own(input)
