"""Sobol's points are PyTorch's."""

import pytest

import adjoint.compat.torch as compat

pytest.importorskip("scipy")
SobolEngine = compat.quasirandom.SobolEngine


@pytest.mark.parametrize("dimension", [1, 3, 300])
def test_points(dimension, torch):
    own, wanted = SobolEngine(dimension), torch.quasirandom.SobolEngine(dimension)
    for engine in (own, wanted):
        engine.draw(3)
        engine.fast_forward(2)
    assert own.num_generated == wanted.num_generated == 5
    assert own.draw(6).tolist() == wanted.draw(6).tolist()
    assert own.reset().draw_base2(2).tolist() == wanted.reset().draw_base2(2).tolist()
    assert repr(own) == repr(wanted)


def test_scrambled_points_depend_on_the_seed():
    first, again, other = (
        SobolEngine(2, scramble=True, seed=n).draw(8).tolist() for n in (1, 1, 2)
    )
    assert first == again != other
    assert repr(SobolEngine(2, scramble=True, seed=1)).endswith("scramble=True, seed=1)")


def test_types_and_places():
    drawn = compat.empty(0, dtype=compat.float64)
    assert SobolEngine(2).draw(4, out=drawn) is drawn and drawn.shape == (4, 2)
    assert SobolEngine(2).draw(1).dtype is compat.float32
    assert SobolEngine(2).draw(1, dtype=compat.float64).dtype is compat.float64


def test_what_is_refused():
    with pytest.raises(ValueError, match="dimension"):
        SobolEngine(0)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)
