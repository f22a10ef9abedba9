"""JAX: arrays that never change, on any device XLA compiles for; under `jax.jit`, its tracers.

What differs from NumPy, and why, is in docs/notes/backends.md.
"""

import contextlib
import functools
import os
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from adjoint.backends import Backend, Namespace, register, register_recogniser
from adjoint.backends.convolution import Layout
from adjoint.backends.error_state import quiet
from adjoint.backends.jax_reading import reader
from adjoint.device import device

_jax: Any = jax  # for its functions without type hints

# On the CPU a program runs in the thread that asks for it, and waits for its results anyway: to
# hand it to another costs more than a small program. JAX reads this before it computes anything.
_ELSEWHERE: Final = "jax_cpu_enable_async_dispatch"
if _ELSEWHERE.upper() not in os.environ and _ELSEWHERE in _jax.config.values:
    jax.config.update(_ELSEWHERE, False)

# What is being compiled: it says where tensors without values are, and draws numbers for them.
under_way: Final[ContextVar[Any]] = ContextVar("adjoint_compiling", default=None)


def _is_basic(index: Any) -> bool:
    """Whether an index has only numbers, slices, None and Ellipsis, all known before running."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None
        or part is Ellipsis
        or isinstance(part, slice)
        or (isinstance(part, (int, np.integer)) and not isinstance(part, bool))
        for part in parts
    )


def _readable(array: Any, index: Any) -> Any:
    """An index in JAX's grammar: lists as arrays; IndexError for numbers out of range.

    JAX itself moves a number that is out of range to the edge, or drops what is written there.
    """
    if _is_basic(index):
        np.broadcast_to(np.False_, array.shape)[index]  # NumPy's check, on one byte of memory
        return index
    if isinstance(index, tuple):
        return tuple(_listed(part) for part in index)
    return _listed(index)


def _listed(part: Any) -> Any:
    """A list in an index as an array, with integers for an empty one."""
    if not isinstance(part, list):
        return part
    return np.asarray(part) if part else np.zeros(0, np.int32)


def _is_traced_mask(part: Any) -> bool:
    return isinstance(part, jax.core.Tracer) and part.dtype == np.bool_


def _over_mask(array: Any, index: tuple[Any, ...], values: Any) -> tuple[Any, Any] | None:
    """A mask in an index, and what is written where it is true, as they lie along an array.

    None if there is more to the index, or if each place that the mask names gets another value.
    """
    if sum(map(_is_traced_mask, index)) != 1:
        return None
    at = next(number for number, part in enumerate(index) if _is_traced_mask(part))
    mask, others = index[at], (*index[:at], *index[at + 1 :])
    if any(not isinstance(part, slice) or part != slice(None) for part in others):
        return None
    rest = array.ndim - at - mask.ndim  # how many dimensions come behind it
    if array.shape[at : at + mask.ndim] != mask.shape:
        raise IndexError(
            f"a mask of shape {list(mask.shape)} does not match dimensions of size "
            f"{list(array.shape[at : at + mask.ndim])}"
        )
    if values.ndim > rest:
        if values.shape[values.ndim - rest - 1] != 1 or values.ndim > at + 1 + rest:
            return None
        before, behind = values.shape[: values.ndim - rest - 1], values.shape[values.ndim - rest :]
        values = values.reshape(*before, *(1,) * mask.ndim, *behind)
    np.broadcast_shapes(values.shape, array.shape)  # complains as NumPy does
    return mask.reshape(*mask.shape, *(1,) * rest), jnp.broadcast_to(values, array.shape)


def _fitting(values: Any, array: Any) -> Any:
    """Values to be written into array, in its data type, as NumPy would cast them."""
    dtype = getattr(values, "dtype", None)
    return values if dtype is None or dtype == array.dtype else values.astype(array.dtype)


def _held(array: Any) -> Any:
    """An array of NumPy as JAX can hold it, which may have no types of 64 bits.

    No number may become another, or infinite; that fractions are rounded JAX says itself.
    """
    kind = jax.dtypes.canonicalize_dtype(array.dtype)
    if kind == array.dtype:
        return array
    with quiet():
        narrow = array.astype(kind)
    whole = array.dtype.kind in "iu"
    lost = narrow != array if whole else np.isinf(narrow) & ~np.isinf(array)
    if lost.any():
        raise OverflowError(
            f"{array[lost].flat[0]} is out of the range of {kind}, and JAX runs without "
            f"{array.dtype}: call jax.config.update('jax_enable_x64', True) at the start, or "
            "leave this tensor on 'cpu'"
        )
    return narrow if whole else array


# JAX would take the mean of both triangles; LAPACK, and so NumPy, looks at one.
_OF_ONE_TRIANGLE = ("cholesky", "eigh", "eigvalsh")


class _Function:
    """A function of JAX that complains of shapes with a ValueError, as NumPy's do."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.function(*args, **kwargs)
        except TypeError as error:
            text = str(error)
            if "incompatible shapes for broadcasting" in text:
                raise ValueError(f"operands could not be broadcast together: {text}") from None
            if "shape" in text or "dimension" in text:
                raise ValueError(text) from None
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)  # add.at, maximum.accumulate


