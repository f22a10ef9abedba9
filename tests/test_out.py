"""out= of functions that are made of others."""

import pytest

import adjoint


def test_composites_write_into_a_tensor():
    out = adjoint.empty(4)
    found = adjoint.hstack([adjoint.ones(2), adjoint.zeros(2)], out=out)
    assert found is out
    assert out.tolist() == [1.0, 1.0, 0.0, 0.0]
    spectrum = adjoint.empty(3, dtype=adjoint.complex64)
    adjoint.fft.fft(adjoint.ones(3), out=spectrum)
    assert spectrum.tolist() == [3, 0, 0]
    assert adjoint.hstack([adjoint.ones(1)], out=None).tolist() == [1.0]


def test_a_result_with_history_is_refused():
    x = adjoint.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="hstack.*don't support automatic differentiation"):
        adjoint.hstack([x, x], out=adjoint.empty(4))


def test_empty_lists_are_refused():
    with pytest.raises(ValueError, match="cat.*not empty"):
        adjoint.cat([])


def test_some_want_the_type_of_their_result():
    halves = adjoint.empty(2, dtype=adjoint.float16)
    for call in (adjoint.floor, adjoint.msort):  # an op, and a function made of ops
        with pytest.raises(RuntimeError, match=f"{call.__name__}.*expected out of dtype float32"):
            call(adjoint.tensor([2.5, 1.5]), out=halves)
    assert adjoint.exp(adjoint.zeros(2), out=halves) is halves
    assert halves.tolist() == [1.0, 1.0]
