"""Copies of large arrays: by threads, and by squares where two dimensions are exchanged."""

from typing import Any

import numpy as np

from adjoint.backends.loops import written
from adjoint.backends.threads import copied_into, helpers

_LEAST = 4096  # elements that are worth the questions
_SHARED = 1 << 15  # elements that are worth a thread
_BITS = {4: np.int32, 8: np.int64}  # by the size of an element


def is_turned(array: Any) -> bool:
    """Whether an array lies in memory as its transpose would, and is large."""
    if array.ndim < 2 or array.size < _LEAST or array.itemsize not in _BITS:
        return False
    down, right = array.strides[-2:]
    return bool(abs(down) == array.itemsize < abs(right) and min(array.shape[-2:]) > 1)


def turned_into(out: Any, array: Any) -> bool:
    """Write a turned array by a loop; False, and nothing is done, if it is none."""
    loop = written("across") if is_turned(array) and out.dtype == array.dtype else None
    if loop is None:
        return False
    bits = _BITS[array.itemsize]
    source, target = array.view(bits).swapaxes(-2, -1), out.view(bits)
    rows = source.shape[-2]
    if array.ndim > 2 or array.size < _SHARED or helpers.allowed < 2:
        loop(source, out=target)
        return True
    step = -(-rows // (2 * helpers.allowed))  # threads share matrices, which are parts of one here
    whole = rows // step * step
    parts = (rows // step, step)
    loop(
        source[:whole].reshape(*parts, -1),
        out=target[:, :whole].reshape(-1, *parts).swapaxes(0, 1),
    )
    if whole < rows:
        loop(source[whole:], out=target[:, whole:])
    return True


def in_order(array: Any) -> Any:
    """A copy in the order of the elements; of what is turned, in a third of NumPy's time."""
    if array.size < _LEAST:
        return np.array(array, order="C")
    out = np.empty(array.shape, array.dtype)
    if not turned_into(out, array) and not copied_into(out, array):
        np.copyto(out, array)
    return out


def room_like(*arrays: Any, dtype: Any) -> Any:
    """New memory that lies as arrays do; a dimension that is repeated, of stride 0, anywhere."""
    count = len(arrays)
    access: Any = [*[["readonly"]] * count, ["writeonly", "allocate"]]
    kinds = [*[None] * count, dtype]
    return np.nditer((*arrays, None), ["zerosize_ok"], access, kinds, order="K").operands[count]


def in_its_order(array: Any) -> Any:
    """A copy that lies in memory as the array does, as far as it has a place for each element."""
    if 0 in array.strides:
        out = room_like(array, dtype=array.dtype)
        np.copyto(out, array)
        return out
    if array.size < _SHARED or helpers.allowed < 2:
        return np.array(array, order="K")
    out = np.empty_like(array, order="K", subok=False)
    if not copied_into(out, array):
        np.copyto(out, array)
    return out
