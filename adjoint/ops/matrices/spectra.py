"""Eigenvalues and eigenvectors, all batched."""

from typing import Any

from adjoint.call.arguments import conj, holds_complex
from adjoint.call.context import is_recording
from adjoint.call.rule import MATRICES
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import flip, narrow, squeeze, unsqueeze
from adjoint.ops.arranging.strided import diag_embed
from adjoint.ops.elementwise.complex_numbers import real
from adjoint.ops.elementwise.powers import sqrt
from adjoint.ops.matrices.decompositions import (
    differences,
    main_diagonal,
    quotient,
    real_part,
    refuse_free_phases,
)
from adjoint.ops.matrices.linalg import (
    NOT_CONVERGED,
    attempt,
    check_matrices,
    identity_like,
    solve_matrix,
)
from adjoint.ops.matrices.matmul import mH, mT
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.reduction import sum
from adjoint.tensors.core import TensorCore


def _eigh_tangent(A_tangent: Value, values: Any, vectors: Any) -> tuple[Any, Any]:
    """With C = V^H dA V: its diagonal, and V (C over the differences of eigenvalues)."""
    inner = mH(vectors) @ ((A_tangent + mH(A_tangent)) / 2) @ vectors
    moved = main_diagonal(inner)
    return real(moved), vectors @ quotient(inner, differences(values))


def _eigh_rule(grad_values: Any, grad_vectors: Any, values: Any, vectors: Any) -> Any:
    product = mH(vectors) @ grad_vectors
    if holds_complex(vectors):
        refuse_free_phases(main_diagonal(product))
    inner = quotient(product, differences(values))
    inner = (inner + mH(inner)) / 2 + diag_embed(grad_values)
    return vectors @ inner @ mH(vectors)


