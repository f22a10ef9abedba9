"""Build the wheel: the core compiled by mypyc where a C compiler is present, pure otherwise."""

import os
import re
import shutil
import sysconfig
from pathlib import Path

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


# mypyc counts the list of weak references among what an object owns, and never clears it when the
# object dies; a weak reference then outlives its object and points at freed memory.
WEAK_LIST = re.compile(
    r"^.*Py_(?:VISIT|CLEAR)\(\*\(\(PyObject \*\*\)\(\(char \*\)self \+ "
    r"sizeof\(PyObject \*\) \+ sizeof\(.*$\n",
    re.MULTILINE,
)
DEALLOCATION = re.compile(r"^(.*CPy_TRASHCAN_BEGIN\(self, .*\))$", re.MULTILINE)
CLEAR_WEAK = (
    "if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(self))) PyObject_ClearWeakRefs((PyObject *)self);"
)


def repair_weak_references(source: Path) -> None:
    """Make the C code that mypyc wrote clear weak references as CPython does."""
    text = source.read_text()
    text, count = DEALLOCATION.subn(rf"\1\n{CLEAR_WEAK}", WEAK_LIST.sub("", text))
    if not count:
        raise RuntimeError(f"{source}: mypyc writes its deallocators differently now")
    source.write_text(text)


def extensions() -> list:
    """The compiled modules, or none."""
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if os.environ.get("ADJOINT_PURE") == "1" or shutil.which(compiler) is None:
        return []
    from mypyc.build import mypycify

    built = mypycify([*COMPILED, "--strict"], opt_level="3")
    for source in {Path(name) for extension in built for name in extension.sources}:
        if source.name.startswith("__native"):
            repair_weak_references(source)
    return built


setup(ext_modules=extensions())
