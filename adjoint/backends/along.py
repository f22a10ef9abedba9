"""Along a dimension, for NumPy: sums of prefixes, places by number, triangles and degrees.

Where the wheel has a loop for it (`loops/along.h` and its neighbours) that is taken, for floats of
32 and 64 bits; all else is left to NumPy, or to the plain form in `namespace.py`.
"""

from typing import Any

import numpy as np

from adjoint.backends.loops import written
from adjoint.backends.namespace import Namespace

_TRIANGLE = 64  # rows from which a product does most of the work
_DEGREE = 64  # from which polynomials are not found one after another


def _loop(name: str, *arrays: Any) -> Any:
    """The loop for these arrays; None where there is none, or one of them is of another type."""
    kind = arrays[0].dtype
    if kind.char not in "fd":
        return None
    for array in arrays:
        if type(array) is not np.ndarray or array.dtype != kind:
            return None
    return written(name)


class AlongKernels(Namespace):
    """What NumPy's namespace answers about one dimension."""

    def cumsum(self, array: Any, axis: Any = None, dtype: Any = None) -> Any:
        """NumPy's own, which sums one row after another."""
        return _running("running_sum", np.cumsum, array, axis, dtype)

    def cumprod(self, array: Any, axis: Any = None, dtype: Any = None) -> Any:
        """See cumsum."""
        return _running("running_product", np.cumprod, array, axis, dtype)

    def running(self, combine: Any, array: Any, axis: int) -> Any:
        loop = _loop("running_logaddexp", array) if combine is self.logaddexp else None
        if loop is not None:
            return loop(array, axis=axis, out=np.empty(array.shape, array.dtype))
        if isinstance(combine, np.ufunc):
            return combine.accumulate(array, axis=axis)
        return super().running(combine, array, axis)

    def running_extreme(self, array: Any, axis: int, greatest: bool) -> tuple[Any, Any]:
        loop = _loop("running_greatest" if greatest else "running_least", array)
        if loop is None:
            return super().running_extreme(array, axis, greatest)
        values, places = np.empty(array.shape, array.dtype), np.empty(array.shape, np.int64)
        loop(array, axis=axis, out=(values, places))
        return values, places

    def recurrence(self, array: Any, factor: Any, axis: int, step: int) -> Any:
        loop = _loop("recurrence", array, factor)
        if loop is None or array.shape != factor.shape:
            return super().recurrence(array, factor, axis, step)
        out = np.empty(array.shape, array.dtype)
        turned = (*[slice(None)] * axis, slice(None, None, step))
        loop(array[turned], factor[turned], axis=axis, out=out[turned])
        return out

    def picked_along(self, array: Any, index: Any, axis: int) -> Any:
        loop = _loop("picked", array) if index.dtype == np.int64 else None
        if loop is None:
            return super().picked_along(array, index, axis)
        part = array[_corner(index.shape, axis)]
        if axis == 0 and _is_of_rows(index):
            return np.take(part, index[(slice(None), *[0] * (index.ndim - 1))], axis=0)
        out = np.empty(index.shape, array.dtype)
        return loop(part, index, axes=[axis] * 3, out=out)

    def take_along_axis(self, array: Any, indices: Any, axis: int) -> Any:
        """NumPy's own, which makes an index of all dimensions first."""
        plain = axis is not None and type(indices) is np.ndarray and indices.dtype == np.int64
        if plain and indices.ndim == array.ndim and indices.size:
            place = axis % array.ndim
            sizes = (*array.shape[:place], indices.shape[place], *array.shape[place + 1 :])
            if sizes == indices.shape and self.all_below(indices, array.shape[place]):
                return self.picked_along(array, indices, place)
        return np.take_along_axis(array, indices, axis)

    def combined_along(self, name: str, array: Any, index: Any, values: Any, axis: int) -> Any:
        loop = _loop(f"placed_{name}", array, values) if index.dtype == np.int64 else None
        if loop is not None and axis == 0 and _is_of_rows(index):
            rows = written(f"rows_{name}")
            numbers = index[(slice(None), *[0] * (index.ndim - 1))]
            wide = (array.reshape(len(array), -1), numbers, values.reshape(len(values), -1))
            if wide[0].shape[1] == wide[2].shape[1]:
                return rows(*wide).reshape(array.shape)
        part = _corner(index.shape, axis)
        if loop is None or array[part].shape != array.shape:
            return super().combined_along(name, array, index, values, axis)
        out = np.empty(array.shape, array.dtype)
        return loop(array, index, values, axes=[axis] * 4, out=out)

    def added_at(self, array: Any, index: Any, values: Any) -> Any:
        return self._combined_at("add", array, index, values)

    def _combined_at(self, name: str, array: Any, index: Any, values: Any) -> Any:
        plain = type(index) is np.ndarray and index.dtype == np.int64 and index.ndim == 1
        if plain and array.ndim == 1 and type(values) is np.ndarray:
            loop = _loop(f"placed_{name}", array, values)
            if loop is not None and self.all_below(index, len(array)):
                return loop(array, index, np.broadcast_to(values, index.shape))
        new = np.array(array)
        getattr(np, name).at(new, index, values)
        return new

    def paths(self, emitted: Any, jumps: Any, lengths: Any) -> Any:
        loop = _loop("paths", emitted) if lengths.dtype == np.int64 else None
        if loop is None:
            return None
        out = np.empty(emitted.shape, emitted.dtype)
        turned = emitted.swapaxes(0, 1), jumps.astype(emitted.dtype), lengths
        loop(*turned, out=out.swapaxes(0, 1))
        return out

    def mean_class_losses(self, rows: Any, target: Any, ignored: int) -> Any:
        loop = _loop("class_losses", rows)
        if loop is None or target.dtype != np.int64 or not self.all_below(target, rows.shape[1]):
            return None
        if ignored >= 0 and np.any(target == ignored):
            return None
        count = rows.dtype.type(len(rows))
        losses, slope = loop(np.ascontiguousarray(rows), target, 1 / count)
        return np.asarray(self.total(losses) / count), slope

    def has_loop(self, name: str, array: Any) -> bool:
        return _loop(name, array) is not None

    def window_maxima(self, images: Any, table: Any) -> tuple[Any, Any]:
        loop = _loop("windows", images)
        if loop is None:
            return super().window_maxima(images, table)
        found: tuple[Any, Any] = loop(images, table)
        return found

    def rows_added(self, array: Any, index: Any, rows: Any) -> Any:
        loop = _loop("rows_add", array, rows) if index.dtype == np.int64 else None
        if loop is None or not self.all_below(index, len(array)):
            return super().rows_added(array, index, rows)
        return loop(array, index, rows)

    def solved_triangle(self, matrix: Any, side: Any, upper: bool, unit: bool) -> Any:
        loop = _loop("unit_triangle" if unit else "triangle", matrix, side)
        if loop is None or not (unit or np.all(np.diagonal(matrix, axis1=-2, axis2=-1))):
            return super().solved_triangle(matrix, side, upper, unit)
        batch = np.broadcast_shapes(matrix.shape[:-2], side.shape[:-2])
        out = np.empty((*batch, *side.shape[-2:]), side.dtype)
        if upper:  # read from its end it is a lower one
            matrix, side = matrix[..., ::-1, ::-1], side[..., ::-1, :]
            _solve_lower(loop, matrix, side, out[..., ::-1, :])
        else:
            _solve_lower(loop, matrix, side, out)
        return out

    def polynomial(self, name: str, place: Any, degree: Any, *more: float) -> Any:
        loop = _loop(name, place, degree)
        if loop is None or not degree.size or not np.max(degree) < _DEGREE:
            return None
        return loop(place, degree, *more)


