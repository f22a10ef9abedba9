"""Which modules and names PyTorch has: `pytorch_names.txt`, written by tools/pytorch_names.py."""

import functools
from pathlib import Path

_FILE = Path(__file__).with_suffix(".txt")


class Listed:
    """A module of PyTorch's: its classes, and its other names as far as they are listed."""

    def __init__(self, classes: str, others: str) -> None:
        self.classes = frozenset(classes.split())
        self.others = frozenset(others.split())
        self.has_more = "*" in self.others


@functools.cache
def _modules() -> dict[str, Listed]:
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    found = {}
    for path, classes, others in (line.split("|") for line in lines):
        found[path] = Listed(classes, others)
        if found[path].has_more:
            found.update((f"{path}.{name}", Listed("", "*")) for name in others[2:].split())
    return found


def is_module(path: str) -> bool:
    """Whether PyTorch has a module of this path below torch."""
    return path in _modules()


def overloads(name: str, namespace: str = "aten") -> list[str]:
    """The overloads that torch.ops has of an operation; none if it has no such operation."""
    return list(_overloads(namespace).get(name, ()))


@functools.cache
def _overloads(namespace: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    listed = _modules().get(f"ops.{namespace}")
    for whole in () if listed is None else sorted(listed.others):
        name, _, kinds = whole.partition(".")
        found[name] = kinds.split(",")
    return found


def is_class(path: str) -> bool:
    """Whether PyTorch has a class of this path below torch, or may have one of such a name."""
    home, _, name = path.rpartition(".")
    module = _modules().get(home)
    if module is None:
        return False
    of_python = not home.startswith("_C.")
    return name in module.classes or (module.has_more and of_python and name[:1].isupper())


# Modules that take classes of others, which lists of names can't tell from their own.
_TAKING = ("adaptive", "loss", "transformer")


def home_of(name: str, below: str) -> str | None:
    """The public module that a class is from: the one below a path that has it, or the path."""
    if name in ("Module", "Optimizer"):
        return f"{below}.{name.lower()}"
    homes = [path for path in _public_below(below) if is_class(f"{path}.{name}")]
    own = [path for path in homes if path.rpartition(".")[2] not in _TAKING]
    if own or homes:
        return (own or homes)[0]
    return below if is_class(f"{below}.{name}") else None


@functools.cache
def _public_below(path: str) -> list[str]:
    start = f"{path}."
    return [each for each in _modules() if each.startswith(start) and each[len(start)] != "_"]


def is_listed(path: str) -> bool:
    """Whether a path below torch is one of the names that are known of a module."""
    home, _, name = path.rpartition(".")
    module = _modules().get(home)
    return module is not None and name in module.others - {"*"}


def public_names(path: str) -> list[str]:
    """The names of a module that a program gets by *, without modules that it imports."""
    module = _modules()[path]
    names = {name for name in module.classes | module.others if len(name) > 1 and name[0] != "_"}
    return sorted(name for name in names if name != "torch" and not is_module(name))


def is_known(path: str) -> bool:
    """Whether PyTorch has, or may have, a module or name of this path below torch."""
    if is_module(path) or is_class(path):
        return True
    home, _, name = path.rpartition(".")
    module = _modules().get(home)
    if module is None:  # a member of a class or function, which are not listed
        return is_known(home)
    if home.startswith("ops."):
        return bool(overloads(name, home.removeprefix("ops.")))
    return module.has_more or name in module.others
