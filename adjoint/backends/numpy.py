"""NumPy: the default backend."""

import functools
import math
import os
from typing import Any

import numpy as np

from adjoint import dtypes
from adjoint.backends import Backend, Namespace, planes, register
from adjoint.backends.along import AlongKernels
from adjoint.backends.apart import FlatImages, is_apart
from adjoint.backends.convolution import Convolutions, Layout, turned
from adjoint.backends.error_state import quiet, quietly
from adjoint.backends.fourier import FourierKernels
from adjoint.backends.linear_algebra import LinearAlgebra
from adjoint.backends.loops import written
from adjoint.backends.mask_kernels import MaskKernels
from adjoint.backends.namespace import Memory, ordered_strides
from adjoint.backends.pairs import Pairs
from adjoint.backends.products import is_large, product
from adjoint.backends.rooms import address, pages, rooms_of
from adjoint.backends.row_kernels import RowKernels, shared_ones
from adjoint.backends.sampling import SamplingKernels
from adjoint.backends.searching import SearchKernels
from adjoint.backends.shared_rows import SharedRows
from adjoint.backends.special_kernels import SpecialKernels
from adjoint.backends.threads import (
    LEAST,
    NUMBERS,
    applied,
    helpers,
    row_parts,
    share,
    share_at_once,
    shared,
)
from adjoint.backends.turning import in_its_order, in_order, is_turned, room_like
from adjoint.device import CPU, device

SMALL = 16384  # elements that fit the first-level cache
BLOCK = 65536  # elements that fit the second-level cache, and are worth a call
_SUMMED = 8192  # numbers of a part of a sum
_PARTS = 4  # of numbers that are counted
_ROWS = 32  # whose products are worth a copy of the other matrix
_MANY = 8192  # elements from which bits are chosen faster than numbers
KEPT_BYTES = 256 << 20  # of freed blocks above 30 MB, for the next arrays of their sizes


def _ask_to_keep_pages() -> bool:
    """Have glibc keep freed memory; False where it is refused, or another library is in use."""
    name = "CS_GNU_LIBC_VERSION"
    glibc = name in getattr(os, "confstr_names", {}) and os.confstr(name)
    if not glibc or os.environ.get("ADJOINT_KEEP_PAGES") == "0":
        return False
    # A large block, freed and never touched, teaches glibc to keep pages for the next array: to get
    # new ones takes longer than most work on a megabyte. The heap may keep some 60 MB for it.
    np.empty(30 << 20, np.uint8)
    if pages is not None:  # the pure package leaves larger ones alone
        pages.keep(KEPT_BYTES)
    return True


_KEEPS_PAGES = _ask_to_keep_pages()


def keeps_pages() -> bool:
    """Whether glibc was asked to keep freed memory; ADJOINT_KEEP_PAGES=0 refuses it."""
    return _KEEPS_PAGES


# By the data type's letter: to hash a data type itself takes longer than most of what follows.
ZEROS = {kind: np.zeros((), kind) for kind in "fd"}
_USUAL = {kind: np.dtype(kind) for kind in "?bBhHiIlLqQefdFD"}  # the one object of each
_BITS = {"f": np.int32, "d": np.int64}  # whole numbers of the same size
# By the letters of both types: loops that take less than NumPy's time, and that threads share.
_CASTS = {
    pair: loop
    for pair, loop in (
        (("e", "f"), written("widened")),
        (("f", "e"), written("narrowed")),
        (("f", "d"), written("double")),
        (("d", "f"), written("single")),
        (("f", "l"), written("whole")),
        (("d", "l"), written("whole")),
    )
    if loop is not None
}


@functools.lru_cache(maxsize=64)
def _zeros(shape: tuple[int, ...], kind: str) -> Any:
    """Zeros to compare with; shared, so never written to."""
    return np.zeros(shape, kind)


@functools.lru_cache(maxsize=256)
def number_as_array(number: float, dtype: Any) -> Any:
    """A number as an array, over which NumPy takes less time; infinite if it is too large.

    Shared, so never written to.
    """
    with quiet():
        return np.asarray(number, dtype)


@functools.lru_cache(maxsize=64)
def _row_starts(count: int, width: int) -> Any:
    """Where each row of a matrix begins among all elements; shared, so never written to."""
    return np.arange(0, count * width, width)


