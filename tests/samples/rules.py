"""Samples of the ops that rules share."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import shapes


@samples("zero_of")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng):
        yield Sample((x,), torch="zeros_like", differentiate=False)
