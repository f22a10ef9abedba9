"""Along a dimension, for NumPy: sums of prefixes, places by number, triangles and degrees.

Where the wheel has a loop for it (`loops/along.h` and its neighbours) that is taken, for floats of
32 and 64 bits; all else is left to NumPy, or to the plain form in `namespace.py`.
"""

import math
from typing import Any

import numpy as np

from adjoint.backends.error_state import quiet
from adjoint.backends.loops import written
from adjoint.backends.namespace import Namespace
from adjoint.backends.products import is_large, product
from adjoint.backends.threads import helpers
from adjoint.backends.turning import in_order

_WORTH = 1_000_001  # products of two numbers for which OpenBLAS would take several threads
_TRIANGLE = 64  # rows from which a product does most of the work
_SHARED = 1 << 19  # elements of rows whose columns are worth a thread
_LINE = 16  # floats of a line of the cache
_TURN = 1024  # elements that are worth a call
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


def _loop_in_rows(name: str, *arrays: Any) -> Any:
    """The loop for floats of 32 bits whose rows lie in order; None where there is none."""
    loop = _loop(name, *arrays)
    for array in arrays:
        if array.dtype.char != "f" or not array.size or array.strides[-1:] != (4,):
            return None
    return loop


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

    def flipped(self, array: Any, axes: tuple[int, ...]) -> Any:
        loop = _loop("turned", array)
        if loop is None or array.ndim - 1 not in axes:
            return super().flipped(array, axes)
        others = tuple([axis for axis in axes if axis != array.ndim - 1])
        return loop(np.flip(array, others) if others else array)

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
        found = _joined_by_loop(name, array, index, values, axis)
        if found is None:
            return super().combined_along(name, array, index, values, axis)
        return found

    def written_along(self, array: Any, index: Any, values: Any, axis: int) -> Any:
        found = _joined_by_loop("last", array, index, values, axis)
        return super().written_along(array, index, values, axis) if found is None else found

    def added_along(self, values: Any, index: Any, axis: int, size: int) -> Any:
        out = np.zeros((*values.shape[:axis], size, *values.shape[axis + 1 :]), values.dtype)
        if _combined_by_loop("add", out, index, values, axis):
            return out
        return super().added_along(values, index, axis, size)

    def laid_along(self, values: Any, index: Any, axis: int, size: int) -> Any:
        shape = (*values.shape[:axis], size, *values.shape[axis + 1 :])
        out = np.zeros(shape, values.dtype)
        if _combined_by_loop("last", out, index, values, axis):
            return out
        return super().laid_along(values, index, axis, size)

    def combine_along(self, name: str, array: Any, index: Any, values: Any, axis: int) -> None:
        if np.may_share_memory(array, values) or np.may_share_memory(array, index):
            values, index = np.array(values), np.array(index)
        if not array.flags.carray or not _combined_by_loop(name, array, index, values, axis):
            super().combine_along(name, array, index, values, axis)

    def added_at(self, array: Any, index: Any, values: Any) -> Any:
        return self._combined_at("add", array, index, values)

    def summed_in_memory(self, values: Any, strides: Any, start: int, span: int) -> Any:
        turns = _dims_in_turn(values.shape, strides)
        count = math.prod([values.shape[d] for d in turns])
        if not values.size or values.size < _TURN * (count - 1):
            return super().summed_in_memory(values, strides, start, span)
        whole = np.zeros(span, values.dtype)
        kept = [d for d in range(values.ndim) if d not in turns]
        sizes, size = [values.shape[d] for d in kept], values.itemsize
        steps = [strides[d] * size for d in kept]
        parts, memory = values.transpose(*turns, *kept), whole.view(np.uint8)
        for place in np.ndindex(parts.shape[: len(turns)]):
            at = start + sum([n * strides[d] for n, d in zip(place, turns)])
            seen = np.ndarray(sizes, whole.dtype, memory, at * size, steps)
            np.add(seen, parts[place], out=seen)
        return whole

    def _combined_at(self, name: str, array: Any, index: Any, values: Any) -> Any:
        plain = type(index) is np.ndarray and index.dtype == np.int64 and index.ndim == 1
        if plain and array.ndim == 1 and type(values) is np.ndarray:
            loop = _loop(f"placed_{name}", array, values)
            if loop is not None and self.all_below(index, len(array)):
                return loop(index, np.broadcast_to(values, index.shape), out=np.array(array))
        new = np.array(array)
        getattr(np, name).at(new, index, values)
        return new

    def left_shift(self, array: Any, other: Any) -> Any:
        """NumPy's own, which takes five times as long where one array is repeated."""
        return _shifted("shifted_up", np.left_shift, array, other)

    def right_shift(self, array: Any, other: Any) -> Any:
        """See left_shift."""
        return _shifted("shifted_down", np.right_shift, array, other)

    def gated(self, array: Any, gate: Any) -> Any:
        loop = _loop_in_rows("gated", array, gate)
        return super().gated(array, gate) if loop is None else loop(array, gate)

    def gated_back(self, slope: Any, array: Any, gate: Any) -> Any:
        loop = _loop_in_rows("gated_back", slope, array, gate)
        if loop is None:
            return super().gated_back(slope, array, gate)
        size = gate.shape[-1]
        out = np.empty((*gate.shape[:-1], 2 * size), gate.dtype)
        loop(slope, array, gate, out=(out[..., :size], out[..., size:]))
        return out

    def log_sums(self, rows: Any) -> Any:
        loop = _loop_in_rows("log_sums", rows)
        return None if loop is None else loop(rows)

    def paths(self, log_probs: Any, labels: Any, lengths: Any, blank: int) -> Any:
        loop = _loop("paths", log_probs) if lengths.dtype == np.int64 else None
        if loop is None or not self.all_below(labels, log_probs.shape[2]):
            return None
        out = np.empty((*log_probs.shape[:2], labels.shape[1]), log_probs.dtype)
        loop(log_probs.swapaxes(0, 1), labels, lengths, blank, out=out.swapaxes(0, 1))
        return out

    def path_slopes(
        self,
        grad: Any,
        log_probs: Any,
        sums: Any,
        labels: Any,
        lengths: Any,
        target_lengths: Any,
        blank: int,
        impossible: float,
    ) -> Any:
        loop = _loop("path_slopes", log_probs, sums, grad)
        whole = lengths.dtype == np.int64 == target_lengths.dtype
        if loop is None or not whole or not self.all_below(labels, log_probs.shape[2]):
            return None
        out, kind = np.empty(log_probs.shape, log_probs.dtype), log_probs.dtype.type
        rows = log_probs.swapaxes(0, 1), sums.swapaxes(0, 1), labels, lengths, target_lengths
        loop(*rows, blank, grad, kind(impossible), out=out.swapaxes(0, 1))
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
        if loop is None or not _are_short(images, table):
            return super().window_maxima(images, table)
        found: tuple[Any, Any] = loop(images, table.astype(np.int32, copy=False))
        return found

    def window_maxima_from(
        self, images: Any, starts: Any, inner: tuple[int, ...]
    ) -> tuple[Any, Any]:
        loop = _loop("windows_apart", images)
        if loop is None or not _are_short(images, starts):
            return super().window_maxima_from(images, starts, inner)
        places = starts.astype(np.int32, copy=False), np.array(inner, np.int32)
        found: tuple[Any, Any] = loop(images, *places)
        return found

    def pooled_sums(self, images: Any, layout: Any) -> Any:
        counts = layout.counts(images.shape[2:])
        return _pooled("pooled", images, counts, layout)

    def pooled_back(self, sums: Any, sizes: Any, layout: Any) -> Any:
        return _pooled("pooled_back", sums, sizes, layout)

    def firsts_of_runs(self, row: Any) -> Any:
        loop = written("runs") if row.dtype == np.int64 else None
        if loop is None:
            return None
        if not row.size:
            return row.copy()
        found, count = loop(row)
        return found[:count].copy()

    def rows_added(self, array: Any, index: Any, rows: Any) -> Any:
        loop = _loop("rows_add", array, rows) if index.dtype == np.int64 else None
        if loop is None or not self.all_below(index, len(array)):
            return super().rows_added(array, index, rows)
        out = in_order(array)
        _take_rows(loop, index, rows, out)
        return out

    def matched_rows(self, table: Any, numbers: Any, rows: Any) -> Any:
        loop = _loop("matched", table, rows) if numbers.dtype == np.int64 else None
        if loop is None or not self.all_below(numbers, len(table)):
            return super().matched_rows(table, numbers, rows)
        return loop(np.ascontiguousarray(table), numbers, np.ascontiguousarray(rows))

    def solved_triangle(self, matrix: Any, side: Any, upper: bool, unit: bool) -> Any:
        loop = _loop("unit_triangle" if unit else "triangle", matrix, side)
        if loop is None:
            if unit or np.all(np.diagonal(matrix, axis1=-2, axis2=-1)):
                return super().solved_triangle(matrix, side, upper, unit)
            return _substituted(*self.in_one_batch(matrix, side), upper)
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


