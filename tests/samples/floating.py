"""Samples of the parts of floating numbers."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("frexp")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)) * 100,))
    yield Sample((rng.normal(size=()),))
    yield Sample((np.zeros((0, 2)),))
    yield Sample((np.array([0.0, np.inf, -np.inf, np.nan]),), differentiate=False)


@samples("nextafter")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, np.array([np.inf, -np.inf, 0.0])), differentiate=False)
    yield Sample((x, x), differentiate=False)  # a jump: differences say nothing
    yield Sample((np.array([1.0, np.nan]), np.array([1.0, 2.0])), differentiate=False)
