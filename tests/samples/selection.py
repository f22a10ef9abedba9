"""Samples of choices, extremes and bounds."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples
from tests.samples.arrays import complex_array, pairs, shapes


@samples("maximum", "minimum", "fmax", "fmin")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng):
        yield Sample((x, y))
    ties = np.array([1.0, 2.0, 3.0])
    yield Sample((ties, np.array([1.0, 1.0, 3.0])))
    yield Sample((ties, np.array([np.nan, 1.0, 3.0])))
    yield Sample((np.array([np.nan, np.nan, 3.0]), np.array([np.nan, 1.0, 3.0])))
    yield Sample((np.array([1, 2]), np.array([2, 1])))


@samples("share_of_larger")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    def share(input: Any, other: Any) -> Any:
        return ((input > other).to(input.dtype) + (input >= other).to(input.dtype)) * 0.5

    for x, y in pairs(rng):
        if x.dtype.kind == "f":
            yield Sample((x, y), torch=share)
    yield Sample((np.array([1.0, 2.0, 3.0]), np.array([1.0, np.nan, 4.0])), torch=share)


@samples("clamp")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x in shapes(rng):
        yield Sample((x, -0.5, 0.5))
        yield Sample((x,), {"min": 0.1})
        yield Sample((x,), {"max": 0.1})
    x = rng.normal(size=(2, 3))
    yield Sample((np.array([-1.0, 0.0, 1.0, np.nan]), 0.0, 1.0))
    yield Sample((x, np.array([-0.5, 0.0, 0.2]), np.array([0.5, -0.5, 0.2])))
    yield Sample((x,), {"min": np.array(0.1)})
    yield Sample((x,), {"max": np.array([[0.1], [0.2]])})
    yield Sample((np.array([0.5, 1.0]), np.array([0.5, 0.5]), np.array([1.0, 1.0])))
    yield Sample((np.array([1, 2, 3]), 2))
    yield Sample((np.array([1, 2, 3]), 1.5))


@samples("clamp_min", "clamp_max")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng):
        yield Sample((x, y))
        yield Sample((x, 0.25))
    yield Sample((np.array([1.0, 2.0]), 1.0))
    yield Sample((np.array([1, 2, 3]), 2))


@samples("where")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    for x, y in pairs(rng):
        positive = np.asarray(x > 0)
        yield Sample((positive, x, y))
        yield Sample((positive, 1, y))
        yield Sample((positive, x, 2.5))
    x = rng.normal(size=(2, 3))
    yield Sample((x > 0, 1, 2))
    yield Sample((x > 0, True, False))
    yield Sample((x > 0, x.astype("float32"), np.array(1.0)), second_order=False)
    yield Sample((x > 0, x, complex_array(rng, 3)), differentiate=False)
    yield Sample((x > 0, complex_array(rng, 2, 3), 1.5))
    yield Sample((x > 0, np.array([1, 2, 3]), 0.5))
    yield Sample((x > 0,))


@samples("choose")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x > 0, x, x[0]), torch="where")


@samples("nan_to_num")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = np.array([[1.0, np.nan], [np.inf, -np.inf]])
    yield Sample((x,))
    yield Sample((x, 1.0, 2.0, 3.0))
    yield Sample((x,), {"neginf": -5.0})
    yield Sample((np.array([1, 2]),))
    yield Sample((x + 1j,), differentiate=False)


@samples("heaviside")
def _(rng: np.random.Generator) -> Iterator[Sample]:
    x = np.array([-1.0, 0.0, 2.0])
    yield Sample((x, np.array([0.5, 0.25, 1.0])), differentiate=False)
    yield Sample((x, np.array([[0.5], [1.0]])), differentiate=False)
    yield Sample((np.array([-1, 0]), np.array([3, 4])))