def _substituted(matrix: Any, side: Any, upper: bool) -> Any:
    """The solution row by row, infinite or NaN from where a triangle is singular."""
    out = side.astype(np.result_type(matrix, side))
    rows = range(side.shape[-2])
    with quiet():
        for row in reversed(rows) if upper else rows:
            known = slice(row + 1, None) if upper else slice(row)
            at = slice(row, row + 1)
            out[..., at, :] -= matrix[..., at, known] @ out[..., known, :]
            out[..., at, :] /= matrix[..., at, at]
    return out


def _pooled(name: str, array: Any, sizes: Any, layout: Any) -> Any:
    """Sums of windows, or their gradient, by a loop for images and lines; None for all else."""
    loop = _loop_in_rows(name, array)
    if loop is None or array.ndim > 4:
        return None
    lines = 4 - array.ndim  # are planes of one row
    numbers = [
        *[1] * lines, *layout.kernel,
        *[1] * lines, *layout.stride,
        *[0] * lines, *[before for before, _ in layout.padding],
    ]  # fmt: skip
    lead, one = array.shape[:2], (1,) * lines
    out = np.empty((*lead, *one, *sizes), array.dtype)
    loop(array.reshape(*lead, *one, *array.shape[2:]), np.array(numbers), out=out)
    return out.reshape(*lead, *sizes)


