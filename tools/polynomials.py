"""Writes the polynomials and constants of the vector mathematics, computed with many digits.

`python -m tools.polynomials` writes adjoint/backends/loops/vector_polynomials.h; `--errors` shows
how far each polynomial is from its function. It needs mpmath, and takes a minute.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mpmath
from mpmath import mp, mpf

HEADER = (
    Path(__file__).resolve().parents[1] / "adjoint" / "backends" / "loops" / "vector_polynomials.h"
)
DIGITS = 70  # targets cancel near zero, and leave half of them
POINTS = 360  # of the grid on which an error is made small

Function = Callable[[mpf], mpf]


@dataclass(frozen=True, slots=True)
class Precision:
    """A floating type of C."""

    suffix: str
    bits: int
    least: int  # the exponent of the smallest number
    mark: str  # of a literal


SINGLE = Precision("f32", 24, -149, "f")
DOUBLE = Precision("f64", 53, -1074, "")


@dataclass(frozen=True, slots=True)
class Fit:
    """A polynomial in place of a function on an interval, its weighted error small everywhere."""

    name: str
    target: Function
    interval: tuple[mpf, mpf]
    terms: int
    weight: Function = lambda x: mpf(1)
    exact: tuple[float, ...] = ()  # leading coefficients that are known


# ---- the method ----


def rounded(value: mpf, bits: int, least: int = -1074) -> mpf:
    """The number of so many bits that is nearest to a value."""
    if value == 0:
        return mpf(0)
    step = max(mpmath.floor(mpmath.log(abs(value), 2)) + 1 - bits, least)
    return mpmath.nint(value * mpf(2) ** -step) * mpf(2) ** step


def least_squares(
    grid: Sequence[mpf], values: Sequence[mpf], weights: Sequence[mpf], first: int, count: int
) -> list[mpf]:
    """The coefficients of x**first and on whose weighted error has the least squares.

    On points as dense as Chebyshev's its largest error is within a bit of the least there is.
    """
    squares = [weight**2 for weight in weights]
    powers = [squares]
    for _ in range(2 * (first + count)):
        powers.append([p * x for p, x in zip(powers[-1], grid, strict=True)])
    moments = [mpmath.fsum(column) for column in powers]
    places = range(first, first + count)
    matrix = mpmath.matrix([[moments[i + k] for k in places] for i in places])
    solved = mpmath.lu_solve(matrix, [mpmath.fdot(powers[i], values) for i in places])
    return [solved[k] for k in range(count)]


def fitted(fit: Fit, precision: Precision) -> tuple[list[mpf], mpf]:
    """The rounded coefficients of a fit, and the largest weighted error they leave."""
    nodes = [mpmath.cos(mp.pi * (i + mpf(1) / 2) / POINTS) for i in range(POINTS)]
    low, high = fit.interval
    grid = [(low + high) / 2 - (high - low) / 2 * node for node in nodes]
    values, weights = [fit.target(x) for x in grid], [fit.weight(x) for x in grid]
    known = [mpf(c) for c in fit.exact]
    rest = [v - mpmath.polyval(known[::-1] or [0], x) for v, x in zip(values, grid, strict=True)]
    # The lowest terms weigh most: each is rounded before those above it are fitted anew.
    while len(known) < fit.terms:
        found = least_squares(grid, rest, weights, len(known), fit.terms - len(known))
        settled = found[:1] if len(known) < len(fit.exact) + 3 else found
        settled = [rounded(c, precision.bits, precision.least) for c in settled]
        start = len(known)
        rest = [
            v - x**start * mpmath.polyval(settled[::-1], x) for v, x in zip(rest, grid, strict=True)
        ]
        known += settled
    return known, max(abs(w * v) for w, v in zip(weights, rest, strict=True))


# ---- what is fitted ----


def log_tail(f: mpf) -> mpf:
    """The logarithm of 1 + f beyond f, in squares of f."""
    return (mpmath.log1p(f) - f) / f**2


def erf_tail(z: mpf) -> mpf:
    """The part of erf(x) beyond x, over x, where z is the square of x."""
    x = mpmath.sqrt(z)
    return mpmath.erf(x) / x - 1


def fits(precision: Precision) -> list[Fit]:
    """Every polynomial of a type; terms are as many as leave a tenth of the last bit."""
    half = mpmath.log(2) / 2 * mpf("1.001")  # a rounded quotient may be a little beyond
    root, eighth = mpmath.sqrt(mpf(2)), mp.pi / 4 * mpf("1.001")
    is_single = precision is SINGLE

    def terms(single: int, double: int) -> int:
        return single if is_single else double

    return [
        Fit(
            "exp",
            lambda r: (mpmath.expm1(r) - r) / r**2,
            (-half, half),
            terms(5, 10),
            weight=lambda r: r**2,
            exact=(0.5,),
        ),
        Fit(
            "exp2",
            lambda r: mpmath.expm1(r * mpmath.log(2)) / r,
            (mpf("-0.5"), mpf("0.5")),
            terms(7, 12),
            weight=lambda r: r,
        ),
        Fit(
            "log",
            log_tail,
            (1 / root - 1, root - 1),
            terms(10, 21),
            weight=lambda f: f**2 / mpmath.log1p(f),
            exact=(-0.5,),
        ),
        Fit("erf", erf_tail, (mpf(0), mpf(1)), terms(7, 15)),
        Fit(
            "log_erfc",
            lambda t: mpmath.log(mpmath.erfc(1 + t)),
            (mpf(0), erf_high(precision) - 1),
            terms(8, 19),
            weight=lambda t: mpmath.erfc(1 + t),
        ),
        Fit(
            "erfc",
            smooth_erfc,
            (mpf("-0.6"), (erfc_high(precision) - 2) / (erfc_high(precision) + 2)),
            terms(11, 25),
            weight=lambda t: 1 / (1 + smooth_erfc(t)),
        ),
        *erfinv_fits(precision, terms(11, 29), terms(9, 24)),
        Fit(
            "sinh",
            lambda z: (mpmath.sinh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
            (mpf(0), mpf(1)),
            terms(4, 8),
            weight=lambda z: z,
        ),
        Fit(
            "sin",
            lambda z: (mpmath.sin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
            (mpf(0), eighth**2),
            terms(4, 7),
            weight=lambda z: z,
        ),
        *([] if is_single else double_fits()),
        Fit(
            "cos",
            lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2,
            (mpf(0), eighth**2),
            terms(3, 7),
            weight=lambda z: z**2,
        ),
        Fit(
            "atan",
            lambda z: (mpmath.atan(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
            (mpf(0), (root - 1) ** 2),
            terms(5, 11),
            weight=lambda z: z,
        ),
        Fit(
            "asin",
            lambda z: (mpmath.asin(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z,
            (mpf(0), mpf(1) / 4),
            terms(6, 13),
            weight=lambda z: z,
        ),
    ]


def double_fits() -> list[Fit]:
    """Those of functions that float has by way of double."""
    digamma_root = mpmath.findroot(mpmath.digamma, mpf("1.46"))
    return [
        Fit(  # for floats, of which the largest leave somewhat more than half of a half turn
            "sin_of_halves",
            lambda z: mpmath.sinpi(mpmath.sqrt(z)) / mpmath.sqrt(z),
            (mpf(0), mpf("0.4")),
            6,
        ),
        Fit(  # the fifth power and those above of the logarithm of (1 + s) / (1 - s)
            "log_ratio",
            lambda z: 2 * (mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1 - z / 3) / z**2,
            (mpf(0), mpf("0.1716") ** 2),
            7,
            weight=lambda z: z**2,
        ),
        Fit("lgamma", lambda f: mpmath.loggamma(2 + f) / f, (mpf("-0.75"), mpf("0.5")), 22),
        Fit("lgamma_large", stirling, (mpf(0), mpf(1) / 64), 7, weight=mpmath.sqrt),
        Fit(
            "digamma",
            lambda f: mpmath.digamma(f + mpf("1.5")) / (f + mpf("1.5") - digamma_root),
            (mpf("-0.5"), mpf("0.5")),
            22,
        ),
        Fit(
            "digamma_large",
            lambda z: (
                (mpmath.log(1 / z) / 2 - mpmath.sqrt(z) / 2 - mpmath.digamma(1 / mpmath.sqrt(z)))
                / z
            ),
            (mpf(0), mpf(1) / 64),
            7,
            weight=lambda z: z,
        ),
        Fit("trigamma_large", trigamma_rest, (mpf(0), mpf(1) / 64), 7, weight=lambda z: z),
        *bessel_fits(),
    ]


def bessel_fits() -> list[Fit]:
    """Modified Bessel functions: by squares near 0, further out by what their growth leaves."""

    def grown(order: int) -> Function:
        def target(t: mpf) -> mpf:
            a = 16 / (1 + t)
            return mpmath.besseli(order, a) * mpmath.exp(-a) * mpmath.sqrt(a)

        return target

    def faded(order: int) -> Function:
        def target(t: mpf) -> mpf:
            a = 2 / (1 + t)
            return mpmath.besselk(order, a) * mpmath.exp(a) * mpmath.sqrt(a)

        return target

    def i0(z: mpf) -> mpf:
        return mpmath.besseli(0, mpmath.sqrt(z))

    def i1(z: mpf) -> mpf:
        return mpmath.besseli(1, mpmath.sqrt(z)) / mpmath.sqrt(z)

    def k0(z: mpf) -> mpf:
        return mpmath.besselk(0, mpmath.sqrt(z)) + mpmath.log(z / 4) / 2 * i0(z)

    def k1(z: mpf) -> mpf:
        x = mpmath.sqrt(z)
        return x * (mpmath.besselk(1, x) - mpmath.log(z / 4) / 2 * x * i1(z))

    near, far = (mpf(0), mpf(64)), (mpf(-1), mpf(1))
    return [
        Fit("i0", i0, near, 17, weight=lambda z: 1 / i0(z)),
        Fit("i1", i1, near, 16, weight=lambda z: 1 / i1(z)),
        Fit("i0_large", grown(0), far, 24),
        Fit("i1_large", grown(1), far, 24),
        Fit("k0", k0, (mpf(0), mpf(1)), 8),
        Fit("k1", k1, (mpf(0), mpf(1)), 8),
        Fit("k0_large", faded(0), far, 33),
        Fit("k1_large", faded(1), far, 33),
    ]


def trigamma_rest(z: mpf) -> mpf:
    """What the first two terms of its series leave of the derivative of digamma, y**3 times."""
    y = 1 / mpmath.sqrt(z)
    return y**3 * (mpmath.psi(1, y) - 1 / y - z / 2)


def stirling(z: mpf) -> mpf:
    """What Stirling's formula for the logarithm of gamma lacks, times y, where z is 1 / y**2."""
    y = 1 / mpmath.sqrt(z)
    return y * (mpmath.loggamma(y) - (y - 0.5) * mpmath.log(y) + y - mpmath.log(2 * mp.pi) / 2)


