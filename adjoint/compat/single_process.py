"""torch.distributed, in a process that is not one of several."""

from typing import Any, NoReturn


def is_available() -> bool:
    """Whether there is anything to send gradients with: no."""
    return False


def is_initialized() -> bool:
    """Whether this process is one of several: no."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether a launcher of PyTorch's started this process: no."""
    return False


def get_rank(group: Any = None) -> NoReturn:
    """Refused, as wherever no group of processes was begun."""
    raise ValueError("torch.distributed: there is no group of processes; is_initialized() says so")


get_world_size = get_rank


class ProcessGroup:
    """Several processes: there are none, so nothing is an instance of it."""
