"""Damaged files give plain values or an error, and nothing else: see fuzz_files.py."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_damaged_files():
    # A process of its own, so that a crash is a failure like any other.
    arguments = [sys.executable, "-m", "tests.compat.fuzz_files", "20000", "0"]
    run = subprocess.run(arguments, capture_output=True, text=True, cwd=ROOT, check=False)
    assert run.returncode == 0, (run.stdout + run.stderr)[-3000:]
    counts = dict(re.findall(r"(.*: )\d+ (loaded)", run.stdout))
    refused = dict(re.findall(r"(.*: )\d+ (refused)", run.stdout))
    forms = ["archive", "header", "older", "pickle of an archive", "safetensors"]
    assert [f"{form}: " for form in forms] == list(counts) == list(refused)
