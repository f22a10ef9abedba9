"""Small programs of linear algebra, each of two matrices that need gradients."""

import math
from typing import Any


def _square(x: Any, y: Any) -> Any:
    """A matrix that has an inverse."""
    return x @ y.t()


def _definite(x: Any) -> Any:
    """A positive-definite matrix."""
    return x @ x.t()


def _total(parts: Any) -> Any:
    return sum(part.sum() for part in parts)


def _sizes(parts: Any) -> Any:
    """A sum that does not depend on the signs of vectors."""
    return sum(part.abs().sum() for part in parts)


def _factored(torch: Any, matrix: Any) -> Any:
    return torch.linalg.lu_factor(matrix)


# Each gives a loss; a mode sees PyTorch's steps and arguments, of which the gradients are made.
DERIVED: dict[str, Any] = {
    "lstsq of a tall matrix": lambda torch, x, y: torch.linalg.lstsq(y.t(), x.t()).solution.sum(),
    "lstsq of a wide matrix": lambda torch, x, y: torch.linalg.lstsq(x, y)[0].sum(),
    "lstsq by a driver": lambda torch, x, y: torch.linalg.lstsq(
        y.t(), x.t(), driver="gelsd"
    ).solution.sum(),
    "lstsq of vectors": lambda torch, x, y: torch.linalg.lstsq(
        y.t()[None], x.t()[None, :, 0]
    ).solution.sum(),
    "lu": lambda torch, x, y: _total(torch.linalg.lu(_square(x, y))[1:]),
    "the lower factor": lambda torch, x, y: torch.linalg.lu(_square(x, y)).L.sum(),
    "the upper factor": lambda torch, x, y: torch.linalg.lu(_square(x, y)).U.sum(),
    "lu of a tall matrix": lambda torch, x, y: _total(torch.linalg.lu(y.t())[1:]),
    "lu of a wide matrix": lambda torch, x, y: _total(torch.linalg.lu(y)[1:]),
    "the lower factor of a tall matrix": lambda torch, x, y: torch.linalg.lu(y.t()).L.sum(),
    "the upper factor of a tall matrix": lambda torch, x, y: torch.linalg.lu(y.t()).U.sum(),
    "the lower factor of a wide matrix": lambda torch, x, y: torch.linalg.lu(y).L.sum(),
    "the upper factor of a wide matrix": lambda torch, x, y: torch.linalg.lu(y).U.sum(),
    "lu of a batch": lambda torch, x, y: _total(
        torch.linalg.lu(torch.stack([_square(x, y), _definite(x)]))[1:]
    ),
    "the old lu": lambda torch, x, y: torch.lu(_square(x, y))[0].sum(),
    "lu_factor of a tall matrix": lambda torch, x, y: _factored(torch, y.t())[0].sum(),
    "lu_factor of a wide matrix": lambda torch, x, y: _factored(torch, y)[0].sum(),
    "lu_factor_ex": lambda torch, x, y: torch.linalg.lu_factor_ex(_square(x, y))[0].sum(),
    "lu_unpack": lambda torch, x, y: _total(torch.lu_unpack(*_factored(torch, _square(x, y)))[1:]),
    "lu_unpack of a tall matrix": lambda torch, x, y: _total(
        torch.lu_unpack(*_factored(torch, y.t()))[1:]
    ),
    "lu_unpack of a wide matrix": lambda torch, x, y: _total(
        torch.lu_unpack(*_factored(torch, y))[1:]
    ),
    "the lower factor, unpacked": lambda torch, x, y: torch.lu_unpack(
        *_factored(torch, y), unpack_pivots=False
    )[1].sum(),
    "the upper factor, unpacked": lambda torch, x, y: torch.lu_unpack(*_factored(torch, y.t()))[
        2
    ].sum(),
    "lu_solve of the transposed": lambda torch, x, y: torch.linalg.lu_solve(
        *_factored(torch, _square(x, y)), x, adjoint=True
    ).sum(),
    "lu_solve from the right": lambda torch, x, y: torch.linalg.lu_solve(
        *_factored(torch, _square(x, y)), x.t(), left=False
    ).sum(),
    "lu_solve of the transposed from the right": lambda torch, x, y: torch.linalg.lu_solve(
        *_factored(torch, _square(x, y)), y.t() ** 2, left=False, adjoint=True
    ).sum(),
    "the old lu_solve": lambda torch, x, y: torch.lu_solve(
        x, *_factored(torch, _square(x, y))
    ).sum(),
    "cdist": lambda torch, x, y: torch.cdist(x, y).sum(),
    "cdist of exponent 1": lambda torch, x, y: torch.cdist(x, y, p=1).sum(),
    "cdist of the largest": lambda torch, x, y: torch.cdist(x, y, p=math.inf).sum(),
    "cdist by one": lambda torch, x, y: torch.cdist(x, y.detach()).sum(),
    "cdist of batches": lambda torch, x, y: torch.cdist(x[None, None], y[None]).sum(),
    "cdist by products": lambda torch, x, y: torch.cdist(
        x, y, compute_mode="use_mm_for_euclid_dist"
    ).sum(),
    "cdist of many rows": lambda torch, x, y: torch.cdist(x.repeat(20, 1), y.repeat(20, 1)).sum(),
    "pdist": lambda torch, x, y: torch.nn.functional.pdist(x).sum(),
    "pdist of exponent 1": lambda torch, x, y: torch.pdist(x, 1).sum(),
    "pairwise_distance": lambda torch, x, y: torch.nn.functional.pairwise_distance(x, y).sum(),
    "pairwise_distance, kept": lambda torch, x, y: torch.pairwise_distance(
        x, y, 1.0, keepdim=True
    ).sum(),
    "dist": lambda torch, x, y: torch.dist(x, y),
    "dist of exponent 1": lambda torch, x, y: torch.dist(x, y, 1),
    "householder_product": lambda torch, x, y: torch.linalg.householder_product(
        y.t(), x[0, :2]
    ).sum(),
    "householder_product of one": lambda torch, x, y: torch.linalg.householder_product(
        y.t(), x[0, :1]
    ).sum(),
    "orgqr": lambda torch, x, y: torch.orgqr(y.t(), x[0, :2]).sum(),
    "ormqr": lambda torch, x, y: torch.ormqr(y.t(), x[0, :2], y.t()).sum(),
    "ormqr of the transposed": lambda torch, x, y: torch.ormqr(
        y.t(), x[0, :2], y.t(), transpose=True
    ).sum(),
    "ormqr from the right": lambda torch, x, y: torch.ormqr(y.t(), x[0, :2], y, left=False).sum(),
    "ormqr of the transposed from the right": lambda torch, x, y: torch.ormqr(
        y.t(), x[0, :2], y, left=False, transpose=True
    ).sum(),
    "ormqr of a constant": lambda torch, x, y: torch.ormqr(
        y.t().detach(), x[0, :2].detach(), y.t()
    ).sum(),
    "triangular_solve": lambda torch, x, y: torch.triangular_solve(x, _square(x, y))[0].sum(),
    "triangular_solve of the transposed": lambda torch, x, y: torch.triangular_solve(
        x, _square(x, y), upper=False, transpose=True
    )[0].sum(),
    "triangular_solve with ones": lambda torch, x, y: torch.triangular_solve(
        x, _square(x, y), unitriangular=True
    )[0].sum(),
    "the Frobenius norm": lambda torch, x, y: torch.linalg.matrix_norm(x),
    "the Frobenius norm, kept": lambda torch, x, y: torch.linalg.matrix_norm(
        x[None], keepdim=True
    ).sum(),
    "matrix_norm 1": lambda torch, x, y: torch.linalg.matrix_norm(x, 1),
    "matrix_norm -1": lambda torch, x, y: torch.linalg.matrix_norm(x, -1),
    "matrix_norm inf": lambda torch, x, y: torch.linalg.matrix_norm(x, math.inf),
    "matrix_norm -inf": lambda torch, x, y: torch.linalg.matrix_norm(x, -math.inf),
    "matrix_norm in float64": lambda torch, x, y: torch.linalg.matrix_norm(
        x, 1, dtype=torch.float64
    ),
    "linalg.norm": lambda torch, x, y: torch.linalg.norm(x),
    "linalg.norm 1": lambda torch, x, y: torch.linalg.norm(x, 1),
    "linalg.norm of rows": lambda torch, x, y: torch.linalg.norm(x, dim=1).sum(),
    "linalg.norm of a vector": lambda torch, x, y: torch.linalg.norm(x[0], 3),
    "a norm of small exponent": lambda torch, x, y: torch.linalg.norm(x[0], 0.5),
    "a norm of exponent 1.5": lambda torch, x, y: torch.norm(x, 1.5),
    "a norm of exponent 0": lambda torch, x, y: torch.linalg.norm(x[0], 0) + x.sum(),
    "a norm of negative exponent": lambda torch, x, y: torch.linalg.norm(x[0], -1),
    "the least norm": lambda torch, x, y: torch.linalg.norm(x[0], -math.inf),
    "a norm in float64": lambda torch, x, y: torch.norm(x, dim=1, dtype=torch.float64).sum(),
    "pinverse": lambda torch, x, y: torch.pinverse(x).sum(),
    "pinv of a bound": lambda torch, x, y: torch.linalg.pinv(x, rtol=1e-5).sum(),
    "pinv of another bound": lambda torch, x, y: torch.linalg.pinv(x, atol=1e-5).sum(),
    "tensorinv": lambda torch, x, y: torch.linalg.tensorinv(
        _definite(x).reshape(2, 1, 2), ind=2
    ).sum(),
    "tensorsolve": lambda torch, x, y: torch.linalg.tensorsolve(_definite(x), x[:, 0]).sum(),
    "multi_dot of two": lambda torch, x, y: torch.linalg.multi_dot([x, y.t()]).sum(),
    "multi_dot of three": lambda torch, x, y: torch.linalg.multi_dot([x, y.t(), x]).sum(),
    "chain_matmul": lambda torch, x, y: torch.chain_matmul(x, y.t(), x).sum(),
    "the first power": lambda torch, x, y: torch.linalg.matrix_power(_square(x, y), 1).sum(),
    "the third power": lambda torch, x, y: torch.linalg.matrix_power(_square(x, y), 3).sum(),
    "the fifth power": lambda torch, x, y: torch.matrix_power(_square(x, y), 5).sum(),
    "a power that inverts": lambda torch, x, y: torch.matrix_power(_square(x, y), -1).sum(),
    "cumprod": lambda torch, x, y: (x.cumprod(1) * y).sum(),
    "cov": lambda torch, x, y: torch.cov(x).sum(),
    "cov without correction": lambda torch, x, y: torch.cov(x, correction=0).sum(),
    "cov of a row": lambda torch, x, y: torch.cov(x[0]),
    "cov by weight": lambda torch, x, y: torch.cov(x, aweights=torch.tensor([0.1, 0.2, 0.3])).sum(),
    "cov by frequency": lambda torch, x, y: torch.cov(x, fweights=torch.tensor([1, 2, 3])).sum(),
    "corrcoef": lambda torch, x, y: torch.corrcoef(x).sum(),
    "corrcoef of a row": lambda torch, x, y: torch.corrcoef(x[0]),
    "cosine_similarity": lambda torch, x, y: torch.nn.functional.cosine_similarity(x, y).sum(),
    "cosine_similarity of columns": lambda torch, x, y: torch.cosine_similarity(x, y, dim=0).sum(),
    "renorm": lambda torch, x, y: torch.renorm(x, 2, 0, 0.5).sum(),
    "renorm of exponent 1": lambda torch, x, y: torch.renorm(x, 1, 1, 0.5).sum(),
    "qr of a wide matrix": lambda torch, x, y: _total(torch.linalg.qr(x)),
    "q of a wide matrix": lambda torch, x, y: torch.linalg.qr(x).Q.sum(),
    "r of a wide matrix": lambda torch, x, y: torch.linalg.qr(x).R.sum(),
    "svd of a wide matrix": lambda torch, x, y: _sizes(torch.linalg.svd(x, full_matrices=False)),
    "svd with all vectors": lambda torch, x, y: _sizes(torch.linalg.svd(_square(x, y))),
    "left singular vectors": lambda torch, x, y: _sizes(
        torch.linalg.svd(y.t(), full_matrices=False)[:1]
    ),
    "right singular vectors": lambda torch, x, y: _sizes(
        torch.linalg.svd(y.t(), full_matrices=False)[2:]
    ),
    "right singular vectors of a wide matrix": lambda torch, x, y: _sizes(
        torch.linalg.svd(x, full_matrices=False)[1:]
    ),
    "cholesky_ex": lambda torch, x, y: torch.linalg.cholesky_ex(_definite(x))[0].sum(),
    "solve_ex": lambda torch, x, y: torch.linalg.solve_ex(_definite(x), x)[0].sum(),
    "solve_ex from the right": lambda torch, x, y: torch.linalg.solve_ex(
        _definite(x), x.t(), left=False
    )[0].sum(),
    "kron": lambda torch, x, y: torch.kron(x, y).sum(),
    "outer": lambda torch, x, y: torch.outer(x[0], y[0]).sum(),
    "vdot": lambda torch, x, y: torch.vdot(x[0], y[0]),
    "trace": lambda torch, x, y: torch.trace(x),
    "bmm": lambda torch, x, y: torch.bmm(x[None], y.t()[None]).sum(),
    "baddbmm": lambda torch, x, y: torch.baddbmm(
        x[None, :, :2], x[None], y.t()[None], beta=0.5, alpha=2.0
    ).sum(),
    "addbmm": lambda torch, x, y: torch.addbmm(x[:, :2], x[None], y.t()[None]).sum(),
    "addmv": lambda torch, x, y: torch.addmv(x[:, 0], x, y[0]).sum(),
    "addr": lambda torch, x, y: torch.addr(x, x[:, 0], y[0]).sum(),
    "squeeze all": lambda torch, x, y: (x[:, :, None].squeeze() * 2).sum(),
    "repeat": lambda torch, x, y: (x.repeat(2, 3, 1) ** 2).sum(),
}

