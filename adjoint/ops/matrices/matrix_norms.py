"""Norms of matrices, condition numbers, ranks, distances between rows."""

import math
from collections.abc import Sequence
from typing import Any

from adjoint.dtypes import FLOAT, as_dtype, refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import basic_index, permute, reshape, unsqueeze
from adjoint.ops.dims import normal_dim, normal_dims
from adjoint.ops.elementwise.selection import choose
from adjoint.ops.matrices.decompositions import linalg_svdvals
from adjoint.ops.matrices.distances import difference_norm, euclidean, has_products
from adjoint.ops.matrices.linalg import (
    NOT_CONVERGED,
    attempt,
    check_matrices,
    linalg_inv_ex,
    matrices_each,
    tolerance,
)
from adjoint.ops.matrices.matmul import shapes_of
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.extremes import amax, amin
from adjoint.ops.reducing.norms import p_norm
from adjoint.ops.reducing.reduction import sum
from adjoint.ops.same_dtype import same_kind

MATRIX_ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


@composite(home="linalg", exact_out=True)
def linalg_vector_norm(
    x: Value, ord: float | str = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Value:
    """The norm of exponent ord of the elements over dim, or over all."""
    if isinstance(ord, str):
        raise TypeError(f"vector_norm: ord must be a number, got {ord!r}")
    if isinstance(ord, complex):
        raise RuntimeError(f"vector_norm: ord must be a real number, got {ord}")
    if dtype is not None:
        if as_dtype(dtype).is_complex != x.dtype.is_complex:
            raise RuntimeError(f"vector_norm: dtype {dtype} for an input of {x.dtype}")
        x = _in_dtype(x, dtype)
    if ord < 0 and any(x.shape[d] == 0 for d in normal_dims(dim, x.ndim)):
        raise RuntimeError(f"vector_norm: the norm of exponent {ord} of no elements is undefined")
    return p_norm(x, ord, dim, keepdim)


def _in_dtype(value: Any, dtype: Any) -> Any:
    """A floating-point tensor in another data type; others have no norms in any."""
    if value.dtype.category < FLOAT:
        raise RuntimeError(f"a norm is for floating and complex tensors, not {value.dtype}")
    return value.to(as_dtype(dtype))


def _pair_last(A: Any, first: int, second: int) -> Any:
    """A with the two dimensions of its matrices at the end."""
    order = [d for d in range(A.ndim) if d not in (first, second)]
    return permute(A, [*order, first, second])


def _extreme(values: Any, ord: float, dim: int, keepdim: bool) -> Any:
    """The largest, or for a negative order the smallest; the largest of none is 0."""
    if ord > 0 and not values.shape[dim]:
        return sum(values, dim, keepdim)
    return (amax if ord > 0 else amin)(values, dim, keepdim)


@composite(home="linalg", exact_out=True)
def linalg_matrix_norm(
    A: Value,
    ord: float | str = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Value:
    """A norm of the matrices in the two dimensions dim: of their elements, or as an operator."""
    if A.ndim < 2:
        raise RuntimeError(f"matrix_norm: expected at least 2 dimensions, got {shapes_of(A)}")
    if ord not in MATRIX_ORDERS:
        raise RuntimeError(f"matrix_norm: order {ord} is none of {MATRIX_ORDERS}")
    if len(dim) != 2:
        raise RuntimeError(f"matrix_norm: dim must name two dimensions, got {tuple(dim)}")
    first, second = (normal_dim(d, A.ndim) for d in dim)
    if first == second:
        raise RuntimeError(f"matrix_norm: the two dimensions must differ, got {tuple(dim)}")
    if ord == "fro":
        return linalg_vector_norm(A, 2, (first, second), keepdim, dtype=dtype)
    if dtype is not None:
        A = _in_dtype(A, dtype)
    if isinstance(ord, str) or ord in (2, -2):
        values = linalg_svdvals(_pair_last(A, first, second))
        result = sum(values, -1) if isinstance(ord, str) else _extreme(values, ord, -1, False)
        if keepdim:
            for d in sorted((first, second)):
                result = unsqueeze(result, d)
        return result
    across, along = (first, second) if math.fabs(ord) == 1 else (second, first)
    totals = linalg_vector_norm(A, 1, across, True)
    result = _extreme(totals, ord, along, True)
    return result if keepdim else _without(result, first, second)


def _without(value: Any, first: int, second: int) -> Any:
    """value without two dimensions of size 1."""
    return reshape(value, [n for d, n in enumerate(value.shape) if d not in (first, second)])


@composite(home="linalg", numpy=True, exact_out=True)
def linalg_norm(
    A: Value,
    ord: float | str | None = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Value:
    """A vector norm or a matrix norm, as dim and the number of dimensions say."""
    if ord is None:
        return linalg_vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None:
        if A.ndim not in (1, 2):
            raise RuntimeError(
                f"norm: with ord and without dim the input must be 1-d or 2-d, got {shapes_of(A)}"
            )
        dim = (0, 1) if A.ndim == 2 or isinstance(ord, str) else 0
    dims = tuple(dim) if isinstance(dim, Sequence) else (dim,)
    if len(dims) == 2 and A.ndim > 1:
        return linalg_matrix_norm(A, ord, dims, keepdim, dtype=dtype)
    if len(dims) != 1 or isinstance(ord, str):
        raise RuntimeError(f"norm: order {ord} over dimensions {dims} of {shapes_of(A)}")
    return linalg_vector_norm(A, ord, dims, keepdim, dtype=dtype)


@composite(home="linalg")
def linalg_cond(A: Value, p: Any = None) -> Value:
    """The condition number with respect to a matrix norm; infinite for singular matrices."""
    measured = p is None or (p in MATRIX_ORDERS and not isinstance(p, str))
    if measured and A.numel() == 0 and A.ndim > 1:
        return A.new_zeros(A.shape[:-2], dtype=A.dtype.to_real() if A.is_complex() else A.dtype)
    if p in (None, 2, -2):
        values = linalg_svdvals(A)
        largest, smallest = basic_index(values, (..., 0)), basic_index(values, (..., -1))
        return smallest / largest if p == -2 else largest / smallest
    if p not in MATRIX_ORDERS:
        raise RuntimeError(f"cond: order {p} is none of {MATRIX_ORDERS}")
    inverse, info = linalg_inv_ex(A)
    inverse = choose(unsqueeze(unsqueeze(info > 0, -1), -1), 0.0, inverse)
    product = linalg_matrix_norm(A, p) * linalg_matrix_norm(inverse, p)
    return choose(info > 0, math.inf, product)


def _rank_each(
    A_each: Any,
    A_shape: Any,
    atol: Any,
    atol_batched: bool,
    rtol: Any,
    rtol_batched: bool,
    hermitian: bool,
) -> Any:
    bounds = ((atol, atol_batched), (rtol, rtol_batched))
    return rank_of(*matrices_each(A_each, A_shape, *bounds), hermitian)


@general(vmap=_rank_each, home=None, autocast="float32")
def rank_of(
    xp: Any, A: Array, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Array:
    """How many singular values are above the tolerance."""
    check_matrices(A, square=hermitian)
    if A.size == 0:
        return xp.zeros(A.shape[:-2], "int64")
    if hermitian:
        values = xp.linalg.eigvalsh(A)
    else:
        values = attempt("linalg.matrix_rank", NOT_CONVERGED, xp.linalg.svd, A, False, False)
    sizes = xp.abs(values)
    cutoff = tolerance(xp, xp.max(sizes, axis=-1), A, atol, rtol)
    return xp.sum(sizes > cutoff[..., None], axis=-1, dtype="int64")


@composite(home="linalg")
def linalg_matrix_rank(
    A: Value, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Value:
    """The rank: how many singular values are above the tolerance."""
    if tol is not None:
        atol, rtol = tol, 0.0
    return rank_of(A, atol, rtol, hermitian)


@composite(method=False, autocast="float32")
def cdist(x1: Value, x2: Value, p: float = 2.0, compute_mode: str | None = None) -> Value:
    """Distances in the p-norm between all rows of x1 and all rows of x2."""
    refuse_kinds("cdist", x1, "ciu")
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"cdist: expected matrices of equal width, got {shapes_of(x1, x2)}")
    if not p >= 0:
        raise RuntimeError(f"cdist: p must not be negative, got {p}")
    same_kind("cdist", x1, x2=x2)
    if compute_mode != "donot_use_mm_for_euclid_dist" and has_products(x1, x2, p):
        return euclidean(x1, x2)
    return difference_norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), p)
