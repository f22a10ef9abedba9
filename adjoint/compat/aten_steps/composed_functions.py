"""Functions of elements, and of samples along a dimension, composed as PyTorch does."""

import functools
import itertools
import math
from typing import Any, Final

from adjoint.call.arguments import tensors_in
from adjoint.call.context import is_recording
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.gradients import scaled
from adjoint.compat.aten_steps.kept import beside
from adjoint.compat.aten_steps.products import common
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.creation.factories import tensor, zeros_like
from adjoint.dtypes import FLOAT, bool_, int64
from adjoint.ops.arranging.conversion import clone, contiguous_format, strided
from adjoint.ops.arranging.indexing import gather
from adjoint.ops.arranging.shape import (
    basic_index,
    cat,
    expand,
    permute,
    reshape,
    select,
    stack,
    transpose,
    unsqueeze,
    view,
)
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.arithmetic import add, div, mul, sub
from adjoint.ops.matrices.matmul import matmul
from adjoint.ops.reducing.cumulative import cumsum
from adjoint.ops.reducing.reduction import nansum, sum
from adjoint.ops.reducing.sorting import sort
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
        floats = name != "bucketize" and is_recording()
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
DIVIDED: Final = Operation(
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
        bare = ask("detach", input)
        known = ask("logical_not_", ask("ne", bare, bare))
        count = ask("sum.dim_IntList", known, dims, keepdim)
    return div(nansum(input, dim, keepdim), count)


def _quantile(ignores_nan: bool) -> Any:
    """The function quantile, or nanquantile."""

    def function(
        input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: Any = "linear"
    ) -> Any:
        many = isinstance(q, Tensor) and q.ndim > 0
        fits = input.dtype.category == FLOAT and input.numel() and interpolation in _ROUNDED
        if not fits or not _are_chances(q, input) or (input.ndim == 0 and dim is not None):
            return NotImplemented
        with asking() as ask:
            share = q if isinstance(q, Tensor) else ask("scalar_tensor", q, **beside(input))
        values = _sorted_rows(input, dim, keepdim)
        with asking() as ask:
            rank = _ranks(ask, share, values, ignores_nan)
            if interpolation in _STEPPED:
                rank = ask(f"{_STEPPED[interpolation]}_", rank)
            below = ask("_to_copy", rank, dtype=int64)
        found = gather(values, -1, below)
        if interpolation not in _STEPPED:
            with asking() as ask:
                middle = interpolation == "midpoint"
                weight = ask("full_like", rank, 0.5) if middle else ask("sub", rank, below)
                above = ask("_to_copy", ask("ceil_", rank), dtype=int64)
            found = found.lerp_(gather(values, -1, above), weight)
        return (found.unsqueeze_(0).transpose_(0, -1) if many else found).squeeze_(-1)

    return function


_STEPPED: Final = {"lower": "floor", "higher": "ceil", "nearest": "round"}
_ROUNDED: Final = ("linear", "midpoint", *_STEPPED)


def _are_chances(q: Any, input: Any) -> bool:
    """Whether q lies between 0 and 1, as numbers of the input's type do."""
    if isinstance(q, Tensor):
        if q.layer is not None or q.dtype is not input.dtype or q.ndim > 1 or q.requires_grad:
            return False
        with unseen():
            return bool(((q >= 0) & (q <= 1)).all())
    return isinstance(q, (int, float)) and 0 <= q <= 1


def _sorted_rows(input: Any, dim: Any, keepdim: bool) -> Any:
    """The samples in order along a last dimension, after the dimensions of the result."""
    if dim is None:
        rows, shape = reshape(input, (input.numel(),)), [1] * input.ndim if keepdim else []
    else:
        place = normal_dim(dim, input.ndim)
        whole = list(input.shape)
        shape = [*whole[:place], *([1] if keepdim else []), *whole[place + 1 :]]
        last = place == input.ndim - 1
        rows = input if last else transpose(unsqueeze(input, -1), place, -1)
    return reshape(sort(rows)[0], (*shape, rows.shape[-1]))


def _ranks(ask: Steps, share: Any, values: Any, ignores_nan: bool) -> Any:
    """At which places of rows in order quantiles lie."""
    if ignores_nan:
        count = ask("sum", ask("logical_not_", ask("isnan", values)), [-1], True)
        rank = ask("mul", share, ask("sub.Scalar", count, 1))
        return ask("masked_fill_", rank, ask("lt", rank, 0), 0)
    last = values.shape[-1] - 1
    rank = ask("mul.Scalar", share, last)
    lost = ask("any", ask("isnan", values), -1, True)
    shape = common(rank.shape, lost.shape)
    wide = [x if tuple(x.shape) == shape else ask("expand", x, list(shape)) for x in (rank, lost)]
    return ask("masked_fill", *wide, last)


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
    return NotImplemented if areas is None else DIVIDED(sum(areas, place), 2.0)


def _cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = None, dim: int = -1) -> Any:
    if not _are_samples(y, x, dx, dim):
        return NotImplemented
    place = normal_dim(dim, y.ndim)
    if x is None:
        left, right = _ends(y, place)
        return cumsum(_SCALED(add(right, left), (1 if dx is None else dx) / 2), dim)
    areas = _areas(y, x, place)
    return NotImplemented if areas is None else DIVIDED(cumsum(areas, place), 2.0)


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
        found.append(DIVIDED(sub(right, left), step))
    inner, first, last = found
    return cat([first, DIVIDED(inner, 2), last], dim)


