"""Inverses, determinants, solvers and functions of square matrices, all batched."""

import math
from typing import Any, NamedTuple

from adjoint.call.arguments import conj, holds_complex
from adjoint.call.rule import FRONT, MATRICES
from adjoint.dtypes import int32
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.arrange import tril, triu
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.shape import (
    basic_index,
    cat,
    expand,
    narrow,
    permute,
    reshape,
    squeeze,
    unsqueeze,
)
from adjoint.ops.arranging.strided import diagonal
from adjoint.ops.batch_rules import of_rank
from adjoint.ops.elementwise.complex_numbers import real
from adjoint.ops.elementwise.powers import log
from adjoint.ops.elementwise.selection import where
from adjoint.ops.matrices.matmul import matmul, mH, mT, same_dtype, shapes_of
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.reduction import sum
from adjoint.ops.shared_rules import refused_derivative, zero_of
from adjoint.ops.signatures import answer_of
from adjoint.tensors.concrete import concrete, has_values
from adjoint.tensors.core import TensorCore
from adjoint.tensors.tensor import Tensor


class LinAlgError(RuntimeError):
    """A matrix has no inverse, no factorization, or an algorithm did not converge."""


NOT_CONVERGED = "the matrix is not finite, or the algorithm did not converge"


def attempt(name: str, reason: str, function: Any, *args: Any) -> Any:
    """Call a library's function; its complaint about the values becomes LinAlgError."""
    try:
        return function(*args)
    except Exception as error:
        if type(error).__name__ != "LinAlgError":
            raise
        raise LinAlgError(f"{name}: {reason}") from None


def check_matrices(A: Any, square: bool = True) -> None:
    """Refuse what is not a batch of floating-point matrices."""
    if A.ndim < 2:
        raise RuntimeError(f"expected at least 2 dimensions, got shape {shapes_of(A)}")
    if A.dtype.kind not in "fc" or A.dtype.itemsize < 4:
        raise RuntimeError(
            f"expected single or double precision, real or complex, got {A.dtype}; "
            "convert with .to(adjoint.float32)"
        )
    if square and A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"expected square matrices, got {A.shape[-2]} by {A.shape[-1]} in shape {shapes_of(A)}"
        )


def is_vector(A: Any, B: Any) -> bool:
    """Whether the right side of an equation is a batch of vectors, as PyTorch decides it."""
    return B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))


# ---- inverses ----


def _inverse_rule(grad: Value, inverse: Any) -> Value:
    adjoint = mH(inverse)
    return -(adjoint @ grad @ adjoint)


@general(
    A=lambda grad, result: _inverse_rule(grad, result),
    saved_as={"result": "inverse"},
    node_name="LinalgInvExBackward0",
    home="linalg",
    numpy=True,
    autocast="float32",
    batching=MATRICES,
    jvp=lambda A_tangent, result: -(result @ A_tangent @ result),
    exact_out=True,
)
def linalg_inv(xp: Any, A: Array) -> Array:
    """The inverse of square matrices."""
    check_matrices(A)
    reason = "a singular matrix has no inverse; linalg.pinv gives what is nearest to one"
    return attempt("linalg_inv", reason, xp.linalg.inv, A)


@composite
def inverse(input: Value) -> Value:
    """The inverse of square matrices."""
    return linalg_inv(input)


@general(
    A=lambda grad0, result0: _inverse_rule(grad0, result0),
    returns="inverse info",
    home="linalg",
    autocast="float32",
    batching=MATRICES,
    jvp=lambda A_tangent, result0: (-(result0 @ A_tangent @ result0), None),
    exact_out=True,
)
def linalg_inv_ex(xp: Any, A: Array, *, check_errors: bool = False) -> tuple[Array, Array]:
    """The inverse, and 0 for each matrix that has one; the others become NaN."""
    check_matrices(A)
    pivots = xp.zero_pivots(A)
    if check_errors and xp.any(pivots):
        raise LinAlgError("linalg_inv_ex: a matrix is singular")
    replaced = (pivots > 0)[..., None, None]
    regular = xp.where(replaced, xp.eye(A.shape[-1], dtype=A.dtype), A)
    inverse = xp.where(replaced, xp.asarray(math.nan, dtype=A.dtype), xp.linalg.inv(regular))
    return inverse, pivots