# As above, but dimensions are counted from the other end, or numbers are ill-conditioned.
NAMED: dict[str, Any] = {
    "lstsq of a square matrix": lambda torch, x, y: torch.linalg.lstsq(_square(x, y), y)[0].sum(),
    "pinv of a symmetric matrix": lambda torch, x, y: torch.linalg.pinv(
        _definite(x), hermitian=True
    ).sum(),
    "cosine_similarity of all pairs": lambda torch, x, y: torch.cosine_similarity(
        x[:, None], y[None], dim=-1
    ).sum(),
    "cond": lambda torch, x, y: torch.linalg.cond(y.t()),
    "cond -2": lambda torch, x, y: torch.linalg.cond(_square(x, y), -2),
    "cond nuc": lambda torch, x, y: torch.linalg.cond(_square(x, y), "nuc"),
    "the nuclear norm": lambda torch, x, y: torch.linalg.matrix_norm(x, "nuc"),
    "the spectral norm": lambda torch, x, y: torch.linalg.matrix_norm(x, 2),
    "the least singular value": lambda torch, x, y: torch.linalg.norm(x, -2),
    "spectral norms": lambda torch, x, y: torch.linalg.matrix_norm(
        x[None], 2, dim=(0, 1), keepdim=True
    ).sum(),
    "the old nuclear norm": lambda torch, x, y: torch.norm(x, "nuc"),
    "multi_dot of vectors": lambda torch, x, y: torch.linalg.multi_dot(
        [x[:, 0], x, y.t(), y[:, 0]]
    ),
    "tensorsolve of moved dimensions": lambda torch, x, y: torch.linalg.tensorsolve(
        _definite(x).reshape(2, 1, 2), x[:, :1], dims=(0,)
    ).sum(),
    "vander": lambda torch, x, y: torch.linalg.vander(x).sum(),
    "vander of two columns": lambda torch, x, y: torch.linalg.vander(x[0], N=2).sum(),
    "vecdot": lambda torch, x, y: torch.linalg.vecdot(x, y).sum(),
    "cross": lambda torch, x, y: torch.cross(x, y, dim=1).sum(),
}

