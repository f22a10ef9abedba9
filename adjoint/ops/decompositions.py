"""Factorizations: Cholesky, QR, eigenvalues, singular values; all batched."""

from collections import namedtuple
from typing import Any

from adjoint.dispatch import holds_complex
from adjoint.ops.arrange import tril, triu
from adjoint.ops.elementwise import choose, conj
from adjoint.ops.linalg import (
    LinAlgError,
    attempt,
    check_matrices,
    linalg_solve_triangular,
    solve_matrix,
)
from adjoint.ops.matmul import mH
from adjoint.ops.op import composite, general
from adjoint.ops.shape import cat, narrow, unsqueeze
from adjoint.ops.strided import diag_embed, diagonal


def _main_diagonal(value: Any) -> Any:
    return diagonal(value, 0, -2, -1)


def _real_part(value: Any) -> Any:
    """The real part in the data type of value."""
    return (value + conj(value)) / 2 if holds_complex(value) else value


def _quotient(value: Any, divisor: Any) -> Any:
    """value / divisor, and 0 where the divisor is 0.

    There two eigenvalues or singular values agree: what does not depend on the choice of their
    vectors has no gradient in that place.
    """
    zero = divisor == 0
    return choose(zero, 0, value / choose(zero, 1, divisor))


def _differences(values: Any) -> Any:
    """The matrix of values[j] - values[i]."""
    return unsqueeze(values, -2) - unsqueeze(values, -1)


# ---- Cholesky ----


def _cholesky_rule(grad: Any, L: Any) -> Any:
    """From dL = L @ P(inverse(L) @ dA @ inverse(L)^H), P the lower half with half the diagonal."""
    adjoint = mH(L)
    product = adjoint @ grad
    strict = tril(product, -1)
    inner = (strict + mH(strict) + diag_embed(_main_diagonal(product))) / 2
    inner = linalg_solve_triangular(adjoint, inner, upper=True)
    return linalg_solve_triangular(L, inner, upper=False, left=False)


@general(
    A=lambda grad, result: _cholesky_rule(grad, result),
    method=False,
    node_name="LinalgCholeskyExBackward0",
)
def cholesky_lower(xp: Any, A: Any) -> Any:
    """The lower triangular L with L @ L^H = A."""
    check_matrices(A)
    reason = "the matrix is not positive definite"
    return attempt("cholesky_lower", reason, xp.linalg.cholesky, A)


@composite(method=False)
def linalg_cholesky(A: Any, *, upper: bool = False) -> Any:
    """The lower triangular L with L @ L^H = A, or upper its conjugate transpose."""
    factor = cholesky_lower(A)
    return mH(factor) if upper else factor


@composite
def cholesky(input: Any, upper: bool = False) -> Any:
    """The lower triangular L with L @ L^H = input, or upper its conjugate transpose."""
    return linalg_cholesky(input, upper=upper)


def _failing_order(xp: Any, matrix: Any) -> int:
    """The order of the first leading minor that is not positive; 0 if all are."""
    for order in range(1, matrix.shape[-1] + 1):
        try:
            xp.linalg.cholesky(matrix[:order, :order])
        except Exception as error:
            if type(error).__name__ != "LinAlgError":
                raise
            return order
    return 0


@general(
    A=lambda grad0, result0: _cholesky_rule(grad0, result0),
    returns="L info",
    method=False,
    node_name="LinalgCholeskyExBackward0",
)
def cholesky_lower_ex(xp: Any, A: Any, check_errors: bool = False) -> Any:
    """The lower factor, and the order of the first minor that forbids it; 0 if none does."""
    check_matrices(A)
    batch = A.shape[:-2]
    try:
        return xp.linalg.cholesky(A), xp.zeros(batch, "int32")
    except Exception as error:
        if type(error).__name__ != "LinAlgError":
            raise
    flat = xp.reshape(A, (-1, *A.shape[-2:]))
    orders = [_failing_order(xp, flat[i]) for i in range(flat.shape[0])]
    info = xp.reshape(xp.asarray(orders, dtype="int32"), batch)
    if check_errors:
        raise LinAlgError("cholesky_lower_ex: a matrix is not positive definite")
    failed = (info > 0)[..., None, None]
    factor = xp.linalg.cholesky(xp.where(failed, xp.eye(A.shape[-1], dtype=A.dtype), A))
    return xp.where(failed, xp.asarray(float("nan"), dtype=A.dtype), factor), info


CholeskyEx = namedtuple("linalg_cholesky_ex", "L info")