@general(
    A=lambda grad0, grad1, result0, result1: _eigh_rule(grad0, grad1, result0, result1),
    returns="eigenvalues eigenvectors",
    home="linalg",
    numpy=True,
    autocast="float32",
    batching=MATRICES,
    jvp=lambda A_tangent, result0, result1: _eigh_tangent(A_tangent, result0, result1),
    exact_out=True,
)
def linalg_eigh(xp: Any, A: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices."""
    check_matrices(A)
    _check_triangle(UPLO)
    reason = "the algorithm did not converge"
    values, vectors = attempt("linalg_eigh", reason, xp.linalg.eigh, A, UPLO.upper())
    return values, vectors


def _eigenpairs_rule(
    grad0: Value,
    grad1: Value,
    A: Value,
    result0: Value,
    result1: Value,
    hidden: Any,
    count: int,
    largest: bool,
) -> Value:
    """As of eigh, of which all other columns would be zero."""
    if hidden is None or isinstance(grad0, TensorCore):
        values, vectors = linalg_eigh(A)
        chosen = _extreme(values, count, largest)  # as they are there, to the last bit
        moved = _within(grad1, chosen, values, vectors)
    elif hidden:
        moved = _within(grad1, result0, *hidden)
    else:
        moved = _beyond(grad1, A, result0, result1)
    whole = (moved + result1 * unsqueeze(grad0, -2)) @ mH(result1)
    return (whole + mH(whole)) / 2


def _within(grad: Any, chosen: Any, values: Any, vectors: Any) -> Any:
    """The gradient of some vectors, its parts along all of `vectors` over what lies between."""
    gaps = unsqueeze(chosen, -2) - unsqueeze(values, -1)
    return vectors @ quotient(mH(vectors) @ grad, gaps)


def _beyond(grad: Any, A: Any, chosen: Any, vectors: Any) -> Any:
    """The same where only some vectors are known: from equations, for what is not along those."""
    along = mH(vectors) @ grad
    rest = mT(grad - vectors @ along)
    # Moved far away, the known eigenvalues don't make the equations singular.
    far = 2 * sqrt(sum(real(A * conj(A)), (-2, -1), True))
    moved = unsqueeze(A + far * (vectors @ mH(vectors)), -3)
    shift = unsqueeze(unsqueeze(chosen, -1), -1) * identity_like(moved)
    found = squeeze(solve_matrix(shift - moved, unsqueeze(rest, -1)), -1)
    return mT(found) + _within(grad, chosen, chosen, vectors)


def _eigenpairs_tangent(
    A: Value, A_tangent: Value, result1: Value, count: int, largest: bool
) -> tuple[Any, Any]:
    """As of eigh, for the vectors that were found: those of another way may have other signs."""
    values, vectors = linalg_eigh(A)
    chosen = _extreme(values, count, largest)
    moved = (A_tangent + mH(A_tangent)) / 2 @ result1
    return (
        real(main_diagonal(mH(result1) @ moved)),
        _within(moved, chosen, values, vectors),
    )


def _extreme(values: Any, count: int, largest: bool) -> Any:
    """The first of ascending eigenvalues, or the last in descending order."""
    if largest:
        return flip(narrow(values, -1, values.shape[-1] - count, count), -1)
    return narrow(values, -1, 0, count)


@general(
    A=_eigenpairs_rule,
    hides=True,
    returns="eigenvalues eigenvectors",
    home=None,
    autocast="float32",
    batching=MATRICES,
    jvp=_eigenpairs_tangent,
)
def eigenpairs(xp: Any, A: Array, count: int, largest: bool) -> Any:
    """Some eigenvalues of Hermitian matrices, the least or the greatest, with their vectors."""
    check_matrices(A)
    found = xp.few_eigenpairs(A, count, largest)
    if found is not None:
        return found, ()
    reason = "the algorithm did not converge"
    values, vectors = attempt("eigenpairs", reason, xp.linalg.eigh, A)
    part = slice(-1, -count - 1, -1) if largest else slice(count)
    chosen = [xp.copied(each[..., part], ordered=True) for each in (values, vectors)]
    return tuple(chosen), (values, vectors)


def _check_triangle(UPLO: str) -> None:
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"UPLO must be 'L' or 'U', got {UPLO!r}")


@general(home=None, autocast="float32", batching=MATRICES)
def hermitian_eigenvalues(xp: Any, A: Array, UPLO: str = "L") -> Array:
    """Eigenvalues of Hermitian matrices, without the vectors."""
    check_matrices(A)
    _check_triangle(UPLO)
    reason = "the algorithm did not converge"
    return attempt("linalg_eigvalsh", reason, xp.linalg.eigvalsh, A, UPLO.upper())


def _may_need_vectors(A: Any) -> bool:
    """Whether a derivative may ask for vectors, which then are computed with the values."""
    return A.special or (A.requires_grad and is_recording())


@composite(home="linalg", numpy=True, exact_out=True)
def linalg_eigvalsh(A: Value, UPLO: str = "L") -> Value:
    """Eigenvalues of Hermitian matrices in ascending order."""
    return linalg_eigh(A, UPLO)[0] if _may_need_vectors(A) else hermitian_eigenvalues(A, UPLO)


def _complex_dtype(A: Any) -> str:
    """The complex data type of the same precision."""
    return "complex64" if A.dtype.itemsize == (8 if A.dtype.kind == "c" else 4) else "complex128"


def _eig_rule(grad_values: Any, grad_vectors: Any, values: Any, vectors: Any) -> Any:
    """For eigenvectors of norm 1."""
    adjoint = mH(vectors)
    product = adjoint @ grad_vectors
    along = main_diagonal(product)
    refuse_free_phases(along)
    along = real_part(along)
    inner = product - (adjoint @ vectors) * unsqueeze(along, -2)
    inner = quotient(inner, conj(differences(values))) + diag_embed(grad_values)
    return solve_matrix(adjoint, inner @ adjoint)


def _eig_tangent(A_tangent: Any, values: Any, vectors: Any) -> tuple[Any, Any]:
    """With C = V^-1 dA V: its diagonal, and V (C over the differences of eigenvalues).

    From that the part along each vector is taken, so that the norms stay 1.
    """
    inner = _in_basis(A_tangent, vectors)
    moved = vectors @ quotient(inner, differences(values))
    along = real_part(main_diagonal(mH(vectors) @ moved))
    return main_diagonal(inner), moved - vectors * unsqueeze(along, -2)


def _in_basis(matrix: Any, vectors: Any) -> Any:
    """V^-1 @ matrix @ V."""
    return solve_matrix(vectors, matrix.to(vectors.dtype) @ vectors)


@general(
    A=lambda grad0, grad1, result0, result1: _eig_rule(grad0, grad1, result0, result1),
    jvp=lambda A_tangent, result0, result1: _eig_tangent(A_tangent, result0, result1),
    returns="eigenvalues eigenvectors",
    home="linalg",
    autocast="float32",
    batching=MATRICES,
)
def linalg_eig(xp: Any, A: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of square matrices, complex even for real ones."""
    check_matrices(A)
    values, vectors = attempt("linalg_eig", NOT_CONVERGED, xp.linalg.eig, A)
    return values.astype(_complex_dtype(A)), vectors.astype(_complex_dtype(A))


@general(home=None, autocast="float32", batching=MATRICES)
def eigenvalues(xp: Any, A: Array) -> Array:
    """Eigenvalues of square matrices, without the vectors."""
    check_matrices(A)
    return attempt("linalg_eigvals", NOT_CONVERGED, xp.eigenvalues, A).astype(_complex_dtype(A))


@composite(home="linalg")
def linalg_eigvals(A: Value) -> Value:
    """Eigenvalues of square matrices, complex even for real ones."""
    return linalg_eig(A)[0] if _may_need_vectors(A) else eigenvalues(A)
