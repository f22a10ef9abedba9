"""torch.distributed.distributed_c10d: the group of one process, and who is in it."""

import enum
import os
from typing import Any, ClassVar

from adjoint.compat.torch_tree.futures import Future


class RedOpType(enum.Enum):
    """How the tensors of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class _Kinds(type):
    """Says of a kind of reduction that it is one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, RedOpType)


class ReduceOp(metaclass=_Kinds):
    """Where the kinds of reductions are."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT
    MIN, MAX = RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM


reduce_op = ReduceOp


class Backend(str):  # noqa: SLOT000  # which has no instances
    """The name of a library that exchanges tensors, in small letters."""

    backend_list: ClassVar = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi", "fake"]
    UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE = backend_list

    def __new__(cls, name: str) -> str:  # type: ignore[misc]  # as PyTorch's, a plain string
        """The name as it is written elsewhere."""
        return name.lower()


class ProcessGroup:
    """A group of this one process."""

    group_name = group_desc = "0"

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def rank(self) -> int:
        """The number of this process."""
        return 0

    def size(self) -> int:
        """How many processes there are."""
        return 1

    def name(self) -> str:
        """What init_process_group was given."""
        return self.backend


class Work:
    """An exchange that is done: with itself, a process has nothing to wait for."""

    def __init__(self, results: Any = ()) -> None:
        self._results = list(results)

    def wait(self, timeout: Any = None) -> bool:
        """Done."""
        return True

    def is_completed(self) -> bool:
        """Done."""
        return True

    def is_success(self) -> bool:
        """Done."""
        return True

    def result(self) -> list[Any]:
        """The tensors that were written."""
        return self._results

    def get_future(self) -> Future[Any]:
        """A future of the tensors that were written."""
        future: Future[Any] = Future()
        future.set_result(self._results)
        return future


class _Groups(type):
    """The group that everything belongs to, as a name of a class."""

    _world: ProcessGroup | None = None

    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802  # PyTorch's name
        """The group that init_process_group began."""
        return _Groups._world

    @WORLD.setter
    def WORLD(cls, value: ProcessGroup | None) -> None:  # noqa: N802
        _Groups._world = value


class group(metaclass=_Groups):
    """Where the group of all processes is."""


class GroupMember(metaclass=_Groups):
    """Where the group of all processes is, and what a process outside of a group has."""

    NON_GROUP_MEMBER = -100


def is_initialized() -> bool:
    """Whether init_process_group was called."""
    return group.WORLD is not None


def is_gloo_available() -> bool:
    """Whether there is what exchanges tensors of the CPU's: for one process, nothing is needed."""
    return True


def _not_there() -> bool:
    """Whether another library that exchanges tensors is there."""
    return False


is_mpi_available = is_nccl_available = is_ucc_available = is_xccl_available = _not_there


def is_backend_available(backend: str) -> bool:
    """Whether there is a library of this name that exchanges tensors."""
    return backend.lower() == "gloo"


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


def new_group(
    ranks: list[int] | None = None, timeout: Any = None, backend: Any = None, **options: Any
) -> ProcessGroup:
    """Another group of this process."""
    if ranks is not None and list(ranks) != [0]:
        raise ValueError(f"the ranks {list(ranks)} are not those of one process, [0]")
    return ProcessGroup(_get_default_group().backend if backend is None else str(backend))


def destroy_process_group(group_: Any = None) -> None:
    """End the group, or one that new_group made."""
    if not is_initialized():
        raise AssertionError("there is no process group to destroy")
    if group_ is None or group_ is group.WORLD:
        group.WORLD = None


def _get_default_group() -> ProcessGroup:
    """The group that init_process_group began."""
    found = group.WORLD
    if found is None:
        raise ValueError(
            "torch.distributed: there is no group of processes; call init_process_group first"
        )
    return found


default_group = _get_default_group  # for this package


def of(group: ProcessGroup | None) -> ProcessGroup:
    """The group that is meant."""
    default = _get_default_group()
    return default if group is None else group


def checked_rank(rank: int | None) -> None:
    """Refuse a number that is none of a group of one process."""
    if rank not in (None, 0):
        raise RuntimeError(f"rank {rank} is not in a group of one process")


def get_rank(group: Any = None) -> int:
    """The number of this process in its group."""
    return of(group).rank()


def get_world_size(group: Any = None) -> int:
    """How many processes the group has."""
    return of(group).size()


def get_backend(group: Any = None) -> str:
    """What init_process_group was given."""
    return of(group).backend


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The numbers of the group's processes."""
    return list(range(of(group).size()))


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number among all processes of one in a group."""
    checked_rank(group_rank)
    return of(group).rank()


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in a group of one among all processes."""
    return get_global_rank(group, global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this process on its machine, which a launcher says."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment, nor is fallback_rank given")
    return int(fallback_rank)
