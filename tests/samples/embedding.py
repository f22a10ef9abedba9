"""Samples of embeddings."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator

PATH = "nn.functional."
INDICES = np.array([[1, 3, 0], [3, 3, 2]])


@samples("embedding")
def _(rng: Generator) -> Iterator[Sample]:
    weight, path = rng.normal(size=(4, 2)), PATH + "embedding"
    yield Sample((INDICES, weight), torch=path)
    yield Sample((INDICES.astype("int32")[0], weight, 3), torch=path, differentiate=False)
    yield Sample((INDICES, weight), {"scale_grad_by_freq": True}, torch=path, differentiate=False)
    yield Sample((np.array(2), weight), torch=path)
    yield Sample((INDICES[:0], weight), torch=path)
    yield Sample((INDICES, weight, None, 0.8), torch=path, differentiate=False)
    yield Sample((INDICES, weight, None, 0.8, 1.0), torch=path, differentiate=False)


@samples("embedded")
def _(rng: Generator) -> Iterator[Sample]:
    def rows(weight: Any, indices: Any, padding_idx: int = -1) -> Any:
        import torch

        return torch.embedding(weight, indices, padding_idx)

    yield Sample((rng.normal(size=(4, 2)), INDICES), torch=rows)


@samples("row_factors")
def _(rng: Generator) -> Iterator[Sample]:
    def factors(like: Any, indices: Any, count: int) -> Any:
        return (1 / indices.reshape(-1).bincount()[indices].to(like.dtype)).unsqueeze(-1)

    count = int(INDICES.max()) + 1
    yield Sample((rng.normal(size=(2, 3, 2)), INDICES, count), torch=factors, differentiate=False)


@samples("summed_rows")
def _(rng: Generator) -> Iterator[Sample]:
    def summed(rows: Any, indices: Any, count: int) -> Any:
        zeros = rows.new_zeros(count, rows.shape[-1])
        return zeros.index_add(0, indices.reshape(-1), rows.reshape(-1, rows.shape[-1]))

    yield Sample((rng.normal(size=(2, 3, 2)), INDICES, 5), torch=summed)
    yield Sample((np.zeros((0, 2)), INDICES[0, :0], 3), torch=summed)


@samples("regrouped_rows")
def _(rng: Generator) -> Iterator[Sample]:
    def regrouped(rows: Any, sources: Any, targets: Any, count: int) -> Any:
        return rows.new_zeros(count, rows.shape[1]).index_add(0, targets, rows[sources])

    sources, targets = np.array([0, 3, 3, 1]), np.array([2, 2, 0, 2])
    yield Sample((rng.normal(size=(4, 2)), sources, targets, 3), torch=regrouped)
    yield Sample((rng.normal(size=(4, 2)), sources[:0], targets[:0], 3), torch=regrouped)


@samples("embedding_bag")
def _(rng: Generator) -> Iterator[Sample]:
    weight, path = rng.normal(size=(4, 2)), PATH + "embedding_bag"
    flat, offsets = INDICES.reshape(-1), np.array([0, 2, 2, 5])
    for mode in ("sum", "mean", "max"):
        yield Sample((INDICES, weight), {"mode": mode}, torch=path)
        yield Sample((flat, weight, offsets), {"mode": mode}, torch=path)
        given: dict[str, Any] = {"mode": mode, "include_last_offset": True, "padding_idx": 3}
        yield Sample((flat, weight, offsets), given, torch=path)
    yield Sample(
        (flat, weight, offsets),
        {"mode": "sum", "per_sample_weights": rng.normal(size=6)},
        torch=path,
        differentiate=False,
    )
    yield Sample((INDICES, weight, None, 0.5), torch=path, differentiate=False)


@samples("bag_numbers")
def _(rng: Generator) -> Iterator[Sample]:
    def numbers(offsets: Any, places: int, count: int) -> Any:
        import torch

        return torch.bucketize(torch.arange(places), offsets[:count], right=True) - 1

    yield Sample((np.array([0, 2, 2, 5]), 7, 4), torch=numbers)
    yield Sample((np.array([0, 2, 2, 7]), 7, 3), torch=numbers)


@samples("bag_places")
def _(rng: Generator) -> Iterator[Sample]:
    def places(bags: Any, counted: Any, count: int) -> Any:
        import torch

        return torch.tensor([[0, 1, -1], [-1, -1, -1], [3, -1, -1]])

    counted = np.array([True, True, False, True])
    yield Sample((np.array([0, 0, 2, 2]), counted, 3), torch=places)


@samples("bag_sizes")
def _(rng: Generator) -> Iterator[Sample]:
    def sizes(bags: Any, counted: Any, count: int) -> Any:
        return bags.new_zeros(count).index_add(0, bags, counted.to(bags.dtype))

    counted = np.array([True, True, False, True])
    yield Sample((np.array([0, 0, 2, 2]), counted, 3), torch=sizes)
    yield Sample((np.zeros(0, np.int64), counted[:0], 2), torch=sizes)
