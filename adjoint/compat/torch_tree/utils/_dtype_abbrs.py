"""torch.utils._dtype_abbrs: data types in two or three letters."""

from typing import Final

from adjoint import dtypes
from adjoint.dtypes import dtype

_LETTERS: Final = {"uint": "u", "int": "i", "float": "f", "complex": "c", "bfloat": "bf"}


def _short(name: str) -> str:
    """`f32` of `float32`, `b8` of `bool`."""
    kind = name.rstrip("0123456789")
    return "b8" if name == "bool" else _LETTERS[kind] + name[len(kind) :]


dtype_abbrs: dict[dtype, str] = {
    each: _short(each.name)
    for each in vars(dtypes).values()
    if isinstance(each, dtype) and each.name.rstrip("0123456789") in {*_LETTERS, "bool"}
}
