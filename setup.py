"""Build the wheel: the core compiled by mypyc where a C compiler is present, pure otherwise."""

import os
import re
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# Only these are compiled; the op tables stay interpreted, because rules are read by signature.
COMPILED = [
    "adjoint/autograd/provenance.py",
    "adjoint/tensors/core.py",
    "adjoint/call/context.py",
    "adjoint/autograd/hooks.py",
    "adjoint/autograd/node.py",
    "adjoint/autograd/saved_tensors.py",
    "adjoint/autograd/graph_task.py",
    "adjoint/autograd/leaves.py",
    "adjoint/autograd/engine.py",
    "adjoint/autograd/entry_points.py",
    "adjoint/tensors/tensor.py",
    "adjoint/call/op_node.py",
    "adjoint/call/promotion.py",
    "adjoint/call/record.py",
    "adjoint/call/dispatch.py",
    "adjoint/tensors/views.py",
    "adjoint/ops/op.py",
    "adjoint/ops/inplace.py",
]

# Asked for only where they are used: a pure build needs nothing but setuptools. The version is
# fixed, because the C code it writes is repaired below.
MYPYC = ["mypy[mypyc]==2.4.*", "numpy>=2.0"]

# `make lint` is strict; a build must not fail because the types of another library have changed.
LENIENT = ["--config-file=", "--follow-imports=silent", "--ignore-missing-imports"]

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

# Every op asks a frame where it was called. Python's own C functions answer in a fraction of the
# time that it takes to look up an attribute by name; in compiled modules only frames have these.
FRAME_ATTRIBUTES = {
    "f_code": "(PyObject *)PyFrame_GetCode((PyFrameObject *){frame})",
    "f_lasti": "PyLong_FromLong(PyFrame_GetLasti((PyFrameObject *){frame}))",
}
LOOK_UP = re.compile(r"(/\* '(f_code|f_lasti)' \*/\n\s*\w+ = )CPyObject_GetAttr\((\w+), \w+\)")


def _read_frame(look_up: re.Match[str]) -> str:
    start, attribute, frame = look_up.groups()
    return start + FRAME_ATTRIBUTES[attribute].format(frame=frame)


def repair(source: Path) -> None:
    """Make the C code that mypyc wrote clear weak references, and read frames, as CPython does."""
    text = source.read_text()
    text, count = DEALLOCATION.subn(rf"\1\n{CLEAR_WEAK}", WEAK_LIST.sub("", text))
    if not count:
        raise RuntimeError(f"{source}: mypyc writes its deallocators differently now")
    text, count = LOOK_UP.subn(_read_frame, text)
    if not count:
        raise RuntimeError(f"{source}: mypyc looks up the attributes of frames differently now")
    source.write_text(text)


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
    sys.path.insert(0, str(Path(__file__).with_name("tools")))
    from mypyc_docs import restore_docs

    built = mypycify([*LENIENT, *COMPILED], opt_level="3")
    for source in {Path(name) for extension in built for name in extension.sources}:
        if source.name.startswith("__native"):
            repair(source)
            restore_docs(source, [Path(name) for name in COMPILED])
    return built


if __name__ == "__main__":
    setup(ext_modules=extensions(), setup_requires=MYPYC if can_compile() else [])
