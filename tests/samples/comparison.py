"""Samples of comparison, logic, bits and tests of each element."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import complex_array


@samples("eq", "ne")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([1, 2, 3]), np.array([1.0, 2.5, 3.0])))
    yield Sample((np.array([[1.0], [np.nan]]), np.array([1.0, np.nan])))
    yield Sample((complex_array(rng, 3), 1 + 1j))
    yield Sample((np.array([True, False]), True))
    yield Sample((np.zeros((0, 2)), 1))


@samples("lt", "le", "gt", "ge")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([1, 2, 3]), np.array([1.0, 2.5, 2.0])))
    yield Sample((np.array([[1.0], [np.nan]]), np.array([1.0, np.nan])))
    yield Sample((np.array([1.0, 2.0]), 1.5))
    yield Sample((np.array(1.0), 2))


@samples("logical_and", "logical_or", "logical_xor")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([True, True, False]), np.array([[True], [False]])))
    yield Sample((np.array([0, 1, 2]), np.array([0.0, 0.5, 0.0])))
    yield Sample((np.array([0j, 1j]), np.array([1.0, 0.0])))


@samples("logical_not")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([True, False]),))
    yield Sample((np.array([0, 1, 2]),))
    yield Sample((np.array([0.0, np.nan, 2.0]),))


@samples("bitwise_and", "bitwise_or", "bitwise_xor")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([True, True, False]), np.array([[True], [False]])))
    yield Sample((np.array([5, 6, -7]), np.array([3, 3, 3], dtype="int8")))
    yield Sample((np.array([5, 6, 7], dtype="uint8"), 3))


@samples("bitwise_not")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([True, False]),))
    yield Sample((np.array([5, -6], dtype="int16"),))


@samples("bitwise_left_shift", "bitwise_right_shift")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([5, -6]), np.array([[1], [2]])))
    yield Sample((np.array([5, 6], dtype="int32"), 3))


@samples("gcd", "lcm")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([12, -18, 0]), np.array([[8], [27]])))
    yield Sample((np.array([12, 18], dtype="int32"), np.array([8, 27], dtype="int32")))


@samples("isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([[1.0, np.nan, -0.0], [np.inf, -np.inf, 0.0]]),))
    yield Sample((np.array([1, 2]),))
    yield Sample((np.array([True, False]),))
    yield Sample((np.zeros((0, 2)),))


@samples("isreal")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([1.0, np.nan]),))
    yield Sample((np.array([1j, 2 + 0j]),))


@samples("isclose", "allclose")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = np.array([1.0, 2.0, np.nan, np.inf])
    y = np.array([1.0 + 1e-6, 2.1, np.nan, np.inf])
    yield Sample((x, y))
    yield Sample((x, y, 0.1), {"equal_nan": True})
    yield Sample((x, y), {"atol": 0.2, "rtol": 0.0})
    yield Sample((np.array([1, 2]), np.array([1, 3])))
    yield Sample((np.array([1j, 2]), np.array([1j, 2 + 1e-7j])))


@samples("equal")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, x.copy()))
    yield Sample((x, x + 1))
    yield Sample((x, x[0]))
