"""Factorizations: Cholesky, QR, eigenvalues, singular values; all batched."""

from typing import Any, NamedTuple

from adjoint.call.dispatch import conj, holds_complex
from adjoint.call.rule import FRONT, MATRICES
from adjoint.dtypes import int32
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.arrange import tril, triu
from adjoint.ops.arranging.shape import cat, expand, narrow, unsqueeze
from adjoint.ops.arranging.strided import diag_embed, diagonal
from adjoint.ops.elementwise.complex_numbers import real
from adjoint.ops.elementwise.selection import choose
from adjoint.ops.matrices.linalg import (
    LinAlgError,
    attempt,
    check_matrices,
    identity_like,
    linalg_solve_triangular,
    matrices_each,
    solve_matrix,
)
from adjoint.ops.matrices.matmul import matmul, mH
from adjoint.ops.op import composite, general


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


def _cholesky_rule(grad: Value, L: Any) -> Value:
    """From dL = L @ P(inverse(L) @ dA @ inverse(L)^H), P the lower half with half the diagonal."""
    adjoint = mH(L)
    product = adjoint @ grad
    strict = tril(product, -1)
    inner = (strict + mH(strict) + diag_embed(_main_diagonal(product))) / 2
    inner = linalg_solve_triangular(adjoint, inner, upper=True)
    return linalg_solve_triangular(L, inner, upper=False, left=False)


def _cholesky_tangent(A_tangent: Value, L: Any) -> Value:
    moved = (A_tangent + mH(A_tangent)) / 2
    inner = linalg_solve_triangular(L, moved, upper=False)
    inner = linalg_solve_triangular(mH(L), inner, upper=True, left=False)
    return L @ (tril(inner, -1) + diag_embed(_main_diagonal(inner)) / 2)


@general(
    A=lambda grad, result: _cholesky_rule(grad, result),
    node_name="LinalgCholeskyExBackward0",
    saved_as={"result": "L"},
    home=None,
    autocast="float32",
    batching=MATRICES,
    jvp=lambda A_tangent, result: _cholesky_tangent(A_tangent, result),
)
def cholesky_lower(xp: Any, A: Array) -> Array:
    """The lower triangular L with L @ L^H = A."""
    check_matrices(A)
    reason = "linalg.cholesky got a matrix that is not positive definite"
    return attempt("cholesky_lower", reason, xp.linalg.cholesky, A)


@composite(home="linalg", numpy=True)
def linalg_cholesky(A: Value, *, upper: bool = False) -> Value:
    """The lower triangular L with L @ L^H = A, or upper its conjugate transpose."""
    factor = cholesky_lower(A)
    return mH(factor) if upper else factor


@composite
def cholesky(input: Value, upper: bool = False) -> Value:
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
    node_name="LinalgCholeskyExBackward0",
    home=None,
    autocast="float32",
    batching=MATRICES,
    jvp=lambda A_tangent, result0: (_cholesky_tangent(A_tangent, result0), None),
)
def cholesky_lower_ex(xp: Any, A: Array, check_errors: bool = False) -> tuple[Array, Array]:
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


class CholeskyEx(NamedTuple):
    """What cholesky_ex answers."""

    L: Any
    info: Any


@composite(home="linalg")
def linalg_cholesky_ex(A: Value, *, upper: bool = False, check_errors: bool = False) -> Any:
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


def _qr_each(A_each: Any, A_shape: Any, mode: str, batch_size: int) -> Any:
    Q, R = linalg_qr(*matrices_each(A_each, A_shape), mode)
    return (expand(Q, (batch_size, 0)) if mode == "r" else Q), R