def _shifted(name: str, function: Any, array: Any, other: Any) -> Any:
    """Whole numbers moved by places, rows of one number each by a loop, or by NumPy's function."""
    loop = written(name)
    for given in (array, other):
        if type(given) is not np.ndarray or given.dtype != np.int64 or not given.ndim:
            return function(array, other)
    if loop is None or other.shape[-1] != 1 or array.shape[-1] == 1:
        return function(array, other)
    return loop(array, other[..., 0])


def _running(name: str, function: Any, array: Any, axis: Any, dtype: Any) -> Any:
    """Prefixes of an array, joined by a loop, or by NumPy's function."""
    loop = None if axis is None else _loop(name, array)
    if loop is None or dtype not in (None, array.dtype):
        return function(array, axis=axis, dtype=dtype)
    return loop(array, axis=axis, out=np.empty(array.shape, array.dtype))


def _dims_in_turn(sizes: Any, strides: Any) -> list[int]:
    """The dimensions of a pattern without which no two of its elements lie in one place."""
    turns: list[int] = []
    apart: list[int] = []
    for d in sorted(range(len(sizes)), key=lambda d: strides[d]):
        if sizes[d] == 1:
            continue
        if strides[d] > sum([strides[e] * (sizes[e] - 1) for e in apart]):
            apart.append(d)
        elif apart and sizes[apart[-1]] < sizes[d]:  # the fewer turns
            turns.append(apart.pop())
            apart.append(d)
        else:
            turns.append(d)
    return turns


