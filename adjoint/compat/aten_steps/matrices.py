"""The steps of linear algebra, and of its gradients."""

import math
from typing import Any, Final

from adjoint.compat.aten_matrices import factors_of, in_rows
from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.kept import Kept, TooLittleKeptError, beside, from_front, unreduced
from adjoint.compat.aten_steps.products import STEPS as PRODUCTS
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.matrices.decompositions import linalg_svd
from adjoint.ops.matrices.linalg import linalg_det

_product: Final = PRODUCTS["matmul"]


def turned(ask: Steps, matrix: Any) -> Any:
    """A matrix transposed."""
    return ask("transpose.int", matrix, -2, -1)


def times(ask: Steps, first: Any, second: Any) -> Any:
    """A product of matrices, which may be batches."""
    return _product(ask, first, second)


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
    "linalg_det": lambda ask, A: ask("_linalg_det", A)[0],
    "linalg_slogdet": lambda ask, A: ask("_linalg_slogdet", A)[:2],
    "linalg_eigh": lambda ask, A, UPLO: ask("_linalg_eigh", A, UPLO),
    "hermitian_eigenvalues": lambda ask, A, UPLO: ask("_linalg_eigh", A, UPLO, False)[0],
    "linalg_svd": _svd,
    "linalg_svdvals": lambda ask, A, driver: ask("_linalg_svd", A, driver=driver)[1],
}


# ---- equations and determinants ----


def by_inverse(ask: Steps, kept: Kept, grad: Any) -> Any:
    """The gradient of an inverse, which is kept."""
    inverse = kept.result()
    right = times(ask, grad, turned(ask, inverse))
    return (ask("neg", times(ask, turned(ask, inverse), right)),)


def _by_diagonal(ask: Steps, kept: Kept, along: Any, shifted: bool) -> Any:
    """The solution of A^T @ X = a multiple of the identity, by the factors of A."""
    A = kept.value(0)
    with unseen():
        factors, pivots = factors_of(A)
    spread = ask("expand", ask("unsqueeze", along, -1), list(A.shape[:-1]))
    diagonal = ask("diag_embed", spread)
    rows = in_rows(A)
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
    with unseen():
        result = linalg_det(kept.value(0))
    return (_by_diagonal(ask, kept, ask("mul", grad, result), True),)


def _by_slogdet(ask: Steps, kept: Kept, grad_sign: Any, grad: Any) -> Any:
    if grad is None:
        raise TooLittleKeptError
    return (_by_diagonal(ask, kept, grad, False),)


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
    Q, R = kept.result(0), kept.result(1)
    if R.shape[-2] != R.shape[-1] or kept.option(1) == "r":
        raise TooLittleKeptError
    inner = None if grad_q is None else times(ask, turned(ask, Q), grad_q)
    if grad_r is not None:
        outer = times(ask, grad_r, turned(ask, R))
        inner = outer if inner is None else ask("sub", outer, inner)
    elif inner is not None:
        inner = ask("neg", inner)
    inner = ask("triu", inner)
    inner = ask("add", inner, turned(ask, inner))
    ask("mul_.Scalar", ask("diagonal", inner, 0, -2, -1), 0.5)
    whole = times(ask, Q, inner)
    whole = whole if grad_q is None else ask("add", whole, grad_q)
    options = {"upper": False, "left": False}
    return (ask("linalg_solve_triangular", turned(ask, R), whole, **options),)


def _by_lu(ask: Steps, kept: Kept, grad: Any, grad_pivots: Any) -> Any:
    factors, pivots = kept.result(0), kept.result(1)
    if factors.shape[-2] != factors.shape[-1] or grad is None:
        raise TooLittleKeptError
    exchanges, L, U = ask("lu_unpack", factors, pivots)
    below = ask("slice", grad, -1, 0, factors.shape[-1])
    above = ask("slice", grad, -2, 0, factors.shape[-1])
    inner = ask("tril", times(ask, turned(ask, L), below), -1)
    inner = ask("add", inner, ask("triu", times(ask, above, turned(ask, U))))
    options = {"upper": False, "left": False}
    inner = ask("linalg_solve_triangular", turned(ask, U), inner, **options)
    options = {"upper": True, "unitriangular": True}
    inner = ask("linalg_solve_triangular", turned(ask, L), inner, **options)
    return (times(ask, exchanges, inner),)


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
    rows, columns = U.shape[-2], Vh.shape[-1]
    if grad_u is None and grad_vh is None and grad_s is not None and not kept.option(1):
        return (_by_singular_values(ask, grad_s, U, Vh),)
    if None in (grad_u, grad_s, grad_vh) or kept.option(1) or rows <= columns:
        raise TooLittleKeptError
    of_left = _skew(ask, times(ask, turned(ask, U), grad_u))
    of_right = _skew(ask, times(ask, Vh, turned(ask, grad_vh)))
    apart = _apart(ask, ask("mul", S, S))
    inner = ask("mul", ask("unsqueeze", S, -1), of_right)
    inner = ask("add", ask("mul", of_left, ask("unsqueeze", S, -2)), inner)
    inner = ask("div", inner, apart)
    inner = ask("add", inner, ask("diag_embed", grad_s))
    whole = times(ask, U, inner)
    outside = ask("div", grad_u, ask("unsqueeze", S, -2))
    inside = times(ask, U, times(ask, turned(ask, U), outside))
    whole = ask("sub", ask("add", whole, outside), inside)
    return (times(ask, whole, Vh),)


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
    input, p, dim, keepdim = (kept.option(place) for place in range(4))
    input, result = kept.value(0), kept.result()
    dims = [] if dim is None else from_front(dim, input.ndim)
    if dims and not keepdim:
        grad, result = unreduced(ask, grad, dims), unreduced(ask, result, dims)
    if p == 1:
        return (ask("mul", ask("sgn", input), grad),)
    if p == 2:
        direction = ask("div", input, result)
        direction = ask("masked_fill_", direction, ask("eq", result, 0), 0)
        return (ask("mul", grad, direction),)
    if p == math.inf:
        return (_by_largest(ask, input, result, dims, grad),)
    if p < 2:
        raise TooLittleKeptError
    steep = ask("mul", input, ask("pow_.Scalar", ask("abs", input), p - 2))
    scale = ask("div", grad, ask("pow", result, p - 1))
    scale = ask("masked_fill_", scale, ask("eq", result, 0), 0)
    return (ask("mul", steep, scale),)


def _by_largest(ask: Steps, input: Any, result: Any, dims: list[int], grad: Any) -> Any:
    lengths = ask("abs", input)
    chosen = ask("logical_or", ask("eq.Tensor", lengths, result), ask("isnan", lengths))
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
    "linalg_eigh": _by_eigh,
    "linalg_svd": _by_svd,
    "linalg_svdvals": _by_svdvals,
    "linalg_matrix_exp": _by_exponential,
    "p_norm": _by_norm,
}
