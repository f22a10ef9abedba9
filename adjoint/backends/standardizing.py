"""Mean 0 and variance 1 over the last axes, in few passes: NumPy's kernels.

Rows are worked on in blocks that stay in the cache. A sum over a row, or over all rows, is a
product with a vector, and a factor for each row times one for each column a product as well: BLAS
takes a quarter of the time that NumPy takes to repeat a number along an axis.
"""

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.backends.loops import written as written_loop
from adjoint.backends.threads import helpers

BLOCK = 1 << 17  # elements of a block
PART = 1 << 14  # elements of rows whose gradients of weights are summed at a time
LONG = 8192  # elements of a row whose sum in one go is exact enough
SHORT = 8  # elements of a row of which no product is the faster for its length
PAIRED = 1024  # elements of a row from which NumPy's sum in pairs is worth its time


class Rows:
    """An array as rows, and what weight and bias have for each column."""

    def __init__(self, array: Any, axes: Any, weight: Any, bias: Any) -> None:
        lead = array.ndim - len(axes)
        self.kind = array.dtype
        self.sizes = array.shape[lead:]
        self.width = math.prod(self.sizes)
        self.count = array.size // self.width
        self.stem = (*array.shape[:lead], *[1] * len(axes))  # the shape of means
        self.weight, self.bias = weight, bias

    def prepare(self) -> None:
        """Arrange weight and bias for NumPy, and make room for their gradients."""
        self.factors = self.numbers(self.weight, 1).reshape(-1, 1)
        self.shifts = None if self.bias is None else self.bias.reshape(-1)
        self.by_weight, self.by_bias = np.zeros((2, self.width), self.kind)

    def numbers(self, value: Any, other: float) -> Any:
        """The numbers of all columns in order, each `other` where there are none."""
        if value is None:
            return np.full(self.width, other, self.kind)
        return np.ascontiguousarray(value).reshape(-1)

    def as_weight(self, total: Any) -> Any:
        """A gradient in the shape of weight and bias."""
        return total.reshape(self.sizes)

    def run(self, array: Any, eps: float) -> tuple[Any, Any, Any] | None:
        """What `standardized` answers, by a loop of the wheel; None where there is none."""
        loop = written_loop("standard")
        if loop is None:
            return None
        out, (centre, spread) = np.empty_like(array), np.empty((2, self.count), self.kind)
        columns = self.numbers(self.weight, 1), self.numbers(self.bias, 0)
        loop(self.of(array), *columns, self.kind.type(eps), out=(self.of(out), centre, spread))
        return out, centre.reshape(self.stem), spread.reshape(self.stem)

    def run_back(self, given: Any, eps: float) -> tuple[Any, Any, Any] | None:
        """What `slopes` answers, by a loop of the wheel; None where there is none."""
        loop = written_loop("standard_back")
        if loop is None:
            return None
        out, factors = np.empty_like(given[1]), self.numbers(self.weight, 1)
        step = _rows_of_part(self.count, self.width)
        parts, rest = divmod(self.count, step)
        sums = np.empty((2, parts + (rest > 0), self.width), self.kind)
        arrays = [self.of(each) for each in (*given[:2], out, *given[2:])]
        number = self.kind.type(eps)
        if rest:
            grads, values, written, *columns = [each[-rest:] for each in arrays]
            made = (written, sums[0, -1], sums[1, -1])
            loop(grads, values, factors, *[c[:, 0] for c in columns], number, out=made)
            arrays = [each[:-rest] for each in arrays]
        grads, values, written = [each.reshape(parts, step, self.width) for each in arrays[:3]]
        columns = [column.reshape(parts, step) for column in arrays[3:]]
        made = (written, sums[0, :parts], sums[1, :parts])
        loop(grads, values, factors, *columns, number, out=made)
        by_weight, by_bias = sums[:, 0] if sums.shape[1] == 1 else np.add.reduce(sums, axis=1)
        return out, self.as_weight(by_weight), self.as_weight(by_bias)

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

    def __init__(self, array: Any, axes: Any, weight: Any, bias: Any) -> None:
        super().__init__(array, axes, weight, bias)
        self.given = (self.stem[1], self.sizes[0])

    def prepare(self) -> None:
        self.whole = whole = (*self.stem[:-2], self.sizes[0], 1)
        self.length = self.sizes[1]
        self.factors = self.of(np.broadcast_to(self.weight, whole))
        self.shifts = None if self.bias is None else self.of(np.broadcast_to(self.bias, whole))
        self.by_weight, self.by_bias = np.zeros((2, *self.factors.shape), self.kind)

    def as_weight(self, total: Any) -> Any:
        return total.reshape(self.whole).sum(axis=0, keepdims=True)

    def run(self, array: Any, eps: float) -> tuple[Any, Any, Any] | None:
        loop = written_loop("standard_parts")
        if loop is None:
            return None
        out, (centre, spread) = np.empty_like(array), np.empty((2, *self.stem[:2]), self.kind)
        bias = np.zeros(self.given, self.kind) if self.bias is None else self.bias
        numbers = self.repeated(self.weight), self.repeated(bias)
        loop(array, *numbers, self.kind.type(eps), out=(out, centre, spread))
        return out, centre.reshape(self.stem), spread.reshape(self.stem)

    def run_back(self, given: Any, eps: float) -> tuple[Any, Any, Any] | None:
        loop = written_loop("standard_parts_back")
        if loop is None:
            return None
        numbers = [each.reshape(self.stem[:2]) for each in given[2:]]
        out, sums = np.empty_like(given[1]), np.empty((2, len(given[1]), *self.given), self.kind)
        factors = self.repeated(self.weight)
        loop(*given[:2], factors, *numbers, self.kind.type(eps), out=(out, *sums))
        by_weight, by_bias = np.add.reduce(sums, axis=1).reshape(2, 1, *self.given, 1)
        return out, by_weight, by_bias

    def repeated(self, numbers: Any) -> Any:
        """Numbers of parts for each sample: rows of all samples are one range, to be shared."""
        numbers = numbers.reshape(self.given)
        return numbers if helpers.allowed < 2 else numbers[None].repeat(self.stem[0], 0)

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


