"""The steps of linear algebra, and of its gradients."""

import math
from typing import Any, Final

from adjoint.call.context import is_recording
from adjoint.compat.aten_matrices import factors_of, in_rows
from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.factors import by_packed_lu, by_qr
from adjoint.compat.aten_steps.gradients_of_reductions import products_of_others
from adjoint.compat.aten_steps.kept import (
    Kept,
    TooLittleKeptError,
    beside,
    check_no_zeros,
    from_front,
    unreduced,
)
from adjoint.compat.aten_steps.matrix_products import times, turned
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.matrices.decompositions import linalg_svd
from adjoint.ops.matrices.linalg import is_vector, linalg_det

# ---- the functions ----


def _checked(name: str, called: str) -> Any:
    """Steps of an op that says of a matrix that it can't be done, which PyTorch asks apart."""

    def steps(ask: Steps, input: Any) -> Any:
        result, faults, *_ = ask(name, input)
        ask("_linalg_check_errors", faults, called, is_matrix=input.ndim == 2)
        return result

    return steps


def _solve_matrix(ask: Steps, A: Any, B: Any, left: bool) -> Any:
    result, _, _, faults = ask("_linalg_solve_ex", A, B, left=left)
    ask("_linalg_check_errors", faults, "torch.linalg.solve", is_matrix=A.ndim == 2)
    return result


def _factor(ask: Steps, A: Any, pivot: bool) -> Any:
    factors, pivots, faults = ask("linalg_lu_factor_ex", A, pivot=pivot)
    called = "torch.linalg.lu_factor"
    ask("_linalg_check_errors", faults, called, is_matrix=A.ndim == 2)
    return factors, pivots


def _svd(ask: Steps, A: Any, full_matrices: bool, driver: Any) -> Any:
    return ask("_linalg_svd", A, full_matrices, driver=driver)


STEPS: Final[dict[str, Any]] = {
    "linalg_inv": _checked("linalg_inv_ex", "linalg.inv"),
    "cholesky_lower": _checked("linalg_cholesky_ex", "linalg.cholesky"),
    "solve_matrix": _solve_matrix,
    "linalg_lu_factor": _factor,
    "lu_factors": lambda ask, A, pivot: ask("linalg_lu_factor_ex", A, pivot=pivot)[:2],
    "linalg_det": lambda ask, A: ask("_linalg_det", A)[0],
    "linalg_slogdet": lambda ask, A: ask("_linalg_slogdet", A)[:2],
    "linalg_eigh": lambda ask, A, UPLO: ask("_linalg_eigh", A, UPLO),
    "hermitian_eigenvalues": lambda ask, A, UPLO: ask("_linalg_eigh", A, UPLO)[0],
    "linalg_svd": _svd,
    "linalg_svdvals": lambda ask, A, driver: ask("_linalg_svd", A, driver=driver)[1],
}


# ---- equations and determinants ----


def by_inverse(ask: Steps, kept: Kept, grad: Any) -> Any:
    """The gradient of an inverse, which is kept."""
    return (by_inverse_kept(ask, kept.result(), grad),)


def by_inverse_kept(ask: Steps, inverse: Any, grad: Any) -> Any:
    """The gradient of an inverse."""
    right = times(ask, grad, turned(ask, inverse))
    return ask("neg", times(ask, turned(ask, inverse), right))


def solved(ask: Steps, A: Any, B: Any, left: bool = True) -> Any:
    """The solution of an equation, as it is asked for where it is to be derived again."""
    found = ask("_linalg_solve_ex", A, B, left=left)
    ask("_linalg_check_errors", found[3], "torch.linalg.solve", is_matrix=A.ndim == 2)
    return found[0]


def _by_diagonal(ask: Steps, kept: Kept, along: Any, shifted: bool) -> Any:
    """The solution of A^T @ X = a multiple of the identity, by the factors of A."""
    A = kept.value(0)
    with unseen():
        factors, pivots = factors_of(A)
    spread = ask("expand", ask("unsqueeze", along, -1), list(A.shape[:-1]))
    diagonal = ask("diag_embed", spread)
    rows = in_rows(A)
    if is_recording() and not shifted:
        return solved(ask, turned(ask, A), turned(ask, diagonal))
    turned(ask, factors)
    if shifted:  # a zero of the factors becomes a small number
        zero = ask("eq.Scalar", ask("diagonal", factors, 0, -2, -1), 0.0)
        numbers = [
            ask("scalar_tensor", number, **beside(A)) for number in (0.0, finfo(A.dtype).eps)
        ]
        small = ask("where.self", zero, numbers[1], numbers[0])
        factors = ask("add", factors, ask("diag_embed", small))
    return ask("linalg_lu_solve", factors, pivots, diagonal, adjoint=not rows)


