"""Damaged files give plain values or an error, and nothing else: see fuzz_files.py."""

import re
from pathlib import Path

import pytest

from tests.interpreter import fresh_python


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_damaged_files(count, tmp_path):
    # A process of its own, so that a crash is a failure like any other.
    script = Path(__file__).with_name("fuzz_files.py")
    printed = fresh_python(script, count, count - 20_000, cwd=tmp_path)
    forms = ["archive", "header", "older", "pickle of an archive", "safetensors"]
    assert re.findall(r"(.*): \d+ loaded", printed) == forms
    assert re.findall(r"(.*): \d+ refused", printed) == forms
