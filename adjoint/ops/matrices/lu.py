"""The LU factorization, batched, and what is solved with it."""

import math
from typing import Any, Final, NamedTuple

from adjoint.call.rule import FRONT, MATRICES
from adjoint.dtypes import int32
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.arrange import tril, triu
from adjoint.ops.arranging.shape import cat, narrow
from adjoint.ops.matrices.linalg import (
    LinAlgError,
    check_matrices,
    first_of,
    identity_like,
    linalg_solve_triangular,
)
from adjoint.ops.matrices.matmul import matmul, mH
from adjoint.ops.op import composite, general
from adjoint.ops.signatures import answer_of
from adjoint.tensors.concrete import concrete, has_values


def _square_lu_part(grad_l: Any, grad_u: Any, L: Any, U: Any) -> Any:
    """L^-H (lower half of grad_l, and upper half of grad_u) U^-H."""
    inner = tril(grad_l, -1) + triu(grad_u)
    inner = linalg_solve_triangular(mH(L), inner, upper=True, unitriangular=True)
    return linalg_solve_triangular(mH(U), inner, upper=False, left=False)


def _lu_rule(grad: Value, packed: Any, pivots: Any) -> Value:
    """For the square part; further columns (or rows) depend on it through L (or U)."""
    rows, columns = packed.shape[-2:]
    rank = min(rows, columns)
    top, left = first_of(packed, -2, rank), first_of(packed, -1, rank)
    grad_top, grad_left = first_of(grad, -2, rank), first_of(grad, -1, rank)
    square, grad_square = first_of(top, -1, rank), first_of(grad_top, -1, rank)
    L, U = tril(square, -1) + identity_like(square), triu(square)
    through_l = matmul(mH(L), tril(grad_square, -1))
    through_u = matmul(triu(grad_square), mH(U))
    if columns > rank:
        rest, grad_rest = (narrow(x, -1, rank, columns - rank) for x in (top, grad_top))
        through_l = through_l - matmul(grad_rest, mH(rest))
        below = linalg_solve_triangular(mH(L), grad_rest, upper=True, unitriangular=True)
        inner = cat([_square_lu_part(through_l, through_u, L, U), below], -1)
    elif rows > rank:
        rest, grad_rest = (narrow(x, -2, rank, rows - rank) for x in (left, grad_left))
        through_u = through_u - matmul(mH(rest), grad_rest)
        beside = linalg_solve_triangular(mH(U), grad_rest, upper=False, left=False)
        inner = cat([_square_lu_part(through_l, through_u, L, U), beside], -2)
    else:
        inner = _square_lu_part(through_l, through_u, L, U)
    return matmul(permutation(pivots, packed), inner)


def _lu_tangent(A_tangent: Any, packed: Any, pivots: Any) -> Any:
    """With F = L^-1 P^T dA U^-1 of the square part: L times its lower half, its upper half times U.

    Further columns are L^-1 of what they were, further rows times U^-1.
    """
    rows, columns = packed.shape[-2:]
    rank = min(rows, columns)
    moved = mH(permutation(pivots, packed)) @ A_tangent
    square = narrow(narrow(packed, -2, 0, rank), -1, 0, rank)
    L, U = tril(square, -1) + identity_like(square), triu(square)
    inner = narrow(narrow(moved, -2, 0, rank), -1, 0, rank)
    inner = linalg_solve_triangular(L, inner, upper=False, unitriangular=True)
    inner = linalg_solve_triangular(U, inner, upper=True, left=False)
    lower, upper = L @ tril(inner, -1), triu(inner) @ U
    result = tril(lower, -1) + triu(upper)
    if columns > rank:
        rest, rest_moved = (narrow(x, -1, rank, columns - rank) for x in (packed, moved))
        beside = rest_moved - lower @ rest
        beside = linalg_solve_triangular(L, beside, upper=False, unitriangular=True)
        return cat([result, beside], -1)
    if rows > rank:
        rest, rest_moved = (narrow(x, -2, rank, rows - rank) for x in (packed, moved))
        below = rest_moved - rest @ upper
        return cat([result, linalg_solve_triangular(U, below, upper=True, left=False)], -2)
    return result


@general(home=None, batching=FRONT)
def permutation(xp: Any, pivots: Array, packed: Array) -> Array:
    """The matrix P with A = P @ L @ U, from the row exchanges of an LU factorization."""
    rows, batch = packed.shape[-2], pivots.shape[:-1]
    count = math.prod(batch)
    order = xp.exchanged(pivots, rows).reshape(count, rows)  # of each column, where its 1 is
    zeros = xp.zeros((count, rows, rows), packed.dtype)
    index = (xp.arange(count)[:, None], order, xp.arange(rows))
    return xp.placed(zeros, index, 1).reshape(*batch, rows, rows)


