"""What NumPy's functions make of arrays without values.

There is one rule for each family of the names in `namespace.py`. Data types are NumPy's answers to
arrays without elements; shapes are arithmetic; strides are in `layouts.py`. No work depends on how
many elements there are.
"""

import functools
import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from adjoint.backends import NoValuesError
from adjoint.backends.layouts import Shape, alike, broadcast_shape, is_dense
from adjoint.backends.meta_array import (
    RULES,
    MetaArray,
    broadcast_arrays,
    broadcast_to,
    described,
    diagonal,
    expand_dims,
    flip,
    moveaxis,
    reshape,
    shape_of,
    squeeze,
    swapaxes,
    transpose,
)
from adjoint.backends.namespace import ELEMENTWISE, REDUCTIONS

INDEX = np.dtype("int64")


# ---- operands ----


@functools.lru_cache(maxsize=256)
def without_elements(dtype: Any) -> Any:
    """An array of a data type that NumPy's functions take, in no time."""
    return np.empty(0, dtype)


def is_array(value: Any) -> bool:
    """Whether a value has a shape and a data type of its own."""
    return isinstance(value, (MetaArray, np.ndarray, np.generic))


def _kind_of(*values: Any) -> Any:
    """The data type that values have together."""
    return np.result_type(*[without_elements(v.dtype) if is_array(v) else v for v in values])


def _batched(*arrays: MetaArray, core: int = 2) -> tuple[Shape, list[Any]]:
    """The shape of a batch of matrices, and the same without any in it, which NumPy can work on."""
    batch = broadcast_shape([array.shape[: array.ndim - core] for array in arrays])
    return batch, [np.empty((0, *a.shape[a.ndim - core :]), a.dtype) for a in arrays]


def _of_batch(batch: Shape, found: Any) -> Any:
    """What NumPy answered to a batch without matrices, for one that has them."""
    if isinstance(found, tuple):
        answers = [_of_batch(batch, each) for each in found]
        return type(found)(*answers) if hasattr(found, "_fields") else tuple(answers)
    return MetaArray((*batch, *found.shape[1:]), found.dtype)


# ---- elements ----


