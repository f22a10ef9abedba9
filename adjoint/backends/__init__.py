"""Array libraries behind one small protocol; each has one file here, and is imported nowhere else.

A forward function of the op table gets the library's namespace as `xp`: NumPy's names, and those of
`Namespace` below, which every library must answer.
"""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from adjoint.backends.error_state import quiet as quiet
from adjoint.device import device

NDARRAY: Final = np.ndarray  # the one array type that has a short path


class Namespace:
    """A library's functions under NumPy's names, and what NumPy lacks or says differently.

    Attributes that a backend's subclass does not define come from the library itself; how, is the
    subclass's affair.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, library: Any) -> None:
        self.library = library

    def total(self, array: Any) -> Any:
        """The sum of all elements, integers in 64 bits."""
        kind = "int64" if array.dtype.kind in "biu" else array.dtype
        return array.sum(dtype=kind)

    def relu(self, array: Any) -> Any:
        """array where it is positive, else 0."""
        return self.maximum(array, 0)

    def lowered(self, array: Any, index: Any, by: Any) -> Any:
        """array, a fresh one, with `by` subtracted at an index that names no place twice."""
        return self.added_at(array, index, -by)

    def raised(self, array: Any, index: Any, by: Any) -> Any:
        """array, a fresh one, with `by` added at an index of slices."""
        return self.added_at(array, index, by)

    def written(self, array: Any, index: Any, function: Any, *args: Any) -> Any:
        """array, a fresh one, with function(*args) at an index of slices."""
        return self.updated(array, index, function(*args))

    def summed_rows(self, rows: Any, index: Any, count: int) -> Any:
        """A matrix of `count` rows, each the sum of those of `rows` whose index it is."""
        return self.added_at(self.zeros((count, rows.shape[1]), rows.dtype), index, rows)

    def row_sums(self, array: Any) -> Any:
        """The sum of each row of a matrix, as a column."""
        return array.sum(axis=1, keepdims=True)

    def turned_product(self, array: Any, other: Any) -> Any:
        """The transpose of a matrix times another."""
        return self.matmul(array.T, other)

    def column_sums(self, array: Any) -> Any:
        """The sum over the rows of a matrix."""
        return array.sum(axis=0)

    def row_peaks(self, array: Any) -> Any:
        """The greatest element of each row of a matrix, as a column."""
        return array.max(axis=1, keepdims=True)

    def places_of(self, columns: Any, width: int) -> Any:
        """Where the element of each row that `columns` names lies among all of a matrix."""
        return self.arange(0, len(columns) * width, width) + columns

    def linear(self, input: Any, weight: Any, bias: Any) -> Any:
        """input @ weight.T + bias; bias may be None."""
        out = self.matmul(input, weight.T)
        return out if bias is None else self.into(self.add, out, out, bias)

    def add_scaled(self, array: Any, other: Any, factor: Any) -> None:
        """array += other * factor, in place, for libraries whose arrays can be changed."""
        array += other if factor == 1 else other * factor

    def into(self, function: Any, target: Any, *args: Any) -> Any:
        """function(*args), in the memory of `target`, a fresh array, where the library can."""
        return function(*args)

    def in_blocks(self, function: Any, *arrays: Any) -> Any:
        """An elementwise function of arrays, of large ones part by part where that is faster."""
        return function(*arrays)

    def indexed(self, array: Any, index: Any) -> Any:
        """array[index]; lists in the index are arrays, numbers out of range an IndexError."""
        return array[index]


class Backend:
    """What adjoint asks of an array library."""

    name: str
    device_type: str
    array_type: Any
    mutable: bool = True  # False: an in-place change makes a new array (JAX)
    xp: Any

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        """An array of this library, without a copy where that can be."""
        raise NotImplementedError

    def to_numpy(self, array: Any) -> Any:
        """The same values as a NumPy array."""
        raise NotImplementedError

    def from_numpy(self, array: Any, where: device) -> Any:
        """A NumPy array's values on a device of this library."""
        raise NotImplementedError

    def device(self, array: Any) -> device:
        """Where the array lives."""
        raise NotImplementedError

    def worker(self, array: Any) -> Any:
        """The device whose own thread runs backward work on this array; None: the caller's."""
        return None

    def enter_worker(self, worker: Any) -> None:
        """Prepare the calling thread, which is to run the work of this device from now on."""

    def shares_memory(self, array: Any, source: Any) -> bool:
        """Whether `array`, just made from `source`, is a view of it."""
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


_by_type: Final[dict[Any, Backend]] = {}
_by_device: Final[dict[str, Backend]] = {}
_loaders: Final[dict[str, str]] = {"cpu": "numpy", "cuda": "cupy", "xla": "jax"}
_recognisers: Final[list[Callable[[Any], Backend | None]]] = []


def register(backend: Backend, *types: Any) -> None:
    """Make a backend known, with the exact types of its arrays."""
    _by_device[backend.device_type] = backend
    for kind in types:
        _by_type[kind] = backend


def register_recogniser(recognise: Callable[[Any], Backend | None]) -> None:
    """A function that knows further types (JAX's tracers); its answers are remembered."""
    _recognisers.append(recognise)


def lookup(kind: Any) -> Backend | None:
    """The backend whose arrays are of this type, or None."""
    found = _by_type.get(kind)
    if found is None:
        top = getattr(kind, "__module__", "").partition(".")[0]
        if top in ("jax", "jaxlib", "cupy"):
            load(top.removesuffix("lib"))
        for recognise in _recognisers:
            found = recognise(kind)
            if found is not None:
                _by_type[kind] = found
                return found
        found = _by_type.get(kind)
    return found


def backend_of(array: Any) -> Backend:
    """The backend of an array, or of an array type."""
    kind = array if isinstance(array, type) else type(array)
    found = _by_type.get(kind)
    if found is None:
        found = lookup(kind)
        if found is None:
            raise TypeError(f"expected an array, got {kind.__module__}.{kind.__qualname__}")
    return found


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
