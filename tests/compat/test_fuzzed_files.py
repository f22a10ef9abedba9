"""Damaged files give plain values or an error, and nothing else: see fuzz_files.py."""

import re
from pathlib import Path

from tests.interpreter import fresh_python


def test_damaged_files(tmp_path):
    # A process of its own, so that a crash is a failure like any other.
    script = Path(__file__).with_name("fuzz_files.py")
    printed = fresh_python(script, 20_000, 0, cwd=tmp_path)
    forms = ["archive", "header", "older", "pickle of an archive", "safetensors"]
    assert re.findall(r"(.*): \d+ loaded", printed) == forms
    assert re.findall(r"(.*): \d+ refused", printed) == forms
