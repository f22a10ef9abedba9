"""Random numbers on CuPy: the very ones that NumPy's generator would draw, made on the device."""

import math
from collections.abc import Callable
from typing import Any, Final

import cupy
import numpy as np

from adjoint.backends.chance import DOUBLE, SINGLE, Even, Normal, cast
from adjoint.backends.cupy_kernels import NDARRAY, Launch
from adjoint.backends.loops.cuda_chance import EACH, EVEN, FLIPS, LAYOUT, PAIRS, WORDS, taken, text
from adjoint.dtypes import COMPLEX, category_of

_BOOL: Final = np.dtype(bool)
_THREADS: Final = 256
_launches: Final[dict[Any, Launch]] = {}


def _made(drawn: tuple[str, str], words: Any, shape: Any, dtype: Any, numbers: list[float]) -> Any:
    """Numbers drawn from a state, which may lie on the device."""
    out = NDARRAY(shape, dtype)
    if out.size:
        key = (drawn, cupy.cuda.runtime.getDevice())
        launch = _launches.get(key)
        if launch is None:
            launch = _launches[key] = Launch(text(drawn), LAYOUT, ("--device-int128",))
        count = -(-out.size // 2) if drawn is PAIRS else out.size
        blocks = -(-count // (_THREADS * EACH))
        kept = type(words) is NDARRAY
        given = [words.data.ptr, *[0] * WORDS] if kept else [0, *words]
        launch(blocks, [*given, *numbers, out.data.ptr, out.size], _THREADS)
    return out


def flips(state: Callable[..., Any], generator: Any, shape: Any, p: float) -> Any:
    """Whether each number drawn is below p; None if the generator is another than NumPy's own."""
    words = state(generator, taken(math.prod(shape)))
    return None if words is None else _made(FLIPS, words, shape, _BOOL, [p, 0.0, 0.0])


def drawn(state: Callable[..., Any], draw: Any, shape: Any) -> Any:
    """What a source of even or normal numbers draws, made on the device; None: the host has to.

    `state` answers that of a generator, from which a function takes numbers.
    """
    if isinstance(draw, Even):
        return _evenly(state, draw, shape)
    if not isinstance(draw, Normal) or not draw.in_pairs(shape):
        return None
    if not isinstance(draw.mean, (int, float)) or not isinstance(draw.std, (int, float)):
        return None
    words = state(draw.generator, taken(2 * -(-math.prod(shape) // 2), halves=True))
    numbers = [draw.mean, draw.std, 0.0]
    return None if words is None else _made(PAIRS, words, shape, SINGLE, numbers)


def _evenly(state: Callable[..., Any], draw: Even, shape: Any) -> Any:
    if category_of(draw.dtype) == COMPLEX:
        parts = _evenly(state, Even(DOUBLE, draw.low, draw.high, draw.generator), (*shape, 2))
        return None if parts is None else cast(parts.view("complex128")[..., 0], draw.dtype)
    width = draw.width
    words = state(draw.generator, taken(math.prod(shape), halves=width == SINGLE))
    if words is None:
        return None
    wide = float(width.type(draw.high - draw.low))
    made = _made(EVEN[width], words, shape, width, [wide, draw.low, draw.high])
    if draw.dtype == width:
        return made
    made = made.astype(draw.dtype)
    return cupy.where(made >= draw.high, draw.dtype.type(draw.low), made)