@general(
    A=lambda grad0, grad1, result0, result1, A, mode: _qr_rule(
        grad0, grad1, result0, result1, A, mode
    ),
    vmap=_qr_each,
    returns="Q R",
    home="linalg",
    autocast="float32",
)
def linalg_qr(xp: Any, A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """A as Q @ R, with orthonormal columns in Q and R upper triangular."""
    check_matrices(A, square=False)
    if mode == "r":
        return xp.zeros((0,), A.dtype), xp.linalg.qr(A, mode="r")
    if mode not in ("reduced", "complete"):
        raise RuntimeError(f"mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    Q, R = xp.linalg.qr(A, mode=mode)
    return Q, R


@composite
def qr(input: Value, some: bool = True) -> Any:
    """input as Q @ R, reduced if `some`."""
    return linalg_qr(input, "reduced" if some else "complete")


@composite(home="linalg")
def linalg_householder_product(A: Value, tau: Value) -> Value:
    """The first columns of a product of reflections, as QR algorithms store it."""
    rows, columns = A.shape[-2:]
    count = tau.shape[-1]
    if columns > rows or count > columns:
        raise RuntimeError(
            f"householder_product: {count} reflections of {rows} rows for {columns} columns"
        )
    result = identity_like(A)
    vectors = tril(A, -1) + result
    for i in reversed(range(count)):
        vector = narrow(vectors, -1, i, 1)
        factor = unsqueeze(narrow(tau, -1, i, 1), -1)
        result = result - factor * (vector @ (mH(vector) @ result))
    return result


@composite
def orgqr(input: Value, input2: Value) -> Value:
    """See linalg.householder_product."""
    return linalg_householder_product(input, input2)


# ---- LU ----


def _square_lu_part(grad_l: Any, grad_u: Any, L: Any, U: Any) -> Any:
    """L^-H (lower half of grad_l, and upper half of grad_u) U^-H."""
    inner = tril(grad_l, -1) + triu(grad_u)
    inner = linalg_solve_triangular(mH(L), inner, upper=True, unitriangular=True)
    return linalg_solve_triangular(mH(U), inner, upper=False, left=False)


def _lu_rule(grad: Value, packed: Any, pivots: Any) -> Value:
    """For the square part; further columns (or rows) depend on it through L (or U)."""
    rows, columns = packed.shape[-2:]
    rank = min(rows, columns)
    top, left = narrow(packed, -2, 0, rank), narrow(packed, -1, 0, rank)
    grad_top, grad_left = narrow(grad, -2, 0, rank), narrow(grad, -1, 0, rank)
    square, grad_square = narrow(top, -1, 0, rank), narrow(grad_top, -1, 0, rank)
    L, U = tril(square, -1) + identity_like(square), triu(square)
    through_l, through_u = mH(L) @ tril(grad_square, -1), triu(grad_square) @ mH(U)
    if columns > rank:
        rest, grad_rest = (narrow(x, -1, rank, columns - rank) for x in (top, grad_top))
        through_l = through_l - grad_rest @ mH(rest)
        below = linalg_solve_triangular(mH(L), grad_rest, upper=True, unitriangular=True)
        inner = cat([_square_lu_part(through_l, through_u, L, U), below], -1)
    elif rows > rank:
        rest, grad_rest = (narrow(x, -2, rank, rows - rank) for x in (left, grad_left))
        through_u = through_u - mH(rest) @ grad_rest
        beside = linalg_solve_triangular(mH(U), grad_rest, upper=False, left=False)
        inner = cat([_square_lu_part(through_l, through_u, L, U), beside], -2)
    else:
        inner = _square_lu_part(through_l, through_u, L, U)
    return permutation(pivots, packed) @ inner


@general(home=None, batching=FRONT)
def permutation(xp: Any, pivots: Array, packed: Array) -> Array:
    """The matrix P with A = P @ L @ U, from the row exchanges of an LU factorization."""
    rows = packed.shape[-2]
    places = xp.arange(rows)
    order = xp.broadcast_to(places, (*pivots.shape[:-1], rows))
    for k in range(pivots.shape[-1]):
        order = xp.take_along_axis(order, _exchange(xp, places, k, pivots[..., k] - 1), axis=-1)
    return xp.asarray(places[:, None] == order[..., None, :], dtype=packed.dtype)


def _exchange(xp: Any, places: Any, k: int, other: Any) -> Any:
    """The places with k and `other` exchanged."""
    other = other[..., None]
    return xp.where(places == k, other, xp.where(places == other, k, places))


@general(
    A=lambda grad0, result0, result1: _lu_rule(grad0, result0, result1),
    returns="LU pivots",
    node_name="LinalgLuFactorExBackward0",
    home="linalg",
    batching=MATRICES,
)
def linalg_lu_factor(xp: Any, A: Array, *, pivot: bool = True) -> tuple[Array, Array]:
    """L below and U on and above the diagonal of one matrix, and the exchanges of rows."""
    check_matrices(A, square=False)
    if not pivot:
        raise RuntimeError("LU without pivoting is not implemented; leave pivot=True")
    rows, columns = A.shape[-2:]
    places, later = xp.arange(rows), xp.arange(columns)
    pivots = []
    for k in range(min(rows, columns)):
        column = A[..., :, k]
        sizes = xp.abs(xp.real(column)) + xp.abs(xp.imag(column))  # as LAPACK compares them
        chosen = xp.argmax(xp.where(places >= k, sizes, -1), axis=-1)
        pivots.append(chosen + 1)
        A = xp.take_along_axis(A, _exchange(xp, places, k, chosen)[..., None], axis=-2)
        divisor = A[..., k, k][..., None]
        safe = xp.where(divisor == 0, 1, divisor)
        factor = xp.where(places > k, A[..., :, k] / safe, 0)[..., None]
        row = xp.where(later > k, A[..., k, :], 0)[..., None, :]
        A = xp.where((places > k)[:, None] & (later == k), factor, A - factor * row)
    shape = (*A.shape[:-2], len(pivots))
    stacked = xp.stack(pivots, axis=-1) if pivots else xp.zeros(shape)
    return A + xp.zeros_like(A), xp.asarray(stacked, dtype="int32")


class LU(NamedTuple):
    """What lu and lu_unpack answer."""

    P: Any
    L: Any
    U: Any


@composite(method=False)
def lu_unpack(
    LU_data: Value, LU_pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> LU:
    """The matrices P, L and U of an LU factorization; empty those that are not wanted."""
    if LU_pivots.dtype is not int32:
        raise RuntimeError(f"lu_unpack(): LU_pivots must be int32, got {LU_pivots.dtype}")
    nothing = LU_data.new_zeros((0,))
    P = permutation(LU_pivots, LU_data) if unpack_pivots else nothing
    if not unpack_data:
        return LU(P, nothing, nothing)
    rank = min(LU_data.shape[-2:])
    left, top = narrow(LU_data, -1, 0, rank), narrow(LU_data, -2, 0, rank)
    return LU(P, tril(left, -1) + identity_like(left), triu(top))


@composite(home="linalg")
def linalg_lu(A: Value, *, pivot: bool = True) -> LU:
    """A as P @ L @ U: a permutation, a unit lower and an upper triangular matrix."""
    return lu_unpack(*linalg_lu_factor(A, pivot=pivot))


@composite(home="linalg")
def linalg_lu_solve(
    LU: Value, pivots: Value, B: Value, *, left: bool = True, adjoint: bool = False
) -> Value:
    """The solution of A @ X = B (left) or X @ A = B, with the LU factorization of A."""
    if not left:
        return mH(linalg_lu_solve(LU, pivots, mH(B), adjoint=not adjoint))
    exchange = permutation(pivots, LU)
    if not adjoint:
        half = matmul(mH(exchange), B)
        half = linalg_solve_triangular(LU, half, upper=False, unitriangular=True)
        return linalg_solve_triangular(LU, half, upper=True)
    half = linalg_solve_triangular(mH(LU), B, upper=False)
    half = linalg_solve_triangular(mH(LU), half, upper=True, unitriangular=True)
    return matmul(exchange, half)


# ---- eigenvalues ----


def _eigh_tangent(A_tangent: Value, values: Any, vectors: Any) -> tuple[Any, Any]:
    """With C = V^H dA V: its diagonal, and V (C over the differences of eigenvalues)."""
    inner = mH(vectors) @ ((A_tangent + mH(A_tangent)) / 2) @ vectors
    moved = _main_diagonal(inner)
    return real(moved), vectors @ _quotient(inner, _differences(values))


def _eigh_rule(grad_values: Any, grad_vectors: Any, values: Any, vectors: Any) -> Any:
    inner = _quotient(mH(vectors) @ grad_vectors, _differences(values))
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
)
def linalg_eigh(xp: Any, A: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices."""
    check_matrices(A)
    _check_triangle(UPLO)
    reason = "the algorithm did not converge"
    values, vectors = attempt("linalg_eigh", reason, xp.linalg.eigh, A, UPLO.upper())
    return values, vectors


def _check_triangle(UPLO: str) -> None:
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"UPLO must be 'L' or 'U', got {UPLO!r}")


def _eigvalsh_rule(grad: Value, A: Value, UPLO: str) -> Value:
    vectors = linalg_eigh(A, UPLO)[1]
    return (vectors * unsqueeze(grad, -2)) @ mH(vectors)


@general(
    A=lambda grad, A, UPLO: _eigvalsh_rule(grad, A, UPLO),
    home="linalg",
    numpy=True,
    autocast="float32",
    batching=MATRICES,
    jvp=lambda A, A_tangent, UPLO: _eigh_tangent(A_tangent, *linalg_eigh(A, UPLO))[0],
)
def linalg_eigvalsh(xp: Any, A: Array, UPLO: str = "L") -> Array:
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
    home="linalg",
    autocast="float32",
    batching=MATRICES,
)
def linalg_eig(xp: Any, A: Array) -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of square matrices, complex even for real ones."""
    check_matrices(A)
    reason = "the matrix is not finite, or the algorithm did not converge"
    values, vectors = attempt("linalg_eig", reason, xp.linalg.eig, A)
    return values.astype(_complex_dtype(A)), vectors.astype(_complex_dtype(A))


def _eigvals_rule(grad: Value, A: Value) -> Value:
    adjoint = mH(linalg_eig(A)[1])
    return solve_matrix(adjoint, unsqueeze(grad, -1) * adjoint)


@general(
    A=lambda grad, A: _eigvals_rule(grad, A), home="linalg", autocast="float32", batching=MATRICES
)
def linalg_eigvals(xp: Any, A: Array) -> Array:
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
    home="linalg",
    autocast="float32",
    batching=MATRICES,
)
def linalg_svd(
    xp: Any, A: Array, full_matrices: bool = True, *, driver: str | None = None
) -> tuple[Array, Array, Array]:
    """A as U @ diag(S) @ Vh, with singular values in descending order."""
    check_matrices(A, square=False)
    reason = "the matrix is not finite, or the algorithm did not converge"
    U, S, Vh = attempt("linalg_svd", reason, xp.linalg.svd, A, full_matrices)
    return U, S, Vh


def _svdvals_tangent(A: Value, A_tangent: Value) -> Value:
    U, _, Vh = linalg_svd(A, False)
    return real(_main_diagonal(mH(U) @ A_tangent @ mH(Vh)))


def _svdvals_rule(grad: Value, A: Value) -> Value:
    U, _, Vh = linalg_svd(A, False)
    return (U * unsqueeze(grad, -2)) @ Vh


@general(
    A=lambda grad, A: _svdvals_rule(grad, A),
    home="linalg",
    numpy=True,
    autocast="float32",
    batching=MATRICES,
    jvp=_svdvals_tangent,
)
def linalg_svdvals(xp: Any, A: Array, *, driver: str | None = None) -> Array:
    """Singular values in descending order."""
    check_matrices(A, square=False)
    reason = "the matrix is not finite, or the algorithm did not converge"
    return attempt("linalg_svdvals", reason, lambda: xp.linalg.svd(A, compute_uv=False))


class Svd(NamedTuple):
    """What svd answers."""

    U: Any
    S: Any
    V: Any


@composite
def svd(input: Value, some: bool = True, compute_uv: bool = True) -> Any:
    """input as U @ diag(S) @ V^H; without compute_uv, U and V are zeros."""
    U, S, Vh = linalg_svd(input, not some or not compute_uv)
    if compute_uv:
        return Svd(U, S, mH(Vh))
    return Svd((U * 0).detach(), linalg_svdvals(input), (Vh * 0).detach())