def _can_mix(condition: Any, first: Any, second: Any) -> bool:
    """Whether to choose between bits: of one floating type, in the shape of the condition.

    One of the two may be a single number of the type.
    """
    if condition.dtype.char != "?":
        return False
    for one, other in ((first, second), (second, first)):
        if type(one) is np.ndarray and one.shape == condition.shape and one.dtype.char in ZEROS:
            if other is ZEROS[one.dtype.char]:
                return True
            if type(other) is not np.ndarray or one.dtype != other.dtype:
                return False
            return one.flags.c_contiguous if other.ndim == 0 else _same_order(one, other)
    return False


def _mixed(condition: Any, first: Any, second: Any) -> Any:
    """first where a condition holds and second elsewhere, by masks of ones and zeros."""
    array = second if first.ndim == 0 else first
    zero = ZEROS[array.dtype.char]
    out = room_like(array, dtype=array.dtype)
    whole = np.int32 if array.itemsize == 4 else np.int64
    bits = out.view(whole)
    bits[...] = condition.view(np.int8)
    if first is zero:  # where it holds: 1 becomes 0, 0 becomes all ones
        np.subtract(bits, 1, out=bits)
        np.bitwise_and(bits, second.view(whole), out=bits)
        return out
    np.negative(bits, out=bits)
    if second is zero:
        np.bitwise_and(bits, first.view(whole), out=bits)
        return out
    np.bitwise_and(bits, first.view(whole) ^ second.view(whole), out=bits)
    np.bitwise_xor(bits, second.view(whole), out=bits)
    return out


@functools.lru_cache(maxsize=8)
def _triangle_bits(function: Any, shape: tuple[int, int], k: int, whole: Any) -> Any:
    """All bits in one triangle and none elsewhere; shared, so never written to."""
    return function(np.full(shape, -1, whole), k)


def _triangle(array: Any, k: int, function: Any) -> Any:
    """One triangle of matrices, by NumPy's tril or triu."""
    whole = _BITS.get(array.dtype.char)
    if array.ndim < 2 or whole is None or math.prod(array.shape[-2:]) > BLOCK * 2:
        return function(array, k)
    bits = _triangle_bits(function, array.shape[-2:], k, whole)
    return np.bitwise_and(array.view(whole), bits).view(array.dtype)


def _total_of_parts(array: Any) -> Any:
    """The sum of a large vector, by sums of parts that threads share."""
    loop = written("row_sums")
    if loop is not None:
        whole = array.size // _SUMMED * _SUMMED
        parts = loop(array[:whole].reshape(-1, _SUMMED))
        if whole < array.size:
            parts = np.concatenate([parts, loop(array[whole:])[None]])
        return loop(parts)
    parts = row_parts(array.size, 1)
    sums = np.empty(len(parts), array.dtype)

    def compute(place: int) -> None:
        sums[place] = np.add.reduce(array[parts[place]])

    shared(compute, [*range(len(parts))], array.size)
    return np.add.reduce(sums)


def _same_order(array: Any, other: Any) -> bool:
    """Whether two arrays lie in memory element by element alike."""
    return (
        type(other) is np.ndarray
        and other.shape == array.shape
        and array.flags.c_contiguous
        and other.flags.c_contiguous
    )


def _row_peaks(array: Any) -> Any:
    """The greatest element of each row of a matrix, as a column."""
    if array.shape[1] <= 32:  # NumPy is fast along rows only if they are long
        return np.maximum.reduce(array.T.copy(), axis=0)[:, None]
    return np.maximum.reduce(array, axis=1, keepdims=True)


# Functions with poles, or that overflow soon. The others are called as they are: it is faster.
_WITH_POLES = (
    "divide", "true_divide", "floor_divide", "remainder", "fmod", "reciprocal", "float_power",
    "log", "log2", "log10", "log1p", "logaddexp", "logaddexp2", "sqrt", "exp",
    "exp2", "expm1", "sinh", "cosh", "tan", "arcsin", "arccos", "arccosh", "arctanh",
)  # fmt: skip
# Functions that change the error state themselves, in Python: a signal could leave it changed.
_WITH_STATES = ("isclose",)


