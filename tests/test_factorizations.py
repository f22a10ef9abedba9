"""Low-rank factorizations give the matrix back, and what is refused is as in PyTorch."""

import functools
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.ops.matrices.spectra import eigenpairs

torch = pytest.importorskip("torch")
both = pytest.mark.parametrize("library", [adjoint, torch], ids=["adjoint", "torch"])
RNG = np.random.default_rng(0)
LOW = RNG.normal(size=(5, 2)) @ RNG.normal(size=(2, 4))


@both
@pytest.mark.parametrize(
    "matrix", [LOW, LOW.T, np.stack([LOW, 2 * LOW])], ids=["tall", "wide", "batch"]
)
def test_a_matrix_of_low_rank_comes_back(library: Any, matrix: Any) -> None:
    """Exactly, when q is its rank; and singular values are those of the full factorization."""
    U, S, V = library.svd_lowrank(library.tensor(matrix), 2)
    np.testing.assert_allclose((U * S.unsqueeze(-2) @ V.mT).numpy(), matrix, atol=1e-10)
    whole = np.linalg.svd(matrix, compute_uv=False)[..., :2]
    np.testing.assert_allclose(S.numpy(), whole, atol=1e-10)


@both
def test_shifted(library: Any) -> None:
    """M is taken off before, and the means with center."""
    A, M = library.tensor(LOW + 1.0), library.ones(5, 4).double()
    _, S, _ = library.svd_lowrank(A, 3, M=M)
    np.testing.assert_allclose(S.numpy()[2], 0, atol=1e-10)
    _, S, _ = library.pca_lowrank(A, 4)
    centred = LOW - LOW.mean(0)
    np.testing.assert_allclose(S.numpy(), np.linalg.svd(centred, compute_uv=False), atol=1e-10)


def test_gradient_of_singular_values() -> None:
    """It passes through the approximation."""
    ours, theirs = (library.tensor(LOW, requires_grad=True) for library in (adjoint, torch))
    adjoint.svd_lowrank(ours, 2)[1].sum().backward()
    torch.linalg.svdvals(theirs)[:2].sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), atol=1e-8)


@both
@pytest.mark.parametrize("options", [{"q": 9}, {"q": -1}, {"niter": -1}])
def test_refused_ranks(library: Any, options: dict[str, int]) -> None:
    """A rank is at most that of the matrix, and iterations are not negative."""
    with pytest.raises(ValueError):
        library.pca_lowrank(library.tensor(LOW), **options)


@both
@pytest.mark.filterwarnings("ignore")
def test_refused_matrices(library: Any) -> None:
    """Vectors are no matrices, and sizes have to fit."""
    A, vector = library.eye(3), library.ones(3)
    packed, pivots = library.lu(A)
    for call in (
        lambda: library.lu_solve(vector, packed, pivots),
        lambda: library.lu_unpack(packed, pivots.long()),
        lambda: library.lu(A, pivot=False),
        lambda: library.triangular_solve(vector, A),
        lambda: library.ormqr(A, vector, library.ones(2, 3)),
        lambda: library.ormqr(A, library.ones(2), A),
    ):
        with pytest.raises(RuntimeError):
            call()


@both
def test_reflections(library: Any) -> None:
    """ormqr multiplies by the Q of which geqrf answers the reflections."""
    matrix = library.tensor(LOW[:, :3] + np.eye(5)[:, :3])
    a, tau = library.geqrf(matrix)
    Q = library.orgqr(a, tau)
    np.testing.assert_allclose((Q @ a[:3].triu()).numpy(), matrix.numpy(), atol=1e-12)
    wide = library.tensor(LOW)
    turned = library.ormqr(a, tau, wide, transpose=True)
    np.testing.assert_allclose(turned[:3].numpy(), (Q.mT @ wide).numpy(), atol=1e-12)


@both
@pytest.mark.parametrize("kind", ["float32", "float64", "complex64"])
def test_reflections_of_a_batch(library: Any, kind: str) -> None:
    """Wherever in memory a matrix begins: after one of 25 floats that is no multiple of 8 bytes."""
    matrices = library.tensor(np.random.default_rng(2).normal(size=(3, 5, 5)).astype(kind))
    a, tau = library.geqrf(matrices)
    np.testing.assert_allclose((library.orgqr(a, tau) @ a.triu()).numpy(), matrices, atol=1e-5)


SYMMETRIC = np.array([m @ m.T / 4 for m in np.random.default_rng(3).random((2, 6, 6))])
DEFINITE = np.stack([np.eye(6) + np.full((6, 6), 0.5)] * 2)