class JaxNamespace(Namespace):
    """jax.numpy's functions, and those that NumPy has or that every backend must add."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.library, name)
        if isinstance(found, ModuleType):  # linalg, fft
            found = JaxNamespace(found)
        elif callable(found) and not isinstance(found, type):
            if name in _OF_ONE_TRIANGLE and self.library is jnp.linalg:
                found = functools.partial(found, symmetrize_input=False)
            found = _Function(found)
        setattr(self, name, found)
        return found

    def complex_of(self, real: Any, imag: Any, kind: Any) -> Any:
        if kind.kind != "c":  # of two halves
            return super().complex_of(real, imag, kind)
        return jax.lax.complex(*jnp.broadcast_arrays(real, imag))

    def are_indices(self, numbers: Any) -> bool:
        # What is compiled has all types, and may be given those of eager code, which has no int64.
        narrow = under_way.get() is not None and numbers.dtype == "int32"
        return narrow or bool(numbers.dtype == jax.dtypes.canonicalize_dtype("int64"))

    def indexed(self, array: Any, index: Any) -> Any:
        """array[index], with NumPy's grammar and errors."""
        return array[_readable(array, index)]

    def updated(self, array: Any, index: Any, values: Any) -> Any:
        index, values = _readable(array, index), _fitting(values, array)
        if isinstance(index, tuple) and any(map(_is_traced_mask, index)):
            spread = _over_mask(array, index, jnp.asarray(values, array.dtype))
            if spread is not None:
                return jnp.where(*spread, array)
        return array.at[index].set(values)

    def added_at(self, array: Any, index: Any, values: Any) -> Any:
        return array.at[_readable(array, index)].add(_fitting(values, array))

    def _combined_at(self, name: str, array: Any, index: Any, values: Any) -> Any:
        method = {"maximum": "max", "minimum": "min"}.get(name, name)
        return getattr(array.at[_readable(array, index)], method)(_fitting(values, array))

    def wide_product(self, array: Any, other: Any) -> Any:
        beside_numpy = _jax.default_backend() == "cpu"  # a GPU's eager code rounds products, too
        if not beside_numpy or array.dtype.itemsize != 2 or array.dtype.kind in "iu":
            return None
        return jnp.matmul(array, other, preferred_element_type=np.float32)

    def convolve(self, images: Any, weight: Any, layout: Layout) -> Any:
        return _jax.lax.conv_general_dilated(
            images,
            weight,
            layout.stride,
            layout.padding,
            rhs_dilation=layout.dilation,
            feature_group_count=layout.groups,
        )

    def convolve_back(self, grad: Any, weight: Any, sizes: Any, layout: Layout) -> Any:
        shape = (grad.shape[0], weight.shape[1] * layout.groups, *sizes)
        return self._transposed(lambda x: self.convolve(x, weight, layout), shape, grad)

    def convolve_filters(self, images: Any, grad: Any, layout: Layout) -> Any:
        shape = (grad.shape[1], images.shape[1] // layout.groups, *layout.kernel)
        return self._transposed(lambda x: self.convolve(images, x, layout), shape, grad)

    def _transposed(self, function: Any, shape: Any, grad: Any) -> Any:
        """A linear function's transpose, at grad."""
        like = _jax.ShapeDtypeStruct(shape, grad.dtype)
        return _jax.linear_transpose(function, like)(grad)[0]

    def mean_class_losses(self, rows: Any, target: Any, ignored: int) -> Any:
        # Compared with all classes, a target is a part of one kernel with what is around it. To
        # look its element up, and to lower it, would be kernels of their own.
        if not isinstance(rows, jax.core.Tracer) or not self.are_indices(target):
            return None
        counted = (target != ignored)[:, None]
        wanted = counted & (target[:, None] == jnp.arange(rows.shape[1], dtype=target.dtype))
        count = counted.sum(dtype=rows.dtype)
        shifted = rows - rows.max(axis=1, keepdims=True)
        powers = jnp.exp(shifted)
        totals = powers.sum(axis=1, keepdims=True)
        picked = jnp.where(wanted, shifted, 0).sum(axis=1, keepdims=True)
        losses = jnp.where(counted, jnp.log(totals) - picked, 0)
        slope = jnp.where(counted, powers / totals - wanted, 0) / jnp.maximum(count, 1)
        return losses.sum() / count, slope

    def total(self, array: Any) -> Any:
        if type(array) is not JaxBackend.array_type or array.dtype.kind != "f":
            return super().total(array)
        return _total(array)  # by C++ alone: jnp.sum looks at its arguments in Python

    def counted(self, numbers: Any, count: int) -> Any:
        return jnp.bincount(numbers, length=count)  # known before it runs, as jit wants it

    def largest(self, numbers: Any, bound: int) -> int:
        return bound if isinstance(numbers, jax.core.Tracer) else super().largest(numbers, bound)

    def squared_up(self, matrices: Any, often: Any) -> Any:
        def square(k: Any, found: Any) -> Any:
            return jnp.where((often > k)[..., None, None], jnp.matmul(found, found), found)

        return _jax.lax.fori_loop(0, jnp.max(often, initial=0).astype("int32"), square, matrices)

    def readable(self, waiting: bool = False) -> bool:
        return False  # as it is while JAX traces, also where it does not

    def _on_host(self, array: Any) -> Any:
        return np.asarray(array)

    def drawn(self, draw: Callable[..., Any], shape: Any, *parameters: Any) -> Any:
        compiling = under_way.get()
        if compiling is None:
            return super().drawn(draw, shape, *parameters)
        return compiling.drawn(draw, tuple(shape), parameters)

    def memory(self, array: Any) -> None:
        return None

    def address(self, array: Any) -> int:
        pointer: int = array.unsafe_buffer_pointer()
        return pointer

    def reshaped_view(self, array: Any, shape: Any) -> Any:
        """array as another shape; always possible, since JAX has no strides."""
        return jnp.reshape(array, shape)

    def strided(self, array: Any, shape: Any, strides: Any, offset: int) -> Any:
        """array's elements, counted in order, picked by strides and offset."""
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides))
        if 0 not in shape and last >= array.size:
            raise RuntimeError(
                f"sizes {list(shape)}, strides {list(strides)} and offset {offset} reach element "
                f"{last}, but the array has {array.size}"
            )
        places = jnp.full((1,) * len(shape), offset)
        for axis, (n, step) in enumerate(zip(shape, strides)):
            along = [1] * len(shape)
            along[axis] = n
            places = places + step * jnp.arange(n).reshape(along)
        return jnp.take(array.reshape(-1), places)

    def repeated(self, numbers: Any, counts: Any, total: int) -> Any:
        return jnp.repeat(numbers, counts, total_repeat_length=total)

    def sort(self, array: Any, axis: int = -1, kind: Any = None, stable: bool = True) -> Any:
        """NumPy's sort; JAX has one algorithm, which is stable."""
        return jnp.sort(array, axis=axis)

    def argsort(self, array: Any, axis: int = -1, kind: Any = None, stable: bool = True) -> Any:
        """NumPy's argsort; JAX has one algorithm, which is stable."""
        return jnp.argsort(array, axis=axis)

    def ascontiguousarray(self, array: Any) -> Any:
        """array itself, which has no other order."""
        return jnp.asarray(array)

    def errstate(self, **settings: str) -> Any:
        """A context that changes nothing: JAX never warns of what an element became."""
        return contextlib.nullcontext()

    def special(self, name: str) -> Callable[..., Any]:
        """JAX's own function, else SciPy's, called on the host."""
        import jax.scipy.special

        found = getattr(jax.scipy.special, name, None) or getattr(jnp, name, None)
        return _on_host(name) if found is None else found


