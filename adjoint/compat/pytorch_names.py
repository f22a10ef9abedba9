"""Which modules and names PyTorch has: `pytorch_names.txt`, written by tools/pytorch_names.py."""

import functools
from pathlib import Path

_FILE = Path(__file__).with_suffix(".txt")


class Listed:
    """A module of PyTorch's: its classes, and its other names as far as they are listed."""

    def __init__(self, classes: str, others: str) -> None:
        self.classes = frozenset(classes.split())
        self.others = frozenset(others.split())
        self.has_more = bool(self.others & {"*", "**"})
        self.has_more_below = "**" in self.others


@functools.cache
def _modules() -> dict[str, Listed]:
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    split = (line.split("|") for line in lines)
    return {path: Listed(classes, others) for path, classes, others in split}


def is_listed_module(path: str) -> bool:
    """Whether PyTorch has a module of this path below torch, for certain."""
    return path in _modules()


def is_module(path: str) -> bool:
    """Whether PyTorch has, or may have, a module of this path below torch."""
    modules = _modules()
    if path in modules:
        return True
    while path not in modules:
        path = path.rpartition(".")[0]
    return modules[path].has_more_below


def overloads(name: str, namespace: str = "aten") -> list[str]:
    """The overloads that torch.ops has of an operation; none if it has no such operation."""
    return list(_overloads(namespace).get(name, ()))


@functools.cache
def _overloads(namespace: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    listed = _modules().get(f"ops.{namespace}")
    for whole in () if listed is None else sorted(listed.others):
        name, _, overload = whole.partition(".")
        found.setdefault(name, []).append(overload or "default")
    return found


def is_class(path: str) -> bool:
    """Whether PyTorch has a class of this path below torch, or may have one of such a name."""
    home, _, name = path.rpartition(".")
    module = _modules().get(home)
    if module is None:
        return False
    return name in module.classes or (module.has_more_below and name[:1].isupper())


def is_known(path: str) -> bool:
    """Whether PyTorch has, or may have, a module or name of this path below torch."""
    if is_module(path) or is_class(path):
        return True
    home, _, name = path.rpartition(".")
    module = _modules().get(home)
    if module is None:  # a member of a class or function, which are not listed
        return is_known(home)
    return module.has_more or name in module.others
