"""Samples of linear maps, losses, normalisation, attention and windows."""

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.matmul import complex_normal

Generator = np.random.Generator

REDUCTIONS = ("mean", "sum", "none")


def _functional() -> Any:
    return importlib.import_module("torch.nn.functional")


@samples("linear")
def _(rng: Generator) -> Iterator[Sample]:
    weight, bias = rng.normal(size=(2, 3)), rng.normal(size=2)
    for shape in ((4, 3), (3,), (2, 1, 3), (0, 3)):
        yield Sample((rng.normal(size=shape), weight))
        yield Sample((rng.normal(size=shape), weight, bias))
    z = complex_normal(rng, 2, 3)
    yield Sample((z, complex_normal(rng, 2, 3), complex_normal(rng, 2)))
    for shape in ((2, 3), (3,), (2, 1, 3)):
        yield Sample((rng.normal(size=shape), rng.normal(size=3)))


# ---- losses ----


@samples("mse_loss")
def _(rng: Generator) -> Iterator[Sample]:
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    for reduction in REDUCTIONS:
        yield Sample((x, y), {"reduction": reduction})
    yield Sample((rng.normal(size=()), rng.normal(size=())))


CLASSES = np.array([0, 2, 1, 2])
SOME = np.array([0, -100, 1, 2])
PLACES = np.array([[[0, 2], [1, 1]], [[2, 2], [0, 1]]])


def _class_losses(rng: Generator) -> Iterator[Sample]:
    """Calls that nll_loss and cross_entropy share; a weight that requires grad is refused."""
    x, weight = rng.normal(size=(4, 3)), rng.uniform(0.5, 2, size=3)
    images = rng.normal(size=(2, 3, 2, 2))
    for reduction in REDUCTIONS:
        given = {"reduction": reduction}
        yield Sample((x, CLASSES), given)
        yield Sample((x, SOME), given)
        yield Sample((x, CLASSES.astype("uint8")), given)
        yield Sample((x, CLASSES), {"ignore_index": 2, **given})
        yield Sample((images, PLACES), given)
        yield Sample((x[0], np.array(1)), given)
        for args in ((x, CLASSES), (x, SOME), (images, PLACES), (x[0], np.array(1))):
            yield Sample((*args, weight), given, differentiate=False)
    yield Sample((x, np.full(4, -100)))
    yield Sample((np.zeros((0, 3)), CLASSES[:0]), {"reduction": "sum"})


@samples("nll_loss")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _class_losses(rng)


@samples("cross_entropy")
def _(rng: Generator) -> Iterator[Sample]:
    yield from _class_losses(rng)
    x, weight = rng.normal(size=(4, 3)), rng.uniform(0.5, 2, size=3)
    chances = rng.dirichlet(np.ones(3), size=4)
    for reduction in REDUCTIONS:
        given: dict[str, Any] = {"reduction": reduction, "label_smoothing": 0.2}
        for target in (CLASSES, SOME, chances):
            yield Sample((x, target), given)
            yield Sample((x, target, weight), given, differentiate=target is chances)
        yield Sample((x, chances), {"reduction": reduction})
        yield Sample((x, chances, weight), {"reduction": reduction})
        yield Sample((rng.normal(size=(2, 3, 2, 2)), PLACES), given)
        yield Sample((x[0], chances[0], weight), given)
        yield Sample((x[0], np.array(2)), given)
    spread = rng.dirichlet(np.ones(3), size=(2, 2)).transpose(0, 2, 1)
    yield Sample((rng.normal(size=(2, 3, 2)), spread))


@samples("picked_losses")
def _(rng: Generator) -> Iterator[Sample]:
    def picked(x: Any, target: Any, ignore_index: int = -100) -> Any:
        return _functional().nll_loss(x, target, ignore_index=ignore_index, reduction="none")

    yield Sample((rng.normal(size=(4, 3)), SOME), torch=picked)
    yield Sample((rng.normal(size=(4, 3)), CLASSES, 2), torch=picked)
    yield Sample((rng.normal(size=(2, 3, 2, 2)), PLACES), torch=picked)


