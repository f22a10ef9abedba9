"""torch.cuda.memory: the memory of a GPU, by CuPy; zeros and empty reports where there is none."""

from collections import OrderedDict
from typing import Any

from adjoint import backends
from adjoint.backends import backend_for
from adjoint.device import device as as_device

_GPU = as_device("cuda")


def _pool() -> Any:
    """CuPy's memory; None where there is no GPU."""
    if not backends.is_available(_GPU):
        return None
    return backend_for(_GPU).xp.get_default_memory_pool()


def empty_cache() -> None:
    """Give memory that is not in use back to the GPU."""
    pool = _pool()
    if pool is not None:
        pool.free_all_blocks()


def memory_allocated(device: Any = None) -> int:
    """How many bytes tensors use on the GPU."""
    pool = _pool()
    return 0 if pool is None else int(pool.used_bytes())


def memory_reserved(device: Any = None) -> int:
    """How many bytes of the GPU are held, whether they are used or not."""
    pool = _pool()
    return 0 if pool is None else int(pool.total_bytes())


max_memory_allocated = max_memory_reserved = memory_cached = memory_reserved
max_memory_cached = memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Give memory that is not in use back: what is held is the peak that is reported."""
    empty_cache()


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats
reset_accumulated_memory_stats = reset_peak_memory_stats


def memory_stats(device: Any = None) -> dict[str, int]:
    """The bytes that are used and held, by PyTorch's names; nothing where there is no GPU."""
    if _pool() is None:
        return OrderedDict()
    known = {"allocated_bytes": memory_allocated(), "reserved_bytes": memory_reserved()}
    return OrderedDict(
        (f"{name}.all.{when}", value)
        for name, value in known.items()
        for when in ("current", "peak")
    )


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The same in dictionaries by the parts of the names."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        first, second, third = name.split(".")
        nested.setdefault(first, {}).setdefault(second, {})[third] = value
    return nested


def host_memory_stats() -> dict[str, int]:
    """What is known of memory for copies to the GPU: nothing."""
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """The same."""
    return {}


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[Any]:
    """The pieces of memory, of which CuPy tells none."""
    return []


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The bytes that are used and held, as text."""
    used, held = memory_allocated(device), memory_reserved(device)
    return f"GPU memory: {used} bytes in tensors, {held} bytes held"