def _on_host(name: str) -> Callable[..., Any]:
    """An elementwise function of scipy.special that compiled code calls back for."""
    from adjoint.backends.numpy import numpy_backend

    function = numpy_backend.xp.special(name)

    def call(*arrays: Any) -> Any:
        dtype = jnp.result_type(*arrays)
        if not jnp.issubdtype(dtype, jnp.inexact):
            dtype = jnp.result_type(float)
        shape = jnp.broadcast_shapes(*[jnp.shape(array) for array in arrays])

        def host(*given: Any) -> Any:
            return np.asarray(function(*[np.asarray(array) for array in given])).astype(dtype)

        answer = _jax.ShapeDtypeStruct(shape, dtype)
        return jax.pure_callback(host, answer, *arrays, vmap_method="broadcast_all")

    return call


_total: Final = _jax.jit(jnp.sum)


def _type_of_values() -> Any:
    """The type of arrays that have values, also if this file is first imported while JAX traces."""
    with jax.ensure_compile_time_eval():
        return type(jnp.zeros(()))


@functools.lru_cache(64)
def _ours(place: Any) -> device:
    """Our device for JAX's; for a sharding, by which an array is spread, one without a number."""
    if not isinstance(place, jax.Device):
        return device("xla")
    return device("xla", jax.local_devices().index(place))


