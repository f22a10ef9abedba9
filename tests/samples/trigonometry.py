"""Samples of trigonometric and hyperbolic functions, and angles."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import complex_array, pairs, real_numbers, shapes

samples("deg2rad", "rad2deg")(real_numbers)


@samples("sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, -1.2, 1.2):
        yield Sample((x,))
    yield Sample((complex_array(rng, 2, 3),))
    yield Sample((np.array([-1, 0, 2]),))
    yield Sample((np.array([True, False]),))


@samples("tanh_back")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for make in (rng.normal, lambda size: complex_array(rng, *size)):
        yield Sample(
            (make(size=(2, 3)), make(size=(2, 3))), torch=lambda slope, out: slope - slope * out**2
        )


@samples("asin", "acos", "atanh")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, -0.9, 0.9):
        yield Sample((x,))
    yield Sample((complex_array(rng, 2, 3),))
    yield Sample((np.array([0, 1]),))


@samples("acosh")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng, 1.1, 3.0):
        yield Sample((x,))
    yield Sample((complex_array(rng, 2, 3),))
    yield Sample((np.array([-2.5 + 0.5j, -0.5 - 1.5j, 0.3 - 0.2j]),))
    yield Sample((np.array([1, 3]),))


@samples("atan2", "hypot")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng):
        yield Sample((x, y))
    yield Sample((np.array([0.0]), np.array([0.0])), second_order=False)