def smooth_erfc(t: mpf) -> mpf:
    """What erfc(a) is without exp(-a * a) and a quotient, less 1; t is (a - 2) / (a + 2)."""
    a = 2 * (1 + t) / (1 - t)
    return mpmath.erfc(a) * mpmath.exp(a**2) * (1 + 2 * a) - 1


def erfinv_fits(precision: Precision, inner: int, outer: int) -> list[Fit]:
    """The inverse of erf over its argument, by the logarithm and, further out, by its root."""
    bound, middle, outer_middle = erfinv_places(precision)
    last = precision.bits * mpmath.log(2)

    def ratio(w: mpf) -> mpf:
        x = mpmath.sqrt(-mpmath.expm1(-w))
        return mpmath.erfinv(x) / x

    return [
        Fit("erfinv", lambda t: ratio(t + middle), (-middle, bound - middle), inner),
        Fit(
            "erfinv_outer",
            lambda t: ratio((t + outer_middle) ** -2),
            (1 / mpmath.sqrt(last) - outer_middle, 1 / mpmath.sqrt(bound) - outer_middle),
            outer,
        ),
    ]


def erfinv_places(precision: Precision) -> tuple[mpf, mpf, mpf]:
    """Where the second polynomial of erfinv begins, and the middles of both, in few digits."""
    bound, last = mpf(5 if precision is SINGLE else 9), precision.bits * mpmath.log(2)
    return bound, bound / 2, rounded((1 / mpmath.sqrt(bound) + 1 / mpmath.sqrt(last)) / 2, 8)