@composite(method=False)
def linalg_cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor, and 0 for each matrix that has one; the others become NaN."""
    factor, info = cholesky_lower_ex(A, check_errors)
    return CholeskyEx(mH(factor) if upper else factor, info)


# ---- QR ----


def _square_qr_rule(grad_q: Any, grad_r: Any, Q: Any, R: Any) -> Any:
    """For R square: the upper half of M = gR R^H - Q^H gQ, made Hermitian."""
    product = grad_r @ mH(R) - mH(Q) @ grad_q
    strict = triu(product, 1)
    hermitian = strict + mH(strict) + diag_embed(_real_part(_main_diagonal(product)))
    return linalg_solve_triangular(mH(R), grad_q + Q @ hermitian, upper=False, left=False)


def _qr_rule(grad_q: Any, grad_r: Any, Q: Any, R: Any, A: Any, mode: str) -> Any:
    rows, columns = A.shape[-2:]
    if mode == "r":
        raise RuntimeError("qr: the derivative needs Q; mode='r' does not compute it")
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "qr: mode='complete' has no derivative for more rows than columns; use 'reduced'"
        )
    if rows >= columns:
        return _square_qr_rule(grad_q, grad_r, Q, R)
    # A = [X Y] and R = [U V]: X = Q U is square, and Y = Q V depends on X through Q.
    rest = columns - rows
    later, grad_later = narrow(A, -1, rows, rest), narrow(grad_r, -1, rows, rest)
    grad_first, first = narrow(grad_r, -1, 0, rows), narrow(R, -1, 0, rows)
    inner = _square_qr_rule(grad_q + later @ mH(grad_later), grad_first, Q, first)
    return cat([inner, Q @ grad_later], -1)


@general(
    A=lambda grad0, grad1, result0, result1, A, mode: _qr_rule(
        grad0, grad1, result0, result1, A, mode
    ),
    returns="Q R",
    method=False,
)
def linalg_qr(xp: Any, A: Any, mode: str = "reduced") -> Any:
    """A as Q @ R, with orthonormal columns in Q and R upper triangular."""
    check_matrices(A, square=False)
    if mode == "r":
        return xp.zeros((0,), A.dtype), xp.linalg.qr(A, mode="r")
    if mode not in ("reduced", "complete"):
        raise RuntimeError(f"mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    Q, R = xp.linalg.qr(A, mode=mode)
    return Q, R


@composite
def qr(input: Any, some: bool = True) -> Any:
    """input as Q @ R, reduced if `some`."""
    return linalg_qr(input, "reduced" if some else "complete")


# ---- eigenvalues ----


def _eigh_rule(grad_values: Any, grad_vectors: Any, values: Any, vectors: Any) -> Any:
    inner = _quotient(mH(vectors) @ grad_vectors, _differences(values))
    inner = (inner + mH(inner)) / 2 + diag_embed(grad_values)
    return vectors @ inner @ mH(vectors)


@general(
    A=lambda grad0, grad1, result0, result1: _eigh_rule(grad0, grad1, result0, result1),
    returns="eigenvalues eigenvectors",
    method=False,
)
def linalg_eigh(xp: Any, A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices."""
    check_matrices(A)
    _check_triangle(UPLO)
    reason = "the algorithm did not converge"
    values, vectors = attempt("linalg_eigh", reason, xp.linalg.eigh, A, UPLO.upper())
    return values, vectors


def _check_triangle(UPLO: str) -> None:
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"UPLO must be 'L' or 'U', got {UPLO!r}")


def _eigvalsh_rule(grad: Any, A: Any, UPLO: str) -> Any:
    vectors = linalg_eigh(A, UPLO)[1]
    return (vectors * unsqueeze(grad, -2)) @ mH(vectors)


