"""Coin flips on CuPy: the very ones that NumPy's generator would draw, made on the device.

Its numbers are the steps of one recurrence. A thread goes straight to the step where its part of
them begins, and the generator on the host is told how many were taken.
"""

from typing import Any, Final

import cupy
import numpy as np

from adjoint.backends.cupy_kernels import NDARRAY, Launch

_BOOL: Final = np.dtype(bool)
_LOW: Final = (1 << 64) - 1
_EACH: Final = 16  # numbers that a thread makes one after the other
_THREADS: Final = 256

FLIPS: Final = """
typedef unsigned long long Word;
typedef unsigned __int128 Wide;
inline __device__ Wide wide(Word high, Word low) { return (Wide)high << 64 | low; }
extern "C" __global__ void kernel(
    const Word *kept, Word high, Word low, Word step_high, Word step_low,
    const double p, bool *out, const long long n
) {
    if (kept) { high = kept[0]; low = kept[1]; step_high = kept[2]; step_low = kept[3]; }
    const Wide factor = wide(2549297995355413924ULL, 4865540595714422341ULL);
    const Wide step = wide(step_high, step_low);
    Wide state = wide(high, low);
    const long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * EACH;
    Wide by = 1, plus = 0, next_by = factor, next_plus = step;
    for (long long left = first; left > 0; left >>= 1) {
        if (left & 1) { by *= next_by; plus = plus * next_by + next_plus; }
        next_plus *= next_by + 1;
        next_by *= next_by;
    }
    state = state * by + plus;
    for (long long i = first; i < first + EACH && i < n; i++) {
        state = state * factor + step;
        const Word top = (Word)(state >> 64), mixed = top ^ (Word)state;
        const unsigned turn = (unsigned)(top >> 58);
        const Word drawn = mixed >> turn | mixed << (-turn & 63);
        out[i] = (drawn >> 11) * (1.0 / 9007199254740992.0) < p;
    }
}
""".replace("EACH", str(_EACH))

_launches: Final[dict[int, Launch]] = {}


def taken(stream: Any, count: int) -> list[int] | None:
    """The state of a generator of NumPy's, in words, which then goes on `count` steps behind it.

    None if it is not the one whose steps are known here.
    """
    bits = stream.bit_generator
    before = bits.state
    if before["bit_generator"] != "PCG64":
        return None
    bits.advance(count)
    # To advance it forgets a half of a number that was not asked for yet; drawing does not.
    kept = {name: before[name] for name in ("has_uint32", "uinteger")}
    bits.state = {**bits.state, **kept}
    own = before["state"]
    return [own["state"] >> 64, own["state"] & _LOW, own["inc"] >> 64, own["inc"] & _LOW]


def flips(words: Any, shape: tuple[int, ...], p: float) -> Any:
    """Whether each number drawn from a state is below p; the state may lie on the device."""
    out = NDARRAY(shape, _BOOL)
    if out.size:
        where = cupy.cuda.runtime.getDevice()
        launch = _launches.get(where)
        if launch is None:
            launch = _launches[where] = Launch(FLIPS, "QQQQQdQQ", ("--device-int128",))
        kept = type(words) is NDARRAY
        given = [words.data.ptr, 0, 0, 0, 0] if kept else [0, *words]
        blocks = -(-out.size // (_THREADS * _EACH))
        launch(blocks, [*given, p, out.data.ptr, out.size], _THREADS)
    return out
