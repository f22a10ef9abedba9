"""The loops that are written by hand, against NumPy: odd sizes, strides, NaN and infinities."""

import math
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.backends import planes, standardizing
from adjoint.backends.convolution import Convolutions, Layout
from adjoint.backends.error_state import ufunc_of
from adjoint.backends.loops import compiled, written
from adjoint.backends.namespace import Namespace
from adjoint.backends.numpy import numpy_backend
from adjoint.backends.turning import in_order, turned_into
from adjoint.ops.op import TABLE

pytestmark = pytest.mark.skipif(written("running_sum") is None, reason="the package is pure")

needs_vectors = pytest.mark.skipif(written("planes") is None, reason="vectors are too short")
KINDS = [np.float32, np.float64]
SHAPES = [(1,), (7,), (3, 1), (9, 33), (17, 300), (2, 5, 11)]
PLAIN = numpy_backend.xp


def loop(name: str) -> Any:
    """A loop that must be there."""
    found = written(name)
    assert found is not None, name
    return found


def close(found: Any, expected: Any, kind: Any) -> None:
    """Equal up to rounding, NaN and infinities included."""
    assert found.dtype == expected.dtype
    limit = 2e-5 if kind is np.float32 else 1e-12
    np.testing.assert_allclose(found, expected, rtol=limit, atol=limit)


