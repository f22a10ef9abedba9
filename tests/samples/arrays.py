"""Arrays and samples that several tables of elementwise ops draw from."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample


def complex_array(rng: np.random.Generator, *shape: int) -> Any:
    """Complex numbers of this shape."""
    return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape))


def shapes(rng: np.random.Generator, low: float = -2.0, high: float = 2.0) -> Iterator[Any]:
    """A matrix, a number, nothing, and an array in another order of memory."""
    yield rng.uniform(low, high, size=(2, 3))
    yield np.asarray(rng.uniform(low, high))
    yield np.zeros((0, 3)) + (low + high) / 2
    yield rng.uniform(low, high, size=(3, 2)).T


def pairs(rng: np.random.Generator, low: float = -2.0, high: float = 2.0) -> Iterator[Any]:
    """Two arrays of one shape, of broadcast shapes, 0-d, and empty."""
    for a, b in [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 2), (2,))]:
        yield np.asarray(rng.uniform(low, high, a)), np.asarray(rng.uniform(low, high, b))


def any_number(rng: np.random.Generator) -> Iterator[Sample]:
    """Real, complex and whole numbers."""
    for x in shapes(rng):
        yield Sample((x,))
    yield Sample((complex_array(rng, 2, 3),))
    yield Sample((complex_array(rng, 2).astype("complex64"),), second_order=False)
    yield Sample((np.array([-1, 0, 2]),))


def real_numbers(rng: np.random.Generator) -> Iterator[Sample]:
    """Real numbers of every shape."""
    for x in shapes(rng):
        yield Sample((x,))


def positive_numbers(rng: np.random.Generator) -> Iterator[Sample]:
    """Positive numbers, complex and whole ones, and 0."""
    for x in shapes(rng, 0.5, 3.0):
        yield Sample((x,))
    yield Sample((complex_array(rng, 2, 3),))
    yield Sample((np.array([1, 4]),))
    yield Sample((np.array([0.0, 1.0]),), second_order=False)