@pytest.mark.parametrize("largest", [True, False, None])
@pytest.mark.parametrize("options", [{"k": 2}, {}, {"X": 2}, {"k": 1, "B": DEFINITE}])
def test_some_eigenvalues(options: dict[str, Any], largest: bool | None) -> None:
    """Those at one end of the spectrum, with vectors that solve the equation, and gradients."""
    found = []
    for library in (adjoint, torch):
        A = library.tensor(SYMMETRIC, requires_grad="B" not in options)
        given = dict(options)
        B = library.tensor(DEFINITE) if "B" in given else library.eye(6).double()
        if "B" in given:
            given["B"] = B
        if "X" in given:
            start = np.random.default_rng(4).random((2, 6, given["X"]))
            given["X"] = library.tensor(start)
        values, vectors = library.lobpcg(A, largest=largest, niter=500, tol=1e-12, **given)
        error = A @ vectors - B @ vectors * values.unsqueeze(-2)
        np.testing.assert_allclose(error.detach().numpy(), 0, atol=1e-6)
        np.testing.assert_allclose(
            (vectors.mT @ B @ vectors).detach().numpy(),
            np.broadcast_to(np.eye(values.shape[-1]), (2, *[values.shape[-1]] * 2)),
            atol=1e-6,
        )
        found.append([values.detach().numpy()])
        if "B" not in options:
            (values.sum() + vectors.abs().sum()).backward()
            found[-1].append(A.grad.numpy())
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@both
@pytest.mark.parametrize("count", [3, 7])
def test_too_many_eigenvalues(library: Any, count: int) -> None:
    """A third of the spectrum can be asked for."""
    with pytest.raises(ValueError):
        library.lobpcg(library.tensor(SYMMETRIC), count)


@pytest.mark.parametrize("size", [6, 70])
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("largest", [False, True])
def test_some_eigenpairs_have_the_derivatives_of_all(largest: bool, kind: Any, size: int) -> None:
    """Of the first order, of the second, and of a tangent, as eigh has them for its columns."""

    def by_all(A: Any) -> Any:
        values, vectors = adjoint.linalg.eigh(A)
        if largest:
            values, vectors = values.flip(-1), vectors.flip(-1)
        return values[..., :2], vectors[..., :2]

    def number(function: Any, A: Any) -> Any:
        values, vectors = function((A + A.mH) / 2)
        return (values**2).sum() + (vectors.abs() ** 3).sum()

    rng = np.random.default_rng(4)
    drawn = rng.normal(size=(2, size, size)) + 1j * rng.normal(size=(2, size, size))
    A = adjoint.tensor(drawn if kind is complex else drawn.real, requires_grad=True)
    found = []
    for function in (by_all, lambda A: eigenpairs(A, 2, largest)):
        (slope,) = adjoint.autograd.grad(number(function, A), A, create_graph=True)
        (bend,) = adjoint.autograd.grad((slope.abs() ** 2).sum(), A)
        plain = adjoint.autograd.grad(number(function, A), A)[0]
        by_matrix = functools.partial(number, function)
        turned = adjoint.func.jvp(by_matrix, (A.detach(),), (A.detach() + 1,))
        found.append([slope, plain, bend, *turned])
    for all_of_them, some in zip(*found, strict=True):
        np.testing.assert_allclose(some.detach(), all_of_them.detach(), atol=1e-9)


def test_equal_eigenvalues_have_gradients_without_infinities() -> None:
    """Also at the end of those that are asked for, where their vectors are a choice."""
    A = adjoint.eye(80, requires_grad=True)
    values, vectors = adjoint.lobpcg(A, 2)
    (values.sum() + vectors.sum()).backward()
    assert np.isfinite(A.grad.numpy()).all()


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("size", [3, 5, 8])
def test_every_matrix_of_a_batch_is_reflected(kind: str, size: int) -> None:
    """Also those that begin where LAPACK's Python function works on a copy."""
    batch = np.random.default_rng(size).normal(size=(3, size, size)).astype(kind)
    found, tau = adjoint.geqrf(adjoint.tensor(batch))
    for place, matrix in enumerate(batch):
        single = adjoint.geqrf(adjoint.tensor(matrix))
        np.testing.assert_allclose(found[place].numpy(), single[0].numpy(), atol=1e-5)
        np.testing.assert_allclose(tau[place].numpy(), single[1].numpy(), atol=1e-5)
