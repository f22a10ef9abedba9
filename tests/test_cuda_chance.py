"""Random numbers for GPUs: the kernels, compiled here as plain C++, draw what NumPy draws."""

import ctypes
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from adjoint.backends.chance import DOUBLE, SINGLE, Even, Normal
from adjoint.backends.loops import cuda_chance
from adjoint.backends.loops.cuda_chance import EVEN, FLIPS, PAIRS, taken
from adjoint.random import Generator

COMPILER = shutil.which("g++") or shutil.which("clang++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")

# What a compiler for the host needs to know of CUDA's own words, and a launch, thread by thread.
HOST = """
#include <cmath>
#define __device__
#define __global__
struct Place { long long x; };
static Place blockIdx, blockDim, threadIdx;
"""
LAUNCH = """
extern "C" void launch(int blocks, int threads, const Word *given, double a, double b, double c,
                       T *out, long long n) {
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
        for (threadIdx.x = 0; threadIdx.x < threads; threadIdx.x++)
            kernel(given, 0, 0, 0, 0, 0, 0, a, b, c, out, n);
}
"""
KINDS = {"flips": FLIPS, "single": EVEN[SINGLE], "double": EVEN[DOUBLE], "pairs": PAIRS}
TYPES = {"flips": bool, "single": np.float32, "double": np.float64, "pairs": np.float32}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The launch of each kernel."""
    folder = tmp_path_factory.mktemp("kernels")
    found = {}
    for name, drawn in KINDS.items():
        source, library = folder / f"{name}.cc", folder / f"{name}.so"
        text = cuda_chance.text(drawn) + LAUNCH.replace("T *", f"{drawn[0]} *")
        source.write_text(HOST + text, encoding="utf-8")
        options = ["-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
        assert COMPILER is not None
        subprocess.run([COMPILER, *options, str(source), "-o", str(library)], check=True)
        found[name] = ctypes.CDLL(str(library)).launch
    return found


def drawn(launch: Any, words: list[int], count: int, kind: Any, *numbers: float) -> Any:
    """What a kernel draws from a state."""
    out = np.empty(count, kind)
    state = np.array(words, np.uint64)
    pointer = ctypes.c_void_p
    launch(
        4 + count // (32 * cuda_chance.EACH),
        32,
        pointer(state.ctypes.data),
        *map(ctypes.c_double, numbers),
        pointer(out.ctypes.data),
        ctypes.c_longlong(count),
    )
    return out


def generators(before: int) -> list[Generator]:
    """Two with the same state, which have drawn so many numbers of half a word."""
    found = []
    for _ in range(2):
        generator = Generator().manual_seed(11)
        generator.draw(lambda stream: stream.random(before, np.float32))
        found.append(generator)
    return found


def assert_same_state(one: Generator, other: Generator) -> None:
    assert one.get_state().tolist() == other.get_state().tolist()


@pytest.mark.parametrize("before", [0, 1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 16, 17, 1000, 12345])
class TestDrawsOfNumPy:
    def test_coin_flips(self, kernels: Any, before: int, count: int) -> None:
        theirs, ours = generators(before)
        expected = theirs.draw(lambda stream: stream.random(count)) < 0.3
        found = drawn(kernels["flips"], ours.draw(taken(count)), count, bool, 0.3, 0, 0)
        np.testing.assert_array_equal(found, expected)
        assert_same_state(ours, theirs)

    @pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.5, 2.25), (1.0, 1.0 + 2.0**-22)])
    @pytest.mark.parametrize("name", ["single", "double"])
    def test_even_numbers(
        self, kernels: Any, name: str, bounds: tuple[float, float], before: int, count: int
    ) -> None:
        theirs, ours = generators(before)
        kind = np.dtype(TYPES[name])
        low, high = bounds
        expected = Even(kind, low, high, theirs)((count,))
        words = ours.draw(taken(count, halves=name == "single"))
        found = drawn(kernels[name], words, count, kind, high - low, low, high)
        np.testing.assert_array_equal(found, expected)
        assert_same_state(ours, theirs)


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("count", [1024, 1025, 40001])
def test_normal_numbers(kernels: Any, before: int, count: int) -> None:
    theirs, ours = generators(before)
    expected = Normal(SINGLE, 0.5, 2.0, theirs)((count,))
    words = ours.draw(taken(2 * -(-count // 2), halves=True))
    found = drawn(kernels["pairs"], words, count, np.float32, 0.5, 2.0, 0.0)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    assert_same_state(ours, theirs)
    assert abs(expected.mean() - 0.5) < 0.2
    assert abs(expected.std() - 2.0) < 0.2
