"""Samples of random ops whose answer is certain."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples


@samples("bernoulli")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([0.0, 1.0, 1.0]),), second_order=False)
    yield Sample((rng.normal(size=(2, 3)), 1.0), differentiate=False)
    yield Sample((rng.normal(size=(2, 3)), 0.0), differentiate=False)


@samples("poisson")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.zeros((2, 3)),), second_order=False)


@samples("multinomial")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([0.0, 1.0, 0.0]), 1))
    yield Sample((np.array([[0.0, 2.0], [0.5, 0.0]]), 3, True))


@samples("dropout")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, 0.0, True))
    yield Sample((x, 0.5, False))
    yield Sample((x, 1.0, True))