@samples("spread_losses")
def _(rng: Generator) -> Iterator[Sample]:
    def spread(x: Any, target: Any, shape: Any, ignore_index: int = -100) -> Any:
        kept = target != ignore_index
        places = (target * kept).unsqueeze(1)
        return x.new_zeros(shape).scatter(1, places, -(x * kept).unsqueeze(1))

    yield Sample((rng.normal(size=4), SOME, (4, 3)), torch=spread)
    yield Sample((rng.normal(size=4), CLASSES, (4, 3), 2), torch=spread)
    yield Sample((rng.normal(size=(2, 2, 2)), PLACES, (2, 3, 2, 2)), torch=spread)


# ---- normalisation and attention ----


@samples("layer_norm")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight, bias = rng.normal(size=(2, 3, 4)), rng.normal(size=4), rng.normal(size=4)
    yield Sample((x, (4,)))
    yield Sample((x, [3, 4]))
    yield Sample((x, (4,), weight))
    yield Sample((x, (4,), weight, bias, 1e-3))
    yield Sample((x, (4,)), {"bias": bias})
    yield Sample((x, (3, 4), rng.normal(size=(3, 4)), rng.normal(size=(3, 4))))


@samples("scaled_dot_product_attention")
def _(rng: Generator) -> Iterator[Sample]:
    query, key, value = (rng.normal(size=(1, 2, n, 2)) for n in (3, 4, 4))
    yield Sample((query, key, value))
    yield Sample((query, key, value), {"scale": 0.3})
    yield Sample((query, key, value), {"is_causal": True})
    mask = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 1, 1]], dtype=bool)
    yield Sample((query, key, value, mask))
    yield Sample((query, key, value, rng.normal(size=(3, 4))))
    yield Sample((query, key, value), {"attn_mask": rng.normal(size=(1, 2, 1, 4))})
    yield Sample((query, key, value, mask & (np.arange(3) != 1).reshape(3, 1)))
    yield Sample((query[0, 0], key[0, 0], value[0, 0]))
    yield Sample((query, key[:, :1], value[:, :1]), {"enable_gqa": True})
    yield Sample(
        (query, key, value),
        {"dropout_p": 0.5},
        differentiate=False,
        compare_values=False,
    )


@samples("lower_mask")
def _(rng: Generator) -> Iterator[Sample]:
    def mask(like: Any, rows: int, columns: int) -> Any:
        return like.new_ones(rows, columns).bool().tril()

    yield Sample((rng.normal(size=(1,)), 3, 4), torch=mask, differentiate=False)
    yield Sample((rng.normal(size=(1,)), 3, 2), torch=mask, differentiate=False)


def class_calls(rng: Generator) -> Iterator[tuple[Any, ...]]:
    """Rows of scores with class numbers, some of them ignored."""
    x, target = rng.normal(size=(4, 3)), np.array([0, 2, 1, 2])
    yield x, target
    yield x * 100, target
    yield x, np.array([0, -100, 1, 2])
    yield x, target, 2
    yield rng.normal(size=(1, 1)), np.array([0])


@samples("mean_cross_entropy")
def _(rng: Generator) -> Iterator[Sample]:
    for call in class_calls(rng):
        yield Sample(
            call,
            torch=lambda x, t, i=-100: sys.modules["torch"].nn.functional.cross_entropy(
                x, t, ignore_index=i
            ),
        )


def slope(x: Any, target: Any, ignored: int = -100) -> Any:
    """class_slope in PyTorch, differentiable as well."""
    torch = sys.modules["torch"]
    kept = (target != ignored).to(x.dtype)
    hot = torch.nn.functional.one_hot(torch.where(target == ignored, 0, target), x.shape[1])
    return (x.softmax(1) - hot) * (kept / kept.sum())[:, None]


@samples("class_slope")
def _(rng: Generator) -> Iterator[Sample]:
    for call in class_calls(rng):
        yield Sample(call, torch=slope)
