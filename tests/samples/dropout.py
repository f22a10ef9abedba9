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


@samples("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 2))
    yield Sample((x, 0.5, True), differentiate=False, compare_values=False)
    for p, train in ((0.5, False), (0.0, True), (1.0, True)):
        yield Sample((x, p, train), differentiate=False)