def arrays(shape: Any, kind: Any, special: bool = True) -> list[Any]:
    """An array in its order, every second element of a wider one, and one turned around."""
    rng = np.random.default_rng(math.prod(shape))
    wide = rng.normal(size=(*shape[:-1], 2 * shape[-1])).astype(kind)
    if special and shape[-1] > 6:
        wide[..., 2], wide[..., 4], wide[..., 6] = np.inf, -np.inf, np.nan
    even = wide[..., ::2]
    return [np.ascontiguousarray(even), even, even[..., ::-1], np.asfortranarray(even)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_running(shape: Any, kind: Any) -> None:
    with np.errstate(all="ignore"):
        for array in arrays(shape, kind):
            for axis in range(array.ndim):
                sums = loop("running_sum")(array, axis=axis)
                np.testing.assert_array_equal(sums, np.cumsum(array, axis=axis))
                products = loop("running_product")(array, axis=axis)
                np.testing.assert_array_equal(products, np.cumprod(array, axis=axis))
                logs = loop("running_logaddexp")(array, axis=axis)
                close(logs, np.logaddexp.accumulate(array, axis=axis), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_extremes(shape: Any, kind: Any) -> None:
    for array in arrays(shape, kind):
        rounded = np.round(array)  # so that some are equal
        for axis in range(array.ndim):
            for greatest in (True, False):
                values, places = PLAIN.running_extreme(rounded, axis, greatest)
                expected = Namespace.running_extreme(PLAIN, rounded, axis, greatest)
                np.testing.assert_array_equal(values, expected[0])
                np.testing.assert_array_equal(places, expected[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_extremes_of_long_rows(kind: Any, direction: int) -> None:
    """Ones that no element is better for a while, or each is, with NaN among them."""
    rng = np.random.default_rng(0)
    for width in (15, 16, 17, 100, 257):
        array = (rng.normal(size=(5, width)) + direction * np.arange(width)).astype(kind)
        array[1, 5], array[2, width // 2], array[3, -1] = np.nan, np.inf, -np.inf
        for greatest in (True, False):
            found = PLAIN.running_extreme(array, 1, greatest)
            expected = Namespace.running_extreme(PLAIN, array, 1, greatest)
            for own, plain in zip(found, expected, strict=True):
                np.testing.assert_array_equal(own, plain)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1, 2, 31, 32, 33, 64, 100, 1023, 1024, 1055, 1056, 3000])
def test_folds(width: int, kind: Any) -> None:
    """Rows, and columns, joined to one number: all elements once, in any order of memory."""
    with np.errstate(all="ignore"):
        for special in (False, True):
            for array in arrays((3, width), kind, special):
                wide = array.astype(np.longdouble)
                sizes = np.abs(wide[np.isfinite(wide)])
                limit = 4 * np.finfo(kind).eps * (1 + float(sizes.sum()))
                for name, expected in (("row_sums", wide.sum(1)), ("column_sums", wide.sum(0))):
                    if name == "column_sums" and kind is np.float64:
                        continue  # which are left to NumPy
                    found = loop(name)(array)
                    assert found.dtype == kind
                    np.testing.assert_allclose(found, expected.astype(kind), rtol=0, atol=limit)
                near = np.where(np.isfinite(array), 1 + array / 100, array).astype(np.float32)
                expected = near.astype(np.longdouble).prod(1).astype(np.float32)
                close(loop("row_products")(near), expected, np.float32)
        whole = np.random.default_rng(width).integers(-(1 << 62), 1 << 62, size=(3, 2 * width))
        for numbers in (whole, whole[:, ::2], whole[:, ::-1]):
            expected = np.bitwise_xor.reduce(numbers, axis=1)
            np.testing.assert_array_equal(loop("row_differences")(numbers), expected)
        for given in arrays((3, width), np.float32, True):
            bits = given.astype(np.float64).view(np.int64)
            expected = np.bitwise_xor.reduce(bits, axis=1)
            np.testing.assert_array_equal(loop("row_differences")(given), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(40_001,), (1, 40_000), (300, 129), (129, 300), (1025, 257)])
def test_sums_by_parts(shape: Any, kind: Any) -> None:
    """What is summed by a loop in parts: nothing is left out, or taken twice."""
    array = np.random.default_rng(0).normal(size=shape).astype(kind)
    limit = 1e-3 if kind is np.float32 else 1e-10
    exact = array.astype(np.longdouble)
    np.testing.assert_allclose(PLAIN.total(array), float(exact.sum()), atol=limit)
    if array.ndim > 1:
        for axis in (0, 1):
            found = PLAIN.sums_along(array, (axis,))
            expected = exact.sum(axis, keepdims=True).astype(kind)
            np.testing.assert_allclose(found, expected, atol=limit)
    bits = array.reshape(-1).astype(np.float64).view(np.int64)
    assert PLAIN.exclusive_or(bits) == np.bitwise_xor.reduce(bits)
    assert PLAIN.exclusive_or(array.reshape(-1)) == np.bitwise_xor.reduce(bits)
    assert Namespace.exclusive_or(PLAIN, array.reshape(-1)) == np.bitwise_xor.reduce(bits)
    one = 1 + array / 1000
    found = PLAIN.prod(one, axis=one.ndim - 1, keepdims=True)
    close(found, np.prod(one.astype(np.float64), axis=-1, keepdims=True).astype(kind), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_recurrence(shape: Any, kind: Any) -> None:
    for array in arrays(shape, kind, special=False):
        factor = np.cos(array)
        for axis in range(array.ndim):
            for step in (1, -1):
                found = PLAIN.recurrence(array, factor, axis, step)
                expected = Namespace.recurrence(PLAIN, array, factor, axis, step)
                limit = 2e-5 if kind is np.float32 else 1e-12
                np.testing.assert_allclose(found, expected, rtol=limit, atol=limit)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_places(shape: Any, kind: Any) -> None:
    rng = np.random.default_rng(0)
    for array in arrays(shape, kind):
        for axis in range(array.ndim):
            index = rng.integers(0, array.shape[axis], size=shape)
            found = PLAIN.picked_along(array, index, axis)
            np.testing.assert_array_equal(found, np.take_along_axis(array, index, axis))
            for name in ("add", "multiply", "maximum", "minimum"):
                expected = Namespace.combined_along(PLAIN, name, array, index, array, axis)
                taken = PLAIN.combined_along(name, array, index, array, axis)
                close(taken, expected, kind)
                changed = np.array(array, order="C")
                PLAIN.combine_along(name, changed, index, changed, axis)  # by its own elements
                close(changed, expected, kind)
            expected = Namespace.written_along(PLAIN, array, index, -array, axis)
            found = PLAIN.written_along(array, index, -array, axis)
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows(kind: Any, name: str) -> None:
    rng = np.random.default_rng(0)
    for array in arrays((9, 33), kind):
        numbers = rng.integers(0, 9, size=14)
        rows = rng.normal(size=(14, 66)).astype(kind)[:, ::2]
        expected = np.array(array)
        getattr(np, name).at(expected, numbers, rows)
        close(loop(f"rows_{name}")(numbers, rows, out=np.array(array)), expected, kind)
        index = np.broadcast_to(numbers[:, None], rows.shape)
        close(PLAIN.combined_along(name, array, index, rows, 0), expected, kind)


def test_a_wrong_index_is_refused_or_left_to_numpy() -> None:
    x = adjoint.zeros(3, 4)
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.gather(1, adjoint.full((3, 4), 4))
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.scatter_add(1, adjoint.full((3, 4), -1), x)
    array = np.arange(4.0)
    np.testing.assert_array_equal(
        PLAIN.added_at(array, np.array([-1, -1]), np.ones(2)), [0, 1, 2, 5]
    )
    with pytest.raises(IndexError):
        PLAIN.added_at(array, np.array([4]), np.ones(1))


@pytest.mark.parametrize("shape", SHAPES)
def test_shifts(shape: Any) -> None:
    rng = np.random.default_rng(0)
    numbers = rng.integers(-(1 << 62), 1 << 62, size=(*shape[:-1], 2 * shape[-1]))
    places = rng.integers(-3, 70, size=shape)
    even = numbers[..., ::2]
    for array in (even, even.copy(), even[..., ::-1], np.asfortranarray(even)):
        for other in (places, places[..., :1], places[..., ::-1], np.asarray(65), np.asarray([5])):
            for name, rows in (("left_shift", "shifted_up"), ("right_shift", "shifted_down")):
                expected = getattr(np, name)(array, other)
                np.testing.assert_array_equal(getattr(PLAIN, name)(array, other), expected)
                if other.shape[-1:] == (1,):
                    np.testing.assert_array_equal(loop(rows)(array, other[..., 0]), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 5, 64, 65, 131])
def test_triangles(size: int, kind: Any) -> None:
    rng = np.random.default_rng(size)
    whole = (rng.normal(size=(3, size, size)) / size + 2 * np.eye(size)).astype(kind)
    for side in (rng.normal(size=(3, size, 4)), rng.normal(size=(size, 1))):
        side = side.astype(kind)
        for matrix in (whole, whole.swapaxes(1, 2)):
            for upper in (False, True):
                for unit in (False, True):
                    found = PLAIN.solved_triangle(matrix, side, upper, unit)
                    expected = Namespace.solved_triangle(PLAIN, matrix, side, upper, unit)
                    close(found, expected, kind)


def test_a_zero_on_the_diagonal_is_infinite() -> None:
    matrix, side = adjoint.tensor([[0.0, 0.0], [0.0, 2.0]]), adjoint.ones(2, 1)
    found = adjoint.linalg.solve_triangular(matrix, side, upper=True)
    assert found.tolist() == [[np.inf], [0.5]]


@pytest.mark.parametrize("kind", KINDS)
def test_degrees(kind: Any) -> None:
    rng = np.random.default_rng(0)
    place = np.concatenate([rng.uniform(-1.5, 1.5, 700), [1, -1, 0, np.nan]]).astype(kind)
    degree = rng.uniform(-2, 9, 704).astype(kind)
    pairs = {
        "chebyshev_t": lambda x, n: np.polynomial.chebyshev.chebval(x, one(n)),
        "legendre": lambda x, n: np.polynomial.legendre.legval(x, one(n)),
        "hermite_h": lambda x, n: np.polynomial.hermite.hermval(x, one(n)),
        "hermite_he": lambda x, n: np.polynomial.hermite_e.hermeval(x, one(n)),
        "laguerre": lambda x, n: np.polynomial.laguerre.lagval(x, one(n)),
    }
    for name, function in pairs.items():
        more = (0.0,) if name == "laguerre" else ()
        found = loop(name)(place, degree, *more)
        wide = place.astype(np.float64)
        expected = [function(x, int(n)) if n > -1 else 0.0 for x, n in zip(wide, degree)]
        close(found, np.array(expected).astype(kind), kind)


def one(degree: int) -> Any:
    """The coefficients of a single polynomial."""
    return [0.0] * degree + [1.0]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_powers(kind: Any) -> None:
    special = pytest.importorskip("scipy.special")
    places = np.array([0.01, 0.5, 1, 2.5, 9, 100, 1e6]).astype(kind)
    limit = 1e-6 if kind is np.float32 else 1e-13
    for order in (2, 3, 7, 13):
        found = PLAIN.special("zeta")(float(order), places)
        expected = special.zeta(order, places.astype(np.float64))
        np.testing.assert_allclose(found, expected.astype(kind), rtol=limit)
    below = np.array([-0.5, 2.0]).astype(kind)
    np.testing.assert_array_equal(PLAIN.special("zeta")(2.0, below), special.zeta(2.0, below))


def wide_numbers(count: int) -> Any:
    """Floats of all sizes and both signs, and those that no formula is for."""
    rng = np.random.default_rng(count)
    sizes = 2.0 ** rng.uniform(-14, 7, count)
    signs = np.where(rng.random(count) < 0.5, -1, 1)
    odd = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38]
    return np.concatenate([sizes * signs, odd]).astype(np.float32)


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1", "erfcx", "log_ndtr", "airy"])
@pytest.mark.parametrize("count", [1, 700, 20_000])
def test_pieces(name: str, count: int) -> None:
    """Within 1.5 units of the last place of the largest value nearby, and SciPy's own elsewhere."""
    scipy = pytest.importorskip("scipy.special")
    numbers = wide_numbers(count)
    for given in (numbers, numbers[::-2], np.stack([numbers, -numbers]).T):
        if name == "airy":
            found, exact = PLAIN.airy(given, False), scipy.airy(given.astype(np.float64))[0]
        else:
            found, exact = (
                PLAIN.special(name)(given),
                getattr(scipy, name)(given.astype(np.float64)),
            )
        assert found.dtype == np.float32
        assert found.shape == given.shape
        with np.errstate(all="ignore"):
            rounded = exact.astype(np.float32)
            near = np.abs(given) * 2.0**-7  # a zero may lie within a piece
            step = np.spacing(np.maximum(np.abs(rounded), np.minimum(near, 1)))
        np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
        np.testing.assert_array_equal(np.isinf(found), np.isinf(rounded))
        usual = np.isfinite(rounded)
        assert np.all(np.abs(found[usual] - exact[usual]) <= 1.5 * step[usual])


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma(name: str) -> None:
    scipy = pytest.importorskip("scipy.special")
    exact_function = getattr(scipy, name)
    rng = np.random.default_rng(0)
    odd = np.array([0, -1, np.inf, np.nan, 1e-30, 1, 16, 17, 40, 41, 300], np.float32)
    order = np.concatenate([rng.uniform(0, 20, 3000).astype(np.float32), np.repeat(odd, len(odd))])
    near = order[:3000] * rng.uniform(0, 2, 3000) + rng.uniform(0, 3, 3000)
    place = np.concatenate([near.astype(np.float32), np.tile(odd, len(odd))])
    for a, x in ((order, place), (order[::-3], place[::-3]), (order[:, None], place[:5])):
        found, exact = PLAIN.special(name)(a, x), exact_function(a.astype(np.float64), x)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, exact, rtol=2e-7, atol=1e-37)
    assert loop(name)(np.float32(2), np.float32(1)) == np.float32(exact_function(2, 1))
    assert PLAIN.special(name)(order[0].reshape(()), place[0].reshape(())).shape == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(8,), (3, 9), (40, 256), (5, 1030)])