def elementwise(function: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    """An elementwise function: shapes broadcast, the order in memory is that of the arguments."""
    arrays = [described(value) for value in args if is_array(value)]
    small = [without_elements(a.dtype) if is_array(a) else a for a in args]
    found = function(*small, **kwargs)
    shape = broadcast_shape([array.shape for array in arrays])
    steps = alike(shape, *[(a.shape, a.steps) for a in arrays if a.ndim])
    if isinstance(found, tuple) and out is None:
        return tuple(MetaArray(shape, each.dtype, steps) for each in found)
    if isinstance(out, tuple):
        (out,) = out
    made = MetaArray(shape, found.dtype, steps)
    return made if out is None else out.in_place_of(made)


def where(condition: Any, *choices: Any) -> Any:
    """NumPy's choice between two; of one argument, places that depend on values."""
    if not choices:
        raise NoValuesError
    return elementwise(np.where, condition, *choices)


def vectorize(function: Any, otypes: Any) -> Any:
    """A function of numbers as one of arrays."""
    return functools.partial(elementwise, np.vectorize(function, otypes=otypes))


# ---- reductions ----


def _shrunk(array: MetaArray) -> Any:
    """Zeros with one element along each dimension that has any: NumPy complains as it would."""
    return np.zeros([min(size, 1) for size in array.shape], array.dtype)


def reduction(
    function: Any, array: Any, axis: Any = None, *args: Any, keepdims: Any = False, **kwargs: Any
) -> Any:
    """A function of all elements along some dimensions, which are gone or of size one then."""
    array = described(array)
    kwargs.pop("out", None)
    kind = np.asarray(function(_shrunk(array), axis, *args, **kwargs)).dtype
    gone = range(array.ndim) if axis is None else normalize_axis_tuple(axis, array.ndim)
    sizes = tuple([1 if i in gone else size for i, size in enumerate(array.shape)])
    made = MetaArray(sizes, kind, alike(sizes, (sizes, array.steps)))
    return made if keepdims else squeeze(made, tuple(gone))


def scan(function: Any, array: Any, axis: Any = None, **kwargs: Any) -> Any:
    """A function of all elements up to each, along a dimension or all."""
    array = described(array)
    kwargs.pop("out", None)
    kind = function(_shrunk(array), axis, **kwargs).dtype
    if axis is None:
        return MetaArray((array.size,), kind)
    return MetaArray(array.shape, kind, alike(array.shape, (array.shape, array.steps)))


def trace(array: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum of a diagonal."""
    return reduction(np.sum, diagonal(array, offset, axis1, axis2), -1, dtype=dtype)


def unknown(*args: Any, **kwargs: Any) -> Any:
    """A function whose result has a shape that depends on values."""
    raise NoValuesError("the shape of the result depends on values")


# ---- other shapes ----


def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> MetaArray:
    parts = [described(array) for array in arrays]
    if axis is None:
        parts, axis = [reshape(part, -1) for part in parts], 0
    axis = normalize_axis_index(axis, max(part.ndim for part in parts))
    small = [np.empty((*p.shape[:axis], 0, *p.shape[axis + 1 :]), p.dtype) for p in parts]
    found = np.concatenate(small, axis, dtype=dtype)
    sizes = list(found.shape)
    sizes[axis] = sum(part.shape[axis] for part in parts)
    shape = tuple(sizes)
    steps = [tuple([0 if n == 1 else s for n, s in zip(p.shape, p.steps)]) for p in parts]
    return MetaArray(shape, found.dtype, alike(shape, *[(shape, each) for each in steps]))


def stack(arrays: Any, axis: int = 0) -> MetaArray:
    parts = [described(array) for array in arrays]
    if len({part.shape for part in parts}) > 1:
        raise ValueError("all input arrays must have the same shape")
    return concatenate([expand_dims(part, axis) for part in parts], axis)


def tile(array: Any, reps: Any) -> MetaArray:
    array = described(array)
    times = (reps,) if isinstance(reps, int) else tuple(reps)
    rank = max(len(times), array.ndim)
    times = (1,) * (rank - len(times)) + times
    sizes = (1,) * (rank - array.ndim) + array.shape
    return MetaArray(tuple([n * size for n, size in zip(times, sizes)]), array.dtype)


def repeat(array: Any, repeats: Any, axis: Any = None) -> MetaArray:
    array = described(array)
    if isinstance(repeats, MetaArray):
        raise NoValuesError("the shape of the result depends on values")
    if axis is None:
        array, axis = reshape(array, -1), 0
    sizes, counts = list(array.shape), np.asarray(repeats)
    sizes[axis] = int(np.broadcast_to(counts, sizes[axis]).sum())
    return MetaArray(tuple(sizes), array.dtype)


def pad(array: Any, pad_width: Any, mode: str = "constant", **values: Any) -> MetaArray:
    array = described(array)
    widths = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    sizes = [size + before + after for size, (before, after) in zip(array.shape, widths)]
    return MetaArray(tuple(sizes), array.dtype)


def roll(array: Any, shift: Any, axis: Any = None) -> MetaArray:
    return described(array).astype(array.dtype)


# ---- searches and products ----


def sorted_places(array: Any, axis: Any = -1, **kwargs: Any) -> MetaArray:
    """argsort and argpartition: as many places as elements."""
    array = described(array)
    if axis is None:
        return MetaArray((array.size,), INDEX)
    normalize_axis_index(axis, array.ndim)
    return MetaArray(array.shape, INDEX)


def argpartition(array: Any, kth: Any, axis: int = -1) -> MetaArray:
    return sorted_places(array, axis)


def searchsorted(array: Any, values: Any, side: str = "left", sorter: Any = None) -> MetaArray:
    return MetaArray(shape_of(values), INDEX)


def isin(elements: Any, test_elements: Any, **kwargs: Any) -> MetaArray:
    return MetaArray(shape_of(elements), np.bool_)


def take(array: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> MetaArray:
    array = described(array)
    if axis is None:
        array, axis = reshape(array, -1), 0
    axis = normalize_axis_index(axis, array.ndim)
    shape = (*array.shape[:axis], *shape_of(indices), *array.shape[axis + 1 :])
    return MetaArray(shape, array.dtype)


def take_along_axis(array: Any, indices: Any, axis: int) -> MetaArray:
    array, indices = described(array), described(indices)
    axis = normalize_axis_index(axis, array.ndim)
    sizes = list(array.shape)
    sizes[axis] = 1
    sizes = list(broadcast_shape([tuple(sizes), indices.shape]))
    sizes[axis] = indices.shape[axis]
    return MetaArray(tuple(sizes), array.dtype)


def matmul(array: Any, other: Any, out: Any = None) -> Any:
    """NumPy's product, in the type of its factors."""
    array, other = described(array), described(other)
    if not (array.ndim and other.ndim):
        raise ValueError("matmul: Input operand does not have enough dimensions")
    left = array if array.ndim > 1 else array[None]
    right = other if other.ndim > 1 else other[:, None]
    batch, small = _batched(left, right)
    made = _of_batch(batch, np.matmul(*small))
    if array.dtype == other.dtype:
        made = made.astype(array.dtype)
    made = made if array.ndim > 1 else made[..., 0, :]
    made = made if other.ndim > 1 else made[..., 0]
    return made if out is None else out.in_place_of(made)


def dot(array: Any, other: Any) -> Any:
    array, other = described(array), described(other)
    if not (array.ndim and other.ndim):
        return elementwise(np.multiply, array, other)
    if other.ndim > 2:
        other = moveaxis(other, -2, 0)
        rest = other.shape[1:]
        return reshape(matmul(array, reshape(other, (other.shape[0], -1))), array.shape[:-1] + rest)
    return matmul(array, other)


def cross(array: Any, other: Any, axis: int = -1) -> Any:
    made = elementwise(np.multiply, described(array), described(other))
    return moveaxis(moveaxis(made, axis, -1).copy(), -1, axis)


# ---- new arrays ----


def new(shape: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> MetaArray:
    """empty, zeros and ones."""
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return MetaArray(tuple([n.__index__() for n in sizes]), float if dtype is None else dtype)


def full(shape: Any, value: Any, dtype: Any = None) -> MetaArray:
    return new(shape, np.asarray(value).dtype if dtype is None else dtype)


def new_like(array: Any, dtype: Any = None, order: str = "K", shape: Any = None) -> MetaArray:
    """empty_like, zeros_like and ones_like."""
    like = described(array)
    return like.astype(like.dtype if dtype is None else dtype)


def full_like(array: Any, value: Any, dtype: Any = None) -> MetaArray:
    return new_like(array, dtype)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> MetaArray:
    first, last = (0, start) if stop is None else (start, stop)
    kind = _kind_of(first, last, step) if dtype is None else dtype
    return MetaArray((max(math.ceil((last - first) / step), 0),), kind)


def linspace(start: Any, stop: Any, num: int = 50, dtype: Any = None) -> MetaArray:
    shape = broadcast_shape([shape_of(start), shape_of(stop)])
    return MetaArray((num, *shape), _kind_of(start, stop, 1.0) if dtype is None else dtype)


def eye(rows: int, columns: int | None = None, k: int = 0, dtype: Any = float) -> MetaArray:
    return new((rows, rows if columns is None else columns), dtype)


def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> list[MetaArray]:
    rank = len(arrays)
    along = [1, 0, *range(2, rank)] if indexing == "xy" and rank > 1 else list(range(rank))
    lines = [
        reshape(array, [-1 if i == place else 1 for i in range(rank)])
        for array, place in zip(arrays, along)
    ]
    return lines if sparse else [each.copy() for each in broadcast_arrays(*lines)]


def triangle(array: Any, k: int = 0) -> MetaArray:
    """tril and triu."""
    array = described(array)
    return MetaArray(array.shape if array.ndim > 1 else array.shape * 2, array.dtype)


def asarray(value: Any, dtype: Any = None) -> MetaArray:
    array = described(value)
    return array if dtype is None or array.dtype == dtype else array.astype(dtype)


def array(value: Any, dtype: Any = None, order: str = "K", copy: bool = True) -> MetaArray:
    like = described(value)
    made = like.astype(like.dtype if dtype is None else dtype)
    return made.copy() if order == "C" else made


def ascontiguousarray(value: Any, dtype: Any = None) -> MetaArray:
    array = asarray(value, dtype)
    return array if is_dense(array.shape, array.steps) else array.copy()


# ---- modules of NumPy ----


def linear_algebra(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of np.linalg, of a batch that has no matrices: the shapes are NumPy's own."""
    matrices = [described(arg) for arg in args if is_array(arg)]
    if any(matrix.ndim < 2 for matrix in matrices):
        raise np.linalg.LinAlgError("arrays must be at least two-dimensional")
    batch, small = _batched(*matrices)
    return _of_batch(batch, function(*small, *args[len(small) :], **kwargs))


def fourier(
    function: Any, array: Any, s: Any = None, axes: Any = None, norm: Any = None
) -> MetaArray:
    """A function of np.fft: sizes as asked for, a half of what is real on the other side."""
    array = described(array)
    name = function.__name__
    dims = range(array.ndim)[-len(s or array.shape) :] if axes is None else axes
    sizes = list(array.shape)
    wanted = [sizes[dim] for dim in dims] if s is None else list(s)
    if name == "irfftn" and s is None:
        wanted[-1] = 2 * (wanted[-1] - 1)
    if name == "rfftn":
        wanted[-1] = wanted[-1] // 2 + 1
    for dim, size in zip(dims, wanted):
        sizes[dim] = size
    kind = function(np.zeros((2,) * len(dims), array.dtype), norm=norm).dtype
    return MetaArray(tuple(sizes), kind)


# ---- the namespace ----


def ruled(rule: Any, names: Any, library: Any = np) -> dict[str, Any]:
    """A rule for each of some functions, which it gets first."""
    return {name: functools.partial(rule, getattr(library, name)) for name in names}


def _named(*functions: Any) -> dict[str, Any]:
    return {function.__name__: function for function in functions}


_NEW = dict.fromkeys(("empty", "ones", "zeros"), new)
_LIKE = dict.fromkeys(("empty_like", "ones_like", "zeros_like"), new_like)
_CREATION = _named(arange, array, asarray, ascontiguousarray, eye, full, full_like, linspace)
_TRIANGLES = dict.fromkeys(("tril", "triu"), triangle)
_VIEWS = _named(
    broadcast_arrays, broadcast_to, diagonal, expand_dims, flip, moveaxis, reshape, squeeze,
    swapaxes, transpose,
)  # fmt: skip
_COPIES = _named(concatenate, meshgrid, pad, repeat, roll, stack, tile)
_SEARCHES = {
    **dict.fromkeys(("bincount", "nonzero", "unique"), unknown),
    "argsort": sorted_places,
    **_named(argpartition, isin, searchsorted, take, take_along_axis),
}

RULES.update(
    {
        **ruled(elementwise, [*ELEMENTWISE.split(), "conj", "i0"]),
        **ruled(reduction, [*REDUCTIONS.split(), "min", "mean"]),
        **ruled(scan, ("cumprod", "cumsum")),
        "real": lambda array: described(array).real,
        "imag": lambda array: described(array).imag,
        **_named(where, vectorize, trace, cross, dot, matmul),
        **_NEW, **_LIKE, **_CREATION, **_TRIANGLES, **_VIEWS, **_COPIES, **_SEARCHES,
        "ufunc.__call__": lambda ufunc, *args, **named: (
            elementwise(ufunc, *args, **named) if ufunc.signature is None else matmul(*args)
        ),
    }
)  # fmt: skip