def _by_det(ask: Steps, kept: Kept, grad: Any) -> Any:
    if not kept.value(0).numel():
        return (ask("zeros_like", kept.value(0)),)
    with unseen():
        result = linalg_det(kept.value(0))
    scaled = ask("mul", grad, result)
    if not is_recording():
        return (_by_diagonal(ask, kept, scaled, True),)
    A = kept.value(0)
    spread = ask("expand", ask("unsqueeze", scaled, -1), list(A.shape[:-1]))
    turned(ask, ask("diag_embed", spread))
    left, values, right = ask("_linalg_svd", A, True)
    sign = ask("_linalg_det", right)[0]
    sign = ask("mul", ask("_linalg_det", left)[0], sign)
    slope = ask("unsqueeze", ask("mul", sign, grad), -1)
    slope = ask("mul", slope, products_of_others(ask, values, values.ndim - 1))
    return (times(ask, ask("mul", left, ask("unsqueeze", slope, -2)), right),)


def _by_slogdet(ask: Steps, kept: Kept, grad_sign: Any, grad: Any) -> Any:
    if grad is None:
        raise TooLittleKeptError
    return (_by_diagonal(ask, kept, grad, False),)


def by_equation(
    ask: Steps,
    wanted: Any,
    args: Any,
    results: Any,
    grad: Any,
    *others: Any,
    left: bool = True,
) -> Any:
    """The gradients of an equation, by the factors of its left side."""
    A, B = args
    result, factors, pivots, _ = results
    is_of_vectors = is_vector(A, B)
    side = ask("unsqueeze", grad, -1) if is_of_vectors else grad
    if is_recording():
        back = solved(ask, turned(ask, A), side, left)
    else:
        back = ask("linalg_lu_solve", factors, pivots, side, left=left, adjoint=True)
    by_matrix = None
    if wanted[0]:
        over = turned(ask, ask("unsqueeze", result, -1) if is_of_vectors else result)
        outer = times(ask, back, over) if left else times(ask, over, back)
        by_matrix = ask("neg", outer)
    return by_matrix, ask("squeeze", back, -1) if is_of_vectors and wanted[1] else back


def by_cholesky(ask: Steps, lower: Any, grad: Any) -> Any:
    """The gradient of a Cholesky factor."""
    inner = ask("tril", times(ask, turned(ask, lower), grad))
    inner = ask("add", inner, turned(ask, ask("tril", inner, -1)))
    inner = ask("mul.Scalar", inner, 0.5)
    above = turned(ask, lower)
    inner = ask("linalg_solve_triangular", above, inner, upper=True)
    return ask("linalg_solve_triangular", lower, inner, upper=False, left=False)


def _by_triangular(ask: Steps, kept: Kept, grad: Any) -> Any:
    A, upper, left, unit = kept.value(0), *(kept.option(place) for place in (2, 3, 4))
    options = {"upper": not upper, "left": left, "unitriangular": unit}
    back = ask("linalg_solve_triangular", turned(ask, A), grad, **options)
    if not kept.wanted[0]:
        return None, back
    result = turned(ask, kept.result())
    outer = times(ask, back, result) if left else times(ask, result, back)
    beyond = (1 if upper else -1) if unit else 0
    return ask("triu" if upper else "tril", ask("neg", outer), beyond), back


# ---- factors ----


def _by_qr(ask: Steps, kept: Kept, grad_q: Any, grad_r: Any) -> Any:
    Q, R, mode = kept.result(0), kept.result(1), kept.option(1)
    if mode == "r" or (mode == "complete" and Q.shape[-2] != R.shape[-1]):
        raise TooLittleKeptError
    return (by_qr(ask, Q, R, grad_q, grad_r),)


def _by_lu(ask: Steps, kept: Kept, grad: Any, grad_pivots: Any) -> Any:
    if grad is None:
        raise TooLittleKeptError
    return (by_packed_lu(ask, kept.result(0), kept.result(1), grad),)


def _apart(ask: Steps, values: Any) -> Any:
    """The differences of values, with ones on the diagonal."""
    column, row = ask("unsqueeze", values, -1), ask("unsqueeze", values, -2)
    apart = ask("sub", row, column)
    ask("fill_.Scalar", ask("diagonal", apart, 0, -2, -1), 1)
    return apart


