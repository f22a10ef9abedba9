"""Training on XLA where JAX runs without types of 64 bits, as most of its users let it run."""

from pathlib import Path

import pytest

pytest.importorskip("jax")

from tests.interpreter import fresh_python

PROGRAM = Path(__file__).with_name("narrow_program.py")


@pytest.mark.slow
def test_whole_numbers_are_targets_and_none_is_lost(monkeypatch, tmp_path):
    monkeypatch.setenv("JAX_ENABLE_X64", "0")
    assert fresh_python(PROGRAM, cwd=tmp_path).strip() == "as with 64 bits"
