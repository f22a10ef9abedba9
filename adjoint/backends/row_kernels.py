"""Rows of matrices for NumPy: their distances, norms, ranks and sums, by algorithms that suit it.

SciPy's sparse products and LAPACK are taken where it is installed.
"""

import functools
from typing import Any

import numpy as np

from adjoint.backends import standardizing
from adjoint.backends.error_state import quiet
from adjoint.backends.namespace import Namespace

BLOCK = 1 << 16  # elements of differences at a time
_NEAR = 0.01  # of two squared lengths, below which that of the difference is not their difference
_LAPACK = {"f": "s", "d": "d", "F": "c", "D": "z"}  # its letter of each type
_HALVES = "eE"  # the letters of float16 and bfloat16


@functools.cache
def _sparse_library() -> Any:
    """SciPy's sparse matrices, whose products take a tenth of the time; None without SciPy."""
    try:
        import scipy.sparse
    except ImportError:
        return None
    return scipy.sparse


@functools.cache
def _lapack() -> Any:
    """SciPy's LAPACK, for what NumPy has no function of; None without SciPy."""
    try:
        import scipy.linalg.lapack
    except ImportError:
        return None
    return scipy.linalg.lapack


def _lapack_function(symmetric: str, hermitian: str, array: Any, conjugate: bool) -> Any:
    """LAPACK's function for symmetric or Hermitian matrices of a type; None without SciPy."""
    library = _lapack() if array.dtype.char in _LAPACK and array.size else None
    if library is None:
        return None
    name = hermitian if conjugate and array.dtype.char in "FD" else symmetric
    return getattr(library, _LAPACK[array.dtype.char] + name)


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


class RowKernels(Namespace):
    """What NumPy's namespace answers about rows."""

    def lu(self, array: Any) -> tuple[Any, Any] | None:
        library = _lapack() if array.dtype.char in _LAPACK and array.size else None
        if library is None:
            return None
        factor = getattr(library, _LAPACK[array.dtype.char] + "getrf")
        rows, columns = array.shape[-2:]
        packed = np.empty(array.shape, array.dtype)
        pivots = np.empty((*array.shape[:-2], min(rows, columns)), np.int32)
        for place in np.ndindex(array.shape[:-2]):
            packed[place], order, _ = factor(array[place])
            pivots[place] = order + 1
        return packed, pivots

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
        factor = _lapack_function("sytrf", "hetrf", array, hermitian)
        if factor is None:
            return None
        packed, pivots = np.empty(array.shape, array.dtype), np.empty(array.shape[:-1], np.int32)
        info = np.empty(array.shape[:-2], np.int32)
        for place in np.ndindex(info.shape):
            found, order, info[place] = factor(array[place], lower=1)
            packed[place], pivots[place] = np.tril(found), order
        return packed, pivots, info

    def ldl_solution(self, packed: Any, pivots: Any, side: Any, hermitian: bool) -> Any:
        solve = _lapack_function("sytrs", "hetrs", packed, hermitian)
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

    def distances(self, array: Any, other: Any) -> Any:
        """By squared lengths and products; rows too near for that by their differences."""
        if other.shape[-2]:
            middle = other.mean(axis=-2, keepdims=True)  # what is far from 0 is lost to rounding
            middle = np.where(np.isfinite(middle), middle, 0)
            array, other = array - middle, other - middle
        lengths = np.einsum("...ij,...ij->...i", array, array)[..., :, None]
        sums = lengths + np.einsum("...ij,...ij->...i", other, other)[..., None, :]
        with quiet():
            squares = np.matmul(array * -2, other.swapaxes(-2, -1))
            np.add(squares, sums, out=squares)
            near = np.nonzero(~(squares >= sums * _NEAR))  # or infinite, which has no difference
        pairs = [np.broadcast_to(a, (*squares.shape[:-2], *a.shape[-2:])) for a in (array, other)]
        step = max(1, BLOCK // max(1, array.shape[-1]))
        for start in range(0, len(near[0]), step):
            *batch, rows, columns = [index[start : start + step] for index in near]
            with quiet():
                apart = pairs[0][(*batch, rows)] - pairs[1][(*batch, columns)]
            squares[(*batch, rows, columns)] = np.einsum("ij,ij->i", apart, apart)
        return np.sqrt(squares, out=squares)

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
        ranks = np.unique(rank)
        if not array.size or ranks.size > 16:
            return super().place_of_rank(array, axis, rank)
        shape = (*array.shape[:axis], 1, *array.shape[axis + 1 :])
        parted = np.partition(array, ranks, axis=axis)
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

    def summed_rows(self, rows: Any, index: Any, count: int) -> Any:
        kind, width = rows.dtype, rows.shape[1]
        if kind.char in _HALVES:  # too short to gather sums in
            return self.summed_rows(rows.astype(np.float32), index, count).astype(kind)
        library = _sparse_library() if kind.char in "fdFD" and width > 1 else None
        if library is None:
            out = np.zeros(count * width, kind)
            places = index[:, None] * width + np.arange(width)
            np.add.at(out, places.reshape(-1), rows.reshape(-1))  # in one dimension it is fast
            return out.reshape(count, width)
        # A matrix with a single 1 in each column adds rows in one pass, unsorted.
        ones, starts = np.ones(len(index), kind), np.arange(len(index) + 1)
        return library.csc_array((ones, index, starts), shape=(count, len(index))) @ rows

    def mixed_rows(self, table: Any, numbers: Any, weights: Any) -> Any:
        matrix = _weights_of_rows(numbers, weights, len(table))
        if matrix is None:
            return super().mixed_rows(table, numbers, weights)
        return matrix @ table

    def dealt_rows(self, rows: Any, numbers: Any, weights: Any, count: int) -> Any:
        matrix = _weights_of_rows(numbers, weights, count)
        if matrix is None:
            return super().dealt_rows(rows, numbers, weights, count)
        return matrix.T @ rows

    def sparse_product(
        self, rows: Any, columns: Any, elements: Any, matrix: Any, count: int
    ) -> Any:
        library = _sparse_library() if elements.dtype.char in "fdFD" else None
        if library is None:
            return super().sparse_product(rows, columns, elements, matrix, count)
        kept = library.coo_array((elements, (rows, columns)), shape=(count, matrix.shape[0]))
        return kept.tocsr() @ matrix
