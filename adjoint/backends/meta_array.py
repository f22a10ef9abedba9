"""An array without values: what NumPy's would look like, and its views."""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.lib.mixins import NDArrayOperatorsMixin

from adjoint.backends import NoValuesError
from adjoint.backends.layouts import (
    Shape,
    broadcast_shape,
    broadcast_strides,
    fitting_shape,
    picked,
    preserved,
    reshaped_strides,
    written_shape,
)
from adjoint.backends.namespace import ordered_strides
from adjoint.dtypes import from_numpy_dtype

# What NumPy's functions are for these arrays, by name; meta.py has the rules.
RULES: Final[dict[str, Any]] = {}


class Room:
    """The memory that an array would have; those with the same one share it."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size  # in bytes


class MetaArray(NDArrayOperatorsMixin):
    """An array of NumPy as far as its values don't matter."""

    __slots__ = ("dtype", "room", "shape", "start", "steps")

    def __init__(
        self, shape: Shape, dtype: Any, steps: Shape | None = None, start: int = 0, room: Any = None
    ) -> None:
        self.shape: Shape = shape
        self.dtype: Any = np.dtype(dtype)
        self.steps: Shape = ordered_strides(shape) if steps is None else steps  # in elements
        self.start: int = start
        self.room: Room = Room(self.nbytes) if room is None else room

    def seen(self, shape: Shape, steps: Shape, start: int = 0) -> "MetaArray":
        """A view of the same memory."""
        return MetaArray(shape, self.dtype, steps, self.start + start, self.room)

    def in_place_of(self, values: Any) -> "MetaArray":
        """Itself, with values written into it that it must have room for."""
        broadcast_to(values, self.shape)
        return self

    # ---- what it is ----

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        found: int = self.dtype.itemsize
        return found

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> Shape:
        """How far apart neighbours are, in bytes."""
        return tuple([step * self.itemsize for step in self.steps])

    @property
    def T(self) -> "MetaArray":  # noqa: N802  as NumPy names it
        return transpose(self)

    @property
    def real(self) -> "MetaArray":
        return self.halves(0) if self.dtype.kind in "cW" else self

    @property
    def imag(self) -> "MetaArray":
        return self.halves(1) if self.dtype.kind in "cW" else MetaArray(self.shape, self.dtype)

    def halves(self, number: int) -> "MetaArray":
        """The real parts of complex numbers, or the imaginary ones."""
        kind = from_numpy_dtype(self.dtype).to_real().numpy_dtype
        steps = tuple([2 * step for step in self.steps])
        return MetaArray(self.shape, kind, steps, 2 * self.start + number, self.room)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"MetaArray({self.shape}, {self.dtype})"

    def __reduce__(self) -> Any:
        return (MetaArray, (self.shape, self.dtype, preserved(self.shape, self.steps)))

    # ---- values, which it has not ----

    def item(self, *place: int) -> Any:
        """Its one number, as Python's."""
        raise NoValuesError

    def tolist(self) -> Any:
        """Its numbers in lists."""
        raise NoValuesError

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError(str(NoValuesError("there is no memory to export")))

    def __dlpack_device__(self) -> Any:
        raise ValueError("DLPack knows no device meta, whose tensors have no memory")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NoValuesError

    def __bool__(self) -> bool:
        raise NoValuesError

    def __int__(self) -> int:
        raise NoValuesError

    __index__ = __int__

    def __float__(self) -> float:
        raise NoValuesError

    def __complex__(self) -> complex:
        raise NoValuesError

    # ---- as NumPy's ----

    def __getitem__(self, index: Any) -> "MetaArray":
        part = picked(self.shape, self.steps, index)
        if part.strides is None:
            return MetaArray(part.shape, self.dtype)
        return self.seen(part.shape, part.strides, part.start)

    def __setitem__(self, index: Any, values: Any) -> None:
        shape = written_shape(self.shape, index)
        if shape is not None:
            given = shape_of(values)
            extra = max(len(given) - len(shape), 0)  # NumPy forgives more dimensions, of one
            broadcast_to(values, given[:extra] + shape)

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        rule = RULES.get(f"ufunc.{method}")
        return NotImplemented if rule is None else rule(ufunc, *args, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        rule = RULES.get(function.__name__)
        return NotImplemented if rule is None else rule(*args, **kwargs)

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> "MetaArray":
        """The same as another data type."""
        if not copy and self.dtype == dtype:
            return self
        return MetaArray(self.shape, dtype, preserved(self.shape, self.steps))

    def copy(self, order: str = "C") -> "MetaArray":
        """The same in memory of its own."""
        return self.astype(self.dtype) if order == "K" else MetaArray(self.shape, self.dtype)

    def view(self, dtype: Any) -> "MetaArray":
        """The same memory as another data type."""
        old, new = self.itemsize, np.dtype(dtype).itemsize
        if old == new:
            return MetaArray(self.shape, dtype, self.steps, self.start, self.room)
        if self.shape[-1:] != (1,) and self.steps[-1:] != (1,):
            raise ValueError(
                "to change to a dtype of a different size, the last axis must be dense"
            )
        sizes, steps = list(self.shape), [step * old // new for step in self.steps]
        sizes[-1], steps[-1] = sizes[-1] * old // new, 1
        return MetaArray(tuple(sizes), dtype, tuple(steps), self.start * old // new, self.room)

    def reshape(self, *shape: Any, order: str = "C") -> "MetaArray":
        """The same elements in another shape, as a view if that can be."""
        return reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> "MetaArray":
        """The same memory with dimensions in another order."""
        return transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    def fill(self, value: Any) -> None:
        """Write a number everywhere: nothing to do."""


def _method(name: str) -> Any:
    """A method of arrays that is a function of the namespace."""

    def method(self: MetaArray, *args: Any, **kwargs: Any) -> Any:
        return RULES[name](self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"NumPy's {name}."
    return method


_METHODS: Final = """
    all any argmax argmin argsort clip conj conjugate cumprod cumsum diagonal dot max mean min prod
    repeat round searchsorted squeeze sum swapaxes take trace
"""
for _name in _METHODS.split():
    setattr(MetaArray, _name, _method(_name))


def shape_of(value: Any) -> Shape:
    """The shape of an array, or of what NumPy makes an array of."""
    return value.shape if isinstance(value, MetaArray) else np.shape(value)


def described(value: Any) -> MetaArray:
    """Any array, or what NumPy makes an array of, without its values."""
    if isinstance(value, MetaArray):
        return value
    array = np.asarray(value)
    strides = tuple([step // max(array.itemsize, 1) for step in array.strides])
    return MetaArray(array.shape, array.dtype, preserved(array.shape, strides))


# ---- views ----


def broadcast_to(array: Any, shape: Any) -> MetaArray:
    own, wanted = described(array), tuple(shape)
    if broadcast_shape([own.shape, wanted]) != wanted:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes {own.shape} {wanted}"
        )
    return own.seen(wanted, broadcast_strides(own.shape, own.steps, wanted))


def broadcast_arrays(*arrays: Any) -> list[MetaArray]:
    shape = broadcast_shape([shape_of(array) for array in arrays])
    return [broadcast_to(array, shape) for array in arrays]


def reshape(array: Any, shape: Any) -> MetaArray:
    own = described(array)
    wanted = fitting_shape(own.size, shape)
    steps = reshaped_strides(own.shape, own.steps, wanted)
    return MetaArray(wanted, own.dtype) if steps is None else own.seen(wanted, steps)


def transpose(array: Any, axes: Any = None) -> MetaArray:
    own = described(array)
    order = range(own.ndim)[::-1] if axes is None else normalize_axis_tuple(axes, own.ndim)
    if len(order) != own.ndim:
        raise ValueError("axes don't match array")
    steps = tuple([own.steps[i] for i in order])
    return own.seen(tuple([own.shape[i] for i in order]), steps)


def moveaxis(array: Any, source: Any, destination: Any) -> MetaArray:
    own = described(array)
    sources = normalize_axis_tuple(source, own.ndim)
    order = [i for i in range(own.ndim) if i not in sources]
    for place, axis in sorted(zip(normalize_axis_tuple(destination, own.ndim), sources)):
        order.insert(place, axis)
    return transpose(own, tuple(order))


def swapaxes(array: Any, axis1: int, axis2: int) -> MetaArray:
    own = described(array)
    order = list(range(own.ndim))
    one, other = (normalize_axis_index(axis, own.ndim) for axis in (axis1, axis2))
    order[one], order[other] = other, one
    return transpose(own, tuple(order))


def expand_dims(array: Any, axis: Any) -> MetaArray:
    own = described(array)
    new = axis if isinstance(axis, tuple) else (axis,)
    sizes = list(own.shape)
    for place in sorted(normalize_axis_tuple(new, own.ndim + len(new))):
        sizes.insert(place, 1)
    return reshape(own, sizes)


def squeeze(array: Any, axis: Any = None) -> MetaArray:
    own = described(array)
    ones = tuple(i for i, size in enumerate(own.shape) if size == 1)
    gone = ones if axis is None else normalize_axis_tuple(axis, own.ndim)
    if not set(gone) <= set(ones):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return own[tuple([0 if i in gone else slice(None) for i in range(own.ndim)])]


def flip(array: Any, axis: Any = None) -> MetaArray:
    own = described(array)
    turned = range(own.ndim) if axis is None else normalize_axis_tuple(axis, own.ndim)
    back = slice(None, None, -1)
    return own[tuple([back if i in turned else slice(None) for i in range(own.ndim)])]


def diagonal(array: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MetaArray:
    own = moveaxis(array, (axis1, axis2), (-2, -1))
    rows, columns = own.shape[-2:]
    down, right = max(-offset, 0), max(offset, 0)
    count = max(min(rows - down, columns - right), 0)
    start = down * own.steps[-2] + right * own.steps[-1] if count else 0
    steps = (*own.steps[:-2], own.steps[-2] + own.steps[-1])
    return own.seen((*own.shape[:-2], count), steps, start)
