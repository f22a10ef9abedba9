"""Samples of images in other sizes and orders."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator

PATH = "nn.functional."
SHAPES = {1: (1, 2, 4), 2: (1, 2, 3, 4), 3: (1, 1, 2, 3, 2)}
MODES = {1: ("linear",), 2: ("bilinear", "bicubic"), 3: ("trilinear",)}


@samples("interpolate")
def _(rng: Generator) -> Iterator[Sample]:
    path = PATH + "interpolate"
    for count, shape in SHAPES.items():
        x = rng.normal(size=shape)
        for mode in ("nearest", "nearest-exact", "area"):
            yield Sample((x, 5), {"mode": mode}, torch=path)
            yield Sample((x,), {"scale_factor": 1.7, "mode": mode}, torch=path)
            yield Sample((x, 2), {"mode": mode}, torch=path)
        for mode, align in itertools.product(MODES[count], (False, True)):
            given = {"mode": mode, "align_corners": align}
            yield Sample((x, 5), given, torch=path)
            yield Sample((x, 1), given, torch=path)
            yield Sample((x, None, 1.6), given, torch=path)
            yield Sample((x, None, [0.7] * count), given, torch=path)
            yield Sample((x, None, 1.6), {**given, "recompute_scale_factor": True}, torch=path)
    x = rng.normal(size=(1, 2, 7, 9))
    for mode, align in itertools.product(MODES[2], (False, True)):
        given = {"mode": mode, "align_corners": align, "antialias": True}
        yield Sample((x, (3, 4)), given, torch=path)
        yield Sample((x, (1, 1)), given, torch=path)
        yield Sample((x, (7, 20)), given, torch=path)
        yield Sample((x, None, 0.4), given, torch=path)
        yield Sample((x, None, [1.6, 0.3]), given, torch=path)
    x = rng.normal(size=(1, 1, 3, 4))
    yield Sample((x, (3, 4)), {"mode": "bilinear"}, torch=path)
    yield Sample((x, (3, 6)), torch=path)
    infinite = np.array([[[np.inf, 1.0, 2.0, 3.0]]])
    yield Sample((infinite, 8), {"mode": "linear"}, torch=path, differentiate=False)


def _resample(x: Any, dim: int, kind: str, wanted: int, align: bool, scale: Any) -> Any:
    """resample in PyTorch, along the last of three dimensions."""
    import torch

    given = {"align_corners": align} if kind == "linear" else {}
    function = torch.nn.functional.interpolate
    return function(x, None if scale else wanted, scale, mode=kind, **given)


@samples("resample")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(1, 2, 4))
    for kind, align in (("nearest", False), ("linear", True), ("linear", False)):
        yield Sample((x, 2, kind, 7, align, None), torch=_resample)


@samples("resample_back")
def _(rng: Generator) -> Iterator[Sample]:
    def back(grad: Any, dim: int, kind: str, size: int, *rest: Any) -> Any:
        import torch

        zeros = torch.zeros(*grad.shape[:2], size, dtype=grad.dtype, requires_grad=True)
        out = _resample(zeros, dim, kind, *rest)
        return torch.autograd.grad(out, zeros, grad, create_graph=True)[0]

    grad = rng.normal(size=(1, 2, 7))
    for kind, align in (("nearest", False), ("linear", True)):
        yield Sample((grad, 2, kind, 4, 7, align, None), torch=back)


# ---- pixels in another order ----


@samples("pixel_shuffle")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(1, 4, 2, 1)), 2))
    yield Sample((rng.normal(size=(9, 1, 2)), 3))
    yield Sample((rng.normal(size=(2, 1, 4, 1, 1)), 2))


@samples("pixel_unshuffle")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(1, 2, 4, 2)), 2))
    yield Sample((rng.normal(size=(1, 3, 6)), 3))


@samples("channel_shuffle")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(1, 6, 2)), 3))
    yield Sample((rng.normal(size=(2, 4, 1, 2)), 2))


# ---- columns of windows ----


@samples("columns_of")
def _(rng: Generator) -> Iterator[Sample]:
    def columns(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
        import torch

        sides = [pair[0] for pair in padding]
        return torch.nn.functional.unfold(x, kernel, dilation, sides, stride)

    x = rng.normal(size=(1, 2, 3, 4))
    yield Sample((x, (2, 2), (1, 2), ((1, 1), (0, 0)), (2, 1)), torch=columns)
    yield Sample((x, (1, 3), (1, 1), ((0, 0), (0, 0)), (1, 1)), torch=columns)


@samples("images_of")
def _(rng: Generator) -> Iterator[Sample]:
    def images(x: Any, sizes: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
        import torch

        sides = [pair[0] for pair in padding]
        return torch.nn.functional.fold(x, sizes, kernel, dilation, sides, stride)

    x = rng.normal(size=(1, 8, 6))
    yield Sample((x, (3, 4), (2, 2), (1, 2), ((1, 1), (0, 0)), (2, 1)), torch=images)


@samples("fold")
def _(rng: Generator) -> Iterator[Sample]:
    path = PATH + "fold"
    yield Sample((rng.normal(size=(1, 4, 6)), (3, 4), 2), torch=path)
    yield Sample((rng.normal(size=(8, 4)), 4, 2), {"stride": 2}, torch=path)
    yield Sample((rng.normal(size=(1, 4, 9)), (4, 4), 2, 1, 1, 2), torch=path)


@samples("resample_bytes")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.integers(0, 256, size=(1, 2, 4)).astype("uint8")
    for kind, align in (("linear", True), ("cubic", False)):
        yield Sample((x, 2, kind, 7, align, None), differentiate=False)
