"""Samples of distances."""

import math
from collections.abc import Iterator
from typing import Any

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
    many = rng.normal(size=(27, 2))
    yield Sample((many,), torch=path)
    yield Sample((many[[0, *range(27), 0]] + 100.0,), torch=path, differentiate=False)


@samples("pair_distances")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(5, 2))
    yield Sample((x,), torch="nn.functional.pdist")
    yield Sample((x[:2],), torch="nn.functional.pdist")
    near = np.concatenate([x, x + 1e-9, x + 1e-3, x * 1e6, [[math.nan, 0.0], [math.inf, 0.0]]])
    yield Sample((near,), torch="nn.functional.pdist", differentiate=False)


@samples("euclidean")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    yield Sample((x, y), torch="cdist")
    yield Sample((rng.normal(size=(2, 4, 2)), y), torch="cdist")
    yield Sample((x[:0], y), torch="cdist")
    yield Sample((x, y[:0]), torch="cdist")
    near = np.concatenate([x, x + 1e-9, x + 1e-3, x * 1e6])
    yield Sample((near, x), torch="cdist", differentiate=False)
    for wrong in (math.nan, math.inf):
        broken = np.concatenate([x, [[wrong, 0.0]]])
        yield Sample((broken, y), torch="cdist", differentiate=False)
        yield Sample((y, broken), torch="cdist", differentiate=False)


def _later(x: Any) -> Any:
    rows, columns = np.triu_indices(x.shape[-1], 1)
    return x[..., rows, columns]


def _placed(pairs: Any, count: int) -> Any:
    rows, columns = np.triu_indices(count, 1)
    whole = pairs.new_zeros(*pairs.shape[:-1], count, count)
    whole[..., rows, columns] = pairs
    return whole


@samples("later_pairs")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(4, 4)),), torch=_later)
    yield Sample((rng.normal(size=(2, 3, 3)),), torch=_later)


def _mirrored(pairs: Any, count: int) -> Any:
    whole = _placed(pairs, count)
    return whole + whole.mT


@samples("mirrored_pairs")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(6,)), 4), torch=_mirrored)
    yield Sample((rng.normal(size=(2, 3)), 3), torch=_mirrored)


def _part(slope: Any, length: Any) -> Any:
    return (slope / length).where(length != 0, 0)


@samples("part_of")
def _(rng: Generator) -> Iterator[Sample]:
    lengths = rng.uniform(1, 2, size=(2, 3))
    yield Sample((rng.normal(size=(2, 3)), lengths), torch=lambda x, y: x / y)
    lengths[0, 1] = 0
    yield Sample((rng.normal(size=(2, 3)), lengths), torch=_part, differentiate=False)


@samples("placed_pairs")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(6,)), 4), torch=_placed)
    yield Sample((rng.normal(size=(2, 3)), 3), torch=_placed)