def test_standardized_rows(shape: Any, kind: Any) -> None:
    rng = np.random.default_rng(0)
    for array in arrays(shape, kind, special=False):
        weight, bias = rng.normal(size=(2, shape[-1])).astype(kind)
        axes = (array.ndim - 1,)
        found = PLAIN.standardized(array, weight, bias, axes, 1e-5)
        expected = Namespace.standardized(PLAIN, array, weight, bias, axes, 1e-5)
        for one_of, other in zip(found, expected, strict=True):
            close(one_of, other, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_windows(kind: Any) -> None:
    rng = np.random.default_rng(0)
    images = np.round(rng.normal(size=(2, 3, 20))).astype(kind)
    images[0, 0, 5] = np.nan
    images[1, 2, [3, 4, 9]] = np.nan
    for table in (rng.integers(0, 20, size=(7, 4)), rng.integers(0, 20, size=(33, 5))):
        for given in (images, images[:, ::-1], np.asfortranarray(images)):
            found = PLAIN.window_maxima(given, table)
            expected = Namespace.window_maxima(PLAIN, given, table)
            for one_of, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one_of, other)


@pytest.mark.parametrize("kind", KINDS)
def test_windows_from_places(kind: Any) -> None:
    rng = np.random.default_rng(0)
    images = np.round(rng.normal(size=(2, 3, 40))).astype(kind)
    images[0, 1, 11] = np.nan
    starts = rng.integers(0, 20, size=(2, 3, 21))
    found = PLAIN.window_maxima_from(images, starts, (0, 1, 8, 19))
    expected = Namespace.window_maxima_from(PLAIN, images, starts, (0, 1, 8, 19))
    for one_of, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one_of, other)


