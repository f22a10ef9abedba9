"""The parts of complex numbers, also of those that NumPy does not know as complex: complex32."""

from typing import Any

import numpy as np


class Pairs:
    """Real and imaginary parts as views."""

    def real(self, array: Any) -> Any:
        """The real parts."""
        return _parts(array)[..., 0] if _is_pair(array) else np.real(array)

    def imag(self, array: Any) -> Any:
        """The imaginary parts."""
        return _parts(array)[..., 1] if _is_pair(array) else np.imag(array)


def _is_pair(array: Any) -> bool:
    """Whether an array is of complex numbers made of two 16-bit floats."""
    return type(array) is np.ndarray and array.dtype.kind == "W"


def _parts(array: Any) -> Any:
    """A view of such numbers as pairs in a new last dimension."""
    return array[..., None].view(np.float16)
