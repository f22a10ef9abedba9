"""Samples of grids."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator

PATH = "nn.functional."


@samples("grid_sample")
def _(rng: Generator) -> Iterator[Sample]:
    path, x = PATH + "grid_sample", rng.normal(size=(1, 2, 3, 4))
    grid = rng.uniform(-1.6, 1.6, size=(1, 2, 3, 2))
    for mode, outside, align in itertools.product(
        ("bilinear", "bicubic", "nearest"), ("zeros", "border", "reflection"), (False, True)
    ):
        given = {"mode": mode, "padding_mode": outside, "align_corners": align}
        yield Sample((x, grid), given, torch=path)
    volume, places = rng.normal(size=(1, 1, 2, 2, 3)), rng.uniform(-1.2, 1.2, size=(1, 1, 2, 2, 3))
    for mode in ("bilinear", "nearest"):
        yield Sample((volume, places), {"mode": mode, "align_corners": True}, torch=path)


@samples("pixel_numbers")
def _(rng: Generator) -> Iterator[Sample]:
    def numbers(rows: Any, sizes: Any) -> Any:
        import torch

        return torch.tensor([0, 7, 0]), torch.tensor([False, True, False])

    rows = [np.array([-1.0, 1.0, 0.0]), np.array([0.0, 3.0, 4.0])]
    yield Sample((rows, (2, 4)), torch=numbers, differentiate=False)


@samples("affine_grid")
def _(rng: Generator) -> Iterator[Sample]:
    path = PATH + "affine_grid"
    for align in (False, True):
        yield Sample((rng.normal(size=(2, 2, 3)), (2, 1, 2, 3), align), torch=path)
        yield Sample((rng.normal(size=(1, 3, 4)), [1, 1, 2, 1, 2], align), torch=path)


def _mapped(theta: Any, sizes: Any, align: bool) -> Any:
    import torch

    return torch.nn.functional.affine_grid(theta, (theta.shape[0], 1, *sizes), align)


def _mapped_back(grad: Any, sizes: Any, align: bool) -> Any:
    import torch

    count = len(sizes)
    theta = torch.zeros(grad.shape[0], count, count + 1, dtype=grad.dtype, requires_grad=True)
    mapped = _mapped(theta, sizes, align)
    return torch.autograd.grad(mapped, theta, grad, create_graph=True)[0]


@samples("mapped_grid")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 2, 3)), (2, 3), False), torch=_mapped)
    yield Sample((rng.normal(size=(1, 3, 4)), (2, 1, 2), True), torch=_mapped)


@samples("mapped_back")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 2, 3, 2)), (2, 3), False), torch=_mapped_back)
    yield Sample((rng.normal(size=(1, 2, 1, 2, 3)), (2, 1, 2), True), torch=_mapped_back)
