"""NumPy's own kernels answer what the plain forms of the namespace answer."""

import itertools

import numpy as np
import pytest

from adjoint.backends import row_kernels, standardizing
from adjoint.backends.convolution import Convolutions, Layout
from adjoint.backends.namespace import Namespace
from adjoint.backends.numpy import numpy_backend

xp = numpy_backend.xp
KINDS = ("float32", "float64")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def close(found, expected, kind):
    np.testing.assert_allclose(found, expected, *((2e-4, 2e-4) if kind == "float32" else (1e-9,)))


@pytest.fixture
def without_scipy(monkeypatch):
    for name in ("_sparse_library", "_lapack"):
        monkeypatch.setattr(row_kernels, name, lambda: None)


# ---- distances ----


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_distances(rng, kind, shift):
    x = (rng.normal(size=(40, 3)) + shift).astype(kind)
    near = np.concatenate([x, x[:5], x[:5] + np.asarray(1e-3, kind)])
    plain = Namespace.distances(xp, near.astype("float64"), x.astype("float64"))
    np.testing.assert_allclose(xp.distances(near, x), plain, *([2e-4] * 2))
    assert (np.diagonal(xp.distances(x, x)) == 0).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_distances_of_what_is_no_number(rng, wrong):
    x = rng.normal(size=(30, 2))
    y = np.concatenate([x, [[wrong, 0.0]]])
    with np.errstate(invalid="ignore"):
        plain = Namespace.distances(xp, y, y)
    np.testing.assert_allclose(xp.distances(y, y), plain, 1e-9, 1e-9)


# ---- rows with mean 0 and variance 1 ----


def cases(rng, kind):
    """Arrays, their axes, and weight and bias: of columns, of parts, and in other forms."""

    def of(*shape):
        return rng.normal(size=shape).astype(kind)

    yield of(5, 7, 16), (-1,), of(16), of(16)
    yield of(5, 7, 16), (2,), of(16), None
    yield of(3, 4, 8), (-2, -1), of(4, 8), of(4, 8)
    yield of(6, 2000), (-1,), None, None
    yield of(300, 1024), (-1,), of(1024), of(1024)
    yield of(3, 2, 4, 9), (-2, -1), of(1, 2, 4, 1), of(1, 2, 4, 1)
    yield of(3, 2, 4, 9), (-2, -1), of(1, 2, 4, 1), None
    yield of(9, 5, 16).transpose(1, 0, 2), (-1,), of(16), of(16)


@pytest.mark.parametrize("kind", KINDS)
def test_standardized(rng, kind):
    for array, axes, weight, bias in cases(rng, kind):
        assert standardizing.rows_of(array, axes, weight, bias) is not None
        found = xp.standardized(array, weight, bias, axes, 1e-5)
        expected = Namespace.standardized(xp, array, weight, bias, axes, 1e-5)
        for one, other in zip(found, expected, strict=True):
            assert one.shape == other.shape
            close(one, other, kind)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_standardized_keeps_rows_apart(rng, bad):
    array = rng.normal(size=(4, 16))
    array[1, 3] = bad
    with np.errstate(invalid="ignore"):
        out = xp.standardized(array, np.ones(16), np.ones(16), (-1,), 1e-5)[0]
    assert np.isnan(out).any(axis=1).tolist() == [False, True, False, False]


def test_other_forms_are_left_to_the_plain_one(rng):
    array = rng.normal(size=(4, 3, 16))
    for axes, weight in (((0,), None), ((-1,), np.ones((3, 1))), ((-1,), np.ones(16, "float32"))):
        assert standardizing.rows_of(array, axes, weight, None) is None
    assert standardizing.rows_of(array[..., :2], (-1,), None, None) is None
    assert standardizing.rows_of(array[:0], (-1,), None, None) is None


# ---- rows of tables ----


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "complex64", "int64", "bool"])
@pytest.mark.parametrize("width", [1, 5])
def test_summed_rows(rng, kind, width):
    rows = (10 * rng.normal(size=(50, width))).astype(kind)
    index = rng.integers(0, 7, size=50)
    expected = Namespace.summed_rows(
        xp, rows.astype("float32" if kind == "float16" else kind), index, 9
    )
    found = xp.summed_rows(rows, index, 9)
    assert found.dtype == rows.dtype
    np.testing.assert_allclose(found, expected, *([2e-3 if kind == "float16" else 1e-5] * 2))
    assert xp.summed_rows(rows[:0], index[:0], 3).shape == (3, width)