def erfc_high(precision: Precision) -> mpf:
    """Where erfc has become 0."""
    return mpf("10.5") if precision is SINGLE else mpf(28)


def erf_high(precision: Precision) -> mpf:
    """Where erf has become 1."""
    return mpf(4) if precision is SINGLE else mpf(6)


def constants(precision: Precision) -> dict[str, mpf]:
    """The numbers that the functions name; HIGH and LOW are a number in two parts."""
    is_single = precision is SINGLE
    free = 9 if is_single else 12  # bits of an exponent: a product of it with HIGH is exact
    bound, middle, outer_middle = erfinv_places(precision)
    named = {
        "SMALLEST_NORMAL": mpf(2) ** (precision.least + precision.bits - 1),
        "ROUNDER": 3 * mpf(2) ** (precision.bits - 2),
        "TWO_TO_MINUS_64": mpf(2) ** -64,
        "VERY_LARGE": mpf(2) ** (120 if is_single else 1000),
        "LARGE": mpf(2) ** (precision.bits + 3),
        "ROOT_HALF": mpmath.sqrt(mpf(1) / 2),
        "LN2": mpmath.log(2),
        "LOG2_E": 1 / mpmath.log(2),
        "LOG10_E": 1 / mpmath.log(10),
        "EXP_LOW": mpf(-104 if is_single else -746),
        "EXP_HIGH": mpf(91 if is_single else 712),
        "EXP2_LOW": mpf(-151 if is_single else -1076),
        "EXP2_HIGH": mpf(128 if is_single else 1024),
        "EXPM1_LOW": mpf(-20 if is_single else -40),
        "EXPM1_HIGH": mpf(89 if is_single else 710),
        "TANH_HIGH": mpf(10 if is_single else 20),
        "ERF_HIGH": erf_high(precision),
        "ERFC_HIGH": erfc_high(precision),
        "ERFINV_OUTER": bound,
        "ERFINV_CENTRE": middle,
        "ERFINV_OUTER_CENTRE": outer_middle,
        "TAN_EIGHTH": mpmath.sqrt(mpf(2)) - 1,
        "TAN_3_EIGHTHS": mpmath.sqrt(mpf(2)) + 1,
        "HALF_PI": rounded(mp.pi / 2, precision.bits),
    }
    named["HALF_PI_LOW"] = mp.pi / 2 - named["HALF_PI"]
    for name, value in {"LN2": mpmath.log(2), "LOG10_2": mpmath.log(2) / mpmath.log(10)}.items():
        named[f"{name}_HIGH"] = rounded(value, precision.bits - free)
        named[f"{name}_LOW"] = value - named[f"{name}_HIGH"]
    if not is_single:
        root = mpmath.findroot(mpmath.digamma, mpf("1.46"))
        named["DIGAMMA_ROOT"] = rounded(root, precision.bits)
        named["DIGAMMA_ROOT_LOW"] = root - named["DIGAMMA_ROOT"]
        named["TWO_THIRDS"] = rounded(mpf(2) / 3, precision.bits)
        named["TWO_THIRDS_LOW"] = mpf(2) / 3 - named["TWO_THIRDS"]
        named["STIRLING"] = (mpmath.log(2 * mp.pi) - 1) / 2
    return named


