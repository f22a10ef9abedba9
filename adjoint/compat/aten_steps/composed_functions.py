"""Functions of elements, and of samples along a dimension, composed as PyTorch does."""

import itertools
import math
from typing import Any, Final

from adjoint.call.context import is_grad_enabled
from adjoint.call.dispatch import tensors_in
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.gradients import scaled
from adjoint.compat.aten_steps.kept import beside
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import FLOAT, bool_, int64
from adjoint.ops.arranging.conversion import strided
from adjoint.ops.arranging.shape import (
    basic_index,
    cat,
    expand,
    permute,
    reshape,
    select,
    stack,
    view,
)
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.arithmetic import add, div, mul, sub
from adjoint.ops.matrices.matmul import matmul
from adjoint.ops.reducing.cumulative import cumsum
from adjoint.ops.reducing.reduction import nansum, sum
from adjoint.tensors.tensor import Tensor


def _are_alike(*tensors: Any) -> bool:
    """Whether all are tensors of floats, of one data type and shape."""
    first = tensors[0]
    return all(
        isinstance(each, Tensor)
        and each.dtype is first.dtype
        and each.shape == first.shape
        and each.dtype.category == FLOAT
        for each in tensors
    )


# ---- one operation ----


def _alone(name: str) -> Any:
    """The function that is one operation, without a gradient."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if "input" in kwargs:
            args = (kwargs.pop("input"), *args)
        given = [*args, *kwargs.values()]
        floats = name != "bucketize" and is_grad_enabled()
        if floats and any(each.needs_grad for each in tensors_in(given)):
            return NotImplemented
        with asking() as ask:
            return ask(name, *args, **kwargs)

    return function


def _by_power(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    by_input = by_other = None
    if wanted[1]:
        by_other = ask("mul.Scalar", ask("mul", grad, results[0]), math.log(2))
    if wanted[0]:
        by_input = ask("mul", grad, ask("pow", 2.0, args[1]))
    return by_input, by_other


def _by_gammas(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, p = args
    rest = ask("arange.start_step", -p / 2 + 0.5, 0.5, 0.5, **beside(input))
    each = ask("digamma_", ask("add", rest, ask("unsqueeze", input, -1)))
    return (ask("mul", grad, ask("sum", each, [-1])),)


def _by_reversed(
    ask: Steps, wanted: Any, args: Any, results: Any, grad: Any, alpha: Any = 1
) -> Any:
    return scaled(ask, ask("neg", grad), alpha) if wanted[0] else None, grad


def _by_polar(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    """Along and across the numbers; PyTorch conjugates when it multiplies, into a copy."""
    turned, found = ask("_conj", grad), []
    for step, *factor in (("sgn",), ("mul.Scalar", 1j)):
        way = ask(step, results[0], *factor)
        part = ask("mul", ask("clone", turned), way)
        found.append(ask("select", ask("view_as_real", part), part.ndim, 0))
    return found


_POLAR: Final = Operation("polar", (0, 1), _by_polar)
_LDEXP: Final = Operation("ldexp.Tensor", (0, 1), _by_power)
_MVLGAMMA: Final = Operation("mvlgamma", (0,), _by_gammas)
_RSUB: Final = Operation("rsub.Tensor", (0, 1), _by_reversed, changing=(0, 1))
_SCALED: Final = Operation(
    "mul.Scalar",
    (0,),
    lambda ask, wanted, args, results, grad: (ask("mul.Scalar", grad, args[1]),),
    changing=(0,),
)
_DIVIDED: Final = Operation(
    "div.Scalar",
    (0,),
    lambda ask, wanted, args, results, grad: (ask("div.Scalar", grad, args[1]),),
    changing=(0,),
)


def _polar(abs: Any, angle: Any) -> Any:
    return _POLAR(abs, angle) if _are_alike(abs, angle) else NotImplemented


def _ldexp(input: Any, other: Any) -> Any:
    fits = _are_alike(input, other) or (
        isinstance(other, Tensor)
        and input.dtype.category == FLOAT > other.dtype.category
        and other.ndim <= input.ndim
    )
    return _LDEXP(input, other) if fits else NotImplemented


def _mvlgamma(input: Any, p: int) -> Any:
    return _MVLGAMMA(input, p) if input.dtype.category == FLOAT and p > 0 else NotImplemented


def _rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    return _RSUB(input, other, alpha=alpha) if _are_alike(input, other) else NotImplemented


# ---- means ----


def _nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype is not None or input.dtype.category != FLOAT:
        return NotImplemented
    dims = [dim] if isinstance(dim, int) else dim
    with asking() as ask:
        known = ask("logical_not_", ask("ne", input, input))
        count = ask("sum.dim_IntList", known, dims, keepdim)
    return div(nansum(input, dim, keepdim), count)


# ---- integrals ----


def _ends(y: Any, dim: int) -> tuple[Any, Any]:
    """All along a dimension but the last, and but the first."""
    before = (slice(None),) * dim
    first = basic_index(y, (*before, slice(0, -1)))
    return first, basic_index(y, (*before, slice(1, None)))


def _widths(y: Any, x: Any, dim: int) -> Any:
    """How far samples are apart; None if it is not PyTorch's to say."""
    fits = x.ndim in (1, y.ndim) and x.dtype is y.dtype
    if not fits or x.shape[dim if x.ndim > 1 else 0] != y.shape[dim]:
        return None
    if x.ndim == 1 != y.ndim:
        x = view(x, [x.shape[0] if d == dim else 1 for d in range(y.ndim)])
    left, right = _ends(x, dim)
    return sub(right, left)


