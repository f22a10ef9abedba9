"""Samples of reductions over runs of rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("segment_reduce")
def _(rng: Generator) -> Iterator[Sample]:
    def reduced(data: Any, reduce: str, **options: Any) -> Any:
        import torch

        return torch.segment_reduce(data, reduce, **options)

    lengths, runs = np.array([2, 0, 3]), np.array([2, 3])
    for reduce in ("sum", "mean", "prod", "max", "min"):
        data = rng.normal(size=(5, 2))
        yield Sample((data, reduce), {"lengths": runs}, torch=reduced)
        yield Sample((data[:, 0], reduce), {"offsets": np.array([0, 1, 5])}, torch=reduced)
        empty = {"lengths": lengths, "initial": 1.5}
        yield Sample((data, reduce), empty, torch=reduced, differentiate=False)
        yield Sample((data, reduce), {"lengths": lengths}, torch=reduced, differentiate=False)
    partial = {"lengths": np.array([1, 2]), "unsafe": True}
    yield Sample((rng.normal(size=4), "sum"), partial, torch=reduced)
