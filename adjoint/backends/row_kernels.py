"""Rows of matrices for NumPy: their distances, norms, ranks and sums, by algorithms that suit it.

SciPy's sparse products and LAPACK are taken where it is installed.
"""

import functools
import math
from typing import Any

import numpy as np

from adjoint.backends import standardizing
from adjoint.backends.error_state import quiet
from adjoint.backends.linear_algebra import (
    ALONE,
    PANEL,
    PANELS,
    by_columns,
    factored_by_panels,
    lapack_function,
)
from adjoint.backends.loops import written
from adjoint.backends.namespace import Namespace
from adjoint.backends.shared_rows import by_rows
from adjoint.backends.threads import LEAST, row_parts, shared
from adjoint.backends.turning import in_order

BLOCK = 1 << 16  # elements of differences at a time
_NEAR = 0.01  # of two squared lengths, below which that of the difference is not their difference
_MOSTLY = 0.05  # of all pairs are so near that to subtract all takes less time
_SIDE = 64  # rows whose differences from all that follow are taken together
_FEW = 4  # eigenvalues, for whose gradients as many equations take less than all eigenvalues
_LARGE = 64  # rows from which that is so
_FOLDED = 1 << 15  # elements from which a loop is taken: threads share it
_SUMMED = 128  # rows of columns that are summed together
_PARTS = 8  # of numbers that are joined
_CALLED = 32  # rows from which a matrix is worth a call of its own
_MANY = 1 << 14  # elements of which one of some rank is found by a sample
_SAMPLE = 1024
_MARGIN = 64  # places of the sample: four times what chance moves its middle by
_BITS = {4: np.int32, 8: np.int64}  # by the size of an element
_HALVES = "eE"  # the letters of float16 and bfloat16


@functools.cache
def _sparse_library() -> Any:
    """SciPy's sparse matrices, whose products take a tenth of the time; None without SciPy."""
    try:
        import scipy.sparse
    except ImportError:
        return None
    return scipy.sparse


def _symmetric_function(symmetric: str, hermitian: str, array: Any, conjugate: bool) -> Any:
    """LAPACK's function for symmetric or Hermitian matrices of a type; None without SciPy."""
    return lapack_function(hermitian if conjugate and array.dtype.kind == "c" else symmetric, array)


def _are_blocks(pivots: Any) -> bool:
    """Whether pivots are of rows that there are, and those of blocks of two come in pairs.

    LAPACK does not ask, and would read beyond its memory.
    """
    size = pivots.shape[-1]
    if not np.all((pivots != 0) & (np.abs(pivots) <= size)):
        return False
    paired = np.zeros((*pivots.shape[:-1], size + 2), np.int8)
    paired[..., 1:-1] = pivots < 0
    return all(
        not np.any(np.diff(np.flatnonzero(np.diff(row)))[::2] % 2)
        for row in paired.reshape(-1, size + 2)
    )


def _weights_of_rows(numbers: Any, weights: Any, count: int) -> Any:
    """A sparse matrix that takes sums of some of `count` rows; None where there can be none."""
    library = _sparse_library() if weights.dtype.char in "fdFD" else None
    if library is None:
        return None
    each = numbers.shape[1]
    starts = np.arange(0, numbers.size + 1, each)
    parts = (weights.reshape(-1), numbers.reshape(-1), starts)
    return library.csr_array(parts, shape=(len(numbers), count))


