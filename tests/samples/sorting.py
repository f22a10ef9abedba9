"""Samples of sorting, ranks, quantiles, distinct elements and search."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


def distinct(rng: Generator, *shape: int) -> np.ndarray:
    return rng.permutation(math.prod(shape)).reshape(shape).astype(float)


# ---- sorting ----


@samples("sort")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    yield Sample((x,))
    yield Sample((x, 0))
    yield Sample((x, 1, True))
    yield Sample((x,), {"dim": -2, "descending": True, "stable": True})
    yield Sample((np.array([1.0, 3, 1, 3, 1]),), {"stable": True})
    yield Sample((np.array([1.0, 3, 1, 3, 1]), 0, True))
    yield Sample((np.array([1.0, math.nan, 3, math.nan]),))
    yield Sample((np.array([1.0, math.nan, 3, math.nan]), -1, True))
    yield Sample((rng.normal(size=()),))
    yield Sample((np.zeros((2, 0)),))
    yield Sample((np.array([True, False]),))
    yield Sample((np.array([3, 1, 2], np.uint8), 0, True))


@samples("argsort")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    yield Sample((x,), differentiate=False)
    yield Sample((x, 0, True), differentiate=False)
    yield Sample((np.array([1, 3, 1, 3]),), {"stable": True})
    yield Sample((np.array(2),))


@samples("msort")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((distinct(rng, 3, 4),))
    yield Sample((rng.normal(size=()),))


@samples("topk")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    yield Sample((x, 2))
    yield Sample((x, 2, 0))
    yield Sample((x, 3), {"largest": False})
    yield Sample((x, 4, -1, True, True))
    yield Sample((x, 0))
    yield Sample((x, 0, 0, False))
    yield Sample((np.zeros((2, 0)), 0))
    yield Sample((np.zeros((0, 2)), 1))
    yield Sample((np.array([1.0, math.nan, 3, 2]), 2))
    yield Sample((np.array([1.0, math.nan, 3, 2]), 4, 0, False))
    yield Sample((rng.normal(size=()), 1))
    yield Sample((np.array([3, 1, 2]), 2))


# ---- ranks ----


@samples("kthvalue")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    yield Sample((x, 2))
    yield Sample((x, 1, 0))
    yield Sample((x, 4, -1, True))
    yield Sample((np.array([5.0, math.nan, 4]), 3))
    yield Sample((rng.normal(size=()), 1))
    yield Sample((np.zeros((2, 0)), 1, 0))
    yield Sample((np.array([3, 1, 2]), 2))


@samples("median", "nanmedian")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, 0, True))
    yield Sample((np.array([1.0, 3, 3, 2, 3]),))
    yield Sample((np.array([[5.0, math.nan, 4], [1, 2, 3]]),))
    yield Sample((np.array([[5.0, math.nan, 4], [1, 2, 3]]), 1))
    yield Sample((np.array([math.nan, math.nan]),))
    yield Sample((rng.normal(size=()),))
    yield Sample((rng.normal(size=()), 0))
    yield Sample((np.zeros((0, 2)), 1))
    yield Sample((np.zeros(0),), differentiate=False)
    yield Sample((np.array([3, 1, 2]),))
    yield Sample((np.array([3, 1, 2, 0]), 0))


@samples("mode")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((np.array([[2.0, 1, 2, 1, 3], [1, 1, 2, 1, 3]]),))
    yield Sample((np.array([[2.0, 1], [2, 3]]), 0, True))
    yield Sample((distinct(rng, 3, 4), 1))
    yield Sample((rng.normal(size=()),))
    yield Sample((np.zeros((0, 2)),))
    yield Sample((np.array([True, False]),))


# ---- quantiles ----


@samples("quantile", "nanquantile")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 5)
    several = np.array([0.1, 0.55, 1.0])
    yield Sample((x, 0.3))
    yield Sample((x, 0.3, 1))
    yield Sample((x, 1, 0, True))
    yield Sample((x, np.array(0.3)))
    yield Sample((x, several))
    yield Sample((x, several, 0))
    yield Sample((x, several, -1, True))
    yield Sample((x, several), {"keepdim": True})
    for interpolation in ("linear", "lower", "higher", "midpoint", "nearest"):
        yield Sample((x, 0.3, 1), {"interpolation": interpolation})
        yield Sample((x, 0.5), {"interpolation": interpolation})
        yield Sample((x, several, 1), {"interpolation": interpolation}, second_order=False)
    with_nan = np.array([[1.0, math.nan, 2, 5], [4, 3, 2, 1], [math.nan] * 4])
    yield Sample((with_nan, 0.4, 1), differentiate=False)
    yield Sample((with_nan[:2], several, 1), differentiate=False)
    yield Sample((rng.normal(size=()), 0.5))
    yield Sample((x.astype(np.float32), 0.25, 0))


# ---- distinct elements ----


@samples("unique")
def _(rng: Generator) -> Iterator[Sample]:
    x = np.array([[3, 1], [2, 1], [3, 1]])
    both = {"return_inverse": True, "return_counts": True}
    yield Sample((x,))
    yield Sample((x,), both)
    yield Sample((x, True, True))
    yield Sample((x,), {**both, "dim": 0})
    yield Sample((x,), {**both, "dim": 1})
    yield Sample((x,), {"return_counts": True})
    yield Sample((np.array([math.nan, 1.0, math.nan]),), both, differentiate=False)
    yield Sample((np.array(2.0),), both, differentiate=False)
    yield Sample((np.zeros(0),), both, differentiate=False)
    yield Sample((np.zeros((0, 2)),), {"dim": 0}, differentiate=False)


@samples("unique_consecutive")
def _(rng: Generator) -> Iterator[Sample]:
    both = {"return_inverse": True, "return_counts": True}
    yield Sample((np.array([1, 1, 2, 2, 1]),))
    yield Sample((np.array([1, 1, 2, 2, 1]),), both)
    yield Sample((np.array([[1, 1], [1, 2], [2, 1]]),), both)
    yield Sample((np.array([[1, 1], [1, 1], [2, 1]]),), {**both, "dim": 0})
    yield Sample((np.array([[1, 1], [1, 1], [2, 2]]),), {**both, "dim": -1})
    yield Sample((np.array(2.0),), both, differentiate=False)
    yield Sample((np.zeros(0),), both, differentiate=False)


# ---- search ----


@samples("searchsorted")
def _(rng: Generator) -> Iterator[Sample]:
    sequence = np.array([1, 3, 5])
    values = np.array([[3, 6], [0, 1]])
    yield Sample((sequence, values))
    yield Sample((sequence, values), {"right": True})
    yield Sample((sequence, values), {"side": "right", "out_int32": True})
    yield Sample((sequence, 3))
    yield Sample((sequence, 3.5), {"side": "left"})
    yield Sample((np.array([[1, 3, 5], [2, 4, 6]]), np.array([[3, 6], [0, 4]])))
    yield Sample((np.array([5, 3, 1]), np.array([3])), {"sorter": np.array([2, 1, 0])})
    yield Sample((np.zeros(0), np.array([3.0])), differentiate=False)
    yield Sample((np.sort(rng.normal(size=5)), rng.normal(size=4)), differentiate=False)


@samples("bucketize")
def _(rng: Generator) -> Iterator[Sample]:
    boundaries = np.array([1.0, 3.0, 5.0])
    values = np.array([[3.0, 6.0], [1.0, 0.5]])
    yield Sample((values, boundaries), differentiate=False)
    yield Sample((values, boundaries), {"right": True, "out_int32": True}, differentiate=False)
    yield Sample((3, boundaries), differentiate=False)


@samples("isin")
def _(rng: Generator) -> Iterator[Sample]:
    x = np.array([[1, 2], [3, 2]])
    yield Sample((x, np.array([2, 5])))
    yield Sample((x, np.array([2, 5])), {"invert": True})
    yield Sample((np.array([1, 2, 3]), np.array([2, 5])), {"assume_unique": True})
    yield Sample((x, 2))
    yield Sample((2, np.array([2, 5])))
    yield Sample((x.astype(float), np.array([2])), differentiate=False)
    yield Sample((np.array([1, math.nan]), np.array([math.nan])), differentiate=False)


# ---- the ops behind the overloads ----


@samples("as_index")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((np.array([0.0, 2, -1]),), torch="Tensor.long", differentiate=False)


@samples("median_all")
def _(rng: Generator) -> Iterator[Sample]:
    for x in (distinct(rng, 3, 4), distinct(rng, 1).reshape(())):
        yield Sample((x,), torch="median")


@samples("nanmedian_all")
def _(rng: Generator) -> Iterator[Sample]:
    yield Sample((distinct(rng, 3, 4),), torch="nanmedian")
    yield Sample((np.array([1.0, math.nan, 3, 2]),), torch="nanmedian")


@samples("median_dim")
def _(rng: Generator) -> Iterator[Sample]:
    x = distinct(rng, 3, 4)
    yield Sample((x, 1), torch="median")
    yield Sample((x, -2, True), torch="median")


@samples("nanmedian_dim")
def _(rng: Generator) -> Iterator[Sample]:
    x = np.array([[1.0, math.nan, 3, 2], [0, 5, 7, 6]])
    yield Sample((x, 1), torch="nanmedian")
    yield Sample((x[1:], 0, True), torch="nanmedian")


def _unique(x: Any, dim: int | None = None) -> Any:
    return x.unique(return_inverse=True, return_counts=True, dim=dim)


def _unique_consecutive(x: Any, dim: int | None = None) -> Any:
    return x.unique_consecutive(return_inverse=True, return_counts=True, dim=dim)


@samples("unique_all")
def _(rng: Generator) -> Iterator[Sample]:
    x = rng.integers(0, 3, size=(4, 2)).astype(float)
    yield Sample((x,), torch=_unique, differentiate=False)
    yield Sample((x, 0), torch=_unique, differentiate=False)
    yield Sample((np.array([3, 1, 3]),), torch=_unique)


@samples("unique_runs")
def _(rng: Generator) -> Iterator[Sample]:
    x = np.sort(rng.integers(0, 2, size=(4, 2)).astype(float), 0)
    yield Sample((x,), torch=_unique_consecutive, differentiate=False)
    yield Sample((x, 0), torch=_unique_consecutive, differentiate=False)
    yield Sample((np.array([3, 3, 1, 3]),), torch=_unique_consecutive)
