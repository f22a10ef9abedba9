"""All that ops may ask of an array library: the `xp` that a forward gets.

Most are functions of NumPy, by NumPy's names and signatures, listed first. The others are methods
of `Namespace`: what NumPy lacks or says in several calls, and what libraries do differently. Those
that are abstract each library must answer; the rest have a plain form here, and a library that
knows a faster one overrides it in its own file. An op never asks which library it runs on.
"""

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
    not_equal positive power real reciprocal remainder right_shift round sign signbit sin sinh sqrt
    square subtract tan tanh trunc vectorize where
"""
REDUCTIONS: Final = """
    all any argmax argmin bincount cumprod cumsum max prod sum trace
"""
SHAPES: Final = """
    broadcast_arrays broadcast_shapes broadcast_to concatenate diagonal expand_dims flip moveaxis
    pad repeat reshape roll rot90 squeeze stack swapaxes tile transpose
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

    @abstractmethod
    def updated(self, array: Array, index: Any, values: Array) -> Array:
        """A copy of array with array[index] = values."""

    @abstractmethod
    def added_at(self, array: Array, index: Any, values: Array) -> Array:
        """A copy of array with values added at index, repeated places counted."""

    @abstractmethod
    def combined_at(self, name: str, array: Array, index: Any, values: Array) -> Array:
        """A copy of array into which add, multiply, maximum or minimum takes values at index."""

    def lowered(self, array: Array, index: Any, by: Array) -> Array:
        """array, a fresh one, with `by` subtracted at an index that names no place twice."""
        return self.added_at(array, index, -by)

    def raised(self, array: Array, index: Any, by: Array) -> Array:
        """array, a fresh one, with `by` added at an index of slices."""
        return self.added_at(array, index, by)

    def written(
        self, array: Array, index: Any, function: Callable[..., Array], *args: Any
    ) -> Array:
        """array, a fresh one, with function(*args) at an index of slices."""
        return self.updated(array, index, function(*args))

    def into(self, function: Callable[..., Array], target: Array, *args: Any) -> Array:
        """function(*args), in the memory of `target`, a fresh array, where the library can."""
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
        return grad * (result != 0)

    def power_before(self, array: Array, exponent: Any, power: Array) -> Array:
        """array ** (exponent - 1), where power is array ** exponent."""
        found = self.power(array, exponent - 1)
        if found.shape == power.shape:
            return found
        return self.array(self.broadcast_arrays(found, power)[0])  # power may be of a batch

    @abstractmethod
    def special(self, name: str) -> Callable[..., Array]:
        """An elementwise function by scipy.special's name; an ImportError if there is none."""

    # ---- sums and products ----

    def tanh_back(self, slope: Array, output: Array) -> Array:
        """slope times the derivative of tanh, given its output."""
        return slope - slope * (output * output)

    def total(self, array: Array) -> Array:
        """The sum of all elements, integers in 64 bits."""
        kind = "int64" if array.dtype.kind in "biu" else array.dtype
        return array.sum(dtype=kind)

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

    def place_of_rank(self, array: Array, axis: int, rank: Array) -> Array:
        """Where along an axis, which is kept, elements of a rank lie; equals in their order."""
        order = self.argsort(array, axis=axis, stable=True)
        shape = (*array.shape[:axis], 1, *array.shape[axis + 1 :])
        return self.take_along_axis(order, self.broadcast_to(rank, shape), axis)

    def summed_rows(self, rows: Array, index: Array, count: int) -> Array:
        """A matrix of `count` rows, each the sum of those of `rows` whose index it is."""
        return self.added_at(self.zeros((count, rows.shape[1]), rows.dtype), index, rows)

    def mixed_rows(self, table: Array, numbers: Array, weights: Array) -> Array:
        """The weighted sums of the rows of a table that each row of numbers names."""
        return (self.take(table, numbers, axis=0) * weights[..., None]).sum(axis=1)

    def dealt_rows(self, rows: Array, numbers: Array, weights: Array, count: int) -> Array:
        """A table of `count` rows, to which each row is added, weighted, where numbers say."""
        terms = rows[:, None] * weights[..., None]
        return self.summed_rows(terms.reshape(-1, rows.shape[1]), numbers.reshape(-1), count)

    def counted(self, numbers: Array, count: int) -> Array:
        """How often each whole number below `count` occurs; there are no others."""
        return self.bincount(numbers, minlength=count)

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

    def linear(self, input: Array, weight: Array, bias: Array | None) -> Array:
        """input @ weight.T + bias; bias may be None."""
        out = self.matmul(input, weight.T)
        return out if bias is None else self.into(self.add, out, out, bias)

    def lu(self, array: Array) -> tuple[Array, Array] | None:
        """LAPACK's LU factorization, packed, and its pivots from 1; None where there is none."""
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
