"""The vector mathematics of loops in C, compiled here and held against values with more digits."""

import re
from pathlib import Path

import numpy as np
import pytest

from tools import vector_errors
from tools.vector_errors import BINARY, UNARY, WHOLE, errors, exact, run, samples

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "notes" / "vector_math.md"
ROW = re.compile(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|", re.MULTILINE)
BOUNDS = {
    name: (float(single), float(double))
    for name, single, double in ROW.findall(PAGE.read_text("utf-8"))
}
TYPES = (np.float32, np.float64)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(vector_errors.compiler() is None, reason="no C compiler"),
    pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no number has more digits"),
]


@pytest.fixture(
    scope="module", params=vector_errors.instructions().items(), ids=lambda item: item[0]
)
def library(request, tmp_path_factory):
    name, flags = request.param
    return vector_errors.compiled(tmp_path_factory.mktemp(name), flags)


def test_the_page_has_a_bound_for_every_function():
    assert set(BOUNDS) == {*UNARY, *BINARY}
    for name, bounds in BOUNDS.items():
        is_common = name in ["exp", "log", "expm1", "log1p", "tanh", "sigmoid", "erf", "atan"]
        assert max(bounds) <= (2 if is_common else 4), name


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_errors_are_within_the_published_bound(library, name, dtype):
    if name in vector_errors.BY_MPMATH:
        pytest.importorskip("mpmath")
    arguments = samples(name, dtype, 40_000)
    wanted = exact(library, name, arguments)
    got = run(library, name, *arguments)
    apart = errors(got, wanted)
    worst = int(apart.argmax())
    where = [argument[worst] for argument in arguments], got[worst], wanted[worst]
    assert apart[worst] <= BOUNDS[name][TYPES.index(dtype)], where
    is_zero = wanted == 0
    assert (np.signbit(got[is_zero]) == np.signbit(wanted[is_zero])).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_numpys(library, name, dtype):
    (values,) = samples(name, dtype, 40_000)
    with np.errstate(invalid="ignore"):  # NaNs that signal are among them
        got, wanted = run(library, name, values), getattr(np, name)(values)
    np.testing.assert_array_equal(got, wanted)
    assert (np.signbit(got) == np.signbit(wanted))[~np.isnan(values)].all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_bits_do_not_depend_on_the_place_in_a_loop(library, name, dtype):
    arguments = [argument[:333] for argument in samples(name, dtype, 40_000)]
    whole = without_signs_of_nans(run(library, name, *arguments))
    for size in (1, 3, 16, 37):
        parts = [
            run(library, name, *[argument[start : start + size] for argument in arguments])
            for start in range(0, 333, size)
        ]
        assert without_signs_of_nans(np.concatenate(parts)).tobytes() == whole.tobytes()


def without_signs_of_nans(array):
    return np.where(np.isnan(array), np.nan, array).astype(array.dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_remainders_are_exact_where_they_are_near(library, dtype):
    x, y = samples("pow", dtype, 40_000)
    is_near = run(library, "quotient_is_far", x, y) == 0
    assert 0.2 < is_near.mean() < 0.9
    x, y = x[is_near], y[is_near]
    got, wanted = run(library, "fmod_near", x, y), np.fmod(x, y)
    np.testing.assert_array_equal(got, wanted)
    assert (np.signbit(got) == np.signbit(wanted)).all()


def test_polynomials_are_those_that_the_tool_writes():
    pytest.importorskip("mpmath")
    from tools import polynomials

    with polynomials.mp.workdps(polynomials.DIGITS):
        written = polynomials.header(lambda line: None)
    assert written == polynomials.HEADER.read_text("utf-8")
