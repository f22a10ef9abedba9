"""Samples of powers, exponentials and logarithms."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import any_number, complex_array, pairs, positive_numbers

samples("square", "exp", "expm1", "exp2")(any_number)
samples("sqrt", "rsqrt", "log", "log2", "log10", "log1p")(positive_numbers)


@samples("ldexp_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    exponents = np.array([1, -1, 0])
    yield Sample((x, exponents), differentiate=False, torch="Tensor.ldexp_")


@samples("ldexp")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, np.array([1, 2, 0])))
    yield Sample((x, x))
    yield Sample((np.array([1, 2]), np.array([1, -1])))


@samples("pow")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng, 0.5, 2.0):
        yield Sample((x, y))
    x = rng.uniform(0.5, 2.0, size=(2, 3))
    for exponent in (2, 2.0, 0, 1, 3, -1, 0.5, -2.5, 1 + 2j):
        yield Sample((x, exponent))
    for base in (2, 0.5, 1, 1 + 2j):
        yield Sample((base, x))
    yield Sample((np.array([-1.5, 0.0, 2.0]), 3))
    yield Sample((np.array([-1.5, 0.0, 2.0]), 2))
    yield Sample((np.array([0.0, 0.0, 0.0]), np.array([0.0, 1.0, 2.0])), second_order=False)
    yield Sample((0, np.array([0.0, 1.0, 2.0])), second_order=False)
    yield Sample((complex_array(rng, 2, 2), 2))
    yield Sample((complex_array(rng, 2, 2), 2.5))
    yield Sample((complex_array(rng, 2, 2), complex_array(rng, 2)))
    yield Sample((x, np.array([1, 2, 3])))
    yield Sample((np.array([1, 2, 3]), np.array([1, 2, 0])))
    yield Sample((np.array([1, -1, -1, 2, 0, -3]), np.array([[-2], [-3]], dtype="int32")))
    yield Sample((np.array([1, 2, 3]), 2))
    yield Sample((np.array([1, 2, 3]), 0.5))
    yield Sample((2, np.array([1, 2, 3])))
    yield Sample((np.array([1, 2, 3], dtype="int32"), x))


@samples("float_power")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(0.5, 2.0, size=(2, 3))
    yield Sample((x, x[0]))
    yield Sample((x, 2))
    yield Sample((2.0, x))
    yield Sample((np.array([1, 2]), 2))
    yield Sample((x.astype("float32"), 3), second_order=False)
    yield Sample((complex_array(rng, 2), 3))


@samples("logaddexp", "logaddexp2")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng):
        yield Sample((x, y))
    yield Sample((np.array([1000.0, -1000.0]), np.array([1001.0, -999.0])))


@samples("float_power_")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(0.5, 2, size=(2, 3))
    for exponent in (2, 0.5, x[0]):
        yield Sample((x, exponent), torch="Tensor.float_power_", differentiate=False)
