"""torch.accelerator: the device beside the CPU, which is torch.cuda's GPU if there is one."""

import warnings
from typing import Any

from adjoint.compat.torch_tree import cuda
from adjoint.compat.torch_tree.accelerator.memory import (
    empty_cache as empty_cache,
    empty_host_cache as empty_host_cache,
    get_memory_info as get_memory_info,
    max_memory_allocated as max_memory_allocated,
    max_memory_reserved as max_memory_reserved,
    memory_allocated as memory_allocated,
    memory_reserved as memory_reserved,
    required,
    reset_peak_memory_stats as reset_peak_memory_stats,
)
from adjoint.device import device as as_device


def is_available() -> bool:
    """Whether there is one."""
    return cuda.is_available()


def device_count() -> int:
    """How many there are."""
    return int(cuda.device_count())


def current_accelerator(check_available: bool = False) -> as_device | None:
    """The device beside the CPU; None where there is none."""
    return as_device("cuda") if is_available() else None


def current_device_index() -> int:
    """The number of the one that is used."""
    return int(required(cuda.current_device)())


def set_device_index(device: Any, /) -> None:
    """Choose the one that is used; None changes nothing."""
    required(cuda.set_device)(device) if device is not None else required(int)()


def current_device_idx() -> int:
    """The same under an older name."""
    warnings.warn("write current_device_index", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_idx(device: Any, /) -> None:
    """The same under an older name."""
    warnings.warn("write set_device_index", FutureWarning, stacklevel=2)
    set_device_index(device)


class device_index(cuda.device):
    """Inside, the device of a number is the one that is used; None changes nothing."""

    def __enter__(self) -> None:
        if self.idx >= 0:
            required(super().__enter__)()


def synchronize(device: Any = None, /) -> None:
    """Wait for the work of the device."""
    required(cuda.synchronize)(device)


def current_stream(device: Any = None, /) -> Any:
    """The stream that gets the work of this thread."""
    return required(cuda.current_stream)(device)


def set_stream(stream: Any) -> None:
    """Let a stream get the work of this thread from now on."""
    required(cuda.set_stream)(stream)
