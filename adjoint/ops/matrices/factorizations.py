"""Older forms of matrix factorizations, and approximate ones of low rank."""

from typing import Any, NamedTuple

from adjoint.call.out import write_out
from adjoint.call.rule import MATRICES
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import contiguous, strided
from adjoint.ops.arranging.shape import expand, transpose
from adjoint.ops.matrices.decompositions import (
    linalg_cholesky,
    linalg_qr,
    linalg_svd,
    reflected,
)
from adjoint.ops.matrices.linalg import (
    LinAlgError,
    check_matrices,
    linalg_solve_triangular,
)
from adjoint.ops.matrices.lu import linalg_lu_solve, lu_factors
from adjoint.ops.matrices.matmul import matmul, mH
from adjoint.ops.matrices.spectra import eigenpairs
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.reduction import mean
from adjoint.ops.shared_rules import refused_derivative
from adjoint.ops.signatures import answer_of

# ---- LU ----


@answer_of("linalg_lu_factor_ex")
class LUWithInfo(NamedTuple):
    """What lu with get_infos and linalg.lu_factor_ex answer."""

    LU: Any
    pivots: Any
    info: Any


@general(home=None, batching=MATRICES)
def first_zero_pivot(xp: Any, LU: Array) -> Array:
    """The place, counted from 1, of the first zero on the diagonal of U; 0 if there is none."""
    zeros = xp.diagonal(LU, 0, -2, -1) == 0
    if not zeros.shape[-1]:
        return xp.zeros(zeros.shape[:-1], "int32")
    return xp.where(zeros.any(-1), xp.argmax(zeros, -1) + 1, 0).astype("int32")


@composite(home="linalg", exact_out=True)
def linalg_lu_factor_ex(A: Value, *, pivot: bool = True, check_errors: bool = False) -> LUWithInfo:
    """linalg.lu_factor, and the place of the first zero on the diagonal of U, or 0."""
    packed, pivots = lu_factors(A, pivot)
    info = first_zero_pivot(packed.detach())
    if check_errors and info.any():
        raise LinAlgError("linalg_lu_factor_ex: U has a zero on its diagonal, so A is singular")
    return LUWithInfo(packed, pivots, info)


