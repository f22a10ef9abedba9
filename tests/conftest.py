"""Samples for the generated tests, PyTorch as the oracle, and hypothesis' settings."""

import gc
import importlib
import os
import pkgutil
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest

import tests.samples
from adjoint._base import moments

NO_ORACLE = "PyTorch, the oracle, is not installed"

# Processes of tests share a GPU: XLA would take three quarters of what is free in each.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

for _module in pkgutil.iter_modules(tests.samples.__path__):
    importlib.import_module(f"tests.samples.{_module.name}")

# The same examples in every run, so that a failure is new; ADJOINT_EXPLORE=1 looks for others.
hypothesis.settings.register_profile("same", deadline=None, max_examples=200, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("explore" if os.environ.get("ADJOINT_EXPLORE") else "same")


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch, on one thread; tests that ask it are skipped where it is missing."""
    try:
        module = importlib.import_module("torch")
    except ImportError:
        pytest.skip(NO_ORACLE)
    module.set_num_threads(1)
    return module


@pytest.fixture(autouse=True)
def no_lock_is_left() -> Iterator[None]:
    """Fail the test that leaves the lock of all behind, not the next one that has threads."""
    yield
    assert not moments.lock._is_owned()


@pytest.fixture(scope="module", autouse=True)
def few_objects() -> None:
    """Let collections look at what is made from here on: all tests and libraries take seconds."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how much was not compared with PyTorch, so that a green run can't hide it."""
    skipped = [r for r in terminalreporter.getreports("skipped") if NO_ORACLE in str(r.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} parity tests skipped: {NO_ORACLE}")
