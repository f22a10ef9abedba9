"""Names that the code of a graph may use: each once, and none that means something else."""

import builtins
import keyword
import math
import re
from typing import Any

from adjoint.device import device

# Words that generated code finds, and so no node may have; modules come with the code itself.
WORDS: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "NoneType": type(None), "device": device}
MODULES = ("torch", "fx_pytree", "pytree")

_NUMBERED = re.compile(r"(.*)_(\d+)")
_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")


def snake_case(name: str) -> str:
    """batch_norm of batchNorm."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


class Namespace:
    """The names that are taken, and who has them."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A free name like the candidate; an object, if one is given, keeps the one it has."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = _NUMBERED.fullmatch(candidate)
        base = candidate if numbered is None else numbered[1]
        number = 0 if numbered is None else int(numbered[2])
        number = number or self._base_count.get(base, 0)
        while candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Let an object have a name that was made for it before it was."""
        self._obj_to_name[obj] = name

    def _is_illegal_name(self, name: str, obj: Any) -> bool:
        if keyword.iskeyword(name) or name in MODULES:
            return True
        if name in vars(builtins):
            return vars(builtins)[name] is not obj
        return name in WORDS and WORDS[name] is not obj

    def _rename_object(self, obj: Any, name: str) -> None:
        self._obj_to_name[obj] = name
        self._used_names.add(name)
