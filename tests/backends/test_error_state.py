"""NumPy's warnings about infinities and NaNs are off inside, and as they were outside."""

import warnings

import numpy as np
import pytest

from adjoint.backends import error_state


@pytest.fixture(params=["variable", "context manager"])
def state(request, monkeypatch):
    """Both ways to set NumPy's error state."""
    if request.param == "context manager":
        monkeypatch.setattr(error_state, "STATE", error_state._ErrorState())
        monkeypatch.setattr(error_state, "IGNORE", dict.fromkeys(np.geterr(), "ignore"))
    return error_state


def test_the_variable_is_found():
    assert error_state.STATE.get is not None
    assert error_state.IGNORE is not None


def test_quiet_inside_and_as_before_outside(state):
    with np.errstate(all="raise"):
        before = np.geterr()
        with state.quiet():
            assert set(np.geterr().values()) == {"ignore"}
            assert np.isinf(np.float64(1) / np.zeros(1)).all()
        assert np.geterr() == before
        with pytest.raises(FloatingPointError):
            np.ones(1) / np.zeros(1)


def test_restored_after_an_error(state):
    def fails():
        raise ValueError("on purpose")

    before = np.geterr()
    with pytest.raises(ValueError, match="on purpose"), state.quiet():
        fails()
    with pytest.raises(ValueError, match="on purpose"):
        state.quietly(fails)()
    assert np.geterr() == before


def test_a_function_made_quiet(state):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isneginf(state.quietly(np.log)(np.zeros(2))).all()
        with pytest.raises(RuntimeWarning):
            np.log(np.zeros(2))