@pytest.mark.parametrize("sizes", [(13, 11), (1, 7), (50,)])
@pytest.mark.parametrize("width", [1, 3, 4])
def test_sums_of_windows(sizes: Any, width: int) -> None:
    rng = np.random.default_rng(0)
    images = rng.normal(size=(2, 3, *sizes)).astype(np.float32)
    kernel = tuple(min(width, size) for size in sizes)
    layout = Layout(kernel, (2,) * len(sizes), ((width // 2,) * 2,) * len(sizes), (1, 1), 1)
    found = PLAIN.pooled_sums(images, layout)
    wide = np.pad(images, ((0, 0), (0, 0), *layout.padding))
    shown = np.lib.stride_tricks.sliding_window_view(wide, kernel, tuple(range(2, wide.ndim)))
    every_second = (Ellipsis, *[slice(None, None, 2)] * len(sizes), *[slice(None)] * len(sizes))
    expected = shown[every_second].sum(axis=tuple(range(-len(sizes), 0)))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    grad = rng.normal(size=found.shape).astype(np.float32)
    back = PLAIN.pooled_back(grad, sizes, layout)
    np.testing.assert_allclose((back * images).sum(), (grad * found).sum(), rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 1), (9, 33), (17, 300), (2, 5, 11)])
def test_ranks(shape: Any, kind: Any) -> None:
    for array in arrays(shape, kind):
        given = np.round(array)  # so that some are equal
        given[..., :1] *= -0.0
        for axis in range(given.ndim):
            for rank in (0, given.shape[axis] // 2, given.shape[axis] - 1):
                found = PLAIN.place_of_rank(given, axis, np.asarray(rank))
                expected = Namespace.place_of_rank(PLAIN, given, axis, np.asarray(rank))
                np.testing.assert_array_equal(found, expected)
            for ignored in (True, False):
                found = PLAIN.place_of_median(given, axis, ignored)
                expected = Namespace.place_of_median(PLAIN, given, axis, ignored)
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_gates_and_sums_of_powers(shape: Any) -> None:
    for array in arrays(shape, np.float32):
        gate = array[..., ::-1].copy()
        with np.errstate(all="ignore"):
            expected = Namespace.gated(PLAIN, array, gate)
            close(PLAIN.gated(array, gate), expected, np.float32)
            expected = Namespace.gated_back(PLAIN, gate, array, gate)
            close(PLAIN.gated_back(gate, array, gate), expected, np.float32)
            rows = array.copy(order="C")
            expected = np.logaddexp.reduce(rows, axis=-1)
            close(PLAIN.log_sums(rows), expected, np.float32)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("count", [2, 3, 33, 70])
def test_pairs(count: int, kind: Any) -> None:
    matrices = np.arange(2 * count * count).reshape(2, count, count).astype(kind)
    above = PLAIN.pairs_above(matrices)
    np.testing.assert_array_equal(above, Namespace.pairs_above(PLAIN, matrices))
    expected = Namespace.mirrored_pairs(PLAIN, above, count)
    np.testing.assert_array_equal(PLAIN.mirrored_pairs(above, count), expected)


def test_distances_of_rows_near_and_far() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 40, 9)).astype(np.float32)
    rows[0, 3], rows[1, 5], rows[1, 7, 2] = rows[0, 4], rows[1, 6] + 1e-4, np.inf
    with np.errstate(all="ignore"):
        for other in (rows, rows[:, :23] + 1):
            expected = Namespace.distances(PLAIN, rows.astype(np.float64), other)
            np.testing.assert_allclose(PLAIN.distances(rows, other), expected, rtol=1e-4, atol=1e-6)


