"""Windows for short pieces of a signal, and ranges that include their end."""

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.creation.from_data import number
from adjoint.creation.options import Options
from adjoint.dtypes import FLOAT, INTEGER
from adjoint.ops.arranging.conversion import strided
from adjoint.ops.composites import creating
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper

__all__ = [
    "bartlett_window",
    "blackman_window",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "range",
]

np = numpy_backend.xp


def sampled(
    name: str,
    count: int,
    options: dict[str, Any],
    refusal: type[Exception],
    function: Callable[[Any, int], Any],
    shown: tuple[Any, ...] = (),
) -> Tensor:
    """A window: function of the places, counted from 0, and of how many there are.

    `shown` are its parameters, for who looks on.
    """
    length = operator.index(count)
    if "out" in options:
        raise TypeError(f"{name}() makes a new tensor; it has no out=")
    if options.get("layout") not in (None, strided):
        raise refusal(f"{name}() is not implemented for sparse types: tensors are strided")
    asked = Options(name, options)
    kind = asked.kind()
    if kind.category != FLOAT:
        odd = NotImplementedError if kind.category > FLOAT and refusal is RuntimeError else refusal
        raise odd(f"{name}() expects floating point dtypes, got {kind.name}")
    if refusal is ValueError and kind.itemsize == 2:  # the older functions make these too
        raise refusal(f"{name}() expects float32 or float64, got {kind.name}")
    if length < 0:
        raise refusal(f"{name}(): a window can't have {length} elements")
    if upper.composed is not None and shown:
        found = upper.composed(sampled, (name, length, options, *shown), {})
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
    if length < 2:
        return asked.made(asked.xp.ones(length, kind.numpy_dtype))
    return asked.made(function(asked.xp.arange(length), length).astype(kind.numpy_dtype))


def _window(
    name: str,
    window_length: int,
    periodic: bool,
    options: dict[str, Any],
    function: Callable[[Any], Any],
) -> Tensor:
    """A window: function of the places, counted from 0 at one end to 1 at the other."""

    def spread(places: Any, length: int) -> Any:
        return function(places / (length if periodic else length - 1))

    return sampled(name, window_length, options, RuntimeError, spread)


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A wave of cosine, raised to lie between 0 and 1."""
    return _window(
        "hann_window", window_length, periodic, options, lambda x: np.sin(math.pi * x) ** 2
    )


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Any,
) -> Tensor:
    """alpha - beta * cos over the window."""
    return _window(
        "hamming_window",
        window_length,
        periodic,
        options,
        lambda x: alpha - beta * np.cos(2 * math.pi * x),
    )


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A sum of two cosines, near zero at the ends."""
    return _window(
        "blackman_window",
        window_length,
        periodic,
        options,
        lambda x: 0.42 - 0.5 * np.cos(2 * math.pi * x) + 0.08 * np.cos(4 * math.pi * x),
    )


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """A triangle."""
    return _window(
        "bartlett_window", window_length, periodic, options, lambda x: 1 - np.abs(2 * x - 1)
    )


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any
) -> Tensor:
    """Kaiser's window: the greater beta, the narrower."""

    def bell(places: Any) -> Any:
        height = np.sqrt(np.maximum(1 - (2 * places - 1) ** 2, 0))
        return np.i0(beta * height) / np.i0(np.asarray(float(beta)))

    return _window("kaiser_window", window_length, periodic, options, bell)


def range(start: Any, end: Any, step: Any = 1, **options: Any) -> Tensor:
    """Numbers from start up to end, and end too if a step hits it; arange leaves it out."""
    warnings.warn("range() includes its end and is deprecated; write arange()", stacklevel=3)
    first, last, width = number(start), number(end), number(step)
    asked = Options("range", options)
    kind = asked.kind()
    if kind.category not in (FLOAT, INTEGER):
        raise NotImplementedError(f"range is not implemented for {kind.name}")
    if width == 0:
        raise RuntimeError("range(): step must be nonzero")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"range(): unsupported range: {first} -> {last}")
    if (last - first) * width < 0:
        raise RuntimeError(
            f"range(): upper bound and lower bound inconsistent with step sign: {first} to {last}"
        )
    count = math.floor((last - first) / width) + 1
    return asked.listed((first + width * asked.xp.arange(count)).astype(kind.numpy_dtype))


globals().update({name: creating(globals()[name]) for name in __all__})