def _running(name: str, function: Any, array: Any, axis: Any, dtype: Any) -> Any:
    """Prefixes of an array, joined by a loop, or by NumPy's function."""
    loop = None if axis is None else _loop(name, array)
    if loop is None or dtype not in (None, array.dtype):
        return function(array, axis=axis, dtype=dtype)
    return loop(array, axis=axis, out=np.empty(array.shape, array.dtype))


def _corner(sizes: Any, axis: int) -> tuple[slice, ...]:
    """The part of an array that an index of these sizes along an axis reads or writes."""
    return tuple([slice(None if d == axis else n) for d, n in enumerate(sizes)])


def _is_of_rows(index: Any) -> bool:
    """Whether an index along the first axis is the same for all elements of a row."""
    return index.ndim > 1 and index.size > 0 and not any(index.strides[1:])


def _solve_lower(loop: Any, matrix: Any, side: Any, out: Any) -> None:
    """Half of the rows first, then the others without what those take of the right side."""
    count = matrix.shape[-1]
    if count <= _TRIANGLE:
        loop(matrix, side, out=out)
        return
    half = count // 2
    first = out[..., :half, :]
    _solve_lower(loop, matrix[..., :half, :half], side[..., :half, :], first)
    rest = side[..., half:, :] - np.matmul(matrix[..., half:, :half], first)
    _solve_lower(loop, matrix[..., half:, half:], rest, out[..., half:, :])
