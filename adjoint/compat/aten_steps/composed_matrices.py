"""Equations and factors of matrices, composed as PyTorch does."""

import math
from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.matrices import by_cholesky, by_pseudo_inverse, times, turned
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.ops.arranging.shape import expand, transpose
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.elementwise.arithmetic import div
from adjoint.ops.elementwise.selection import where
from adjoint.ops.matrices.decompositions import Svd, linalg_svd
from adjoint.ops.matrices.linalg import is_vector, linalg_slogdet

# ---- equations ----


def _told(called: str, place: int) -> Any:
    """What looks at the result that says which matrices could not be done."""

    def look(ask: Steps, args: Any, results: Any) -> None:
        ask("_linalg_check_errors", results[place], called, is_matrix=args[0].ndim == 2)

    return look


def _by_equation(
    ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, left: bool = True
) -> Any:
    A, B = args
    result, factors, pivots, _ = results
    is_of_vectors = is_vector(A, B)
    side = ask("unsqueeze", grad, -1) if is_of_vectors else grad
    back = ask("linalg_lu_solve", factors, pivots, side, left=left, adjoint=True)
    by_matrix = None
    if wanted[0]:
        solved = turned(ask, ask("unsqueeze", result, -1) if is_of_vectors else result)
        outer = times(ask, back, solved) if left else times(ask, solved, back)
        by_matrix = ask("neg", outer)
    return by_matrix, ask("squeeze", back, -1) if is_of_vectors and wanted[1] else back


_SOLVED: Final = Operation(
    "_linalg_solve_ex", (0, 1), _by_equation, after=_told("torch.linalg.solve", 3)
)


def _solve(A: Any, B: Any, *, left: bool = True) -> Any:
    return _SOLVED(A, B) if left else _SOLVED(A, B, left=False)


def _by_factors(
    ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, adjoint: bool = False
) -> Any:
    factors, pivots, _ = args
    back = ask("linalg_lu_solve", factors, pivots, grad, adjoint=True) if wanted[1] else None
    if not wanted[0]:
        return None, back
    _, L, U = ask("lu_unpack", factors, pivots, True, False)
    inner = ask("neg", times(ask, grad, turned(ask, results[0])))
    above = ask("linalg_solve_triangular", turned(ask, U), inner, upper=False)
    below = times(ask, above, turned(ask, U))
    options = {"upper": True, "unitriangular": True}
    below = ask("linalg_solve_triangular", turned(ask, L), below, **options)
    return ask("add", ask("tril", below, -1), ask("triu", above)), back


_BY_FACTORS: Final = Operation("linalg_lu_solve", (0, 2), _by_factors)


def _lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    if not left or adjoint:
        return NotImplemented
    return _BY_FACTORS(LU, pivots, B)


def _logdet(input: Any) -> Any:
    sign, logarithm = linalg_slogdet(input)
    return where(sign == -1.0, math.nan, logarithm)


# ---- Cholesky's factor ----


def _by_factor(
    ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, upper: bool = False
) -> Any:
    factor = results[0]
    if upper:
        factor, grad = turned(ask, factor), turned(ask, grad)
    return (by_cholesky(ask, factor, grad),)


_FACTORED: Final = Operation(
    "linalg_cholesky_ex", (0,), _by_factor, after=_told("linalg.cholesky", 1)
)


def _by_old_factor(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    return _by_factor(ask, wanted, args, results, grad, args[1])


_OLD_FACTOR: Final = Operation("cholesky", (0,), _by_old_factor)


def _cholesky(A: Any, *, upper: bool = False) -> Any:
    return _FACTORED(A, upper=True) if upper else _FACTORED(A)


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


# ---- other factors ----

_PSEUDO: Final = Operation(
    "linalg_pinv.atol_rtol_tensor",
    (0,),
    lambda ask, wanted, args, results, grad: (by_pseudo_inverse(ask, args[0], results[0], grad),),
)


def _pinv(
    A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Any:
    if hermitian or any(each is not None for each in (rcond, atol, rtol)):
        return NotImplemented
    return _PSEUDO(A)


def _old_svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    if not some or not compute_uv:
        return NotImplemented
    left, values, right = linalg_svd(input, False)
    return Svd(left, values, transpose(right, -2, -1))


# ---- lengths ----


def _normalize(
    input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Any:
    lengths = COMPOSITES["norm"](input, p, dim, True).clamp_min(eps)
    return div(input, expand(lengths, tuple(input.shape)))


FUNCTIONS: Final[dict[str, Any]] = {
    "linalg_solve": _solve,
    "linalg_lu_solve": _lu_solve,
    "logdet": _logdet,
    "linalg_cholesky": _cholesky,
    "cholesky": _old_cholesky,
    "cholesky_solve": _cholesky_solve,
    "cholesky_inverse": _cholesky_inverse,
    "linalg_pinv": _pinv,
    "svd": _old_svd,
    "normalize": _normalize,
}
