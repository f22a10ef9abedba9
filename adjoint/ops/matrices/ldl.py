"""The factorization L D L^T of symmetric or Hermitian matrices, batched, by Bunch and Kaufman.

D has blocks of one or two rows. Which it is follows from the numbers, so that each step computes
both and takes, in each matrix of a batch, the one that is due; pivots are those of LAPACK.
"""

import math
from typing import Any, NamedTuple

from adjoint.call.rule import FRONT, MATRICES
from adjoint.dtypes import INTEGER, category_of
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.matrices.linalg import LinAlgError, check_matrices
from adjoint.ops.matrices.lu import check_pivots
from adjoint.ops.op import composite, general
from adjoint.ops.shared_rules import refused_derivative
from adjoint.ops.signatures import answer_of
from adjoint.tensors.concrete import has_values

_GROWTH = (1 + math.sqrt(17)) / 8  # what a pivot may be smaller than its column


@answer_of("linalg_ldl_factor_ex")
class LDLWithInfo(NamedTuple):
    """What linalg.ldl_factor_ex answers."""

    LD: Any
    pivots: Any
    info: Any


@answer_of("linalg_ldl_factor")
class LDL(NamedTuple):
    """What linalg.ldl_factor answers."""

    LD: Any
    pivots: Any


def _sizes(xp: Any, values: Any) -> Any:
    """How large elements are, as LAPACK compares them."""
    return xp.abs(xp.real(values)) + xp.abs(xp.imag(values))


def _at(xp: Any, values: Any, place: Any) -> Any:
    """The element of each vector at its place."""
    return xp.take_along_axis(values, place[..., None], axis=-1)[..., 0]


def _exchanged(xp: Any, places: Any, first: Any, second: Any) -> Any:
    """The places with two of them exchanged, in each matrix."""
    first, second = first[..., None], second[..., None]
    return xp.where(places == first, second, xp.where(places == second, first, places))


def _mirrored(xp: Any, A: Any, hermitian: bool) -> Any:
    """The whole matrix that the lower triangle of A stands for."""
    lower = xp.tril(A, -1)
    upper = xp.swapaxes(lower, -1, -2)
    places = xp.arange(A.shape[-1])
    diagonal = xp.where(places[:, None] == places, xp.real(A) if hermitian else A, 0)
    return lower + (xp.conjugate(upper) if hermitian else upper) + diagonal


def _pivot(xp: Any, A: Any, k: int, places: Any) -> tuple[Any, Any, Any]:
    """The row to exchange at step k, whether the block has two rows, and whether all is zero."""
    column = _sizes(xp, A[..., :, k])
    own = column[..., k]
    below = xp.where(places > k, column, -1)
    other = xp.argmax(below, axis=-1)
    largest = xp.maximum(xp.max(below, axis=-1), 0)
    rows = xp.take_along_axis(A, other[..., None, None], axis=-2)[..., 0, :]
    row = _sizes(xp, rows)
    beside = xp.where((places >= k) & (places != other[..., None]), row, 0)
    widest = xp.max(beside, axis=-1)
    safe = xp.where(widest == 0, 1, widest)
    nothing = (xp.maximum(own, largest) == 0) | xp.isnan(own)
    stays = nothing | (own >= _GROWTH * largest) | (own >= _GROWTH * largest * (largest / safe))
    single = stays | (_at(xp, row, other) >= _GROWTH * widest)
    return xp.where(stays, k, other), ~single, nothing


