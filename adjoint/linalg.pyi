"""The types of linalg.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint.ops.matrices.decompositions import linalg_lu as lu
from adjoint.ops.matrices.factorizations import linalg_lu_factor_ex as lu_factor_ex
from adjoint.ops.matrices.linalg import LinAlgError as LinAlgError
from adjoint.return_types import linalg_eig
from adjoint.return_types import linalg_eigh
from adjoint.return_types import linalg_inv_ex
from adjoint.return_types import linalg_lu_factor
from adjoint.return_types import linalg_qr
from adjoint.return_types import linalg_slogdet
from adjoint.return_types import linalg_svd
from adjoint.tensors.tensor import Tensor
from typing import Any

def cholesky(A: Any, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower triangular L with L @ L^H = A, or upper its conjugate transpose."""
def cholesky_ex(
    A: Any, *, upper: bool = False, check_errors: bool = False, out: Any = None
) -> Any:
    """The Cholesky factor, and 0 for each matrix that has one; the others become NaN."""
def eig(A: Any, *, out: Any = None) -> linalg_eig:
    """Eigenvalues and eigenvectors of square matrices, complex even for real ones."""
def eigh(A: Any, UPLO: str = "L", *, out: Any = None) -> linalg_eigh:
    """Eigenvalues in ascending order and eigenvectors of Hermitian matrices."""
def eigvals(A: Any, *, out: Any = None) -> Tensor:
    """Eigenvalues of square matrices, complex even for real ones."""
def eigvalsh(A: Any, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """Eigenvalues of Hermitian matrices in ascending order."""
def householder_product(A: Any, tau: Any, *, out: Any = None) -> Tensor:
    """The first columns of a product of reflections, as QR algorithms store it."""
def lu_factor(A: Any, *, pivot: bool = True, out: Any = None) -> linalg_lu_factor:
    """L below and U on and above the diagonal of one matrix, and the exchanges of rows."""
def lu_solve(
    LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False, out: Any = None
) -> Tensor:
    """The solution of A @ X = B (left) or X @ A = B, with the LU factorization of A."""
def qr(A: Any, mode: str = "reduced", *, out: Any = None) -> linalg_qr:
    """A as Q @ R, with orthonormal columns in Q and R upper triangular."""
def svd(
    A: Any, full_matrices: bool = True, *, driver: str | None = None, out: Any = None
) -> linalg_svd:
    """A as U @ diag(S) @ Vh, with singular values in descending order."""
def svdvals(A: Any, *, driver: str | None = None, out: Any = None) -> Tensor:
    """Singular values in descending order."""
def det(A: Any, *, out: Any = None) -> Tensor:
    """The determinant of square matrices."""
def diagonal(
    A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1, out: Any = None
) -> Tensor:
    """A view of the diagonals of matrices."""
def inv(A: Any, *, out: Any = None) -> Tensor:
    """The inverse of square matrices."""
def inv_ex(A: Any, *, check_errors: bool = False, out: Any = None) -> linalg_inv_ex:
    """The inverse, and 0 for each matrix that has one; the others become NaN."""
def lstsq(
    A: Any, B: Any, rcond: Any = None, *, driver: str | None = None, out: Any = None
) -> Any:
    """The X that minimizes the norm of A @ X - B, and facts about the problem."""
def matrix_exp(A: Any, *, out: Any = None) -> Tensor:
    """The exponential of square matrices: a Padé approximant, scaled down and squared up."""
def matrix_power(A: Any, n: int, *, out: Any = None) -> Tensor:
    """The n-th power of square matrices by repeated squaring; negative n invert first."""
def pinv(
    A: Any,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """The Moore-Penrose inverse."""
def slogdet(A: Any, *, out: Any = None) -> linalg_slogdet:
    """Sign and logarithm of the absolute value of the determinant."""
def solve(A: Any, B: Any, *, left: bool = True, out: Any = None) -> Tensor:
    """The solution of A @ X = B (left) or X @ A = B, for vectors or matrices B."""
def solve_ex(
    A: Any, B: Any, *, left: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """The solution, and 0 for each matrix that has an inverse; the others' become NaN."""
def solve_triangular(
    A: Any,
    B: Any,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Any = None,
) -> Tensor:
    """The solution of A @ X = B (left) or X @ A = B, reading one triangle of A only."""
def tensorinv(A: Any, ind: int = 2, *, out: Any = None) -> Tensor:
    """The inverse of the tensordot that sums over all but the first ind dimensions."""
def tensorsolve(A: Any, B: Any, dims: Any = None, *, out: Any = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) = B; dims of A are moved to its end first."""
def cross(input: Any, other: Any, *, dim: int = -1, out: Any = None) -> Tensor:
    """Cross product of the vectors along dim."""
def multi_dot(tensors: Any, *, out: Any = None) -> Tensor:
    """Product of several matrices in the cheapest order; the first and last may be vectors."""
def vecdot(x: Any, y: Any, *, dim: int = -1, out: Any = None) -> Tensor:
    """Dot products of the vectors along dim, the first conjugated."""
def matmul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Matrix product of the last two dimensions, batches broadcast; 1-d operands are vectors."""
def cond(A: Any, p: Any = None, *, out: Any = None) -> Tensor:
    """The condition number with respect to a matrix norm; infinite for singular matrices."""
def matrix_norm(
    A: Any,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """A norm of the matrices in the two dimensions dim: of their elements, or as an operator."""
def matrix_rank(
    A: Any,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """The rank: how many singular values are above the tolerance."""
def norm(
    A: Any,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """A vector norm or a matrix norm, as dim and the number of dimensions say."""
def vector_norm(
    x: Any,
    ord: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """The norm of exponent ord of the elements over dim, or over all."""
