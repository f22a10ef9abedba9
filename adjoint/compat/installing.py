"""`import torch` means adjoint."""

import importlib
import importlib.abc
import multiprocessing.spawn
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from adjoint import nn, optim
from adjoint.autograd.node import AccumulateGrad
from adjoint.compat import pytorch_names
from adjoint.compat.mirror import FILES, ROOT, can_be_imported, make_public
from adjoint.dtypes import dtype
from adjoint.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from adjoint.ops.arranging.conversion import copy, layout, memory_format
from adjoint.ops.signatures import RESULTS, shown_results
from adjoint.tensors.interop import HANDLERS, NUMPY_NAMES
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.views import CopySlices

# NumPy's functions that answer PyTorch's tensors with arrays, which programs and SciPy go on with.
_ARRAYS = """
atleast_1d atleast_2d atleast_3d broadcast_to column_stack concatenate copy diff dot dstack einsum
empty_like expand_dims full_like hstack inner isclose kron linalg.norm nan_to_num ones_like outer
ravel roll sort stack tensordot tile vstack where zeros_like
"""
_ALIASES = {"torch": ROOT, "functorch": f"{ROOT}.functorch"}


class _AliasLoader(importlib.abc.Loader):
    """Answers an import with a module that has another name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self.name)
        if self.name == ROOT:  # programs look into sys.modules for what belongs to torch
            for path, below in make_public():
                sys.modules.setdefault(f"torch.{path}", below)


class _AliasFinder(importlib.abc.MetaPathFinder):
    """Finds torch and functorch, and what lies below them, in adjoint.compat."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        top, dot, rest = fullname.partition(".")
        if top not in _ALIASES:
            return None
        below = rest if top == "torch" else fullname
        if rest and not can_be_imported(below):
            return None
        return ModuleSpec(fullname, _AliasLoader(_ALIASES[top] + dot + rest), is_package=True)


def _show_as_torch() -> None:
    """Print types and sizes as torch's: programs look at the text, or at where a class is from."""
    dtype.__repr__ = lambda self: f"torch.{self.name}"  # type: ignore[method-assign]
    for named in (layout, memory_format):
        named.__repr__ = lambda self: f"torch.{self.name}"  # type: ignore[method-assign]
    Size.__repr__ = lambda self: f"torch.Size({list(self)})"  # type: ignore[method-assign]
    for kind in RESULTS.values():
        kind.__repr__ = lambda self: shown_results(self, "torch")
    for node in (AccumulateGrad, CopySlices):  # PyTorch names those of its engine by their place
        name: Any = lambda self, kind=node: f"torch::autograd::{kind.__name__}"
        setattr(node, "name", name)  # noqa: B010  # mypy knows a compiled class as fixed
    copy.node_name = f"torch::autograd::{copy.node_name}"
    Tensor.__module__ = "torch"
    for kind in (Parameter, Buffer, UninitializedParameter, UninitializedBuffer):
        kind.__module__ = "torch.nn.parameter"
    _show_homes(nn, nn.Module, "nn.modules")
    _show_homes(optim, optim.Optimizer, "optim")
    _show_homes(optim.lr_scheduler, optim.lr_scheduler.LRScheduler, "optim.lr_scheduler")
    for base in (nn.Module, optim.lr_scheduler.LRScheduler):
        _show_homes(optim.swa_utils, base, "optim.swa_utils")
    importlib.import_module(ROOT).__name__ = "torch"


def _show_homes(place: ModuleType, base: type, below: str) -> None:
    """Let classes say where PyTorch has them: tracers tell the library's layers by it."""
    files: dict[str, list[Any]] = {}
    for name, kind in list(vars(place).items()):
        if isinstance(kind, type) and issubclass(kind, base) and _is_ours(kind):
            home = pytorch_names.home_of(name, below)
            if home is not None:
                source = getattr(sys.modules.get(kind.__module__), "__file__", None)
                files.setdefault(home, []).append(source)
                kind.__module__ = f"torch.{home}"
    for home, found in files.items():  # in which inspect looks for their source
        FILES[home] = max(found, key=found.count)
    for kind in [kind for kind in vars(place).values() if isinstance(kind, type)]:
        _show_bases(kind, base, below)


def _show_bases(kind: type, base: type, below: str) -> None:
    """Let the bases that only adjoint has be private ones of PyTorch: programs list subclasses."""
    for each in kind.__mro__:
        name = each.__module__.rpartition(".")[2]
        if each is not base and issubclass(each, base) and _is_ours(each):
            each.__module__ = f"torch.{below}._{name.lstrip('_')}"


def _is_ours(kind: type) -> bool:
    """Whether a class still says that it is from adjoint."""
    return kind.__module__.startswith("adjoint.")


def _answer_arrays() -> None:
    """Let NumPy make arrays of tensors where it does so with PyTorch's."""
    for name in _ARRAYS.split():
        for table in (HANDLERS, NUMPY_NAMES):
            table.pop(name, None)


class _Installed:
    """Pickled among what a process needs before it can begin: unpickled there, it installs."""

    def __reduce__(self) -> tuple[Any, ...]:
        return install, ()


def _install_in_spawned_processes() -> None:
    """A process that begins anew imports the program again: torch must mean the same there."""
    prepare = multiprocessing.spawn.get_preparation_data

    def with_installed(name: str) -> dict[str, Any]:
        return {**prepare(name), "adjoint.compat": _Installed()}

    multiprocessing.spawn.get_preparation_data = with_installed


def install() -> None:
    """Make `import torch` mean adjoint, in this process and from now on.

    PyTorch itself must not have been imported before.
    """
    if any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        return
    for name in _ALIASES:
        if name in sys.modules:
            raise RuntimeError(
                f"{name} is already imported, from {sys.modules[name].__file__}; call "
                "adjoint.compat.install() before anything imports it"
            )
    sys.meta_path.insert(0, _AliasFinder())
    _show_as_torch()
    _answer_arrays()
    _install_in_spawned_processes()
