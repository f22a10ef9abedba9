"""Samples of questions about tensors."""

from collections.abc import Iterator

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("is_conj", "is_neg", "is_inference", "detach")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=3),), differentiate=False)


@samples("detach_")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=3),), differentiate=False)


@samples("is_nonzero")
def _(rng: Generator) -> Iterator[Sample]:
    for value in (rng.normal(size=()), np.zeros((1, 1)), np.array([True])):
        yield Sample((value,), differentiate=False)


@samples("broadcast_shapes")
def _(rng: Generator) -> Iterator[Sample]:
    for shapes in ((), (3,), ((2, 1), (3,)), ((2, 1), 3, [4, 1, 1]), ((0, 1), (1, 3))):
        yield Sample(shapes)
