"""Factors of matrices and what is solved by them, composed as PyTorch does."""

from typing import Any, Final

from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.factors import (
    by_lu,
    by_packed_lu,
    by_reflections,
    by_solved_lu,
    by_unpacked_lu,
)
from adjoint.compat.aten_steps.kept import TooLittleKeptError
from adjoint.compat.aten_steps.matrices import by_cholesky, by_equation, by_pseudo_inverse
from adjoint.compat.aten_steps.matrix_products import times, turned
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import float64
from adjoint.ops.arranging.conversion import strided
from adjoint.ops.arranging.shape import transpose
from adjoint.ops.matrices.decompositions import CholeskyEx, Svd, linalg_svd
from adjoint.ops.matrices.factorizations import LUWithInfo, TriangularSolution
from adjoint.ops.matrices.linalg import Lstsq, SolveEx, is_vector
from adjoint.ops.matrices.lu import LU, Unpacked
from adjoint.tensors.tensor import Tensor


def told(called: str, place: int) -> Any:
    """What looks at the result that says which matrices could not be done."""

    def look(ask: Steps, args: Any, results: Any) -> None:
        ask("_linalg_check_errors", results[place], called, is_matrix=args[0].ndim == 2)

    return look


# ---- LU ----


def _by_lu(ask: Steps, wanted: Any, args: Any, results: Any, *grads: Any) -> Any:
    return (by_lu(ask, *results, *grads[1:]),)


def _by_packed(
    ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, *others: Any, **named: Any
) -> Any:
    return (by_packed_lu(ask, results[0], results[1], grad),)


def _by_unpacked(ask: Steps, wanted: Any, args: Any, results: Any, *grads: Any) -> Any:
    return (by_unpacked_lu(ask, args[0], *grads[1:]),)


def _by_solved(
    ask: Steps,
    wanted: Any,
    args: Any,
    results: Any,
    grad: Any,
    left: bool = True,
    adjoint: bool = False,
) -> Any:
    factors, pivots, _ = args
    back = None
    if wanted[1]:
        options = {"left": left, "adjoint": not adjoint}
        back = ask("linalg_lu_solve", factors, pivots, grad, **options)
    if not wanted[0]:
        return None, back
    return by_solved_lu(ask, args, results[0], grad, left, adjoint), back


_FACTORS: Final = Operation("linalg_lu", (0,), _by_lu, outputs=(0, 1, 2), constant=(0,))
_PACKED: Final = Operation("linalg_lu_factor_ex", (0,), _by_packed, outputs=(0, 1, 2))
_UNPACKED: Final = Operation("lu_unpack", (0,), _by_unpacked, outputs=(0, 1, 2), constant=(0,))
_SOLVED: Final = Operation("linalg_lu_solve", (0, 2), _by_solved)


def _lu(A: Any, *, pivot: bool = True) -> Any:
    return LU(*_FACTORS(A)) if pivot else NotImplemented


