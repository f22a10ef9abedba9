"""What PyTorch's functions of linear algebra are made of below autograd.

Each gives beside its result what the gradient needs: the factors of the matrix.
"""

from typing import Any

from adjoint.compat.aten_networks import slopes
from adjoint.ops.arranging.shape import transpose
from adjoint.ops.matrices.decompositions import linalg_svd, linalg_svdvals
from adjoint.ops.matrices.distances import euclidean, pdist
from adjoint.ops.matrices.linalg import (
    LinAlgError,
    linalg_det,
    linalg_slogdet,
    linalg_solve_ex,
)
from adjoint.ops.matrices.lu import lu_factors
from adjoint.ops.matrices.matrix_norms import cdist
from adjoint.ops.matrices.spectra import linalg_eigh, linalg_eigvalsh


def in_rows(A: Any) -> bool:
    """Whether matrices lie in memory row by row, so that PyTorch factors them transposed."""
    return bool(A.is_contiguous())


def factors_of(A: Any) -> tuple[Any, Any]:
    """The LU factors of matrices, or of the transposed ones, as a determinant is computed."""
    found: tuple[Any, Any] = lu_factors(transpose(A, -2, -1) if in_rows(A) else A)
    return found


def _linalg_check_errors(info: Any, api_name: str, *, is_matrix: bool) -> None:
    """Refuse if a library says of a matrix that it could not be done."""
    if info.is_meta or info.layer is not None or not bool(info.any()):
        return
    place = "" if is_matrix else f"(Batch element {int(info.flatten().ne(0).int().argmax())}): "
    raise LinAlgError(
        f"{api_name}: {place}The matrix is singular, or not positive-definite where it has to be"
    )


def _linalg_solve_ex(
    A: Any, B: Any, *, left: bool = True, check_errors: bool = False
) -> tuple[Any, Any, Any, Any]:
    """The solution of an equation, the factors of A and their exchanges, and what is singular."""
    result, info = linalg_solve_ex(A, B, left=left, check_errors=check_errors)
    return result, *lu_factors(A), info


def _linalg_det(A: Any) -> tuple[Any, Any, Any]:
    """The determinant, and the factors of A with their exchanges."""
    return linalg_det(A), *factors_of(A)


def _linalg_slogdet(A: Any) -> tuple[Any, Any, Any, Any]:
    """Sign and logarithm of the determinant, and the factors of A with their exchanges."""
    sign, logarithm = linalg_slogdet(A)
    return sign, logarithm, *factors_of(A)


def _linalg_eigh(A: Any, UPLO: str = "L", compute_v: bool = True) -> tuple[Any, Any]:
    """Eigenvalues, and eigenvectors if they are wanted."""
    if compute_v:
        values, vectors = linalg_eigh(A, UPLO)
        return values, vectors
    return linalg_eigvalsh(A, UPLO), A.new_zeros((0,))


def _linalg_svd(
    A: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[Any, Any, Any]:
    """Singular values, and their vectors if they are wanted."""
    if compute_uv:
        left, values, right = linalg_svd(A, full_matrices, driver=driver)
        return left, values, right
    return A.new_zeros((0,)), linalg_svdvals(A, driver=driver), A.new_zeros((0,))


# ---- distances ----


def _cdist_forward(x1: Any, x2: Any, p: float, compute_mode: int | None) -> Any:
    """The distances of all rows of x1 and x2."""
    modes = (None, "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    return cdist(x1, x2, p, modes[compute_mode or 0])


def _cdist_backward(grad: Any, x1: Any, x2: Any, p: float, cdist: Any) -> Any:
    """The gradient of the distances of rows by those of x1, once for each of a batch."""
    rows = x1.expand((*grad.shape[:-2], *x1.shape[-2:]))
    return slopes(lambda each: _cdist_forward(each, x2, p, None), [rows], [0], grad)[0]


def _euclidean_dist(x1: Any, x2: Any) -> Any:
    """The lengths of the differences of all rows of x1 and x2."""
    return euclidean(x1, x2)


def _pdist_forward(input: Any, p: float = 2.0) -> Any:
    """The distances of all pairs of rows."""
    return pdist(input, p)


def _pdist_backward(grad: Any, input: Any, p: float, pdist: Any) -> Any:
    """The gradient of the distances of all pairs of rows."""
    return slopes(lambda rows: _pdist_forward(rows, p), [input], [0], grad)[0]


MATRICES = (
    _linalg_check_errors,
    _linalg_solve_ex,
    _linalg_det,
    _linalg_slogdet,
    _linalg_eigh,
    _linalg_svd,
    _cdist_forward,
    _cdist_backward,
    _euclidean_dist,
    _pdist_forward,
    _pdist_backward,
)
