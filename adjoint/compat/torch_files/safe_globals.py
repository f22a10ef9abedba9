"""Classes and functions that a program allows files to use, beyond those known to be harmless."""

import pickle
from collections.abc import Iterable
from typing import Any

_MODULES = ("sys", "os", "posix", "nt")  # a file can do harm with anything in these

_allowed: list[Any] = []


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let torch.load use these; a pair is an object and the full name that files call it by."""
    _allowed.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """What files may use."""
    return list(_allowed)


def clear_safe_globals() -> None:
    """Let files use nothing but what is known to be harmless."""
    _allowed.clear()


class safe_globals:
    """Within it torch.load may use these as well."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.added = list(safe_globals)

    def __enter__(self) -> None:
        add_safe_globals(self.added)

    def __exit__(self, *exc: object) -> None:
        for one in self.added:
            _allowed.remove(one)


def _full_name(function: Any) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def allowed_names() -> dict[str, Any]:
    """What files may use, by the name they call it by."""
    found = {}
    for one in _allowed:
        if not isinstance(one, tuple):
            found[_full_name(one)] = one
        elif len(one) != 2:
            raise ValueError(f"add_safe_globals: an object and its name, got {len(one)} values")
        elif type(one[1]) is not str:
            raise TypeError(
                f"add_safe_globals: the name of an object is a str, got {type(one[1]).__name__}"
            )
        else:
            found[one[1]] = one[0]
    return found


def find_allowed(module_name: str, global_name: str) -> Any:
    """What a program has allowed under this name; None if it has not."""
    if module_name.partition(".")[0] in _MODULES:
        return None
    found = allowed_names().get(f"{module_name}.{global_name}")
    return _allowed_attribute if found is getattr else found


def _allowed_attribute(owner: Any, name: str) -> Any:
    """getattr for files: what is allowed by a name of its own, and nothing else."""
    found = getattr(owner, name)
    if _full_name(found) not in allowed_names():
        raise pickle.UnpicklingError(
            f"Weights only load failed: the file wants to use {name} of {_full_name(owner)}, which "
            "is not allowed"
        )
    return found
