"""out= of functions that are made of others."""

import warnings

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


FACTORED = {
    "cholesky": lambda A, out: adjoint.linalg.cholesky(A, out=out),
    "det": lambda A, out: adjoint.linalg.det(A, out=out),
    "inv": lambda A, out: adjoint.linalg.inv(A, out=out),
    "norm": lambda A, out: adjoint.norm(A, out=out),
    "solve": lambda A, out: adjoint.linalg.solve(A, A, out=out),
    "vector_norm": lambda A, out: adjoint.linalg.vector_norm(A, out=out),
    "float_power": lambda A, out: adjoint.float_power(A.double(), 2, out=out.float()),
}


@pytest.mark.parametrize("name", FACTORED)
def test_functions_of_matrices_want_the_type_of_their_result(name):
    with pytest.raises(RuntimeError, match="expected out of dtype"):
        FACTORED[name](adjoint.eye(2), adjoint.empty(2, 2, dtype=adjoint.float64))


def test_a_refused_out_changes_no_other():
    least = adjoint.zeros(())
    with pytest.raises(RuntimeError, match="aminmax.*expected out"):
        adjoint.aminmax(adjoint.ones(3), out=(least, adjoint.zeros((), dtype=adjoint.float64)))
    assert least.item() == 0


@pytest.mark.parametrize("library", [adjoint, "torch"], ids=["adjoint", "torch"])
def test_who_says_that_out_is_resized(library):
    library = pytest.importorskip("torch") if library == "torch" else library
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (library.zeros, library.ones, library.rand, library.randn, library.empty):
            assert call(5, out=library.ones(2, 3)).shape == (5,)
        assert library.linspace(0, 1, 5, out=library.ones(2, 3)).shape == (5,)
        assert library.eye(2, out=library.ones(3)).shape == (2, 2)
    for call in (library.exp, library.cumsum):
        rest = (0,) if call is library.cumsum else ()
        with pytest.warns(UserWarning, match="resized"):
            call(library.ones(5), *rest, out=library.ones(2, 3))


GATHERED = {
    "sum": lambda t, x, out: t.sum(x, 0, out=out),
    "nansum": lambda t, x, out: t.nansum(x, 0, out=out),
    "mean": lambda t, x, out: t.mean(x, 0, out=out),
    "prod": lambda t, x, out: t.prod(x, 0, out=out),
}


@pytest.mark.parametrize("kind", ["float64", "float16", "int64", "bool"])
@pytest.mark.parametrize("name", GATHERED)
def test_reductions_compute_in_the_type_of_out(name, kind):
    torch = pytest.importorskip("torch")
    answers = []
    for library in (torch, adjoint):
        x = library.tensor([[0.1, 70000.0], [0.7, -69999.0], [0.9, 1.0]])
        out = library.zeros(2, dtype=getattr(library, kind))
        try:
            answers.append(str(GATHERED[name](library, x, out).tolist()))
        except RuntimeError as error:
            answers.append(type(error))
    assert answers[0] == answers[1]


def test_out_drops_no_imaginary_part():
    with pytest.raises(RuntimeError, match="can't be cast"):
        adjoint.sum(adjoint.ones(2, dtype=adjoint.complex64), 0, out=adjoint.zeros(()))
