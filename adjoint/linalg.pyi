"""The types of linalg.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint.ops.matrices.linalg import LinAlgError as LinAlgError
from adjoint.return_types import linalg_eig
from adjoint.return_types import linalg_eigh
from adjoint.return_types import linalg_inv_ex
from adjoint.return_types import linalg_ldl_factor
from adjoint.return_types import linalg_ldl_factor_ex
from adjoint.return_types import linalg_lu
from adjoint.return_types import linalg_lu_factor
from adjoint.return_types import linalg_lu_factor_ex
from adjoint.return_types import linalg_qr
from adjoint.return_types import linalg_slogdet
from adjoint.return_types import linalg_svd
from adjoint.tensors.tensor import Tensor
from collections.abc import Sequence
from typing import Any

def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with L @ L^H = A, or upper its conjugate transpose."""
def cholesky_ex(
    A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None
) -> Any:
    """The Cholesky factor, and 0 for each matrix that has one; the others become NaN."""
def cond(A: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number with respect to a matrix norm; infinite for singular matrices."""
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Cross product of the vectors along dim."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices."""
def diagonal(
    A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1, out: Tensor | None = None
) -> Tensor:
    """A view of the diagonals of matrices."""
def eig(A: Tensor, *, out: tuple[Tensor, ...] | None = None) -> linalg_eig:
    """Eigenvalues and eigenvectors of square matrices, complex even for real ones."""
def eigh(A: Tensor, UPLO: str = "L", *, out: tuple[Tensor, ...] | None = None) -> linalg_eigh:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices."""
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues of square matrices, complex even for real ones."""
def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues of Hermitian matrices in ascending order."""
def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of reflections, as QR algorithms store it."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""
def inv_ex(
    A: Tensor, *, check_errors: bool = False, out: tuple[Tensor, ...] | None = None
) -> linalg_inv_ex:
    """The inverse, and 0 for each matrix that has one; the others become NaN."""
def ldl_factor(
    A: Tensor, *, hermitian: bool = False, out: tuple[Tensor, ...] | None = None
) -> linalg_ldl_factor:
    """L and D in one matrix, with A = L D L^T (or L D L^H), and the exchanges of rows."""
def ldl_factor_ex(
    A: Tensor,
    *,
    hermitian: bool = False,
    check_errors: bool = False,
    out: tuple[Tensor, ...] | None = None,
) -> linalg_ldl_factor_ex:
    """linalg.ldl_factor, and the place of the first block of D that is zero, or 0."""
def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None
) -> Tensor:
    """The solution of A @ X = B by the factors and pivots of linalg.ldl_factor."""
def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: Any = None,
) -> Any:
    """The X that minimizes the norm of A @ X - B, and facts about the problem."""
def lu(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, ...] | None = None) -> linalg_lu:
    """A as P @ L @ U: a permutation, a unit lower and an upper triangular matrix."""
def lu_factor(
    A: Tensor, *, pivot: bool = True, out: tuple[Tensor, ...] | None = None
) -> linalg_lu_factor:
    """L below and U on and above the diagonal of one matrix, and the exchanges of rows."""
def lu_factor_ex(
    A: Tensor,
    *,
    pivot: bool = True,
    check_errors: bool = False,
    out: tuple[Tensor, ...] | None = None,
) -> linalg_lu_factor_ex:
    """linalg.lu_factor, and the place of the first zero on the diagonal of U, or 0."""
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The solution of A @ X = B (left) or X @ A = B, with the LU factorization of A."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product of the last two dimensions, batches broadcast; 1-d operands are vectors."""
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of square matrices: a Padé approximant, scaled down and squared up."""
def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """A norm of the matrices in the two dimensions dim: of their elements, or as an operator."""
def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of square matrices by repeated squaring; negative n invert first."""
def matrix_rank(
    A: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The rank: how many singular values are above the tolerance."""
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Product of several matrices in the cheapest order; the first and last may be vectors."""
def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """A vector norm or a matrix norm, as dim and the number of dimensions say."""
def pinv(
    A: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Tensor | complex | None = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The Moore-Penrose inverse."""
def qr(A: Tensor, mode: str = "reduced", *, out: tuple[Tensor, ...] | None = None) -> linalg_qr:
    """A as Q @ R, with orthonormal columns in Q and R upper triangular."""
def slogdet(A: Tensor, *, out: tuple[Tensor, ...] | None = None) -> linalg_slogdet:
    """Sign and logarithm of the absolute value of the determinant."""
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """The solution of A @ X = B (left) or X @ A = B, for vectors or matrices B."""
def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """The solution, and 0 for each matrix that has an inverse; the others' become NaN."""
def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The solution of A @ X = B (left) or X @ A = B, reading one triangle of A only."""
def svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> linalg_svd:
    """A as U @ diag(S) @ Vh, with singular values in descending order."""
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """Singular values in descending order."""
def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the tensordot that sums over all but the first ind dimensions."""
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Tensor | None = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B; dims of A are moved to its end first."""
def vander(x: Tensor, *, N: int | None = None, out: Tensor | None = None) -> Tensor:
    """Matrices of the powers of each element of the last dimension, from the 0th to the N - 1st."""
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Dot products of the vectors along dim, the first conjugated."""
def vector_norm(
    x: Tensor,
    ord: float | str = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of exponent ord of the elements over dim, or over all."""
