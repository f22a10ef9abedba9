"""Linear algebra under the names of torch.linalg."""

from adjoint.ops.decompositions import linalg_cholesky as cholesky
from adjoint.ops.decompositions import linalg_cholesky_ex as cholesky_ex
from adjoint.ops.decompositions import linalg_eig as eig
from adjoint.ops.decompositions import linalg_eigh as eigh
from adjoint.ops.decompositions import linalg_eigvals as eigvals
from adjoint.ops.decompositions import linalg_eigvalsh as eigvalsh
from adjoint.ops.decompositions import linalg_householder_product as householder_product
from adjoint.ops.decompositions import linalg_lu as lu
from adjoint.ops.decompositions import linalg_lu_factor as lu_factor
from adjoint.ops.decompositions import linalg_lu_solve as lu_solve
from adjoint.ops.decompositions import linalg_qr as qr
from adjoint.ops.decompositions import linalg_svd as svd
from adjoint.ops.decompositions import linalg_svdvals as svdvals
from adjoint.ops.linalg import LinAlgError
from adjoint.ops.linalg import linalg_det as det
from adjoint.ops.linalg import linalg_diagonal as diagonal
from adjoint.ops.linalg import linalg_inv as inv
from adjoint.ops.linalg import linalg_inv_ex as inv_ex
from adjoint.ops.linalg import linalg_lstsq as lstsq
from adjoint.ops.linalg import linalg_matrix_exp as matrix_exp
from adjoint.ops.linalg import linalg_matrix_power as matrix_power
from adjoint.ops.linalg import linalg_pinv as pinv
from adjoint.ops.linalg import linalg_slogdet as slogdet
from adjoint.ops.linalg import linalg_solve as solve
from adjoint.ops.linalg import linalg_solve_ex as solve_ex
from adjoint.ops.linalg import linalg_solve_triangular as solve_triangular
from adjoint.ops.linalg import linalg_tensorinv as tensorinv
from adjoint.ops.linalg import linalg_tensorsolve as tensorsolve
from adjoint.ops.matmul import linalg_cross as cross
from adjoint.ops.matmul import linalg_multi_dot as multi_dot
from adjoint.ops.matmul import linalg_vecdot as vecdot
from adjoint.ops.matmul import matmul
from adjoint.ops.matrix_norms import linalg_cond as cond
from adjoint.ops.matrix_norms import linalg_matrix_norm as matrix_norm
from adjoint.ops.matrix_norms import linalg_matrix_rank as matrix_rank
from adjoint.ops.matrix_norms import linalg_norm as norm
from adjoint.ops.matrix_norms import linalg_vector_norm as vector_norm

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vecdot",
    "vector_norm",
]
