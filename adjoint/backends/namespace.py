"""All that ops may ask of an array library: the `xp` that a forward gets.

Most are functions of NumPy, by NumPy's names and signatures, listed first. The others are methods
of `Namespace`: what NumPy lacks or says in several calls, and what libraries do differently. Those
that are abstract each library must answer; the rest have a plain form here, and a library that
knows a faster one overrides it in its own file. An op never asks which library it runs on.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from adjoint.backends.convolution import Layout

Array = Any
Shape = tuple[int, ...]

# ---- NumPy's own ----

CREATION: Final = """
    arange array asarray ascontiguousarray empty empty_like eye full full_like linspace meshgrid
    ones ones_like tril triu zeros zeros_like
"""
ELEMENTWISE: Final = """
    abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_or
    bitwise_xor ceil clip conjugate copysign cos cosh divide equal exp exp2 expm1 floor
    floor_divide fmax fmin fmod frexp gcd greater greater_equal hypot imag invert isclose isfinite
    isinf isnan lcm left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and
    logical_not logical_or logical_xor maximum minimum multiply nan_to_num negative nextafter
    not_equal power real reciprocal remainder right_shift round sign signbit sin sinh sqrt
    square subtract tan tanh trunc vectorize where
"""
REDUCTIONS: Final = """
    all any argmax argmin bincount cumprod cumsum max prod sum trace
"""
SHAPES: Final = """
    broadcast_arrays broadcast_shapes broadcast_to concatenate diagonal expand_dims flip moveaxis
    pad repeat reshape roll squeeze stack swapaxes tile transpose
"""
SEARCHES: Final = """
    argpartition argsort isin nonzero searchsorted take take_along_axis unique
