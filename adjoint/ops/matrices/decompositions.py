"""Factorizations: Cholesky, QR, singular values; all batched."""

import math
from typing import Any, NamedTuple

from adjoint.call.arguments import conj, holds_complex
from adjoint.call.rule import FRONT, MATRICES
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.arrange import constant_pad_nd, tril, triu
from adjoint.ops.arranging.shape import cat, expand, narrow, unsqueeze
from adjoint.ops.arranging.strided import diag_embed, diagonal
from adjoint.ops.elementwise.complex_numbers import real
from adjoint.ops.elementwise.selection import choose
from adjoint.ops.matrices.linalg import (
    NOT_CONVERGED,
    LinAlgError,
    attempt,
    check_matrices,
    first_of,
    identity_like,
    linalg_solve_triangular,
    matrices_each,
)
from adjoint.ops.matrices.matmul import mH, same_dtype
from adjoint.ops.op import composite, general
from adjoint.ops.signatures import answer_of
from adjoint.tensors.concrete import concrete, has_values
from adjoint.tensors.tensor import Tensor


def main_diagonal(value: Any) -> Any:
    """The diagonals of matrices."""
    return diagonal(value, 0, -2, -1)


PHASE = 0.01  # how much of a gradient may lie along a phase: rounding


@general(home=None, batching=FRONT)
def without_phase(xp: Any, input: Array) -> Array:
    """input itself; a refusal where it is known not to be real."""
    if xp.readable(waiting=True) and bool(xp.any(xp.absolute(xp.imag(input)) > PHASE)):
        raise RuntimeError(
            "the gradient depends on the phases of complex singular vectors or eigenvectors, which "
            "are arbitrary; use them where a phase does not count, as in abs() or v @ v.mH"
        )
    return input + xp.zeros_like(input)


def refuse_free_phases(along: Any) -> None:
    """Refuse gradients that depend on the phases of complex vectors, which nothing determines.

    `along` are the gradients of vectors times their conjugates: what is imaginary turns a phase.
    """
    if not isinstance(along, Tensor):
        without_phase(along)
    elif along.layer is None and has_values(along):
        without_phase(concrete(along))


def real_part(value: Any) -> Any:
    """The real part in the data type of value."""
    return (value + conj(value)) / 2 if holds_complex(value) else value


def quotient(value: Any, divisor: Any) -> Any:
    """value / divisor, and 0 where the divisor is 0.

    There two eigenvalues or singular values agree: what does not depend on the choice of their
    vectors has no gradient in that place.
    """
    zero = divisor == 0
    return choose(zero, 0, value / choose(zero, 1, divisor))


def differences(values: Any) -> Any:
    """The matrix of values[j] - values[i]."""
    return unsqueeze(values, -2) - unsqueeze(values, -1)


# ---- Cholesky ----


def _cholesky_rule(grad: Value, L: Any) -> Value:
    """From dL = L @ P(inverse(L) @ dA @ inverse(L)^H), P the lower half with half the diagonal."""
    adjoint = mH(L)
    product = adjoint @ grad
    strict = tril(product, -1)
    inner = (strict + mH(strict) + diag_embed(main_diagonal(product))) / 2
    inner = linalg_solve_triangular(adjoint, inner, upper=True)
    return linalg_solve_triangular(L, inner, upper=False, left=False)


def _cholesky_tangent(A_tangent: Value, L: Any) -> Value:
    moved = (A_tangent + mH(A_tangent)) / 2
    inner = linalg_solve_triangular(L, moved, upper=False)
    inner = linalg_solve_triangular(mH(L), inner, upper=True, left=False)
    return L @ (tril(inner, -1) + diag_embed(main_diagonal(inner)) / 2)


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


@composite(home="linalg", numpy=True, exact_out=True)
def linalg_cholesky(A: Value, *, upper: bool = False) -> Value:
    """The lower triangular L with L @ L^H = A, or upper its conjugate transpose."""
    factor = cholesky_lower(A)
    return mH(factor) if upper else factor