@composite
def lu(A: Value, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """L and U in one matrix and the exchanges of rows; see linalg.lu_factor."""
    if out is not None:  # copied, whatever its type
        found = zip(lu(A, pivot, get_infos), out, strict=True)
        return tuple(write_out("lu", value.to(target.dtype), target) for value, target in found)
    packed, pivots = lu_factors(A, pivot)
    if not get_infos:
        return packed, pivots
    return LUWithInfo(packed, pivots, first_zero_pivot(packed.detach()))


@composite(exact_out=True)
def lu_solve(input: Value, LU_data: Value, LU_pivots: Value) -> Value:
    """The solution of A @ X = input with the LU factorization of A; see linalg.lu_solve."""
    if input.ndim < 2:
        raise RuntimeError(f"lu_solve(): input must be a matrix, got shape {list(input.shape)}")
    return linalg_lu_solve(LU_data, LU_pivots, input)


@answer_of("triangular_solve")
class TriangularSolution(NamedTuple):
    """What triangular_solve answers."""

    solution: Any
    cloned_coefficient: Any


@composite(exact_out=True)
def triangular_solve(
    input: Value, A: Value, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolution:
    """The solution of A @ X = input, and A, of which one triangle is read."""
    for name, matrix in (("b", input), ("A", A)):
        if matrix.ndim < 2:
            raise RuntimeError(
                f"triangular_solve(): {name} must have at least 2 dimensions, got {matrix.ndim}"
            )
    turned = _transposed(A) if transpose else A
    solution = linalg_solve_triangular(
        turned, input, upper=upper != transpose, unitriangular=unitriangular
    )
    shape = (*solution.shape[:-2], *A.shape[-2:])
    return TriangularSolution(solution, expand(A, shape).clone())


def _transposed(A: Any) -> Any:
    return transpose(A, -2, -1)


# ---- reflections ----


@general(
    input=lambda grad, grad1: refused_derivative("geqrf")(grad),
    returns="a tau",
    batching=MATRICES,
)
def geqrf(xp: Any, input: Array) -> tuple[Array, Array]:
    """R on and above the diagonal, and below it and in tau the reflections whose product is Q."""
    check_matrices(input, square=False)
    turned, tau = xp.linalg.qr(input, mode="raw")
    return xp.copied(xp.swapaxes(turned, -2, -1), ordered=True), tau


@composite(exact_out=True)
def ormqr(
    input: Value, tau: Value, other: Value, left: bool = True, transpose: bool = False
) -> Value:
    """Q @ other, or other @ Q unless left, for the Q of reflections that geqrf answers.

    With transpose the conjugate transpose of Q takes its place.
    """
    if input.ndim < 2 or other.ndim < 2:
        raise RuntimeError(
            f"ormqr(): expected matrices, got shapes {list(input.shape)} and {list(other.shape)}"
        )
    if not input.shape[:-2] == tau.shape[:-1] == other.shape[:-2]:
        raise RuntimeError(
            f"ormqr(): input, tau and other must be batches of one shape, got "
            f"{list(input.shape)}, {list(tau.shape)} and {list(other.shape)}"
        )
    rows = other.shape[-2 if left else -1]
    if rows != input.shape[-2]:
        raise RuntimeError(
            f"ormqr(): other must have {input.shape[-2]} {'rows' if left else 'columns'} as input "
            f"has rows, got {rows}"
        )
    if tau.shape[-1] != min(rows, input.shape[-1]):
        raise RuntimeError(
            f"ormqr(): tau must hold {min(rows, input.shape[-1])} factors, got {tau.shape[-1]}"
        )
    if not left:
        return mH(ormqr(input, tau, mH(other), True, not transpose))
    return reflected(input, tau, other, transpose)


# ---- low rank ----


def _check_iterations(name: str, niter: Any) -> int:
    count = 2 if niter is None else niter
    if not isinstance(count, int) or count < 0:
        raise ValueError(f"{name}(): niter must be a non-negative integer, got {niter!r}")
    return count


def _range_basis(A: Any, q: int, niter: int) -> Any:
    """Orthonormal columns that nearly span what A maps to, found with a random start."""
    start = A.new_empty((A.shape[-1], q), layout=strided).detach().normal_()
    basis = linalg_qr(matmul(A, start))[0]
    for _ in range(niter):
        basis = linalg_qr(matmul(mH(A), basis))[0]
        basis = linalg_qr(matmul(A, basis))[0]
    return basis


@composite(method=False)
def svd_lowrank(
    A: Value, q: int | None = 6, niter: int | None = 2, M: Value | None = None
) -> tuple[Value, Value, Value]:
    """U, S and V with about U @ diag(S) @ V^H = A - M, of rank q."""
    rank = min(6 if q is None else q, *A.shape[-2:])
    count = _check_iterations("svd_lowrank", niter)
    shifted = A if M is None else A - M
    if A.shape[-2] < A.shape[-1]:
        V, S, U = svd_lowrank(mH(shifted), rank, count)
        return U, S, V
    basis = _range_basis(shifted, rank, count)
    U, S, Vh = linalg_svd(matmul(mH(basis), shifted), False)
    return matmul(basis, U), S, contiguous(mH(Vh))


@composite(method=False)
def pca_lowrank(
    A: Value, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Value, Value, Value]:
    """svd_lowrank of samples in rows, their mean taken off: V holds the principal directions."""
    smallest = min(A.shape[-2:])
    rank = min(6, smallest) if q is None else q
    if not isinstance(rank, int) or not 0 <= rank <= smallest:
        raise ValueError(f"pca_lowrank(): q must be an integer from 0 to {smallest}, got {q!r}")
    count = _check_iterations("pca_lowrank", niter)
    return svd_lowrank(A - _mean_row(A) if center else A, rank, count)


def _mean_row(A: Any) -> Any:
    """The mean of the rows; of a sparse matrix it is dense."""
    if A.layout is strided:
        return mean(A, -2, True)
    return (A.sum(-2, True).to_dense() / A.shape[-2]).expand(A.shape)


@composite(method=False)
def lobpcg(
    A: Value,
    k: int | None = None,
    B: Any = None,
    X: Any = None,
    n: int | None = None,
    iK: Any = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Value, Value]:
    """The k largest eigenvalues (or smallest) of A u = λ B u, A symmetric, with their vectors u.

    They are computed directly, of matrices made dense. What guides PyTorch's iteration (X but for
    its number of columns, n, iK, niter, tol, method, tracker and ortho_…) has no effect.
    """
    A, B = (M if M is None or M.layout is strided else M.to_dense() for M in (A, B))
    rows = A.shape[-1]
    count = k if k is not None else 1 if X is None else X.shape[-1]
    if count < 1 or rows < 3 * count:
        raise ValueError(
            f"lobpcg(): of {rows} by {rows} matrices from 1 to {rows // 3} eigenvalues can be "
            f"asked for, got k={count}"
        )
    half = None if B is None else linalg_cholesky(B)
    whole = (A + transpose(A, -2, -1)) / 2
    if half is not None:
        whole = linalg_solve_triangular(half, whole, upper=False)
        whole = linalg_solve_triangular(transpose(half, -2, -1), whole, upper=True, left=False)
    values, vectors = eigenpairs(whole, count, largest is None or largest)
    if half is not None:
        vectors = linalg_solve_triangular(transpose(half, -2, -1), vectors, upper=True)
    return values, vectors
