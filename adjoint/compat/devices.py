"""torch.cuda, over CuPy where it is installed."""

from typing import Any

from adjoint import random
from adjoint.backends import backend_for
from adjoint.compat.legacy_types import CUDA_TYPES
from adjoint.device import device as as_device

globals().update(CUDA_TYPES)


def _library() -> Any:
    """CuPy's part that deals with the device; None where there is no CuPy or no GPU."""
    try:
        cuda = backend_for(as_device("cuda")).xp.cuda
    except RuntimeError:
        return None
    return cuda if cuda.is_available() else None


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


def init() -> None:
    """Nothing to do: a device is opened when first used."""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """CuPy has no bfloat16."""
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


def synchronize(device: Any = None) -> None:
    """Wait for the work of the current GPU."""
    _required().Device().synchronize()


def empty_cache() -> None:
    """Give memory that is not in use back to the GPU."""
    if _library() is not None:
        backend_for(as_device("cuda")).xp.get_default_memory_pool().free_all_blocks()


def manual_seed(seed: int) -> None:
    """Seed random numbers, which are the same on every device."""
    if is_available():
        random.manual_seed(seed)


manual_seed_all = manual_seed


def get_rng_state_all() -> list[Any]:
    """The state of the one generator, for each GPU."""
    return [random.get_rng_state() for _ in range(device_count())]


def set_rng_state_all(new_states: list[Any]) -> None:
    """Let the one generator go on from a state that get_rng_state_all answered."""
    for state in new_states:
        random.set_rng_state(state)


def is_current_stream_capturing() -> bool:
    """No CUDA graph is ever captured."""
    return False
