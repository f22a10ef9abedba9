"""A fresh Python for what must not share this process: pages, examples, imports."""

import os
import subprocess
import sys
from pathlib import Path

import adjoint

ROOT = Path(__file__).resolve().parents[1]


def environment():
    """The variables of this process, and the adjoint that is tested here."""
    return {**os.environ, "PYTHONPATH": str(Path(adjoint.__file__).parents[1])}


def fresh_python(*arguments, cwd):
    """Run Python with the adjoint that is tested here; what it printed, unless it failed."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
