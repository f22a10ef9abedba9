"""torch.distributed, in a process that is not one of several, or a group of its own."""

import os
from types import SimpleNamespace
from typing import Any, NoReturn


class ProcessGroup:
    """The group of this one process."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def rank(self) -> int:
        """The number of this process."""
        return 0

    def size(self) -> int:
        """How many processes there are."""
        return 1


class Work:
    """An exchange that is done: with itself, a process has nothing to wait for."""

    def wait(self, timeout: Any = None) -> bool:
        """Done."""
        return True

    def is_completed(self) -> bool:
        """Done."""
        return True


ReduceOp = SimpleNamespace(
    **{name: name for name in ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")}
)
group = SimpleNamespace(WORLD=None)


def is_available() -> bool:
    """Whether there is anything to send gradients with: only a group of one, once begun."""
    return is_initialized()


def is_initialized() -> bool:
    """Whether init_process_group was called."""
    return group.WORLD is not None


def is_torchelastic_launched() -> bool:
    """Whether a launcher of PyTorch's started this process: no."""
    return False


def init_process_group(
    backend: Any = None,
    init_method: Any = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    *further: Any,
    **options: Any,
) -> None:
    """Begin the group of this process; WORLD_SIZE and RANK count where a number is left out."""
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice")
    numbers = []
    for name, given in (("WORLD_SIZE", world_size), ("RANK", rank)):
        if given < 0 and name not in os.environ:
            raise ValueError(f"{name.lower()} is not given, nor the environment variable {name}")
        numbers.append(given if given >= 0 else int(os.environ[name]))
    if numbers != [1, 0]:
        raise RuntimeError(
            f"adjoint runs in one process: world_size must be 1 and rank 0, got {numbers[0]} and "
            f"{numbers[1]}"
        )
    group.WORLD = ProcessGroup("gloo" if backend is None else str(backend))


def destroy_process_group(group_: Any = None) -> None:
    """End the group."""
    if not is_initialized():
        raise AssertionError("there is no process group to destroy")
    group.WORLD = None


def _group() -> ProcessGroup:
    found: ProcessGroup | None = group.WORLD
    if found is None:
        raise ValueError(
            "torch.distributed: there is no group of processes; call init_process_group first"
        )
    return found


def get_rank(group: Any = None) -> int:
    """The number of this process in its group."""
    return _group().rank()


def get_world_size(group: Any = None) -> int:
    """How many processes the group has."""
    return _group().size()


def get_backend(group: Any = None) -> str:
    """What init_process_group was given."""
    return _group().backend


def _done(async_op: bool) -> Work | None:
    _group()
    return Work() if async_op else None


def all_reduce(
    tensor: Any, op: Any = None, group: Any = None, async_op: bool = False
) -> Work | None:
    """The sum, or the like, over one process: the tensor as it is."""
    return _done(async_op)


def _checked(place: int | None) -> None:
    if place not in (None, 0):
        raise RuntimeError(f"rank {place} is not in a group of one process")


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensor of one process for all: as it is."""
    _checked(src)
    return _done(async_op)


def reduce(
    tensor: Any, dst: int | None = None, op: Any = None, group: Any = None, async_op: bool = False
) -> Work | None:
    """The sum, or the like, over one process: the tensor as it is."""
    _checked(dst)
    return _done(async_op)


def all_gather(
    tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensors of all processes, into a list of one."""
    work = _done(async_op)
    if len(tensor_list) != 1:
        raise RuntimeError(f"expected a list of 1 tensor, one a process, got {len(tensor_list)}")
    tensor_list[0].copy_(tensor)
    return work


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """The objects of all processes, into a list of one."""
    _group()
    object_list[0] = obj


def broadcast_object_list(object_list: list[Any], src: int | None = None, **options: Any) -> None:
    """The objects of one process for all: as they are."""
    _checked(src)
    _group()


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait for all processes: there are no others."""
    return _done(async_op)


def send(tensor: Any, dst: int | None = None, *further: Any, **options: Any) -> NoReturn:
    """Refused: there is no other process."""
    _group()
    raise ValueError("a group of one process has nobody to send to or receive from")


recv = send