# ---- two over pi, for angles of any size ----


def without_whole_turns(
    quotient: mpf, names: tuple[str, str], first: int, turn: int
) -> Iterator[str]:
    """A quotient for floats of each size, less the bits that add whole turns, in two doubles."""
    for place in range(4):  # 26 exponents each: products with 24 bits then stay below 2**51
        bound = first + 26 * (place - 1)
        rest = quotient % mpf(2) ** (turn - (bound - 23)) if place else quotient
        high = rounded(rest, 53)
        if place:
            yield f"#define V_{names[0]}_{place} 0x1p+{bound}"
        yield f"#define V_{names[1]}_{place} {literal(high, DOUBLE)}"
        yield f"#define V_{names[1]}_LOW_{place} {literal(rest - high, DOUBLE)}"


def quarters() -> str:
    """Two over pi and one over pi, in parts that are doubles."""
    with mp.workprec(1400):
        quotient = 2 / mp.pi
        lines = list(without_whole_turns(quotient, ("ANGLE", "QUARTERS"), 50, 2))
        lines += without_whole_turns(quotient / 2, ("LARGE_ANGLE", "HALVES"), 51, 1)
        lines.append("static const double v_quarters[] = {")
        for row in range(65):
            rest, parts = quotient * mpf(2) ** (16 * row) % mpf(2) ** 55, []
            for step in (2, -51, -104):
                parts.append(mpmath.floor(rest * mpf(2) ** -step) * mpf(2) ** step)
                rest -= parts[-1]
            parts.append(rest)
            lines.append("    " + " ".join(f"{literal(part, DOUBLE)}," for part in parts))
    return "\n".join([*lines, "};"])


