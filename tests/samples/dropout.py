"""Samples of dropout."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("alpha_dropout", "feature_dropout", "feature_alpha_dropout")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 2))
    yield Sample((x, 0.5, True), compare_values=False)
    yield Sample((x, 0.5, False))
    yield Sample((x, 0.0, True))
    yield Sample((x, 1.0, True))
