"""Samples of distances."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("normalize")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x,))
    yield Sample((x, 1.0, 0))
    yield Sample((x, 3.0, (0, 1)))
    yield Sample((np.zeros((1, 2)),), differentiate=False)


@samples("cosine_similarity")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    yield Sample((x, y))
    yield Sample((x, y, 0))
    yield Sample((x, y[:1], -1, 0.5))
    yield Sample((np.zeros((1, 2)), np.ones((1, 2))), differentiate=False)


@samples("pairwise_distance")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    yield Sample((x, y))
    yield Sample((x, y, 1.0, 1e-3, True))
    yield Sample((x, y[:1], 3.0))
    yield Sample((x[0], y[0]))


@samples("pdist")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(4, 2))
    path = "nn.functional.pdist"
    yield Sample((x,), torch=path)
    yield Sample((x, 1.0), torch=path)
    yield Sample((x, 3.0), torch=path)
    yield Sample((x[:1],), torch=path, differentiate=False)
