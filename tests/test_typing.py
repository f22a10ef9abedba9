"""Users' programs are checked against types that know every op: the stubs of tools/stubs.py."""

import ast
import inspect
import json
import os
import re
import site
import subprocess
import sys
import types
import typing
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import adjoint
from adjoint import autograd
from adjoint.ops.declaration import DECLARED
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


def definitions(text):
    """What a stub says of each name, also of those of a class; of one name maybe several times."""
    found = defaultdict(list)
    for node in ast.parse(text).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for part in inner:
            if isinstance(part, ast.AnnAssign):
                found[prefix + ast.unparse(part.target)].append(ast.unparse(part))
            elif isinstance(part, ast.FunctionDef):
                found[prefix + part.name].append(ast.unparse(part))
    return found


def test_stubs_are_those_of_the_sources():
    """What they say is so; names that they do not have yet are named, and refused by make lint."""
    code = "import json, tools.stubs; print(json.dumps(tools.stubs.stubs()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    newer = []
    for path, text in json.loads(done.stdout).items():
        wanted = definitions(text)
        for name, lines in definitions((ROOT / "adjoint" / path).read_text("utf-8")).items():
            assert lines == wanted.pop(name, None), f"{path}: {name}; run python -m tools.stubs"
        newer += wanted
    if newer:
        pytest.skip(f"the stubs lack {', '.join(newer)}; write them with python -m tools.stubs")


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


def arguments(function, sample):
    """What a sample gives each parameter of a function, and the type that is promised for it."""
    signature = inspect.signature(function)
    args, kwargs = map_arrays(adjoint.from_numpy, (sample.args, sample.kwargs))
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        parameter = signature.parameters[name]
        several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        for element in value if several else [value]:
            yield name, element, parameter.annotation


def fits(value, annotation):
    """Whether a value is of a type that a signature promises."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any:
        return True
    if origin in {types.UnionType, typing.Union}:
        return any(fits(value, part) for part in inner)
    if annotation in {float, complex}:  # a type checker takes an int for either
        return isinstance(value, int | float | annotation)
    if origin is None:
        return value is None if annotation in {None, type(None)} else isinstance(value, annotation)
    if not isinstance(value, origin):
        return False
    if origin is tuple and ... not in inner:
        return len(value) == len(inner) and all(map(fits, value, inner))
    return all(fits(element, inner[0]) for element in value)


@pytest.mark.parametrize("name", all_functions())
def test_samples_are_of_the_promised_types(name):
    for sample in samples_of(name):
        for parameter, value, annotation in arguments(function_of(name), sample):
            assert fits(value, annotation), f"{name}: {parameter}={value!r} is no {annotation}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", all_functions())
def test_results_are_of_the_promised_types(name):
    function = function_of(name)
    signature = inspect.signature(function)
    for sample in samples_of(name):
        args, kwargs = map_arrays(adjoint.from_numpy, (sample.args, sample.kwargs))
        given = signature.bind(*args, **kwargs).arguments
        promised = signature.return_annotation
        for names, kind in DECLARED[name].without.items():
            if given.keys().isdisjoint(names.split()):
                promised = kind
        result = function(*args, **kwargs)
        assert fits(result, promised), f"{name} answers {type(result)}, no {promised}: annotate it"
        assert not name.endswith("_") or result is args[0]
