"""Samples of normalisation."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("layer_norm")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = rng.normal(size=(2, 3, 4)), rng.normal(size=4), rng.normal(size=4)
    yield Sample((x, (4,)))
    yield Sample((x, [3, 4]))
    yield Sample((x, (4,), weight))
    yield Sample((x, (4,), weight, bias, 1e-3))
    yield Sample((x, (4,)), {"bias": bias})
    yield Sample((x, (3, 4), rng.normal(size=(3, 4)), rng.normal(size=(3, 4))))
    yield Sample((rng.normal(size=(3, 9)), (9,), rng.normal(size=9), rng.normal(size=9)))


@samples("rms_norm")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 4))
    yield Sample((x, (4,)))
    yield Sample((x, [3, 4], rng.normal(size=(3, 4))))
    yield Sample((x, (4,), rng.normal(size=4), 1e-2))


@samples("group_norm")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = rng.normal(size=(2, 4, 3)), rng.normal(size=4), rng.normal(size=4)
    yield Sample((x, 2))
    yield Sample((x, 4, weight, bias, 1e-3))
    yield Sample((x, 1, weight))
    yield Sample((rng.normal(size=(2, 4)), 2, weight, bias))
    yield Sample((rng.normal(size=(2, 4, 5)), 2, weight, bias))


PATH = "nn.functional."


@samples("batch_norm")
def _(rng: Generator) -> Iterator[Sample]:
    path = PATH + "batch_norm"
    weight, bias = rng.normal(size=3), rng.normal(size=3)
    for shape in ((4, 3), (2, 3, 2), (2, 3, 2, 2)):
        x = rng.normal(size=shape)
        yield Sample((x, None, None, weight, bias, True), torch=path)
        yield Sample((x, None, None), {"training": True, "eps": 1e-2}, torch=path)
    yield Sample(
        (x, rng.normal(size=3), rng.uniform(0.5, 2, size=3), weight, bias),
        torch=path,
        differentiate=False,
    )


@samples("instance_norm")
def _(rng: Generator) -> Iterator[Sample]:
    path = PATH + "instance_norm"
    weight, bias = rng.normal(size=3), rng.normal(size=3)
    for shape in ((2, 3, 4), (1, 3, 2, 2)):
        x = rng.normal(size=shape)
        yield Sample((x, None, None, weight, bias), torch=path)
        yield Sample((x,), {"eps": 1e-2}, torch=path)


@samples("local_response_norm")
def _(rng: Generator) -> Iterator[Sample]:
    path = PATH + "local_response_norm"
    yield Sample((rng.normal(size=(2, 3, 2)), 2), torch=path)
    yield Sample((rng.normal(size=(1, 4, 2, 2)), 3, 0.5, 0.6, 2.0), torch=path)
    yield Sample((rng.normal(size=(1, 2, 2, 1, 2)), 5, 0.5), torch=path)


# ---- the ops behind them ----


def _standard(x: Any, weight: Any, bias: Any, axes: Any, eps: float) -> Any:
    centre = x.mean(axes, keepdim=True)
    spread = x.var(axes, correction=0, keepdim=True)
    out = (x - centre) * (spread + eps).rsqrt()
    out = out if weight is None else out * weight
    return (out if bias is None else out + bias), centre, spread


@samples("layer_standardized", "batch_standardized")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 2))
    weight, bias = rng.normal(size=(3, 1)), rng.normal(size=(3, 1))
    yield Sample((x, weight, bias, (0, 2), 1e-3), torch=_standard)
    yield Sample((x, None, None, (1, 2), 1e-3), torch=_standard)
    yield Sample((x, None, bias, (2,), 1e-1), torch=_standard)
    long = rng.normal(size=(2, 2, 8))
    yield Sample((long, rng.normal(size=8), rng.normal(size=8), (2,), 1e-3), torch=_standard)
    parts = rng.normal(size=(1, 2, 3, 1)), rng.normal(size=(1, 2, 3, 1))
    yield Sample((rng.normal(size=(2, 2, 3, 4)), *parts, (2, 3), 1e-3), torch=_standard)


@samples("group_standardized")
def _(rng: Generator) -> Iterator[Sample]:
    def grouped(x: Any, weight: Any, bias: Any, groups: int, eps: float) -> Any:
        images = x.reshape(x.shape[0], groups, x.shape[1] // groups, -1)
        parts = (1, *images.shape[1:3], 1)
        factors = [None if each is None else each.reshape(parts) for each in (weight, bias)]
        out, mean, variance = _standard(images, *factors, (2, 3), eps)
        return out.reshape(x.shape), mean[..., 0, 0], variance[..., 0, 0]

    x, weight, bias = rng.normal(size=(2, 4, 3, 2)), rng.normal(size=4), rng.normal(size=4)
    for factors in ((weight, bias), (weight, None), (None, bias), (None, None)):
        yield Sample((x, *factors, 2, 1e-3), torch=grouped)
    yield Sample((x[..., 0], weight, bias, 4, 1e-1), torch=grouped)
    yield Sample((x[:1, :, 0, 0], weight, bias, 1, 1e-1), torch=grouped)


@samples("standard_slopes")
def _(rng: Generator) -> Iterator[Sample]:
    def slopes(*given: Any) -> Any:
        import torch

        *grads, x, weight, _, _, axes, eps, _ = given
        leaves = [each.detach().requires_grad_() for each in (x, weight, torch.zeros_like(weight))]
        outputs = _standard(*leaves, axes, eps)
        return torch.autograd.grad(outputs, leaves, grads)

    x, weight, slope = rng.normal(size=(3, 9)), rng.normal(size=9), rng.normal(size=(3, 9))
    moments = x.mean(1, keepdims=True), x.var(1, keepdims=True)
    grads = slope, rng.normal(size=(3, 1)), rng.normal(size=(3, 1))
    given = (*grads, x, weight, *moments, (1,), 1e-3, (True, True, True))
    yield Sample(given, torch=slopes, differentiate=False)


@samples("root_scaled")
def _(rng: Generator) -> Iterator[Sample]:
    def scaled(x: Any, weight: Any, axes: Any, eps: float) -> Any:
        power = x.square().mean(axes, keepdim=True)
        out = x * (power + eps).rsqrt()
        return (out if weight is None else out * weight), power

    x = rng.normal(size=(2, 3))
    yield Sample((x, rng.normal(size=3), (1,), 1e-3), torch=scaled)
    yield Sample((x, None, (0, 1), 1e-3), torch=scaled)
