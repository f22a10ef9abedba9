"""Data types of eight bits: programs ask for their limits and compare with them; no tensor has one.

Where ml_dtypes is not installed they are missing, and say so when used.
"""

from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.compat.missing_names import Missing
from adjoint.dtypes import dtype

_NAMES = (
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)


def _named(name: str) -> Any:
    try:
        return dtype(name, numpy_backend.xp.dtype(name), 6)
    except TypeError:
        return Missing(f"adjoint.compat.torch.{name}")


FLOAT8_TYPES = {name: _named(name) for name in _NAMES}
