"""Samples of draws that know how they move with their parameters."""

from collections.abc import Iterator

import numpy as np

import adjoint.ops.sampling.implicit  # the table is loaded with distributions alone
from adjoint.testing import Sample, samples

assert adjoint.ops.sampling.implicit.standard_gamma.inputs


@samples("standard_gamma", "standard_dirichlet")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for shape in ((2, 3), (3,), (0, 3)):
        given = rng.uniform(0.5, 3, shape)
        yield Sample((given,), differentiate=False, compare_values=False)


@samples("gamma_slope")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((rng.uniform(0.5, 3, (2, 3)), rng.uniform(0.5, 3, (2, 3))), differentiate=False)


@samples("dirichlet_slope")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    parts, shape = rng.uniform(0.1, 0.9, (2, 3)), rng.uniform(0.5, 3, (2, 3))
    yield Sample((parts, shape, shape + 1.0), differentiate=False)


@samples("angles")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    given = (rng.normal(size=(2, 3)), rng.uniform(0.5, 3, (2, 3)))
    yield Sample(given, differentiate=False, compare_values=False)
