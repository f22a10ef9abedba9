"""torch.accelerator.memory: that of the device beside the CPU, as torch.cuda tells of it."""

from collections.abc import Callable
from typing import Any

from adjoint.compat.torch_tree import cuda


def required(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the device; refused where there is none."""
    if not cuda.is_available():
        raise RuntimeError(
            "there is no accelerator: adjoint reaches GPUs through CuPy, see adjoint[gpu]"
        )
    return function


def _of_device(name: str, meaning: str) -> Callable[..., Any]:
    def call(device_index: Any = None, /) -> Any:
        return required(getattr(cuda, name))(device_index)

    call.__doc__ = f"{meaning}; see torch.cuda.{name}."
    return call


memory_allocated = _of_device("memory_allocated", "How many bytes tensors use")
memory_reserved = _of_device("memory_reserved", "How many bytes are held")
max_memory_allocated = _of_device("max_memory_allocated", "How many bytes they used at most")
max_memory_reserved = _of_device("max_memory_reserved", "How many bytes were held at most")
get_memory_info = _of_device("mem_get_info", "The bytes that are free, and all")
reset_peak_memory_stats = _of_device("reset_peak_memory_stats", "Begin to count anew")


def empty_cache() -> None:
    """Give memory that is not in use back to the device."""
    required(cuda.empty_cache)()


def empty_host_cache() -> None:
    """Give memory of the host back that is kept for copies: none is."""
    required(int)()