def _are_short(images: Any, table: Any) -> bool:
    """Whether places in images fit 32 bits, and there are windows to look at."""
    return bool(0 < images.shape[-1] < 1 << 31 and table.size)


def _joined_by_loop(name: str, array: Any, index: Any, values: Any, axis: int) -> Any:
    """A copy of an array with values taken in; None without a loop for it."""
    if _loop(f"placed_{name}", array, values) is None:
        return None
    out = np.array(array, order="C")
    return out if _combined_by_loop(name, out, index, values, axis) else None


def _combined_by_loop(name: str, out: Any, index: Any, values: Any, axis: int) -> bool:
    """Take values into an array that lies in order; False, and nothing is done, without a loop.

    The loops read what they write to: it must be of their type, and share nothing with the values.
    """
    loop = _loop(f"placed_{name}", out, values) if index.dtype == np.int64 else None
    if loop is None:
        return False
    of_rows = written(f"rows_{name}") if axis == 0 and _is_of_rows(index) else None
    if of_rows is not None:
        numbers = index[(slice(None), *[0] * (index.ndim - 1))]
        rows, sums = values.reshape(len(values), -1), out.reshape(len(out), -1)
        if rows.shape[1] == sums.shape[1]:
            _take_rows(of_rows, numbers, rows, sums)
            return True
    if out[_corner(index.shape, axis)].shape != out.shape:
        return False
    loop(index, values, axes=[axis] * 3, out=out)
    return True


def _take_rows(loop: Any, numbers: Any, rows: Any, out: Any) -> None:
    """Take rows into those of a matrix by a loop; two may meet in one, so threads share columns."""
    width = math.prod(rows.shape[1:])
    step = -(-width // (_LINE * helpers.allowed)) * _LINE
    rows, out = rows.reshape(len(rows), width), out.reshape(len(out), width)
    if helpers.allowed < 2 or rows.size < _SHARED or step >= width:
        loop(numbers, rows, out=out)
        return
    whole = width // step * step
    parts = [x[:, :whole].reshape(len(x), -1, step).swapaxes(0, 1) for x in (rows, out)]
    loop(numbers, parts[0], out=parts[1])
    if whole < width:
        loop(numbers, rows[:, whole:], out=out[:, whole:])


def _corner(sizes: Any, axis: int) -> tuple[slice, ...]:
    """The part of an array that an index of these sizes along an axis reads or writes."""
    return tuple([slice(None if d == axis else n) for d, n in enumerate(sizes)])


def _is_of_rows(index: Any) -> bool:
    """Whether an index along the first axis is the same for all elements of a row."""
    return index.ndim > 1 and index.size > 0 and not any(index.strides[1:])


def step_product(array: Any, other: Any) -> Any:
    """array @ other; BLAS would wake threads of its own for these, and they are soon done."""
    if array.ndim == 2 == other.ndim and is_large(array, other, _WORTH):
        return product(array, other)
    return np.matmul(array, other)


def _solve_lower(loop: Any, matrix: Any, side: Any, out: Any) -> None:
    """Half of the rows first, then the others without what those take of the right side."""
    count = matrix.shape[-1]
    if count <= _TRIANGLE:
        loop(matrix, side, out=out)
        return
    half = count // 2
    first = out[..., :half, :]
    _solve_lower(loop, matrix[..., :half, :half], side[..., :half, :], first)
    rest = side[..., half:, :] - step_product(matrix[..., half:, :half], first)
    _solve_lower(loop, matrix[..., half:, half:], rest, out[..., half:, :])