class JaxBackend(Backend):
    """Arrays of XLA: CPUs, GPUs or TPUs, whichever JAX was installed for."""

    name = "jax"
    libraries = ("jax", "jaxlib")
    device_type = "xla"
    array_type = _type_of_values()
    mutable = False
    xp = JaxNamespace(jnp)

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        if isinstance(value, jax.Array):
            return value if numpy_dtype is None else jnp.asarray(value, dtype=numpy_dtype)
        if numpy_dtype is not None:
            held = _held(np.asarray(value, numpy_dtype))
            return jnp.asarray(held, dtype=held.dtype)
        return jnp.asarray(value, dtype=numpy_dtype)

    def to_numpy(self, array: Any) -> Any:
        if not isinstance(array, self.array_type):
            return np.array(array)  # a tracer, which says what it is
        return reader(array.sharding)(array)

    def from_numpy(self, array: Any, where: device) -> Any:
        # The data type is asked for by name so that JAX warns where it has no 64-bit types.
        # array, not asarray: that one may go on using NumPy's memory, which can still change.
        held = _held(array)
        return jax.device_put(jnp.array(held, dtype=held.dtype), self._place(where))

    def _place(self, where: device) -> Any:
        """JAX's device for ours; None for its default."""
        if where.index is None:
            return None
        known = jax.local_devices()
        if where.index >= len(known):
            raise RuntimeError(f"device {where}: JAX has {len(known)} devices here")
        return known[where.index]

    def device(self, array: Any) -> device:
        if isinstance(array, jax.core.Tracer):
            compiling = under_way.get()
            return device("xla") if compiling is None else compiling.device
        return _ours(array.device)

    def shares_memory(self, array: Any, source: Any) -> bool:
        """True: nothing shows in memory, so a view operation's result counts as a view always."""
        return True

    def same_layout(self, array: Any, like: Any) -> bool:
        """True: JAX's arrays have no strides."""
        return True

    def copy(self, array: Any) -> Any:
        return array  # nobody can change it

    def synchronize(self) -> None:
        _jax.block_until_ready(_jax.live_arrays())


jax_backend = JaxBackend()
register(jax_backend, JaxBackend.array_type)


def _recognise(kind: Any) -> Backend | None:
    """Tracers are arrays: what runs on them is what gets compiled."""
    if isinstance(kind, type) and issubclass(kind, (jax.core.Tracer, jax.Array)):
        return jax_backend
    return None


register_recogniser(_recognise)
