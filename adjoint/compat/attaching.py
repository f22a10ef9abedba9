"""Old and private methods for adjoint's classes, which PyTorch's programs call on their objects."""

import importlib
from types import ModuleType
from typing import Any


def find_module(name: str) -> ModuleType | None:
    """A module, or None if there is none of that name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        return None


def attach(place: str, methods: dict[str, Any], replace: tuple[str, ...] = ()) -> None:
    """Give the class at `module:name` methods; those it has stay, but for those to replace."""
    home, _, name = place.partition(":")
    kind = getattr(find_module(home), name, None)
    if kind is None:
        return
    for method_name, method in methods.items():
        if method_name in replace or not hasattr(kind, method_name):
            setattr(kind, method_name, method)
