"""The loops that are written by hand, against NumPy: odd sizes, strides, NaN and infinities."""

import math
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.backends.error_state import ufunc_of
from adjoint.backends.loops import compiled, written
from adjoint.backends.namespace import Namespace
from adjoint.backends.numpy import numpy_backend
from adjoint.ops.op import TABLE

pytestmark = pytest.mark.skipif(written("running_sum") is None, reason="the package is pure")

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


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows(kind: Any, name: str) -> None:
    rng = np.random.default_rng(0)
    for array in arrays((9, 33), kind):
        numbers = rng.integers(0, 9, size=14)
        rows = rng.normal(size=(14, 66)).astype(kind)[:, ::2]
        expected = np.array(array)
        getattr(np, name).at(expected, numbers, rows)
        close(loop(f"rows_{name}")(array, numbers, rows), expected, kind)
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


def test_a_zero_on_the_diagonal_is_refused() -> None:
    with pytest.raises(adjoint.linalg.LinAlgError):
        adjoint.linalg.solve_triangular(adjoint.zeros(2, 2), adjoint.ones(2, 1), upper=True)


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
    table = rng.integers(0, 20, size=(7, 4))
    table[2, 2:], table[5, 1:] = -1, -1
    for given in (images, images[:, ::-1], np.asfortranarray(images)):
        found = PLAIN.window_maxima(given, table)
        expected = Namespace.window_maxima(PLAIN, given, table)
        for one_of, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one_of, other)


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
