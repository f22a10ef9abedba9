"""Packages written for PyTorch, on adjoint: a short program for each gives PyTorch's numbers.

A program runs twice, each time in a process of its own: as it is, with PyTorch, and through
`python -m adjoint run`. The packages are in requirements.txt.
"""

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreter import environment, fresh_python

HERE = Path(__file__).parent
PACKAGES = sorted(path.stem.removeprefix("with_") for path in HERE.glob("with_*.py"))

# Both compute in float32, in different orders.
RELATIVE = 1e-4
ABSOLUTE = 1e-5


def reported(printed):
    """What a program reported, of all that it printed."""
    return json.loads([line for line in printed.splitlines() if line.startswith("{")][-1])


@pytest.fixture(scope="module")
def with_pytorch(torch):
    """What runs a program with PyTorch, which is imported but once where processes can fork."""
    if not hasattr(os, "fork"):
        yield lambda program, folder: fresh_python("-W", "ignore", program, cwd=folder)
        return

    def run(program, folder):
        printed = folder / "printed"
        print(json.dumps(list(map(str, (program, folder, printed)))), file=oracle.stdin, flush=True)
        status, text = oracle.stdout.readline().strip(), printed.read_text("utf-8")
        assert status == "0", text
        return text

    command = [sys.executable, "-W", "ignore", HERE / "oracle.py"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, env=environment()) as oracle:
        yield run  # and when nobody asks any more, it ends


def differences(found, wanted, place=""):
    """Where two reports differ by more than rounding."""
    if type(found) is not type(wanted):
        yield f"{place}: {found!r}, not {wanted!r}"
    elif isinstance(wanted, dict):
        yield from differences(list(found), list(wanted), f"{place} keys")
        for key in wanted:
            if key in found:
                yield from differences(found[key], wanted[key], f"{place}.{key}")
    elif isinstance(wanted, list):
        if len(found) != len(wanted):
            yield f"{place}: {len(found)} elements, not {len(wanted)}"
        for i, (one, other) in enumerate(zip(found, wanted, strict=False)):
            yield from differences(one, other, f"{place}[{i}]")
    elif isinstance(wanted, float):
        both_nan = math.isnan(found) and math.isnan(wanted)
        if not both_nan and not math.isclose(found, wanted, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            yield f"{place}: {found!r}, not {wanted!r}"
    elif found != wanted:
        yield f"{place}: {found!r}, not {wanted!r}"


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_computes_what_it_does_with_pytorch(package, with_pytorch, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: see tests/programs/requirements.txt")
    program = HERE / f"with_{package}.py"
    wanted = reported(with_pytorch(program, tmp_path))
    command = ("-W", "ignore", "-m", "adjoint", "run", program)
    found = reported(fresh_python(*command, cwd=tmp_path))
    different = list(differences(found, wanted))
    assert not different, f"{len(different)} differences:\n" + "\n".join(different[:10])


def test_differences_are_found():
    wanted = {"a": [1.0, 2.0], "b": "text", "c": math.nan}
    assert not list(differences({"a": [1.00001, 2.0], "b": "text", "c": math.nan}, wanted))
    assert len(list(differences({"a": [1.1, 2.0], "b": "tex", "c": 1.0}, wanted))) == 3
    assert list(differences({"a": [1.0], "b": "text", "c": math.nan}, wanted))
    assert list(differences({"a": [1.0, 2.0], "b": "text"}, wanted))