@composite
def cholesky(input: Value, upper: bool = False) -> Value:
    """The lower triangular L with L @ L^H = input, or upper its conjugate transpose."""
    return linalg_cholesky(input, upper=upper)


def _factor_of(xp: Any, matrix: Any) -> tuple[Any, int]:
    """The factor and 0; or NaN, and the order of the first leading minor that is not positive."""
    factor = matrix
    for order in range(1, matrix.shape[-1] + 1):
        try:
            factor = xp.linalg.cholesky(matrix[:order, :order])
        except Exception as error:
            if type(error).__name__ != "LinAlgError":
                raise
            return xp.full(matrix.shape, math.nan, dtype=matrix.dtype), order
    return factor, 0


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
    if check_errors:
        raise LinAlgError("cholesky_lower_ex: a matrix is not positive definite")
    # Each alone: a batch may be rounded otherwise, and fail where its matrices do not.
    factors, orders = zip(*[_factor_of(xp, each) for each in A.reshape(-1, *A.shape[-2:])])
    info = xp.reshape(xp.asarray(orders, dtype="int32"), batch)
    return xp.reshape(xp.stack(factors), A.shape), info


@answer_of("linalg_cholesky_ex")
class CholeskyEx(NamedTuple):
    """What cholesky_ex answers."""

    L: Any
    info: Any


