"""Build the wheel: the core compiled by mypyc where a C compiler is present, pure otherwise."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# Only these are compiled; the op tables stay interpreted, because rules are read by signature.
COMPILED = [
    "adjoint/tensor_core.py",
    "adjoint/ambient.py",
    "adjoint/autograd/hooks.py",
    "adjoint/autograd/graph.py",
    "adjoint/autograd/saved_tensors.py",
    "adjoint/autograd/engine.py",
    "adjoint/tensor.py",
    "adjoint/dispatch.py",
    "adjoint/views.py",
    "adjoint/ops/op.py",
]

# Asked for only where they are used: a pure build needs nothing but setuptools.
MYPYC = ["mypy[mypyc]>=1.18", "numpy>=2.0"]


def can_compile() -> bool:
    """Whether there is a C compiler, Python's headers, and no ADJOINT_PURE=1."""
    if os.environ.get("ADJOINT_PURE") == "1":
        return False
    command = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    header = Path(sysconfig.get_path("include"), "Python.h")
    return shutil.which(command) is not None and header.exists()


def extensions() -> list[Extension]:
    """The compiled modules; none while the build only asks for its requirements."""
    if not can_compile():
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:
        print("adjoint: mypyc is not installed; without it the package is pure", file=sys.stderr)
        return []
    return mypycify([*COMPILED, "--strict"], opt_level="3", multi_file=False)


if __name__ == "__main__":
    setup(ext_modules=extensions(), setup_requires=MYPYC if can_compile() else [])
