"""Samples of random ops."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples


@samples("bernoulli")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([0.0, 1.0, 1.0]),), second_order=False)
    yield Sample((rng.normal(size=(2, 3)), 1.0), differentiate=False)
    yield Sample((rng.normal(size=(2, 3)), 0.0), differentiate=False)


@samples("poisson")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.zeros((2, 3)),), second_order=False)


@samples("multinomial")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample((np.array([0.0, 1.0, 0.0]), 1))
    yield Sample((np.array([[0.0, 2.0], [0.5, 0.0]]), 3, True))


@samples("dropout")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, 0.0, True))
    yield Sample((x, 0.5, False))
    yield Sample((x, 1.0, True))


@samples("native_dropout")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, 0.0, True))
    yield Sample((x, 0.5, False))
    yield Sample((x, 1.0, None))
    yield Sample((x, 0.5, True), compare_values=False)


@samples("dropout_mask")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    def masked(x: Any, p: float, scale: float = 1.0, channels: bool = False) -> Any:
        return (x[:, :, :1] if channels else x).detach() * 0 + (scale if p == 0 else 0)

    x = rng.normal(size=(2, 3, 4))
    yield Sample((x, 0.0, 2.0), torch=masked)
    yield Sample((x, 1.0), torch=masked)
    yield Sample((x, 0.5, 2.0, True), torch=masked, compare_values=False)


# ---- drawn at random: only shapes and data types are compared ----


def _drawn(name: str) -> Callable[..., Any]:
    """PyTorch's filler on a copy."""
    return lambda x, *args: getattr(x.clone(), name)(*args)


def _fillers(rng: np.random.Generator, name: str, *args: Any) -> Iterator[Sample]:
    x = rng.uniform(size=(2, 3))
    for given in ((x,), (x, *args), (np.zeros((0, 3)),)):
        yield Sample(given, torch=_drawn(name), differentiate=False, compare_values=False)


@samples("uniform")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _fillers(rng, "uniform_", -1.0, 2.0)


@samples("normal_fill")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _fillers(rng, "normal_", 1.0, 2.0)


@samples("log_normal")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _fillers(rng, "log_normal_", 0.5, 1.0)


@samples("cauchy")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _fillers(rng, "cauchy_", 1.0, 2.0)


@samples("exponential")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _fillers(rng, "exponential_", 2.0)


@samples("geometric")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.uniform(size=(2, 3))
    yield Sample((x, 0.3), torch=_drawn("geometric_"), differentiate=False, compare_values=False)


@samples("random")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _fillers(rng, "random_", 2, 5)


@samples("bernoulli_input")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _fillers(rng, "bernoulli")


@samples("bernoulli_p")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    yield from _fillers(rng, "bernoulli_", 0.25)


@samples("normal_from")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    mean, std = rng.normal(size=(2, 3)), rng.uniform(1, 2, size=(2, 3))
    for args in ((mean,), (mean, 2.0), (0.5, std), (mean, std)):
        yield Sample(args, torch="normal", differentiate=False, compare_values=False)


@samples("successes", "binomial")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    count = np.array([4.0, 5.0, 0.0, -1.0])
    yield Sample((count, np.array([0.0, 1.0, 0.5, 0.5])), differentiate=False, torch="binomial")
    yield Sample((count[:2], np.array([[np.nan], [1.0]])), differentiate=False, torch="binomial")
    drawn = (np.full((2, 3), 9.0), rng.uniform(size=3))
    yield Sample(drawn, differentiate=False, torch="binomial", compare_values=False)