def _lu_factor_ex(A: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    if not pivot or check_errors:
        return NotImplemented
    return LUWithInfo(*_PACKED(A))


def _old_lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    if not pivot:
        return NotImplemented
    found = _PACKED(A)
    return LUWithInfo(*found) if get_infos else found[:2]


def _lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    return Unpacked(*_UNPACKED(LU_data, LU_pivots, unpack_data, unpack_pivots))


def _lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    given = {"left": False} if not left else {}
    given |= {"adjoint": True} if adjoint else {}
    return _SOLVED(LU, pivots, B, **given)


# ---- equations ----


def _by_triangle(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, by_copy: Any) -> Any:
    if grad is None:
        raise TooLittleKeptError
    _, A, upper, across, unit = args
    back = ask("triangular_solve", grad, A, upper, not across, unit)[0]
    if not wanted[1]:
        return back, None
    result = results[0]
    if across:
        outer = times(ask, result, turned(ask, back))
    else:
        over = turned(ask, result)
        outer = times(ask, back, over)
    beyond = (1 if upper else -1) if unit else 0
    slope = ask("triu" if upper else "tril", ask("neg", outer), beyond)
    return back, slope if by_copy is None else ask("add", slope, by_copy)


def _by_least_squares(
    ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, *others: Any, **named: Any
) -> Any:
    A, B, *_ = args
    if grad is None or any(each is not None and each.numel() for each in others):
        raise TooLittleKeptError
    of_vectors = is_vector(A, B)
    right = ask("unsqueeze", B, -1) if of_vectors else B
    grad = ask("unsqueeze", grad, -1) if of_vectors else grad
    inverse = ask("linalg_pinv.atol_rtol_tensor", A)
    by_matrix = back = None
    if wanted[0]:
        over = turned(ask, right)
        by_matrix = by_pseudo_inverse(ask, A, inverse, times(ask, grad, over))
    if wanted[1]:
        over = turned(ask, inverse)
        back = times(ask, over, grad)
        back = ask("squeeze", back, -1) if of_vectors else back
    return by_matrix, back


_TRIANGLE: Final = Operation("triangular_solve", (0, 1), _by_triangle, outputs=(0, 1))
_LEAST: Final = Operation(
    "linalg_lstsq", (0, 1), _by_least_squares, outputs=(0, 1, 2, 3), constant=(3,)
)
_WITH_INFO: Final = Operation("_linalg_solve_ex", (0, 1), by_equation, outputs=(0, 3))
_CHECKED: Final = Operation(
    "_linalg_solve_ex", (0, 1), by_equation, after=told("torch.linalg.solve", 3)
)


def _triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    if input.ndim < 2 or A.ndim < 2:
        return NotImplemented
    return TriangularSolution(*_TRIANGLE(input, A, upper, transpose, unitriangular))


def _lstsq(A: Any, B: Any, rcond: Any = None, *, driver: str | None = None) -> Any:
    given = {} if driver is None else {"driver": driver}
    return Lstsq(*(_LEAST(A, B, **given) if rcond is None else _LEAST(A, B, rcond, **given)))


def _solve(A: Any, B: Any, *, left: bool = True) -> Any:
    return _CHECKED(A, B) if left else _CHECKED(A, B, left=False)


def _solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    if check_errors:
        return NotImplemented
    return SolveEx(*(_WITH_INFO(A, B) if left else _WITH_INFO(A, B, left=False)))


# ---- Cholesky's factor ----


def _by_factor(
    ask: Steps,
    wanted: Any,
    args: Any,
    results: Any,
    grad: Any,
    *others: Any,
    upper: bool = False,
) -> Any:
    factor = results[0]
    if upper:
        factor, grad = turned(ask, factor), turned(ask, grad)
    return (by_cholesky(ask, factor, grad),)


def _by_old_factor(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    return _by_factor(ask, wanted, args, results, grad, upper=args[1])


_FACTORED: Final = Operation(
    "linalg_cholesky_ex", (0,), _by_factor, after=told("linalg.cholesky", 1)
)
_FACTOR_AND_INFO: Final = Operation("linalg_cholesky_ex", (0,), _by_factor, outputs=(0, 1))
_OLD_FACTOR: Final = Operation("cholesky", (0,), _by_old_factor)


def _cholesky(A: Any, *, upper: bool = False) -> Any:
    return _FACTORED(A, upper=True) if upper else _FACTORED(A)


def _cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    if check_errors:
        return NotImplemented
    return CholeskyEx(*(_FACTOR_AND_INFO(A, upper=True) if upper else _FACTOR_AND_INFO(A)))


def _old_cholesky(input: Any, upper: bool = False) -> Any:
    return _OLD_FACTOR(input, upper)


def _by_solution(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    _, factor, upper = args
    back = ask("cholesky_solve", grad, factor, upper)
    if not wanted[1]:
        return back, None
    both = times(ask, back, turned(ask, results[0]))
    both = ask("add", both, turned(ask, both))
    outer = times(ask, factor, both) if upper else times(ask, both, factor)
    return back, ask("neg", outer)


def _by_inverted(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    factor, upper = args
    both = ask("add", grad, turned(ask, grad))
    inner = times(ask, times(ask, results[0], both), results[0])
    outer = times(ask, factor, inner) if upper else times(ask, inner, factor)
    return (ask("neg", outer),)


_BY_CHOLESKY: Final = Operation("cholesky_solve", (0, 1), _by_solution)
_INVERTED: Final = Operation("cholesky_inverse", (0,), _by_inverted)


def _cholesky_solve(input: Any, L: Any, upper: bool = False) -> Any:
    return _BY_CHOLESKY(input, L, upper)


def _cholesky_inverse(L: Any, upper: bool = False) -> Any:
    return _INVERTED(L, upper)


# ---- reflections ----


def _by_product(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    return by_reflections(ask, grad, results[0], *args)


def _by_reflected(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, tau, _, left, across = args
    back = ask("ormqr", input, tau, grad, left, not across)
    if not wanted[0] and not wanted[1]:
        return None, None, back
    first, second = (grad, results[0]) if left else (turned(ask, grad), turned(ask, results[0]))
    if left is across:
        return *by_reflections(ask, second, first, input, tau, True), back
    return *by_reflections(ask, first, second, input, tau), back


_PRODUCT: Final = Operation("linalg_householder_product", (0, 1), _by_product)
_REFLECTED: Final = Operation("ormqr", (0, 1, 2), _by_reflected)


def _ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    return _REFLECTED(input, tau, other, left, transpose)


# ---- singular values ----

_PSEUDO: Final = Operation(
    "linalg_pinv.atol_rtol_tensor",
    (0,),
    lambda ask, wanted, args, results, grad, **named: (
        by_pseudo_inverse(ask, args[0], results[0], grad),
    ),
)


def bounds(A: Any, atol: Any, rtol: Any) -> Any:
    """Tolerances as PyTorch makes them of numbers; that of which nothing is said is 0."""
    if any(isinstance(each, Tensor) for each in (atol, rtol)):
        return None
    with asking() as ask:
        place = {"dtype": float64, "layout": strided, "device": A.device}
        return [ask("full", [], each or 0.0, **place) for each in (atol, rtol)]


def _pinv(
    A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    named: dict[str, Any] = {"hermitian": True} if hermitian else {}
    rtol = rtol if rcond is None else rcond
    if atol is None and rtol is None:
        return _PSEUDO(A, **named)
    found = bounds(A, atol, rtol)
    if found is None:
        return NotImplemented
    return _PSEUDO(A, atol=found[0], rtol=found[1], **named)


def _pinverse(input: Any, rcond: float = 1e-15) -> Any:
    return _pinv(input, rcond)


def _old_svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    if not some or not compute_uv:
        return NotImplemented
    left, values, right = linalg_svd(input, False)
    return Svd(left, values, transpose(right, -2, -1))


FUNCTIONS: Final[dict[str, Any]] = {
    "linalg_lu": _lu,
    "linalg_lu_factor_ex": _lu_factor_ex,
    "lu": _old_lu,
    "lu_unpack": _lu_unpack,
    "linalg_lu_solve": _lu_solve,
    "triangular_solve": _triangular_solve,
    "linalg_lstsq": _lstsq,
    "linalg_solve": _solve,
    "linalg_solve_ex": _solve_ex,
    "linalg_cholesky": _cholesky,
    "linalg_cholesky_ex": _cholesky_ex,
    "cholesky": _old_cholesky,
    "cholesky_solve": _cholesky_solve,
    "cholesky_inverse": _cholesky_inverse,
    "linalg_householder_product": _PRODUCT,
    "ormqr": _ormqr,
    "linalg_pinv": _pinv,
    "pinverse": _pinverse,
    "svd": _old_svd,
}
