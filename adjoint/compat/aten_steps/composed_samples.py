"""Distances, angles and covariances of samples, composed as PyTorch does."""

import math
from functools import partial
from typing import Any, Final

from adjoint.autograd.grad_mode import no_grad
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.kept import TooLittleKeptError
from adjoint.compat.aten_steps.matrices import by_norm
from adjoint.compat.aten_steps.matrix_products import times, turned
from adjoint.compat.aten_steps.products import common
from adjoint.compat.aten_steps.recorded import Operation, recording
from adjoint.dtypes import FLOAT, bool_, float32, float64, int64
from adjoint.ops.arranging.conversion import clone, contiguous_format, strided
from adjoint.ops.arranging.shape import expand, reshape, squeeze, unsqueeze
from adjoint.ops.arranging.strided import diagonal
from adjoint.ops.elementwise.arithmetic import div, mul, sub
from adjoint.ops.elementwise.powers import sqrt
from adjoint.ops.elementwise.selection import clamp
from adjoint.ops.matrices.distances import FEW
from adjoint.ops.matrices.matmul import matmul
from adjoint.ops.reducing.norms import p_norm
from adjoint.ops.reducing.reduction import sum

# ---- distances of rows ----


def _in_order(ask: Steps, tensor: Any) -> Any:
    """A tensor that lies in memory in order, copied if it did not."""
    if tensor.is_contiguous():
        return tensor
    return ask("clone", tensor, memory_format=contiguous_format)