def check_pivots(name: str, pivots: Any, rows: int, blocks: bool = False) -> None:
    """Refuse exchanges with rows that are not there; the numbers of blocks are negative."""
    if not has_values(pivots) or not pivots.numel():
        return
    places = abs(concrete(pivots)) if blocks else concrete(pivots)
    if places.min() < 1 or places.max() > rows:
        raise RuntimeError(f"{name}(): pivots are counted from 1, and at most {rows}")


def _exchange(xp: Any, places: Any, k: int, other: Any) -> Any:
    """The places with k and `other` exchanged."""
    other = other[..., None]
    return xp.where(places == k, other, xp.where(places == other, k, places))


# The factors of any matrix, and those that are refused of a singular one, are derived alike.
_BOTH: Final[dict[str, Any]] = {
    "A": lambda grad0, result0, result1: _lu_rule(grad0, result0, result1),
    "jvp": lambda A_tangent, result0, result1: (_lu_tangent(A_tangent, result0, result1), None),
    "node_name": "LinalgLuFactorExBackward0",
    "batching": MATRICES,
}


def _factors(xp: Any, A: Any, pivot: bool) -> tuple[Any, Any]:
    check_matrices(A, square=False)
    if not pivot:
        raise RuntimeError("LU without pivoting is not implemented; leave pivot=True")
    found: tuple[Any, Any] | None = xp.lu(A)
    return _eliminated(xp, A) if found is None else found


@general(**_BOTH, home=None)
def lu_factors(xp: Any, A: Array, pivot: bool = True) -> tuple[Array, Array]:
    """The same as linalg_lu_factor, of singular matrices too."""
    return _factors(xp, A, pivot)


@general(**_BOTH, home="linalg", exact_out=True, returns="LU pivots")
def linalg_lu_factor(xp: Any, A: Array, *, pivot: bool = True) -> tuple[Array, Array]:
    """L below and U on and above the diagonal of one matrix, and the exchanges of rows."""
    packed, pivots = _factors(xp, A, pivot)
    if xp.readable() and (xp.diagonal(packed, 0, -2, -1) == 0).any():
        raise LinAlgError(
            "linalg_lu_factor: U has a zero on its diagonal, so A is singular; linalg.lu_factor_ex "
            "and linalg.lu answer its factors all the same"
        )
    return packed, pivots


def _eliminated(xp: Any, A: Any) -> tuple[Any, Any]:
    """The same by array functions, all matrices of a batch at once."""
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


@answer_of("lu_unpack")
class Unpacked(NamedTuple):
    """What lu_unpack answers."""

    P: Any
    L: Any
    U: Any


@composite(method=False, exact_out=True)
def lu_unpack(
    LU_data: Value, LU_pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> Unpacked:
    """The matrices P, L and U of an LU factorization; empty those that are not wanted."""
    if LU_pivots.dtype is not int32:
        raise RuntimeError(f"lu_unpack(): LU_pivots must be int32, got {LU_pivots.dtype}")
    if unpack_pivots:
        check_pivots("lu_unpack", LU_pivots, LU_data.shape[-2])
    nothing = LU_data.new_zeros((0,))
    P = permutation(LU_pivots, LU_data) if unpack_pivots else nothing
    if not unpack_data:
        return Unpacked(P, nothing, nothing)
    rank = min(LU_data.shape[-2:])
    left, top = first_of(LU_data, -1, rank), first_of(LU_data, -2, rank)
    return Unpacked(P, tril(left, -1) + identity_like(left), triu(top))


@answer_of("linalg_lu")
class LU(NamedTuple):
    """What linalg.lu answers."""

    P: Any
    L: Any
    U: Any


@composite(home="linalg", exact_out=True)
def linalg_lu(A: Value, *, pivot: bool = True) -> LU:
    """A as P @ L @ U: a permutation, a unit lower and an upper triangular matrix."""
    return LU(*lu_unpack(*lu_factors(A, pivot)))


@composite(home="linalg", exact_out=True)
def linalg_lu_solve(
    LU: Value, pivots: Value, B: Value, *, left: bool = True, adjoint: bool = False
) -> Value:
    """The solution of A @ X = B (left) or X @ A = B, with the LU factorization of A."""
    if not left:
        return mH(linalg_lu_solve(LU, pivots, mH(B), adjoint=not adjoint))
    check_pivots("linalg.lu_solve", pivots, LU.shape[-2])
    exchange = permutation(pivots, LU)
    if not adjoint:
        half = matmul(mH(exchange), B)
        half = linalg_solve_triangular(LU, half, upper=False, unitriangular=True)
        return linalg_solve_triangular(LU, half, upper=True)
    half = linalg_solve_triangular(mH(LU), B, upper=False)
    half = linalg_solve_triangular(mH(LU), half, upper=True, unitriangular=True)
    return matmul(exchange, half)
