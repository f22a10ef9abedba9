"""Samples of linear maps."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.matmul import complex_normal

Generator = np.random.Generator


@samples("column_sums")
def _(rng: Generator) -> Iterator[Sample]:
    for shape in ((3, 4), (1, 3), (0, 3), (2000, 2), (5, 3, 4), (5, 1, 4), (2, 2, 0, 3)):
        yield Sample((rng.normal(size=shape),), torch=lambda x: x.sum(-2))


@samples("equal_rows")
def _(rng: Generator) -> Iterator[Sample]:
    for shape in ((3, 4), (1, 4), (0, 4)):
        yield Sample((rng.normal(size=4), shape), torch=lambda x, shape: x.expand(shape))
    for lead in ((2,), (2, 3)):
        yield Sample(
            (rng.normal(size=(*lead, 4)), (*lead, 5, 4)),
            torch=lambda x, shape: x.unsqueeze(-2).expand(shape),
        )


@samples("linear")
def _(rng: Generator) -> Iterator[Sample]:
    weight, bias = rng.normal(size=(2, 3)), rng.normal(size=2)
    for shape in ((4, 3), (3,), (2, 1, 3), (0, 3)):
        yield Sample((rng.normal(size=shape), weight))
        yield Sample((rng.normal(size=shape), weight, bias))
    z = complex_normal(rng, 2, 3)
    yield Sample((z, complex_normal(rng, 2, 3), complex_normal(rng, 2)))
    for shape in ((2, 3), (3,), (2, 1, 3)):
        yield Sample((rng.normal(size=shape), rng.normal(size=3)))


@samples("bilinear")
def _(rng: Generator) -> Iterator[Sample]:
    one, other, weight = (rng.normal(size=s) for s in ((2, 3), (2, 2), (2, 3, 2)))
    yield Sample((one, other, weight))
    yield Sample((one, other, weight, rng.normal(size=2)))
    yield Sample((one[0], other[0], weight), torch="nn.functional.bilinear")
    yield Sample((rng.normal(size=(2, 1, 3)), rng.normal(size=(2, 1, 2)), weight))