# Of which there is no gradient.
MADE: dict[str, Any] = {
    "geqrf": lambda torch, x, y: torch.geqrf(y.t()),
    "matrix_rank": lambda torch, x, y: torch.linalg.matrix_rank(x),
    "matrix_rank of a bound": lambda torch, x, y: torch.linalg.matrix_rank(x, 0.1),
    "matrix_rank by two bounds": lambda torch, x, y: torch.linalg.matrix_rank(
        x, atol=0.1, rtol=0.2
    ),
    "matrix_rank of a symmetric matrix": lambda torch, x, y: torch.linalg.matrix_rank(
        _definite(x), hermitian=True
    ),
    "cond fro": lambda torch, x, y: torch.linalg.cond(_square(x, y), "fro"),
    "cond 1": lambda torch, x, y: torch.linalg.cond(_square(x, y), 1),
    "cond -inf": lambda torch, x, y: torch.linalg.cond(_square(x, y), -math.inf),
    "eigvalsh": lambda torch, x, y: torch.linalg.eigvalsh(_definite(x)),
    "svdvals": lambda torch, x, y: torch.linalg.svdvals(x),
    "norm of a matrix": lambda torch, x, y: torch.linalg.norm(x, math.inf),
    "lstsq": lambda torch, x, y: torch.linalg.lstsq(y.t(), x.t()),
    "lu": lambda torch, x, y: torch.linalg.lu(_square(x, y)),
    "cdist": lambda torch, x, y: torch.cdist(x, y),
    "cov": lambda torch, x, y: torch.cov(x),
}
