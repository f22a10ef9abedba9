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


def _sampled(x: Any, grid: Any, padding: str, align: bool) -> Any:
    """What is read between pixels, by PyTorch."""
    import torch

    return torch.nn.functional.grid_sample(x, grid, "bilinear", padding, align)


@samples("plane_sampled")
def _(rng: Generator) -> Iterator[Sample]:
    x, grid = rng.normal(size=(2, 2, 3, 4)), rng.uniform(-1.6, 1.6, size=(2, 2, 3, 2))
    for padding in ("zeros", "border", "reflection"):
        yield Sample((x, grid, padding, False), torch=_sampled)
    yield Sample((x[..., :1, :], grid, "reflection", True), torch=_sampled)


@samples("volume_sampled")
def _(rng: Generator) -> Iterator[Sample]:
    x, grid = rng.normal(size=(1, 2, 2, 2, 3)), rng.uniform(-1.2, 1.2, size=(1, 1, 2, 2, 3))
    for padding in ("zeros", "border", "reflection"):
        yield Sample((x, grid, padding, True), torch=_sampled)


@samples("sampled_slopes")
def _(rng: Generator) -> Iterator[Sample]:
    def slopes(grad: Any, x: Any, grid: Any, padding: str, align: bool, needs: Any) -> Any:
        import torch

        leaves = [each.detach().requires_grad_() for each in (x, grid)]
        return torch.autograd.grad(_sampled(*leaves, padding, align), leaves, grad)

    x, grid = rng.normal(size=(2, 2, 3, 4)), rng.uniform(-1.6, 1.6, size=(2, 2, 3, 2))
    for padding in ("zeros", "border", "reflection"):
        given = (rng.normal(size=(2, 2, 2, 3)), x, grid, padding, False, (True, True))
        yield Sample(given, torch=slopes, differentiate=False)


@samples("pixel_numbers")
def _(rng: Generator) -> Iterator[Sample]:
    def numbers(rows: Any, sizes: Any) -> Any:
        import torch

        return torch.tensor([8, 7, 8])

    rows = [np.array([-1.0, 1.0, 0.0]), np.array([0.0, 3.0, 4.0])]
    yield Sample((rows, (2, 4)), torch=numbers, differentiate=False)


@samples("corner_numbers")
def _(rng: Generator) -> Iterator[Sample]:
    def numbers(rows: Any, sizes: Any) -> Any:
        import torch

        return torch.tensor([[8, 8, 0, 1], [7, 8, 8, 8], [8, 8, 8, 8], [1, 2, 5, 6]])

    rows = [np.array([-1.0, 1.0, 0.0, 0.0]), np.array([0.0, 3.0, 4.0, 1.0])]
    yield Sample((rows, (2, 4)), torch=numbers, differentiate=False)


def _rows(table: Any, numbers: Any) -> Any:
    """The rows of each table that its numbers name."""
    import torch

    flat = numbers.reshape(*numbers.shape[:-2], -1, 1).expand(*[-1] * (numbers.ndim - 1), 2)
    return torch.gather(table, -2, flat).reshape(*numbers.shape, 2)


def _tables(rng: Generator) -> Iterator[tuple[Any, Any, Any, Any]]:
    """A table of five rows, numbers of rows, weights and what the sums are like; and a batch."""
    for lead in ((), (2,)):
        numbers = rng.integers(0, 5, size=(*lead, 3, 4))
        shapes = ((*lead, 5, 2), numbers.shape, (*lead, 3, 2))
        table, weights, mixed = (rng.normal(size=shape) for shape in shapes)
        yield table, numbers, weights, mixed


@samples("mixed_rows")
def _(rng: Generator) -> Iterator[Sample]:
    def mixed(table: Any, numbers: Any, weights: Any) -> Any:
        return (_rows(table, numbers) * weights.unsqueeze(-1)).sum(-2)

    for table, numbers, weights, _ in _tables(rng):
        yield Sample((table, numbers, weights), torch=mixed)


@samples("dealt_rows")
def _(rng: Generator) -> Iterator[Sample]:
    def dealt(input: Any, numbers: Any, weights: Any, count: int) -> Any:
        terms = (input.unsqueeze(-2) * weights.unsqueeze(-1)).flatten(-3, -2)
        flat = numbers.flatten(-2).unsqueeze(-1).expand(terms.shape)
        return input.new_zeros(*input.shape[:-2], count, 2).scatter_add(-2, flat, terms)

    for _, numbers, weights, input in _tables(rng):
        yield Sample((input, numbers, weights, 6), torch=dealt)


@samples("matched_rows")
def _(rng: Generator) -> Iterator[Sample]:
    def matched(table: Any, numbers: Any, other: Any) -> Any:
        return (_rows(table, numbers) * other.unsqueeze(-2)).sum(-1)

    for table, numbers, _, other in _tables(rng):
        yield Sample((table, numbers, other), torch=matched)


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