def _value_of_rank(array: Any, rank: int) -> Any:
    """The element of a rank among many, as an array of one; None where they must be parted.

    A sample of them says between which two it lies, and only those in between are parted.
    """
    count = len(array)
    if count < _MANY or array.dtype.char not in "fd":
        return None
    sample = np.sort(array[:: count // _SAMPLE])
    at = rank * len(sample) // count
    low, high = sample[max(at - _MARGIN, 0)], sample[min(at + _MARGIN, len(sample) - 1)]
    within = ((array >= low) & (array <= high)).nonzero()[0]
    place = rank - np.count_nonzero(array < low)
    if not 0 <= place < len(within):  # or some are NaN
        return None
    return np.partition(array.take(within), place)[place : place + 1]


def _loop_for_rows(name: str, rows: Any, numbers: Any, weights: Any) -> Any:
    """The loop for rows by number and their weights; None where there is none for these types."""
    fits = rows.dtype.char in "fd" and rows.dtype == weights.dtype and numbers.dtype == np.int64
    return written(name) if fits else None


def _spaced(products: Any, lengths: Any, others: Any) -> tuple[Any, Any]:
    """Distances from products of rows and squared lengths, and which are too near for that."""
    loop = written("spaced") if products.dtype.char == "f" and products.size else None
    if loop is not None:
        found: tuple[Any, Any] = loop(products, lengths, others[..., None, :])
        return found
    both = lengths[..., :, None] + others[..., None, :]
    squares = both - 2 * products
    near = ~(squares >= both * _NEAR)  # or infinite, which has no difference
    return np.sqrt(squares), near


def _all_gaps(loop: Any, array: Any, other: Any) -> Any:
    """The squared lengths of all differences of rows; of a matrix with itself, each once."""
    rows, others = np.ascontiguousarray(array), np.ascontiguousarray(other)
    if array is not other:
        return loop(rows, others)
    count = rows.shape[-2]
    out = np.empty((*rows.shape[:-1], count), rows.dtype)
    for start in range(0, count, _SIDE):
        part, rest = slice(start, start + _SIDE), slice(start + _SIDE, None)
        loop(rows[..., part, :], rows[..., start:, :], out=out[..., part, start:])
        out[..., rest, part] = out[..., part, rest].swapaxes(-2, -1)
    return out


@functools.lru_cache(maxsize=256)
def shared_ones(shape: tuple[int, ...], kind: str) -> Any:
    """Ones to multiply with; shared, so never written to."""
    return np.ones(shape, kind)


def _fold(name: str, array: Any, kinds: str) -> Any:
    """The loop that joins rows, or columns, of floats in order; None where there is none."""
    fits = array.dtype.char in kinds and array.flags.c_contiguous
    return written(name) if fits else None


def _joined_by_parts(loop: Any, numbers: Any) -> Any:
    """What a loop makes of a vector, of many numbers by parts, for threads to share."""
    if numbers.size < _FOLDED or not numbers.flags.c_contiguous:
        return loop(numbers)
    width = numbers.size // _PARTS
    parts = loop(numbers[: _PARTS * width].reshape(_PARTS, width))
    rest = numbers[_PARTS * width :]
    return loop(np.concatenate([parts, rest if rest.dtype == parts.dtype else [loop(rest)]]))


def _sums_of_columns(loop: Any, matrix: Any) -> Any:
    """By sums of some rows each, which don't depend on how many threads share them."""
    whole = len(matrix) // _SUMMED * _SUMMED
    sums = np.empty((-(-len(matrix) // _SUMMED), matrix.shape[1]), matrix.dtype)
    if whole:
        parts = matrix[:whole].reshape(-1, _SUMMED, matrix.shape[1])
        loop(parts, out=sums[: len(parts)])
    if whole < len(matrix):
        loop(matrix[whole:], out=sums[-1])
    return loop(sums)


def _factored(factor: Any, array: Any, xp: Any) -> tuple[Any, Any, bool]:
    """LAPACK's factors of matrices, turned, its exchanges from 0, and whether no pivot is zero."""
    turned, regular = by_columns(array), True
    pivots = np.empty((*array.shape[:-2], min(array.shape[-2:])), np.int32)
    size = math.prod(array.shape[-2:])
    by_panels = ALONE < size <= PANELS and written("product") is not None
    for place in np.ndindex(array.shape[:-2]):
        if by_panels and array.dtype.char == "f":
            regular = factored_by_panels(turned[place], pivots[place], xp) and regular
            continue
        _, pivots[place], info = factor(turned[place].T, overwrite_a=1)
        regular = regular and info == 0
    return turned, pivots, regular


class RowKernels(Namespace):
    """What NumPy's namespace answers about rows."""

    def eigenvalues(self, matrix: Any) -> Any:
        return self.linalg.eigvals(matrix)

    def few_eigenpairs(self, matrix: Any, count: int, largest: bool) -> tuple[Any, Any] | None:
        """Of large matrices, and where those asked for lie apart from the next."""
        size = matrix.shape[-1]
        find = _symmetric_function("syevr", "heevr", matrix, True) if count <= _FEW else None
        if find is None or size < _LARGE or not np.isfinite(matrix).all():
            return None
        values = np.empty((*matrix.shape[:-2], count), matrix.real.dtype)
        vectors = np.empty((*matrix.shape[:-1], count), matrix.dtype)
        span = (size - count, size) if largest else (1, count + 1)
        order = slice(None, 0, -1) if largest else slice(count)
        near = np.finfo(values.dtype).eps ** 0.5
        for place in np.ndindex(matrix.shape[:-2]):
            found, columns, number, _, failed = find(
                matrix[place], range="I", il=span[0], iu=span[1], lower=1
            )
            inner = found[:2] if largest else found[count - 1 : count + 1]
            if failed or number != count + 1 or inner[1] - inner[0] <= near * np.abs(found).max():
                return None
            values[place], vectors[place] = found[: count + 1][order], columns[:, order]
        return values, vectors

    def solved(self, matrix: Any, side: Any) -> tuple[Any, Any]:
        try:
            found = self.linalg.solve(*self.in_one_batch(matrix, side))
        except np.linalg.LinAlgError:  # some are singular: which, takes another factorization
            return super().solved(matrix, side)
        return found, np.zeros(matrix.shape[:-2], np.int32)

    def lu(self, array: Any) -> tuple[Any, Any] | None:
        factor = lapack_function("getrf", array)
        if factor is None:
            return None
        turned, pivots, _ = _factored(factor, array, self)
        return by_columns(turned), np.add(pivots, 1, out=pivots)

    def factored(self, matrix: Any, columns: int) -> tuple[Any, Any] | None:
        """Of matrices worth a call of LAPACK each; the factors turned, as it left them.

        For several columns OpenBLAS wakes its threads, however small they are: NumPy's way is not.
        """
        worth = columns == 1 and matrix.shape[-1] >= _CALLED
        factor = lapack_function("getrf", matrix) if worth else None
        if factor is None:
            return None
        turned, pivots, regular = _factored(factor, matrix, self)
        return (turned, pivots) if regular else None

    def solved_by(self, factors: tuple[Any, Any], side: Any, adjoint: bool) -> Any:
        turned, pivots = factors
        solve = lapack_function("getrs", turned)
        known = np.all((pivots >= 0) & (pivots < turned.shape[-1]))  # LAPACK does not ask
        if solve is None or not known or side.shape[-1] != 1:  # see factored
            return super().solved_by(factors, side, adjoint)
        batch = np.broadcast_shapes(turned.shape[:-2], side.shape[:-2])
        out = np.empty((*batch, *side.shape[:-3:-1]), turned.dtype)
        out[...] = side.swapaxes(-2, -1)
        turned = np.broadcast_to(turned, (*batch, *turned.shape[-2:]))
        pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
        form = 0 if not adjoint else 2 if turned.dtype.kind == "c" else 1
        for place in np.ndindex(batch):
            solve(turned[place].T, pivots[place], out[place].T, trans=form, overwrite_b=1)
        return in_order(out.swapaxes(-2, -1))

    def exchanged(self, pivots: Any, rows: int) -> Any:
        out = np.empty((*pivots.shape[:-1], rows), np.int64)
        for place in np.ndindex(pivots.shape[:-1]):
            order = list(range(rows))
            for k, other in enumerate((pivots[place] - 1).tolist()):
                if 0 <= other < rows:
                    order[k], order[other] = order[other], order[k]
            out[place] = order
        return out

    def ldl(self, array: Any, hermitian: bool) -> tuple[Any, Any, Any] | None:
        small = array.dtype.char == "f" and array.shape[-1] <= _LARGE
        loop = written("symmetric") if small else None
        if loop is not None:
            found: tuple[Any, Any, Any] = loop(array)
            return found
        factor = _symmetric_function("sytrf", "hetrf", array, hermitian)
        if factor is None:
            return None
        turned, pivots = by_columns(array), np.empty(array.shape[:-1], np.int32)
        info = np.empty(array.shape[:-2], np.int32)
        room = PANEL * array.shape[-1]
        for place in np.ndindex(info.shape):
            matrix = turned[place].T
            _, pivots[place], info[place] = factor(matrix, lower=1, lwork=room, overwrite_a=1)
        return self.tril(by_columns(turned)), pivots, info

    def ldl_solution(self, packed: Any, pivots: Any, side: Any, hermitian: bool) -> Any:
        solve = _symmetric_function("sytrs", "hetrs", packed, hermitian)
        if solve is None or not side.size or not _are_blocks(pivots):
            return None
        out = np.empty(side.shape, side.dtype)
        for place in np.ndindex(side.shape[:-2]):
            out[place] = solve(packed[place], pivots[place], side[place], lower=1)[0]
        return out

    def standardized(
        self, array: Any, weight: Any, bias: Any, axes: Any, eps: float
    ) -> tuple[Any, Any, Any]:
        rows = standardizing.rows_of(array, axes, weight, bias)
        if rows is None:
            return super().standardized(array, weight, bias, axes, eps)
        return standardizing.standardized(rows, array, eps)

    def standardized_back(
        self, grads: Any, array: Any, weight: Any, mean: Any, variance: Any, axes: Any, eps: float
    ) -> Any:
        rows = standardizing.rows_of(array, axes, weight, None)
        if rows is None:
            return None
        return standardizing.slopes(rows, grads, array, mean, variance, eps)

    def above_diagonal(self, pairs: Any, count: int) -> Any:
        out = np.zeros((*pairs.shape[:-1], count, count), pairs.dtype)
        start = 0
        for row in range(count - 1):
            length = count - row - 1
            out[..., row, row + 1 :] = pairs[..., start : start + length]
            start += length
        return out

    def pairs_above(self, matrices: Any) -> Any:
        loop, bits = written("above"), _BITS.get(matrices.itemsize)
        count = matrices.shape[-1]
        if loop is None or bits is None or count < 2 or not matrices.flags.c_contiguous:
            return super().pairs_above(matrices)
        out = np.empty((*matrices.shape[:-2], count * (count - 1) // 2), matrices.dtype)
        loop(matrices.view(bits), out=out.view(bits))
        return out

    def mirrored_pairs(self, pairs: Any, count: int) -> Any:
        loop, bits = written("mirrored"), _BITS.get(pairs.itemsize)
        if loop is None or bits is None or count < 2 or not pairs.flags.c_contiguous:
            return super().mirrored_pairs(pairs, count)
        out = np.empty((*pairs.shape[:-1], count, count), pairs.dtype)
        loop(pairs.view(bits), out=out.view(bits))
        return out

    def row_sums(self, array: Any) -> Any:
        kind, length = array.dtype.char, array.shape[1]
        if array.ndim == 2 and 0 < length <= 1024 and kind in "fd":
            # A product with ones is faster than NumPy's sum, and for so many as exact.
            return array.dot(shared_ones((length, 1), kind))
        return np.add.reduce(array, axis=1, keepdims=True)

    def _sums_of_parts(self, rows: Any) -> Any:
        """row_sums of a large matrix, by a loop or parts that threads share."""
        loop = _fold("row_sums", rows, "fd")
        if loop is not None:
            return loop(rows)[:, None]
        sums = np.empty((len(rows), 1), rows.dtype)

        def compute(part: slice) -> None:
            sums[part] = self.row_sums(rows[part])

        shared(compute, row_parts(*rows.shape), rows.size)
        return sums

    def sums_along(self, array: Any, axes: Any) -> Any:
        if array.size and array.flags.c_contiguous:
            if axes == (array.ndim - 1,):
                rows = array.reshape(-1, array.shape[-1])
                sums = self.row_sums(rows) if rows.size < LEAST else self._sums_of_parts(rows)
                return sums.reshape(*array.shape[:-1], 1)
            if axes == (0,):
                columns = self.column_sums(array.reshape(len(array), -1))
                return columns.reshape(1, *array.shape[1:])
        return np.add.reduce(array, axis=axes, keepdims=True)

    def prod(self, array: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """NumPy's own, which multiplies the elements of a row one after another."""
        along_rows = axis is not None and axis == array.ndim - 1 and dtype in (None, array.dtype)
        loop = _fold("row_products", array, "f") if along_rows and array.size else None
        if loop is None:
            return np.prod(array, axis=axis, dtype=dtype, keepdims=keepdims)
        found = loop(array)
        return found[..., None] if keepdims else found

    def exclusive_or(self, numbers: Any) -> Any:
        known = numbers.dtype == np.int64 or numbers.dtype.char == "f"
        loop = written("row_differences") if known and numbers.size else None
        if loop is None and numbers.dtype.kind == "f":
            return self.exclusive_or(numbers.astype(np.float64).view(np.int64))
        if loop is None:
            return np.bitwise_xor.reduce(numbers, axis=-1)
        return loop(numbers) if numbers.ndim > 1 else _joined_by_parts(loop, numbers)

    def squares_along(self, array: Any, axes: Any) -> Any:
        if axes == (array.ndim - 1,) and array.dtype.char in "fd" and array.flags.c_contiguous:
            return np.vecdot(array, array)[..., None]
        return super().squares_along(array, axes)

    def column_sums(self, array: Any) -> Any:
        kind, length = array.dtype.char, array.shape[-2]
        many = array.ndim == 2 and array.size >= _FOLDED
        loop = _fold("column_sums", array, "f") if many else None
        if loop is not None:
            return _sums_of_columns(loop, array)
        if array.ndim == 2 and 0 < length <= 1024 and kind in "fd":  # see row_sums
            return shared_ones((length,), kind).dot(array)
        if length == 1:
            return array[..., 0, :].copy()
        if kind in _HALVES:  # too short to gather sums in
            return np.add.reduce(array, axis=-2, dtype=np.float32).astype(array.dtype)
        return np.add.reduce(array, axis=-2)

    def distances(self, array: Any, other: Any) -> Any:
        """By squared lengths and products; rows too near for that by their differences."""
        same, given = array is other, (array, other)
        if other.shape[-2]:
            middle = other.mean(axis=-2, keepdims=True)  # what is far from 0 is lost to rounding
            middle = np.where(np.isfinite(middle), middle, 0)
            array, other = array - middle, other - middle
        other = array if same else other  # of which BLAS computes one half
        lengths, others = (np.einsum("...ij,...ij->...i", a, a) for a in (array, other))
        with quiet():
            products = np.matmul(array, other.swapaxes(-2, -1))
            out, near = _spaced(products, lengths, others)
        loop = written("gaps") if out.dtype.char in "fd" else None
        count = np.count_nonzero(near)
        if loop is not None and count > near.size * _MOSTLY:
            return np.sqrt(_all_gaps(loop, *given))
        near = self.nonzero(near) if count else ((),)
        pairs = [np.broadcast_to(a, (*out.shape[:-2], *a.shape[-2:])) for a in (array, other)]
        step = max(1, BLOCK // max(1, array.shape[-1]))
        for start in range(0, len(near[0]), step):
            *batch, rows, columns = [index[start : start + step] for index in near]
            with quiet():
                apart = pairs[0][(*batch, rows)] - pairs[1][(*batch, columns)]
                out[(*batch, rows, columns)] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return out

    def distinct(self, row: Any, placed: bool, counted: bool) -> tuple[Any, Any, Any]:
        """By a table of all numbers between the least and the greatest, if it is no longer."""
        if row.dtype.kind not in "iu" or not row.size:
            return super().distinct(row, placed, counted)
        least, greatest = int(row.min()), int(row.max())
        if greatest - least >= max(row.size, 256) or greatest > np.iinfo(np.int64).max:
            return super().distinct(row, placed, counted)
        offsets = row.astype(np.int64) - least
        table = np.bincount(offsets)
        found = np.flatnonzero(table)
        places = None
        if placed:
            numbers = np.empty(len(table), np.int64)
            numbers[found] = np.arange(len(found))
            places = numbers[offsets]
        return (found + least).astype(row.dtype), places, table[found] if counted else None

    def place_of_rank(self, array: Any, axis: int, rank: Any) -> Any:
        """By partition, which takes a fifth of the time of a sort, if there are few ranks."""
        loop = written("ranked") if array.ndim > 1 and array.dtype.char in "fd" else None
        shape = (*array.shape[:axis], 1, *array.shape[axis + 1 :])
        if loop is not None and array.size:
            wanted = np.broadcast_to(rank, shape).astype(np.int64, copy=False)
            places = loop(array, np.squeeze(wanted, axis), axes=[(axis,), (), ()])
            return np.expand_dims(places, axis)
        ranks = np.unique(rank)
        if not array.size or ranks.size > 16:
            return super().place_of_rank(array, axis, rank)
        value = _value_of_rank(array, int(ranks[0])) if ranks.size == array.ndim == 1 else None
        if value is None:
            function = functools.partial(np.partition, kth=ranks, axis=axis)
            parted = by_rows(function, array, axis, array.shape, array.dtype)
            value = np.take_along_axis(parted, np.broadcast_to(rank, shape), axis)
        equal, less = array == value, array < value
        unknown = np.isnan(value)
        if unknown.any():  # the greatest of all
            missing = np.isnan(array)
            equal |= missing & unknown
            less |= unknown & ~missing
        later = rank - np.count_nonzero(less, axis=axis, keepdims=True)
        if later.any():
            equal &= np.cumsum(equal, axis=axis) == later + 1
        return equal.argmax(axis=axis, keepdims=True)

    def place_of_median(self, array: Any, axis: int, ignore_nan: bool) -> Any:
        if array.ndim < 2 or array.dtype.char not in "fd" or written("ranked") is None:
            return super().place_of_median(array, axis, ignore_nan)
        return self.place_of_rank(array, axis, np.int64(-2 if ignore_nan else -1))

    def summed_rows(self, rows: Any, index: Any, count: int) -> Any:
        kind, width = rows.dtype, rows.shape[1]
        if kind.char in _HALVES:  # too short to gather sums in
            return self.summed_rows(rows.astype(np.float32), index, count).astype(kind)
        few = count <= 4 * len(index) and index.dtype == np.int64  # sums to write first
        loop = written("rows_add") if few and kind.char in "fd" else None
        if loop is not None and self.all_below(index, count):
            return loop(index, rows, out=np.zeros((count, width), kind))
        library = _sparse_library() if kind.char in "fdFD" and width > 1 else None
        if library is None:
            out = np.zeros(count * width, kind)
            places = index[:, None] * width + np.arange(width)
            np.add.at(out, places.reshape(-1), rows.reshape(-1))  # in one dimension it is fast
            return out.reshape(count, width)
        # A matrix with a single 1 in each column adds rows in one pass, unsorted.
        ones, starts = np.ones(len(index), kind), np.arange(len(index) + 1)
        return library.csc_array((ones, index, starts), shape=(count, len(index))) @ rows

    def regrouped_rows(self, rows: Any, sources: Any, targets: Any, count: int) -> Any:
        whole = sources.dtype == np.int64 == targets.dtype
        loop = written("rows_regrouped") if whole and rows.dtype.char in "fd" else None
        if loop is None or not self.all_below(sources, len(rows)):
            return super().regrouped_rows(rows, sources, targets, count)
        if not self.all_below(targets, count):
            return super().regrouped_rows(rows, sources, targets, count)
        out = np.zeros((count, rows.shape[1]), rows.dtype)
        return loop(np.ascontiguousarray(rows), sources, targets, out=out)

    def mixed_rows(self, table: Any, numbers: Any, weights: Any) -> Any:
        loop = _loop_for_rows("mixed", table, numbers, weights)
        if loop is not None and self.all_below(numbers, len(table)):
            return loop(np.ascontiguousarray(table), numbers, weights)
        matrix = _weights_of_rows(numbers, weights, len(table))
        if matrix is None:
            return super().mixed_rows(table, numbers, weights)
        return matrix @ table

    def dealt_rows(self, rows: Any, numbers: Any, weights: Any, count: int) -> Any:
        loop = _loop_for_rows("dealt", rows, numbers, weights)
        if loop is not None and self.all_below(numbers, count):
            out = np.zeros((count, rows.shape[1]), rows.dtype)
            return loop(np.ascontiguousarray(rows), numbers, weights, out=out)
        matrix = _weights_of_rows(numbers, weights, count)
        if matrix is None:
            return super().dealt_rows(rows, numbers, weights, count)
        return matrix.T @ rows

    def counted_along(self, index: Any, shape: Any, axis: int) -> Any:
        apart = [d for d, step in enumerate(index.strides) if step or d == axis]
        if not index.size or len(apart) == index.ndim or index.shape[:axis] != shape[:axis]:
            return super().counted_along(index, shape, axis)
        if index.shape[axis + 1 :] != shape[axis + 1 :]:
            return super().counted_along(index, shape, axis)
        # What is repeated counts the same everywhere.
        part = index[tuple([slice(None if d in apart else 1) for d in range(index.ndim)])]
        few = tuple([n if d in apart else 1 for d, n in enumerate(shape)])
        return np.broadcast_to(super().counted_along(part, few, axis), shape)

    def sparse_product(
        self, rows: Any, columns: Any, elements: Any, matrix: Any, count: int
    ) -> Any:
        library = _sparse_library() if elements.dtype.char in "fdFD" else None
        if library is None:
            return super().sparse_product(rows, columns, elements, matrix, count)
        kept = library.coo_array((elements, (rows, columns)), shape=(count, matrix.shape[0]))
        return kept.tocsr() @ matrix