def test_ndtri_by_pieces() -> None:
    special = pytest.importorskip("scipy.special")
    ends = np.array([0, 1, 0.5, 1e-30, 1 - 1e-6, -1, 2, np.nan])
    given = np.concatenate([np.random.default_rng(0).random(9000), ends]).astype(np.float32)
    found = PLAIN.special("ndtri")(given)
    np.testing.assert_allclose(found, special.ndtri(given.astype(np.float64)), rtol=2e-6, atol=1e-8)


def test_halves() -> None:
    if written("widened") is None:
        pytest.skip("this machine does not convert numbers of 16 bits")
    bits = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for given in (bits, bits[::3], bits[::-1], bits[:13]):
        np.testing.assert_array_equal(loop("widened")(given), given.astype(np.float32))
    wide = np.random.default_rng(0).normal(size=5001).astype(np.float32) * np.float32(3e4)
    wide[:5] = np.inf, -np.inf, np.nan, 65520, 1e-8
    with np.errstate(all="ignore"):
        for given in (wide, wide[::3], wide[::-1], wide[:5]):
            np.testing.assert_array_equal(loop("narrowed")(given), given.astype(np.float16))


# ---- planes, parts and matched rows ----

LAYOUTS = [  # images, filters, padding, dilation, groups
    ((2, 3, 9), (5, 3, 3), 1, 1, 1),
    ((3, 1, 20), (1, 1, 4), 2, 2, 1),
    ((2, 6, 7, 11), (9, 2, 3, 3), 1, 1, 3),
    ((2, 4, 9, 33), (4, 1, 3, 2), 0, 2, 4),
    ((1, 5, 40, 61), (12, 5, 5, 3), 2, 1, 1),
    ((2, 3, 4, 5, 18), (7, 3, 2, 3, 3), 1, 1, 1),
    ((0, 3, 9, 20), (4, 3, 3, 3), 1, 1, 1),
]


def products(images: Any, weight: Any, grad: Any, layout: Layout, plain: bool) -> list[Any]:
    """A convolution and its gradients, by the loops or by the plain form."""
    kind = Convolutions if plain else type(PLAIN)
    sizes = images.shape[2:]
    return [
        kind.convolve(PLAIN, images, weight, layout),
        kind.convolve_filters(PLAIN, images, grad, layout),
        kind.convolve_back(PLAIN, grad, weight, sizes, layout),
    ]


@needs_vectors
@pytest.mark.parametrize("given", LAYOUTS, ids=str)
@pytest.mark.parametrize("special", [False, True])
def test_planes(given: Any, special: bool) -> None:
    shape, bank, padding, dilation, groups = given
    rng, depth = np.random.default_rng(0), len(shape) - 2
    layout = Layout(
        bank[2:], (1,) * depth, ((padding, padding),) * depth, (dilation,) * depth, groups
    )
    images, weight = rng.normal(size=shape), rng.normal(size=bank)
    if special and images.size:
        images.flat[[0, 5, -1]] = np.inf, np.nan, -np.inf
    images, weight = images.astype(np.float32), weight.astype(np.float32)
    grad = rng.normal(size=(shape[0], bank[0], *layout.counts(shape[2:]))).astype(np.float32)
    wide = np.repeat(images, 2, axis=-1)[..., ::2], np.asfortranarray(weight), grad.copy("F")
    with np.errstate(all="ignore"):
        expected = products(images, weight, grad, layout, plain=True)
        for given_ones in ((images, weight, grad), wide):
            for found, wanted in zip(products(*given_ones, layout, plain=False), expected):
                assert found.dtype == wanted.dtype and found.shape == wanted.shape
                np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)


