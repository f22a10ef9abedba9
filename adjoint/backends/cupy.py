"""CuPy: arrays on NVIDIA and AMD GPUs; backward work on each GPU has a thread of its own.

What differs from NumPy, and why, is in docs/notes/backends.md.
"""

import contextlib
import importlib
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

import cupy
import numpy as np

from adjoint.backends import Backend, Namespace, register
from adjoint.backends.convolution import Convolutions
from adjoint.backends.cupy_chance import drawn, flips
from adjoint.backends.cupy_kernels import TYPES, Kernel, StepKernel
from adjoint.backends.cupy_products import product
from adjoint.backends.cupy_sums import column_sums, mean_class_losses, total
from adjoint.backends.namespace import Memory, ordered_strides
from adjoint.device import device

# Who captures the work of this context, to be asked for random numbers.
under_way: Final[ContextVar[Any]] = ContextVar("adjoint_capturing", default=None)


def _on_host(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function on CuPy arrays, for what CuPy lacks: there and back through main memory."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return _to_device(
            function(*map(_to_host, args), **{k: _to_host(kwargs[k]) for k in kwargs})
        )

    return call


def _to_host(value: Any) -> Any:
    """An argument with CuPy's arrays as NumPy's, in lists too."""
    if isinstance(value, cupy.ndarray):
        return cupy.asnumpy(value)
    if isinstance(value, (list, tuple)):
        return type(value)([_to_host(element) for element in value])
    return value


def _to_device(value: Any) -> Any:
    """A result with NumPy's arrays as CuPy's; several results as a tuple."""
    if isinstance(value, (np.ndarray, np.generic)):
        return cupy.asarray(value)
    if isinstance(value, (list, tuple)):
        return tuple(_to_device(element) for element in value)
    return value


def _of_truth(function: Callable[..., Any]) -> Callable[..., Any]:
    """A logical function that takes complex numbers too, of which CuPy asks no truth value."""

    def call(*arrays: Any) -> Any:
        return function(*[_truth(array) for array in arrays])

    return call


def _truth(value: Any) -> Any:
    """value, or where a complex array is not zero."""
    return value != 0 if isinstance(value, cupy.ndarray) and value.dtype.kind == "c" else value


_SIGN = np.uint64(1 << 63)
_ALL_BUT_SIGN = np.int64((1 << 63) - 1)


def _keys(array: Any, last: int) -> Any:
    """Numbers as 64-bit unsigned integers in the same order; NaN as `last`, whatever its sign."""
    if array.dtype == np.uint64:
        return array.copy()
    if array.dtype.kind in "biu":
        return array.astype(np.int64).view(np.uint64) ^ _SIGN
    wide = array.astype(np.float64)
    bits = wide.view(np.int64)
    rising = cupy.where(bits < 0, bits ^ _ALL_BUT_SIGN, bits).view(np.uint64) ^ _SIGN
    return cupy.where(cupy.isnan(wide), np.uint64(last), rising)


def _numbers(keys: Any, dtype: Any) -> Any:
    """What _keys was made from."""
    if dtype == np.uint64:
        return keys
    bits = (keys ^ _SIGN).view(np.int64)
    if dtype.kind in "biu":
        return bits.astype(dtype)
    return cupy.where(bits < 0, bits ^ _ALL_BUT_SIGN, bits).view(np.float64).astype(dtype)


def _state(generator: Any, take: Callable[[Any], Any]) -> Any:
    """The state of a generator from which numbers are taken: of a graph, that of each launch."""
    capturing = under_way.get()
    return generator.draw(take) if capturing is None else capturing.state(generator, take)


