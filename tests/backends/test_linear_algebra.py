"""Linear algebra of single precision: as exact as PyTorch's, and NumPy's own where it fails."""

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.backends import linear_algebra, row_kernels, threads
from adjoint.backends.linear_algebra import LinearAlgebra
from adjoint.backends.namespace import Namespace
from adjoint.backends.numpy import numpy_backend

OURS = LinearAlgebra()


def matrices(*shape: int, kind: str = "f", seed: int = 0) -> np.ndarray:
    """Random numbers, complex where the type is."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape)
    return (found + 1j * rng.standard_normal(shape) if kind in "FD" else found).astype(kind)


def definite(array: np.ndarray) -> np.ndarray:
    return array @ array.conj().swapaxes(-2, -1) + array.shape[-1] * np.eye(array.shape[-1])


CALLS = {
    "cholesky": lambda library, a: library.cholesky(definite(a).astype(a.dtype)),
    "inv": lambda library, a: library.inv(a),
    "solve": lambda library, a: library.solve(a, a[..., ::-1, :2]),
    "eigh": lambda library, a: library.eigh(definite(a).astype(a.dtype))[0],
    "eigh upper": lambda library, a: library.eigh(a, "U")[0],
    "eigvalsh": lambda library, a: library.eigvalsh(a),
    "svd": lambda library, a: library.svd(a)[1],
    "svd reduced": lambda library, a: library.svd(a[..., :3], full_matrices=False)[1],
    "svd values": lambda library, a: library.svd(a, compute_uv=False),
    "qr": lambda library, a: library.qr(a, mode="raw")[1],
}


@pytest.mark.parametrize("kind", "fFdD")
@pytest.mark.parametrize("name", CALLS)
def test_every_function_is_numpys_in_its_own_precision(name: str, kind: str) -> None:
    for array in (matrices(5, 5, kind=kind), matrices(2, 3, 6, 6, kind=kind)[:, ::2]):
        ours, numpys = CALLS[name](OURS, array), CALLS[name](np.linalg, array)
        assert ours.dtype == numpys.dtype
        np.testing.assert_allclose(ours, numpys, rtol=1e-3 if kind in "fF" else 1e-12, atol=1e-5)


@pytest.mark.parametrize("kind", "fd")
def test_eigenvectors_are_of_their_eigenvalues(kind: str) -> None:
    array = matrices(3, 7, 7, kind=kind)
    values, vectors = OURS.eig(array)
    np.testing.assert_allclose(array @ vectors, vectors * values[:, None], atol=1e-5)


@pytest.mark.parametrize("name", CALLS)
def test_empty_matrices_are_numpys(name: str) -> None:
    for shape in ((0, 0), (0, 4, 4), (2, 0, 0)):
        array = np.zeros(shape, np.float32)
        ours, numpys = CALLS[name](OURS, array), CALLS[name](np.linalg, array)
        assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype)


def test_what_can_not_be_done_is_refused_as_numpy_refuses_it() -> None:
    singular = np.stack([np.eye(3), np.ones((3, 3))]).astype(np.float32)
    for refused in (
        lambda: OURS.inv(singular),
        lambda: OURS.solve(singular, singular),
        lambda: OURS.cholesky(-singular),
        lambda: OURS.eig(singular * np.nan),
    ):
        with pytest.raises(np.linalg.LinAlgError):
            refused()
    assert np.isnan(OURS.inv(np.full((2, 2), np.nan, np.float32))).all()
    side = np.full((2, 2), np.inf, np.float32)
    np.testing.assert_array_equal(
        OURS.solve(np.eye(2, dtype=np.float32), side),
        np.linalg.solve(np.eye(2, dtype=np.float32), side),
    )


@pytest.mark.parametrize("name", ["inv", "eigvalsh", "svdvals", "cholesky"])
def test_errors_are_no_larger_than_pytorchs(name: str, torch: Any) -> None:
    array = definite(matrices(8, 40, 40, seed=3)).astype(np.float32)
    exact = getattr(torch.linalg, name)(torch.from_numpy(array).double()).numpy()
    ours = getattr(adjoint.linalg, name)(adjoint.from_numpy(array)).numpy()
    theirs = getattr(torch.linalg, name)(torch.from_numpy(array)).numpy()
    assert abs(ours - exact).max() <= 3 * abs(theirs - exact).max()


def test_single_precision_is_not_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a loop was not found, and NumPy's function has been asked."""
    monkeypatch.setattr(linear_algebra, "_plain", None)
    for name in ("inv", "solve", "eigh", "svd reduced"):
        assert CALLS[name](OURS, matrices(4, 4)).dtype == np.float32


