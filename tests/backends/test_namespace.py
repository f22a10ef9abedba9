"""What ops ask of an array library is declared, and each library answers it."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint
from adjoint.backends import backend_of
from adjoint.backends.convolution import Convolutions
from adjoint.backends.namespace import (
    FFT_NAMES,
    LINALG_NAMES,
    NUMPY_NAMES,
    OWN_NAMES,
    Memory,
    Namespace,
)

ROOT = Path(adjoint.__file__).parent
MODULES = {"linalg": LINALG_NAMES, "fft": FFT_NAMES}


class Question(NamedTuple):
    """A name that was asked of `xp`, and where."""

    name: str
    inner: str | None  # the name asked of a module, as of xp.linalg
    where: str


def sources(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    """The modules of some folders of the package, parsed."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT.parent).as_posix()
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def is_namespace(node: ast.AST) -> bool:
    """Whether an expression is `xp`, or the `xp` of a backend that may be any."""
    if isinstance(node, ast.Name):
        return node.id == "xp"
    if isinstance(node, ast.Attribute) and node.attr == "xp":
        return not (isinstance(node.value, ast.Name) and node.value.id == "numpy_backend")
    return False


def questions(*folders: str) -> Iterator[Question]:
    """All that modules ask of a library."""
    for path, tree in sources(*folders):
        inner = {
            id(node.value): node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and is_namespace(node.value):
                part = inner.get(id(node)) if node.attr in MODULES else None
                yield Question(node.attr, part, f"{path}:{node.lineno}")


def test_ops_ask_for_nothing_else() -> None:
    """An undeclared name fails here, before it fails on the library that lacks it."""
    for asked in questions("ops"):
        declared = asked.name in NUMPY_NAMES or asked.name in OWN_NAMES
        assert declared, f"{asked.where}: xp.{asked.name} is not declared in backends/namespace.py"
        if asked.name in MODULES:
            known = asked.inner in MODULES[asked.name]
            assert known, f"{asked.where}: xp.{asked.name}.{asked.inner} is not declared"


def test_nothing_is_declared_in_vain() -> None:
    """What is declared is asked for, by ops or by what lies around them."""
    folders = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "backends"]
    asked = list(questions(*folders))
    assert (NUMPY_NAMES | OWN_NAMES) - {question.name for question in asked} == set()
    for module, names in MODULES.items():
        assert names - {question.inner for question in asked if question.name == module} == set()


def test_names_are_declared_once() -> None:
    """A name is NumPy's, with NumPy's meaning, or ours."""
    assert not NUMPY_NAMES & OWN_NAMES
    assert [name for name in NUMPY_NAMES if not hasattr(np, name)] == []


def test_own_names_are_explained() -> None:
    """Each has one sentence where it is declared."""
    assert [name for name in OWN_NAMES if not getattr(Namespace, name).__doc__] == []


@pytest.mark.parametrize("name", ["numpy", "jax", "cupy", "meta"])
def test_libraries_answer(name: str) -> None:
    """Each library that is installed has every name."""
    if name != "meta":  # which is no library
        pytest.importorskip(name)
    try:
        xp: Any = getattr(importlib.import_module(f"adjoint.backends.{name}"), f"{name}_backend").xp
    except ImportError as error:
        pytest.skip(str(error))
    assert [each for each in NUMPY_NAMES | OWN_NAMES if not hasattr(xp, each)] == []
    for module, names in MODULES.items():
        assert [each for each in names if not hasattr(getattr(xp, module), each)] == []


def test_cupy_answers_where_it_is_not_installed() -> None:
    """Its class defines what has no plain form; NumPy's names it takes from NumPy if need be."""
    (tree,) = [tree for path, tree in sources("backends") if path.endswith("backends/cupy.py")]
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    body = classes["CupyNamespace"].body
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    assert Namespace.__abstractmethods__ - defined - set(vars(Convolutions)) == set()