class Channels(Rows):
    """What each channel holds in all samples: a row of parts, one for each sample."""

    def __init__(self, array: Any, axes: Any, weight: Any, bias: Any) -> None:
        self.kind = array.dtype
        self.samples, self.channels = array.shape[:2]
        self.width = math.prod(array.shape[2:])
        self.stem = (1, self.channels, *[1] * (array.ndim - 2))
        self.weight, self.bias = weight, bias

    def by_channel(self, array: Any) -> Any:
        """An array as (channels, samples, elements), without a copy."""
        return array.reshape(self.samples, self.channels, self.width).swapaxes(0, 1)

    def by_sample(self, value: Any, other: float) -> Any:
        """A number for each channel, the same for all samples."""
        if value is None:
            value = np.full(self.channels, other, self.kind)
        return np.broadcast_to(value.reshape(self.channels, 1), (self.channels, self.samples))

    def run(self, array: Any, eps: float) -> tuple[Any, Any, Any] | None:
        loop = written_loop("standard_parts")
        out, (centre, spread) = np.empty_like(array), np.empty((2, self.channels), self.kind)
        given, made = self.by_channel(array), (self.by_channel(out), centre, spread)
        factors, shifts = self.by_sample(self.weight, 1), self.by_sample(self.bias, 0)
        loop(given, factors, shifts, self.kind.type(eps), out=made)
        return out, centre.reshape(self.stem), spread.reshape(self.stem)

    def run_back(self, given: Any, eps: float) -> tuple[Any, Any, Any] | None:
        loop, out = written_loop("standard_parts_back"), np.empty_like(given[1])
        grads, rows = self.by_channel(given[0]), self.by_channel(given[1])
        numbers = [each.reshape(-1) for each in given[2:]]
        factors, written = self.by_sample(self.weight, 1), self.by_channel(out)
        sums = np.empty((2, self.channels, self.samples), self.kind)
        loop(grads, rows, factors, *numbers, self.kind.type(eps), out=(written, *sums))
        by_weight, by_bias = np.add.reduce(sums, axis=2).reshape(2, *self.stem)
        return out, by_weight, by_bias


@functools.lru_cache(1024)
def _rows_of_part(count: int, width: int) -> int:
    """How many rows a part has, however many threads there are; if it can be, of equal parts."""
    most = max(1, PART // width)
    if count <= 2 * most:
        return count
    return next((n for n in range(most, most // 2, -1) if count % n == 0), most)


def _are_channels(shape: Any, axes: Any, given: list[Any]) -> bool:
    """Whether all axes but the second are summed over, by loops, and numbers are a channel's."""
    rank = len(shape)
    stem = (1, shape[1], *[1] * (rank - 2)) if rank > 2 else ()
    return (
        sorted(axis % rank for axis in axes) == [0, *range(2, rank)]
        and all(each == stem for each in given)
        and SHORT <= math.prod(shape[2:]) <= BLOCK
        and written_loop("standard_parts") is not None
    )


@functools.lru_cache(1024)
def _form(shape: Any, axes: Any, weight: Any, bias: Any) -> type[Rows] | None:
    """How an array of a shape is one of rows, given the shapes of weight and bias; or None."""
    lead = len(shape) - len(axes)
    sizes = shape[lead:]
    given = [each for each in (weight, bias) if each is not None]
    if _are_channels(shape, axes, given):
        return Channels
    last = [axis % len(shape) for axis in axes] == list(range(lead, len(shape)))
    if not last or not SHORT <= math.prod(sizes) <= LONG:
        return None
    if all(each == sizes for each in given):
        return Rows
    parts = (1, *shape[1:-1], 1)
    of_parts = lead == 2 == len(sizes) and weight is not None
    return Parts if of_parts and all(each == parts for each in given) else None


def rows_of(array: Any, axes: Any, weight: Any, bias: Any) -> Rows | None:
    """The rows of an array, or None where its axes or factors are of another form."""
    if array.dtype.char not in "fd" or not array.size:
        return None
    for value in (weight, bias):
        if value is not None and value.dtype != array.dtype:
            return None
    shapes = [None if value is None else value.shape for value in (weight, bias)]
    form = _form(array.shape, tuple(axes), *shapes)
    return None if form is None else form(array, axes, weight, bias)


def sums(rows: Any) -> Any:
    """The sum of each row, as a column."""
    if rows.shape[1] > PAIRED:
        return np.add.reduce(rows, axis=1, keepdims=True)
    return rows.dot(np.ones((rows.shape[1], 1), rows.dtype))


def standardized(rows: Rows, array: Any, eps: float) -> tuple[Any, Any, Any]:
    """The result, scaled and shifted, and the mean and variance of each row."""
    array = np.ascontiguousarray(array)
    found = rows.run(array, eps)
    if found is not None:
        return found
    rows.prepare()
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
    parts = (grads[0], array, mean, variance, *grads[1:])
    found = rows.run_back([np.ascontiguousarray(part) for part in parts], eps)
    if found is not None:
        return found
    rows.prepare()
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
