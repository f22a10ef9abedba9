"""Large products of matrices, for NumPy: by the loop of `loops/products.h`, beside BLAS.

Both matrices are laid in panels first, which takes a fiftieth of the time. It is the threads of
all other loops that share the rows: those of BLAS would fight with them for the processors.
"""

import functools
from typing import Any

import numpy as np

from adjoint.backends.loops import written
from adjoint.backends.rooms import rooms_of

LEAST = 1 << 22  # products of two numbers that are worth the panels
_SIDE = 64  # the least size of each side
_COLUMNS = 48  # side by side in a panel
_DEEP = 256  # elements of rows and columns that meet at a time
_VECTOR = 16
_BLOCK = 64  # rows that are multiplied at a time
_room = rooms_of(np.dtype(np.float32))


def is_large(array: Any, other: Any, least: int = LEAST) -> bool:
    """Whether there is a loop for the product of two matrices, and it is worth its panels."""
    if array.dtype.char != "f" or other.dtype.char != "f" or written("product") is None:
        return False
    (rows, length), width = array.shape, other.shape[1]
    if min(rows, length, width) < _SIDE or length != len(other):
        return False
    return bool(rows * length * width >= least)


@functools.lru_cache(maxsize=16)
def _nothing(width: int) -> Any:
    """Zeros to add; shared, so never written to."""
    return np.zeros(width, np.float32)


def _panels(matrix: Any, room: Any) -> None:
    """Lay the rows of a matrix side by side into a flat room, by panels, and zeros behind them."""
    loop, length = written("across"), matrix.shape[1]
    bits, room = matrix.view(np.int32), room.view(np.int32)
    whole = len(matrix) // _COLUMNS * _COLUMNS
    if whole:
        loop(
            bits[:whole].reshape(-1, _COLUMNS, length),
            out=room[: whole * length].reshape(-1, length, _COLUMNS),
        )
    if whole < len(matrix):
        last = room[whole * length :].reshape(length, -1)
        count = len(matrix) - whole
        last[:, count:] = 0
        loop(bits[whole:], out=last[:, :count])


def product(array: Any, other: Any, bias: Any = None) -> Any:
    """array @ other + bias of matrices that are large."""
    loop = written("product")
    (count, length), width = array.shape, other.shape[1]
    if min(*array.strides, *other.strides) <= 0:
        array, other = np.ascontiguousarray(array), np.ascontiguousarray(other)
    added = _nothing(width) if bias is None else np.ascontiguousarray(bias)
    out, whole = np.empty((count, width), np.float32), count // _BLOCK * _BLOCK
    for start in range(0, length, _DEEP):
        part = slice(start, start + _DEEP)
        deep = min(_DEEP, length - start)
        columns = _room("product", (-(-width // _VECTOR) * _VECTOR * deep,))
        _panels(other[part].T, columns)
        given = columns, added, start > 0, start + deep == length
        if whole:
            blocks = array[:whole, part].reshape(-1, _BLOCK, deep)
            loop(blocks, *given, out=out[:whole].reshape(-1, _BLOCK, width))
        if whole < count:
            loop(array[whole:, part], *given, out=out[whole:])
    return out
