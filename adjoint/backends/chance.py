"""Even and normal numbers of a generator: how NumPy draws them, for devices that draw the same.

`Namespace.drawn` is called with one of these, or with any function of a shape. A device that knows
them makes the numbers itself (`cupy_chance.py`) and leaves the generator where NumPy would.
"""

import math
from typing import Any, Final

import numpy as np

from adjoint.dtypes import COMPLEX, category_of

MANY: Final = 1024  # normal numbers in float32, from which pairs of them are drawn
SINGLE: Final = np.dtype("float32")
DOUBLE: Final = np.dtype("float64")


class Even:
    """Numbers of [low, high); the parts of complex ones each."""

    __slots__ = ("dtype", "generator", "high", "low")

    def __init__(self, dtype: Any, low: float, high: float, generator: Any) -> None:
        self.dtype = dtype
        self.low = low
        self.high = high
        self.generator = generator

    @property
    def width(self) -> Any:
        """The data type in which they are drawn."""
        return SINGLE if self.dtype == SINGLE else DOUBLE

    def __call__(self, shape: Any) -> Any:
        if category_of(self.dtype) == COMPLEX:
            parts = Even(DOUBLE, self.low, self.high, self.generator)((*shape, 2))
            return cast(parts[..., 0] + 1j * parts[..., 1], self.dtype)
        width = self.width
        drawn = self.generator.draw(lambda stream: stream.random(shape, width))
        if (self.low, self.high) == (0.0, 1.0) and self.dtype == width:
            return np.asarray(drawn)
        if (self.low, self.high) != (0.0, 1.0):
            drawn = np.asarray(drawn * width.type(self.high - self.low) + width.type(self.low))
        drawn = cast(np.asarray(drawn), self.dtype)
        if self.low < self.high:  # rounding must not reach the open end
            drawn = np.where(drawn >= self.high, self.dtype.type(self.low), drawn)
        return drawn


class Normal:
    """Normally distributed numbers; complex ones have variance std² in both parts together."""

    __slots__ = ("dtype", "generator", "mean", "std")

    def __init__(self, dtype: Any, mean: Any, std: Any, generator: Any) -> None:
        self.dtype = dtype
        self.mean = mean
        self.std = std
        self.generator = generator

    def in_pairs(self, shape: Any) -> bool:
        """Whether so many are drawn in pairs."""
        return bool(self.dtype == SINGLE) and math.prod(shape) >= MANY

    def __call__(self, shape: Any) -> Any:
        if category_of(self.dtype) == COMPLEX:
            parts = Normal(DOUBLE, 0.0, math.sqrt(0.5), self.generator)((*shape, 2))
            return cast((parts[..., 0] + 1j * parts[..., 1]) * self.std + self.mean, self.dtype)
        if self.in_pairs(shape):
            drawn = _pairs(math.prod(shape), self.generator).reshape(shape)
        else:
            width = SINGLE if self.dtype == SINGLE else DOUBLE
            drawn = self.generator.draw(lambda stream: stream.standard_normal(shape, width))
        return cast(np.asarray(drawn * self.std + self.mean), self.dtype)


def _pairs(count: int, generator: Any) -> Any:
    """Normally distributed float32 numbers, two of each pair of even ones: a third of the time.

    The distance from 0 and the direction of points in the plane are independent.
    """
    pairs = generator.draw(lambda stream: stream.random((2, -(-count // 2)), SINGLE))
    radius = np.sqrt(-2 * np.log(1 - pairs[0]))
    angle = np.float32(2 * math.pi) * pairs[1]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]


def cast(drawn: Any, dtype: Any) -> Any:
    """Numbers as a data type."""
    return drawn if drawn.dtype == dtype else drawn.astype(dtype)