def test_a_library_that_lacks_a_name_is_refused() -> None:
    """A subclass that leaves a method out can't be made."""

    class Partial(Namespace):
        def _on_host(self, array: Any) -> Any:
            return array

        def memory(self, array: Any) -> Memory | None:
            return None

    with pytest.raises(TypeError, match="updated"):
        Partial(np)  # type: ignore[abstract]  # which is the point


# ---- which library it is, no op asks ----

# What ops may import from the backends, where, and why.
SPARSE = "adjoint/ops/sparse/"  # whose layer is no op: it holds arrays
IMPORTS = {
    "Layout": ("adjoint/ops/neural/", "a record of numbers"),
    "host": ("adjoint/ops/", "NumPy, for chance and the limits of data types"),
    "Even": ("adjoint/ops/sampling/", "sources of chance, which a device may draw from itself"),
    "Normal": ("adjoint/ops/sampling/", "the same"),
    "cast": ("adjoint/ops/sampling/", "what was drawn, as the type that is wanted"),
    "is_array": ("adjoint/ops/arranging/index", "what may be an index, or be written"),
    "backend_for": (("adjoint/ops/arranging/conversion.py", SPARSE), "moves between devices"),
    "backend_of": (("adjoint/ops/arranging/conversion.py", SPARSE), "the same, memory and types"),
    "lookup": (SPARSE, "what of a call's arguments is an array"),
    "numpy_backend": ("adjoint/ops/op.py", "NumPy's own functions are the short path"),
    "ufunc_of": (("adjoint/ops/op.py", "adjoint/ops/attaching.py"), "and serve 16-bit floats"),
}
# What only the arrays of some libraries have.
MARKS = {"library", "flags", "base", "aval", "ctypes", "__array_interface__", "NDARRAY"}


def test_ops_import_little_of_backends() -> None:
    """An op gets its library as `xp`; it does not look for one."""
    used = set()
    for path, tree in sources("ops"):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adjoint"):
                for alias in node.names:
                    ours = node.module.startswith("adjoint.backends")  # type: ignore[union-attr]
                    if ours and "loops" in node.module:  # type: ignore[operator]
                        continue  # symbols, which stand for the arrays of any library
                    if ours or alias.name in ("NDARRAY", "NUMPY_BACKEND", "backend_of"):
                        where = f"{path}:{node.lineno}"
                        assert alias.name in IMPORTS, f"{where} imports {alias.name}"
                        assert path.startswith(IMPORTS[alias.name][0]), f"{where}: {alias.name}"
                        used.add(alias.name)
    assert used == set(IMPORTS)


def test_ops_do_not_know_libraries_by_their_marks() -> None:
    """Neither an attribute nor hasattr and getattr tell one library from another."""
    for path, tree in sources("ops"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                assert node.attr not in MARKS, f"{path}:{node.lineno} asks for .{node.attr}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in ("hasattr", "getattr") and isinstance(
                    node.args[1], ast.Constant
                ):
                    asked = node.args[1].value
                    marked = asked in MARKS or asked == "strides"
                    assert not marked, f"{path}:{node.lineno} asks for {asked}"


@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("count", [10, 10_000])
def test_numpy_chooses_by_bits_what_it_would_choose(kind: str, count: int) -> None:
    xp: Any = backend_of(np.zeros(1)).xp
    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal(count).astype(kind) for _ in range(2))
    first[::7], first[::11], second[::5] = np.nan, -np.inf, -0.0
    for condition in (rng.random(count) < 0.5, np.ones(count, bool), rng.random(count) * 2 // 1):
        for pair in (
            (first, second),
            (first, 0),
            (0, second),
            (first, -0.0),
            (first[::-1], second),
            (first, second[:1]),
            (first, second.astype("d")),
        ):
            found, expected = xp.where(condition, *pair), np.where(condition, *pair)
            assert found.dtype == expected.dtype
            assert found.tobytes() == expected.tobytes()
            assert found.base is None