class CupyNamespace(Convolutions, Namespace):
    """CuPy's functions; those it lacks run in NumPy, and those every backend must add."""

    def __init__(self, library: Any, fallback: Any) -> None:
        super().__init__(library)
        self.fallback = fallback  # NumPy's module of the same name

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.library, name, None)
        if found is None:
            found = _on_host(getattr(self.fallback, name))
        setattr(self, name, found)
        return found

    def into(self, function: Any, target: Any, *args: Any) -> Any:
        if isinstance(function, cupy.ufunc):
            return function(*args, out=target)
        return function(*args)

    def written(self, array: Any, index: Any, function: Any, *args: Any) -> Any:
        function(*args, out=array[index])
        return array

    def raised(self, array: Any, index: Any, by: Any) -> Any:
        array[index] += by
        return array

    def updated(self, array: Any, index: Any, values: Any) -> Any:
        new = array.copy()
        new[index] = values
        return new

    def added_at(self, array: Any, index: Any, values: Any) -> Any:
        dtype = array.dtype
        values = cupy.asarray(values, dtype=dtype)
        if dtype.kind == "c":  # the GPU adds single numbers atomically, so a pair goes in two steps
            new = array.copy()
            new.real[...] = self.added_at(array.real, index, values.real)
            new.imag[...] = self.added_at(array.imag, index, values.imag)
            return new
        if dtype.kind == "f" or dtype in (np.int32, np.uint32, np.uint64):
            new = array.copy()
            cupy.add.at(new, index, values)
            return new
        # Two's complement: the sum of signed numbers is that of the same bits without a sign.
        wide = array.astype(np.int64).view(np.uint64)
        cupy.add.at(wide, index, values.astype(np.int64).view(np.uint64))
        return wide.view(np.int64).astype(dtype)

    def _combined_at(self, name: str, array: Any, index: Any, values: Any) -> Any:
        if name == "add":
            return self.added_at(array, index, values)
        if name == "multiply":  # the GPU has no atomic product
            from adjoint.backends.numpy import numpy_backend

            own = numpy_backend.xp._combined_at  # noqa: SLF001  this very method, of NumPy's
            return _on_host(own)(name, array, index, values)
        # Not on the numbers: CuPy's extremes of float64 round to float32, and all pass over NaN.
        last = 0 if name == "minimum" else (1 << 64) - 1
        new = _keys(array, last)
        getattr(cupy, name).at(new, index, _keys(cupy.asarray(values, dtype=array.dtype), last))
        return _numbers(new, array.dtype)

    def reshaped_view(self, array: Any, shape: Any) -> Any:
        new = cupy.reshape(array, shape)
        if new.data.mem is not array.data.mem:
            raise ValueError(f"no view of shape {tuple(shape)} without a copy")
        return new

    def strided(self, array: Any, shape: Any, strides: Any, offset: int) -> Any:
        owner = array if array.base is None else array.base
        size = array.dtype.itemsize
        return cupy.ndarray(
            tuple(shape),
            array.dtype,
            memptr=owner.data + offset * size,
            strides=tuple(step * size for step in strides),
        )

    def memory(self, array: Any) -> Memory:
        owner = array
        while owner.base is not None:
            owner = owner.base
        size = array.itemsize
        strides = tuple([step // size for step in array.strides])
        return Memory(
            owner,
            (array.data.ptr - owner.data.ptr) // size,
            strides if array.size else ordered_strides(array.shape),
            owner.nbytes // size,
        )

    def address(self, array: Any) -> int:
        pointer: int = array.data.ptr
        return pointer

    def is_contiguous(self, array: Any) -> bool:
        ordered: bool = array.flags.c_contiguous
        return ordered

    def copied(self, array: Any, dtype: Any = None, ordered: bool = False) -> Any:
        # A repeated dimension (of stride 0) has no place of its own in memory to preserve.
        order = "C" if ordered or 0 in array.strides else "K"
        return cupy.array(array, dtype=dtype, order=order)

    def readable(self, waiting: bool = False) -> bool:
        return waiting

    def _on_host(self, array: Any) -> Any:
        return _to_host(array)

    def drawn(self, draw: Callable[..., Any], shape: Any, *parameters: Any) -> Any:
        found = None if cupy.cuda.runtime.is_hip else drawn(_state, draw, tuple(shape))
        if found is not None:
            return found
        capturing = under_way.get()
        if capturing is not None:
            return capturing.drawn(draw, tuple(shape), parameters)
        return super().drawn(draw, shape, *parameters)

    def flips(self, generator: Any, shape: Any, p: float) -> Any:
        return None if cupy.cuda.runtime.is_hip else flips(_state, generator, tuple(shape), p)

    def sort(self, array: Any, axis: int = -1, kind: Any = None, stable: bool = True) -> Any:
        """NumPy's sort; CuPy has one algorithm, which is stable."""
        return cupy.sort(array, axis=axis)

    def argsort(self, array: Any, axis: int = -1, kind: Any = None, stable: bool = True) -> Any:
        """NumPy's argsort; CuPy has one algorithm, which is stable."""
        return cupy.argsort(array, axis=axis)

    def max(self, array: Any, axis: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        """NumPy's max, with the number to start from that CuPy's has no place for."""
        if initial is None:
            return array.max(axis=axis, keepdims=keepdims)
        if not array.size:  # there is no maximum, but the shape of one
            return array.sum(axis=axis, dtype=array.dtype, keepdims=keepdims) + initial
        return cupy.maximum(array.max(axis=axis, keepdims=keepdims), initial)

    def matmul(self, array: Any, other: Any) -> Any:
        """NumPy's matmul; of two matrices by cuBLAS itself."""
        found = product(array, other)
        return cupy.matmul(array, other) if found is None else found

    def linear(self, input: Any, weight: Any, bias: Any) -> Any:
        if input.ndim > 2 and weight.ndim == 2 and input.flags.c_contiguous:
            rows = self.matmul(input.reshape(-1, input.shape[-1]), weight.T)
            out = rows.reshape(*input.shape[:-1], weight.shape[0])
        else:
            out = self.matmul(input, weight.T)
        return out if bias is None else self.into(cupy.add, out, out, bias)

    def total(self, array: Any) -> Any:
        found = total(array)
        return super().total(array) if found is None else found

    def wide_total(self, array: Any) -> Any:
        found = total(array, wide=True)
        return super().wide_total(array) if found is None else found

    def column_sums(self, array: Any) -> Any:
        found = column_sums(array)
        return super().column_sums(array) if found is None else found

    def mean_class_losses(self, rows: Any, target: Any, ignored: int) -> Any:
        return mean_class_losses(rows, target, ignored)

    logical_and = staticmethod(_of_truth(cupy.logical_and))
    logical_or = staticmethod(_of_truth(cupy.logical_or))
    logical_xor = staticmethod(_of_truth(cupy.logical_xor))
    logical_not = staticmethod(_of_truth(cupy.logical_not))

    def errstate(self, **settings: str) -> Any:
        """A context that changes nothing: a GPU never warns of what an element became."""
        return contextlib.nullcontext()

    def sparse_product(
        self, rows: Any, columns: Any, elements: Any, matrix: Any, count: int
    ) -> Any:
        if elements.dtype.char not in "fdFD":
            return super().sparse_product(rows, columns, elements, matrix, count)
        library = importlib.import_module("cupyx.scipy.sparse")
        shape = (count, matrix.shape[0])
        kept = library.coo_matrix((elements, (rows, columns)), shape=shape)
        return self.ascontiguousarray(kept.tocsr() @ matrix)

    def special(self, name: str) -> Callable[..., Any]:
        """CuPy's own function, else SciPy's, by way of main memory."""
        from adjoint.backends.numpy import numpy_backend

        found = getattr(importlib.import_module("cupyx.scipy.special"), name, None)
        return _on_host(numpy_backend.xp.special(name)) if found is None else found


class CupyBackend(Backend):
    """Arrays on GPUs."""

    name = "cupy"
    libraries = ("cupy", "cupy_backends", "cupyx")
    device_type = "cuda"
    array_type = cupy.ndarray
    xp = CupyNamespace(cupy, np)

    def __init__(self) -> None:
        for part in ("linalg", "fft"):
            inner = CupyNamespace(getattr(cupy, part), getattr(np, part))
            setattr(self.xp, part, inner)

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        if isinstance(value, (bool, int, float, complex)):
            # Filled on the device: a number sent there as an array would wait for a copy.
            return cupy.full(
                (), value, np.asarray(value).dtype if numpy_dtype is None else numpy_dtype
            )
        return cupy.asarray(value, dtype=numpy_dtype)

    def to_numpy(self, array: Any) -> Any:
        return cupy.asnumpy(array)

    def from_numpy(self, array: Any, where: device) -> Any:
        if where.index is None:
            return cupy.asarray(array)
        count = cupy.cuda.runtime.getDeviceCount()
        if where.index >= count:
            raise RuntimeError(f"device {where}: CUDA has {count} devices here")
        with cupy.cuda.Device(where.index):
            return cupy.asarray(array)

    def device(self, array: Any) -> device:
        return device("cuda", array.device.id)

    def worker(self, array: Any) -> Any:
        return f"cuda:{array.device.id}"

    def is_here(self, worker: Any) -> bool:
        return bool(worker == f"cuda:{cupy.cuda.runtime.getDevice()}")

    def launches(self, numpy_dtype: Any) -> bool:
        return numpy_dtype in TYPES and not cupy.cuda.runtime.is_hip

    def kernel(self, texts: Any) -> Any:
        return Kernel(texts)

    def step_kernel(self, notes: Any, operands: int, numbers: int) -> Any:
        return None if cupy.cuda.runtime.is_hip else StepKernel(notes, operands, numbers)

    def owns_memory(self, array: Any) -> bool:
        return array.base is None

    def enter_worker(self, worker: Any) -> None:
        if isinstance(worker, str) and worker.startswith("cuda:"):
            cupy.cuda.Device(int(worker.removeprefix("cuda:"))).use()

    def shares_memory(self, array: Any, source: Any) -> bool:
        same: bool = array.data.mem is source.data.mem  # one object for each piece of memory
        return same

    def copy(self, array: Any) -> Any:
        return array.copy(order="C")

    def is_available(self) -> bool:
        return bool(cupy.cuda.is_available())

    def synchronize(self) -> None:
        cupy.cuda.Device().synchronize()


cupy_backend = CupyBackend()
register(cupy_backend, cupy.ndarray)