"""
PRODUCTS: Final = "cross dot matmul"
OTHERS: Final = "errstate fft finfo iinfo inf linalg"
NUMPY_NAMES: Final = frozenset(
    f"{CREATION} {ELEMENTWISE} {REDUCTIONS} {SHAPES} {SEARCHES} {PRODUCTS} {OTHERS}".split()
)

# What is asked of the modules among them.
LINALG_NAMES: Final = frozenset(
    "cholesky det eig eigh eigvalsh inv qr slogdet solve svd".split()  # noqa: SIM905  as above
)
FFT_NAMES: Final = frozenset("fftn ifftn irfftn rfftn".split())  # noqa: SIM905  as above


class Memory(NamedTuple):
    """Where an array lies; numbers count elements."""

    owner: Array  # the array whose memory it shows, or itself
    start: int  # where in that memory its first element lies
    strides: Shape  # how far apart neighbours are, along each dimension
    room: int  # how many elements the memory holds


def ordered_strides(shape: Shape) -> Shape:
    """How far apart neighbours are where elements lie in the order of their indices."""
    found: list[int] = []
    step = 1
    for size in reversed(shape):
        found.append(step)
        step *= max(size, 1)
    return tuple(reversed(found))


class Namespace(ABC):
    """A library's functions under NumPy's names, and what NumPy lacks or says differently.

    What a backend's subclass does not define comes from the library itself; how, is the subclass's
    affair.
    """

    holds_pairs = False  # complex32, in which nothing is computed

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, library: Any) -> None:
        self.library = library  # the backend's own: ops don't ask for it

    # ---- values: a GPU would have to stop for them, and what is traced has none ----

    @abstractmethod
    def readable(self, waiting: bool = False) -> bool:
        """Whether values can be read now, to check them; `waiting`: or after work under way."""

    def valued(self) -> bool:
        """Whether arrays have values at all, now or when what is traced will run."""
        return True

    def all_below(self, numbers: Array, size: int) -> bool:
        """Whether 64-bit integers are known to lie in 0 … size - 1; False where they may not."""
        return False

    def are_indices(self, numbers: Array) -> bool:
        """Whether whole numbers have the type of indices, 64 bits or the most there are."""
        return bool(numbers.dtype == "int64")

    @abstractmethod
    def _on_host(self, array: Array) -> Array:
        """The same values as an array of NumPy, for `drawn`."""

    def drawn(self, draw: Callable[..., Array], shape: Shape, *parameters: Any) -> Array:
        """What draw(shape, *parameters) takes from a source of chance, by NumPy; see `random.py`.

        Where there are no values nothing is drawn.
        """
        given = [p if isinstance(p, (bool, int, float)) else self._on_host(p) for p in parameters]
        return self.asarray(draw(shape, *given))

    def flips(self, generator: Any, shape: Shape, p: float) -> Array | None:
        """Coin flips, true with probability p, made on the device; None: the host draws them."""
        return None

    # ---- reading and writing ----

    def indexed(self, array: Array, index: Any) -> Array:
        """array[index]; lists in the index are arrays, numbers out of range an IndexError."""
        return array[index]

    def picked(self, array: Array, index: Any) -> Array:
        """array[index], a copy, for an index of arrays and slices that fits."""
        return array[index]

    @abstractmethod
    def updated(self, array: Array, index: Any, values: Array) -> Array:
        """A copy of array with array[index] = values."""

    @abstractmethod
    def added_at(self, array: Array, index: Any, values: Array) -> Array:
        """A copy of array with values added at index, repeated places counted."""

    @abstractmethod
    def _combined_at(self, name: str, array: Array, index: Any, values: Array) -> Array:
        """A copy of array into which add, multiply, maximum or minimum takes values at index."""

    def lowered(self, array: Array, index: Any, by: Array) -> Array:
        """array, a fresh one, with `by` subtracted at an index that names no place twice."""
        return self.added_at(array, index, -by)

    def placed(self, array: Array, index: Any, values: Any) -> Array:
        """array, a fresh one, with values at an index."""
        return self.updated(array, index, values)

    def dealt(self, array: Array, mask: Array, source: Array) -> Array:
        """A copy of array in a mask's shape, with the elements of source, in order, where it is."""
        ranks = self._ranks(mask, source.size)
        return self.where(mask, self.take(source.reshape(-1), ranks), array)

    def collected(self, array: Array, mask: Array, size: int) -> Array:
        """The elements where a mask of array's shape is, in order, then zeros, `size` in all."""
        chosen = self.where(mask, array, self.zeros((), array.dtype)).reshape(-1)
        ranks = self._ranks(mask, size).reshape(-1)
        return self.added_at(self.zeros(size, array.dtype), ranks, chosen)

    def _ranks(self, mask: Array, size: int) -> Array:
        """For each element of a mask how many before it are True, below `size`."""
        counted = self.cumsum(mask.reshape(-1).astype("int64")) - 1
        return self.clip(counted, 0, max(size - 1, 0)).reshape(mask.shape)

    def raised(self, array: Array, index: Any, by: Array) -> Array:
        """array, a fresh one, with `by` added at an index of slices."""
        return self.added_at(array, index, by)

    def positions(self, sizes: Shape, strides: Shape, start: int) -> Array:
        """Where each element of a pattern lies in memory, counted in elements."""
        total: Any = start
        for d, (n, stride) in enumerate(zip(sizes, strides)):
            across = (1,) * d + (n,) + (1,) * (len(sizes) - d - 1)
            total = total + self.arange(n).reshape(across) * stride
        return self.broadcast_to(self.asarray(total), tuple(sizes))

    def summed_in_memory(self, values: Array, strides: Shape, start: int, span: int) -> Array:
        """`span` zeros to which values are added, laid out by strides from `start` on."""
        places = self.positions(values.shape, strides, start).reshape(-1)
        return self.added_at(self.zeros(span, values.dtype), places, values.reshape(-1))

    def written(
        self, array: Array, index: Any, function: Callable[..., Array], *args: Any
    ) -> Array:
        """array, a fresh one, with function(*args) at an index of slices."""
        return self.updated(array, index, function(*args))

    def into(self, function: Callable[..., Array], target: Array | None, *args: Any) -> Array:
        """function(*args), in the memory of `target`, a fresh array, where the library can.

        None makes a new one, for operands of one shape and type, which the result has too.
        """
        return function(*args)

    def add_scaled(self, array: Array, other: Array, factor: Any) -> None:
        """array += other * factor, in place, for libraries whose arrays can be changed."""
        array += other if factor == 1 else other * factor

    # ---- elements ----

    def in_blocks(self, function: Callable[..., Array], *arrays: Array) -> Array:
        """An elementwise function of arrays, of large ones part by part where that is faster."""
        return function(*arrays)

    def relu(self, array: Array) -> Array:
        """array where it is positive, else 0."""
        return self.maximum(array, 0)

    def relu_back(self, grad: Array, result: Array) -> Array:
        """grad where relu's result is not 0, else 0."""
        return self.where(result != 0, grad, 0)

    def power_before(self, array: Array, exponent: Any, power: Array) -> Array:
        """array ** (exponent - 1), where power is array ** exponent."""
        found = self.power(array, exponent - 1)
        if found.shape == power.shape:
            return found
        return self.array(self.broadcast_arrays(found, power)[0])  # power may be of a batch

    def complex_of(self, real: Array, imag: Array, kind: Any) -> Array:
        """Complex numbers of a kind from their real and imaginary parts."""
        return self.stack(self.broadcast_arrays(real, imag), axis=-1).view(kind)[..., 0]

    def repeated(self, numbers: Array, counts: Array, total: int) -> Array:
        """Each number as often as its count says, which makes `total` of them."""
        return self.repeat(numbers, counts)

    @abstractmethod
    def special(self, name: str) -> Callable[..., Array]:
        """An elementwise function by scipy.special's name; an ImportError if there is none."""

    def airy(self, place: Array, slope: bool) -> Array | None:
        """Airy's function Ai, or its derivative; None where it is found by Bessel functions."""
        return None

    # ---- sums and products ----

    def gated(self, array: Array, gate: Array) -> Array:
        """An array times the sigmoid of another."""
        with self.errstate(over="ignore"):  # of exp, which is the limit 0
            return array * self.reciprocal(1 + self.exp(-gate))

    def gated_back(self, slope: Array, array: Array, gate: Array) -> Array:
        """The gradients of `gated` by both, side by side along the last axis."""
        with self.errstate(over="ignore"):
            step = self.reciprocal(1 + self.exp(-gate))
        moved = slope * step
        return self.concatenate([moved, moved * array * (1 - step)], axis=-1)

    def log_sums(self, rows: Array) -> Array | None:
        """The logarithms of sums of exponentials along the last axis; None: to be done in steps."""
        return None

    def tanh_back(self, slope: Array, output: Array) -> Array:
        """slope times the derivative of tanh, given its output."""
        return slope - slope * (output * output)

    def total(self, array: Array) -> Array:
        """The sum of all elements, integers in 64 bits."""
        kind = array.dtype
        if kind.itemsize == 2 and kind.kind in "fV":
            return self.wide_total(array).astype(kind)
        return array.sum(dtype="int64" if kind.kind in "biu" else kind)

    def wide_total(self, array: Array) -> Array:
        """The sum of all elements, of 16-bit floats in float32."""
        return array.sum(dtype="float32" if array.dtype.itemsize == 2 else array.dtype)

    def running(self, combine: Callable[..., Array], array: Array, axis: int) -> Array:
        """All prefixes along an axis, combined by an associative function of earlier and later."""
        step = 1
        while step < array.shape[axis]:  # as many steps as the length has bits
            head: list[Any] = [slice(None)] * array.ndim
            earlier, later = list(head), list(head)
            head[axis], earlier[axis] = slice(0, step), slice(0, -step)
            later[axis] = slice(step, None)
            joined = combine(array[tuple(earlier)], array[tuple(later)])
            array = self.concatenate([array[tuple(head)], joined], axis=axis)
            step *= 2
        return array if step > 1 else self.array(array)  # results are their own memory

    def running_extreme(self, array: Array, axis: int, greatest: bool) -> tuple[Array, Array]:
        """The extreme of each prefix, and its place: the last of equals, and any NaN wins."""
        values = self.running(self.maximum if greatest else self.minimum, array, axis)
        lengths = [1] * array.ndim
        lengths[axis] = array.shape[axis]
        places = self.arange(array.shape[axis]).reshape(lengths)
        new = (array >= values if greatest else array <= values) | self.isnan(array)
        found = self.broadcast_to(self.where(new, places, 0), array.shape)
        return values, self.running(self.maximum, found, axis)

    def recurrence(self, array: Array, factor: Array, axis: int, step: int) -> Array:
        """y[i] = array[i] + factor[i] * y[i - step] along an axis, for a step of 1 or -1."""
        while abs(step) < array.shape[axis]:
            array = array + factor * self.moved(array, axis, step)
            factor = factor * self.moved(factor, axis, step)
            step *= 2
        return array

    def flipped(self, array: Array, axes: tuple[int, ...]) -> Array:
        """A copy with the elements along some axes, counted from the front, in opposite order."""
        return self.array(self.flip(array, axes))

    def moved(self, array: Array, axis: int, step: int, fill: Any = 0) -> Array:
        """The elements moved by `step` places along an axis; `fill` takes the places left free."""
        length = array.shape[axis]
        count = min(abs(step), length)
        kept: list[Any] = [slice(None)] * array.ndim
        kept[axis] = slice(0, length - count) if step > 0 else slice(count, length)
        shape = list(array.shape)
        shape[axis] = count
        pieces = [self.full(shape, fill, array.dtype), array[tuple(kept)]]
        return self.concatenate(pieces if step > 0 else pieces[::-1], axis=axis)

    def picked_along(self, array: Array, index: Array, axis: int) -> Array:
        """The elements at an index along an axis; there are no others, and none is negative."""
        return self.take(array.reshape(-1), self.flat_places(index, array.shape, axis))

    def combined_along(
        self, name: str, array: Array, index: Array, values: Array, axis: int
    ) -> Array:
        """A copy of array into which add or its like takes values at an index along an axis."""
        places = self.flat_places(index, array.shape, axis).reshape(-1)
        flat = self._combined_at(name, array.reshape(-1), places, values.reshape(-1))
        return flat.reshape(array.shape)

    def written_along(self, array: Array, index: Array, values: Array, axis: int) -> Array:
        """A copy of array with values at an index along an axis; of several for one the last."""
        places = self.flat_places(index, array.shape, axis).reshape(-1)
        return self.updated(array.reshape(-1), places, values.reshape(-1)).reshape(array.shape)

    def added_along(self, values: Array, index: Array, axis: int, size: int) -> Array:
        """Zeros, `size` of them along an axis, with values added at an index along it."""
        shape = (*values.shape[:axis], size, *values.shape[axis + 1 :])
        return self.combined_along("add", self.zeros(shape, values.dtype), index, values, axis)

    def laid_along(self, values: Array, index: Array, axis: int, size: int) -> Array:
        """Zeros, `size` of them along an axis, with values at an index; of several the last."""
        shape = (*values.shape[:axis], size, *values.shape[axis + 1 :])
        places = self.flat_places(index, shape, axis).reshape(-1)
        flat = self.zeros((math.prod(shape),), values.dtype)
        return self.placed(flat, places, values.reshape(-1)).reshape(shape)

    def combine_along(
        self, name: str, array: Array, index: Array, values: Array, axis: int
    ) -> None:
        """The same in place, for libraries whose arrays can be changed."""
        array[...] = self.combined_along(name, array, index, values, axis)

    def flat_places(self, index: Array, shape: Shape, axis: int) -> Array:
        """Where what an index names along an axis lies in a flattened array of `shape`."""
        steps = ordered_strides(shape)
        total = index if self.are_indices(index) else index.astype("int64")
        if steps[axis] != 1:  # along the last one numbers are places already
            total = total * steps[axis]
        for d, step in enumerate(steps):
            if d != axis:
                across = (1,) * d + (-1,) + (1,) * (len(shape) - d - 1)
                total = total + self.arange(index.shape[d]).reshape(across) * step
        return total

    def exclusive_or(self, numbers: Array) -> Array:
        """The exclusive or of whole numbers along the last axis, of which there are some.

        Of other numbers, that of their bits as doubles.
        """
        if numbers.dtype.kind == "f":
            numbers = numbers.astype("float64").view("int64")
        while numbers.shape[-1] > 1:  # by halves
            half = numbers.shape[-1] // 2
            joined = numbers[..., :half] ^ numbers[..., half : 2 * half]
            numbers = self.concatenate([joined, numbers[..., 2 * half :]], axis=-1)
        return numbers[..., 0]

    def paths(self, log_probs: Array, labels: Array, lengths: Array, blank: int) -> Array | None:
        """The log sums over paths through states, see ctc.py; None where there is no loop."""
        return None

    def path_slopes(
        self,
        grad: Array,
        log_probs: Array,
        sums: Array,
        labels: Array,
        lengths: Array,
        target_lengths: Array,
        blank: int,
        impossible: float,
    ) -> Array | None:
        """The gradient of losses from the sums of their paths; None where there is no loop."""
        return None

    def has_loop(self, name: str, array: Array) -> bool:
        """Whether the library has one loop for what else takes several calls."""
        return False

    def window_maxima(self, images: Array, table: Any) -> tuple[Array, Array]:
        """The greatest of the places that each row of a table lists, and which place it is.

        There is one table for all rows of images, or one for each. It is the first of equals, and
        any NaN wins, the last of several.
        """
        places = self.asarray(table[..., 0])
        best = self._at(images, places)
        places = self.broadcast_to(places, best.shape)
        for number in range(1, table.shape[-1]):
            here = self.asarray(table[..., number])
            part = self._at(images, here)
            better = (part > best) | self.isnan(part)
            places, best = self.where(better, here, places), self.where(better, part, best)
        return best, self.copied(self.asarray(places, dtype="int64"), ordered=True)

    def window_maxima_from(
        self, images: Array, starts: Array, inner: tuple[int, ...]
    ) -> tuple[Array, Array]:
        """window_maxima of windows that begin at starts, with the places `inner` behind those."""
        return self.window_maxima(images, starts[..., None] + self.asarray(inner))

    def pooled_sums(self, images: Array, layout: "Layout") -> Array | None:
        """The sums of windows over (batch, channels, *sizes); None: to be done in steps."""
        return None

    def pooled_back(self, sums: Array, sizes: Shape, layout: "Layout") -> Array | None:
        """The gradient of pooled_sums, of images of `sizes`; None: to be done in steps."""
        return None

    def row_elements(self, rows: Array, columns: Array) -> Array:
        """The element of each row of a matrix in the column that is named for it."""
        return rows[self.arange(columns.shape[0]), columns]

    def firsts_of_runs(self, row: Array) -> Array | None:
        """The first of each run of equal elements; None: to be done in steps."""
        return None

    def _at(self, images: Array, places: Array) -> Array:
        """The elements at places, the same for all rows or others for each."""
        if places.ndim == 1:
            return self.take(images, places, axis=-1)
        return self.take_along_axis(images, places, axis=-1)

    def distinct(self, row: Array, placed: bool, counted: bool) -> tuple[Array, Any, Any]:
        """The distinct elements in order, where each went, and how many; None for unwanted ones."""
        options = {"return_inverse": placed, "return_counts": counted, "equal_nan": False}
        found = self.unique(row, **options)
        values, *more = found if placed or counted else (found,)
        return values, more[0] if placed else None, more[-1] if counted else None

    def sorted_values(self, array: Array, axis: int) -> Array:
        """The elements in order along an axis, NaN last; sooner where that needs no places."""
        return self.take_along_axis(array, self.argsort(array, axis=axis, stable=True), axis)

    def with_diagonal(self, matrices: Array, values: Array, offset: int) -> Array:
        """Matrices, fresh ones, with values on a diagonal of their last two dimensions."""
        count = self.arange(values.shape[-1])
        rows, columns = count + max(-offset, 0), count + max(offset, 0)
        return self.placed(matrices, (Ellipsis, rows, columns), values)

    def place_of_rank(self, array: Array, axis: int, rank: Array) -> Array:
        """Where along an axis, which is kept, elements of a rank lie; equals in their order."""
        order = self.argsort(array, axis=axis, stable=True)
        shape = (*array.shape[:axis], 1, *array.shape[axis + 1 :])
        return self.take_along_axis(order, self.broadcast_to(rank, shape), axis)

    def place_of_median(self, array: Array, axis: int, ignore_nan: bool) -> Array:
        """place_of_rank of the lower median; a NaN is that of all it is among, unless ignored."""
        count, unknown = array.shape[axis], self.isnan(array).sum(axis=axis, keepdims=True)
        if ignore_nan:
            rank = self.maximum(count - unknown - 1, 0) // 2
        else:
            rank = self.where(unknown > 0, count - unknown, (count - 1) // 2)
        return self.place_of_rank(array, axis, rank)

    def summed_rows(self, rows: Array, index: Array, count: int) -> Array:
        """A matrix of `count` rows, each the sum of those of `rows` whose index it is."""
        return self.added_at(self.zeros((count, rows.shape[1]), rows.dtype), index, rows)

    def regrouped_rows(self, rows: Array, sources: Array, targets: Array, count: int) -> Array:
        """A matrix of `count` rows: those of `rows` that sources name, summed where targets say."""
        return self.summed_rows(self.take(rows, sources, axis=0), targets, count)

    def rows_added(self, array: Array, index: Array, rows: Array) -> Array:
        """A copy of a matrix to whose rows, by their index, others are added."""
        return array + self.summed_rows(rows, index, array.shape[0])

    def mixed_rows(self, table: Array, numbers: Array, weights: Array) -> Array:
        """The weighted sums of the rows of a table that each row of numbers names."""
        return (self.take(table, numbers, axis=0) * weights[..., None]).sum(axis=1)

    def dealt_rows(self, rows: Array, numbers: Array, weights: Array, count: int) -> Array:
        """A table of `count` rows, to which each row is added, weighted, where numbers say."""
        terms = rows[:, None] * weights[..., None]
        return self.summed_rows(terms.reshape(-1, rows.shape[1]), numbers.reshape(-1), count)

    def matched_rows(self, table: Array, numbers: Array, rows: Array) -> Array:
        """The product of each row with those of a table that a row of numbers names."""
        found = self.take(table, numbers, axis=0)
        return self.matmul(found, rows[..., None]).reshape(numbers.shape)

    def sampled(self, images: Array, grid: Array, padding: str, align: bool) -> Array | None:
        """Images read between their pixels, see grid.py; None where there is no loop."""
        return None

    def sampled_back(
        self, grad: Array, images: Array, grid: Array, padding: str, align: bool
    ) -> tuple[Array, Array] | None:
        """The gradients of sampled by images and by grid; None where there is no loop."""
        return None

    def counted(self, numbers: Array, count: int) -> Array:
        """How often each whole number below `count` occurs; there are no others."""
        return self.bincount(numbers, minlength=count)

    def largest(self, numbers: Array, bound: int) -> int:
        """The largest of some whole numbers, or 0; `bound` where they have no values yet."""
        return int(self.max(numbers, initial=0))

    def squared_up(self, matrices: Array, often: Array) -> Array:
        """Square matrices times themselves, each so often."""
        for k in range(self.largest(often, 0)):
            square = self.matmul(matrices, matrices)
            matrices = self.where((often > k)[..., None, None], square, matrices)
        return matrices

    def how_many(self, mask: Array, axes: Any) -> Array:
        """How many of some truth values are true, along some axes or all."""
        return mask.sum(axis=axes, dtype="int64")

    def counted_along(self, index: Array, shape: Shape, axis: int) -> Array:
        """How often an index along an axis names each place of an array of `shape`."""
        places = self.flat_places(index, shape, axis).reshape(-1)
        return self.counted(places, math.prod(shape)).reshape(shape)

    def sparse_product(
        self, rows: Array, columns: Array, elements: Array, matrix: Array, count: int
    ) -> Array:
        """A matrix of `count` rows, that has elements where rows and columns say, times another."""
        return self.summed_rows(elements[:, None] * matrix[columns], rows, count)

    def row_sums(self, array: Array) -> Array:
        """The sum of each row of a matrix, as a column."""
        return array.sum(axis=1, keepdims=True)

    def sums_along(self, array: Array, axes: Any) -> Array:
        """The sums over some axes, which are kept."""
        return array.sum(axis=axes, keepdims=True)

    def squares_along(self, array: Array, axes: Any) -> Array:
        """The sums of squares over some axes, which are kept."""
        return self.sums_along(self.square(array), axes)

    def column_sums(self, array: Array) -> Array:
        """The sum over the rows of a matrix, or of each of many."""
        return array.sum(axis=-2)

    def row_shares(self, array: Array, parts: int) -> tuple[Array, Array, Array]:
        """Rows less their greatest; the log of each sum of e to that; softmax, divided by parts."""
        shifted = array - array.max(axis=1, keepdims=True)
        powers = self.exp(shifted)
        totals = self.row_sums(powers)
        shares = self.into(self.divide, powers, powers, totals * parts)
        return shifted, self.log(totals[:, 0]), shares

    def mean_class_losses(
        self, rows: Array, target: Array, ignored: int
    ) -> tuple[Array, Array] | None:
        """The mean cross entropy of rows and its gradient by rows; None where it takes steps."""
        return None

    def places_of(self, columns: Array, width: int) -> Array:
        """Where the element of each row that `columns` names lies among all of a matrix."""
        return self.arange(0, len(columns) * width, width) + columns

    def turned_product(self, array: Array, other: Array) -> Array:
        """The transpose of a matrix times another; of many as in matmul."""
        return self.matmul(array.swapaxes(-2, -1), other)

    def rows_product(self, array: Array, other: Array) -> Array:
        """A matrix times the transpose of another; of many as in matmul."""
        return self.matmul(array, other.swapaxes(-2, -1))

    def standardized(
        self, array: Array, weight: Any, bias: Any, axes: Any, eps: float
    ) -> tuple[Array, Array, Array]:
        """array with mean 0 and variance 1 over axes, scaled and shifted; its mean and variance."""
        if not array.size:
            nothing = self.sum(array, axis=axes, keepdims=True)
            return array, nothing, nothing
        centre = array.mean(axis=axes, keepdims=True)
        rest = array - centre
        spread = self.square(rest).mean(axis=axes, keepdims=True)
        return self.rescaled(rest, spread, weight, bias, eps), centre, spread

    def rescaled(self, rest: Array, spread: Array, weight: Any, bias: Any, eps: float) -> Array:
        """rest, a fresh array, divided by its deviation, times weight, plus bias."""
        out = self.into(self.multiply, rest, rest, 1 / self.sqrt(spread + eps))
        if weight is not None:
            out = self.into(self.multiply, out, out, weight)
        return out if bias is None else self.into(self.add, out, out, bias)

    def standardized_back(
        self,
        grads: Any,
        array: Array,
        weight: Any,
        mean: Array,
        variance: Array,
        axes: Any,
        eps: float,
    ) -> tuple[Array, Array, Array] | None:
        """The gradients of standardized, in few passes; None where there are no fewer."""
        return None

    def distances(self, array: Array, other: Array) -> Array:
        """The lengths of the differences of all rows of matrices from all rows of others."""
        apart = self.expand_dims(array, -2) - self.expand_dims(other, -3)
        return self.sqrt((apart * apart).sum(axis=-1))

    def above_diagonal(self, pairs: Array, count: int) -> Array:
        """Square matrices with these numbers above their diagonals, row after row; else zeros."""
        rows = self.arange(count)
        above = rows[:, None] < rows
        starts = (rows * (2 * count - rows - 1) // 2)[:, None]
        found = self.take(pairs, self.where(above, starts + rows - rows[:, None] - 1, 0), axis=-1)
        return self.where(above, found, self.zeros((), pairs.dtype))

    def pairs_above(self, matrices: Array) -> Array:
        """What is above the diagonals of square matrices, row after row."""
        rows = range(matrices.shape[-1])
        return self.concatenate([matrices[..., i, i + 1 :] for i in rows], axis=-1)

    def mirrored_pairs(self, pairs: Array, count: int) -> Array:
        """above_diagonal, with the same numbers below."""
        above = self.above_diagonal(pairs, count)
        return above + self.swapaxes(above, -2, -1)

    def wide_product(self, array: Array, other: Array) -> Array | None:
        """matmul of 16-bit floats in float32, to be rounded later; None where matmul will do."""
        return None

    def linear(self, input: Array, weight: Array, bias: Array | None) -> Array:
        """input @ weight.T + bias; bias may be None."""
        out = self.matmul(input, weight.T)
        return out if bias is None else self.into(self.add, out, out, bias)

    def solved_triangle(self, matrix: Array, side: Array, upper: bool, unit: bool) -> Array:
        """The solution of equations, reading one triangle; `unit`: its diagonal counts as ones."""
        part = self.triu(matrix) if upper else self.tril(matrix)
        if unit:
            ones = self.eye(matrix.shape[-1], dtype=bool)
            part = self.where(ones, self.asarray(1, matrix.dtype), part)
        return self.linalg.solve(*self.in_one_batch(part, side))

    def eigenvalues(self, matrix: Array) -> Array:
        """Those of square matrices; libraries that find them without the vectors do."""
        return self.linalg.eig(matrix)[0]

    def few_eigenpairs(
        self, matrix: Array, count: int, largest: bool
    ) -> tuple[Array, Array] | None:
        """Some eigenvalues at one end and their vectors; None where all have to be computed."""
        return None

    def in_one_batch(self, matrix: Array, side: Array) -> tuple[Array, Array]:
        """Both sides of equations with the same leading dimensions."""
        if matrix.shape[:-2] == side.shape[:-2]:
            return matrix, side
        batch = self.broadcast_shapes(matrix.shape[:-2], side.shape[:-2])
        return (
            self.broadcast_to(matrix, (*batch, *matrix.shape[-2:])),
            self.broadcast_to(side, (*batch, *side.shape[-2:])),
        )

    def solved(self, matrix: Array, side: Array) -> tuple[Array, Array]:
        """The solution of equations, NaN where a matrix is singular; and see zero_pivots."""
        pivots = self.zero_pivots(matrix)
        replaced = (pivots > 0)[..., None, None]
        regular = self.where(replaced, self.eye(matrix.shape[-1], dtype=matrix.dtype), matrix)
        found = self.linalg.solve(*self.in_one_batch(regular, side))
        unknown = self.asarray(float("nan"), dtype=matrix.dtype)
        return self.where(replaced, unknown, found), pivots

    def zero_pivots(self, matrix: Array) -> Array:
        """The first zero that Gauss meets in each matrix, from 1, or just 1; 0 in a regular one."""
        singular = self.linalg.slogdet(matrix)[0] == 0
        none = self.readable() and not self.any(singular)
        found = None if none or not matrix.shape[-1] else self.lu(matrix)
        if found is None:
            return self.asarray(singular, dtype="int32")
        first = self.argmax(self.diagonal(found[0], 0, -2, -1) == 0, axis=-1) + 1
        return self.where(singular, first, 0).astype("int32")

    def factored(self, matrix: Array, columns: int) -> tuple[Array, Array] | None:
        """What `solved_by` solves equations with so many right sides by; None: they are at once.

        Then a matrix is small, or singular, or the library keeps nothing of what it solves.
        """
        return None

    def solved_by(self, factors: tuple[Array, Array], side: Array, adjoint: bool) -> Array:
        """The solution of equations, or of those of the adjoint matrix, by what `factored` made.

        That is LAPACK's LU factors, turned, and its exchanges of rows from 0.
        """
        packed = self.swapaxes(factors[0], -2, -1)
        _, side = self.in_one_batch(packed, side)
        order = self.exchanged(factors[1] + 1, packed.shape[-1])
        places = (self.argsort(order, axis=-1) if adjoint else order)[..., None]
        places = self.broadcast_to(places, side.shape)
        if not adjoint:
            side = self.take_along_axis(side, places, axis=-2)
            side = self.solved_triangle(packed, side, upper=False, unit=True)
            return self.solved_triangle(packed, side, upper=True, unit=False)
        turned = self.conjugate(factors[0])
        side = self.solved_triangle(turned, side, upper=False, unit=False)
        side = self.solved_triangle(turned, side, upper=True, unit=True)
        return self.take_along_axis(side, places, axis=-2)

    def polynomial(self, name: str, place: Array, degree: Array, *more: float) -> Array | None:
        """A polynomial by degree, 0 for negative ones; None where the library has no loop for it.

        `name` and `more` are of a family: see loops/degrees.h.
        """
        return None

    def lu(self, array: Array) -> tuple[Array, Array] | None:
        """LAPACK's LU factorization, packed, and its pivots from 1; None where there is none."""
        return None

    def exchanged(self, pivots: Array, rows: int) -> Array:
        """The order of rows after each has changed places with the one that its pivot names."""
        places = self.arange(rows)
        order = self.broadcast_to(places, (*pivots.shape[:-1], rows))
        for k in range(pivots.shape[-1]):
            other = pivots[..., k][..., None] - 1
            moved = self.where(places == other, k, places)
            order = self.take_along_axis(order, self.where(places == k, other, moved), axis=-1)
        return order

    def ldl(self, array: Array, hermitian: bool) -> tuple[Array, Array, Array] | None:
        """LAPACK's LDL factorization of lower triangles, its pivots, and where D is zero, or 0."""
        return None

    def ldl_solution(
        self, packed: Array, pivots: Array, side: Array, hermitian: bool
    ) -> Array | None:
        """The solution by what `ldl` has found; None where there is no LAPACK."""
        return None

    @abstractmethod
    def convolve(self, images: Array, weight: Array, layout: "Layout") -> Array:
        """Each filter's product with each window of the images."""

    @abstractmethod
    def convolve_filters(self, images: Array, grad: Array, layout: "Layout") -> Array:
        """The gradient of convolve's filters."""

    @abstractmethod
    def convolve_back(self, grad: Array, weight: Array, sizes: Shape, layout: "Layout") -> Array:
        """The gradient of convolve's images, which are of `sizes`."""

    # ---- memory ----

    @abstractmethod
    def memory(self, array: Array) -> Memory | None:
        """Where an array lies; None in a library that does not let it be seen."""

    @abstractmethod
    def address(self, array: Array) -> int:
        """The address of an array's first element."""

    def strides_of(self, array: Array) -> Shape:
        """How far apart neighbours are, in elements; of hidden memory, as if all lay in order."""
        seen = self.memory(array)
        return ordered_strides(array.shape) if seen is None else seen.strides

    def is_contiguous(self, array: Array) -> bool:
        """Whether the elements lie in memory in the order of their indices."""
        return True

    def copied(self, array: Array, dtype: Any = None, ordered: bool = False) -> Array:
        """A copy as another type; `ordered`: in the order of the indices, not of the memory."""
        return self.array(array, dtype=dtype)

    def writable(self, shown: Array, source: Array) -> Array:
        """A view that may be written where its source may, though the library protects it."""
        return shown

    @abstractmethod
    def reshaped_view(self, array: Array, shape: Shape) -> Array:
        """array as another shape without a copy; ValueError if that can't be."""

    @abstractmethod
    def strided(self, array: Array, shape: Shape, strides: Shape, offset: int) -> Array:
        """A view of array's memory with strides and offset counted in elements."""


OWN_NAMES: Final = frozenset(name for name in vars(Namespace) if not name.startswith("_"))
