"""Mean 0 and variance 1 over the last axes, in few passes: NumPy's kernels.

Rows are worked on in blocks that stay in the cache. A sum over a row, or over all rows, is a
product with a vector, and a factor for each row times one for each column a product as well: BLAS
takes a quarter of the time that NumPy takes to repeat a number along an axis.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.backends.loops import written as written_loop

BLOCK = 1 << 17  # elements of a block
LONG = 8192  # elements of a row whose sum in one go is exact enough
SHORT = 8  # elements of a row of which no product is the faster for its length
PAIRED = 1024  # elements of a row from which NumPy's sum in pairs is worth its time


class Rows:
    """An array as rows, and what weight and bias have for each column."""

    def __init__(self, array: Any, axes: Any, weight: Any, bias: Any) -> None:
        lead = array.ndim - len(axes)
        self.kind = array.dtype
        self.width = math.prod(array.shape[lead:])
        self.count = math.prod(array.shape[:lead])
        self.stem = (*array.shape[:lead], *[1] * len(axes))  # the shape of means
        self.sizes = array.shape[lead:]
        self.keep(weight, bias)

    def keep(self, weight: Any, bias: Any) -> None:
        """Arrange weight and bias, and make room for their gradients."""
        self.factors = self.ones((self.width, 1)) if weight is None else weight.reshape(-1, 1)
        self.shifts = None if bias is None else bias.reshape(-1)
        self.by_weight, self.by_bias = np.zeros((2, self.width), self.kind)

    def as_weight(self, total: Any) -> Any:
        """A gradient in the shape of weight and bias."""
        return total.reshape(self.sizes)

    def for_loop(self, array: Any) -> Any:
        """Rows whose elements lie in order, those of one weight under each other."""
        return np.ascontiguousarray(self.of(array))

    def columns(self) -> tuple[Any, Any]:
        """Weight and bias for each column."""
        shifts = np.zeros(self.width, self.kind) if self.shifts is None else self.shifts
        return np.ascontiguousarray(self.factors[:, 0]), np.ascontiguousarray(shifts)

    def of_columns(self, total: Any) -> Any:
        """A gradient of each column in the shape of weight and bias."""
        return self.as_weight(total)

    def ones(self, shape: Any) -> Any:
        """Ones of the array's type."""
        return np.ones(shape, self.kind)

    def of(self, array: Any) -> Any:
        """An array as rows, or means as a column."""
        return array.reshape(self.count, -1)

    def blocks(self) -> Iterator[slice]:
        """Whole rows, as many as the cache holds."""
        step = max(1, BLOCK // self.width)
        for start in range(0, self.count, step):
            yield slice(start, min(start + step, self.count))

    def scale(self, rows: Any, scale: Any, part: slice, out: Any) -> None:
        """Rows times a number for each, and times the weight."""
        np.multiply(rows, scale.dot(self.factors.T), out=out)

    def shift(self, rows: Any, part: slice) -> None:
        """Add the bias to rows."""
        if self.shifts is not None:
            np.add(rows, self.shifts, out=rows)

    def gather(self, slope: Any, rest: Any, scale: Any, part: slice) -> tuple[Any, Any]:
        """Weighted sums over rows of slope and of slope * rest; those over columns are noted."""
        along = slope * rest
        self.by_weight += scale[:, 0].dot(along)
        self.by_bias += self.ones(len(slope)).dot(slope)
        return slope.dot(self.factors), along.dot(self.factors)


class Parts(Rows):
    """Rows of several parts, for each of which weight and bias have a number."""

    def keep(self, weight: Any, bias: Any) -> None:
        self.whole = whole = (*self.stem[:-2], self.sizes[0], 1)
        self.length = self.sizes[1]
        self.factors = self.of(np.broadcast_to(weight, whole))
        self.shifts = None if bias is None else self.of(np.broadcast_to(bias, whole))
        self.by_weight, self.by_bias = np.zeros((2, *self.factors.shape), self.kind)

    def as_weight(self, total: Any) -> Any:
        return total.reshape(self.whole).sum(axis=0, keepdims=True)

    def for_loop(self, array: Any) -> Any:
        ordered = np.ascontiguousarray(self.of(array))
        return ordered.reshape(*self.stem[:2], -1).swapaxes(0, 1)

    def columns(self) -> tuple[Any, Any]:
        groups, parts = self.stem[1], self.sizes[0]
        shape = (groups, 1, parts, self.length)
        found = []
        for value in (self.factors, self.shifts):
            each = np.zeros((groups, parts), self.kind) if value is None else value[:groups]
            wide = np.broadcast_to(each.reshape(groups, 1, parts, 1), shape)
            found.append(np.ascontiguousarray(wide).reshape(groups, 1, self.width))
        return found[0], found[1]

    def of_columns(self, total: Any) -> Any:
        found = total.reshape(self.stem[1], self.sizes[0], self.length).sum(axis=-1)
        return found.reshape(1, self.stem[1], self.sizes[0], 1)

    def scale(self, rows: Any, scale: Any, part: slice, out: Any) -> None:
        factors = (scale * self.factors[part]).reshape(-1, 1)
        np.multiply(rows.reshape(-1, self.length), factors, out=out.reshape(-1, self.length))

    def shift(self, rows: Any, part: slice) -> None:
        if self.shifts is not None:
            parts = rows.reshape(-1, self.length)
            np.add(parts, self.shifts[part].reshape(-1, 1), out=parts)

    def gather(self, slope: Any, rest: Any, scale: Any, part: slice) -> tuple[Any, Any]:
        factors = self.factors[part]
        slopes, rests = (rows.reshape(*factors.shape, self.length) for rows in (slope, rest))
        self.by_bias[part] = total = sums(slopes.reshape(-1, self.length)).reshape(factors.shape)
        along = np.vecdot(slopes, rests)
        self.by_weight[part] = along * scale
        return sums(total * factors), sums(along * factors)


def rows_of(array: Any, axes: Any, weight: Any, bias: Any) -> Rows | None:
    """The rows of an array, or None where its axes or factors are of another form."""
    lead = array.ndim - len(axes)
    sizes = array.shape[lead:]
    given = [value for value in (weight, bias) if value is not None]
    last = [axis % array.ndim for axis in axes] == list(range(lead, array.ndim))
    if not last or not array.size or not SHORT <= math.prod(sizes) <= LONG:
        return None
    if array.dtype.char not in "fd" or any(value.dtype != array.dtype for value in given):
        return None
    if all(value.shape == sizes for value in given):
        return Rows(array, axes, weight, bias)
    parts = (1, *array.shape[1:-1], 1)
    if lead == 2 == len(sizes) and weight is not None and all(v.shape == parts for v in given):
        return Parts(array, axes, weight, bias)
    return None


def sums(rows: Any) -> Any:
    """The sum of each row, as a column."""
    if rows.shape[1] > PAIRED:
        return np.add.reduce(rows, axis=1, keepdims=True)
    return rows.dot(np.ones((rows.shape[1], 1), rows.dtype))


def standardized(rows: Rows, array: Any, eps: float) -> tuple[Any, Any, Any]:
    """The result, scaled and shifted, and the mean and variance of each row."""
    loop = written_loop("standard")
    if loop is not None:
        out = np.empty(array.shape, rows.kind)
        centre, spread = np.empty((2, *rows.stem), rows.kind)
        parts = [rows.for_loop(part) for part in (out, centre, spread)]
        made = (parts[0], parts[1][..., 0], parts[2][..., 0])
        loop(rows.for_loop(array), *rows.columns(), rows.kind.type(eps), out=made)
        return out, centre, spread
    given, out = rows.of(array), np.empty(array.shape, rows.kind)
    written = rows.of(out)
    centre, spread = np.empty((2, rows.count, 1), rows.kind)
    for part in rows.blocks():
        rest = written[part]
        centre[part] = sums(given[part]) / rows.width
        np.subtract(given[part], centre[part], out=rest)
        spread[part] = np.vecdot(rest, rest)[:, None] / rows.width
        rows.scale(rest, 1 / np.sqrt(spread[part] + eps), part, rest)
        rows.shift(rest, part)
    return out, centre.reshape(rows.stem), spread.reshape(rows.stem)


def slopes(
    rows: Rows, grads: Any, array: Any, mean: Any, variance: Any, eps: float
) -> tuple[Any, Any, Any]:
    """The gradients by the array, by weight and by bias, from those of all three results."""
    loop = written_loop("standard_back")
    if loop is not None:
        out = np.empty(array.shape, rows.kind)
        given = [rows.for_loop(part) for part in (grads[0], array)]
        numbers = [rows.for_loop(part)[..., 0] for part in (mean, variance, *grads[1:])]
        factors = rows.columns()[0]
        factors = factors.reshape(*factors.shape[:-2], rows.width)
        _, by_weight, by_bias = loop(
            *given, factors, *numbers, rows.kind.type(eps), out=(rows.for_loop(out), None, None)
        )
        return out, rows.of_columns(by_weight), rows.of_columns(by_bias)
    given, slope, on_mean, on_spread = map(rows.of, (array, *grads))
    centre, spread = rows.of(mean), rows.of(variance)
    out = np.empty(array.shape, rows.kind)
    for part in rows.blocks():
        rest = given[part] - centre[part]
        scale = 1 / np.sqrt(spread[part] + eps)
        total, along = rows.gather(slope[part], rest, scale, part)
        # Less what lies along the row itself, and along its mean.
        np.multiply(rest, (along * scale**3 - 2 * on_spread[part]) / rows.width, out=rest)
        np.add(rest, (total * scale - on_mean[part]) / rows.width, out=rest)
        written = rows.of(out)[part]
        rows.scale(slope[part], scale, part, written)
        np.subtract(written, rest, out=written)
    return out, *map(rows.as_weight, (rows.by_weight, rows.by_bias))
