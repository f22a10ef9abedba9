"""Samples of convolutions."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.matmul import complex_normal

Generator = np.random.Generator


@samples("conv1d")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = (rng.normal(size=s) for s in ((2, 2, 6), (2, 2, 3), (2,)))
    path = "nn.functional.conv1d"
    yield Sample((x, weight), torch=path)
    yield Sample((x[0], weight, bias, 2, (1,)), torch=path)
    yield Sample((x, weight, bias), {"padding": "same", "dilation": 2}, torch=path)
    yield Sample((x, rng.normal(size=(4, 1, 2)), rng.normal(size=4)), {"groups": 2}, torch=path)
    yield Sample((x, weight, None, 3, 2, 2), torch=path)
    yield Sample((complex_normal(rng, 1, 2, 4), complex_normal(rng, 3, 2, 2)), torch=path)


@samples("conv2d")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = (rng.normal(size=s) for s in ((2, 2, 4, 5), (3, 2, 2, 3), (3,)))
    path = "nn.functional.conv2d"
    yield Sample((x, weight), torch=path)
    yield Sample((x, weight, bias), torch=path)
    yield Sample((x[0], weight, bias), torch=path)
    yield Sample((x, weight, bias, 2, 1), torch=path)
    yield Sample((x, weight, None, (1, 2), (1, 0), (2, 1)), torch=path)
    yield Sample((x, weight, bias, 1, "same"), torch=path)
    yield Sample((x, weight, bias, 1, "same", 2), torch=path)
    yield Sample((x, weight, bias, (2, 1), "valid"), torch=path)
    yield Sample((x[:, :, ::2], weight[:, :, :1, :1], bias), torch=path)
    yield Sample((x, weight[:, :, :1, :1], bias, 2), torch=path)
    grouped = rng.normal(size=(4, 1, 2, 2))
    yield Sample((x, grouped, rng.normal(size=4)), {"groups": 2, "padding": 1}, torch=path)
    yield Sample((x, grouped), {"groups": 2, "stride": 2, "dilation": 2}, torch=path)
    each = rng.normal(size=(2, 1, 3, 2))
    yield Sample((x, each), {"groups": 2, "padding": (1, 2)}, torch=path)
    yield Sample((x, each[..., :1]), {"groups": 2, "padding": (3, 0), "dilation": 2}, torch=path)
    yield Sample((np.zeros((0, 2, 4, 4)), weight), torch=path)


@samples("conv3d")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = (rng.normal(size=s) for s in ((1, 2, 3, 3, 2), (2, 2, 2, 1, 2), (2,)))
    path = "nn.functional.conv3d"
    yield Sample((x, weight, bias), torch=path)
    yield Sample((x[0], weight, bias, (1, 2, 1), (0, 1, 0)), torch=path)
    yield Sample((x, weight[:, :1], bias, 1, "same", 1, 2), torch=path)


@samples("conv_transpose1d")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = (rng.normal(size=s) for s in ((2, 2, 4), (2, 3, 3), (3,)))
    path = "nn.functional.conv_transpose1d"
    yield Sample((x, weight), torch=path)
    yield Sample((x[0], weight, bias, 2, 1, 1), torch=path)
    yield Sample((x, weight, bias, 1, 0, 1, 1, 2), torch=path)
    yield Sample((x, weight, bias, 3, 1, 2), torch=path)
    yield Sample((x, weight), {"dilation": 3, "output_padding": 2, "padding": 1}, torch=path)
    yield Sample((complex_normal(rng, 1, 2, 3), complex_normal(rng, 2, 1, 2)), torch=path)


@samples("conv_transpose2d")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = (rng.normal(size=s) for s in ((2, 2, 3, 2), (2, 3, 2, 3), (3,)))
    path = "nn.functional.conv_transpose2d"
    yield Sample((x, weight, bias), torch=path)
    yield Sample((x[0], weight, bias, (2, 1), (0, 1), (1, 0)), torch=path)
    yield Sample((x, weight[:, :1], None, 2, 0, 1, 2, (1, 2)), torch=path)
    yield Sample((x, weight[:, :, :1, :1], bias), torch=path)


@samples("conv_transpose3d")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = (rng.normal(size=s) for s in ((1, 2, 2, 2, 2), (2, 2, 2, 1, 2), (2,)))
    path = "nn.functional.conv_transpose3d"
    yield Sample((x, weight, bias), torch=path)
    yield Sample((x[0], weight, bias, (1, 2, 1), 0, (0, 1, 0)), torch=path)


@samples("conv_tbc")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = (rng.normal(size=s) for s in ((4, 2, 2), (3, 2, 3), (3,)))
    yield Sample((x, weight, bias))
    yield Sample((x, weight, bias, 1))
    yield Sample((x, weight, bias, 4))
    yield Sample((x, weight[:1], bias, -1))


def _taps(x: Any, weight: Any, bias: Any, pad: int) -> Any:
    import torch

    zeros = x.new_zeros(weight.shape[2]) if bias is None else bias
    return torch.conv_tbc(x, weight, zeros, pad)


@samples("taps")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = (rng.normal(size=s) for s in ((4, 2, 2), (3, 2, 3), (3,)))
    for pad in (0, 1, 3):
        yield Sample((x, weight, bias, pad), torch=_taps)
    yield Sample((x, weight[:2], None, -1), torch=_taps)


@samples("tap_products")
def _(rng: Generator) -> Iterator[Sample]:
    def products(x: Any, other: Any, pad: int) -> Any:
        import torch

        sides = (0, 0, 0, 0, pad, pad)
        frames = torch.nn.functional.pad(x, sides).unfold(0, other.shape[0], 1)
        return torch.einsum("kbct,tbf->kcf", frames, other)

    x, other = rng.normal(size=(5, 2, 2)), rng.normal(size=(4, 2, 3))
    for pad in (0, 1, 2):
        yield Sample((x, other, pad), torch=products)


# ---- the three products ----


def _unpadded(images: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    """convolve in PyTorch; the border is written out."""
    functional = _functional()
    stride, padding, dilation, groups = rest
    sides = [n for pair in reversed(padding) for n in pair]
    return functional.conv2d(
        functional.pad(images, sides), weight, bias, stride, 0, dilation, groups
    )


def _functional() -> Any:
    import torch

    return torch.nn.functional


LAYOUT = ((2, 1), ((1, 0), (0, 1)), (1, 2))


@samples("convolve")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = (rng.normal(size=s) for s in ((2, 2, 4, 5), (2, 1, 2, 2), (2,)))
    yield Sample((x, weight, bias, *LAYOUT, 2), torch=_unpadded)
    yield Sample((x, weight, bias, (1, 1), ((1, -1), (0, 0)), (1, 1), 2), torch=_unpadded)


@samples("convolve_back")
def _(rng: Generator) -> Iterator[Sample]:
    def back(grad: Any, weight: Any, bias: Any, sizes: Any, *rest: Any) -> Any:
        import torch

        zeros = torch.zeros(grad.shape[0], weight.shape[1] * rest[-1], *sizes, dtype=grad.dtype)
        zeros.requires_grad_()
        out = _unpadded(zeros, weight, None, *rest)
        (found,) = torch.autograd.grad(out, zeros, grad, create_graph=True)
        return found + bias.reshape(-1, 1, 1)

    grad, weight, bias = (rng.normal(size=s) for s in ((2, 2, 2, 4), (2, 1, 2, 2), (2,)))
    yield Sample((grad, weight, bias, (4, 5), *LAYOUT, 2), torch=back)


@samples("convolve_filters")
def _(rng: Generator) -> Iterator[Sample]:
    def filters(images: Any, other: Any, kernel: Any, *rest: Any) -> Any:
        import torch

        zeros = torch.zeros(other.shape[1], images.shape[1] // rest[-1], *kernel)
        zeros = zeros.to(images.dtype).requires_grad_()
        out = _unpadded(images, zeros, None, *rest)
        return torch.autograd.grad(out, zeros, other, create_graph=True)[0]

    x, other = (rng.normal(size=s) for s in ((2, 2, 4, 5), (2, 2, 2, 4)))
    yield Sample((x, other, (2, 2), *LAYOUT, 2), torch=filters)
