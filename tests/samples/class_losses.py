"""Samples of losses of class numbers."""

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator

REDUCTIONS = ("mean", "sum", "none")


def _functional() -> Any:
    return importlib.import_module("torch.nn.functional")


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


@samples("spread_mean")
def _(rng: Generator) -> Iterator[Sample]:
    def spread(x: Any, target: Any, classes: int, ignore_index: int = -100) -> Any:
        kept = (target != ignore_index).to(x.dtype)
        shares = (-x / kept.sum(-1)).unsqueeze(-1) * kept
        places = (target * kept.long()).unsqueeze(-1)
        return x.new_zeros((*target.shape, classes)).scatter(-1, places, shares.unsqueeze(-1))

    yield Sample((np.array(0.7), SOME, 3), torch=spread)
    yield Sample((np.array(-1.5), CLASSES, 3, 2), torch=spread)
    yield Sample((rng.normal(size=2), np.array([CLASSES, SOME]), 3), torch=spread)


def class_calls(rng: Generator) -> Iterator[tuple[Any, ...]]:
    """Rows of scores with class numbers, some of them ignored; and such rows for several means."""
    x, target = rng.normal(size=(4, 3)), np.array([0, 2, 1, 2])
    yield x, target
    yield x * 100, target
    yield x, np.array([0, -100, 1, 2])
    yield x, target, 2
    yield rng.normal(size=(1, 1)), np.array([0])
    yield rng.normal(size=(2, 4, 3)), np.array([target, [0, -100, 1, -100]])
    yield rng.normal(size=(2, 2, 1, 3)), target.reshape(2, 2, 1)


def means_of(name: str) -> Any:
    """Means of a loss of PyTorch's, each over some rows."""

    def means(x: Any, target: Any, ignored: int = -100) -> Any:
        rows = zip(x.reshape(-1, *x.shape[-2:]), target.reshape(-1, target.shape[-1]))
        loss = getattr(_functional(), name)
        found = [loss(scores, classes, ignore_index=ignored) for scores, classes in rows]
        return sys.modules["torch"].stack(found).reshape(target.shape[:-1])

    return means


@samples("mean_cross_entropy")
def _(rng: Generator) -> Iterator[Sample]:
    for call in class_calls(rng):
        yield Sample(call, torch=means_of("cross_entropy"))


@samples("picked_mean")
def _(rng: Generator) -> Iterator[Sample]:
    for call in class_calls(rng):
        yield Sample(call, torch=means_of("nll_loss"))


def slope(x: Any, target: Any, ignored: int = -100) -> Any:
    """class_slope in PyTorch, differentiable as well."""
    torch = sys.modules["torch"]
    kept = (target != ignored).to(x.dtype)
    hot = torch.nn.functional.one_hot(torch.where(target == ignored, 0, target), x.shape[-1])
    return (x.softmax(-1) - hot) * (kept / kept.sum(-1, keepdim=True))[..., None]


@samples("class_slope")
def _(rng: Generator) -> Iterator[Sample]:
    for call in class_calls(rng):
        yield Sample(call, torch=slope)


def turn(direction: Any, x: Any, target: Any, ignored: int = -100) -> Any:
    """class_turn in PyTorch, differentiable as well."""
    kept = (target != ignored).to(x.dtype)
    weighted = direction * (kept / kept.sum(-1, keepdim=True))[..., None]
    shares = x.softmax(-1)
    return shares * (weighted - (weighted * shares).sum(-1, keepdim=True))


@samples("class_turn")
def _(rng: Generator) -> Iterator[Sample]:
    for call in class_calls(rng):
        yield Sample((rng.normal(size=call[0].shape), *call), torch=turn)


# ---- margins ----


@samples("multi_margin_loss")
def _(rng: Generator) -> Iterator[Sample]:
    x, weight = rng.normal(size=(4, 3)), rng.uniform(0.5, 2, size=3)
    for reduction in REDUCTIONS:
        yield Sample((x, CLASSES), {"reduction": reduction})
        yield Sample((x[0], np.array([1])), {"reduction": reduction})
        yield Sample((x, CLASSES, 2, 0.5), {"reduction": reduction})
        yield Sample((x, CLASSES, 1, 1.5, weight), {"reduction": reduction}, differentiate=False)


@samples("multilabel_margin_loss")
def _(rng: Generator) -> Iterator[Sample]:
    x, target = rng.normal(size=(2, 4)), np.array([[3, 0, -1, 1], [-1, 1, 2, 2]])
    for reduction in REDUCTIONS:
        yield Sample((x, target), {"reduction": reduction})
        yield Sample((x[0], target[0]), {"reduction": reduction})
    yield Sample((x, np.array([[1, 2, 3, 0], [1, 1, -1, 0]])))


@samples("multilabel_soft_margin_loss")
def _(rng: Generator) -> Iterator[Sample]:
    x, target = rng.normal(size=(2, 3)), rng.integers(0, 2, size=(2, 3)).astype(float)
    for reduction in REDUCTIONS:
        yield Sample((x, target), {"reduction": reduction})
    yield Sample((x[0], target[0], rng.uniform(0.5, 2, size=3)))
