"""Data types that no tensor has: programs compare with them, and ask some for their limits.

Making a tensor of one is refused. Those of eight bits are ml_dtypes', and missing without it.
"""

from dataclasses import dataclass
from typing import Any

from adjoint import dtypes
from adjoint.backends.numpy import numpy_backend
from adjoint.compat.missing_names import Missing
from adjoint.dtypes import COMPLEX, dtype, make_known

_FLOAT8 = (
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
# The bytes that an element would take: quantised numbers, numbers of some bits, bits.
_OPAQUE = {
    **dict.fromkeys(("qint8", "quint8", "quint4x2", "quint2x4"), 1),
    "qint32": 4,
    **{f"{sign}int{bits}": 1 for sign in ("", "u") for bits in range(1, 8)},
    **dict.fromkeys(("bits1x8", "bits2x4", "bits4x2", "bits8"), 1),
    "bits16": 2,
    "float4_e2m1fn_x2": 1,
    "complex32": 4,
}


def _of_eight_bits(name: str) -> Any:
    try:
        return dtype(name, numpy_backend.xp.dtype(name), 6)
    except TypeError:
        return Missing(f"adjoint.compat.torch.{name}")


@dataclass(frozen=True, repr=False)
class _NoArrays:
    """Stands for NumPy's type where there is none; NumPy refuses to make an array of it."""

    name: str
    itemsize: int
    kind: str = "V"

    def __repr__(self) -> str:
        return f"{self.name}, of which there are no arrays"


def _opaque(name: str, size: int) -> dtype:
    """A type by its name and size alone."""
    made = dtype(name, _NoArrays(name, size), 6)
    made.is_floating_point = name.startswith("float")
    made.is_complex = name.startswith("complex")
    made.category = COMPLEX if made.is_complex else made.category
    made.is_signed = "uint" not in name and not name.startswith("bits")
    return made


class qscheme:
    """How numbers would be quantised: a name that programs compare with."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


SCHEMES = {
    name: qscheme(name)
    for name in (
        "per_channel_affine",
        "per_channel_affine_float_qparams",
        "per_channel_symmetric",
        "per_tensor_affine",
        "per_tensor_symmetric",
    )
}
UNHELD_TYPES = {name: _of_eight_bits(name) for name in _FLOAT8} | {
    name: _opaque(name, size)
    for name, size in _OPAQUE.items()
    if getattr(dtypes, name, None) is None
}
for _type in UNHELD_TYPES.values():
    if isinstance(_type, dtype):
        make_known(_type)
if "complex32" in UNHELD_TYPES:
    UNHELD_TYPES["chalf"] = UNHELD_TYPES["complex32"]
