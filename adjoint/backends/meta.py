"""The device meta: tensors with shape, data type and strides, and no values.

An op runs on it as on any other library's arrays: what its forward asks of `xp` has a rule in
`meta_rules.py`, and so all ops have.
"""

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from adjoint.backends import Backend, Namespace, NoValuesError, register
from adjoint.backends.convolution import Layout
from adjoint.backends.layouts import Shape, is_dense
from adjoint.backends.meta_array import RULES, MetaArray, described, reshape
from adjoint.backends.meta_rules import (
    INDEX,
    asarray,
    elementwise,
    fourier,
    is_array,
    linear_algebra,
    ruled,
    without_elements,
)
from adjoint.backends.namespace import FFT_NAMES, LINALG_NAMES, Memory, ordered_strides
from adjoint.backends.numpy import numpy_backend
from adjoint.device import device

META = device("meta")


class MetaNamespace(Namespace):
    """NumPy's functions by their rules, and what every backend must add."""

    holds_pairs = True

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        self.__dict__.update(RULES)
        self.linalg = SimpleNamespace(**ruled(linear_algebra, LINALG_NAMES, np.linalg))
        self.linalg.LinAlgError = np.linalg.LinAlgError
        self.fft = SimpleNamespace(**ruled(fourier, FFT_NAMES, np.fft))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.library, name)  # finfo, inf, errstate, broadcast_shapes
        if callable(found) and not isinstance(found, type) and name != "broadcast_shapes":
            raise NoValuesError(f"{name} has no rule for arrays without values")
        return found

    def readable(self, waiting: bool = False) -> bool:
        return False

    def _on_host(self, array: Any) -> Any:
        raise NoValuesError

    def valued(self) -> bool:
        return False

    def drawn(self, draw: Callable[..., Any], shape: Shape, *parameters: Any) -> Any:
        # Of no numbers it learns the data type, and what the function refuses.
        small = [without_elements(p.dtype) if is_array(p) else p for p in parameters]
        return MetaArray(tuple(shape), draw((0,), *small).dtype)

    def counted(self, numbers: Any, count: int) -> Any:
        return MetaArray((count,), INDEX)

    def largest(self, numbers: Any, bound: int) -> int:
        return bound

    # ---- reading and writing ----

    def updated(self, array: Any, index: Any, values: Any) -> Any:
        new = described(array).copy("K")
        new[index] = values
        return new

    def added_at(self, array: Any, index: Any, values: Any) -> Any:
        return self.updated(array, index, values)

    def _combined_at(self, name: str, array: Any, index: Any, values: Any) -> Any:
        return self.updated(array, index, values)

    def add_scaled(self, array: Any, other: Any, factor: Any) -> None:
        array.in_place_of(other)

    def special(self, name: str) -> Any:
        return functools.partial(elementwise, numpy_backend.xp.special(name))

    # ---- convolutions ----

    def convolve(self, images: Any, weight: Any, layout: Layout) -> Any:
        counts = layout.counts(images.shape[2:])
        return MetaArray((images.shape[0], weight.shape[0], *counts), images.dtype)

    def convolve_filters(self, images: Any, grad: Any, layout: Layout) -> Any:
        shape = (grad.shape[1], images.shape[1] // layout.groups, *layout.kernel)
        return MetaArray(shape, images.dtype)

    def convolve_back(self, grad: Any, weight: Any, sizes: Any, layout: Layout) -> Any:
        shape = (grad.shape[0], weight.shape[1] * layout.groups, *sizes)
        return MetaArray(shape, grad.dtype)

    # ---- memory ----

    def memory(self, array: Any) -> Memory:
        room: int = array.room.size // array.itemsize
        return Memory(array.room, array.start, self.strides_of(array), room)

    def address(self, array: Any) -> int:
        place: int = array.start * array.itemsize
        return place

    def strides_of(self, array: Any) -> Shape:
        steps: Shape = array.steps if array.size else ordered_strides(array.shape)
        return steps

    def is_contiguous(self, array: Any) -> bool:
        return is_dense(array.shape, array.steps)

    def copied(self, array: Any, dtype: Any = None, ordered: bool = False) -> Any:
        kind = array.dtype if dtype is None else dtype
        return MetaArray(array.shape, kind) if ordered else array.astype(kind)

    def reshaped_view(self, array: Any, shape: Any) -> Any:
        view = reshape(array, shape)
        if view.room is not array.room:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        return view

    def strided(self, array: Any, shape: Any, strides: Any, offset: int) -> Any:
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides))
        if 0 not in shape and (last + 1) * array.itemsize > array.room.size:
            raise ValueError("strides is incompatible with shape of requested array")
        return MetaArray(tuple(shape), array.dtype, tuple(strides), offset, array.room)


class MetaBackend(Backend):
    """Arrays that are only described."""

    name = "meta"
    libraries = ("numpy",)
    device_type = "meta"
    array_type = MetaArray
    xp = MetaNamespace(np)

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        return asarray(value, numpy_dtype)

    def to_numpy(self, array: Any) -> Any:
        raise NoValuesError("Cannot copy out of meta tensor; no data!")

    def number(self, array: Any) -> Any:
        raise RuntimeError(f"Tensor.item() cannot be called on meta tensors: {NoValuesError()}")

    def from_numpy(self, array: Any, where: device) -> Any:
        return described(array)

    def device(self, array: Any) -> device:
        return META

    def shares_memory(self, array: Any, source: Any) -> bool:
        return bool(array.room is source.room)

    def copy(self, array: Any) -> Any:
        return array.copy()


meta_backend = MetaBackend()
register(meta_backend, MetaArray)