def _areas(y: Any, x: Any, dim: int) -> Any:
    widths = _widths(y, x, dim)
    if widths is None:
        return None
    left, right = _ends(y, dim)
    return mul(add(left, right), widths)


def _are_samples(y: Any, x: Any, dx: Any, dim: int) -> bool:
    known = y.dtype.category == FLOAT and y.ndim and -y.ndim <= dim < y.ndim
    return bool(known and y.shape[dim] and (x is None or dx is None))


def _trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    if not _are_samples(y, x, dx, dim):
        return NotImplemented
    if x is None:
        last, first = select(y, dim, -1), select(y, dim, 0)
        ends = _SCALED(add(first, last), 0.5)
        return _SCALED(sub(sum(y, dim), ends), 1 if dx is None else dx)
    place = normal_dim(dim, y.ndim)
    areas = _areas(y, x, place)
    return NotImplemented if areas is None else _DIVIDED(sum(areas, place), 2.0)


def _cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    if not _are_samples(y, x, dx, dim):
        return NotImplemented
    place = normal_dim(dim, y.ndim)
    if x is None:
        left, right = _ends(y, place)
        return cumsum(_SCALED(add(right, left), (1 if dx is None else dx) / 2), dim)
    areas = _areas(y, x, place)
    return NotImplemented if areas is None else _DIVIDED(cumsum(areas, place), 2.0)


# ---- slopes ----


def _gradient(input: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    step = 1.0 if spacing is None else spacing
    if edge_order != 1 or not isinstance(step, (int, float)) or input.dtype.category != FLOAT:
        return NotImplemented
    dims = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    fits = all(-input.ndim <= each < input.ndim and input.shape[each] > 1 for each in dims)
    places = [each % max(input.ndim, 1) for each in dims]
    if not fits or len(set(places)) < len(places):
        return NotImplemented
    return tuple(_slopes(input, place, step) for place in places)


def _slopes(input: Any, dim: int, step: float) -> Any:
    before = (slice(None),) * dim
    found = []
    for low, high in (
        (slice(0, -2), slice(2, None)),
        (slice(0, 1), slice(1, 2)),
        (slice(-2, -1), slice(-1, None)),
    ):
        left = basic_index(input, (*before, low))
        right = basic_index(input, (*before, high))
        found.append(_DIVIDED(sub(right, left), step))
    inner, first, last = found
    return cat([first, _DIVIDED(inner, 2), last], dim)


# ---- products ----


def _inner(input: Any, other: Any) -> Any:
    if input.ndim != 1 or not _are_alike(input, other):
        return NotImplemented
    second = permute(other, (-1,))
    return reshape(matmul(permute(input, (-1,)), second), ())


def _vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    if x.ndim != 1 or not _are_alike(x, y) or dim not in (0, -1):
        return NotImplemented
    return COMPOSITES["vdot"](x, y)


def _combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    if input.ndim != 1 or r < 1:
        return NotImplemented
    count = input.shape[0]
    grids = _grids([input] * r)
    with asking() as ask:
        place = {"layout": strided, "device": input.device}
        numbers = _grids([ask("arange", count, dtype=int64, **place)] * r)
        mask = ask("full", [count] * r, True, dtype=bool_, **place)
        for left, right in itertools.pairwise(numbers):
            ordered = ask("le" if with_replacement else "lt", left, right)
            mask = ask("mul_", mask, ordered)
    return stack([COMPOSITES["masked_select"](grid, mask) for grid in grids], 1)


def _grids(vectors: Any) -> list[Any]:
    """Each vector along a dimension of its own, repeated along those of the others."""
    count, shape = len(vectors), [math.prod(vector.shape) for vector in vectors]
    sizes = [[-1 if d == place else 1 for d in range(count)] for place in range(count)]
    return [expand(view(vector, size), shape) for vector, size in zip(vectors, sizes, strict=True)]


def _meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    fits = indexing in (None, "ij", "xy") and len(given) and all(v.ndim < 2 for v in given)
    if not fits or any(v.dtype is not given[0].dtype for v in given):
        return NotImplemented
    order = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        order[:2] = 1, 0
    found = _grids([given[i] for i in order])
    return tuple(found[i] for i in order)


FUNCTIONS: Final[dict[str, Any]] = {
    "ldexp": _ldexp,
    "polar": _polar,
    "mvlgamma": _mvlgamma,
    "rsub": _rsub,
    "nanmean": _nanmean,
    "trapezoid": _trapezoid,
    "cumulative_trapezoid": _cumulative_trapezoid,
    "gradient": _gradient,
    "inner": _inner,
    "linalg_vecdot": _vecdot,
    "combinations": _combinations,
    "meshgrid": _meshgrid,
    "bucketize": _alone("bucketize"),
    "nonzero_static": _alone("nonzero_static"),
    **{
        name: _alone(f"special_{name}")
        for name in (
            *("modified_bessel_i0", "modified_bessel_i1"),
            *(f"shifted_chebyshev_polynomial_{letter}" for letter in "tuvw"),
        )
    },
}