def _step(xp: Any, A: Any, k: int, two: Any, skip: Any, hermitian: bool) -> Any:
    """A after the columns of one block, one or two, have been taken out of what follows."""
    places = xp.arange(A.shape[-1])
    beside = min(k + 1, A.shape[-1] - 1)
    after = places > xp.where(two, k + 1, k)[..., None]
    first = xp.where(after, A[..., :, k], 0)
    second = xp.where(after & two[..., None], A[..., :, beside], 0)
    d11, d21, d22 = A[..., k, k], A[..., beside, k], A[..., beside, beside]
    d12 = xp.conjugate(d21) if hermitian else d21
    # Divided by what lies beside the diagonal first, as LAPACK does, so that nothing overflows.
    corner = xp.where(two, d21, 1)
    turned = xp.where(two, d12, 1)
    spread = (d11 / turned) * (d22 / corner) - 1
    spread = xp.where(two, spread, 1)
    single = xp.where(d11 == 0, 1, d11)
    one_first = first / xp.where(two, 1, single)[..., None]
    two_first = (first * (d22 / corner)[..., None] - second) / (spread * turned)[..., None]
    two_second = (second * (d11 / turned)[..., None] - first) / (spread * corner)[..., None]
    new_first = xp.where(two[..., None], two_first, one_first)
    new_second = xp.where(two[..., None], two_second, 0)
    left = xp.stack([new_first, new_second], axis=-1)
    right = xp.stack([first, second], axis=-1)
    right = xp.conjugate(right) if hermitian else right
    rest = A - left @ xp.swapaxes(right, -1, -2)
    rest = xp.where(after[..., :, None] & (places == k), new_first[..., :, None], rest)
    doubled = after[..., :, None] & two[..., None, None] & (places == k + 1)
    rest = xp.where(doubled, new_second[..., :, None], rest)
    return xp.where(skip[..., None, None], A, rest)