def tolerance(xp: Any, largest: Any, A: Any, atol: Any, rtol: Any) -> Any:
    """Below which singular values count as zero: the larger of atol and rtol times the largest."""
    for name, bound in (("atol", atol), ("rtol", rtol)):
        if holds_complex(bound):
            raise RuntimeError(f"{name} must be real, got complex numbers")
    if rtol is None:
        default = max(A.shape[-2:]) * float(xp.finfo(A.dtype).eps)
        rtol = default if atol is None else xp.where(xp.asarray(atol) > 0, 0.0, default)
    bound = xp.asarray(rtol, dtype=largest.dtype) * largest
    return xp.maximum(bound, xp.asarray(0.0 if atol is None else atol, dtype=largest.dtype))


def _pseudo_inverse_tangent(A: Value, A_tangent: Value, result: Value) -> Value:
    back = mH(A_tangent)
    rows, columns = result @ mH(result) @ back, back @ mH(result) @ result
    return (
        (rows - rows @ A @ result)
        + (columns - result @ (A @ columns))
        - result @ A_tangent @ result
    )


def _pseudo_inverse_rule(grad: Value, A: Value, result: Value) -> Value:
    """Golub and Pereyra's derivative, for matrices of constant rank."""
    adjoint, back = mH(result), mH(grad)
    through_rows = back @ result @ adjoint
    through_columns = adjoint @ result @ back
    return (
        (through_rows - A @ (result @ through_rows))
        + (through_columns - (through_columns @ result) @ A)
        - adjoint @ grad @ adjoint
    )


def matrices_each(A_each: Any, A_shape: Any, *bounds: tuple[Any, bool]) -> list[Any]:
    """Matrices, which have the batch in front, and tolerances for each."""
    if len(A_shape) < 2:
        raise RuntimeError(f"expected at least 2 dimensions, got shape {tuple(A_shape)}")
    rank = len(A_shape) - 2
    return [A_each, *[of_rank(bound, batched, rank) for bound, batched in bounds]]


def _pseudo_inverse_each(
    A_each: Any,
    A_shape: Any,
    atol: Any,
    atol_batched: bool,
    rtol: Any,
    rtol_batched: bool,
    hermitian: bool,
) -> Any:
    bounds = ((atol, atol_batched), (rtol, rtol_batched))
    return pseudo_inverse(*matrices_each(A_each, A_shape, *bounds), hermitian)


