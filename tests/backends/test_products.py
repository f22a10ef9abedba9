"""Large products of matrices by the wheel's own loop: as exact as BLAS, however they lie."""

import numpy as np
import pytest

import adjoint
from adjoint.backends import numpy, products, threads
from adjoint.backends.loops import written

xp = numpy.numpy_backend.xp
SHAPES = [(64, 64, 64), (131, 75, 70), (128, 48, 256), (100, 257, 600), (72, 97, 1030)]

needs_loop = pytest.mark.skipif(written("product") is None, reason="vectors are too short")


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def matrix(rng, rows, columns, turned=False):
    array = rng.standard_normal((columns, rows) if turned else (rows, columns)).astype(np.float32)
    return array.T if turned else array


def assert_near(found, array, other, bias=0):
    """Within the error of a sum in float32."""
    exact = array.astype(float) @ other.astype(float) + bias
    sizes = np.abs(array).astype(float) @ np.abs(other).astype(float) + np.abs(bias)
    assert found.dtype == np.float32
    assert np.all(np.abs(found - exact) <= 2e-6 * sizes)


@needs_loop
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_product(rng, shape, turned):
    rows, columns, length = shape
    array = matrix(rng, rows, length, turned[0])
    other = matrix(rng, length, columns, turned[1])
    bias = rng.standard_normal(columns).astype(np.float32)
    assert_near(products.product(array, other), array, other)
    assert_near(products.product(array, other, bias), array, other, bias)
    assert_near(products.product(array[::-1], other, bias[::-1]), array[::-1], other, bias[::-1])
    wide, half = np.repeat(array, 2, 1), np.repeat(other, 2, 0)
    assert_near(products.product(wide[:, ::2], half[::2]), array, other)


@needs_loop
def test_an_element_does_not_depend_on_its_place(rng):
    array, other = matrix(rng, 131, 600), matrix(rng, 600, 130)
    whole = products.product(array, other)
    part = products.product(array[3:90], np.ascontiguousarray(other[:, 7:77]))
    assert part.tobytes() == whole[3:90, 7:77].tobytes()


@needs_loop
def test_what_is_not_finite_stays_in_its_row_and_column(rng):
    array, other = matrix(rng, 70, 80), matrix(rng, 80, 90)
    array[3, 4], array[69, 1], other[5, 89] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        expected = array @ other
    found = products.product(array, other)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))


@needs_loop
def test_bits_do_not_depend_on_threads(rng):
    array, other = matrix(rng, 300, 500), matrix(rng, 500, 200, turned=True)
    bits = []
    for count in (1, 2, 3):
        threads.allow(count)
        try:
            bits.append(products.product(array, other).tobytes())
        finally:
            threads.allow(1)
    assert bits[0] == bits[1] == bits[2]


def test_products_of_the_namespace(rng):
    """The same values whether it is large or not, and in any of the forms that ops ask for."""
    for rows, columns, length in [(256, 160, 128), (40, 30, 50)]:
        array, other = matrix(rng, rows, length), matrix(rng, length, columns)
        bias = rng.standard_normal(columns).astype(np.float32)
        weight = np.ascontiguousarray(other.T)
        assert_near(xp.matmul(array, other), array, other)
        assert_near(xp.matmul(array[None], other)[0], array, other)
        assert_near(xp.linear(array, weight, None), array, other)
        assert_near(xp.linear(array[None], weight, bias)[0], array, other, bias)
        assert_near(xp.turned_product(np.ascontiguousarray(array.T), other), array, other)
        assert_near(xp.rows_product(array, weight), array, other)


def test_batches_with_a_turned_factor(rng):
    array = rng.standard_normal((3, 40, 32)).astype(np.float32)
    other = rng.standard_normal((3, 50, 32)).astype(np.float32)
    found = xp.matmul(array, other.swapaxes(1, 2))
    for each, one, two in zip(found, array, other, strict=True):
        assert_near(each, one, two.T)


def test_only_what_is_large(rng):
    array = matrix(rng, 256, 256)
    assert products.is_large(array, array) == (written("product") is not None)
    assert not products.is_large(array.astype(float), array.astype(float))
    assert not products.is_large(array[:8], array)
    with pytest.raises(RuntimeError, match="shape|size|dimension"):
        adjoint.tensor(array) @ adjoint.tensor(array[:-1])
