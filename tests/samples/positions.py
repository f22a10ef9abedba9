"""Samples of positions."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.indexing import GRID, I2, MASK, Rng


@samples("nonzero")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((MASK,))
    yield Sample((MASK,), {"as_tuple": True})
    yield Sample((np.array([0.0, 2.0, 0.0]),), differentiate=False)
    yield Sample((np.array(3),))
    yield Sample((np.array(3),), {"as_tuple": True})
    yield Sample((np.zeros((0, 2), bool),))


@samples("argwhere")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((MASK,))
    yield Sample((np.array(0),))


@samples("one_hot")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((I2,), torch="nn.functional.one_hot")
    yield Sample((GRID, 4), torch="nn.functional.one_hot")
    yield Sample((np.array(1), 3), torch="nn.functional.one_hot")
    yield Sample((np.zeros(0, np.int64), 3), torch="nn.functional.one_hot")


@samples("nonzero_positions")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((MASK,), torch="nonzero")
    yield Sample((np.array(3),), torch="nonzero")


@samples("nonzero_static")
def _(rng: Rng) -> Iterator[Sample]:
    for size in (0, 1, 8):
        yield Sample((MASK,), {"size": size})
    yield Sample((rng.normal(size=2),), {"size": 3, "fill_value": 7}, differentiate=False)


@samples("unravel_index")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((np.array([5, 7]), (3, 4)))
    yield Sample((np.array(5), (2, 3, 4)))
    yield Sample((np.array([2], dtype="int32"), 3))
    yield Sample((np.array([12, -1]), (3, 4)))
    yield Sample((np.zeros((0, 2), dtype="int64"), [0, 4]))


@samples("unraveled")
def _(rng: Rng) -> Iterator[Sample]:
    def stacked(indices: Any, shape: Any) -> Any:
        import torch

        return torch.stack(torch.unravel_index(indices, shape))

    yield Sample((np.array([[5, 7]]), (3, 4)), torch=stacked)
