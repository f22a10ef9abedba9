"""What the processes of a group exchange: in a group of one, each tensor is its own answer."""

from collections.abc import Sequence
from typing import Any, NoReturn

from adjoint.autograd.grad_mode import no_grad
from adjoint.compat.torch_tree.distributed.distributed_c10d import (
    ReduceOp,
    Work,
    checked_rank,
    default_group,
)


def _done(async_op: bool, *results: Any) -> Work | None:
    default_group()
    return Work(results) if async_op else None


def _checked_op(op: Any) -> None:
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a torch.distributed.ReduceOp, got {op!r}")


def _one(tensors: Sequence[Any] | None, name: str) -> Any:
    """The only element of a list, one a process."""
    if tensors is None:
        raise ValueError(f"{name} must be given in the process that it is for")
    if len(tensors) != 1:
        raise RuntimeError(
            f"{name}: expected a list of 1 tensor, one a process, got {len(tensors)}"
        )
    return tensors[0]


def _write(target: Any, source: Any) -> None:
    if target.dtype is not source.dtype:
        raise ValueError(f"a tensor of {source.dtype} is to be written into one of {target.dtype}")
    if target.shape != source.shape:
        raise RuntimeError(
            f"a tensor of sizes {tuple(source.shape)} is to be written into one of "
            f"{tuple(target.shape)}"
        )
    with no_grad():
        target.copy_(source)


def all_reduce(
    tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The sum, or the like, over one process: the tensor as it is."""
    _checked_op(op)
    return _done(async_op, tensor)


def all_reduce_coalesced(
    tensors: Sequence[Any], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The sums, or the like, over one process: the tensors as they are."""
    _checked_op(op)
    return _done(async_op, *tensors)


def broadcast(
    tensor: Any,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """The tensor of one process for all: as it is."""
    checked_rank(src)
    return _done(async_op, tensor)


def reduce(
    tensor: Any,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The sum, or the like, over one process: the tensor as it is."""
    checked_rank(dst)
    _checked_op(op)
    return _done(async_op, tensor)


def all_gather(
    tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensors of all processes, into a list of one."""
    work = _done(async_op, *tensor_list)
    _write(_one(tensor_list, "tensor_list"), tensor)
    return work


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensors of all processes, one after the other in a tensor."""
    work = _done(async_op, output_tensor)
    _write(output_tensor, input_tensor)
    return work


def reduce_scatter(
    output: Any,
    input_list: Sequence[Any],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """The sums over all processes, each process its own."""
    _checked_op(op)
    return all_gather_into_tensor(output, _one(input_list, "input_list"), group, async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """The sums over all processes, each process its part of them."""
    _checked_op(op)
    return all_gather_into_tensor(output, input, group, async_op)


def all_to_all(
    output_tensor_list: Sequence[Any],
    input_tensor_list: Sequence[Any],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Each process a tensor for each: in a group of one, to itself."""
    source = _one(input_tensor_list, "input_tensor_list")
    target = _one(output_tensor_list, "output_tensor_list")
    return all_gather_into_tensor(target, source, group, async_op)


def all_to_all_single(
    output: Any,
    input: Any,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Each process a part of its tensor for each: in a group of one, to itself."""
    return all_gather_into_tensor(output, input, group, async_op)


def gather(
    tensor: Any,
    gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensors of all processes, into a list in one of them."""
    checked_rank(dst)
    return all_gather_into_tensor(_one(gather_list, "gather_list"), tensor, group, async_op)


def scatter(
    tensor: Any,
    scatter_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """A tensor for each process, from a list in one of them."""
    checked_rank(src)
    return all_gather_into_tensor(tensor, _one(scatter_list, "scatter_list"), group, async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """The objects of all processes, into a list of one."""
    default_group()
    object_list[0] = obj


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, **options: Any
) -> None:
    """The objects of all processes, into a list in one of them."""
    checked_rank(dst)
    if object_gather_list is None:
        raise ValueError("object_gather_list must be given in the process that it is for")
    all_gather_object(object_gather_list, obj)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    **options: Any,
) -> None:
    """An object for each process, from a list in one of them."""
    checked_rank(src)
    found = _one(scatter_object_input_list, "scatter_object_input_list")
    all_gather_object(scatter_object_output_list, found)


def broadcast_object_list(object_list: list[Any], src: int | None = None, **options: Any) -> None:
    """The objects of one process for all: as they are."""
    checked_rank(src)
    default_group()


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None
) -> Work | None:
    """Wait for all processes: there are no others."""
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait for all processes: there are no others."""
    default_group()


def send(tensor: Any, dst: int | None = None, *further: Any, **options: Any) -> NoReturn:
    """Refused: there is no other process."""
    default_group()
    raise ValueError("a group of one process has nobody to send to or receive from")


recv = isend = irecv = send
