"""Users' programs are checked against types that know every op: the stubs of tools/stubs.py."""

import importlib.util
import os
import re
import site
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import adjoint
from adjoint import Tensor, autograd
from adjoint.testing import all_functions, function_of, map_arrays, samples_of
from tests.interpreter import ROOT, fresh_python

HOME = Path(adjoint.__file__).parent
PROGRAM = ROOT / "tests" / "typed_program.py"

# Each line holds one mistake, and what is said about it.
MISTAKES = """\
x.sinn()                                  # has no attribute "sinn"
x.sum(dims=0)                             # Unexpected keyword argument "dims"
x.sum(0, keepdim="yes")                   # incompatible type "str"
x.exp(1)                                  # Too many arguments
x.topk(2).places                          # has no attribute "places"
x.shapes = (3,)                           # has no attribute "shapes"
x.requires_grad = "yes"                   # Incompatible types in assignment
x.numel().item()                          # "int" has no attribute "item"
adjoint.exq(x)                            # has no attribute "exq"
adjoint.exp(x, output=x)                  # Unexpected keyword argument "output"
adjoint.autograd.gard(x.sum(), [x])       # has no attribute "gard"
nn.functional.cross_entropy(x)            # Missing positional argument "target"
nn.Liner(3, 4)                            # has no attribute "Liner"
optim.SGD([x], rate=0.1)                  # Unexpected keyword argument "rate"
"""
HEAD = "import adjoint\nfrom adjoint import nn, optim\n\nx = adjoint.ones(3)\n"


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Calls mypy --strict as a user would, from a folder that is not ours; what it printed."""
    api = pytest.importorskip("mypy.api", reason="mypy is not installed")
    folder = tmp_path_factory.mktemp("mypy")
    options = ["--strict", "--config-file=", "--follow-imports=silent", "--no-color-output"]

    def check(*files):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)  # mypy would find the sources in the working directory
            if str(HOME.parent) not in site.getsitepackages():
                patch.setenv("MYPYPATH", str(HOME.parent))
            said, failed, _ = api.run([*options, "--cache-dir", str(folder), *map(str, files)])
        assert not failed, failed
        return said

    return check


def test_stubs_are_those_of_the_sources():
    done = subprocess.run(
        [sys.executable, "-m", "tools.stubs", "--check"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_installed_stubs_are_those_of_the_sources():
    for stub in (ROOT / "adjoint").rglob("*.pyi"):
        assert (HOME / stub.relative_to(ROOT / "adjoint")).read_text() == stub.read_text()


def test_a_typed_program_runs(tmp_path):
    assert "adjoint.Size([2])" in fresh_python(PROGRAM, cwd=tmp_path)


def test_a_typed_program_passes(mypy, tmp_path):
    copy = tmp_path / PROGRAM.name  # beside the original lie our own modules
    copy.write_text(PROGRAM.read_text())
    installed = str(HOME.parent) in site.getsitepackages()  # what lies there mypy takes as it is
    said = mypy(copy, *([] if installed else HOME.rglob("*.pyi")))
    assert said.startswith("Success"), said


def test_names_that_are_loaded_later_are_known(mypy, tmp_path):
    later = {adjoint: [*adjoint._LATER, *adjoint._HOMES]}
    later[autograd] = [*autograd._HOMES, *autograd._MODULES]
    program = tmp_path / "names.py"
    uses = [f"print({place.__name__}.{name})" for place in later for name in later[place]]
    program.write_text("\n".join(["import adjoint", *uses]))
    said = mypy(program)
    assert said.startswith("Success"), said


def test_mistakes_are_found(mypy, tmp_path):
    program = tmp_path / "mistakes.py"
    program.write_text(HEAD + MISTAKES)
    said = mypy(program)
    first = HEAD.count("\n") + 1
    for number, line in enumerate(MISTAKES.splitlines(), start=first):
        wanted = line.partition("# ")[2]
        assert re.search(rf"mistakes.py:{number}: error: .*{re.escape(wanted)}", said), said
    assert said.count(": error: ") == MISTAKES.count("\n"), said


def stub_writer():
    spec = importlib.util.spec_from_file_location("adjoint_stubs", ROOT / "tools" / "stubs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks for itself
    spec.loader.exec_module(module)
    return module


def shown(writer):
    """The names of the ops and composites that the stubs show, as functions or as methods."""
    places = [vars(sys.modules[name]) for name in writer.MODULES] + [vars(Tensor)]
    public = [value for place in places for value in place.values()]
    return [name for name in all_functions() if any(function_of(name) is v for v in public)]


def fits(annotation, value):
    """Whether a result is of a type that the stubs promise."""
    if isinstance(annotation, WRITER.Switched):
        return fits(annotation.without, value) or fits(annotation.given, value)
    if annotation == "Tensor":
        return isinstance(value, Tensor)
    if str(annotation).startswith("tuple["):
        return type(value) is tuple and all(isinstance(part, Tensor) for part in value)
    if str(annotation).startswith("adjoint.return_types."):
        return type(value).__name__ == annotation.rpartition(".")[2]
    return isinstance(annotation, type) or annotation is Any


WRITER = stub_writer()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", shown(WRITER))
def test_results_are_of_the_promised_types(name):
    function = function_of(name)
    whole = getattr(function, "function", function)  # where, as a function
    annotation = WRITER.result_of(name, whole, WRITER.signature_of(whole)[1])
    for sample in samples_of(name):
        args, kwargs = map_arrays(Tensor, (sample.args, sample.kwargs))
        result = function(*args, **kwargs)
        assert fits(annotation, result), (
            f"{name} answers {type(result)}, not {annotation}: annotate it, or list it in RESULTS "
            "of tools/stubs.py"
        )
        assert not name.endswith("_") or result is args[0]