@needs_vectors
def test_planes_of_many_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planes, "PIECE", 2000)
    monkeypatch.setattr(planes, "MOST", 3)
    rng = np.random.default_rng(0)
    images = rng.normal(size=(23, 3, 9, 33)).astype(np.float32)
    grad = rng.normal(size=(23, 5, 9, 33)).astype(np.float32)
    layout = Layout((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    found = PLAIN.convolve_filters(images, grad, layout)
    expected = Convolutions.convolve_filters(PLAIN, images, grad, layout)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)
    images[3, 1, 0, 0], images[17, 1, 0, 0] = np.inf, -np.inf  # without a warning of NumPy's
    grad[[3, 17]] = 1
    found = PLAIN.convolve_filters(images, grad, layout)
    assert np.isnan(found[:, 1, 1, 1]).all() and np.isfinite(found[:, [0, 2]]).all()


@needs_vectors
def test_planes_are_taken_where_they_fit() -> None:
    images, weight = np.ones((1, 2, 8, 30), np.float32), np.ones((3, 2, 3, 3), np.float32)
    layout = Layout((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    assert planes.fits(images, weight, layout)
    assert not planes.fits(images.astype(np.float64), weight, layout)
    assert not planes.fits(images, weight, Layout((3, 3), (2, 1), ((1, 1),) * 2, (1, 1), 1))
    assert not planes.fits(images[..., :4, :4], weight, layout)  # vectors would be half empty


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1, 1, 8), (3, 2, 4, 33), (2, 5, 3, 70)])
def test_standard_parts(shape: Any, kind: Any) -> None:
    rng = np.random.default_rng(0)
    array = rng.normal(size=shape).astype(kind)
    weight, bias = rng.normal(size=(2, 1, *shape[1:3], 1)).astype(kind)
    grads = [rng.normal(size=n).astype(kind) for n in (shape, (*shape[:2], 1, 1))]
    grads.append(np.ones_like(grads[1]))
    for shift in (bias, None):
        found = PLAIN.standardized(array, weight, shift, (2, 3), 1e-5)
        expected = Namespace.standardized(PLAIN, array, weight, shift, (2, 3), 1e-5)
        for one, other in zip(found, expected, strict=True):
            close(one, other, kind)
    rows = standardizing.rows_of(array, (2, 3), weight, None)
    assert isinstance(rows, standardizing.Parts)
    made = PLAIN.standardized_back(grads, array, weight, *found[1:], (2, 3), 1e-5)
    rest = (array - found[1]).astype(np.float64)
    scale = 1 / np.sqrt(found[2] + 1e-5)
    part, count = grads[0] * weight, shape[2] * shape[3]
    along = (part * rest).sum((2, 3), keepdims=True) * scale**3 - 2 * grads[2]
    total = part.sum((2, 3), keepdims=True) * scale - grads[1]
    close(made[0], (part * scale - (rest * along + total) / count).astype(kind), kind)
    close(made[1], (grads[0] * rest * scale).sum((0, 3), keepdims=True).astype(kind), kind)
    close(made[2], grads[0].sum((0, 3), keepdims=True, dtype=np.float64).astype(kind), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1, 8), (3, 2, 4, 33), (5, 3, 70), (2, 4, 3, 3, 5)])
def test_standard_channels(shape: Any, kind: Any) -> None:
    rng = np.random.default_rng(0)
    array, slope = rng.normal(size=(2, *shape)).astype(kind)
    stem, axes = (1, shape[1], *[1] * (len(shape) - 2)), (0, *range(2, len(shape)))
    weight, bias, on_mean, on_spread = rng.normal(size=(4, *stem)).astype(kind)
    for factor, shift in ((weight, bias), (weight, None), (None, None)):
        assert isinstance(standardizing.rows_of(array, axes, factor, shift), standardizing.Channels)
        found = PLAIN.standardized(np.asfortranarray(array), factor, shift, axes, 1e-5)
        expected = Namespace.standardized(PLAIN, array, factor, shift, axes, 1e-5)
        for one, other in zip(found, expected, strict=True):
            close(one, other, kind)
        grads = (slope, on_mean, on_spread)
        made = PLAIN.standardized_back(grads, array, factor, *found[1:], axes, 1e-5)
        rest = (array - found[1]).astype(np.float64)
        scale = 1 / np.sqrt(found[2] + 1e-5)
        part = slope if factor is None else slope * factor
        along = (part * rest).sum(axes, keepdims=True) * scale**3 - 2 * on_spread
        total = part.sum(axes, keepdims=True, dtype=np.float64) * scale - on_mean
        count = array.size // shape[1]
        close(made[0], (part * scale - (rest * along + total) / count).astype(kind), kind)
        close(made[1], (slope * rest * scale).sum(axes, keepdims=True).astype(kind), kind)
        close(made[2], slope.sum(axes, keepdims=True, dtype=np.float64).astype(kind), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1, 7, 8, 33])
def test_matched_rows(width: int, kind: Any) -> None:
    rng = np.random.default_rng(0)
    for table in arrays((9, width), kind):
        rows = rng.normal(size=(5, 2 * width)).astype(kind)[:, ::2]
        numbers = rng.integers(0, 9, size=(5, 3))
        with np.errstate(all="ignore"):
            expected = Namespace.matched_rows(PLAIN, table, numbers, rows)
        close(PLAIN.matched_rows(table, numbers, rows), expected, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1, 7, 16, 33])
