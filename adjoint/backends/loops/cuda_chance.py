"""Random numbers in CUDA: the kernels that draw what NumPy's generator would, and where it goes on.

Its numbers are the steps of one recurrence. A thread goes straight to the step where its part of
them begins, and the generator on the host is told how many were taken.
"""

from collections.abc import Callable
from typing import Any, Final

from adjoint.backends.chance import DOUBLE, SINGLE

EACH: Final = 16  # numbers that a thread makes one after the other
WORDS: Final = 6  # of a generator: its state and its step, whether half of a word is left, and it
LAYOUT: Final = "QQQQQQQdddQQ"  # of a kernel's arguments
_LOW: Final = (1 << 64) - 1

STREAM: Final = """
typedef unsigned long long Word;
typedef unsigned __int128 Wide;
inline __device__ Wide wide(Word high, Word low) { return (Wide)high << 64 | low; }
struct Stream {
    Wide state, step;
    Word left, half;
    __device__ Stream(const Word *words)
        : state(wide(words[0], words[1])), step(wide(words[2], words[3])), left(words[4]),
          half(words[5]) {}
    __device__ Wide factor() { return wide(2549297995355413924ULL, 4865540595714422341ULL); }
    __device__ void skip(long long count) {
        Wide by = 1, plus = 0, next_by = factor(), next_plus = step;
        for (; count > 0; count >>= 1) {
            if (count & 1) { by *= next_by; plus = plus * next_by + next_plus; }
            next_plus *= next_by + 1;
            next_by *= next_by;
        }
        state = state * by + plus;
    }
    __device__ Word word() {
        state = state * factor() + step;
        const Word top = (Word)(state >> 64), mixed = top ^ (Word)state;
        const unsigned turn = (unsigned)(top >> 58);
        return mixed >> turn | mixed << (-turn & 63);
    }
    __device__ double number() { return (word() >> 11) * (1.0 / 9007199254740992.0); }
    /* Two numbers of 24 bits come from a word, the lower one first; one may be left from before. */
    __device__ void skip_halves(long long count) {
        if (left && count > 0) { left = 0; count--; }
        skip(count / 2);
        if (count % 2) { half = word() >> 32; left = 1; }
    }
    __device__ float single() {
        Word bits = half;
        if (!left) { bits = word(); half = bits >> 32; }
        left = !left;
        return ((unsigned)bits >> 8) * (1.0f / 16777216.0f);
    }
};
#define FIRST ((blockIdx.x * (long long)blockDim.x + threadIdx.x) * EACH)
#define EVERY(i) for (long long i = FIRST; i < FIRST + EACH && i < n; i++)
extern "C" __global__ void kernel(
    const Word *kept, Word high, Word low, Word step_high, Word step_low, Word left, Word half,
    const double a, const double b, const double c, T *out, const long long n
) {
    const Word given[6] = {high, low, step_high, step_low, left, half};
    Stream stream(kept ? kept : given);
    BODY
}
""".replace("EACH", str(EACH))

# By what is drawn: the type of a result, and how a thread makes its part.
FLIPS: Final = ("bool", "stream.skip(FIRST); EVERY(i) out[i] = stream.number() < a;")
EVEN: Final = {
    SINGLE: (
        "float",
        """stream.skip_halves(FIRST);
    EVERY(i) {
        const float v = stream.single() * (float)a + (float)b;
        out[i] = v >= (float)c && b < c ? (float)b : v;
    }""",
    ),
    DOUBLE: (
        "double",
        """stream.skip(FIRST);
    EVERY(i) { const double v = stream.number() * a + b; out[i] = v >= c && b < c ? b : v; }""",
    ),
}
# Each thread makes pairs, whose distances come before all directions.
PAIRS: Final = (
    "float",
    """const long long pairs = (n + 1) / 2;
    Stream other = stream;
    stream.skip_halves(FIRST);
    other.skip_halves(pairs + FIRST);
    for (long long i = FIRST; i < FIRST + EACH && i < pairs; i++) {
        const float radius = sqrtf(-2 * logf(1 - stream.single()));
        const float angle = 6.28318530717958647692f * other.single();
        out[i] = radius * cosf(angle) * (float)b + (float)a;
        if (pairs + i < n) out[pairs + i] = radius * sinf(angle) * (float)b + (float)a;
    }""".replace("EACH", str(EACH)),
)


def text(drawn: tuple[str, str]) -> str:
    """The kernel that draws such numbers."""
    kind, body = drawn
    return STREAM.replace("BODY", body).replace("T *out", f"{kind} *out")


def _words(bits: Any) -> list[int]:
    own = bits["state"]
    parts = [own["state"] >> 64, own["state"] & _LOW, own["inc"] >> 64, own["inc"] & _LOW]
    return [*parts, bits["has_uint32"], bits["uinteger"]]


def taken(count: int, halves: bool = False) -> Callable[[Any], list[int] | None]:
    """How `count` numbers of a word, or half of one, are taken from a generator of NumPy's.

    It answers the state from which they come, in words, and goes on behind them; None if it is not
    the one whose steps are known here.
    """

    def draw(stream: Any) -> list[int] | None:
        bits = stream.bit_generator
        before = bits.state
        if before["bit_generator"] != "PCG64":
            return None
        # To advance it forgets the half of a word that was not asked for yet; drawing does not.
        left = {name: before[name] for name in ("has_uint32", "uinteger")}
        whole = count
        if halves:
            wanted = count - before["has_uint32"]
            whole = -(-wanted // 2)
            left["has_uint32"] = wanted % 2
        bits.advance(whole)
        after = bits.state
        if halves and whole > 0:
            left["uinteger"] = _output(after["state"]["state"]) >> 32
        bits.state = {**after, **left}
        return _words(before)

    return draw


def _output(state: int) -> int:
    """The word that a state stands for."""
    top = state >> 64
    mixed, turn = top ^ (state & _LOW), top >> 58
    return (mixed >> turn | mixed << (-turn & 63)) & _LOW
