"""Samples of pooling."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator

PATH = "nn.functional."


def distinct(rng: Generator, *shape: int) -> Any:
    """Numbers no two of which are equal or near each other."""
    return rng.permutation(math.prod(shape)).reshape(shape).astype(float)


# ---- maxima ----


@samples("max_pool1d")
def _(rng: Generator) -> Iterator[Sample]:
    x, path = distinct(rng, 2, 2, 7), PATH + "max_pool1d"
    yield Sample((x, 2), torch=path)
    yield Sample((x[0], 3, 2, 1), {"ceil_mode": True, "return_indices": True}, torch=path)
    yield Sample((x, 2, 1, 0, 3), torch=path)


@samples("max_pool2d")
def _(rng: Generator) -> Iterator[Sample]:
    x, path = distinct(rng, 1, 2, 4, 5), PATH + "max_pool2d"
    yield Sample((x, 2), torch=path)
    yield Sample((x[0], (2, 3)), torch=path)
    yield Sample((x, 2, 1), torch=path)
    yield Sample((x, 1), torch=path)
    yield Sample((x, 3, (2, 1), 1), torch=path)
    yield Sample((x, 2, 1, (1, 0), (2, 1)), torch=path)
    yield Sample((x, 3), {"stride": 2, "ceil_mode": True}, torch=path)
    yield Sample((x, 2), {"stride": 2, "padding": 1, "ceil_mode": True}, torch=path)
    yield Sample((x, 2), {"return_indices": True}, torch=path)
    yield Sample((x, 3, 2, 1), {"return_indices": True, "ceil_mode": True}, torch=path)
    low = np.full((1, 1, 2, 2), -math.inf)
    yield Sample((low, 2), torch=path, differentiate=False)
    yield Sample((low, 2, 1, 1, 1, False, True), torch=path, differentiate=False)
    yield Sample((np.ones((1, 1, 3, 3)), 2, 1), torch=path)
    yield Sample((np.arange(9).reshape(1, 3, 3), 2, 1, 1), torch=path)
    broken = np.where(x == 3, math.nan, x)
    yield Sample((broken, 2, 1, 0, 1, False, True), torch=path, differentiate=False)


@samples("max_pool3d")
def _(rng: Generator) -> Iterator[Sample]:
    x, path = distinct(rng, 1, 1, 3, 3, 3), PATH + "max_pool3d"
    yield Sample((x, 2, 1), {"return_indices": True}, torch=path)
    yield Sample((x[0], (1, 2, 2), (1, 2, 1), (0, 1, 0)), torch=path)


def _pool2d(
    images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, places: bool = False
) -> Any:
    """max_pool_values and max_pool_places in PyTorch, for equal padding on both sides."""
    import torch

    sides = [pair[0] for pair in padding]
    return torch.nn.functional.max_pool2d(
        images, kernel, stride, sides, dilation, return_indices=True
    )[places]


POOL = ((2, 3), (2, 1), ((1, 1), (1, 1)), (1, 2))


@samples("max_pool_values")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((distinct(rng, 1, 2, 4, 5), *POOL), torch=_pool2d)
    yield Sample((distinct(rng, 2, 1, 4, 4), (2, 2), (2, 2), ((0, 0),) * 2, (1, 1)), torch=_pool2d)


@samples("max_pool_places")
def _(rng: Generator) -> Iterator[Sample]:
    def places(*args: Any) -> Any:
        return _pool2d(*args, places=True)

    yield Sample((distinct(rng, 1, 2, 4, 5), *POOL), torch=places)


@samples("max_pool_back")
def _(rng: Generator) -> Iterator[Sample]:
    def back(pooled: Any, images: Any, *layout: Any) -> Any:
        import torch

        leaf = images.detach().requires_grad_()
        (found,) = torch.autograd.grad(_pool2d(leaf, *layout), leaf, pooled, create_graph=True)
        return found + 0 * images

    yield Sample((rng.normal(size=(1, 2, 3, 3)), distinct(rng, 1, 2, 4, 5), *POOL), torch=back)
    apart = ((2, 2), (2, 2), ((0, 0),) * 2, (1, 1))
    yield Sample((rng.normal(size=(2, 1, 2, 2)), distinct(rng, 2, 1, 4, 4), *apart), torch=back)


@samples("unpooled")
def _(rng: Generator) -> Iterator[Sample]:
    def scattered(input: Any, places: Any, size: int) -> Any:
        return input.new_zeros(*input.shape[:2], size).scatter(2, places, input)

    places = np.array([[[1, 2], [0, 3]]])
    yield Sample((rng.normal(size=(1, 2, 2)), places, 5), torch=scattered)


@samples("max_unpool1d")
def _(rng: Generator) -> Iterator[Sample]:
    path = PATH + "max_unpool1d"
    places = np.array([[[1, 2], [0, 3]]])
    yield Sample((rng.normal(size=(1, 2, 2)), places, 2), torch=path)
    yield Sample((rng.normal(size=(2, 2)), places[0], 2, None, 0, (5,)), torch=path)


@samples("max_unpool2d")
def _(rng: Generator) -> Iterator[Sample]:
    path = PATH + "max_unpool2d"
    places = np.array([[[[0, 3], [8, 15]]]])
    x = rng.normal(size=(1, 1, 2, 2))
    yield Sample((x, places, 2), torch=path)
    yield Sample((x, places, 3, 2, 1), {"output_size": (1, 1, 4, 4)}, torch=path)


@samples("max_unpool3d")
def _(rng: Generator) -> Iterator[Sample]:
    path = PATH + "max_unpool3d"
    places = rng.permutation(8).reshape(1, 1, 2, 2, 2)
    yield Sample((rng.normal(size=(1, 1, 2, 2, 2)), places * 8, (2, 2, 2)), torch=path)


# ---- means ----


def _averages(rng: Generator, count: int, shape: tuple[int, ...]) -> Iterator[Sample]:
    path, x = PATH + f"avg_pool{count}d", rng.normal(size=shape)
    yield Sample((x, 2), torch=path)
    yield Sample((x[0], 2, 1), torch=path)
    for ceil_mode, include in itertools.product((False, True), repeat=2):
        given = {"ceil_mode": ceil_mode, "count_include_pad": include}
        yield Sample((x, 3, 2, 1), given, torch=path)
        yield Sample((x, 2, 3), given, torch=path)
    if count > 1:
        yield Sample((x, 2, 2, 1), {"divisor_override": 3}, torch=path)


@samples("avg_pool1d")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _averages(rng, 1, (2, 2, 6))


@samples("avg_pool2d")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _averages(rng, 2, (1, 2, 4, 5))
    yield Sample((rng.normal(size=(1, 1, 3, 4)), (1, 3), (2, 1), (0, 1)), torch=PATH + "avg_pool2d")


@samples("avg_pool3d")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _averages(rng, 3, (1, 1, 3, 3, 4))


@samples("average_windows")
def _(rng: Generator) -> Iterator[Sample]:
    def average(images: Any, kernel: Any, stride: Any, padding: Any, counting: Any) -> Any:
        import torch

        sides = [pair[0] for pair in padding]
        return torch.nn.functional.avg_pool2d(images, kernel, stride, sides, False, *counting)

    x, sides = rng.normal(size=(1, 2, 4, 5)), ((1, 1), (0, 0))
    yield Sample((x, (2, 2), (1, 2), sides, (False, None)), torch=average)
    yield Sample((x, (2, 1), (1, 2), sides, (True, 3)), torch=average)


@samples("spread_windows")
def _(rng: Generator) -> Iterator[Sample]:
    def spread(grad: Any, sizes: Any, kernel: Any, stride: Any, padding: Any, counting: Any) -> Any:
        import torch

        zeros = torch.zeros(*grad.shape[:2], *sizes, dtype=grad.dtype, requires_grad=True)
        sides = [pair[0] for pair in padding]
        out = torch.nn.functional.avg_pool2d(zeros, kernel, stride, sides, False, *counting)
        return torch.autograd.grad(out, zeros, grad, create_graph=True)[0]

    sides = ((1, 1), (0, 0))
    yield Sample(
        (rng.normal(size=(1, 2, 5, 2)), (4, 5), (2, 2), (1, 2), sides, (False, None)), torch=spread
    )


def _powers(rng: Generator, count: int, shape: tuple[int, ...]) -> Iterator[Sample]:
    x, path = rng.uniform(0.5, 2, size=shape), PATH + f"lp_pool{count}d"
    yield Sample((x, 2, 2), torch=path)
    yield Sample((x[0], 3.0, 2, 1), torch=path)
    yield Sample((x, 1.5, 2, 2, True), torch=path)


@samples("lp_pool1d")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _powers(rng, 1, (2, 2, 5))


@samples("lp_pool2d")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _powers(rng, 2, (1, 2, 3, 4))


@samples("lp_pool3d")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _powers(rng, 3, (1, 1, 2, 3, 3))


# ---- sizes that are wanted ----


def _adaptive(name: str, x: Any, targets: Any) -> Iterator[Sample]:
    count, path = int(name[-2]), PATH + name
    for target in targets:
        yield Sample((x, target), torch=path)
        if "max" in name:
            yield Sample((x[0], target, True), torch=path)
    if "avg" in name:
        yield Sample((x[0], (2,) * count), torch=path)


TARGETS: dict[int, Any] = {
    1: ((2, 6), (1, 4, 3)),
    2: ((4, 5), (1, (2, 5), (3, 2), (None, 2))),
    3: ((2, 3, 4), (1, (2, None, 2), (1, 2, 3))),
}
for _count, _kind in itertools.product(TARGETS, ("avg", "max")):

    @samples(f"adaptive_{_kind}_pool{_count}d")
    def _(
        rng: Generator, name: str = f"adaptive_{_kind}_pool{_count}d", count: int = _count
    ) -> Iterator[Sample]:
        shape, targets = TARGETS[count]
        lead = (2, 2) if count == 1 else (1, 2)
        x = distinct(rng, *lead, *(shape if count > 1 else shape[1:]))
        yield from _adaptive(name, x, targets)


@samples("greatest_at")
def _(rng: Generator) -> Iterator[Sample]:
    def greatest(input: Any, starts: Any, inner: Any, sizes: Any) -> Any:
        places = starts.unsqueeze(-1) + starts.new_tensor(inner)
        images = input.flatten(-len(sizes)).unsqueeze(-2).expand(*places.shape[:-1], -1)
        found = images.gather(-1, places).max(-1)
        at = places.gather(-1, found.indices.unsqueeze(-1)).squeeze(-1)
        return tuple(part.unflatten(-1, sizes) for part in (found.values, at))

    starts = rng.integers(0, 5, size=(2, 2, 6))
    yield Sample((distinct(rng, 2, 2, 8), starts, (0, 1, 3), (6,)), torch=greatest)
    yield Sample((distinct(rng, 2, 2, 2, 4), starts, (0, 1, 3), (3, 2)), torch=greatest)


@samples("greatest_in")
def _(rng: Generator) -> Iterator[Sample]:
    def greatest(input: Any, sizes: Any) -> Any:
        import torch

        return torch.nn.functional.adaptive_max_pool2d(input, sizes, return_indices=True)

    yield Sample((distinct(rng, 2, 2, 4, 5), (2, 3)), torch=greatest)
    yield Sample((distinct(rng, 2, 3, 4), (3, 2)), torch=greatest)


# ---- windows by chance ----


@samples("fractional_max_pool2d")
def _(rng: Generator) -> Iterator[Sample]:
    path, x = PATH + "fractional_max_pool2d", distinct(rng, 1, 2, 5, 6)
    drawn = rng.uniform(size=(1, 2, 2))
    for given in ({"output_size": (2, 3)}, {"output_ratio": (0.5, 0.5)}, {"output_size": 1}):
        yield Sample(
            (x, 2),
            {**given, "return_indices": True, "_random_samples": drawn},
            torch=path,
            second_order=False,
            differentiate=False,
        )
    yield Sample((x[0], 2, (3, 3)), torch=path, compare_values=False)


@samples("fractional_max_pool3d")
def _(rng: Generator) -> Iterator[Sample]:
    path, x = PATH + "fractional_max_pool3d", distinct(rng, 1, 1, 4, 4, 5)
    given = {"_random_samples": rng.uniform(size=(1, 1, 3)), "return_indices": True}
    yield Sample((x, 2, (2, 2, 3)), given, torch=path, differentiate=False)
    yield Sample((x, (2, 1, 2), (2, 2, 3)), torch=path, compare_values=False)


@samples("random_windows")
def _(rng: Generator) -> Iterator[Sample]:
    def windows(samples: Any, sizes: Any, wanted: Any, kernel: Any) -> Any:
        import torch

        starts = torch.cat([((torch.arange(1) + samples[0, 0, 0]) * 0).int()])
        return (starts + torch.tensor([0, 2], dtype=torch.int32)).reshape(1, 1, 2)

    yield Sample(
        (rng.uniform(size=(1, 1, 1)), (4,), (2,), (2,)), torch=windows, differentiate=False
    )
