"""Samples of histograms."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator
VALUES = np.array([1.0, 2.0, 1.0, 4.0, 7.0])
POINTS = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])


@samples("histogram")
def _(rng: Generator) -> Iterator[Sample]:
    weight = rng.uniform(size=5)
    for args, options in (
        ((VALUES,), {}),
        ((VALUES, 4), {}),
        ((VALUES, np.array([0.0, 2.0, 4.0])), {}),
        ((VALUES, np.array([0.0, 0.5, 8.0])), {"weight": weight, "density": True}),
        ((VALUES, 2), {"range": (0.0, 4.0), "density": True}),
        ((VALUES, 2), {"range": (2.0, 2.0)}),
        ((rng.normal(size=(2, 3)), 3), {}),
        ((rng.normal(size=()), 2), {}),
        ((np.zeros(0), 2), {}),
    ):
        yield Sample(args, options, differentiate=False)


@samples("histogramdd")
def _(rng: Generator) -> Iterator[Sample]:
    weight = rng.uniform(size=4)
    edges = [np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0])]
    for args in (
        (POINTS, 2),
        (POINTS, [2, 3]),
        (POINTS, edges, None, weight, True),
        (POINTS, [2, 2], (0.0, 1.0, 0.0, 1.0), None, True),
        (rng.normal(size=(2, 2, 3)), 2),
    ):
        yield Sample(args, differentiate=False)


def _torch() -> Any:
    import torch

    return torch


@samples("equal_edges")
def _(rng: Generator) -> Iterator[Sample]:
    def edges(points: Any, count: int, range: Any, dim: int) -> Any:
        ends = None if range is None else range[2 * dim : 2 * dim + 2]
        return _torch().histogram(points[:, dim], count, range=ends).bin_edges

    for args in ((POINTS, 3, None, 1), (POINTS, 2, (0.0, 1.0, 2.0, 5.0), 1)):
        yield Sample(args, differentiate=False, torch=edges)


@samples("bin_totals")
def _(rng: Generator) -> Iterator[Sample]:
    def totals(points: Any, edges: Any, weight: Any = None) -> Any:
        return _torch().histogramdd(points, edges, weight=weight).hist

    edges = [np.array([0.0, 1.0, 1.5]), np.array([0.0, 2.0])]
    yield Sample((POINTS, edges), differentiate=False, torch=totals)
    yield Sample((POINTS, edges, rng.uniform(size=4)), differentiate=False, torch=totals)
