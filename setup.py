"""Build the wheel: the core compiled by mypyc where a C compiler is present, pure otherwise.

A wheel with a compiled core also has loops beside NumPy's, written from the op table.
"""

import functools
import os
import platform
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

# setuptools brings distutils, and finds compilers by it: Visual C++ too, which is on no path.
from distutils.ccompiler import new_compiler  # isort: skip
from distutils.errors import CCompilerError, DistutilsError  # isort: skip
from distutils.sysconfig import customize_compiler  # isort: skip

# Only these are compiled; the op tables stay interpreted, because rules are read by signature.
COMPILED = [
    "adjoint/backends/error_state.py",
    "adjoint/autograd/provenance.py",
    "adjoint/tensors/core.py",
    "adjoint/call/context.py",
    "adjoint/call/held.py",
    "adjoint/autograd/hooks.py",
    "adjoint/autograd/node.py",
    "adjoint/autograd/saved_tensors.py",
    "adjoint/autograd/graph_task.py",
    "adjoint/autograd/early_writes.py",
    "adjoint/autograd/leaves.py",
    "adjoint/autograd/reach.py",
    "adjoint/autograd/engine.py",
    "adjoint/autograd/entry_points.py",
    "adjoint/tensors/tensor.py",
    "adjoint/call/op_node.py",
    "adjoint/call/fused.py",
    "adjoint/call/rule.py",
    "adjoint/tensors/upper.py",
    "adjoint/call/promotion.py",
    "adjoint/call/record.py",
    "adjoint/call/layers.py",
    "adjoint/call/overriding.py",
    "adjoint/call/arguments.py",
    "adjoint/call/out.py",
    "adjoint/call/dispatch.py",
    "adjoint/call/short_form.py",
    "adjoint/tensors/views.py",
    "adjoint/tensors/memory.py",
    "adjoint/tensors/changes.py",
    "adjoint/ops/op.py",
    "adjoint/ops/inplace.py",
    "adjoint/autograd/forward_rules.py",
    "adjoint/transforms/batches.py",
    "adjoint/transforms/duals.py",
    "adjoint/nn/backward_hooks.py",
    "adjoint/nn/gates.py",
    "adjoint/nn/module_call.py",
    "adjoint/optim/descent.py",
    "adjoint/compiling/repeated.py",
]

# What GCC does to compiled modules for speed that they don't gain.
ALIGNED = ["functions", "jumps", "labels", "loops"]

# Asked for only where they are used: a pure build needs nothing but setuptools. The version is
# fixed, because the C code it writes is repaired (tools/mypyc_repair.py).
MYPYC = ["mypy[mypyc]==2.4.*", "numpy>=2.0"]

# `make lint` is strict; a build must not fail because the types of another library have changed,
# nor read those that happen to be installed: PyTorch's and JAX's took it six minutes.
LENIENT = ["--config-file=", "--no-site-packages", "--ignore-missing-imports"]
LENIENT += ["--follow-imports=silent"]


# The loops are compiled for each set of instructions, and a machine takes the best it has. No
# product is fused with a sum: then the bits of a result do not depend on where it is computed.
# An x86-64 without AVX2 goes on with NumPy, as the pure package does: few would take a plain set.
LOOPS = {
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx2", "-mfma", "-mf16c"],
}
LOOP_FLAGS = ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"]
if sys.platform == "linux":  # GCC would end each loop by narrower ones, a quarter of the code
    LOOP_FLAGS += ["--param", "vect-epilogues-nomask=0"]
    # And write out what is left after the last vector, and align it: 65 kB, and no faster.
    LOOP_FLAGS += ["--param", "max-completely-peeled-insns=120"]
    LOOP_FLAGS += [f"-fno-align-{what}" for what in ALIGNED]


def can_compile() -> bool:
    """Whether there is a C compiler, Python's headers, a lock of the interpreter, and no veto."""
    if os.environ.get("ADJOINT_PURE") == "1":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED"):  # compiled code counts on that lock
        return False
    problem = compiler_problem()
    if problem:
        print(f"adjoint: {problem}; without it the package is pure", file=sys.stderr)
    return not problem


