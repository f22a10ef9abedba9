"""Functions of one float32 by tables of polynomials, which SciPy's functions fill on first use.

A piece is what shares sign, exponent and seven binary digits, from 2^-10 to 2^5 in size: so pieces
are short where numbers are small, and a polynomial of degree 4 is as exact as float32 in most.
Where it is not, or a number lies outside, the loop answers NaN, and SciPy computes that number.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.backends.error_state import quiet
from adjoint.backends.loops import written

EXPONENTS = range(-10, 5)
PIECES = 128  # of an exponent
ROW = 2048  # numbers at a time
DEGREE = 4
EXACT = 2.0**-25  # of the largest value in a piece: half of what float32 rounds away
_LEAST = np.float32(2.0 ** EXPONENTS[0])


def _middles() -> tuple[Any, Any]:
    """The middle of each piece above 0, and half its width."""
    sizes = 2.0 ** np.repeat(EXPONENTS, PIECES)
    parts = np.tile((np.arange(PIECES) + 0.5) / PIECES, len(EXPONENTS))
    return sizes * (1 + parts), sizes / (2 * PIECES)


@functools.cache
def table_of(function: Callable[[Any], Any]) -> Any:
    """The coefficients of each piece, those below 0 after those above, and a row of NaN."""
    middle, width = _middles()
    middle, width = np.concatenate([middle, -middle]), np.concatenate([width, width])
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    between = np.linspace(-1, 1, 2 * DEGREE + 3)
    with quiet():
        values = function(middle[:, None] + width[:, None] * nodes)
        scaled = values @ np.linalg.inv(np.vander(nodes, increasing=True)).T
        found = scaled @ np.vander(between, DEGREE + 1, increasing=True).T
        errors = np.abs(found - function(middle[:, None] + width[:, None] * between))
        exact = errors.max(axis=1) <= EXACT * np.abs(values).max(axis=1)
        exact &= np.abs(values).max(axis=1) < np.finfo(np.float32).max
        table = scaled / width[:, None] ** np.arange(DEGREE + 1)
        table[~exact] = np.nan
        return np.concatenate([table, np.full((1, DEGREE + 1), np.nan)]).astype(np.float32)


def by_pieces(function: Callable[[Any], Any], numbers: Any) -> Any:
    """A function of SciPy's, by its table where the wheel has the loop for that."""
    loop = written("pieces")
    if loop is None or type(numbers) is not np.ndarray or numbers.dtype != np.float32:
        return function(numbers)
    flat, table = numbers.reshape(-1), table_of(function)
    out, whole = np.empty_like(flat), flat.size // ROW * ROW
    for part, shape in ((slice(0, whole), (-1, ROW)), (slice(whole, None), -1)):  # rows are shared
        loop(flat[part].reshape(shape), table, _LEAST, out=out[part].reshape(shape))
    unknown = np.isnan(out)
    if unknown.any():
        out[unknown] = function(flat[unknown])
    return out.reshape(numbers.shape)
