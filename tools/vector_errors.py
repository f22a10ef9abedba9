"""Measures the vector mathematics: errors in units of the last place, and times.

`python -m tools.vector_errors` prints the table of docs/notes/vector_math.md. It needs a C
compiler, mpmath, and a long double of 64 bits or more for the exact values.
"""

import ctypes
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

HEADERS = Path(__file__).resolve().parents[1] / "adjoint" / "backends" / "loops"
FLAGS = ("-O3", "-std=c99", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
FUSED = ("-mavx2", "-mfma")
WIDE = ("-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mprefer-vector-width=512")

UNARY = [
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sigmoid", "tanh", "sinh", "cosh",
    "asinh", "acosh", "atanh", "sin", "cos", "tan", "asin", "acos", "atan", "erf", "erfc",
    "erfinv", "lgamma", "digamma", "trigamma", "i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e",
]  # fmt: skip
WHOLE = ["floor", "ceil", "trunc", "rint"]
BINARY = ["pow", "atan2"]
REMAINDERS = ["fmod_near", "quotient_is_far"]  # exact, where they may be asked
BESSEL = ("i0", "i0e", "i1", "i1e", "k0", "k0e", "k1", "k1e")
BY_MPMATH = ("erfinv", "digamma", "trigamma", *BESSEL)
# Below it are zeros that no fixed number of digits comes close to, or nothing.
FROM_ZERO = ("lgamma", "digamma", "k0", "k0e", "k1", "k1e")

Array = np.ndarray[Any, Any]


# ---- compiled ----


def compiler() -> str | None:
    """The C compiler, if there is one that knows GCC's flags."""
    return shutil.which("gcc") or shutil.which("clang")


def instructions() -> dict[str, tuple[str, ...]]:
    """The flags for each kind of instructions that this machine has, by name."""
    found: dict[str, tuple[str, ...]] = {"plain": ()}
    listing = Path("/proc/cpuinfo")
    known = listing.read_text("utf-8").split() if listing.exists() else []
    if platform.machine() == "x86_64" and {"avx2", "fma"} <= set(known):
        found["fused"] = FUSED
        if {"avx512f", "avx512dq", "avx512vl", "avx512bw"} <= set(known):
            found["wide"] = FUSED + WIDE
    return found


def loops_in_c() -> str:
    """A loop over each function, and over those of the C library with the most digits."""
    lines = ['#include "vector_math.h"']
    for arguments, names in ((1, UNARY + WHOLE), (2, BINARY + REMAINDERS)):
        for kind, suffix in (("float", "f32"), ("double", "f64")):
            taken = [f"const {kind} *restrict {name}" for name in "xy"[:arguments]]
            values = ", ".join(f"{name}[i]" for name in "xy"[:arguments])
            lines += [
                f"__attribute__((flatten)) void {name}_{suffix}({', '.join(taken)}, "
                f"{kind} *restrict out, long n) {{\n"
                f"    for (long i = 0; i < n; i++) out[i] = v_{name}_{suffix}({values});\n}}"
                for name in names
            ]
        taken = [f"const long double *{name}" for name in "xy"[:arguments]]
        lines += [
            f"void {name}_exact({', '.join(taken)}, long double *out, long n) {{\n"
            f"    for (long i = 0; i < n; i++) out[i] = {name}l({values});\n}}"
            for name in names
            if name not in (*BY_MPMATH, *REMAINDERS, "sigmoid")
        ]
    lines.append(
        "void sigmoid_exact(const long double *x, long double *out, long n) {\n"
        "    for (long i = 0; i < n; i++) {\n"
        "        long double power = expl(-fabsl(x[i]));\n"
        "        out[i] = (x[i] < 0 ? power : 1) / (1 + power);\n    }\n}"
    )
    return "\n".join(lines) + "\n"


def compiled(folder: Path, flags: Sequence[str]) -> ctypes.CDLL:
    """The loops, compiled for some instructions."""
    found = compiler()
    if found is None:
        raise FileNotFoundError("vector mathematics: no gcc or clang to measure it with")
    source, library = folder / "loops.c", folder / "loops.so"
    source.write_text(loops_in_c(), encoding="utf-8")
    command = [found, *FLAGS, *flags, f"-I{HEADERS}", "-shared", "-fPIC", str(source)]
    subprocess.run([*command, "-o", str(library), "-lm"], check=True)  # noqa: S603  our own source
    return ctypes.CDLL(str(library))


def run(library: ctypes.CDLL, name: str, *arguments: Array) -> Array:
    """What a loop makes of arrays of one type."""
    suffix = {"float32": "f32", "float64": "f64"}.get(str(arguments[0].dtype), "exact")
    given = [np.ascontiguousarray(argument) for argument in arguments]
    result = np.empty_like(given[0])
    places = [ctypes.c_void_p(array.ctypes.data) for array in (*given, result)]
    getattr(library, f"{name}_{suffix}")(*places, ctypes.c_long(result.size))
    return result


# ---- measured ----


def samples(name: str, dtype: Any, count: int) -> tuple[Array, ...]:
    """Arguments of all sizes, of those that matter most, and the edges; always the same ones."""
    if name in BINARY:
        return pairs(dtype, count)
    chance = np.random.default_rng(0)
    bits = 8 * np.dtype(dtype).itemsize
    step = 2**bits // count
    each = np.arange(count, dtype=np.uint64) * np.uint64(step)
    each += chance.integers(0, step, count, dtype=np.uint64)
    parts = [edges(dtype), each.astype(f"u{bits // 8}").view(dtype)]
    parts += [chance.uniform(-bound, bound, count // 4) for bound in (1, 2, 4, 12, 120, 800)]
    parts.append(10 ** chance.uniform(-12, 3, count // 4))
    near = [1.0, 0.5, 2**0.5, 2**-0.5, 0.25, 1.25, 1.5, 2.5, 8, 0.4142135, 2.4142135, 0.785398]
    steps = np.arange(-50, 51) * np.finfo(dtype).eps
    parts += [sign * bound * (1 + steps) for bound in near for sign in (1, -1)]
    found = np.concatenate([np.asarray(part, dtype) for part in parts])
    if name == "erfinv":
        found = found[np.abs(found) <= 1]
    if name in BY_MPMATH:  # which takes its time
        found = np.concatenate([edges(dtype), chance.choice(found, count // 100)])
    if name in FROM_ZERO:
        found = found[found > 0]
    if name == "trigamma":  # and longer the further it has to come back
        found = found[found > -1000]
    return (found,)


def edges(dtype: Any) -> Array:
    """Zeros, ones, infinities, NaN, and the largest and smallest numbers."""
    about = np.finfo(dtype)
    found = [0, 1, 2, 0.5, 3, 2.5, np.inf, about.max, about.tiny, about.smallest_subnormal]
    return np.array([*found, *(-value for value in found), np.nan], dtype)


def pairs(dtype: Any, count: int) -> tuple[Array, Array]:
    """Arguments for functions of two: each edge with each, and many between."""
    chance = np.random.default_rng(1)
    first, second = (part.ravel() for part in np.meshgrid(edges(dtype), edges(dtype)))
    size = 300 if dtype == np.float64 else 37
    x = [first, chance.uniform(0.5, 2, count), -np.round(chance.uniform(0, 20, count))]
    x += [10 ** chance.uniform(-5, 5, count), 10 ** chance.uniform(-size, size, count)]
    y = [second, chance.uniform(-1000, 1000, count), np.round(chance.uniform(-30, 30, count))]
    y += [chance.uniform(-20, 20, count), 10 ** chance.uniform(-size, size, count)]
    with np.errstate(over="ignore"):
        return np.concatenate(x).astype(dtype), np.concatenate(y).astype(dtype)


def exact(library: ctypes.CDLL, name: str, arguments: Sequence[Array]) -> Array:
    """The values of a function with more digits than a double has."""
    with np.errstate(invalid="ignore"):
        wide = [argument.astype(np.longdouble) for argument in arguments]
    if name not in BY_MPMATH:
        return run(library, name, *wide)
    import mpmath

    with mpmath.mp.workdps(40):
        values = [mpmath_value(name, float(x)) for x in arguments[0]]
    return np.array([np.longdouble(value) for value in values])


def mpmath_value(name: str, x: float) -> str:
    """A value of mpmath's in decimal digits."""
    import mpmath

    if np.isnan(x) or (name == "erfinv" and not abs(x) <= 1):
        return "nan"
    if np.isinf(x):  # where mpmath would look for an end of its series
        return str(limit(name, x))
    if name == "trigamma":
        return str(mpmath.nstr(mpmath.psi(1, x), 25)) if x > 0 or x % 1 else "inf"
    if name not in BESSEL:
        return str(mpmath.nstr(getattr(mpmath, name)(mpmath.mpf(x)), 25))
    scale = abs(x) if name[0] == "k" else -abs(x)
    function = mpmath.besselk if name[0] == "k" else mpmath.besseli
    found = function(int(name[1]), mpmath.mpf(x))
    return str(mpmath.nstr(found * mpmath.exp(scale) if name[2:] else found, 25))


def limit(name: str, x: float) -> float:
    """What a function comes to at one of the infinities."""
    if name in ("i0", "i1"):  # as in PyTorch and SciPy
        return np.nan
    if name == "digamma":
        return x
    if name == "trigamma":
        return 0.0 if x > 0 else np.inf
    return float(np.copysign(0.0, x if name == "i1e" else 1.0))


def errors(got: Array, wanted: Array) -> Array:
    """How far results are from exact values, in units of the last place of those."""
    about = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        _, exponents = np.frexp(np.abs(wanted))
        places = np.maximum(exponents - about.nmant - 1, about.minexp - about.nmant)
        apart = np.abs(got.astype(np.longdouble) - wanted)
        apart = np.asarray(apart / np.ldexp(np.longdouble(1), places), dtype=np.float64)
        rounded = wanted.astype(got.dtype)
    is_edge = ~np.isfinite(rounded) | ~np.isfinite(got)
    is_same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.where(is_edge, np.where(is_same, 0.0, np.inf), apart)


def time_of(function: Callable[[], object], count: int) -> float:
    """Nanoseconds an element takes, the best of many calls."""
    best = float("inf")
    for _ in range(60):
        start = time.perf_counter()
        for _ in range(5):
            function()
        best = min(best, (time.perf_counter() - start) / 5)
    return best * 1e9 / count


# ---- the table ----

NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
NUMPY |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


def ordinary(name: str, dtype: Any) -> tuple[Array, ...]:
    """Arguments to take the time with, as activations are."""
    x = np.random.default_rng(2).standard_normal(100_000).astype(dtype)
    if name in ("asin", "acos", "atanh", "erfinv"):
        return (np.tanh(x),)
    if name == "acosh":
        return (1 + np.abs(x),)
    if name in ("log", "log2", "log10", "log1p", "lgamma", "digamma", "trigamma"):
        return (np.abs(x),)
    if name[0] == "k":
        return (np.abs(x),)
    return (np.abs(x), x) if name in BINARY else (x,)


def row(libraries: dict[str, ctypes.CDLL], name: str) -> str:
    """The errors and times of one function, as a line of the table."""
    cells = [name]
    for dtype in (np.float32, np.float64):
        arguments = samples(name, dtype, 200_000)
        wanted = exact(libraries["plain"], name, arguments)
        worst = max(
            float(errors(run(library, name, *arguments), wanted).max())
            for library in libraries.values()
        )
        cells.append(f"{worst:.2f}")
    for dtype in (np.float32, np.float64):
        taken = ordinary(name, dtype)
        for library in libraries.values():
            cells.append(f"{time_of(partial(run, library, name, *taken), taken[0].size):.2f}")
        function = getattr(np, NUMPY.get(name, name), None)
        if function is not None:
            cells.append(f"{time_of(partial(function, *taken), taken[0].size):.2f}")
        else:
            cells.append("")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        libraries = {}
        for name, flags in instructions().items():
            place = Path(folder, name)
            place.mkdir()
            libraries[name] = compiled(place, flags)
        for name in UNARY + BINARY:
            print(row(libraries, name))  # noqa: T201  a tool


if __name__ == "__main__":
    main()