# ---- the header ----


def literal(value: mpf, precision: Precision) -> str:
    """A number as C reads it back without a change."""
    exact = float(rounded(value, precision.bits, precision.least))
    digits, exponent = exact.hex().split("p")  # 0x1.8000000000000p-3
    return f"{digits.rstrip('0').rstrip('.')}p{exponent}{precision.mark}"


def function_of(name: str, coefficients: Sequence[mpf], precision: Precision) -> str:
    """A C function of a polynomial, from the highest term on."""
    kind = "float" if precision is SINGLE else "double"
    first, *others = reversed([literal(c, precision) for c in coefficients])
    lines = [f"    y = v_fma_{precision.suffix}(y, x, {c});" for c in others]
    heading = f"static inline {kind} v_poly_{name}_{precision.suffix}({kind} x) {{"
    return "\n".join([heading, f"    {kind} y = {first};", *lines, "    return y;", "}"])


def header(show: Callable[[str], None]) -> str:
    """The text of the header."""
    blocks = ["/* Written by `python -m tools.polynomials`: change that. */"]
    for precision in (SINGLE, DOUBLE):
        blocks.append(
            "\n".join(
                f"#define V_{name}_{precision.suffix} {literal(value, precision)}"
                for name, value in constants(precision).items()
            )
        )
        for fit in fits(precision):
            coefficients, error = fitted(fit, precision)
            show(f"{fit.name} {precision.suffix}: 2**{mpmath.nstr(mpmath.log(error, 2), 4)}")
            blocks.append(function_of(fit.name, coefficients, precision))
    return "\n\n".join([*blocks, quarters()]) + "\n"


def main() -> None:
    """Write the header."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--errors", action="store_true", help="show the error of each polynomial")
    options = parser.parse_args()
    mp.dps = DIGITS
    HEADER.write_text(header(print if options.errors else lambda line: None), encoding="utf-8")


if __name__ == "__main__":
    main()
