"""What is installed is what was meant: its build, files and version, and nothing else loaded."""

import ast
import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

import adjoint
from tests.build_script import script
from tests.interpreter import ROOT, fresh_python

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXPECTED = os.environ.get("ADJOINT_EXPECTED")  # "installed" or "source"; see the Makefile
HOME = Path(adjoint.__file__).parent


def build_script():
    return script("setup.py")


@pytest.mark.skipif(EXPECTED is None, reason="ADJOINT_EXPECTED is not set")
def test_the_build_under_test_is_the_expected_one():
    print(adjoint.__file__, "compiled:", adjoint.__compiled__)
    if EXPECTED == "source":
        assert HOME.parent == ROOT
        assert not adjoint.__compiled__
    else:
        assert HOME.parent in (
            Path(sysconfig.get_path("purelib")),
            Path(sysconfig.get_path("platlib")),
        )
        assert adjoint.__compiled__ == build_script().can_compile()


def test_compiled_says_how_the_core_was_loaded():
    engine = importlib.util.find_spec("adjoint.autograd.engine")
    assert adjoint.__compiled__ == (not engine.origin.endswith(".py"))


@pytest.mark.skipif(EXPECTED != "installed", reason="the package under test is not installed")
def test_wheel_holds_sources_and_compiled_modules():
    files = {str(file) for file in importlib.metadata.files("adjoint")}
    for kind in ("*.py", "*.pyi"):
        sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "adjoint").rglob(kind)}
        assert sources and sources <= files
    assert "adjoint/py.typed" in files
    if adjoint.__compiled__:
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        for name in build_script().COMPILED:
            assert name.removesuffix(".py") + suffix in files
        sets = build_script().sets_of_loops(sys.platform != "win32")
        folder = "adjoint/backends/loops/"
        built = [n for n in files if n.startswith(folder) and n.endswith(suffix)]
        assert sorted(built) == sorted(f"{folder}{name}{suffix}" for name in sets)
    assert not [file for file in files if file.endswith(".h")]
    others = ("tests/", "tools/", "examples/", "benchmarks/")
    assert not [file for file in files if file.startswith(others)]


@pytest.mark.skipif(EXPECTED != "installed", reason="the package under test is not installed")
def test_version_is_that_of_what_is_installed():
    assert adjoint.__version__ == importlib.metadata.version("adjoint")


def test_changelog_begins_with_this_version():
    assert f"## [{adjoint.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_extras_are_those_the_readme_names():
    extras = PROJECT["optional-dependencies"]
    readme = (ROOT / "README.md").read_text()
    for name in ("gpu", "xla", "mpi", "scipy", "safetensors", "viz", "all"):
        assert name in extras
        assert f"`[{name}]`" in readme
    assert PROJECT["dependencies"] == ["numpy>=2.0"]


def test_compiled_modules_exist_and_are_typed():
    for name in build_script().COMPILED:
        assert (ROOT / name).exists()
    assert (ROOT / "adjoint" / "py.typed").exists()


def test_compiled_modules_do_not_say_from_what_they_raise():
    raised = [
        f"{name}:{node.lineno}: mypyc drops 'from'; set __cause__ or __suppress_context__ instead"
        for name in build_script().COMPILED
        for node in ast.walk(ast.parse((ROOT / name).read_text()))
        if isinstance(node, ast.Raise) and node.cause is not None
    ]
    assert raised == []


def test_adjoint_pure_forces_a_pure_build(monkeypatch):
    monkeypatch.setenv("ADJOINT_PURE", "1")
    script = build_script()
    assert not script.can_compile()
    assert script.extensions() == []


def test_a_missing_compiler_makes_a_pure_build(monkeypatch, capfd):
    monkeypatch.delenv("ADJOINT_PURE", raising=False)
    monkeypatch.setenv("CC", "no-such-compiler --flag")
    assert not build_script().can_compile()
    assert "adjoint: no C compiler that finds Python.h" in capfd.readouterr().err


def test_import_loads_no_optional_library(tmp_path):
    program = "import adjoint, json, sys; print(json.dumps(list(sys.modules)))"
    loaded = json.loads(fresh_python("-c", program, cwd=tmp_path))
    for name in ("torch", "jax", "cupy", "scipy", "matplotlib", "mypy", "importlib.metadata"):
        assert name not in loaded


C_CODE = """
static PyTypeObject CPyType_node___Node_template_ = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_doc = PyDoc_STR("Node(name=\\"x\\")\\n--\\n\\n"),
};
{"run",
 (PyCFunction)CPyPy_node___Node___run,
 METH_FASTCALL | METH_KEYWORDS, PyDoc_STR("run($self)\\n--\\n\\n")},
"""
SOURCE = '''
class Node:
    """A "node"."""

    def run(self):
        """Runs → twice."""

    @property
    def name(self):
        """Its name."""
'''


def test_docstrings_are_put_back_into_compiled_code(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    restore_docs = importlib.import_module("mypyc_docs").restore_docs
    code, module = tmp_path / "__native.c", tmp_path / "node.py"
    code.write_text(C_CODE)
    module.write_text(SOURCE, encoding="utf-8")
    assert restore_docs(code, [module]) == 2
    assert 'x\\")\\n--\\n\\nA \\"node\\"."),' in code.read_text()
    assert 'run($self)\\n--\\n\\nRuns \\342\\206\\222 twice.")},' in code.read_text()
    module.write_text(SOURCE + "\ndef lost():\n    'Nowhere.'\n")
    with pytest.raises(RuntimeError, match="node___lost"):
        restore_docs(code, [module])