@general(
    A=refused_derivative("linalg.ldl_factor"),
    home=None,
    returns="LD pivots info",
    batching=MATRICES,
)
def ldl_factors(xp: Any, A: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """L below the diagonal, D on and beside it; LAPACK's pivots; the first zero block, or 0."""
    check_matrices(A)
    found = xp.ldl(A, hermitian)
    if found is not None:
        return found[0], found[1], found[2]
    size = A.shape[-1]
    batch = A.shape[:-2]
    places = xp.arange(size)
    whole = _mirrored(xp, A, hermitian)
    within = xp.zeros(batch, "bool")
    info = xp.zeros(batch, "int32")
    pivots: list[Any] = []
    for k in range(size):
        chosen, two, nothing = _pivot(xp, whole, k, places)
        skip = nothing | within
        two = two & ~skip
        last = xp.where(two, k + 1, k)
        order = _exchanged(xp, places, last, xp.where(skip, k, chosen))
        order = xp.where(skip[..., None], places, order)
        moved = xp.take_along_axis(whole, order[..., :, None], axis=-2)
        moved = xp.take_along_axis(moved, order[..., None, :], axis=-1)
        inner = (places >= k)[:, None] & (places >= k)
        whole = _step(xp, xp.where(inner, moved, whole), k, two, skip, hermitian)
        info = xp.where((info == 0) & nothing & ~within, k + 1, info)
        pivot = xp.where(two, -(chosen + 1), xp.where(skip, k + 1, chosen + 1))
        pivots.append(xp.where(within, pivots[-1], pivot) if pivots else pivot)
        within = two
    stacked = xp.stack(pivots, axis=-1) if pivots else xp.zeros((*batch, 0))
    return xp.tril(whole), stacked.astype("int32"), info.astype("int32")


def _blocks(xp: Any, pivots: Any) -> list[tuple[Any, Any]]:
    """For each row whether it is the first, and whether it is the second, of a block of two."""
    found: list[tuple[Any, Any]] = []
    second = xp.zeros(pivots.shape[:-1], "bool")
    for k in range(pivots.shape[-1]):
        first = (pivots[..., k] < 0) & ~second
        found.append((first, second))
        second = first
    return found


def _rows_exchanged(xp: Any, B: Any, k: int, pivots: Any, first: Any, second: Any) -> Any:
    """B with the rows exchanged that the step of a block exchanges."""
    places = xp.arange(B.shape[-2])
    chosen = xp.abs(pivots[..., k]) - 1
    last = xp.where(first, k + 1, k)
    order = _exchanged(xp, places, last, chosen)
    order = xp.where(second[..., None], places, order)
    return xp.take_along_axis(B, order[..., None], axis=-2)


def _block_solved(xp: Any, LD: Any, B: Any, k: int, kinds: Any, hermitian: bool) -> Any:
    """B with rows k and k + 1 divided by D, as far as they belong to a block that begins at k."""
    first, second = kinds
    places = xp.arange(B.shape[-2])[:, None]
    beside = min(k + 1, B.shape[-2] - 1)
    d11, d21, d22 = (LD[..., i, j][..., None] for i, j in ((k, k), (beside, k), (beside, beside)))
    d12 = xp.conjugate(d21) if hermitian else d21
    top, bottom = B[..., k, :], B[..., beside, :]
    two, done = first[..., None], second[..., None]
    spread = xp.where(done, 1, xp.where(two, d11 * d22 - d12 * d21, d11))
    upper = xp.where(two, d22 * top - d12 * bottom, top) / spread
    lower = xp.where(two, d11 * bottom - d21 * top, 1) / spread
    B = xp.where((places == k) & ~done[..., None], upper[..., None, :], B)
    return xp.where((places == k + 1) & two[..., None], lower[..., None, :], B)


@general(
    LD=refused_derivative("linalg.ldl_solve"),
    B=refused_derivative("linalg.ldl_solve"),
    home=None,
    batching=FRONT,
)
def ldl_solved(xp: Any, LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    """The solution of A @ X = B by the factors of A."""
    size = LD.shape[-1]
    places = xp.arange(size)
    batch = xp.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    B = xp.broadcast_to(B, (*batch, *B.shape[-2:]))
    pivots = xp.broadcast_to(pivots, (*batch, size))
    LD = xp.broadcast_to(LD, (*batch, size, size))
    found = xp.ldl_solution(LD, pivots, B, hermitian)
    if found is not None:
        return found
    blocks = _blocks(xp, pivots)
    columns = []
    for k, (first, second) in enumerate(blocks):
        B = _rows_exchanged(xp, B, k, pivots, first, second)
        after = places > xp.where(first, k + 1, k)[..., None]
        columns.append(xp.where(after, LD[..., :, k], 0))
        B = B - columns[k][..., :, None] * B[..., k, :][..., None, :]
    for k, kinds in enumerate(blocks):
        B = _block_solved(xp, LD, B, k, kinds, hermitian)
    for k, (first, second) in reversed(list(enumerate(blocks))):
        column = xp.conjugate(columns[k]) if hermitian else columns[k]
        share = (column[..., :, None] * B).sum(-2)[..., None, :]
        B = B - xp.where(places[:, None] == k, share, 0)
        B = _rows_exchanged(xp, B, k, pivots, first, second)
    return B + xp.zeros_like(B)


@composite(home="linalg", exact_out=True)
def linalg_ldl_factor_ex(
    A: Value, *, hermitian: bool = False, check_errors: bool = False
) -> LDLWithInfo:
    """linalg.ldl_factor, and the place of the first block of D that is zero, or 0."""
    LD, pivots, info = ldl_factors(A, hermitian)
    if check_errors and has_values(info) and info.any():
        raise LinAlgError("linalg_ldl_factor_ex: a block of D is zero, so A is singular")
    return LDLWithInfo(LD, pivots, info)


@composite(home="linalg", exact_out=True)
def linalg_ldl_factor(A: Value, *, hermitian: bool = False) -> LDL:
    """L and D in one matrix, with A = L D L^T (or L D L^H), and the exchanges of rows."""
    found = linalg_ldl_factor_ex(A, hermitian=hermitian, check_errors=True)
    return LDL(found.LD, found.pivots)


@composite(home="linalg", exact_out=True)
def linalg_ldl_solve(LD: Value, pivots: Value, B: Value, *, hermitian: bool = False) -> Value:
    """The solution of A @ X = B by the factors and pivots of linalg.ldl_factor."""
    check_matrices(LD)
    check_matrices(B, square=False)
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"linalg.ldl_solve: expected as many rows of B as LD has, got shapes {list(LD.shape)} "
            f"and {list(B.shape)}"
        )
    if category_of(pivots.dtype) != INTEGER:
        raise RuntimeError(f"linalg.ldl_solve: pivots must be integers, got {pivots.dtype.name}")
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise RuntimeError(
            f"linalg.ldl_solve: pivots must be of shape {list(LD.shape[:-1])}, got "
            f"{list(pivots.shape)}"
        )
    if LD.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.ldl_solve: LD is {LD.dtype.name}, and B is {B.dtype.name}; both must be one"
        )
    check_pivots("linalg.ldl_solve", pivots, LD.shape[-1], blocks=True)
    if LD.ndim < B.ndim:  # all of one rank, so that a batch of vmap may come in front
        lead = (1,) * (B.ndim - LD.ndim)
        LD, pivots = reshape(LD, (*lead, *LD.shape)), reshape(pivots, (*lead, *pivots.shape))
    elif B.ndim < LD.ndim:
        B = reshape(B, (*(1,) * (LD.ndim - B.ndim), *B.shape))
    return ldl_solved(LD, pivots, B, hermitian)