def _skew(ask: Steps, matrix: Any) -> Any:
    return ask("sub", matrix, turned(ask, matrix))


def _by_eigh(ask: Steps, kept: Kept, grad_values: Any, grad_vectors: Any) -> Any:
    values, vectors = kept.result(0), kept.result(1)
    if grad_vectors is None:
        back = turned(ask, vectors)
        scaled = ask("mul", vectors, ask("unsqueeze", grad_values, -2))
        return (times(ask, scaled, back),)
    inner = times(ask, turned(ask, vectors), grad_vectors)
    ask("diagonal", inner, 0, -2, -1)
    inner = ask("mul.Scalar", _skew(ask, inner), 0.5)
    inner = ask("div_.Tensor", inner, _apart(ask, values))
    if grad_values is not None:
        inner = ask("diagonal_scatter", inner, grad_values, 0, -2, -1)
    return (times(ask, vectors, times(ask, inner, turned(ask, vectors))),)


def _by_singular_values(ask: Steps, grad: Any, U: Any, Vh: Any) -> Any:
    if U.shape[-2] >= Vh.shape[-1]:
        return times(ask, U, ask("mul", ask("unsqueeze", grad, -1), Vh))
    return times(ask, ask("mul", U, ask("unsqueeze", grad, -2)), Vh)


def _by_svd(ask: Steps, kept: Kept, grad_u: Any, grad_s: Any, grad_vh: Any) -> Any:
    U, S, Vh = (kept.result(number) for number in range(3))
    if kept.option(1):  # those vectors that belong to a singular value
        rank = S.shape[-1]
        grad_vh = None if grad_vh is None else ask("slice", grad_vh, -2, 0, rank)
        grad_u = None if grad_u is None else ask("slice", grad_u, -1, 0, rank)
        Vh, U = ask("slice", Vh, -2, 0, rank), ask("slice", U, -1, 0, rank)
    if grad_u is None and grad_vh is None:
        return (_by_singular_values(ask, grad_s, U, Vh),)
    return (_by_vectors(ask, (U, S, Vh), grad_u, grad_s, grad_vh),)


def _by_vectors(ask: Steps, found: Any, grad_u: Any, grad_s: Any, grad_vh: Any) -> Any:
    U, S, Vh = found
    rows, columns, rank = U.shape[-2], Vh.shape[-1], S.shape[-1]
    of_left = None if grad_u is None else _skew(ask, times(ask, turned(ask, U), grad_u))
    of_right = None if grad_vh is None else _skew(ask, times(ask, Vh, turned(ask, grad_vh)))
    apart = _apart(ask, ask("mul", S, S))
    if of_left is None:
        inner = ask("div", of_right, apart)
        inner = ask("mul", ask("unsqueeze", S, -1), inner)
    elif of_right is None:
        across = ask("unsqueeze", S, -2)
        inner = ask("mul", ask("div", of_left, apart), across)
    else:
        inner = ask("mul", ask("unsqueeze", S, -1), of_right)
        inner = ask("add", ask("mul", of_left, ask("unsqueeze", S, -2)), inner)
        inner = ask("div", inner, apart)
    if grad_s is not None:
        inner = ask("add", inner, ask("diag_embed", grad_s))
    if rows > rank and grad_u is not None:
        whole = times(ask, U, inner)
        outside = ask("div", grad_u, ask("unsqueeze", S, -2))
        inside = times(ask, U, times(ask, turned(ask, U), outside))
        return times(ask, ask("sub", ask("add", whole, outside), inside), Vh)
    if columns > rank and grad_vh is not None:
        whole = times(ask, inner, Vh)
        outside = ask("div", grad_vh, ask("unsqueeze", S, -1))
        inside = times(ask, times(ask, outside, turned(ask, Vh)), Vh)
        return times(ask, U, ask("sub", ask("add", whole, outside), inside))
    if rows >= columns:
        return times(ask, U, times(ask, inner, Vh))
    return times(ask, times(ask, U, inner), Vh)


def _by_svdvals(ask: Steps, kept: Kept, grad: Any) -> Any:
    with unseen():
        U, _, Vh = linalg_svd(kept.value(0), False)
    return (_by_singular_values(ask, grad, U, Vh),)