def test_mixed_and_dealt_rows(width: int, kind: Any) -> None:
    rng = np.random.default_rng(1)
    numbers, weights = rng.integers(0, 9, size=(5, 3)), rng.normal(size=(5, 3)).astype(kind)
    for table in arrays((9, width), kind, special=False):
        expected = Namespace.mixed_rows(PLAIN, table, numbers, weights)
        close(PLAIN.mixed_rows(table, numbers, weights), expected, kind)
        dealt = Namespace.dealt_rows(PLAIN, table[:5], numbers, weights, 9)
        close(PLAIN.dealt_rows(table[:5], numbers, weights, 9), dealt, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 2), (70, 5), (2, 65, 40)])
def test_distances_of_near_rows(shape: Any, kind: Any) -> None:
    """Rows that all lie near each other are subtracted, by a loop."""
    rng = np.random.default_rng(2)
    rows = (1 + rng.normal(size=shape) / 100).astype(kind)
    others = rows[..., ::-1, :].copy()
    for other in (rows, others):
        apart = rows[..., :, None, :].astype(np.float64) - other[..., None, :, :]
        close(PLAIN.distances(rows, other), np.sqrt((apart**2).sum(-1)).astype(kind), kind)
    rows[..., 0, 0] = np.inf
    found = PLAIN.distances(rows, rows)
    assert np.isnan(found[..., 0, 0]).all() and np.isinf(found[..., 0, 1]).all()


@pytest.mark.parametrize("row", [[], [3], [1, 1, 1], [1, 1, 2, 2, 1], [0, -1, -1, 5, 5, 5, 0]])
def test_runs(row: Any) -> None:
    numbers = np.array(row, np.int64)
    expected = numbers[np.append(True, numbers[1:] != numbers[:-1])] if row else numbers
    for given in (numbers, np.repeat(numbers, 2)[::2]):
        found = PLAIN.firsts_of_runs(given)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == np.int64 and found.base is None
    assert PLAIN.firsts_of_runs(numbers.astype(np.int32)) is None


@pytest.mark.parametrize(
    "kind", [np.float32, np.float64, np.int32, np.complex64, np.float16, "M8[s]"]
)
@pytest.mark.parametrize("shape", [(64, 64), (33, 200), (3, 17, 100), (5000, 1)])
def test_turned_arrays_are_copied_in_order(shape: Any, kind: Any) -> None:
    whole = np.arange(2 * math.prod(shape)).astype(kind).reshape(*shape[:-1], 2 * shape[-1])
    for array in (whole, whole[..., ::2], whole[..., ::-1], whole[..., 3:]):
        turned = array.swapaxes(-2, -1)
        found = in_order(turned)
        np.testing.assert_array_equal(found, turned)
        assert found.flags.c_contiguous and found.dtype == turned.dtype
        assert not np.may_share_memory(found, turned)
    room = np.zeros((*shape[:-2], shape[-1] + 2, shape[-2] + 4), np.float32)
    inner = room[..., 1:-1, 2:-2]
    turned = np.arange(math.prod(shape), dtype=np.float32).reshape(shape).swapaxes(-2, -1)
    if turned_into(inner, turned):
        np.testing.assert_array_equal(inner, turned)
        assert np.count_nonzero(room) == turned.size - 1


@pytest.mark.parametrize("kind", [*KINDS, np.int64])
@pytest.mark.parametrize(
    ("sizes", "strides", "start", "span"),
    [
        ((40, 99, 8), (400, 4, 1), 3, 16_003),
        ((300, 7, 5), (0, 2, 2), 0, 30),
        ((60, 50), (1, 3), 5, 220),
        ((), (), 2, 4),
        ((2, 0), (1, 1), 0, 5),
        ((3, 3), (1, 1), 0, 9),
    ],
)
def test_sums_in_memory(sizes: Any, strides: Any, start: int, span: int, kind: Any) -> None:
    values = np.asarray(np.arange(1, math.prod(sizes) + 1).reshape(sizes) % 17, kind)
    found = PLAIN.summed_in_memory(values, strides, start, span)
    expected = Namespace.summed_in_memory(PLAIN, values, strides, start, span)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == kind


