"""torch.cuda, over CuPy where it is installed."""

from types import SimpleNamespace
from typing import Any

from adjoint import backends, random
from adjoint.backends import backend_for
from adjoint.compat.tensor_types import CUDA_TYPES
from adjoint.compat.torch_tree.cuda.streams import (
    Event as Event,
    Stream as Stream,
    current_stream as current_stream,
    default_stream as default_stream,
    set_stream as set_stream,
    stream as stream,
)
from adjoint.device import device as as_device

_GPU = as_device("cuda")

globals().update(CUDA_TYPES)


def _library() -> Any:
    """CuPy's part that deals with the device; None where there is no CuPy or no GPU."""
    return backend_for(_GPU).xp.cuda if backends.is_available(_GPU) else None


def _required() -> Any:
    cuda = _library()
    if cuda is None:
        raise RuntimeError(
            "no GPU can be used: adjoint reaches them through CuPy, see adjoint[gpu]"
        )
    return cuda


def is_available() -> bool:
    """Whether tensors can be put on a GPU."""
    return _library() is not None


is_initialized = is_available


def __getattr__(name: str) -> Any:
    if name == "_initialized":  # a variable of PyTorch's, where is_initialized is a function
        return is_available()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def init() -> None:
    """Nothing to do: a device is opened when first used."""


_lazy_init = init


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """It is, wherever there is a GPU: numbers are rounded once."""
    return is_available()


def is_tf32_supported() -> bool:
    """CuPy computes in the precision of its arrays."""
    return False


def device_count() -> int:
    """How many GPUs there are."""
    cuda = _library()
    return 0 if cuda is None else int(cuda.runtime.getDeviceCount())


def current_device() -> int:
    """The number of the GPU that `cuda` without a number means."""
    return int(_required().Device().id)


def set_device(device: Any) -> None:
    """Choose the GPU that `cuda` without a number means."""
    number = as_device(device).index
    if number is not None:
        _required().Device(number).use()


class device:
    """Inside, a GPU is the one that is used; a number below 0 or None changes nothing."""

    def __init__(self, device: Any) -> None:
        if device is not None and not isinstance(device, int):
            device = as_device(device).index
        self.idx = -1 if device is None else device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = current_device()
            set_device(self.idx)

    def __exit__(self, *exc: object) -> None:
        if self.prev_idx >= 0:
            set_device(self.prev_idx)


class device_of(device):
    """Inside, the GPU of a tensor is the one that is used, if it is on one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device.index if obj.is_cuda else -1)


def get_arch_list() -> list[str]:
    """The GPUs that PyTorch's kernels were made for: there are none."""
    return []


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The bytes that are free, and all, on a GPU."""
    found: tuple[int, int] = _required().runtime.memGetInfo()
    return found


def synchronize(device: Any = None) -> None:
    """Wait for the work of the current GPU."""
    _required().Device().synchronize()


def empty_cache() -> None:
    """Give memory that is not in use back to the GPU."""
    pool = _pool()
    if pool is not None:
        pool.free_all_blocks()


class OutOfMemoryError(RuntimeError):
    """What PyTorch raises when a device has no memory left; CuPy's own error is raised here."""


def _pool() -> Any:
    """CuPy's memory; None where there is no GPU."""
    if _library() is None:
        return None
    return backend_for(_GPU).xp.get_default_memory_pool()


def memory_allocated(device: Any = None) -> int:
    """How many bytes tensors use on the GPU."""
    pool = _pool()
    return 0 if pool is None else int(pool.used_bytes())


def memory_reserved(device: Any = None) -> int:
    """How many bytes of the GPU are held, whether they are used or not."""
    pool = _pool()
    return 0 if pool is None else int(pool.total_bytes())


max_memory_allocated = max_memory_reserved = memory_cached = memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Give memory that is not in use back: what is held is the peak that is reported."""
    empty_cache()


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def get_device_properties(device: Any = None) -> Any:
    """The name of a GPU, its memory, capability and number of processors."""
    number = None if device is None else as_device(device).index
    cuda = _required()
    found = cuda.runtime.getDeviceProperties(cuda.Device().id if number is None else number)
    return SimpleNamespace(
        name=found["name"].decode(),
        major=found["major"],
        minor=found["minor"],
        total_memory=found["totalGlobalMem"],
        multi_processor_count=found["multiProcessorCount"],
    )


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    name: str = get_device_properties(device).name
    return name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Major and minor number of what a GPU can do."""
    found = get_device_properties(device)
    return found.major, found.minor


def get_rng_state(device: Any = "cuda") -> Any:
    """The state of the random numbers, which are the same on every device."""
    return random.get_rng_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Let random numbers go on from a state."""
    random.set_rng_state(new_state)


def get_rng_state_all() -> list[Any]:
    """The states of the random numbers of each GPU."""
    return [random.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: Any) -> None:
    """Let random numbers go on from states."""
    for state in new_states:
        random.set_rng_state(state)


def manual_seed(seed: int) -> None:
    """Seed random numbers, which are the same on every device."""
    if is_available():
        random.manual_seed(seed)


manual_seed_all = manual_seed


def is_current_stream_capturing() -> bool:
    """Whether what is done now is captured in a graph."""
    cuda = _library()
    return cuda is not None and bool(cuda.get_current_stream().is_capturing())