@functools.cache
def compiler_problem() -> str:
    """Why the compiler that setuptools finds can't compile a module of Python's; "" if it can."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.c")
        source.write_text("#include <Python.h>\n", encoding="utf-8")
        try:
            compiler = new_compiler()
            customize_compiler(compiler)
            compiler.add_include_dir(sysconfig.get_path("include"))
            compiler.compile([str(source)], output_dir=folder)
        except (CCompilerError, DistutilsError, OSError) as error:
            return f"no C compiler that finds Python.h ({error})"
    return ""


def extensions() -> list[Extension]:
    """The compiled modules; none while the build only asks for its requirements."""
    if not can_compile():
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:
        print("adjoint: mypyc is not installed; without it the package is pure", file=sys.stderr)
        return []
    sys.path.insert(0, str(Path(__file__).parent))
    from tools.mypyc_docs import restore_docs
    from tools.mypyc_repair import repair

    # At 3, GCC writes functions and paths twice: 50 kB more in the wheel, and no faster.
    built = mypycify([*LENIENT, *COMPILED], opt_level="2")
    # All modules are compiled to one file, beside a stub for each.
    sources = {name for extension in built for name in extension.sources}
    (native,) = [name for name in sources if Path(name).name.startswith("__native")]
    repair(Path(native), [Path(name) for name in COMPILED])
    restore_docs(Path(native), [Path(name) for name in COMPILED])
    if sys.platform == "linux":  # elsewhere a call within a library needs no permission to be short
        for extension in built:
            extension.extra_compile_args += ["-fno-semantic-interposition", "-fvisibility=hidden"]
            # Nor would aligned code be faster, or pointers moved in pairs.
            extension.extra_compile_args += [f"-fno-align-{what}" for what in ALIGNED]
            extension.extra_compile_args += ["-fno-tree-vectorize"]
            if native not in extension.sources:  # a stub needs nothing of what C sets up: 24 kB
                extension.extra_link_args += ["-nostartfiles", "-Wl,-z,noseparate-code"]
    built += [*loops(), *modules_for_numpy()]
    if sys.platform == "linux":  # what a debugger would read takes a third of the wheel
        packed = ["-Wl,-z,pack-relative-relocs"] if reads_packed_relocations() else []
        for extension in built:  # and nothing is ever thrown through C
            extension.extra_compile_args += ["-g0", "-fno-asynchronous-unwind-tables"]
            extension.extra_link_args += ["-Wl,-s", "-Wl,--build-id=none", *packed]
    return built


def reads_packed_relocations() -> bool:
    """Whether the C library here takes addresses to be moved as a bitmap: 76 kB of the wheel."""
    name, version = platform.libc_ver()
    return name == "glibc" and tuple(map(int, version.split("."))) >= (2, 36)


def modules_for_numpy() -> list[Extension]:
    """What keeps memory for NumPy's arrays, and what shares its calls among POSIX threads."""
    import numpy as np

    names = ["pages", "sharing"] if new_compiler().compiler_type == "unix" else ["pages"]
    return [
        Extension(
            f"adjoint.backends.{name}",
            [str(Path("adjoint", "backends", f"{name}.c"))],
            include_dirs=[np.get_include()],
        )
        for name in names
    ]


def sets_of_loops(unix: bool) -> dict[str, list[str]]:
    """The modules of loops that are built here, each with the instructions it may use."""
    return LOOPS if unix and sysconfig.get_platform().endswith("x86_64") else {"plain": []}


def loops() -> list[Extension]:
    """The modules of loops, one for each set of instructions that the compiler knows."""
    import numpy as np

    from tools.loops import FOLDER, write

    target = Path("build", "loops")
    write(target)
    unix = new_compiler().compiler_type == "unix"
    made = []
    for name, instructions in sets_of_loops(unix).items():
        source = target / f"{name}.c"
        source.write_text(f'#define MODULE {name}\n#include "loops.c"\n', encoding="utf-8")
        made.append(
            Extension(
                f"adjoint.backends.loops.{name}",
                [str(source)],
                include_dirs=[np.get_include(), str(FOLDER)],
                extra_compile_args=[*LOOP_FLAGS, *instructions] if unix else [],
            )
        )
    return made


class SmallWheel(bdist_wheel):
    """A wheel that is compressed as far as it goes: 13 kB less than as a rule."""

    def run(self) -> None:
        super().run()
        for _, _, name in self.distribution.dist_files[-1:]:  # the one made now
            whole = Path(name).with_suffix(".whole")
            Path(name).rename(whole)
            with zipfile.ZipFile(whole) as old, zipfile.ZipFile(name, "w") as new:
                for member in old.infolist():
                    new.writestr(member, old.read(member), zipfile.ZIP_DEFLATED, compresslevel=9)
            whole.unlink()


if __name__ == "__main__":
    setup(
        cmdclass={"bdist_wheel": SmallWheel},
        ext_modules=extensions(),
        setup_requires=MYPYC if can_compile() else [],
        options={"build_ext": {"parallel": os.cpu_count()}},  # the loops beside the core
    )