def narrow_cases() -> dict[str, Any]:
    """Every ufunc that an op is, and every loop of an op or a rule."""
    found = {f"numpy {u.__name__}": u for u in (ufunc_of(op.direct) for op in TABLE.values()) if u}
    for op in TABLE.values():
        for each in (op, *[rule for rule in op.rules if rule is not None]):
            if each.fused is not None:
                found |= {loop.function.__name__: loop.function for loop in each.fused.loops}
    return found


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_narrow_forms_round_what_floats_give(kind: str) -> None:
    """Each loop for 16-bit floats has the bits of the one for float32, rounded once."""
    if kind == "float16" and written("widened") is None:
        pytest.skip("this machine does not convert numbers of 16 bits")
    own = np.dtype(kind) if kind == "float16" else adjoint.bfloat16.numpy_dtype
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 1 << 16, (14, 3001), dtype=np.uint16)
    shown = np.dtype(np.float16) if kind == "float16" else np.dtype(np.uint16)
    tried = 0
    for name, function in narrow_cases().items():
        narrow = compiled().narrow(function)
        if narrow is None:
            continue
        types = next(t for t in function.types if set(t.split("->")[0]) <= {"f", "d"})
        taken, made = types.split("->")
        for part in (slice(None), slice(None, None, -2), slice(5, 9), 7, slice(0)):
            rows = [row[part].view(own) for row in bits[: len(taken)]]
            floats = [
                row.astype(np.float32) if letter == "f" else 0.7
                for row, letter in zip(rows, taken, strict=True)
            ]
            given = [
                row.view(shown) if letter == "f" else 0.7
                for row, letter in zip(rows, taken, strict=True)
            ]
            with np.errstate(all="ignore"):
                expected, results = function(*floats), narrow(*given)
            pairs = [(expected, results)] if len(made) == 1 else zip(expected, results, strict=True)
            for wide, result in pairs:
                rounded = np.asarray(wide)
                if rounded.dtype == np.float32:
                    with np.errstate(all="ignore"):
                        rounded = rounded.astype(own).astype(np.float32)
                    result = np.asarray(result).view(own).astype(np.float32)
                np.testing.assert_array_equal(result, rounded, name)
                tried += 1
    assert tried > 1000


def test_narrow_forms_of_mixed_operands() -> None:
    """Beside a 16-bit operand the other may be in float32, which is not rounded before."""
    values = np.linspace(-3, 3, 1001).astype(np.float32)
    brains = values.astype(adjoint.bfloat16.numpy_dtype)
    for function in (np.multiply, np.divide):
        narrow = compiled().narrow(function)
        for pair in ((brains, np.float32(0.3)), (np.float32(0.3), brains)):
            with np.errstate(all="ignore"):
                expected = function(*[x.astype(np.float32) for x in pair]).astype(brains.dtype)
            bits = [x.view(np.uint16) if x is brains else x for x in pair]
            np.testing.assert_array_equal(narrow(*bits), expected.view(np.uint16))


def test_narrow_forms_that_are_none() -> None:
    assert compiled().narrow(np.bitwise_and) is None  # of no floats
    assert compiled().narrow(np.vecdot) is None  # of more than elements
    with pytest.raises(TypeError, match="ufunc"):
        compiled().narrow(len)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 31), (4, 32), (2, 333), (33, 10)])
def test_class_losses(shape: Any, kind: Any) -> None:
    rng = np.random.default_rng(shape[1])
    target = rng.integers(0, shape[1], shape[0])
    for rows in arrays(shape, kind, special=False):
        mean, slope = PLAIN.mean_class_losses(rows, target, -100)
        wide = rows.astype(np.float64)
        powers = np.exp(wide - wide.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        own = (np.arange(shape[0]), target)
        close(mean, np.asarray(-np.log(shares[own]).mean(), kind), kind)
        shares[own] -= 1
        close(slope, (shares / shape[0]).astype(kind), kind)


def test_class_losses_without_a_value() -> None:
    rows = np.zeros((4, 40), np.float32)
    rows[0, 7], rows[1, 35], rows[2, 3] = np.nan, np.inf, -np.inf
    mean, slope = PLAIN.mean_class_losses(rows, np.array([1, 2, 3, 4]), -100)
    assert np.isnan(mean)
    np.testing.assert_array_equal(np.isnan(slope).any(axis=1), [True, True, False, False])
    losses, _ = loop("class_losses")(rows, np.array([1, 2, 3, 4]), np.float32(1))
    np.testing.assert_array_equal(np.isinf(losses), [False, False, True, False])


def test_class_losses_that_take_steps() -> None:
    rows = np.zeros((2, 3), np.float32)
    assert PLAIN.mean_class_losses(rows, np.array([0, 3]), -100) is None  # a class beyond
    assert PLAIN.mean_class_losses(rows, np.array([0, 1]), 1) is None  # one that is ignored
    assert PLAIN.mean_class_losses(rows.astype(np.float16), np.array([0, 1]), -100) is None
    assert PLAIN.mean_class_losses(rows[:0], np.array([], np.int64), -100) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 2, 64), (1, 1, 33), (2, 40, 160)])
def test_windows_side_by_side(shape: Any, kind: Any) -> None:
    array = np.round(np.random.default_rng(0).normal(size=shape)).astype(kind)
    width = 32 if shape[-1] % 32 == 0 else shape[-1]
    table = np.arange(shape[-1]).reshape(-1, width)
    strange = array.copy()
    strange.flat[[1, 5]], strange.flat[-1] = np.nan, -np.inf
    for images in (array, strange, np.asfortranarray(array)):
        found = PLAIN.window_maxima(images, table)
        expected = Namespace.window_maxima(PLAIN, images, table)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