def _by_distances(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    x1, x2, p, _ = args
    if 0 in (*x1.shape, *x2.shape):
        raise TooLittleKeptError
    grad = _in_order(ask, grad)
    first = second = None
    if wanted[0]:
        first = ask("_cdist_backward", grad, x1, x2, p, results[0])
    if wanted[1]:
        over, lengths = (_in_order(ask, turned(ask, each)) for each in (grad, results[0]))
        second = ask("_cdist_backward", over, x2, x1, p, lengths)
    return first, second


def _by_lengths(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    x1, x2 = args
    share = ask("div", grad, results[0])
    share = ask("masked_fill_", share, ask("eq", results[0], 0), 0)
    first = second = None
    if wanted[0]:
        moved = times(ask, share, x2)
        own = ask("mul", x1, ask("sum", share, [-1], True))
        first = ask("sub", own, moved)
    if wanted[1]:
        moved = times(ask, turned(ask, share), x1)
        own = ask("mul", x2, ask("unsqueeze", ask("sum", share, [-2]), -1))
        second = ask("sub", own, moved)
    return first, second


def _by_pairs(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    return (ask("_pdist_backward", grad, args[0], args[1], results[0]),)


_DISTANCES: Final = Operation("_cdist_forward", (0, 1), _by_distances)
_LENGTHS: Final = Operation("_euclidean_dist", (0, 1), _by_lengths)
_PAIRS: Final = Operation("_pdist_forward", (0,), _by_pairs)
_MODES: Final = {
    None: None,
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}


def _cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Any:
    is_fit = min(x1.ndim, x2.ndim) > 1 and x1.shape[-1] == x2.shape[-1] and x1.dtype is x2.dtype
    if not is_fit or p < 0 or compute_mode not in _MODES or x1.dtype.category < FLOAT:
        return NotImplemented
    mode = _MODES[compute_mode]
    many = max(x1.shape[-2], x2.shape[-2]) > FEW
    full = 0 not in (*x1.shape, *x2.shape)
    if p == 2 and full and (mode == 1 or (mode is None and many)):
        return _by_products(x1, x2)
    return _DISTANCES(x1, x2, float(p), mode)


def _by_products(x1: Any, x2: Any) -> Any:
    front = common(x1.shape[:-2], x2.shape[:-2])
    spread = []
    for each in (x1, x2):
        shape = (*front, *each.shape[-2:])
        spread.append(reshape(expand(each, shape), (math.prod(front), *shape[-2:])))
    lengths = _LENGTHS(*(spread if front else (x1, x2)))  # of matrices they are made for nothing
    return lengths.view((*front, x1.shape[-2], x2.shape[-2]))


def _pdist(input: Any, p: float = 2.0) -> Any:
    if input.ndim != 2 or p < 0 or input.dtype.category < FLOAT:
        return NotImplemented
    return _PAIRS(input.contiguous(), float(p))


# ---- distances and angles of vectors ----


def _by_old_norm(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, p, dims, keepdim = args
    return (by_norm(ask, input, p, dims, keepdim, results[0], grad),)


def _by_difference(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, other, p = args
    found: list[Any] = [None, None]
    for place in (1, 0):
        if wanted[place]:
            apart = ask("sub", input, other)
            slope = by_norm(ask, apart, p, [], False, results[0], grad)
            found[place] = ask("neg", slope) if place and slope is not None else slope
    return found


SHIFTED: Final = partial(recording(), "add.Scalar")
_OLD_NORM: Final = Operation("norm.ScalarOpt_dim", (0,), _by_old_norm)
_DIFFERENCE: Final = Operation("dist", (0, 1), _by_difference)


def _pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    if min(x1.ndim, x2.ndim) < 1 or x1.dtype.category < FLOAT or x2.dtype.category < FLOAT:
        return NotImplemented
    apart = SHIFTED(sub(x1, x2), eps)
    return _OLD_NORM(apart, p, [apart.ndim - 1], keepdim)


def _dist(input: Any, other: Any, p: Any = 2) -> Any:
    if input.dtype.category < FLOAT or input.dtype is not other.dtype:
        return NotImplemented
    return _DIFFERENCE(input, other, p)


def _cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    if eps < 0 or x1.dtype is not x2.dtype or x1.dtype.category < FLOAT:
        return NotImplemented
    shape = common(x1.shape, x2.shape)
    x2 = x2 if tuple(x2.shape) == shape else expand(x2, shape)
    x1 = x1 if tuple(x1.shape) == shape else expand(x1, shape)
    lengths = [clone(p_norm(each, 2, [dim], True)) for each in (x1, x2)]
    with no_grad(), asking() as ask:
        least = ask("scalar_tensor", eps, dtype=x1.dtype, device=x1.device)
    with no_grad():
        for length in lengths:
            length.clamp_min_(least)
    first, second = (div(each, length) for each, length in zip((x1, x2), lengths, strict=True))
    return sum(mul(first, second), dim)


# ---- vectors made shorter ----


def _by_shorter(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, p, dim, most = args
    place = dim % input.ndim
    dims = [d for d in range(input.ndim) if d != place]
    wider = {"dtype": float64} if input.dtype is float32 else {}
    length = ask("linalg_vector_norm", input, p, dims, True, **wider)
    along = ask("sum", ask("mul", input, grad), dims, True, **wider)
    slope = by_norm(ask, input, p, dims, True, length, along)
    inverse = ask("reciprocal", ask("add.Scalar", length, 1e-7))
    rest = ask("sub", grad, ask("mul", inverse, slope))
    shorter = ask("mul", ask("mul.Scalar", inverse, most), rest)
    shorter = ask("_to_copy", shorter, dtype=input.dtype) if wider else shorter
    return (ask("where", ask("gt", length, most), shorter, grad),)


_SHORTER: Final = Operation("renorm", (0,), _by_shorter)


def _renorm(input: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    if p <= 0 or maxnorm < 0 or input.ndim < 2 or input.dtype.category < FLOAT:
        return NotImplemented
    return _SHORTER(input, p, dim, maxnorm)


# ---- covariances ----


def _holds(ask: Steps, truth: Any) -> bool:
    """Whether a truth in a tensor holds, as PyTorch asks."""
    place = {"dtype": bool_, "layout": strided, "device": truth.device}
    return bool(ask("equal", truth, ask("new_ones", truth, [], **place)))


def _cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    weights = [each for each in (fweights, aweights) if each is not None]
    is_odd = any(each.requires_grad or each.ndim != 1 for each in weights)
    if input.ndim > 2 or input.dtype.category < FLOAT or is_odd or len(weights) == 2:
        return NotImplemented
    samples = input if input.ndim == 2 else input.view((1, -1))
    count = samples.shape[1]
    if any(each.shape[0] != count for each in weights):
        return NotImplemented
    place = {"dtype": int64, "layout": strided, "device": input.device}
    with asking() as ask:
        for each in weights:
            if not _holds(ask, ask("ge", ask("min", each), 0)):
                return NotImplemented
        total = ask("sum", weights[0]) if weights else ask("scalar_tensor", count, **place)
        if weights and not _holds(ask, ask("ne", total, 0)):
            return NotImplemented
    average = div(sum(mul(samples, weights[0]) if weights else samples, 1), total)
    with asking() as ask:
        freedom = _freedom(ask, total, correction, count, aweights, place if not weights else None)
        if _holds(ask, ask("le", freedom, 0)):
            freedom = ask("zero_", freedom)
    apart = sub(samples, unsqueeze(average, 1))
    weighted = mul(apart, weights[0]) if weights else apart
    return squeeze(div(matmul(apart, weighted.t()), freedom))


def _freedom(ask: Steps, total: Any, correction: int, count: int, aweights: Any, place: Any) -> Any:
    """By what the sums of products are divided."""
    if place is not None:
        return ask("scalar_tensor", count - correction, **place)
    if correction == 0:
        return total
    if aweights is None:
        return ask("sub.Scalar", total, correction)
    squares = ask("sum", ask("mul", aweights, aweights))
    return ask("sub", total, ask("div", ask("mul.Scalar", squares, correction), total))


def _corrcoef(input: Any) -> Any:
    if input.ndim > 2 or input.dtype.category < FLOAT:
        return NotImplemented
    found = _cov(input)
    if found is NotImplemented:
        return NotImplemented
    if not found.ndim:
        return div(found, found)
    deviations = sqrt(diagonal(found))
    found = div(found, deviations.view((-1, 1)))
    found = div(found, deviations.view((1, -1)))
    return clamp(found, -1, 1)


# ---- products of vectors ----


def _by_dot(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    second = ask("mul", grad, args[0]) if wanted[1] else None
    return ask("mul", grad, args[1]) if wanted[0] else None, second


_DOT: Final = Operation("vdot", (0, 1), _by_dot)


def _vdot(input: Any, other: Any) -> Any:
    if input.ndim != 1 or other.ndim != 1 or input.dtype is not other.dtype:
        return NotImplemented
    return _DOT(input, other) if input.dtype.category >= FLOAT else NotImplemented


FUNCTIONS: Final[dict[str, Any]] = {
    "cdist": _cdist,
    "pdist": _pdist,
    "pairwise_distance": _pairwise_distance,
    "dist": _dist,
    "cosine_similarity": _cosine_similarity,
    "renorm": _renorm,
    "cov": _cov,
    "corrcoef": _corrcoef,
    "vdot": _vdot,
}
