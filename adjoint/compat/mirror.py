"""Modules under PyTorch's import paths that show names of adjoint.

`paths.PATHS` says which modules a path shows; they are looked up when a name is used. A path or
name that PyTorch has and adjoint has not can be imported too, and fails when used
(`missing_names.py`); one that PyTorch has not either cannot be imported.
"""

import contextlib
import importlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from adjoint.compat import pytorch_names
from adjoint.compat.missing_names import (
    DEVICES,
    Missing,
    class_of,
    function_of_device,
    missing,
    torch_path,
)
from adjoint.compat.paths import ABSENT, PATHS, SHARED

ROOT = "adjoint.compat.torch"

# What a module holds so far, and those that hold all their names because somebody listed them.
_held: Any = vars(ModuleType)["__dict__"].__get__
_listed: set[str] = set()


# The files that most of the classes are in which say that they are from a path.
FILES: dict[str, Any] = {}


class Mirror(ModuleType):
    """A module of PyTorch's, answered by adjoint when its names are used."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # of a module it is fixed
        """All names: programs look them up here, or list those of a kind."""
        if self.__name__ not in _listed:
            _listed.add(self.__name__)
            names: list[str] = []
            # What stands on a package that is not there is not listed; to use it says so.
            with contextlib.suppress(ImportError):
                names = dir(self)
            for name in names:
                with contextlib.suppress(ImportError):
                    hasattr(self, name)  # which has looked it up
        return _held(self)  # type: ignore[no-any-return]  # of a descriptor

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [name for name in dir(self) if name[0] != "_" and hasattr(self, name)]
        if name == "__path__":  # Python asks before it gives one: there are no files below
            raise AttributeError(name)
        if name == "__file__" and FILES.get(torch_path(self.__name__)) is not None:
            return FILES[torch_path(self.__name__)]
        try:
            found = _look_up(_inner(self, name))
        except ImportError as error:
            if name.startswith("__"):  # of which tools ask every module that there is
                raise AttributeError(name) from error
            raise
        if type(found) is not int:  # which may change, such as the number of a level
            _held(self)[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        # Python puts what it imported into the parent. The parent answers for itself: the name of
        # a module may be that of a function too, and a name that is missing stays missing.
        own = isinstance(value, Mirror | Missing) and torch_path(value.__name__)
        if own and own == _inner(self, name):
            return
        if name.startswith("__"):  # by which Python begins a module, before anything is looked up
            super().__setattr__(name, value)
            return
        for home in _homes(torch_path(self.__name__)):
            if name in vars(home).get("ASSIGNABLE", ()):
                home.assign(name, value)
                _held(self).pop(name, None)
                _listed.discard(self.__name__)
                return
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        for home in _homes(torch_path(self.__name__)):
            if name in vars(home).get("ASSIGNABLE", ()) and hasattr(home, "restore"):
                home.restore(name)  # as unittest.mock does it where a name was replaced
                _held(self).pop(name, None)
                _listed.discard(self.__name__)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        path = torch_path(self.__name__)
        start = f"{path}." if path else ""
        below = {each[len(start) :] for each in PATHS if each.startswith(start)}
        inner = {name for name in below if name and "." not in name}
        shown = {
            name
            for home in _homes(path)
            for name in dir(home)
            if not isinstance(getattr(home, name, None), ModuleType)
        }
        if path in SHARED:
            shown = {name for name in shown if pytorch_names.is_known(f"{path}.{name}")}
        return sorted({*_held(self), *inner, *shown})


def _inner(module: ModuleType, name: str) -> str:
    """The path of a name in the module of a path."""
    return f"{torch_path(module.__name__)}.{name}".lstrip(".")


def _homes(path: str) -> Iterator[ModuleType]:
    """The modules that a path shows."""
    return map(importlib.import_module, PATHS[path])


def _look_up(path: str) -> Any:
    """What a path means: a name of a module shown there, or a module."""
    parent, _, name = path.rpartition(".")
    if name == "torch":
        return importlib.import_module(ROOT)  # which PyTorch's modules import, and so have
    for shown in _homes(parent):
        found = getattr(shown, name, None)
        # adjoint's own modules are shown under PyTorch's paths alone, as Mirrors; one that can be
        # called is a function too, and meant as that. Python's own are what they are.
        hidden = isinstance(found, ModuleType) and not (
            isinstance(found, Mirror) or found.__name__.partition(".")[0] in sys.stdlib_module_names
        )
        if hasattr(shown, name) and (callable(found) or not hidden):
            return found
    if path in PATHS or (pytorch_names.is_module(path) and ABSENT not in PATHS[parent]):
        return importlib.import_module(f"{ROOT}.{path}")
    if pytorch_names.is_class(path):
        return class_of(path)
    if parent in DEVICES and name[0] != "_" and pytorch_names.is_listed(path):
        return function_of_device(path)
    raise missing(path)


def can_be_imported(path: str) -> bool:
    """Whether a path below torch is one of adjoint's, or of PyTorch's."""
    return path in PATHS or pytorch_names.is_known(path)


class _Loader(importlib.abc.Loader):
    """Makes the module of a path, or one that says that there is none."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        kind = Mirror if torch_path(spec.name) in PATHS else Missing
        return kind(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: names are looked up when used."""


class MirrorFinder(importlib.abc.MetaPathFinder):
    """Finds every module below adjoint.compat.torch."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module that looks its names up, unless the name is known as something else."""
        if not fullname.startswith(f"{ROOT}."):
            return None
        parent, _, name = fullname.rpartition(".")
        path_below = torch_path(fullname)
        if path_below in PATHS or pytorch_names.is_module(path_below):
            return ModuleSpec(fullname, _Loader(), is_package=True)
        home = torch_path(parent)
        is_name = pytorch_names.is_module(home) and pytorch_names.is_known(path_below)
        if hasattr(sys.modules[parent], name) or not is_name:
            return None  # a function or class is no module, or there is nothing: Python says so
        return ModuleSpec(fullname, _Loader(), is_package=True)


def make_public() -> Iterator[tuple[str, ModuleType]]:
    """The public modules below torch, which PyTorch's import loads, without looking into them."""
    for path in PATHS:
        name = f"{ROOT}.{path}"
        begins_late = path.startswith(("functorch", "utils.tensorboard"))
        if path and not begins_late and "_" not in (part[0] for part in path.split(".")):
            if name not in sys.modules:
                spec = ModuleSpec(name, _Loader(), is_package=True)
                sys.modules[name] = importlib.util.module_from_spec(spec)
            yield path, sys.modules[name]


def reflect(name: str) -> None:
    """Make the module called `name` the top of the paths, and those below findable."""
    top = sys.modules[name]
    top.__class__ = Mirror
    top.__path__ = []  # there are modules below, though no files
    if not any(isinstance(finder, MirrorFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, MirrorFinder())
