"""Decompositions whose factors are not unique, in functions that do not depend on the choice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adjoint.linalg
from adjoint.autograd.entry_points import grad
from adjoint.ops import find_function
from adjoint.tensors.tensor import AS_IS, Tensor

torch = pytest.importorskip("torch")


@dataclass
class Library:
    """The few functions of a library that the programs below use."""

    linalg: Any
    exp: Any
    sum: Any
    tensor: Any


OURS = Library(adjoint.linalg, find_function("exp"), find_function("sum"), adjoint.from_numpy)
THEIRS = Library(torch.linalg, torch.exp, torch.sum, torch.tensor)


def weights(rows: int, columns: int) -> np.ndarray:
    """A fixed matrix without symmetry."""
    return np.arange(1.0, rows * columns + 1).reshape(rows, columns) / 7 % 1.3


def weighted(library: Library, matrix: Any) -> Any:
    """A real number that depends on all elements of a matrix."""
    known = library.tensor(weights(*matrix.shape[-2:]))
    return library.sum((matrix * matrix.conj()).real * known) + library.sum(matrix.real * known)


def svd_product(library: Library, A: Any) -> Any:
    """U f(S) Vh for another f than the identity."""
    U, S, Vh = library.linalg.svd(A, full_matrices=False)
    return weighted(library, (U * library.exp(S)[..., None, :]) @ Vh)


def svd_projector(library: Library, A: Any) -> Any:
    """The projector on the first left and right singular vectors, in the full form."""
    U, S, Vh = library.linalg.svd(A)
    left, right = U[..., :1], Vh[..., :1, :]
    return weighted(library, left @ left.mH) + weighted(library, right.mH @ right) * S[..., 0].sum()


def eigh_function(library: Library, A: Any) -> Any:
    """The exponential of a Hermitian matrix by its eigenvalues."""
    values, vectors = library.linalg.eigh(A @ A.mH)
    return weighted(library, (vectors * library.exp(-values)[..., None, :]) @ vectors.mH)


def eigh_projector(library: Library, A: Any) -> Any:
    """The projector on the eigenvector of the least eigenvalue."""
    vector = library.linalg.eigh(A + A.mH, "U").eigenvectors[..., :1]
    return weighted(library, vector @ vector.mH)


def eig_function(library: Library, A: Any) -> Any:
    """The exponential of a matrix by its eigenvalues."""
    values, vectors = library.linalg.eig(A)
    exponential = (vectors * library.exp(values)[..., None, :]) @ library.linalg.inv(vectors)
    return weighted(library, exponential)


def eig_lengths(library: Library, A: Any) -> Any:
    """A function of the eigenvectors that needs their norm to be 1."""
    values, vectors = library.linalg.eig(A)
    weight = (values * values.conj()).real[..., None, :]
    return library.sum((vectors * vectors.conj()).real ** 2 * weight)


def eigenvalue_sums(library: Library, A: Any) -> Any:
    """Symmetric functions of the eigenvalues."""
    values = library.linalg.eigvals(A)
    return library.sum((values**3).real) + library.sum((values * values.conj()).real)


PROGRAMS = [
    (svd_product, (3, 3)),
    (svd_product, (4, 2)),
    (svd_product, (2, 3)),
    (svd_projector, (3, 2)),
    (svd_projector, (2, 4)),
    (eigh_function, (3, 3)),
    (eigh_projector, (3, 3)),
    (eig_function, (3, 3)),
    (eig_lengths, (3, 3)),
    (eigenvalue_sums, (3, 3)),
]


@pytest.mark.parametrize("kind", ["real", "batch", "complex"])
@pytest.mark.parametrize(("program", "shape"), PROGRAMS)
def test_values_and_derivatives(
    program: Callable[[Library, Any], Any], shape: tuple[int, int], kind: str
) -> None:
    rng = np.random.default_rng(5)
    size = (2, *shape) if kind == "batch" else shape
    A = rng.normal(size=size) + (1j * rng.normal(size=size) if kind == "complex" else 0)
    direction = rng.normal(size=size).astype(A.dtype)
    a, t = Tensor(A.copy(), AS_IS).requires_grad_(), torch.tensor(A, requires_grad=True)
    ours, theirs = program(OURS, a), program(THEIRS, t)
    np.testing.assert_allclose(ours.array, theirs.detach().numpy(), rtol=1e-9)

    (first,) = grad([ours], [a], create_graph=True)
    (expected,) = torch.autograd.grad(theirs, t, create_graph=True)
    np.testing.assert_allclose(first.array, expected.detach().numpy(), rtol=1e-7, atol=1e-9)
    (raw,) = grad([ours], [a], retain_graph=True)
    np.testing.assert_allclose(raw.array, first.array, rtol=1e-9, atol=1e-11)

    (second,) = grad([first], [a], [Tensor(direction, AS_IS)])
    (expected,) = torch.autograd.grad(expected, t, torch.tensor(direction))
    np.testing.assert_allclose(second.array, expected.numpy(), rtol=1e-6, atol=1e-7)


def test_equal_singular_values() -> None:
    """Where values agree, what does not depend on the choice of vectors keeps its gradient."""
    A = Tensor(np.eye(3), AS_IS).requires_grad_()
    U, S, Vh = adjoint.linalg.svd(A)
    (values,) = grad([S.sum()], [A], retain_graph=True)
    np.testing.assert_allclose(values.array, np.eye(3))
    (product,) = grad([weighted(OURS, (U * S) @ Vh)], [A])
    (plain,) = grad([weighted(OURS, A)], [A])
    assert np.isfinite(product.array).all()
    np.testing.assert_allclose(np.diag(product.array), np.diag(plain.array))


def test_singular_matrices_have_a_determinant_gradient() -> None:
    """The gradient is the matrix of cofactors, which needs no inverse."""
    cases = [
        (np.diag([1.0, 2.0, 0.0]), np.diag([0.0, 0.0, 2.0])),
        (np.ones((3, 3)), np.zeros((3, 3))),
        (np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[4.0, -2.0], [-2.0, 1.0]])),
    ]
    for matrix, cofactors in cases:
        a = Tensor(matrix, AS_IS).requires_grad_()
        (found,) = grad([adjoint.linalg.det(a)], [a])
        np.testing.assert_allclose(found.array, cofactors, atol=1e-12)


@pytest.mark.parametrize("name", ["inv", "det", "solve", "svdvals", "qr", "matrix_exp", "eigvalsh"])
def test_nodes_have_pytorchs_names(name: str) -> None:
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    found = []
    for library, made in (
        (adjoint.linalg, Tensor(matrix, AS_IS)),
        (torch.linalg, torch.tensor(matrix)),
    ):
        given = [made.requires_grad_()] * (2 if name == "solve" else 1)
        answer = getattr(library, name)(*given)
        found.append((answer[0] if isinstance(answer, tuple) else answer).grad_fn.name())
    assert found[0] == found[1]


PHASES: dict[str, Callable[[Any, Any], Any]] = {
    "svd": lambda library, A: library.svd(A)[0].sum().abs(),
    "svd_right": lambda library, A: library.svd(A)[2].sum().abs(),
    "svd_both": lambda library, A: (library.svd(A)[0] @ library.svd(A)[2]).sum().abs(),
    "eigh": lambda library, A: library.eigh(A + A.mH)[1].sum().abs(),
    "eigh_sizes": lambda library, A: library.eigh(A + A.mH)[1].abs().sum(),
    "eig": lambda library, A: library.eig(A)[1].sum().abs(),
    "eig_sizes": lambda library, A: library.eig(A)[1].abs().sum(),
}


@pytest.mark.parametrize("name", PHASES)
def test_gradients_that_depend_on_a_free_phase_are_refused(name: str) -> None:
    """They would be those of whatever phase LAPACK happened to choose."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    found: list[Any] = []
    for library, made in (
        (adjoint.linalg, Tensor(matrix, AS_IS)),
        (torch.linalg, torch.tensor(matrix)),
    ):
        A = made.requires_grad_()
        try:
            PHASES[name](library, A).backward()
            found.append(np.asarray(A.grad))
        except RuntimeError as error:
            found.append(type(error))
    if isinstance(found[1], type):
        assert found[0] is found[1]
    else:
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-8)
