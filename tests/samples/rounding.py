"""Samples of rounding."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import real_numbers, shapes

samples("frac", "floor", "ceil")(real_numbers)


@samples("trunc")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng):
        yield Sample((x,))
    yield Sample((np.array([-1, 0, 2]),))
    yield Sample((np.array([3, 4], dtype="int8"),))


@samples("round")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng):
        yield Sample((x,))
        yield Sample((x,), {"decimals": 1})
    yield Sample((np.array([-1.5, -0.5, 0.5, 1.5, 2.5]),))
    yield Sample((np.array([1234.5, -77.0]),), {"decimals": -2})
    yield Sample((np.array([1, 2]),))
