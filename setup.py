"""Build the wheel: the core compiled by mypyc where a C compiler is present, pure otherwise."""

import os
import shutil
import sysconfig

from setuptools import setup

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


def extensions() -> list:
    """The compiled modules, or none."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if os.environ.get("ADJOINT_PURE") == "1" or shutil.which(compiler) is None:
        return []
    from mypyc.build import mypycify

    return mypycify([*COMPILED, "--strict"], opt_level="3", multi_file=False)


setup(ext_modules=extensions())