@general(
    A=lambda grad, A, result: _pseudo_inverse_rule(grad, A, result),
    vmap=_pseudo_inverse_each,
    node_name="LinalgPinvBackward0",
    home=None,
    jvp=_pseudo_inverse_tangent,
)
def pseudo_inverse(
    xp: Any, A: Array, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Array:
    """The Moore-Penrose inverse; singular values up to the tolerance count as zero."""
    check_matrices(A, square=hermitian)
    if A.size == 0:
        return xp.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
    if hermitian:
        values, right = xp.linalg.eigh(A)
        left = right
    else:
        left, values, right = attempt("linalg.pinv", NOT_CONVERGED, xp.linalg.svd, A, False)
        right = xp.conjugate(xp.swapaxes(right, -2, -1))
    sizes = xp.abs(values)
    cutoff = tolerance(xp, xp.max(sizes, axis=-1), A, atol, rtol)
    kept = sizes > cutoff[..., None]
    reciprocal = xp.where(kept, 1 / xp.where(kept, values, 1), 0)
    scaled = right * reciprocal[..., None, :]
    return xp.matmul(scaled, xp.conjugate(xp.swapaxes(left, -2, -1)))


@composite(home="linalg", numpy=True)
def linalg_pinv(
    A: Value,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Operand | None = None,
    rtol: Any = None,
) -> Value:
    """The Moore-Penrose inverse."""
    bounds = atol, rtol if rcond is None else rcond
    if any(isinstance(bound, Tensor) and bound.requires_grad for bound in bounds):
        raise RuntimeError("linalg.pinv has no derivative by atol and rtol; detach() them first")
    return pseudo_inverse(A, *bounds, hermitian)


@composite
def pinverse(input: Value, rcond: float = 1e-15) -> Value:
    """The Moore-Penrose inverse."""
    return pseudo_inverse(input, None, rcond, False)


# ---- determinants ----


def _cofactors_rule(grad: Value, A: Value, result: Value) -> Value:
    back, cofactors = mH(linalg_inv(A)), conj(result)
    weight = sum(grad * back, (-2, -1), True)
    return weight * cofactors - cofactors @ mT(grad) @ back


def _cofactors_tangent(A: Value, A_tangent: Value, result: Value) -> Value:
    back = mT(linalg_inv(A))
    return sum(A_tangent * back, (-2, -1), True) * result - result @ mT(A_tangent) @ back


def _cofactors_by_inverse(xp: Any, A: Any) -> Any:
    """The determinant times the inverse, transposed; None where some matrix may be singular."""
    determinant = xp.linalg.det(A)
    if not (xp.readable() and bool(xp.all(xp.isfinite(determinant) & (determinant != 0)))):
        return None
    inverse = xp.linalg.inv(A)
    lengths = [xp.square(xp.abs(matrix)).sum(axis=(-2, -1)) for matrix in (A, inverse)]
    if not bool(xp.all(lengths[0] * lengths[1] < xp.finfo(A.dtype).eps ** -1.5)):
        return None
    turned = xp.copied(xp.swapaxes(inverse, -2, -1), ordered=True)
    return xp.into(xp.multiply, turned, turned, determinant[..., None, None])


@general(
    A=lambda grad, A, result: _cofactors_rule(grad, A, result),
    jvp=_cofactors_tangent,
    home=None,
    batching=MATRICES,
)
def cofactors(xp: Any, A: Array) -> Array:
    """The matrix of cofactors; from singular values, if need be: singular matrices have it too."""
    found = _cofactors_by_inverse(xp, A)  # a tenth of the time
    if found is not None:
        return found
    left, values, right = xp.linalg.svd(A, full_matrices=False)
    others = xp.where(xp.eye(A.shape[-1], dtype=bool), 1, values[..., None, :])
    scaled = xp.conjugate(left) * xp.prod(others, axis=-1)[..., None, :]
    sign = xp.linalg.det(left) * xp.linalg.det(right)
    return sign[..., None, None] * xp.matmul(scaled, xp.conjugate(right))


@general(
    A=lambda grad, A: unsqueeze(unsqueeze(grad, -1), -1) * conj(cofactors(A)),
    home="linalg",
    numpy=True,
    batching=MATRICES,
    jvp=lambda A, A_tangent: sum(A_tangent * cofactors(A), (-2, -1)),
    exact_out=True,
)
def linalg_det(xp: Any, A: Array) -> Array:
    """The determinant of square matrices."""
    check_matrices(A)
    return xp.linalg.det(A)


@composite
def det(input: Value) -> Value:
    """The determinant of square matrices."""
    return linalg_det(input)


def _slogdet_tangent(A: Value, A_tangent: Value, result0: Value) -> tuple[Any, Any]:
    trace = sum(mT(linalg_inv(A)) * A_tangent, (-2, -1))
    return result0 * (trace - conj(trace)) / 2, real(trace)


def _slogdet_rule(grad0: Value, grad1: Value, result0: Value, result1: Value, A: Value) -> Value:
    """With t = tr(inverse @ dA): d sign = i sign Im t, and d logabsdet = Re t."""
    singular = unsqueeze(unsqueeze(result1 == -math.inf, -1), -1)
    inverse = linalg_inv(where(singular, math.nan, A))  # which is refused where it has none
    turn = grad0 * conj(result0)
    weight = grad1 + (turn - conj(turn)) / 2
    return unsqueeze(unsqueeze(weight, -1), -1) * mH(inverse)


@general(
    A=lambda grad0, grad1, result0, result1, A: _slogdet_rule(grad0, grad1, result0, result1, A),
    returns="sign logabsdet",
    home="linalg",
    numpy=True,
    batching=MATRICES,
    jvp=_slogdet_tangent,
    exact_out=True,
)
def linalg_slogdet(xp: Any, A: Array) -> tuple[Array, Array]:
    """Sign and logarithm of the absolute value of the determinant."""
    check_matrices(A)
    sign, logarithm = xp.linalg.slogdet(A)
    return sign, logarithm


@answer_of("slogdet")
class SignAndLogarithm(NamedTuple):
    """What slogdet answers."""

    sign: Any
    logabsdet: Any


@composite
def slogdet(input: Value) -> Any:
    """Sign and logarithm of the absolute value of the determinant."""
    return SignAndLogarithm(*linalg_slogdet(input))


@composite
def logdet(input: Value) -> Value:
    """The determinant's logarithm; NaN if it is negative."""
    sign, logarithm = linalg_slogdet(input)
    if holds_complex(sign):
        return logarithm + log(sign)
    return where(sign == -1, math.nan, logarithm)


# ---- solvers ----


def _right_side(A_tangent: Any, B_tangent: Any, result: Value, left: bool) -> Any:
    """dB - dA X, or dB - X dA: A dX is that."""
    if A_tangent is None:
        return B_tangent
    moved = A_tangent @ result if left else result @ A_tangent
    return -moved if B_tangent is None else B_tangent - moved


@general(
    factors=refused_derivative("a solution by factors"),
    B=refused_derivative("a solution by factors"),
    home=None,
    batching=FRONT,
)
def solve_adjoint(xp: Any, factors: Array, pivots: Array, B: Array) -> Array:
    """X with A^H @ X = B, by what a solver has kept of A."""
    return xp.solved_by((factors, pivots), B, adjoint=True)


def _back_by_factors(grad: Any, hidden: Any, left: bool) -> Any:
    """The gradient of the right side; of X @ A = B the transpose of A was factored."""
    return solve_adjoint(*hidden, grad) if left else mT(solve_adjoint(*hidden, mT(grad)))


def _solve_rule(
    grad: Value, A: Value, result: Value, hidden: Any, left: bool, needs: tuple[bool, bool]
) -> tuple[Any, Any]:
    if hidden is None or isinstance(grad, TensorCore):
        back = solve_matrix(mH(A), grad, left)
    else:
        back = _back_by_factors(grad, hidden, left)
    return _to_matrix(back, result, left) if needs[0] else None, back


def _to_matrix(back: Value, result: Value, left: bool) -> Value:
    """The gradient of the matrix, from that of the right side."""
    if result.shape[-1 if left else -2] == 1:  # a column by a row
        return -back * mH(result)
    return -(back @ mH(result) if left else mH(result) @ back)


@general(
    joint=("A B", _solve_rule),
    hides=True,
    ordered=True,
    node_name="LinalgSolveExBackward0",
    home=None,
    autocast="float32",
    batching=MATRICES,
    jvp=lambda A, A_tangent, B_tangent, result, left: solve_matrix(
        A, _right_side(A_tangent, B_tangent, result, left), left
    ),
)
def solve_matrix(xp: Any, A: Array, B: Array, left: bool = True) -> tuple[Array, Any]:
    """X with A @ X = B, or X @ A = B; both sides are matrices."""
    check_matrices(A)
    _check_equation(A, B, left)
    if not left:
        A, B = xp.swapaxes(A, -2, -1), xp.swapaxes(B, -2, -1)
    factors = xp.factored(A, B.shape[-1])
    if factors is None:
        reason = "linalg.solve got a singular matrix; linalg.lstsq finds the nearest solution"
        X = attempt("solve_matrix", reason, xp.linalg.solve, *xp.in_one_batch(A, B))
    else:
        X = xp.solved_by(factors, B, adjoint=False)
    return X if left else xp.swapaxes(X, -2, -1), factors


def _check_equation(A: Any, B: Any, left: bool) -> None:
    same_dtype(A, B)
    if B.ndim < 2:
        raise RuntimeError(f"the right side must be matrices, got shapes {shapes_of(A, B)}")
    if B.shape[-2 if left else -1] != A.shape[-1]:
        equation = "A @ X = B" if left else "X @ A = B"
        raise RuntimeError(f"shapes {shapes_of(A, B)} do not fit the equation {equation}")


@composite(home="linalg", numpy=True, exact_out=True)
def linalg_solve(A: Value, B: Value, *, left: bool = True) -> Value:
    """The solution of A @ X = B (left) or X @ A = B, for vectors or matrices B."""
    if not is_vector(A, B):
        return solve_matrix(A, B, left)
    return squeeze(solve_matrix(A, unsqueeze(B, -1), left), -1)


@answer_of("linalg_solve_ex")
class SolveEx(NamedTuple):
    """What solve_ex answers."""

    result: Any
    info: Any


def _solve_with_info_rule(
    grad0: Value, A: Value, result0: Value, hidden: Any, left: bool, needs: tuple[bool, bool]
) -> tuple[Any, Any]:
    if hidden is None or isinstance(grad0, TensorCore):
        back = solve_with_info(mH(A), grad0, left)[0]
    else:
        back = _back_by_factors(grad0, hidden, left)
    return _to_matrix(back, result0, left) if needs[0] else None, back


def _solve_with_info_each(A: Any, A_batched: bool, B: Any, B_batched: bool, left: bool) -> Any:
    """The batch is given to A where it has none: what says which are singular needs it."""
    whole = A if A_batched else expand(unsqueeze(A, 0), (B.shape[0], *A.shape))
    side = B if B_batched else unsqueeze(B, 0)
    rank = max(whole.ndim, side.ndim) - 1
    X, info = solve_with_info(of_rank(whole, True, rank), of_rank(side, True, rank), left)
    return X, reshape(info, whole.shape[:-2])


@general(
    joint=("A B", _solve_with_info_rule),
    hides=True,
    vmap=_solve_with_info_each,
    returns="result info",
    node_name="LinalgSolveExBackward0",
    home=None,
    autocast="float32",
    batching=MATRICES,
    jvp=lambda A, A_tangent, B_tangent, result0, left: (
        solve_with_info(A, _right_side(A_tangent, B_tangent, result0, left), left)[0],
        None,
    ),
)
def solve_with_info(xp: Any, A: Array, B: Array, left: bool = True) -> tuple[Any, Any]:
    """X with A @ X = B, or X @ A = B, and 1 for each singular matrix, whose X is NaN."""
    check_matrices(A)
    _check_equation(A, B, left)
    if not left:
        A, B = xp.swapaxes(A, -2, -1), xp.swapaxes(B, -2, -1)
    factors = xp.factored(A, B.shape[-1])
    if factors is None:
        X, info = xp.solved(A, B)
    else:
        X, info = xp.solved_by(factors, B, adjoint=False), xp.zeros(A.shape[:-2], "int32")
    return (X if left else xp.swapaxes(X, -2, -1), info), factors


@composite(home="linalg", exact_out=True)
def linalg_solve_ex(A: Value, B: Value, *, left: bool = True, check_errors: bool = False) -> Any:
    """The solution, and 0 for each matrix that has an inverse; the others' become NaN."""
    if check_errors:
        solution = linalg_solve(A, B, left=left)
        return SolveEx(solution, solution.new_zeros(A.shape[:-2], dtype=int32))
    if not is_vector(A, B):
        return SolveEx(*solve_with_info(A, B, left))
    solution, info = solve_with_info(A, unsqueeze(B, -1), left)
    return SolveEx(squeeze(solution, -1), info)


def _triangle(value: Any, upper: bool, unitriangular: bool) -> Any:
    """The triangle of a gradient that the matrix has."""
    if upper:
        return triu(value, 1 if unitriangular else 0)
    return tril(value, -1 if unitriangular else 0)


def _triangular_tangent(
    A: Value,
    A_tangent: Any,
    B_tangent: Any,
    result: Value,
    upper: bool,
    left: bool,
    unitriangular: bool,
) -> Value:
    moved = None if A_tangent is None else _triangle(A_tangent, upper, unitriangular)
    side = _right_side(moved, B_tangent, result, left)
    return linalg_solve_triangular(A, side, upper=upper, left=left, unitriangular=unitriangular)


def _triangular_rule(
    grad: Value,
    A: Value,
    result: Value,
    upper: bool,
    left: bool,
    unitriangular: bool,
    needs: tuple[bool, bool],
) -> tuple[Any, Any]:
    back = linalg_solve_triangular(
        mH(A), grad, upper=not upper, left=left, unitriangular=unitriangular
    )
    if not needs[0]:
        return None, back
    outer = back @ mH(result) if left else mH(result) @ back
    return -_triangle(outer, upper, unitriangular), back


@general(
    joint=("A B", _triangular_rule),
    promotes="A B",
    home="linalg",
    jvp=_triangular_tangent,
    batching=MATRICES,
    exact_out=True,
)
def linalg_solve_triangular(
    xp: Any, A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """The solution of A @ X = B (left) or X @ A = B, reading one triangle of A only."""
    check_matrices(A)
    _check_equation(A, B, left)
    if not left:
        A, B, upper = xp.swapaxes(A, -2, -1), xp.swapaxes(B, -2, -1), not upper
    X = xp.solved_triangle(A, B, upper, unitriangular)
    return X if left else xp.swapaxes(X, -2, -1)


@general(
    vmap=lambda A_each, A_shape, rcond, rcond_batched: lstsq_facts(
        *matrices_each(A_each, A_shape, (rcond, rcond_batched))
    ),
    home=None,
    autocast="float32",
)
def lstsq_facts(xp: Any, A: Array, rcond: Any = None) -> tuple[Array, Array]:
    """Rank and singular values of the left side of a least-squares problem."""
    check_matrices(A, square=False)
    values = xp.linalg.svd(A, compute_uv=False)
    largest = xp.max(values, axis=-1, initial=0)
    kept = values > tolerance(xp, largest, A, None, rcond)[..., None]
    return xp.sum(kept, axis=-1, dtype="int64"), values


@answer_of("linalg_lstsq")
class Lstsq(NamedTuple):
    """What lstsq answers."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


@composite(home="linalg")
def linalg_lstsq(
    A: Value, B: Value, rcond: float | None = None, *, driver: str | None = None
) -> Any:
    """The X that minimizes the norm of A @ X - B, and facts about the problem."""
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"lstsq: driver must be gels, gelsy, gelsd or gelss, got {driver!r}")
    same_dtype(A, B)
    vector = is_vector(A, B)
    right = unsqueeze(B, -1) if vector else B
    if right.ndim < 2 or A.ndim < 2 or A.shape[-2] != right.shape[-2]:
        raise RuntimeError(f"lstsq: shapes {shapes_of(A, B)} do not have the same number of rows")
    if driver == "gels":  # which takes the rank to be full
        rcond = None
    elif driver == "gelsd" and isinstance(rcond, (int, float)) and rcond >= 1:
        rcond = finfo(A.dtype).eps  # LAPACK's takes what would leave nothing for no bound at all
    rank, values = lstsq_facts(A, rcond)
    solution = matmul(pseudo_inverse(A, None, rcond), right)
    difference = matmul(A, solution) - right
    residuals = sum(real(conj(difference) * difference), -2)
    nothing = (slice(0, 0),)
    low = has_values(rank) and bool((rank < A.shape[-1]).any())
    if driver in (None, "gelsy") or low or A.shape[-2] <= A.shape[-1]:
        residuals = basic_index(reshape(residuals, (-1,)), nothing)
    if driver not in ("gelsd", "gelss"):
        values = basic_index(reshape(values, (-1,)), nothing)
    if driver == "gels":
        rank = basic_index(reshape(rank, (-1,)), nothing)
    return Lstsq(squeeze(solution, -1) if vector else solution, residuals, rank, values)


@composite
def cholesky_solve(input: Value, L: Value, upper: bool = False) -> Value:
    """X with A @ X = input, for the Cholesky factor L of A."""
    lower = mH(L) if upper else L
    half = linalg_solve_triangular(lower, input, upper=False)
    return linalg_solve_triangular(mH(lower), half, upper=True)


@composite
def cholesky_inverse(L: Value, upper: bool = False) -> Value:
    """The inverse of A, for the Cholesky factor L of A."""
    lower = mH(L) if upper else L
    inverse = linalg_solve_triangular(lower, identity_like(lower), upper=False)
    if has_values(lower) and not concrete(lower).diagonal(0, -2, -1).all():
        raise LinAlgError("cholesky_inverse: the diagonal has a zero, so A is singular")
    return matmul(mH(inverse), inverse)


@composite(home="linalg")
def linalg_diagonal(A: Value, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """A view of the diagonals of matrices."""
    return diagonal(A, offset, dim1, dim2)


@composite(home="linalg")
def linalg_tensorinv(A: Value, ind: int = 2) -> Value:
    """The inverse of the tensordot that sums over all but the first ind dimensions."""
    if ind <= 0:
        raise RuntimeError(f"tensorinv: ind must be positive, got {ind}")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    size = math.prod(rows)
    if math.prod(columns) != size:
        raise RuntimeError(
            f"tensorinv: sizes {rows} and {columns} of shape {shapes_of(A)} have other products"
        )
    return reshape(linalg_inv(reshape(A, (size, size))), (*columns, *rows))


@composite(home="linalg")
def linalg_tensorsolve(A: Value, B: Value, dims: Any = None) -> Value:
    """X with tensordot(A, X, X.ndim) = B; dims of A are moved to its end first."""
    if dims is not None:
        moved = [d % A.ndim for d in dims]
        A = permute(A, [d for d in range(A.ndim) if d not in moved] + moved)
    unknown = tuple(A.shape[B.ndim :])
    size = math.prod(B.shape)
    if math.prod(unknown) != size:
        raise RuntimeError(f"tensorsolve: shapes {shapes_of(A, B)} do not make a square system")
    solution = linalg_solve(reshape(A, (size, size)), reshape(B, (size,)))
    return reshape(solution, unknown)


# ---- functions of matrices ----


@general(
    input=lambda grad: zero_of(grad),
    jvp=lambda result: zero_of(result),
    home=None,
    batching=MATRICES,
)
def identity_like(xp: Any, input: Array) -> Array:
    """Matrices in the shape of input, with 1 on the diagonal and 0 elsewhere."""
    one = xp.eye(*input.shape[-2:], dtype=input.dtype)
    return one if input.ndim == 2 else xp.zeros(input.shape, input.dtype) + one


def first_of(value: Any, dim: int, size: int) -> Any:
    """The first elements along a dimension; where these are all, nothing is done."""
    return value if value.shape[dim] == size else narrow(value, dim, 0, size)


@composite(home="linalg", numpy=True)
def linalg_matrix_power(A: Value, n: int) -> Value:
    """The n-th power of square matrices by repeated squaring; negative n invert first."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"matrix_power: n must be an int, got {n!r}")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"matrix_power: expected square matrices, got shape {shapes_of(A)}")
    if n == 0:
        return identity_like(A)
    if n < 0:
        A, n = linalg_inv(A), -n
    result = None
    while True:
        if n & 1:
            result = A if result is None else matmul(result, A)
        n >>= 1
        if n == 0:
            return result
        A = matmul(A, A)


@composite
def matrix_power(input: Value, n: int) -> Value:
    """The n-th power of square matrices."""
    return linalg_matrix_power(input, n)


# Numerator of the [13/13] Padé approximant of exp, and the 1-norm up to which it is exact to
# double precision (Higham 2005).
_PADE = [
    math.factorial(26 - k)
    * math.factorial(13)
    / (math.factorial(26) * math.factorial(k) * math.factorial(13 - k))
    for k in range(14)
]
_PADE_RADIUS = 5.371920351148152


def _exponential_rule(grad: Value, A: Value) -> Value:
    """exp of [[A, G], [0, A]] has the derivative at A in direction G in its corner."""
    back, size = mH(A), A.shape[-1]
    above, below = cat([back, grad], -1), cat([zero_of(back), back], -1)
    both = linalg_matrix_exp(cat([above, below], -2))
    return narrow(narrow(both, -2, 0, size), -1, size, size)


@general(
    A=lambda grad, A: _exponential_rule(grad, A),
    home="linalg",
    jvp=lambda A, A_tangent: _exponential_rule(A_tangent, mH(A)),
    batching=MATRICES,
    wide=True,
)
def linalg_matrix_exp(xp: Any, A: Array) -> Array:
    """The exponential of square matrices: a Padé approximant, scaled down and squared up."""
    check_matrices(A)
    if A.size == 0:
        return xp.zeros(A.shape, A.dtype)
    norm = xp.max(xp.sum(xp.abs(A), axis=-2), axis=-1)
    large = xp.isfinite(norm) & (norm > _PADE_RADIUS)
    halvings = xp.where(large, xp.ceil(xp.log2(xp.where(large, norm, 1) / _PADE_RADIUS)), 0)
    A = A * xp.asarray(2.0 ** -halvings[..., None, None], A.dtype)
    square = xp.matmul(A, A)
    power = xp.broadcast_to(xp.eye(A.shape[-1], dtype=A.dtype), A.shape)
    even, odd = power * _PADE[0], power * _PADE[1]
    for k in range(2, 14, 2):
        power = xp.matmul(power, square)
        even, odd = even + power * _PADE[k], odd + power * _PADE[k + 1]
    odd = xp.matmul(A, odd)
    return xp.squared_up(xp.linalg.solve(even - odd, even + odd), halvings)


@composite
def matrix_exp(input: Value) -> Value:
    """The exponential of square matrices."""
    return linalg_matrix_exp(input)
