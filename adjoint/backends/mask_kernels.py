"""Masks for NumPy: by the places of what is chosen, where NumPy asks about one after another.

Whether a place of a mask is chosen can't be guessed, and NumPy's loops guess it. Of bools in order
it finds the places without, and to read or write at those takes a fraction of the time.
"""

from typing import Any

import numpy as np

from adjoint.backends.namespace import Namespace
from adjoint.backends.turning import in_its_order

_MANY = 1024  # elements from which places are found sooner


def _flat_places(array: Any, index: Any) -> Any:
    """Where a mask of all elements, which lie in order, is True; None for any other index."""
    mask = index[0] if type(index) is tuple and len(index) == 1 else index
    if type(mask) is not np.ndarray or mask.dtype.char != "?" or mask.size < _MANY:
        return None
    if mask.shape != array.shape or not array.flags.c_contiguous:
        return None
    return mask.reshape(-1).nonzero()[0]


class MaskKernels(Namespace):
    """What NumPy's namespace answers about masks."""

    def nonzero(self, array: Any) -> tuple[Any, ...]:
        """NumPy's own, along all axes at once."""
        if array.ndim < 2 or array.size < _MANY:
            found: tuple[Any, ...] = array.nonzero()
            return found
        places = (array if array.dtype.char == "?" else array != 0).reshape(-1).nonzero()[0]
        parts = []
        for size in array.shape[:0:-1]:
            before = places // size
            places -= before * size
            parts.append(places)
            places = before
        return (places, *reversed(parts))

    def picked(self, array: Any, index: Any) -> Any:
        places = _flat_places(array, index)
        return array[index] if places is None else array.reshape(-1).take(places)

    def placed(self, array: Any, index: Any, values: Any) -> Any:
        places = _flat_places(array, index)
        if places is None:
            array[index] = values
        else:
            array.reshape(-1)[places] = values
        return array

    def with_diagonal(self, matrices: Any, values: Any, offset: int) -> Any:
        seen = np.diagonal(matrices, offset, -2, -1)
        seen.flags.writeable = True
        seen[...] = values
        return matrices

    def updated(self, array: Any, index: Any, values: Any) -> Any:
        return self.placed(in_its_order(array), index, values)

    def dealt(self, array: Any, mask: Any, source: Any) -> Any:
        places = mask.reshape(-1).nonzero()[0]
        out = np.array(np.broadcast_to(array, mask.shape), order="C")
        out.reshape(-1)[places] = source.reshape(-1)[: len(places)]
        return out

    def collected(self, array: Any, mask: Any, size: int) -> Any:
        places = mask.reshape(-1).nonzero()[0][:size]
        out = np.zeros(size, array.dtype)
        out[: len(places)] = array.reshape(-1).take(places)
        return out
