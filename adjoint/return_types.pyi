"""The types of return_types.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint.tensors.tensor import Tensor
from typing import NamedTuple

class cummax(NamedTuple):
    values: Tensor
    indices: Tensor

class cummin(NamedTuple):
    values: Tensor
    indices: Tensor

class frexp(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class linalg_inv_ex(NamedTuple):
    inverse: Tensor
    info: Tensor

class linalg_slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class linalg_solve_ex(NamedTuple):
    result: Tensor
    info: Tensor

class solve_with_info(NamedTuple):
    result: Tensor
    info: Tensor

class linalg_lstsq(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class cholesky_lower_ex(NamedTuple):
    L: Tensor
    info: Tensor

class linalg_cholesky_ex(NamedTuple):
    L: Tensor
    info: Tensor

class linalg_qr(NamedTuple):
    Q: Tensor
    R: Tensor

class qr(NamedTuple):
    Q: Tensor
    R: Tensor

class linalg_svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class svd(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class aminmax(NamedTuple):
    min: Tensor
    max: Tensor

class max(NamedTuple):
    values: Tensor
    indices: Tensor

class min(NamedTuple):
    values: Tensor
    indices: Tensor

class linalg_lu_factor(NamedTuple):
    LU: Tensor
    pivots: Tensor

class lu_unpack(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class linalg_lu(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class linalg_eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class eigenpairs(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_eig(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_lu_factor_ex(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class triangular_solve(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class geqrf(NamedTuple):
    a: Tensor
    tau: Tensor

class linalg_ldl_factor_ex(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class linalg_ldl_factor(NamedTuple):
    LD: Tensor
    pivots: Tensor

class ldl_factors(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class greatest_in(NamedTuple):
    values: Tensor
    indices: Tensor

class greatest_at(NamedTuple):
    values: Tensor
    indices: Tensor

class sort(NamedTuple):
    values: Tensor
    indices: Tensor

class topk(NamedTuple):
    values: Tensor
    indices: Tensor

class kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor

class median(NamedTuple):
    values: Tensor
    indices: Tensor

class nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor

class mode(NamedTuple):
    values: Tensor
    indices: Tensor

class unique_all(NamedTuple):
    output: Tensor
    inverse: Tensor
    counts: Tensor

class unique_runs(NamedTuple):
    output: Tensor
    inverse: Tensor
    counts: Tensor

class sampled_slopes(NamedTuple):
    input: Tensor
    grid: Tensor

class standard_slopes(NamedTuple):
    input: Tensor
    weight: Tensor
    bias: Tensor

class layer_standardized(NamedTuple):
    output: Tensor
    mean: Tensor
    variance: Tensor

class batch_standardized(NamedTuple):
    output: Tensor
    mean: Tensor
    variance: Tensor

class group_standardized(NamedTuple):
    output: Tensor
    mean: Tensor
    variance: Tensor

class root_scaled(NamedTuple):
    output: Tensor
    power: Tensor

class lstm_gates(NamedTuple):
    hidden: Tensor
    cell: Tensor

class histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class histogramdd(NamedTuple):
    hist: Tensor
    bin_edges: tuple[Tensor, ...]