def _divider() -> Any:
    """NumPy's division without warnings; into an array, by rows where a divisor is repeated."""
    plain = quietly(np.divide)

    def divide(array: Any, other: Any, out: Any = None, **options: Any) -> Any:
        if out is None or options:
            return plain(array, other, out=out, **options)
        repeated = type(other) is np.ndarray and 0 < other.ndim < out.ndim
        if repeated and applied(np.divide, array, other, out):
            return out
        return plain(array, other, out=out)

    divide.__wrapped__ = np.divide  # type: ignore[attr-defined]  # see quietly
    return divide


@functools.cache
def _linalg() -> Any:
    """Made when it is first used: NumPy imports its linear algebra then."""
    return LinearAlgebra()


class NumpyNamespace(
    AlongKernels,
    FourierKernels,
    MaskKernels,
    RowKernels,
    SamplingKernels,
    SearchKernels,
    SharedRows,
    SpecialKernels,
    Convolutions,
    Pairs,
    Namespace,
):
    """NumPy's functions, and the few that every backend must add."""

    holds_pairs = True

    def __init__(self, library: Any) -> None:
        super().__init__(library)
        # Copies: to look up an attribute takes twice as long in a class that has __getattr__.
        own = {name for kind in type(self).__mro__ for name in vars(kind)}
        self.__dict__.update({k: v for k, v in vars(library).items() if k not in own})
        for name in (*_WITH_POLES, *_WITH_STATES):
            setattr(self, name, quietly(getattr(library, name)))
        self.divide = self.true_divide = _divider()

    @property
    def linalg(self) -> Any:
        """NumPy imports it when it is first used, and so its copy can't be had before."""
        return _linalg()

    @property
    def random(self) -> Any:
        """See linalg."""
        return np.random

    def into(self, function: Any, target: Any, *args: Any) -> Any:
        if helpers.allowed < 2 or type(function) is not np.ufunc or args[0].size < BLOCK:
            return function(*args, out=target)
        # By threads however operands lie; NumPy would call a loop for each row.
        out = np.empty_like(args[0]) if target is None else target
        return out if applied(function, *args, out) else function(*args, out=target)

    def space(self, dtype: Any) -> Any:
        """See Convolutions; memory is kept, since pages that are new take longer than the work."""
        return rooms_of(dtype)

    def convolve(self, images: Any, weight: Any, layout: Layout) -> Any:
        space = self.space(images.dtype)
        if not layout.is_plain() and planes.fits(images, weight, layout):
            return planes.convolve(images, weight, layout, space)
        if not is_apart(layout, images.shape[1], weight.shape[0]):
            return super().convolve(images, weight, layout)
        return FlatImages(images, layout, space).convolve(weight)

    def convolve_filters(self, images: Any, grad: Any, layout: Layout) -> Any:
        space = self.space(images.dtype)
        if planes.fits(images, grad, layout):
            found = planes.convolve_filters(images, grad, layout, space)
            if found is not None:
                return found
        if not is_apart(layout, images.shape[1], grad.shape[1]):
            with quiet():
                return super().convolve_filters(images, grad, layout)
        with quiet():
            found = FlatImages(images, layout, space).filters(grad)
        return found.reshape(-1, 1, *layout.kernel)

    def convolve_back(self, grad: Any, weight: Any, sizes: Any, layout: Layout) -> Any:
        across = layout.adjoint()
        if not layout.is_plain() and planes.fits(grad, weight, across):
            bank = turned(np, weight, layout.groups)
            return planes.convolve(grad, bank, across, self.space(grad.dtype))
        if not is_apart(layout, grad.shape[1], weight.shape[1] * layout.groups):
            return super().convolve_back(grad, weight, sizes, layout)
        return self.convolve(grad, turned(np, weight, layout.groups), across)

    def in_blocks(self, function: Any, *arrays: Any) -> Any:
        first = arrays[0]
        fits = all(a.flags.c_contiguous and a.shape == first.shape for a in arrays)
        if not fits or first.size <= 2 * BLOCK:
            return function(*arrays)
        flat = [array.reshape(-1) for array in arrays]
        out = np.empty(first.shape, first.dtype)  # the only large array: the others stay in caches
        written = out.reshape(-1)
        for start in range(0, first.size, BLOCK):
            part = slice(start, start + BLOCK)
            written[part] = function(*[array[part] for array in flat])
        return out

    def total(self, array: Any) -> Any:
        kind = array.dtype
        if kind.char in "fd":
            if array.ndim == 1 and array.size <= 1024:  # see row_sums
                return array.dot(shared_ones(array.shape, kind.char))
            many = _MANY if written("row_sums") is not None else LEAST
            if array.size >= many and array.flags.c_contiguous:
                return _total_of_parts(array.reshape(-1))
            return np.add.reduce(array, axis=None)
        if kind.kind in "fV":
            return self.wide_total(array).astype(kind)
        return super().total(array)

    def wide_total(self, array: Any) -> Any:
        # Cast before: a sum would let NumPy cast it, in ten times the time.
        wide = self.copied(array, np.float32) if array.dtype.itemsize == 2 else array
        return np.add.reduce(wide, axis=None)

    def where(self, condition: Any, *choices: Any) -> Any:
        """NumPy's own, which takes half the time for arrays that it takes for a number.

        For many elements it is bits that are chosen: where NumPy branches, this takes a tenth.
        """
        if len(choices) != 2 or type(condition) is not np.ndarray:
            return np.where(condition, *choices)
        first, second = choices
        if type(second) is int and second == 0 and type(first) is np.ndarray:
            second = ZEROS.get(first.dtype.char, 0)
        elif type(first) is int and first == 0 and type(second) is np.ndarray:
            first = ZEROS.get(second.dtype.char, 0)
        if condition.size >= _MANY and _can_mix(condition, first, second):
            return _mixed(condition, first, second)
        return np.where(condition, first, second)

    def zeros_like(self, array: Any, dtype: Any = None) -> Any:
        """Zeros in the form of an array; NumPy's own takes six times as long for a small one."""
        if type(array) is np.ndarray and array.flags.c_contiguous:
            return np.zeros(array.shape, array.dtype if dtype is None else dtype)
        return np.zeros_like(array, dtype)

    def relu(self, array: Any, out: Any = None) -> Any:
        kind = array.dtype.char
        if (
            array.size < 256
            or array.size > SMALL
            or kind not in ZEROS
            or not array.flags.c_contiguous
        ):
            zero = ZEROS.get(kind, 0)
        else:
            zero = _zeros(array.shape, kind)  # of two arrays NumPy takes the maxima twice as fast
        return np.maximum(array, zero) if out is None else np.maximum(array, zero, out=out)

    def relu_back(self, grad: Any, result: Any) -> Any:
        # A zero of NumPy's own is compared in half the time.
        hit = result != ZEROS.get(result.dtype.char, 0)
        kind = grad.dtype.char
        if kind not in _BITS:
            return self.where(hit, grad, 0)
        # By bits: nothing times infinity is no number, and to choose takes ten times as long.
        return (grad.view(_BITS[kind]) * hit).view(grad.dtype)

    def complex_of(self, real: Any, imag: Any, kind: Any) -> Any:
        if kind.kind != "c":
            return super().complex_of(real, imag, kind)
        out = room_like(real, imag, dtype=kind)
        out[...] = real  # sooner done than the parts alone
        out.imag = imag
        return out

    def errstate(self, **kinds: str) -> Any:
        """Like NumPy's own, in whose Python code a signal could leave the state changed."""
        return quiet()

    def power(self, array: Any, exponent: Any, out: Any = None) -> Any:
        """array ** exponent; squares take half the time of powers."""
        if type(exponent) is int and exponent == 2:
            return np.square(array, out=out)
        with quiet():
            return np.power(array, exponent, out=out)

    def broadcast_to(self, array: Any, shape: Any) -> Any:
        """array repeated to `shape` without a copy; NumPy's own takes ten times as long."""
        if type(array) is np.ndarray and array.flags.c_contiguous and array.ndim <= len(shape):
            steps = [0] * (len(shape) - array.ndim)
            for own, wanted, step in zip(array.shape, shape[len(steps) :], array.strides):
                if own not in (1, wanted):
                    break
                steps.append(step if own == wanted else 0)
            if len(steps) == len(shape):
                return np.ndarray(shape, array.dtype, array, 0, tuple(steps))
        return np.broadcast_to(array, shape)

    def array(self, value: Any, dtype: Any = None, **options: Any) -> Any:
        """A copy; NumPy's own knows of one thread only."""
        if dtype is None and not options and type(value) is np.ndarray:
            return in_its_order(value)
        return np.array(value, dtype, **options)

    def nan_to_num(self, array: Any, **options: Any) -> Any:
        """NumPy's own, on a copy that lies as it should."""
        return np.nan_to_num(in_its_order(array), copy=False, **options)

    def ascontiguousarray(self, array: Any) -> Any:
        """NumPy's own, or a copy by threads."""
        if type(array) is not np.ndarray or array.flags.c_contiguous:
            return np.ascontiguousarray(array)
        return in_order(array)

    def reshape(self, array: Any, shape: Any) -> Any:
        """The method: NumPy's function, in Python, calls that after two others."""
        return array.reshape(shape)

    def swapaxes(self, array: Any, axis1: int, axis2: int) -> Any:
        """See reshape."""
        return array.swapaxes(axis1, axis2)

    def expand_dims(self, array: Any, axis: int) -> Any:
        """A view with another axis; NumPy's own, in Python, takes five times as long."""
        sizes = list(array.shape)
        sizes.insert(axis if axis >= 0 else axis + array.ndim + 1, 1)
        return array.reshape(sizes)

    def matmul(self, array: Any, other: Any) -> Any:
        """NumPy's product, in the type of its factors: it would widen bfloat16."""
        depth = array.ndim
        if array.dtype.char == "e" == other.dtype.char:  # BLAS has no such numbers
            wide = self.matmul(self.copied(array, np.float32), self.copied(other, np.float32))
            return self.copied(wide, np.float16)
        if other.ndim == 2:
            if depth == 2:
                if array.size >= SMALL and is_large(array, other):
                    return product(array, other)
                return array.dot(other)  # the method: faster to call than matmul, or than np.dot
            if depth > 2 and array.size:  # one product is faster than one a batch
                rows = self.matmul(array.reshape(-1, array.shape[-1]), other)
                return rows.reshape(*array.shape[:-1], other.shape[1])
        if depth > 2 < other.ndim and array.shape[-1] == 1 == other.shape[-2]:
            # Columns by rows: BLAS, called for each pair, takes three times as long or more.
            if array.dtype.char in "fd":
                return np.einsum("...ik,...kj->...ij", array, other, order="C")
            return np.multiply(array, other, order="C")
        if depth > 2 < other.ndim and array.shape[-2] >= _ROWS and is_turned(other):
            other = in_order(other)  # BLAS takes half as long again for small matrices that are not
        made = np.matmul(array, other, order="C")
        if array.dtype.kind == "V" and array.dtype == other.dtype != made.dtype:
            return made.astype(array.dtype)
        return made

    def wide_product(self, array: Any, other: Any) -> Any:
        if array.dtype.itemsize != 2 or array.dtype.kind in "iu":
            return None
        return self.matmul(self.copied(array, np.float32), self.copied(other, np.float32))

    def linear(self, input: Any, weight: Any, bias: Any) -> Any:
        if weight.ndim == 2 < input.ndim and input.size:  # one product is faster than one a batch
            rows = self.linear(input.reshape(-1, input.shape[-1]), weight, bias)
            return rows.reshape(*input.shape[:-1], weight.shape[0])
        if input.ndim != 2 or weight.ndim != 2:
            return super().linear(input, weight, bias)
        if input.size >= SMALL and is_large(input, weight.T):
            return product(input, weight.T, bias)
        if input.shape[0] > 64 or weight.shape[0] < 32:
            out = input.dot(weight.T)  # see matmul
        else:
            # OpenBLAS takes twice as long for a transposed weight as for these copies of few rows.
            out = weight.dot(input.T.copy()).T.copy()
        return out if bias is None else np.add(out, bias, out)

    def turned_product(self, array: Any, other: Any) -> Any:
        if array.ndim != 2 or other.ndim != 2 or array.dtype.char == "e":
            return self.matmul(array.swapaxes(-2, -1), other)
        return self.matmul(array.T, other)

    def rows_product(self, array: Any, other: Any) -> Any:
        if array.ndim != 2 or other.ndim != 2 or array.dtype.char == "e":
            return self.matmul(array, other.swapaxes(-2, -1))
        if len(array) <= 64:  # see linear
            return other.dot(array.T.copy()).T.copy()
        return self.matmul(array, other.T)

    def row_shares(self, array: Any, parts: int) -> tuple[Any, Any, Any]:
        shifted = array - _row_peaks(array)
        powers = np.exp(shifted)  # of nothing positive: it can't overflow, and sums are 1 or more
        totals = self.row_sums(powers)
        return shifted, np.log(totals[:, 0]), np.divide(powers, totals * parts, powers)

    def row_elements(self, rows: Any, columns: Any) -> Any:
        if not rows.flags.c_contiguous:
            return super().row_elements(rows, columns)
        return rows.reshape(-1).take(self.places_of(columns, rows.shape[1]))

    def places_of(self, columns: Any, width: int) -> Any:
        return _row_starts(len(columns), width) + columns

    def add_scaled(self, array: Any, other: Any, factor: Any) -> None:
        if factor == 1:
            np.add(array, other, array)
            return
        if type(factor) is float and array.dtype.char in "fd":
            factor = number_as_array(factor, array.dtype)
        if array.size <= 2 * BLOCK or not _same_order(array, other):
            np.add(array, np.multiply(other, factor), array)
            return
        # Block by block: the products stay in the cache, and no large array is made for them.
        sums, terms = array.reshape(-1), other.reshape(-1)
        products = np.empty(BLOCK, array.dtype)
        for start in range(0, array.size, BLOCK):
            part = sums[start : start + BLOCK]
            product = np.multiply(terms[start : start + BLOCK], factor, out=products[: part.size])
            np.add(part, product, out=part)

    def lowered(self, array: Any, index: Any, by: Any) -> Any:
        array[index] -= number_as_array(by, array.dtype)
        return array

    def written(self, array: Any, index: Any, function: Any, *args: Any) -> Any:
        function(*args, out=array[index])
        return array

    def how_many(self, mask: Any, axes: Any) -> Any:
        if axes is None:  # by bits, in a third of the time of a sum
            return np.asarray(np.count_nonzero(mask), np.int64)
        return super().how_many(mask, axes)

    def bincount(self, numbers: Any, weights: Any = None, minlength: int = 0) -> Any:
        """NumPy's own, or a loop: each part of the numbers is counted by itself."""
        loop = written("counts")
        if loop is None or weights is not None or not _MANY <= numbers.size < 1 << 31:
            return np.bincount(numbers, weights, minlength)
        count = int(numbers.max()) + 1
        parts = _PARTS if numbers.size >= LEAST >> 2 else 1
        if numbers.dtype != np.int64 or parts * count > numbers.size or numbers.min() < 0:
            return np.bincount(numbers, None, minlength)
        table = np.zeros((parts, max(count, minlength)), np.int64)
        width = numbers.size // parts
        loop(numbers[: parts * width].reshape(parts, width), out=table[:, :count])
        found = np.add.reduce(table, axis=0)
        np.add.at(found, numbers[parts * width :], 1)
        return found

    def pad(self, array: Any, pad_width: Any, constant_values: Any = 0) -> Any:
        """array with a number around it; NumPy's own finds out about each side by itself."""
        sizes = [n + sum(extra) for n, extra in zip(array.shape, pad_width, strict=True)]
        out = np.full(sizes, constant_values, array.dtype)
        starts = [before for before, _ in pad_width]
        out[tuple(slice(s, s + n) for s, n in zip(starts, array.shape))] = array
        return out

    def tril(self, array: Any, k: int = 0) -> Any:
        """NumPy's own, by bits where it can be."""
        return _triangle(array, k, np.tril)

    def triu(self, array: Any, k: int = 0) -> Any:
        """See tril."""
        return _triangle(array, k, np.triu)

    def raised(self, array: Any, index: Any, by: Any) -> Any:
        part = array[index]
        np.add(part, by, out=part)
        return array

    def readable(self, waiting: bool = False) -> bool:
        return True

    def all_below(self, numbers: Any, size: int) -> bool:
        if 0 in numbers.strides and numbers.size:  # repeated ones need not be asked again
            numbers = numbers[tuple([slice(None if s else 1) for s in numbers.strides])]
        # As unsigned numbers, the negative are very large.
        below = numbers.view(np.uint64) < size
        return bool(0 < numbers.size == np.count_nonzero(below))  # sooner found than a maximum

    def _on_host(self, array: Any) -> Any:
        return array

    def drawn(self, draw: Any, shape: Any, *parameters: Any) -> Any:
        return draw(shape, *parameters)  # which are where it needs them

    def memory(self, array: Any) -> Memory:
        owner, size = array, array.itemsize
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        strides = tuple([step // size for step in array.strides])
        return Memory(
            owner,
            0 if owner is array else (address(array) - address(owner)) // size,
            strides if array.size else ordered_strides(array.shape),
            owner.nbytes // size,
        )

    def address(self, array: Any) -> int:
        return address(array)

    def strides_of(self, array: Any) -> tuple[int, ...]:
        if not array.size:
            return ordered_strides(array.shape)
        size = array.itemsize
        return tuple([step // size for step in array.strides])

    def is_contiguous(self, array: Any) -> bool:
        ordered: bool = array.flags.c_contiguous
        return ordered

    def copied(self, array: Any, dtype: Any = None, ordered: bool = False) -> Any:
        if not ordered and 0 in array.strides:  # which has no place of its own in memory
            array = in_its_order(array)
            if dtype is None or array.dtype == dtype:
                return array
        order: Any = "C" if ordered else "K"
        loop = None if dtype is None else _CASTS.get((array.dtype.char, np.dtype(dtype).char))
        if loop is not None and array.size >= _MANY:
            return loop(array, order=order)
        if dtype is None or array.dtype == dtype:
            return in_order(array) if order == "C" else in_its_order(array)
        return np.array(array, dtype=dtype, order=order)

    def writable(self, shown: Any, source: Any) -> Any:
        if not shown.flags.writeable and source.flags.writeable:
            shown.flags.writeable = True
        return shown

    def reshaped_view(self, array: Any, shape: Any) -> Any:
        return np.reshape(array, shape, copy=False)

    def strided(self, array: Any, shape: Any, strides: Any, offset: int) -> Any:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if not owner.flags.c_contiguous:  # in the order of its memory, which it has to itself
            owner = owner.transpose(np.argsort(owner.strides, kind="stable")[::-1])
        return np.ndarray(
            shape,
            array.dtype,
            owner,
            offset * array.itemsize,
            tuple(s * array.itemsize for s in strides),
        )


def _is_dense(array: Any) -> bool:
    """Whether the elements of an array lie side by side, in any order of its dimensions."""
    if array.flags.forc:
        return True
    expected = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


class NumpyBackend(Backend):
    """Arrays in main memory."""

    name = "numpy"
    libraries = ("numpy", "scipy")
    device_type = "cpu"
    array_type = np.ndarray
    xp = NumpyNamespace(np)

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        return np.asarray(value, dtype=numpy_dtype)

    def to_numpy(self, array: Any) -> Any:
        return array

    def from_numpy(self, array: Any, where: device) -> Any:
        usual = _USUAL.get(array.dtype.char)
        if usual is None or array.dtype is usual or array.dtype != usual:
            return array
        # An unpickled array has a data type object of its own, by which no call would know it.
        return np.asarray(array, usual)

    def device(self, array: Any) -> device:
        return CPU

    def overlap(self, written: Any, read: Any) -> bool:
        """Whether two dense arrays of this library share some of their memory."""
        if type(written) is not np.ndarray or type(read) is not np.ndarray:
            return False
        return np.may_share_memory(written, read) and _is_dense(written) and _is_dense(read)

    def partly_overlap(self, written: Any, read: Any) -> bool:
        """Whether two dense arrays share some of their memory, but not all in the same places."""
        if not self.overlap(written, read):
            return False
        same = written.shape == read.shape and written.strides == read.strides
        return not same or address(written) != address(read)

    def copy(self, array: Any) -> Any:
        return in_order(array)


_ELEMENTWISE = {f for f in vars(np).values() if isinstance(f, np.ufunc) and not f.signature}
share(_ELEMENTWISE - {np.power, np.divide})
share_at_once(np.divide, NUMBERS)
share([np.power], "efdFD")  # of integers it may raise an error, in the thread that computes
share([np.matmul, np.vecdot], "fd", most=1 << 12)  # larger products BLAS shares by itself

numpy_backend = NumpyBackend()
host = numpy_backend.xp  # for what is done in main memory whatever library holds the tensors
register(numpy_backend, np.ndarray)
for _dtype in dtypes.ALL:
    register(numpy_backend, _dtype.numpy_dtype.type)
