"""Writes the polynomials and constants of the vector mathematics, computed with many digits.

`python -m tools.polynomials` writes adjoint/backends/loops/vector_polynomials.h; `--errors` shows
how far each polynomial is from its function. It needs mpmath, and takes a minute.
"""

import argparse
from collections.abc import Callable, Sequence
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
    root = mpmath.sqrt(mpf(2))
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
    ]


def erf_high(precision: Precision) -> mpf:
    """Where erf has become 1."""
    return mpf(4) if precision is SINGLE else mpf(6)


def constants(precision: Precision) -> dict[str, mpf]:
    """The numbers that the functions name; HIGH and LOW are a number in two parts."""
    is_single = precision is SINGLE
    free = 9 if is_single else 12  # bits of an exponent: a product of it with HIGH is exact
    named = {
        "SMALLEST_NORMAL": mpf(2) ** (precision.least + precision.bits - 1),
        "ROOT_HALF": mpmath.sqrt(mpf(1) / 2),
        "LOG2_E": 1 / mpmath.log(2),
        "LOG10_E": 1 / mpmath.log(10),
        "EXP_LOW": mpf(-104 if is_single else -746),
        "EXP_HIGH": mpf(89 if is_single else 710),
        "EXP2_LOW": mpf(-151 if is_single else -1076),
        "EXP2_HIGH": mpf(128 if is_single else 1024),
        "EXPM1_LOW": mpf(-20 if is_single else -40),
        "TANH_HIGH": mpf(10 if is_single else 20),
        "ERF_HIGH": erf_high(precision),
    }
    for name, value in {"LN2": mpmath.log(2), "LOG10_2": mpmath.log(2) / mpmath.log(10)}.items():
        named[f"{name}_HIGH"] = rounded(value, precision.bits - free)
        named[f"{name}_LOW"] = value - named[f"{name}_HIGH"]
    return named


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
    return "\n\n".join(blocks) + "\n"


def main() -> None:
    """Write the header."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--errors", action="store_true", help="show the error of each polynomial")
    options = parser.parse_args()
    mp.dps = DIGITS
    HEADER.write_text(header(print if options.errors else lambda line: None), encoding="utf-8")


if __name__ == "__main__":
    main()
