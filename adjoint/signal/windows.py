"""Windows for short pieces of a signal: M numbers between 0 and 1, the largest in the middle.

They are symmetric; with `sym=False` they are one period of a signal that goes on.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.creation.windows import sampled
from adjoint.tensors.tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

np = numpy_backend.xp


def _window(
    name: str,
    M: int,
    sym: bool,
    options: dict[str, Any],
    function: Callable[[Any, int], Any],
    *parameters: Any,
) -> Tensor:
    """A window: function of the places, counted from 0, and of the last place of the period."""

    def spread(places: Any, length: int) -> Any:
        return function(places, length - 1 if sym else length)

    return sampled(name, M, options, ValueError, spread, (sym, *parameters))


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Tensor:
    """e to the power of minus the distance from the centre over tau."""
    if tau <= 0:
        raise ValueError(f"exponential(): tau must be positive, got {tau}")
    if sym and center is not None:
        raise ValueError("exponential(): the center of a symmetric window is its middle")

    def decay(places: Any, last: int) -> Any:
        return np.exp(-np.abs(places - (last / 2 if center is None else center)) / tau)

    return _window("exponential", M, sym, options, decay, center, tau)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Half a wave."""

    def wave(places: Any, last: int) -> Any:
        return np.sin(math.pi * (places + 0.5) / (last + 1))

    return _window("cosine", M, sym, options, wave)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """The bell of a normal distribution."""
    if std <= 0:
        raise ValueError(f"gaussian(): std must be positive, got {std}")

    def bell(places: Any, last: int) -> Any:
        return np.exp(-(((places - last / 2) / std) ** 2) / 2)

    return _window("gaussian", M, sym, options, bell, std)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """Kaiser's window: the greater beta, the narrower."""
    if beta < 0:
        raise ValueError(f"kaiser(): beta must not be negative, got {beta}")

    def bell(places: Any, last: int) -> Any:
        height = np.sqrt(np.maximum(1 - (2 * places / last - 1) ** 2, 0))
        return np.i0(beta * height) / np.i0(np.asarray(float(beta)))

    return _window("kaiser", M, sym, options, bell, beta)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A triangle."""
    return _window("bartlett", M, sym, options, lambda x, last: 1 - np.abs(2 * x / last - 1))


def _cosines(
    name: str, M: int, weights: tuple[float, ...], sym: bool, options: dict[str, Any]
) -> Tensor:
    """A sum of waves of 0, 1, 2, … periods, in turn added and taken away."""

    def waves(places: Any, last: int) -> Any:
        turns = 2 * math.pi * places / last
        return sum((-1) ** i * weight * np.cos(i * turns) for i, weight in enumerate(weights))

    return _window(name, M, sym, options, waves, weights)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """A sum of waves of 0, 1, 2, … periods with the weights a, in turn added and taken away."""
    if not isinstance(a, Iterable):
        raise TypeError(f"general_cosine(): a must be a list of weights, not {type(a).__name__}")
    weights = tuple(a)
    if not weights:
        raise ValueError("general_cosine(): a must hold at least one weight")
    return _cosines("general_cosine", M, weights, sym, options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """alpha - (1 - alpha) * cos over the window."""
    return _cosines("general_hamming", M, (alpha, 1 - alpha), sym, options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """0.54 - 0.46 * cos over the window."""
    return _cosines("hamming", M, (0.54, 0.46), sym, options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A wave of cosine, raised to lie between 0 and 1."""
    return _cosines("hann", M, (0.5, 0.5), sym, options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A sum of two waves, near zero at the ends."""
    return _cosines("blackman", M, (0.42, 0.5, 0.08), sym, options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A sum of three waves, flat at the ends."""
    return _cosines("nuttall", M, (0.3635819, 0.4891775, 0.1365995, 0.0106411), sym, options)
