"""Sizes whose work would never end are refused before it begins."""

import pytest

import adjoint
from adjoint.nn.functional import interpolate


@pytest.mark.parametrize(
    ("size", "r", "with_replacement"),
    [(1000000, 100000, False), (1000, 4, False), (2, 10**12, True), (1, 2**40, True)],
)
def test_combinations(size, r, with_replacement):
    with pytest.raises(RuntimeError, match="too many to list"):
        adjoint.combinations(adjoint.ones(size), r, with_replacement)


@pytest.mark.parametrize(
    ("size", "r", "with_replacement"), [(3, 5, False), (0, 2, True), (3, 10**12, False)]
)
def test_no_combinations(size, r, with_replacement):
    assert adjoint.combinations(adjoint.ones(size), r, with_replacement).shape == (0, r)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "area"])
@pytest.mark.parametrize("options", [{"size": 10**15}, {"scale_factor": 1e18}], ids=str)
def test_interpolation(mode, options):
    with pytest.raises(RuntimeError, match="too large"):
        interpolate(adjoint.ones(1, 1, 4), mode=mode, **options)