@composite(home="linalg", exact_out=True)
def linalg_cholesky_ex(A: Value, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The Cholesky factor, and 0 for each matrix that has one; the others become NaN."""
    factor, info = cholesky_lower_ex(A, check_errors)
    return CholeskyEx(mH(factor) if upper else factor, info)


# ---- QR ----


def _square_qr_rule(grad_q: Any, grad_r: Any, Q: Any, R: Any) -> Any:
    """For R square: the upper half of M = gR R^H - Q^H gQ, made Hermitian."""
    product = grad_r @ mH(R) - mH(Q) @ grad_q
    strict = triu(product, 1)
    hermitian = strict + mH(strict) + diag_embed(real_part(main_diagonal(product)))
    return linalg_solve_triangular(mH(R), grad_q + Q @ hermitian, upper=False, left=False)


def _check_qr_mode(A: Any, mode: str) -> None:
    """Refuse the modes without a derivative."""
    rows, columns = A.shape[-2:]
    if mode == "r":
        raise RuntimeError("qr: the derivative needs Q; mode='r' does not compute it")
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "qr: mode='complete' has no derivative for more rows than columns; use 'reduced'"
        )


def _qr_rule(grad_q: Any, grad_r: Any, Q: Any, R: Any, A: Any, mode: str) -> Any:
    _check_qr_mode(A, mode)
    rows, columns = A.shape[-2:]
    if rows >= columns:
        return _square_qr_rule(grad_q, grad_r, Q, R)
    # A = [X Y] and R = [U V]: X = Q U is square, and Y = Q V depends on X through Q.
    rest = columns - rows
    later, grad_later = narrow(A, -1, rows, rest), narrow(grad_r, -1, rows, rest)
    grad_first, first = narrow(grad_r, -1, 0, rows), narrow(R, -1, 0, rows)
    inner = _square_qr_rule(grad_q + later @ mH(grad_later), grad_first, Q, first)
    return cat([inner, Q @ grad_later], -1)


def _square_qr_tangent(A_tangent: Any, Q: Any, R: Any) -> tuple[Any, Any]:
    """For R square: with C = Q^H dA R^-1, dR = H R and dQ = dA R^-1 - Q H, H the half of C + C^H.

    It is upper triangular, with half the diagonal.
    """
    over = linalg_solve_triangular(R, A_tangent, upper=True, left=False)
    product = mH(Q) @ over
    half = triu(product + mH(product), 1) + diag_embed(real_part(main_diagonal(product)))
    return over - Q @ half, half @ R


def _qr_tangent(A: Any, A_tangent: Any, result0: Any, result1: Any, mode: str) -> tuple[Any, Any]:
    """The first columns say how Q moves, and Q what that means for the later ones."""
    _check_qr_mode(A, mode)
    rows, columns = A.shape[-2:]
    if rows >= columns:
        return _square_qr_tangent(A_tangent, result0, result1)
    first, rest = narrow(A_tangent, -1, 0, rows), (rows, columns - rows)
    moved, upper = _square_qr_tangent(first, result0, narrow(result1, -1, 0, rows))
    later = mH(moved) @ narrow(A, -1, *rest) + mH(result0) @ narrow(A_tangent, -1, *rest)
    return moved, cat([upper, later], -1)


def _qr_each(A_each: Any, A_shape: Any, mode: str, batch_size: int) -> Any:
    Q, R = linalg_qr(*matrices_each(A_each, A_shape), mode)
    return (expand(Q, (batch_size, 0)) if mode == "r" else Q), R


@general(
    A=lambda grad0, grad1, result0, result1, A, mode: _qr_rule(
        grad0, grad1, result0, result1, A, mode
    ),
    vmap=_qr_each,
    jvp=_qr_tangent,
    returns="Q R",
    home="linalg",
    autocast="float32",
    exact_out=True,
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


@answer_of("qr")
class QR(NamedTuple):
    """What qr answers."""

    Q: Any
    R: Any


@composite(exact_out=True)
def qr(input: Value, some: bool = True) -> Any:
    """input as Q @ R, reduced if `some`."""
    return QR(*linalg_qr(input, "reduced" if some else "complete"))


def reflected(A: Any, tau: Any, other: Any, adjoint: bool = False) -> Any:
    """Q @ other, or Q^H @ other, for the product Q of reflections that A and tau store.

    At once: Q = 1 - V T V^H with T = (1 + diag(tau) U)^-1 diag(tau), U above the diagonal of V^H V.
    """
    vectors = first_of(tril(A, -1) + identity_like(A), -1, tau.shape[-1])
    across, factors = mH(vectors), unsqueeze(tau, -1)
    mixed, inner = factors * (across @ vectors), across @ other
    if adjoint:
        inner = linalg_solve_triangular(mH(mixed), inner, upper=False, unitriangular=True)
        return other - vectors @ (conj(factors) * inner)
    inner = linalg_solve_triangular(mixed, factors * inner, upper=True, unitriangular=True)
    return other - vectors @ inner


@composite(home="linalg")
def linalg_householder_product(A: Value, tau: Value) -> Value:
    """The first columns of a product of reflections, as QR algorithms store it."""
    if A.ndim < 2:
        raise RuntimeError(f"householder_product: expected matrices, got shape {list(A.shape)}")
    same_dtype(A, tau)
    rows, columns = A.shape[-2:]
    count = tau.shape[-1]
    if columns > rows or count > columns:
        raise RuntimeError(
            f"householder_product: {count} reflections of {rows} rows for {columns} columns"
        )
    return reflected(A, tau, identity_like(A))


@composite
def orgqr(input: Value, input2: Value) -> Value:
    """See linalg.householder_product."""
    return linalg_householder_product(input, input2)


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
    if holds_complex(U):
        refuse_free_phases(main_diagonal(skew_u + skew_v))
    skew_u, skew_v = skew_u - mH(skew_u), skew_v - mH(skew_v)
    gaps = differences(S * S)
    across, down = unsqueeze(S, -2), unsqueeze(S, -1)
    on_diagonal = grad_s
    if holds_complex(U):
        on_diagonal = grad_s + quotient(main_diagonal(skew_u), 2 * S)
    inner = quotient(skew_u, gaps) * across + down * quotient(skew_v, gaps)
    inner = inner + diag_embed(on_diagonal)
    result = U @ inner @ Vh
    if rows > rank:
        result = result + quotient(_outside(grad_u, U), across) @ Vh
    if columns > rank:
        result = result + U @ mH(quotient(_outside(grad_v, V), across))
    return result


def _svd_tangent(A_tangent: Any, U: Any, S: Any, Vh: Any) -> tuple[Any, Any, Any]:
    """With P = U^H dA V: its diagonal, and skew parts of P S and S P over differences of squares.

    Vectors that belong to no singular value are free, and taken to rest.
    """
    rows, columns, rank = U.shape[-2], Vh.shape[-1], S.shape[-1]
    U, free_u = narrow(U, -1, 0, rank), U.shape[-1] - rank
    V, free_v = mH(narrow(Vh, -2, 0, rank)), Vh.shape[-2] - rank
    right, left = A_tangent @ V, mH(A_tangent) @ U
    product = mH(U) @ right
    gaps = differences(S * S)
    across, down = unsqueeze(S, -2), unsqueeze(S, -1)
    turn_u, turn_v = quotient(product * across, gaps), quotient(down * product, gaps)
    turn_u, turn_v = turn_u - mH(turn_u), turn_v - mH(turn_v)
    main = main_diagonal(product)
    if holds_complex(U):
        turn_u = turn_u + diag_embed(quotient(main - conj(main), 2 * S))
    moved_u, moved_v = U @ turn_u, V @ turn_v
    if rows > rank:
        moved_u = moved_u + quotient(_outside(right, U), across)
    if columns > rank:
        moved_v = moved_v + quotient(_outside(left, V), across)
    U_tangent = constant_pad_nd(moved_u, (0, free_u))
    return U_tangent, real(main), mH(constant_pad_nd(moved_v, (0, free_v)))


@general(
    A=lambda grad0, grad1, grad2, result0, result1, result2: _svd_rule(
        grad0, grad1, grad2, result0, result1, result2
    ),
    jvp=lambda A_tangent, result0, result1, result2: _svd_tangent(
        A_tangent, result0, result1, result2
    ),
    returns="U S Vh",
    home="linalg",
    autocast="float32",
    batching=MATRICES,
    exact_out=True,
)
def linalg_svd(
    xp: Any, A: Array, full_matrices: bool = True, *, driver: str | None = None
) -> tuple[Array, Array, Array]:
    """A as U @ diag(S) @ Vh, with singular values in descending order."""
    check_matrices(A, square=False)
    U, S, Vh = attempt("linalg_svd", NOT_CONVERGED, xp.linalg.svd, A, full_matrices)
    return U, S, Vh


def _svdvals_tangent(A: Value, A_tangent: Value) -> Value:
    U, _, Vh = linalg_svd(A, False)
    return real(main_diagonal(mH(U) @ A_tangent @ mH(Vh)))


def _svdvals_rule(grad: Value, A: Value) -> Value:
    U, _, Vh = linalg_svd(A, False)
    return (U * unsqueeze(grad, -2)) @ Vh


@general(
    A=lambda grad, A: _svdvals_rule(grad, A),
    node_name="LinalgSvdBackward0",
    home="linalg",
    numpy=True,
    autocast="float32",
    batching=MATRICES,
    jvp=_svdvals_tangent,
    exact_out=True,
)
def linalg_svdvals(xp: Any, A: Array, *, driver: str | None = None) -> Array:
    """Singular values in descending order."""
    check_matrices(A, square=False)
    return attempt("linalg_svdvals", NOT_CONVERGED, lambda: xp.linalg.svd(A, compute_uv=False))


@answer_of("svd")
class Svd(NamedTuple):
    """What svd answers."""

    U: Any
    S: Any
    V: Any


@composite(exact_out=True)
def svd(input: Value, some: bool = True, compute_uv: bool = True) -> Any:
    """input as U @ diag(S) @ V^H; without compute_uv, U and V are zeros."""
    U, S, Vh = linalg_svd(input, not some or not compute_uv)
    if compute_uv:
        return Svd(U, S, mH(Vh))
    return Svd((U * 0).detach(), linalg_svdvals(input), (Vh * 0).detach())