# ---- what solvers keep ----


@pytest.mark.parametrize("kind", "fFdD")
@pytest.mark.parametrize("left", [True, False])
def test_equations_are_factored_once_for_their_gradients(
    kind: str, left: bool, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LAPACK's factors are kept for single columns: of broadcast matrices, and of turned ones."""
    pytest.importorskip("scipy")
    made, shape = [], (33, 1) if left else (1, 33)
    factored = row_kernels.RowKernels.factored
    monkeypatch.setattr(
        row_kernels.RowKernels,
        "factored",
        lambda self, *given: made.append(factored(self, *given)) or made[-1],
    )
    rtol = 2e-3 if kind in "fF" else 1e-9
    for matrix, side in (
        (matrices(33, 33, kind=kind), matrices(*shape, kind=kind)),
        (matrices(33, 33, kind=kind).T, matrices(*shape, kind=kind)),
        (matrices(3, 1, 33, 33, kind=kind), matrices(2, *shape, kind=kind)),
        (matrices(33, 33, kind=kind), matrices(2, *shape, kind=kind)),
    ):
        for name in ("solve", "solve_ex"):
            found = []
            for library in (torch, adjoint):
                A, B = (library.from_numpy(each.copy()).requires_grad_() for each in (matrix, side))
                X = getattr(library.linalg, name)(A, B, left=left)
                X = X if name == "solve" else X[0]
                weight = library.from_numpy(matrices(*X.shape, kind=kind, seed=1))
                found.append([X, *library.autograd.grad(X, (A, B), weight)])
            for theirs, ours in zip(*found, strict=True):
                np.testing.assert_allclose(
                    ours.detach().numpy(), theirs.detach().resolve_conj().numpy(), rtol, rtol
                )
    assert len(made) == 8 and all(each is not None for each in made)


@pytest.mark.parametrize("kind", "fFdD")
@pytest.mark.parametrize("adjoint_of", [False, True])
def test_factors_solve_as_the_plain_form_does(kind: str, adjoint_of: bool) -> None:
    pytest.importorskip("scipy")
    xp = numpy_backend.xp
    for batch, sides in (((), ()), ((3, 1), (2,)), ((), (2,)), ((2,), ())):
        matrix = matrices(*batch, 33, 33, kind=kind) + 9 * np.eye(33, dtype=kind)
        side, factors = matrices(*sides, 33, 1, kind=kind), xp.factored(matrix, 1)
        assert factors is not None and xp.factored(matrix, 2) is None
        found = xp.solved_by(factors, side, adjoint_of)
        plain = Namespace.solved_by(xp, factors, side, adjoint_of)
        assert found.dtype == plain.dtype and found.flags.c_contiguous
        limit = 1e-4 if kind in "fF" else 1e-12
        np.testing.assert_allclose(found, plain, limit, limit)
        turned = matrix.conj().swapaxes(-2, -1) if adjoint_of else matrix
        np.testing.assert_allclose(turned @ found, side + 0 * found, limit, 100 * limit)


def test_singular_matrices_are_not_kept() -> None:
    singular = np.ones((40, 40), np.float32)
    A, B = adjoint.from_numpy(singular), adjoint.ones(40, 1)
    with pytest.raises(adjoint.linalg.LinAlgError, match="singular"):
        adjoint.linalg.solve(A, B)
    solution, info = adjoint.linalg.solve_ex(A, B)
    assert info.item() == 2 and solution.isnan().all()


def test_second_derivatives_of_equations_go_through_the_matrix() -> None:
    """What is kept has no history: a recorded gradient is computed from the matrix again."""
    rng = np.random.default_rng(0)
    A = adjoint.tensor(rng.normal(size=(33, 33)) + 9 * np.eye(33), requires_grad=True)
    B = adjoint.tensor(rng.normal(size=(33, 1)), requires_grad=True)
    plain = adjoint.autograd.grad(adjoint.linalg.solve(A, B).sum(), (A, B))
    recorded = adjoint.autograd.grad(adjoint.linalg.solve(A, B).sum(), (A, B), create_graph=True)
    for one, other in zip(plain, recorded, strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-9)
    assert adjoint.autograd.gradgradcheck(lambda B: adjoint.linalg.solve(A.detach(), B).sin(), B)


@pytest.mark.parametrize("name", ["cholesky", "inv", "solve"])
def test_threads_share_small_matrices_bit_for_bit(name: str) -> None:
    array, before = matrices(24, 48, 48), threads.helpers.allowed
    one = CALLS[name](OURS, array)
    threads.allow(3)
    shared = CALLS[name](OURS, array)
    threads.allow(before)
    np.testing.assert_array_equal(one, shared)


@pytest.mark.parametrize("kind", "fd")
def test_symmetric_matrices_have_lapacks_pivots(kind: str, torch: Any) -> None:
    """By a loop, of any strides; zeros on the diagonal, equal elements, rows of zeros, NaN."""
    limit = 2e-3 if kind == "f" else 1e-8
    for size in (1, 2, 3, 8, 17, 33, 64):
        array = matrices(4, size, size, kind=kind, seed=size)
        array = array + array.swapaxes(1, 2)
        array[1][np.diag_indices(size)] = 0
        array[2] = np.round(array[2])
        array[3][size // 2], array[3][:, size // 2] = 0, 0
        theirs = [each.numpy() for each in torch.linalg.ldl_factor_ex(torch.from_numpy(array))]
        for given in (array, np.asfortranarray(array), np.repeat(array, 2, axis=2)[:, :, ::2]):
            ours = adjoint.linalg.ldl_factor_ex(adjoint.from_numpy(given))
            for found, expected in zip(ours[1:], theirs[1:], strict=True):
                np.testing.assert_array_equal(found.numpy(), expected)
                assert found.numpy().dtype == np.int32
            np.testing.assert_allclose(ours[0].numpy(), np.tril(theirs[0]), limit, limit)
    _, pivots, info = adjoint.linalg.ldl_factor_ex(
        adjoint.from_numpy(np.full((3, 3), np.nan, kind))
    )
    assert (pivots.tolist(), info.item()) == ([1, 2, 3], 1)


@pytest.mark.parametrize("shape", [(315, 315), (230, 300), (330, 140), (3, 210, 210)])
def test_factors_by_panels(shape: Any) -> None:
    """A matrix of middle size has the pivots that LAPACK chooses for the whole."""
    pytest.importorskip("scipy")
    given = matrices(*shape, seed=5)
    packed, pivots = numpy_backend.xp.lu(given)
    whole, wanted = numpy_backend.xp.lu(given.astype(float))
    np.testing.assert_array_equal(pivots, wanted)
    assert packed.dtype == np.float32
    assert pivots.dtype == np.int32
    np.testing.assert_allclose(packed, whole, rtol=1e-3, atol=5e-3)


def test_factors_by_panels_of_a_singular_matrix() -> None:
    pytest.importorskip("scipy")
    matrix = matrices(315, 315, seed=5)
    matrix[:, 200] = 0
    packed, _, info = adjoint.linalg.lu_factor_ex(adjoint.tensor(matrix))
    assert packed.isfinite().all()
    assert info == 201
