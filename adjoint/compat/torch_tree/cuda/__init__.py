"""torch.cuda, over CuPy where it is installed."""

from types import SimpleNamespace
from typing import Any

from adjoint import backends, random
from adjoint.backends import backend_for
from adjoint.compat.tensor_types import CUDA_TYPES
from adjoint.compat.torch_tree.cuda.memory import (
    empty_cache as empty_cache,
    host_memory_stats as host_memory_stats,
    host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict,
    max_memory_allocated as max_memory_allocated,
    max_memory_cached as max_memory_cached,
    max_memory_reserved as max_memory_reserved,
    memory_allocated as memory_allocated,
    memory_cached as memory_cached,
    memory_reserved as memory_reserved,
    memory_snapshot as memory_snapshot,
    memory_stats as memory_stats,
    memory_stats_as_nested_dict as memory_stats_as_nested_dict,
    memory_summary as memory_summary,
    reset_accumulated_memory_stats as reset_accumulated_memory_stats,
    reset_max_memory_allocated as reset_max_memory_allocated,
    reset_max_memory_cached as reset_max_memory_cached,
    reset_peak_memory_stats as reset_peak_memory_stats,
)
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


class OutOfMemoryError(RuntimeError):
    """What PyTorch raises when a device has no memory left; CuPy's own error is raised here."""


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


def seed() -> None:
    """Seed random numbers by chance, where there is a GPU."""
    if is_available():
        random.seed()


seed_all = seed


def initial_seed() -> int:
    """The seed of random numbers, which are the same on every device."""
    _required()
    return random.initial_seed()


def ipc_collect() -> None:
    """Let go of memory that other processes have shared: they share none."""
    _required()


has_half, has_magma = True, False
default_generators: tuple[Any, ...] = ()


def get_gencode_flags() -> str:
    """The GPUs that PyTorch's kernels were made for, as flags of a compiler: there are none."""
    return ""


def is_current_stream_capturing() -> bool:
    """Whether what is done now is captured in a graph."""
    cuda = _library()
    return cuda is not None and bool(cuda.get_current_stream().is_capturing())
