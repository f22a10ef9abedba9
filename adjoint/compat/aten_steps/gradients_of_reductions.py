"""The steps of gradients of reductions, and of sums and products along a dimension."""

import math
from typing import Any, Final

from adjoint.call.context import is_recording
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.kept import Kept, TooLittleKeptError, beside, from_front, unreduced
from adjoint.ops.arranging.conversion import finfo


def _mean(ask: Steps, kept: Kept, grad: Any) -> Any:
    shape, dim, keepdim = kept.shape(0), kept.option(1), kept.option(2)
    if kept.option(3) is not None:
        raise TooLittleKeptError
    every = list(range(len(shape)))
    dims = every if dim is None or not shape else from_front(dim, len(shape))
    if dim is not None and not keepdim and shape:
        grad = unreduced(ask, grad, dims)
    count = math.prod([shape[each] for each in dims])
    return (ask("div.Scalar", ask("expand", grad, list(shape)), count),)


def _max_all(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, result = kept.value(0), kept.result()
    undefined = ask("logical_and", ask("isnan", input), ask("isnan", result))
    reached = ask("logical_or_", ask("eq", input, result), undefined)
    share = ask("div", grad, ask("sum", reached))
    return (ask("mul", reached, share),)


def _median_all(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, result = kept.value(0), kept.result()
    undefined = ask("logical_and", ask("isnan", input), ask("isnan", result))
    reached = ask("logical_or_", ask("eq", input, result), undefined)
    share = ask("div", grad, ask("sum", reached))
    return (ask("mul", reached, share),)


def _nansum(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, dim, keepdim = kept.value(0), kept.option(1), kept.option(2)
    if kept.option(3) is not None:
        raise TooLittleKeptError
    known = ask("logical_not", ask("isnan", input))
    if dim is not None and not keepdim and input.ndim:
        grad = unreduced(ask, grad, from_front(dim, input.ndim))
    return (ask("mul", ask("expand", grad, list(input.shape)), known),)


def _amax(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, dim, keepdim = kept.value(0), kept.option(1), kept.option(2)
    if dim is None or dim == () or keepdim:
        raise TooLittleKeptError
    dims = from_front(dim, input.ndim)
    shape = [1 if i in dims else size for i, size in enumerate(input.shape)]
    result = ask("view", kept.result(), shape)
    reached = ask("eq", result, input)
    share = ask("div", ask("view", grad, shape), ask("sum", reached, dims, True))
    return (ask("mul", share, reached),)


def _aminmax(ask: Steps, kept: Kept, *grads: Any) -> Any:
    input, dim, keepdim = kept.value(0), kept.option(1), kept.option(2)
    dims = from_front(range(input.ndim) if dim is None else dim, input.ndim)
    shape = [1 if i in dims else size for i, size in enumerate(input.shape)]
    found = None
    for place, grad in enumerate(grads):
        if grad is None:
            continue
        result = kept.result(place)
        if not keepdim:
            grad, result = ask("view", grad, shape), ask("view", result, shape)
        reached = ask("eq", input, result)
        share = ask("mul", ask("div", grad, ask("sum", reached, dims, True)), reached)
        found = share if found is None else ask("add", found, share)
    return (found,)


def _correction(kept: Kept) -> Any:
    """By how much var and std count fewer elements than there are."""
    dim, unbiased, correction = (kept.option(place) for place in (1, 2, 4))
    if isinstance(dim, bool):  # as the second argument, it says whether to correct
        return int(dim)
    if unbiased is not None:
        return int(unbiased)
    return 1 if correction is None else correction


def _is_of_all(kept: Kept) -> bool:
    """Whether var and std are of all elements; refused where their steps are not known."""
    input, dim, keepdim = kept.value(0), kept.option(1), kept.option(3)
    if not input.ndim:
        raise TooLittleKeptError
    of_all = dim is None or isinstance(dim, bool) or len(from_front(dim, input.ndim)) == input.ndim
    if of_all and keepdim:
        raise TooLittleKeptError
    return of_all


def _by_variance(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, dim, keepdim = kept.value(0), kept.option(1), kept.option(3)
    if _is_of_all(kept):
        count = math.prod(input.shape)
        apart = ask("sub", input, ask("mean", input))
    else:
        dims = from_front(dim, input.ndim)
        count = math.prod([input.shape[each] for each in dims])
        grad = grad if keepdim else unreduced(ask, grad, dims)
        apart = ask("sub", input, ask("mean", input, dims, True))
    return ask("mul", ask("mul.Scalar", grad, 2 / (count - _correction(kept))), apart)


def _var(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (_by_variance(ask, kept, grad),)


def _by_deviation(ask: Steps, kept: Kept, grad: Any) -> Any:
    _is_of_all(kept)  # before there is a step
    result = kept.result()
    slope = ask("div", grad, ask("mul.Scalar", result, 2))
    slope = ask("masked_fill_", slope, ask("eq", result, 0), 0)
    return _by_variance(ask, kept, slope)


def _std(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (_by_deviation(ask, kept, grad),)


def _moments(by_spread: Any) -> Any:
    """Steps of var_mean and std_mean."""

    def steps(ask: Steps, kept: Kept, grad: Any, by_mean: Any) -> Any:
        of_all = _is_of_all(kept)
        found = None if grad is None else by_spread(ask, kept, grad)
        if by_mean is None:
            return (found,)
        shape, dim, keepdim = kept.value(0).shape, kept.option(1), kept.option(3)
        dims = range(len(shape)) if of_all else from_front(dim, len(shape))
        by_mean = by_mean if of_all or keepdim else unreduced(ask, by_mean, list(dims))
        count = math.prod([shape[each] for each in dims])
        share = ask("div.Scalar", ask("expand", by_mean, list(shape)), count)
        return (share if found is None else ask("add", found, share),)

    return steps


def _logsumexp(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, dim, keepdim, result = kept.value(0), kept.option(1), kept.option(2), kept.result()
    if not keepdim and input.ndim:
        dims = from_front(dim, input.ndim)
        grad, result = unreduced(ask, grad, dims), unreduced(ask, result, dims)
    return (ask("mul", grad, ask("exp", ask("sub", input, result))),)


def _cumsum(ask: Steps, kept: Kept, grad: Any) -> Any:
    if kept.option(2) is not None or not grad.ndim:
        raise TooLittleKeptError
    dims = from_front(kept.option(1), grad.ndim)
    total = ask("cumsum", ask("flip", grad, dims), dims[0])
    return (ask("flip", total, dims),)


def _cumprod(ask: Steps, kept: Kept, grad: Any) -> Any:
    """Before the first zero by quotients, at it by what follows, and nothing behind it."""
    input, result = kept.value(0), kept.result()
    if kept.option(2) not in (None, input.dtype):
        raise TooLittleKeptError
    if input.numel() < 2 or input.shape[kept.option(1)] == 1:
        return (grad,)
    dim = from_front(kept.option(1), input.ndim)[0]
    weighted = ask("mul", result, grad)
    zeros_seen = ask("eq", input, 0)
    if is_recording():
        return (_recorded_cumprod(ask, input, grad, dim),)
    nothing = ask("zeros", list(input.shape), **beside(input))
    zeros_seen = ask("cumsum", zeros_seen, dim)
    before = ask("eq", zeros_seen, 0)
    weighted = ask("masked_fill", weighted, ask("bitwise_not", before), 0.0)
    total = ask("flip", ask("cumsum", ask("flip", weighted, [dim]), dim), [dim])
    found = ask("where", before, ask("div", total, input), nothing)
    behind = ask("eq", zeros_seen, 1)
    _, first = ask("max", behind, dim, True)
    at_first = ask("scatter_", ask("zeros_like", behind), dim, first, 1)
    at_first = ask("logical_and_", at_first, behind)
    behind = ask("bitwise_and_", behind, ask("bitwise_not", at_first))
    later = ask("masked_fill", input, ask("bitwise_not", behind), 1.0)
    later = ask("cumprod", later, dim)
    later = ask("masked_fill", later, ask("ne", zeros_seen, 1), 0.0)
    place = ask("relu_", ask("sub.Scalar", first, 1))
    product = ask("gather", result, dim, place)
    product = ask("masked_fill_", product, ask("eq", first, 0), 1.0)
    along = ask("sum", ask("mul", grad, later), [dim], True)
    return (ask("where", at_first, ask("mul", product, along), found),)


def _recorded_cumprod(ask: Steps, input: Any, grad: Any, dim: int) -> Any:
    """Element by element: the products that have it, without it."""
    size, rows = input.shape[dim], []
    ones = [1 if d == dim else n for d, n in enumerate(input.shape)]
    lead = ask("expand", ask("ones", [1], **beside(input)), ones)
    for place in range(size):
        if place:
            lead = ask("prod", ask("slice", input, dim, 0, place), dim, True)
        products = lead
        if place + 1 < size:
            later = ask("cumprod", ask("slice", input, dim, place + 1), dim)
            if place:
                later = ask("mul", ask("expand", lead, list(later.shape)), later)
            products = ask("cat", [lead, later], dim)
        rows.append(ask("sum", ask("mul", ask("slice", grad, dim, place), products), [dim]))
    return ask("stack", rows, dim)


def _prod(ask: Steps, kept: Kept, grad: Any) -> Any:
    """The products of all before and of all behind each element; none is divided by."""
    input, dim, keepdim = kept.value(0), kept.option(1), kept.option(2)
    is_one = input.ndim < 1 or (isinstance(dim, (tuple, list)) and len(dim) != 1)
    if kept.option(3) is not None or is_one or (dim is None and keepdim):
        raise TooLittleKeptError
    if dim is None:
        if not input.is_contiguous() or input.numel() < 2:
            raise TooLittleKeptError
        found = ask("mul", grad, products_of_others(ask, ask("view", input, [-1]), 0))
        return (ask("view", found, list(input.shape)),)
    place = from_front(dim, input.ndim)[0]
    if input.shape[place] < 2:
        raise TooLittleKeptError
    if not keepdim:
        grad = ask("unsqueeze", grad, place)
        ask("unsqueeze", kept.result(), place)
    return (ask("mul", grad, products_of_others(ask, input, place)),)


def products_of_others(ask: Steps, input: Any, dim: int) -> Any:
    """The product of all elements along a dimension but the one at each place."""
    size = input.shape[dim]
    ones = [1 if d == dim else n for d, n in enumerate(input.shape)]
    one = ask("ones", ones, **beside(input))
    before = ask("cat", [one, ask("slice", input, dim, 0, size - 1)], dim)
    before = ask("cumprod", before, dim)
    behind = ask("flip", ask("slice", input, dim, 1, size), [dim])
    behind = ask("cumprod", ask("cat", [one, behind], dim), dim)
    return ask("mul", before, ask("flip", behind, [dim]))


def _chosen_of(places: Any, dim_place: int, keepdim_place: int | None) -> Any:
    """Steps of ops that pick elements along a dimension, and give their places too."""

    def steps(ask: Steps, kept: Kept, grad: Any, *others: Any) -> Any:
        shape = kept.shape(0)
        indices = kept.result(places)
        if grad is None or not shape:
            raise TooLittleKeptError
        dims = from_front(kept.option(dim_place), len(shape))
        if keepdim_place is not None and not kept.option(keepdim_place):
            grad, indices = unreduced(ask, grad, dims), unreduced(ask, indices, dims)
        zeros = ask("new_zeros", grad, list(shape))
        return (ask("scatter", zeros, dims[0], indices, grad),)

    return steps


def _logcumsumexp(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, result = kept.value(0), kept.result()
    if not grad.ndim or not grad.numel():
        return (grad,)
    dim = from_front(kept.option(1), grad.ndim)[0]
    least = ask("scalar_tensor", finfo(grad.dtype).min, **beside(grad))
    sizes = ask("log", ask("abs", grad))
    above = ask("where", ask("gt", grad, 0), sizes, least)
    below = ask("where", ask("lt", grad, 0), sizes, least)
    found = []
    for each in (above, below):
        turned = ask("flip", ask("sub", each, result), [dim])
        back = ask("flip", ask("logcumsumexp", turned, dim), [dim])
        found.append(ask("exp", ask("add", back, input)))
    return (ask("sub", *found),)


STEPS: Final[dict[str, Any]] = {
    "logcumsumexp": _logcumsumexp,
    "mean": _mean,
    "max_all": _max_all,
    "min_all": _max_all,
    "amax": _amax,
    "amin": _amax,
    "aminmax": _aminmax,
    "var": _var,
    "std": _std,
    "var_mean": _moments(_by_variance),
    "std_mean": _moments(_by_deviation),
    "median_all": _median_all,
    "nanmedian_all": _median_all,
    "nansum": _nansum,
    "kthvalue": _chosen_of(1, 2, 3),
    "mode": _chosen_of(1, 1, 2),
    "median_dim": _chosen_of(1, 1, 2),
    "nanmedian_dim": _chosen_of(1, 1, 2),
    "logsumexp": _logsumexp,
    "cumsum": _cumsum,
    "cumprod": _cumprod,
    "prod": _prod,
    "max_dim": _chosen_of(1, 1, 2),
    "min_dim": _chosen_of(1, 1, 2),
    "sort": _chosen_of(1, 1, None),
    "topk": _chosen_of(1, 2, None),
}