def _by_exponential(ask: Steps, kept: Kept, grad: Any) -> Any:
    A = turned(ask, kept.value(0))
    size = A.shape[-1]
    top = ask("cat", [A, grad], -1)
    bottom = ask("cat", [ask("zeros_like", A), A], -1)
    whole = ask("linalg_matrix_exp", ask("cat", [top, bottom], -2))
    return (ask("slice", ask("slice", whole, -2, 0, size), -1, size, 2 * size),)


# ---- norms ----


def _by_norm(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, dim = kept.value(0), kept.option(2)
    dims = [] if dim is None else from_front(dim, input.ndim)
    return (by_norm(ask, input, kept.option(1), dims, kept.option(3), kept.result(), grad),)


def by_norm(
    ask: Steps, input: Any, p: Any, dims: list[int], keepdim: bool, result: Any, grad: Any
) -> Any:
    """The gradient of a norm of vectors along some dimensions, or of all elements."""
    if p == 0:
        return None
    check_no_zeros(result)
    if dims and not keepdim:
        grad, result = unreduced(ask, grad, dims), unreduced(ask, result, dims)
    if p == 1:
        return ask("mul", ask("sgn", input), grad)
    if p == 2:
        direction = ask("div", input, result)
        direction = ask("masked_fill_", direction, ask("eq", result, 0), 0)
        return ask("mul", grad, direction)
    if math.isinf(p):
        return _by_largest(ask, input, result, dims, grad)
    size = ask("pow_.Scalar", ask("abs", input), p - (1 if p < 2 else 2))
    if p < 1:
        size = ask("masked_fill_", size, ask("eq", input, 0), 0)
        steep = ask("mul", size, ask("sgn", input))
        steep = ask("mul", steep, ask("pow", result, 1 - p))
        return ask("mul", steep, grad)
    steep = ask("mul", ask("sgn", input) if p < 2 else input, size)
    scale = ask("div", grad, ask("pow", result, p - 1))
    scale = ask("masked_fill_", scale, ask("eq", result, 0), 0)
    return ask("mul", steep, scale)


def _by_largest(ask: Steps, input: Any, result: Any, dims: list[int], grad: Any) -> Any:
    lengths = ask("abs", input)
    reached = ask("eq.Tensor", lengths, result)
    chosen = ask("logical_or", reached, ask("isnan", lengths))
    count = ask("sum.dim_IntList", chosen, dims, True)
    share = ask("mul", ask("div", grad, count), chosen)
    return ask("mul", share, ask("sgn", input))


def by_pseudo_inverse(ask: Steps, A: Any, result: Any, grad: Any) -> Any:
    """Golub and Pereyra's derivative of the pseudo-inverse, for matrices of constant rank."""
    back, grad = turned(ask, result), turned(ask, grad)
    if A.shape[-2] <= A.shape[-1]:
        return _by_wide_inverse(ask, A, result, back, grad)
    inner = times(ask, result, grad)
    sides = times(ask, back, inner)
    last = times(ask, times(ask, sides, result), A)
    rest = ask("sub", grad, times(ask, A, inner))
    rest = times(ask, times(ask, rest, result), back)
    first = ask("neg", turned(ask, times(ask, inner, result)))
    return ask("sub", ask("add", ask("add", first, rest), sides), last)


def _by_wide_inverse(ask: Steps, A: Any, result: Any, back: Any, grad: Any) -> Any:
    inner = times(ask, grad, result)
    sides = times(ask, inner, back)
    outer = times(ask, back, result)
    last = times(ask, outer, ask("sub", grad, times(ask, inner, A)))
    middle = times(ask, times(ask, A, result), sides)
    first = ask("neg", turned(ask, times(ask, result, inner)))
    return ask("add", ask("sub", ask("add", first, sides), middle), last)


GRADIENTS: Final[dict[str, Any]] = {
    "linalg_inv": by_inverse,
    "linalg_inv_ex": lambda ask, kept, grad, _: by_inverse(ask, kept, grad),
    "linalg_det": _by_det,
    "linalg_slogdet": _by_slogdet,
    "cholesky_lower": lambda ask, kept, grad: (by_cholesky(ask, kept.result(), grad),),
    "linalg_solve_triangular": _by_triangular,
    "linalg_qr": _by_qr,
    "linalg_lu_factor": _by_lu,
    "lu_factors": _by_lu,
    "linalg_eigh": _by_eigh,
    "linalg_svd": _by_svd,
    "linalg_svdvals": _by_svdvals,
    "linalg_matrix_exp": _by_exponential,
    "p_norm": _by_norm,
}
