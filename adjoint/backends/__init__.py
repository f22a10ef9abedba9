"""Array libraries behind one small protocol; each has one file here, and is imported nowhere else.

A forward function of the op table gets the library's namespace as `xp`: all that it may ask is
declared in `adjoint.backends.namespace`.
"""

import importlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adjoint.backends.error_state import call_quietly as call_quietly, quiet as quiet
from adjoint.backends.namespace import Namespace as Namespace
from adjoint.device import device

NDARRAY: Final = np.ndarray  # the one array type that has a short path


class NoValuesError(NotImplementedError):
    """Values were asked for that there are none of: of a tensor on the device meta."""

    def __init__(self, reason: str = "it needs values") -> None:
        self.reason = reason
        super().__init__(
            f"{reason}; a tensor on the device meta has none: run this on another device, such as "
            "cpu, with tensors that have memory there (empty_like(), Module.to_empty())"
        )


class Backend:
    """What adjoint asks of an array library."""

    name: str
    device_type: str
    array_type: Any
    libraries: tuple[str, ...] = ()  # the packages whose functions it calls
    mutable: bool = True  # False: an in-place change makes a new array (JAX)
    xp: Any

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        """An array of this library, without a copy where that can be."""
        raise NotImplementedError

    def to_numpy(self, array: Any) -> Any:
        """The same values as a NumPy array."""
        raise NotImplementedError

    def number(self, array: Any) -> Any:
        """The one element of an array as a number of Python."""
        return self.to_numpy(array).item()

    def from_numpy(self, array: Any, where: device) -> Any:
        """A NumPy array's values on a device of this library."""
        raise NotImplementedError

    def device(self, array: Any) -> device:
        """Where the array lives."""
        raise NotImplementedError

    def worker(self, array: Any) -> Any:
        """The device whose own thread runs backward work on this array; None: the caller's."""
        return None

    def is_here(self, worker: Any) -> bool:
        """Whether the calling thread can do the work of a device that has a thread of its own."""
        return False

    def launches(self, numpy_dtype: Any) -> bool:
        """Whether kernels made from declarations run on arrays of a type."""
        return False

    def kernel(self, texts: Any) -> Any:
        """A kernel of the text of an expression, on arrays and numbers; see `loops/cuda.py`."""
        raise NotImplementedError

    def step_kernel(self, notes: Any, operands: int, numbers: int) -> Any:
        """The kernel of an optimizer's rule, noted call by call; None where there are none."""
        return None

    def owns_memory(self, array: Any) -> bool:
        """Whether an array is known to be no view, and may be changed in place."""
        return False

    def enter_worker(self, worker: Any) -> None:
        """Prepare the calling thread, which is to run the work of this device from now on."""

    def shares_memory(self, array: Any, source: Any) -> bool:
        """Whether `array`, made from `source`, is a view of it; NumPy's: see tensors/core.py."""
        raise NotImplementedError

    def same_layout(self, array: Any, like: Any) -> bool:
        """Whether two arrays of one shape keep their elements in the same order."""
        same: bool = array.strides == like.strides
        return same

    def copy(self, array: Any) -> Any:
        """The same values in memory of their own, in order."""
        raise NotImplementedError

    def is_available(self) -> bool:
        """Whether there is a device to put arrays on."""
        return True

    def synchronize(self) -> None:
        """Wait for work that is under way."""


BY_TYPE: Final[dict[Any, Backend]] = {}
_by_device: Final[dict[str, Backend]] = {}
_loaders: Final[dict[str, str]] = {"cpu": "numpy", "cuda": "cupy", "xla": "jax", "meta": "meta"}
_recognisers: Final[list[Callable[[Any], Backend | None]]] = []


def register(backend: Backend, *types: Any) -> None:
    """Make a backend known, with the exact types of its arrays."""
    _by_device[backend.device_type] = backend
    for kind in types:
        BY_TYPE[kind] = backend


def register_recogniser(recognise: Callable[[Any], Backend | None]) -> None:
    """A function that knows further types (JAX's tracers); its answers are remembered."""
    _recognisers.append(recognise)


def lookup(kind: Any) -> Backend | None:
    """The backend whose arrays are of this type, or None."""
    found = BY_TYPE.get(kind)
    if found is None:
        top = getattr(kind, "__module__", "").partition(".")[0]
        if top in ("jax", "jaxlib", "cupy"):
            load(top.removesuffix("lib"))
        for recognise in _recognisers:
            found = recognise(kind)
            if found is not None:
                BY_TYPE[kind] = found
                return found
        found = BY_TYPE.get(kind)
    return found


def libraries() -> set[str]:
    """The packages whose code runs where a forward does."""
    return {"adjoint", *(name for b in BY_TYPE.values() for name in b.libraries)}


def is_array(value: Any) -> bool:
    """Whether a value is an array, or a number of its own, of a library that there is."""
    return lookup(type(value)) is not None


def backend_of(array: Any) -> Backend:
    """The backend of an array, or of an array type."""
    kind = array if isinstance(array, type) else type(array)
    found = BY_TYPE.get(kind)
    if found is None:
        found = lookup(kind)
        if found is None:
            raise TypeError(f"expected an array, got {kind.__module__}.{kind.__qualname__}")
    return found


def is_here(worker: Any) -> bool:
    """Whether the calling thread can do the work of a device as its own thread would."""
    return any(backend.is_here(worker) for backend in _by_device.values())


def enter_worker(worker: Any) -> None:
    """Let each library prepare the thread of a device; those it does not concern do nothing."""
    for backend in list(_by_device.values()):
        backend.enter_worker(worker)


def load(name: str) -> None:
    """Import the backend file called `name`."""
    importlib.import_module(f"adjoint.backends.{name}")


def backend_for(where: device) -> Backend:
    """The backend that holds tensors of a device; imported when first asked for."""
    if where.type not in _by_device:
        file = _loaders.get(where.type)
        if file is None:
            raise RuntimeError(f"no array library for device {where}")
        try:
            load(file)
        except ImportError as error:
            extra = {"cupy": "gpu", "jax": "xla"}[file]
            raise RuntimeError(
                f"device {where} needs {file}, which can't be imported ({error}); "
                f"pip install 'adjoint[{extra}]'"
            ) from error
    return _by_device[where.type]


def is_available(where: device) -> bool:
    """Whether tensors can be put on a device: its library is installed, and finds one."""
    try:
        backend = backend_for(where)
    except RuntimeError:  # there is no such library, and what it says is the answer
        return False
    return backend.is_available()
