"""torch.utils: tools."""

from typing import Any


def set_module(obj: Any, mod: str) -> None:
    """Say that an object is of a module of this name."""
    if not isinstance(mod, str):
        raise TypeError(f"set_module: mod must be a str, got {type(mod).__name__}")
    obj.__module__ = mod
