"""Copies of arrays whose last two dimensions are exchanged in memory."""

from typing import Any

import numpy as np

from adjoint.backends.loops import written

_LEAST = 4096  # elements that are worth the questions
_BITS = {4: np.int32, 8: np.int64}  # by the size of an element


def is_turned(array: Any) -> bool:
    """Whether an array lies in memory as its transpose would, and is large."""
    if array.ndim < 2 or array.size < _LEAST or array.itemsize not in _BITS:
        return False
    down, right = array.strides[-2:]
    return bool(down == array.itemsize < right and min(array.shape[-2:]) > 1)


def turned_into(out: Any, array: Any) -> bool:
    """Write a turned array by a loop; False, and nothing is done, if it is none."""
    loop = written("across") if is_turned(array) and out.dtype == array.dtype else None
    if loop is None:
        return False
    bits = _BITS[array.itemsize]
    loop(array.swapaxes(-2, -1).view(bits), out=out.view(bits))
    return True


def in_order(array: Any) -> Any:
    """A copy in the order of the elements; of what is turned, in a third of NumPy's time."""
    if not is_turned(array):
        return np.array(array, order="C")
    out = np.empty(array.shape, array.dtype)
    return out if turned_into(out, array) else np.array(array, order="C")
