"""adjoint.compat shows those of adjoint's modules that PyTorch has under the same name."""

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import adjoint
from adjoint.compat import paths
from adjoint.compat.pytorch_names import is_module
from tools import pytorch_names

# Modules of one name that are not the same, and why.
DIFFERENT = {
    "backends": "array libraries here, settings of PyTorch's libraries there",
    "distributions.categorical": "holds several of PyTorch's modules",
    "optim.adam": "holds several of PyTorch's modules",
    "optim.lbfgs": "its line search is called otherwise",
    "optim.sgd": "holds several of PyTorch's modules",
    "testing": "samples of ops here, comparisons there",
    "version": "adjoint's own here, PyTorch's there",
}
# What PyTorch makes without a file of Python.
MADE = {"_C", "_C._autograd", "_C._functions", "_C._functorch", "_C._nn", "_C._profiler", "ops"}
# Packages of their own, beside torch.
MADE |= {"functorch", "functorch.einops"}
MADE |= {"functorch.experimental", "functorch.experimental.control_flow"}
MADE |= {
    "fx.codegen",
    "fx.folders",
    "fx.naming",
    "fx.patching",
    "fx.wrapping",
}  # parts of adjoint's own
MADE |= {"nn.functional.grad"}  # torch.nn.grad, which it imports


def modules(package: ModuleType) -> set[str]:
    """The paths of the modules below a package."""
    root = Path(str(package.__file__)).parent
    found = set()
    for file in root.rglob("*.py"):
        parts = file.relative_to(root).with_suffix("").parts
        found.add(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def test_modules_of_both_are_shown(torch: Any) -> None:
    """A new module of adjoint's that PyTorch has too must be shown, or said to be different."""
    assert modules(adjoint) & modules(torch) == {*paths.SAME, *DIFFERENT}


def test_every_path_is_one_of_pytorch_s(torch: Any) -> None:
    """A module of the tree, or a path in a table, that PyTorch has not would answer nobody."""
    assert set(paths.PATHS) - modules(torch) == MADE


CHECKED = [
    "",
    "_C",
    "ao.quantization",
    "autograd",
    "cuda",
    "distributions",
    "fx",
    "jit",
    "linalg",
    "nn",
    "nn.functional",
]
CHECKED += ["nn.common_types", "nn.modules.module", "optim", "return_types", "utils", "utils.data"]


@pytest.mark.parametrize("path", CHECKED)
def test_the_list_of_names_is_current(torch: Any, path: str) -> None:
    """A newer PyTorch, or a change of the tool, asks for `python -m tools.pytorch_names`."""
    lines = pytorch_names.FILE.read_text(encoding="utf-8").splitlines()
    known = {line.partition("|")[0]: line.split("|")[1:] for line in lines}
    found = [set(names) for names in pytorch_names.names("torch", path)]
    listed = [set(names.split()) for names in known[path]]
    assert found[0] == listed[0]
    # Which modules are loaded, and so are names of their parents, depends on what was imported.
    differing = found[1] ^ listed[1]
    assert {f"{path}.{name}".lstrip(".") for name in differing} <= {*known}


def test_every_module_of_pytorch_s_is_listed(torch: Any) -> None:
    """An import fails where PyTorch's would, of parts of PyTorch that adjoint lacks too."""
    ours = {path for path in modules(torch) if is_module(path)}
    assert {path for path in modules(torch) - ours if "__main__" not in path} == set()
