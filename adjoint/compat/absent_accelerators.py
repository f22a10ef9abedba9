"""torch.xpu and torch.mtia: what devices answer that are not there, asked as if they might be.

Seeds are taken and memory is zero, as where PyTorch has no such device; what needs one is refused.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from adjoint.compat.absent_devices import (
    device_count as device_count,
    is_available as is_available,
    is_built as is_built,
)

default_generators: tuple[Any, ...] = ()


def refusing(name: str) -> Callable[..., NoReturn]:
    """A function that needs a device."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError(
            f"{name}(): there is no such device: adjoint's are the CPU, meta, and GPUs by CuPy"
        )

    function.__name__ = function.__qualname__ = name
    return function


_NEEDING_A_DEVICE = """
    current_device current_stream get_device_capability get_device_name get_device_properties
    get_rng_state init initial_seed mem_get_info set_device set_rng_state set_stream synchronize
"""
for _name in _NEEDING_A_DEVICE.split():
    globals()[_name] = refusing(_name)


def is_initialized() -> bool:
    """There is none."""
    return False


def is_bf16_supported() -> bool:
    """There is none."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the random numbers of a device that is not there: nothing changes."""


def seed() -> None:
    """The same, by chance."""


manual_seed_all = manual_seed
seed_all = seed


def empty_cache() -> None:
    """Give memory back, of which there is none."""


def memory_allocated(device: Any = None) -> int:
    """How many bytes tensors use there."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device: Any = None) -> dict[str, Any]:
    """What is known of memory, of which there is none."""
    return {}


memory_stats_as_nested_dict = memory_stats


def memory_snapshot(mempool_id: Any = None) -> list[Any]:
    """The pieces of memory: there are none."""
    return []


def reset_peak_memory_stats(device: Any = None) -> None:
    """Forget the most memory that was used: it is none."""


reset_accumulated_memory_stats = reset_peak_memory_stats


def get_rng_state_all() -> list[Any]:
    """The states of the random numbers of each device: there are none."""
    return []


set_rng_state_all = manual_seed


def get_arch_list() -> list[str]:
    """The devices that PyTorch's kernels were made for: there are none."""
    return []


def get_gencode_flags() -> str:
    """The same as flags of a compiler."""
    return ""