def _diff(input: Any, n: int = 1, dim: int = -1, *rest: Any, **more: Any) -> Any:
    if n or not input.ndim:
        return NotImplemented
    copied: Any = zeros_like(input)
    return copied.copy_(input)


# ---- products ----


def _inner(input: Any, other: Any) -> Any:
    if input.ndim != 1 or not _are_alike(input, other):
        return NotImplemented
    second = permute(other, (-1,))
    return reshape(matmul(permute(input, (-1,)), second), ())


def _repeat_interleave(
    input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    is_number = not input.ndim and dim is not None
    if type(repeats) is not int or repeats < 0 or output_size is not None or is_number:
        return NotImplemented
    whole = reshape(input, (input.numel(),)) if dim is None else input
    axis = normal_dim(0 if dim is None else dim, whole.ndim)
    front, count, rest = whole.shape[:axis], whole.shape[axis], whole.shape[axis + 1 :]
    apart = expand(unsqueeze(whole, axis + 1), (*front, count, repeats, *rest))
    copied: Any = clone(apart, memory_format=contiguous_format)
    return copied.view((*front, count * repeats, *rest))


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
        order = ask("arange", count, dtype=int64, **place)
        seen = [functools.partial(ask, name) for name in ("view", "expand")]
        numbers = _grids([order] * r, *seen)
        mask = ask("full", [count] * r, True, dtype=bool_, **place)
        for left, right in itertools.pairwise(numbers):
            ordered = ask("le" if with_replacement else "lt", left, right)
            mask = ask("mul_", mask, ordered)
    return stack([COMPOSITES["masked_select"](grid, mask) for grid in grids], 1)


def _unravel_index(indices: Any, shape: Any) -> Any:
    sizes = [shape] if isinstance(shape, int) else list(shape)
    fits = sizes and all(type(size) is int and size > 0 for size in sizes)
    if not fits or indices.dtype.category >= FLOAT or indices.dtype is bool_:
        return NotImplemented
    steps = [math.prod(sizes[dim + 1 :]) for dim in range(len(sizes))]
    with asking() as ask:
        found = ask("unsqueeze", indices, -1)
        for name, each in (("floor_divide", steps), ("remainder", sizes)):
            with unseen():
                made = tensor(each, device=indices.device)
            found = ask(name, found, ask("lift_fresh", made))
        return tuple(ask("unbind", found, -1))


def _grids(vectors: Any, viewed: Any = view, repeated: Any = expand) -> list[Any]:
    """Each vector along a dimension of its own, repeated along those of the others."""
    count, shape = len(vectors), [math.prod(vector.shape) for vector in vectors]
    sizes = [[-1 if d == place else 1 for d in range(count)] for place in range(count)]
    return [repeated(viewed(v, size), shape) for v, size in zip(vectors, sizes, strict=True)]


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


def _broadcast_tensors(*tensors: Any) -> Any:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    shape: tuple[int, ...] = ()
    for each in given:
        shape = common(shape, tuple(each.shape))
    return tuple(each if tuple(each.shape) == shape else expand(each, shape) for each in given)


FUNCTIONS: Final[dict[str, Any]] = {
    "ldexp": _ldexp,
    "polar": _polar,
    "mvlgamma": _mvlgamma,
    "rsub": _rsub,
    "nanmean": _nanmean,
    "quantile": _quantile(False),
    "nanquantile": _quantile(True),
    "diff": _diff,
    "repeat_interleave": _repeat_interleave,
    "trapezoid": _trapezoid,
    "cumulative_trapezoid": _cumulative_trapezoid,
    "gradient": _gradient,
    "inner": _inner,
    "linalg_vecdot": _vecdot,
    "combinations": _combinations,
    "meshgrid": _meshgrid,
    "unravel_index": _unravel_index,
    "broadcast_tensors": _broadcast_tensors,
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