def test_summed_rows_keep_apart_what_is_no_number():
    found = xp.summed_rows(np.array([[np.nan, 1.0], [2.0, np.inf]]), np.array([2, 0]), 3)
    np.testing.assert_array_equal(found, [[2.0, np.inf], [0.0, 0.0], [np.nan, 1.0]])


@pytest.mark.parametrize("kind", KINDS)
def test_without_scipy(rng, without_scipy, kind):
    rows, index = rng.normal(size=(20, 3)).astype(kind), rng.integers(0, 4, size=20)
    close(xp.summed_rows(rows, index, 4), Namespace.summed_rows(xp, rows, index, 4), kind)
    numbers, weights = index.reshape(10, 2), rng.normal(size=(10, 2)).astype(kind)
    mixed = Namespace.mixed_rows(xp, rows, numbers, weights)
    close(xp.mixed_rows(rows, numbers, weights), mixed, kind)
    dealt = Namespace.dealt_rows(xp, mixed, numbers, weights, 20)
    close(xp.dealt_rows(mixed, numbers, weights, 20), dealt, kind)
    assert xp.lu(rows) is None


@pytest.mark.parametrize("kind", KINDS)
def test_mixed_and_dealt_rows(rng, kind):
    table = rng.normal(size=(6, 4)).astype(kind)
    numbers, weights = rng.integers(0, 6, size=(9, 3)), rng.normal(size=(9, 3)).astype(kind)
    mixed = xp.mixed_rows(table, numbers, weights)
    close(mixed, Namespace.mixed_rows(xp, table, numbers, weights), kind)
    dealt = xp.dealt_rows(mixed, numbers, weights, 6)
    close(dealt, Namespace.dealt_rows(xp, mixed, numbers, weights, 6), kind)


# ---- ranks ----


def test_place_of_rank(rng):
    for trial in range(400):
        shape = tuple(rng.integers(1, 6, size=rng.integers(1, 4)))
        axis = int(rng.integers(len(shape)))
        array = rng.integers(0, 4, size=shape)
        if trial % 3:  # among floats some NaN, among all many equals
            array = np.where(rng.random(shape) < 0.3, np.nan, array)
        kept = [1 if place == axis else size for place, size in enumerate(shape)]
        rank = rng.integers(0, shape[axis], size=kept if trial % 2 else ())
        expected = Namespace.place_of_rank(xp, array, axis, rank)
        np.testing.assert_array_equal(xp.place_of_rank(array, axis, np.asarray(rank)), expected)


def test_many_ranks_are_sorted(rng):
    array = rng.normal(size=(40, 40))
    rank = np.arange(40)[:, None]
    expected = Namespace.place_of_rank(xp, array, 1, rank)
    np.testing.assert_array_equal(xp.place_of_rank(array, 1, rank), expected)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "uint64", "float32"])
def test_distinct(rng, kind):
    far = np.ones(1, kind)
    if kind != "float32":
        far = np.array([np.iinfo(kind).max, np.iinfo(kind).min, 0], kind)
    for row in (rng.integers(0, 9, 200), rng.integers(90, 99, 5), far, far[:1], far[:0]):
        row = row.astype(kind)
        for placed, counted in itertools.product((True, False), repeat=2):
            expected = Namespace.distinct(xp, row, placed, counted)
            found = xp.distinct(row, placed, counted)
            assert found[0].dtype == row.dtype
            for one, other in zip(found, expected, strict=True):
                assert (one is None) == (other is None)
                np.testing.assert_array_equal(one, other)


# ---- channels apart ----


@pytest.mark.parametrize("kind", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("padding", [0, 1, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_convolutions_of_each_channel(rng, kind, padding, dilation):
    images = rng.normal(size=(2, 5, 9, 8)).astype(kind)
    weight = rng.normal(size=(5, 1, 3, 2)).astype(kind)
    pads = ((padding, padding), (padding, 0))
    layout = Layout((3, 2), (1, 1), pads, (dilation, dilation), 5)
    out = xp.convolve(images, weight, layout)
    close(out, Convolutions.convolve(xp, images, weight, layout), kind)
    back = Convolutions.convolve_back(xp, out, weight, (9, 8), layout)
    close(xp.convolve_back(out, weight, (9, 8), layout), back, kind)
    filters = Convolutions.convolve_filters(xp, images, out, layout)
    close(xp.convolve_filters(images, out, layout), filters, kind)
