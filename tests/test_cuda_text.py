"""The text of kernels for GPUs: what declarations become in CUDA, compiled here as plain C++."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.backends.loops import cuda
from adjoint.backends.loops.symbols import SPECIAL, Symbol
from adjoint.ops.op import TABLE
from adjoint.ops.tracing import Traced, traced, traced_ops

# What a compiler for the host needs to know of CUDA's own words.
HOST = """
#include <cmath>
#include <cstring>
#define __device__
#define __global__
static inline double __longlong_as_double(long long l) { double d; memcpy(&d, &l, 8); return d; }
static inline float __uint_as_float(unsigned u) { float f; memcpy(&f, &u, 4); return f; }
static inline unsigned __float_as_uint(float f) { unsigned u; memcpy(&u, &f, 4); return u; }
static inline double erfinv(double x) { return x; }
static inline float erfinvf(float x) { return x; }
struct Place { long long x; int y; };
static Place blockIdx = {0, 0}, blockDim = {1, 1}, threadIdx = {0, 0}, gridDim = {1, 1};
using namespace std;
"""
COMPILER = shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")


def evaluated(part: Symbol, given: dict[str, Any]) -> Any:
    """What NumPy makes of an expression."""
    if part.function in ("array", "number"):
        return given[part.value]
    if part.function == "constant":
        return np.dtype(part.dtype).type(part.value)
    operands = [evaluated(operand, given) for operand in part.operands]
    if part.function == "cast":
        return np.asarray(operands[0]).astype(part.dtype)
    if part.function == "power_before":
        with np.errstate(all="ignore"):
            return operands[0] ** (operands[1] - 1)
    if part.function in SPECIAL:
        special = pytest.importorskip("scipy.special")
        return getattr(special, part.function)(*operands)
    with np.errstate(all="ignore"):
        return getattr(np, part.function)(*operands)


def printed(each: Traced) -> dict[str, cuda.Printed] | None:
    """What a trace is in CUDA, for each kind; None if that has no words for it."""
    arrays = [each.names[i] for i in each.arrays]
    numbers = [each.names[i] for i in each.numbers]
    try:
        return {str(r.graph.kind): cuda.Printed(r, arrays, numbers) for r in each.results}
    except cuda.UnprintableError:
        return None


def test_nearly_all_is_printed() -> None:
    without = {
        each.op.name for each in traced_ops() if isinstance(each, Traced) and printed(each) is None
    }
    assert len(without) < 20, without
    assert {"digamma", "chebyshev_polynomial_t"} <= without  # no such function, and a wider type
    assert not without & {"add", "mul", "tanh", "gelu", "pow", "remainder", "where"}


def test_a_declaration_in_cuda() -> None:
    (slope,) = [
        each for each in traced(TABLE["tanh"]) if isinstance(each, Traced) and each.place == 0
    ]
    texts = printed(slope)
    assert texts is not None
    text = texts["float32"].kernel("bfloat16", "es", 8)
    assert "const float v0 = x1 * x1;" in text
    assert "return v2;" in text
    assert "kernel(const S *a0, const S *a1, O *out, const long long n)" in text
    assert texts["float32"].layout("es") == "QQQQ"
    assert texts["float32"].layout("nr") == "dQQQQ"


def test_limits_of_float32_are_not_those_of_halves() -> None:
    (forward, *_) = [
        each for each in traced(TABLE["nan_to_num"]) if isinstance(each, Traced) and each.place < 0
    ]
    texts = printed(forward)
    assert texts is not None
    assert not texts["float32"].halves


def compiled(folder: Path, text: str) -> None:
    """Have a compiler read a text."""
    source = folder / "kernels.cc"
    source.write_text(text, encoding="utf-8")
    assert COMPILER is not None
    subprocess.run([COMPILER, "-std=c++17", "-fsyntax-only", str(source)], check=True)


@needs_compiler
def test_every_kernel_is_read_by_a_compiler(tmp_path: Path) -> None:
    parts = [HOST]
    for each in traced_ops():
        texts = printed(each) if isinstance(each, Traced) else None
        for kind, text in (texts or {}).items():
            pattern = ("ercsn" * 2)[: text.arrays]
            own = text.kernel(kind, pattern, 2).replace('extern "C" ', "")
            parts.append(f"namespace kernel_{len(parts)} {{\n{own}\n}}")
    assert len(parts) > 500
    compiled(tmp_path, "\n".join(parts))


@needs_compiler
def test_steps_of_optimizers_are_read_by_a_compiler(tmp_path: Path) -> None:
    parts = [HOST]
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Rprop", "NAdam", "RAdam"):
        param = adjoint.ones(3, requires_grad=True)
        optimizer = getattr(adjoint.optim, name)([param])
        param.grad = adjoint.ones(3)
        optimizer.step()
        for program in optimizer.programs():
            operands, notes = program.noted
            for kept in (False, True):
                text = cuda.step_text(notes, operands, len(program.numbers), "float32", kept)
                own = text.replace('extern "C" ', "")
                parts.append(f"namespace step_{len(parts)} {{\n{own}\n}}")
    assert len(parts) > 10
    compiled(tmp_path, "\n".join(parts))