@general(A=lambda grad, A, UPLO: _eigvalsh_rule(grad, A, UPLO), method=False)
def linalg_eigvalsh(xp: Any, A: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of Hermitian matrices in ascending order."""
    check_matrices(A)
    _check_triangle(UPLO)
    reason = "the algorithm did not converge"
    return attempt("linalg_eigvalsh", reason, xp.linalg.eigvalsh, A, UPLO.upper())


def _complex_dtype(A: Any) -> str:
    """The complex data type of the same precision."""
    return "complex64" if A.dtype.itemsize == (8 if A.dtype.kind == "c" else 4) else "complex128"


def _eig_rule(grad_values: Any, grad_vectors: Any, values: Any, vectors: Any) -> Any:
    """For eigenvectors of norm 1."""
    adjoint = mH(vectors)
    product = adjoint @ grad_vectors
    along = _real_part(_main_diagonal(product))
    inner = product - (adjoint @ vectors) * unsqueeze(along, -2)
    inner = _quotient(inner, conj(_differences(values))) + diag_embed(grad_values)
    return solve_matrix(adjoint, inner @ adjoint)


@general(
    A=lambda grad0, grad1, result0, result1: _eig_rule(grad0, grad1, result0, result1),
    returns="eigenvalues eigenvectors",
    method=False,
)
def linalg_eig(xp: Any, A: Any) -> Any:
    """Eigenvalues and eigenvectors of square matrices, complex even for real ones."""
    check_matrices(A)
    reason = "the matrix is not finite, or the algorithm did not converge"
    values, vectors = attempt("linalg_eig", reason, xp.linalg.eig, A)
    return values.astype(_complex_dtype(A)), vectors.astype(_complex_dtype(A))


def _eigvals_rule(grad: Any, A: Any) -> Any:
    adjoint = mH(linalg_eig(A)[1])
    return solve_matrix(adjoint, unsqueeze(grad, -1) * adjoint)


@general(A=lambda grad, A: _eigvals_rule(grad, A), method=False)
def linalg_eigvals(xp: Any, A: Any) -> Any:
    """Eigenvalues of square matrices, complex even for real ones."""
    check_matrices(A)
    reason = "the matrix is not finite, or the algorithm did not converge"
    return attempt("linalg_eigvals", reason, xp.linalg.eig, A)[0].astype(_complex_dtype(A))


# ---- singular values ----


def _outside(value: Any, basis: Any) -> Any:
    """The part of value's columns outside the span of an orthonormal basis."""
    return value - basis @ (mH(basis) @ value)


def _svd_rule(grad_u: Any, grad_s: Any, grad_vh: Any, U: Any, S: Any, Vh: Any) -> Any:
    """With P = U^H dA V: skew parts of U^H gU and V^H gV over differences of squares."""
    rows, columns, rank = U.shape[-2], Vh.shape[-1], S.shape[-1]
    U, grad_u = narrow(U, -1, 0, rank), narrow(grad_u, -1, 0, rank)
    Vh, grad_v = narrow(Vh, -2, 0, rank), mH(narrow(grad_vh, -2, 0, rank))
    V = mH(Vh)
    skew_u, skew_v = mH(U) @ grad_u, Vh @ grad_v
    skew_u, skew_v = skew_u - mH(skew_u), skew_v - mH(skew_v)
    gaps = _differences(S * S)
    across, down = unsqueeze(S, -2), unsqueeze(S, -1)
    on_diagonal = grad_s
    if holds_complex(U):
        on_diagonal = grad_s + _quotient(_main_diagonal(skew_u), 2 * S)
    inner = _quotient(skew_u, gaps) * across + down * _quotient(skew_v, gaps)
    inner = inner + diag_embed(on_diagonal)
    result = U @ inner @ Vh
    if rows > rank:
        result = result + _quotient(_outside(grad_u, U), across) @ Vh
    if columns > rank:
        result = result + U @ mH(_quotient(_outside(grad_v, V), across))
    return result


@general(
    A=lambda grad0, grad1, grad2, result0, result1, result2: _svd_rule(
        grad0, grad1, grad2, result0, result1, result2
    ),
    returns="U S Vh",
    method=False,
)
def linalg_svd(xp: Any, A: Any, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """A as U @ diag(S) @ Vh, with singular values in descending order."""
    check_matrices(A, square=False)
    reason = "the matrix is not finite, or the algorithm did not converge"
    U, S, Vh = attempt("linalg_svd", reason, xp.linalg.svd, A, full_matrices)
    return U, S, Vh


def _svdvals_rule(grad: Any, A: Any) -> Any:
    U, _, Vh = linalg_svd(A, False)
    return (U * unsqueeze(grad, -2)) @ Vh


@general(A=lambda grad, A: _svdvals_rule(grad, A), method=False)
def linalg_svdvals(xp: Any, A: Any, *, driver: str | None = None) -> Any:
    """Singular values in descending order."""
    check_matrices(A, square=False)
    reason = "the matrix is not finite, or the algorithm did not converge"
    return attempt("linalg_svdvals", reason, lambda: xp.linalg.svd(A, compute_uv=False))


Svd = namedtuple("svd", "U S V")


@composite
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """input as U @ diag(S) @ V^H; without compute_uv, U and V are zeros."""
    U, S, Vh = linalg_svd(input, not some or not compute_uv)
    if compute_uv:
        return Svd(U, S, mH(Vh))
    return Svd((U * 0).detach(), linalg_svdvals(input), (Vh * 0).detach())
