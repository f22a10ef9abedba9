"""The workflows, and what pages tell contributors to type, name what there is."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest

from tests.interpreter import ROOT
from tests.test_docs import PAGES
from tests.test_packaging import PROJECT

yaml = pytest.importorskip("yaml")

GITHUB = ROOT / ".github"
FILES = sorted(path for path in GITHUB.rglob("*") if path.is_file())
WORKFLOWS = {path.stem: path for path in FILES if path.parent.name == "workflows"}
SPOKEN = [*FILES, *PAGES, ROOT / ".ci" / "run"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
MAKE = re.compile(r"(?:`|exec |run: )make ([a-z-]+)")
FOLDERS = r"(?:\.ci|\.github|benchmarks|docs|examples|tests|tools)/[\w./-]*\w"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS}|[A-Z]+\.md|setup\.py|pyproject\.toml|MANIFEST\.in)")
NAMED = pytest.mark.parametrize("path", SPOKEN, ids=lambda path: str(path.relative_to(ROOT)))


def workflow(name):
    return yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))


def settings():
    """What cibuildwheel is told."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["tool"]["cibuildwheel"]


def classified():
    """The versions of Python that the package is said to run on."""
    start = "Programming Language :: Python :: "
    return [line.removeprefix(start) for line in PROJECT["classifiers"] if line.startswith(start)]


@pytest.mark.parametrize("path", [p for p in FILES if p.suffix == ".yml"], ids=lambda p: p.name)
def test_yaml_has_values(path):
    assert yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", WORKFLOWS)
def test_jobs_have_steps_that_do_something(name):
    jobs = workflow(name)["jobs"]
    for job in jobs.values():
        assert set(job.get("needs", [])) <= set(jobs)
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])


@NAMED
def test_targets_of_make_exist(path):
    assert set(MAKE.findall(path.read_text(encoding="utf-8"))) <= TARGETS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_that_are_named_exist(path):
    named = PATH.findall(path.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_what_wheels_are_tested_with_exists():
    named = re.findall(r"\{project\}/(\S+)", settings()["test-command"])
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_all_versions_of_python_are_tested_and_built():
    matrix = workflow("tests")["jobs"]["compiled"]["strategy"]["matrix"]
    assert matrix["python"] == classified()
    assert not {extra["python"] for extra in matrix["include"]} & set(classified())
    tags = [f"cp{version.replace('.', '')}-*" for version in classified()]
    assert settings()["build"].split() == tags
    assert PROJECT["requires-python"] == f">={classified()[0]}"


def test_continuous_integration_runs_everything():
    assert "exec make test EVERYTHING=1 WITH_TORCH=1" in (ROOT / ".ci" / "run").read_text()
    steps = workflow("tests")["jobs"]["parity"]["steps"]
    assert ".ci/run" in [step.get("run") for step in steps]


def repeated(*options):
    """The tests that make would run on the sources."""
    command = ["make", "--dry-run", "test-pure", *options]
    environment = {  # make, if it runs the tests, hands on what it was called with
        name: value for name, value in os.environ.items() if not name.startswith("MAKE")
    }
    for name in ("EVERYTHING", "REPEATED"):
        environment.pop(name, None)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return [word for word in done.stdout.split() if word.startswith("tests/") and "=" not in word]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_what_the_pure_run_repeats_exists():
    few, many = repeated(), repeated("EVERYTHING=1")
    assert "tests/autograd" in few
    assert set(few) < set(many)
    assert [name for name in many if not (ROOT / name).exists()] == []


def test_a_pure_package_is_tested_with_all_that_is_not_slow():
    steps = workflow("tests")["jobs"]["pure"]["steps"]
    assert "make test-pure REPEATED=tests" in [step.get("run") for step in steps]
