"""Reductions: sums, products, extremes, moments and softmax."""

import builtins
import math
import warnings
from typing import Any

from adjoint.dispatch import conj
from adjoint.dtypes import COMPLEX, FLOAT, as_dtype, category_of, from_numpy_dtype, int64
from adjoint.ops.arithmetic import abs as absolute
from adjoint.ops.comparison import isnan, logical_and, logical_not, logical_or
from adjoint.ops.cumulative import (
    is_half,
    narrowed,
    place_along,
    product_of_others,
    widened,
)
from adjoint.ops.dims import kept_shape, normal_dim, normal_dims, product
from adjoint.ops.op import composite, general, linear
from adjoint.ops.powers import exp
from adjoint.ops.selection import maximum, minimum, where
from adjoint.ops.shape import expand, reshape

INT64 = int64.numpy_dtype

# ---- what reductions have in common ----


def kept(value: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """A reduced value with its reduced dimensions back as size 1, to broadcast with the input."""
    return value if keepdim else reshape(value, kept_shape(shape, dim))


def expand_reduced(grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a reduced result, spread over what was reduced."""
    if dim is not None and not keepdim:
        grad = reshape(grad, kept_shape(shape, dim))
    return expand(grad, tuple(shape))


def reduced_count(shape: Any, dim: Any) -> int:
    """How many elements go into each reduced one."""
    return product(shape[d] for d in normal_dims(dim, len(shape)))


def axes_of(dim: Any, ndim: int) -> Any:
    """The axes to reduce as array libraries take them."""
    return None if dim is None else normal_dims(dim, ndim)


def refuse_empty(input: Any, dim: Any, error: type[Exception] = RuntimeError) -> None:
    """An extreme of no elements does not exist."""
    if input.size:
        return
    if dim is None or dim in ((), []):
        raise error("no elements to choose from; give a dim whose size is not 0")
    for d in normal_dims(dim, input.ndim):
        if input.shape[d] == 0:
            raise IndexError(f"dim {d} has size 0, so there is nothing to choose from")


def refuse_complex(input: Any, error: type[Exception] = NotImplementedError) -> None:
    """Complex numbers have no order."""
    if category_of(input.dtype) == COMPLEX:
        raise error("not implemented for complex numbers, which have no order; take abs() first")


# ---- sums and products ----


@linear(input=lambda grad, dim, keepdim: sum(grad, dim, keepdim), method=False)
def spread_sum(xp: Any, input: Any, shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """A sum over dim at every place of `shape` that went into it: the gradient of sum."""
    if not keepdim and dim is not None:
        input = input.reshape(kept_shape(shape, dim))
    return xp.broadcast_to(input, tuple(shape))


@linear(input=lambda grad, input_shape, dim, keepdim: spread_sum(grad, input_shape, dim, keepdim))
def sum(xp: Any, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Sum over dim, or over everything."""
    if dim is None and not keepdim and dtype is None:
        return xp.total(input)
    kind = input.dtype
    if dtype is not None:
        kind = as_dtype(dtype).numpy_dtype
        input = input.astype(kind)
    elif kind.kind in "biu":
        kind = INT64
    axes = None if dim is None else normal_dims(dim, input.ndim)
    if is_half(kind):
        return input.sum(axis=axes, dtype="float32", keepdims=keepdim).astype(kind)
    return input.sum(axis=axes, dtype=kind, keepdims=keepdim)


def _mean_rule(grad: Any, input_shape: Any, dim: Any, keepdim: bool) -> Any:
    count = reduced_count(input_shape, dim)
    return expand_reduced(grad / count, input_shape, dim, keepdim)


@linear(input=_mean_rule)
def mean(xp: Any, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Mean over dim, or over everything."""
    if dtype is not None:
        input = input.astype(as_dtype(dtype).numpy_dtype)
    kind = input.dtype
    if kind.kind in "biu":
        raise RuntimeError(f"the mean of {kind} is no {kind}: give dtype=, or convert the input")
    if dim is None and kind.itemsize != 2:
        return xp.divide(input.sum(keepdims=keepdim), input.size)
    total = widened(input).sum(axis=normal_dims(dim, input.ndim), keepdims=keepdim)
    return narrowed(total / reduced_count(input.shape, dim), kind)


def _prod_rule(grad: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """Exact at zeros: the product of all others, without dividing."""
    if dim is None or input.ndim == 0:
        others = reshape(product_of_others(reshape(input, -1), 0), tuple(input.shape))
        return grad * conj(others)
    return kept(grad, input.shape, dim, keepdim) * conj(product_of_others(input, dim))


@general(input=_prod_rule)
def prod(
    xp: Any, input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Product over dim, or over everything."""
    kind = input.dtype
    if dtype is not None:
        kind = as_dtype(dtype).numpy_dtype
        input = input.astype(kind)
    elif kind.kind in "biu":
        kind = INT64
    axes = None if dim is None or input.ndim == 0 else normal_dim(dim, input.ndim)
    return xp.prod(input, axis=axes, dtype=kind, keepdims=keepdim)


@general(
    input=lambda grad, input, dim, keepdim: (
        expand_reduced(grad, input.shape, dim, keepdim) * logical_not(isnan(input))
    )
)
def nansum(
    xp: Any, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Sum over dim, NaN counted as 0."""
    if category_of(input.dtype) == COMPLEX:
        raise RuntimeError("nansum is not defined for complex tensors")
    return sum.forward(xp, xp.where(xp.isnan(input), 0, input), dim, keepdim, dtype=dtype)


@composite
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Mean over dim of the elements that are not NaN."""
    if dtype is None and not _is_floating(input):
        raise RuntimeError("nanmean: expected a floating-point tensor; give dtype=, or convert it")
    return nansum(input, dim, keepdim, dtype=dtype) / sum(logical_not(isnan(input)), dim, keepdim)


def _is_floating(input: Any) -> bool:
    return bool(category_of(input.array.dtype) >= FLOAT)


@composite
def sum_to_size(input: Any, *size: Any) -> Any:
    """Sum over dimensions such that a tensor of `size` would broadcast to the input's shape."""
    sizes = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    lead = input.ndim - len(sizes)
    shape = tuple(input.shape)
    fits = lead >= 0 and builtins.all(
        wanted in (1, n) for wanted, n in zip(sizes, shape[lead:], strict=True)
    )
    if not fits:
        raise RuntimeError(f"sum_to_size: size {list(sizes)} does not broadcast to {list(shape)}")
    dims = [i for i in range(len(shape)) if i < lead or (sizes[i - lead] == 1 and shape[i] != 1)]
    return reshape(sum(input, dims, True), sizes) if dims else input


@linear(input=lambda grad, input_shape: on_diagonal(grad, input_shape))
def trace(xp: Any, input: Any) -> Any:
    """Sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise RuntimeError(f"expected a matrix, got a tensor of {input.ndim} dimensions")
    return xp.trace(input, dtype=INT64 if input.dtype.kind in "biu" else input.dtype)


@linear(input=lambda grad: trace(grad), method=False)
def on_diagonal(xp: Any, input: Any, shape: Any) -> Any:
    """A matrix with one value on its diagonal: what the gradient of trace is."""
    return xp.eye(*shape, dtype=input.dtype) * input


@general()
def count_nonzero(xp: Any, input: Any, dim: Any = None) -> Any:
    """How many elements are not zero."""
    return (input != 0).sum(axis=axes_of(dim, input.ndim), dtype="int64")


@general(exact_out=True)
def any(xp: Any, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether an element along dim is true (not zero)."""
    return _judged(xp, xp.any, input, dim, keepdim)


@general(exact_out=True)
def all(xp: Any, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all elements along dim are true (not zero)."""
    return _judged(xp, xp.all, input, dim, keepdim)


def _judged(xp: Any, judge: Any, input: Any, dim: Any, keepdim: bool) -> Any:
    """any or all: bools, but uint8 for uint8; an empty tuple of dims reduces nothing."""
    empty = isinstance(dim, (tuple, list)) and not dim
    axes = () if empty else axes_of(dim, input.ndim)
    answer = judge(input != 0, axis=axes, keepdims=keepdim)
    return answer.astype("uint8") if input.dtype == "uint8" else answer


# ---- moments ----


def _correction(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    """dim and correction from the ways to call var: the second argument may be `unbiased`."""
    if isinstance(dim, bool):
        if unbiased is not None:
            raise TypeError("unbiased was given twice")
        dim, unbiased = None, dim
    if unbiased is not None:
        if correction is not None:
            raise TypeError("unbiased and correction say the same: give one of them")
        return dim, int(unbiased)
    return dim, 1 if correction is None else correction


def _variance(xp: Any, input: Any, dim: Any, correction: Any, keepdim: bool) -> Any:
    if category_of(input.dtype) < FLOAT:
        raise RuntimeError("std and var are for floating and complex tensors; convert it first")
    values = widened(input)
    axes = normal_dims(dim, input.ndim)
    count = reduced_count(input.shape, dim)
    centred = values - xp.divide(values.sum(axis=axes, keepdims=True), count)
    squares = (centred * centred.conj()).real if category_of(input.dtype) == COMPLEX else centred**2
    if count <= correction:
        warnings.warn(
            f"the degrees of freedom is <= 0: {count} elements, correction {correction}",
            stacklevel=2,
        )
    return xp.divide(squares.sum(axis=axes, keepdims=keepdim), builtins.max(count - correction, 0))


def _variance_rule(grad: Any, input: Any, dim: Any, correction: Any) -> Any:
    """The gradient of a variance whose gradient has its dimensions kept."""
    freedom = reduced_count(input.shape, dim) - correction
    centred = input - mean(input, dim, True)
    if freedom > 0:
        return grad * (2 / freedom) * centred
    return grad * math.inf * absolute(centred)


def _var_rule(
    grad: Any, input: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> Any:
    dim, correction = _correction(dim, unbiased, correction)
    return _variance_rule(kept(grad, input.shape, dim, keepdim), input, dim, correction)


@general(input=_var_rule)
def var(
    xp: Any,
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    """Variance over dim: squared distances from the mean, divided by count - correction."""
    dim, correction = _correction(dim, unbiased, correction)
    result = _variance(xp, input, dim, correction, keepdim)
    return narrowed(result, from_numpy_dtype(input.dtype).to_real().numpy_dtype)


def _std_rule(
    grad: Any, input: Any, result: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> Any:
    """Zero where the deviation is zero, as subgradient."""
    dim, correction = _correction(dim, unbiased, correction)
    still = result == 0
    grad = where(still, 0.0, grad / (2 * where(still, 1.0, result)))
    return _variance_rule(kept(grad, input.shape, dim, keepdim), input, dim, correction)


@general(input=_std_rule)
def std(
    xp: Any,
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    """Standard deviation over dim: the square root of var."""
    dim, correction = _correction(dim, unbiased, correction)
    result = xp.sqrt(_variance(xp, input, dim, correction, keepdim))
    return narrowed(result, from_numpy_dtype(input.dtype).to_real().numpy_dtype)


def _mean_rule_beside(grad: Any, input: Any, dim: Any, unbiased: Any, keepdim: bool) -> Any:
    """The gradient of a mean that is answered together with another moment."""
    dim, _ = _correction(dim, unbiased, None)
    return kept(grad, input.shape, dim, keepdim) / reduced_count(input.shape, dim)


def _var_mean_rule(
    grad0: Any, grad1: Any, input: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> Any:
    spread = _var_rule(grad0, input, dim, unbiased, keepdim, correction)
    return spread + _mean_rule_beside(grad1, input, dim, unbiased, keepdim)


@general(input=_var_mean_rule, method=False)
def var_mean(
    xp: Any,
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    """Variance and mean over dim."""
    axes, _ = _correction(dim, unbiased, correction)
    spread = var.forward(xp, input, dim, unbiased, keepdim, correction=correction)
    return spread, mean.forward(xp, input, axes, keepdim)


def _std_mean_rule(
    grad0: Any,
    grad1: Any,
    input: Any,
    result0: Any,
    dim: Any,
    unbiased: Any,
    keepdim: bool,
    correction: Any,
) -> Any:
    spread = _std_rule(grad0, input, result0, dim, unbiased, keepdim, correction)
    return spread + _mean_rule_beside(grad1, input, dim, unbiased, keepdim)


@general(input=_std_mean_rule, method=False)
def std_mean(
    xp: Any,
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
) -> Any:
    """Standard deviation and mean over dim."""
    axes, _ = _correction(dim, unbiased, correction)
    spread = std.forward(xp, input, dim, unbiased, keepdim, correction=correction)
    return spread, mean.forward(xp, input, axes, keepdim)


# ---- extremes ----


def _shared(grad: Any, input: Any, result: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of an extreme, in equal parts for the elements that attain it."""
    attained = input == kept(result, input.shape, dim, keepdim)
    return attained * (kept(grad, input.shape, dim, keepdim) / sum(attained, dim, True))


def shared_by_equals(grad: Any, input: Any, result: Any) -> Any:
    """The gradient of one chosen element, in equal parts for all equal to it; NaNs are equal."""
    chosen = logical_or(input == result, logical_and(isnan(input), isnan(result)))
    return chosen * (grad / sum(chosen))


@general(input=_shared, exact_out=True)
def amax(xp: Any, input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The largest element over dim; equal ones share the gradient."""
    refuse_complex(input)
    refuse_empty(input, dim)
    return input.max(axis=normal_dims(dim, input.ndim), keepdims=keepdim)


@general(input=_shared, exact_out=True)
def amin(xp: Any, input: Any, dim: Any = (), keepdim: bool = False) -> Any:
    """The smallest element over dim; equal ones share the gradient."""
    refuse_complex(input)
    refuse_empty(input, dim)
    return input.min(axis=normal_dims(dim, input.ndim), keepdims=keepdim)


@general(
    input=lambda grad0, grad1, input, result0, result1, dim, keepdim: (
        _shared(grad0, input, result0, dim, keepdim) + _shared(grad1, input, result1, dim, keepdim)
    ),
    returns="min max",
    exact_out=True,
)
def aminmax(xp: Any, input: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element over dim."""
    refuse_complex(input)
    axes = (
        tuple(range(input.ndim))
        if dim is None
        else normal_dims(normal_dim(dim, input.ndim), input.ndim)
    )
    refuse_empty(input, dim)
    return input.min(axis=axes, keepdims=keepdim), input.max(axis=axes, keepdims=keepdim)


def selected(grad0: Any, result1: Any, input_shape: Any, dim: int, keepdim: bool) -> Any:
    """The gradient of values chosen along dim: it goes to the chosen places."""
    if not input_shape:
        return grad0
    grad = kept(grad0, input_shape, dim, keepdim)
    return place_along(grad, kept(result1, input_shape, dim, keepdim), dim, input_shape[dim])


def chosen_along(xp: Any, input: Any, index: Any, axis: int, keepdim: bool) -> tuple[Any, Any]:
    """The elements at an index that has dim kept, and the index itself."""
    values = xp.take_along_axis(input, index, axis)
    if keepdim:
        return values, index
    return xp.squeeze(values, axis), xp.squeeze(index, axis)


def _extreme(xp: Any, input: Any, dim: int, keepdim: bool, find_index: Any) -> tuple[Any, Any]:
    refuse_complex(input, RuntimeError)
    axis = normal_dim(dim, input.ndim)
    refuse_empty(input, axis)
    if input.ndim == 0:
        return xp.array(input), xp.zeros((), "int64")
    return chosen_along(xp, input, find_index(input, axis=axis, keepdims=True), axis, keepdim)


@general(input=shared_by_equals, method=False, node_name="MaxBackward1")
def max_all(xp: Any, input: Any) -> Any:
    """The largest element of all."""
    refuse_complex(input)
    refuse_empty(input, None)
    return input.max()


@general(input=shared_by_equals, method=False, node_name="MinBackward1")
def min_all(xp: Any, input: Any) -> Any:
    """The smallest element of all."""
    refuse_complex(input)
    refuse_empty(input, None)
    return input.min()


@general(
    input=selected, returns="values indices", method=False, node_name="MaxBackward0", exact_out=True
)
def max_dim(xp: Any, input: Any, dim: int, keepdim: bool = False) -> Any:
    """The largest elements along dim, and where they are."""
    return _extreme(xp, input, dim, keepdim, xp.argmax)


@general(
    input=selected, returns="values indices", method=False, node_name="MinBackward0", exact_out=True
)
def min_dim(xp: Any, input: Any, dim: int, keepdim: bool = False) -> Any:
    """The smallest elements along dim, and where they are."""
    return _extreme(xp, input, dim, keepdim, xp.argmin)


def _overloaded(
    ops: tuple[Any, Any, Any], input: Any, dim: Any, keepdim: Any, other: Any, out: Any
) -> Any:
    """Of all, along dim, or of two tensors: which one max and min mean."""
    over_all, along, of_two = ops
    options = {} if out is None else {"out": out}
    if other is None and hasattr(dim, "shape"):
        dim, other = None, dim
    if other is not None:
        if dim is not None or keepdim is not None:
            raise TypeError(f"{of_two.name}: another tensor takes neither dim nor keepdim")
        return of_two(input, other, **options)
    if dim is not None:
        return along(input, dim, bool(keepdim), **options)
    if keepdim is not None:
        raise TypeError("keepdim needs a dim: use amax or amin to reduce all and keep dimensions")
    return over_all(input, **options)


@composite
def max(
    input: Any, dim: Any = None, keepdim: bool | None = None, *, other: Any = None, out: Any = None
) -> Any:
    """The largest of all; along dim, with indices; or of two tensors at each place."""
    return _overloaded((max_all, max_dim, maximum), input, dim, keepdim, other, out)


@composite
def min(
    input: Any, dim: Any = None, keepdim: bool | None = None, *, other: Any = None, out: Any = None
) -> Any:
    """The smallest of all; along dim, with indices; or of two tensors at each place."""
    return _overloaded((min_all, min_dim, minimum), input, dim, keepdim, other, out)


def _place_of(xp: Any, input: Any, dim: Any, keepdim: bool, find_index: Any) -> Any:
    if input.dtype == bool:
        raise RuntimeError("bool tensors have no argmax or argmin; convert to an integer type")
    refuse_complex(input, RuntimeError)
    if dim is not None:
        dim = normal_dim(dim, input.ndim)
    refuse_empty(input, dim, IndexError)
    if dim is None or input.ndim == 0:
        index = xp.asarray(find_index(input.reshape(-1)))
        return index.reshape((1,) * input.ndim) if keepdim else index
    return find_index(input, axis=dim, keepdims=keepdim)


@general(exact_out=True)
def argmax(xp: Any, input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Where the largest element is: along dim, or in the flattened tensor."""
    return _place_of(xp, input, dim, keepdim, xp.argmax)


@general(exact_out=True)
def argmin(xp: Any, input: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Where the smallest element is: along dim, or in the flattened tensor."""
    return _place_of(xp, input, dim, keepdim, xp.argmin)


# ---- exponentials that don't overflow ----


@general(
    input=lambda grad, input, result, dim, keepdim: (
        kept(grad, input.shape, dim, keepdim)
        * conj(exp(input - kept(result, input.shape, dim, keepdim)))
    ),
    floats=True,
    promotes="input",
)
def logsumexp(xp: Any, input: Any, dim: Any, keepdim: bool = False) -> Any:
    """Logarithm of the sum of exponentials over dim."""
    values = widened(input)
    axes = normal_dims(dim, input.ndim)
    if not input.size:
        return xp.log(values.sum(axis=axes, keepdims=keepdim))
    peak = values.real.max(axis=axes, keepdims=True)
    peak = xp.where(xp.isfinite(peak), peak, 0)
    total = xp.exp(values - peak).sum(axis=axes, keepdims=keepdim)
    return narrowed(xp.log(total) + peak.reshape(total.shape), input.dtype)


def _floating(input: Any, dtype: Any) -> Any:
    """The input of softmax in the type it computes in."""
    if dtype is not None:
        input = input.astype(as_dtype(dtype).numpy_dtype)
    if category_of(input.dtype) != FLOAT:
        raise NotImplementedError(
            f"softmax is not implemented for {input.dtype}: give a floating dtype=, or convert it"
        )
    return input


@general(
    input=lambda grad, result, dim: result * (grad - sum(grad * result, dim, True)), exact_out=True
)
def softmax(xp: Any, input: Any, dim: int, dtype: Any = None) -> Any:
    """Exponentials along dim, scaled to sum 1."""
    input = _floating(input, dtype)
    axes = normal_dims(normal_dim(dim, input.ndim), input.ndim)
    if not input.size:
        return xp.array(input)
    values = widened(input)
    powers = xp.exp(values - values.max(axis=axes, keepdims=True))
    powers /= powers.sum(axis=axes, keepdims=True)
    return narrowed(powers, input.dtype)


@general(input=lambda grad, result, dim: grad - exp(result) * sum(grad, dim, True), exact_out=True)
def log_softmax(xp: Any, input: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of softmax, without its underflow."""
    input = _floating(input, dtype)
    axes = normal_dims(normal_dim(dim, input.ndim), input.ndim)
    if not input.size:
        return xp.array(input)
    values = widened(input)
    values = values - values.max(axis=axes, keepdims=True)
    return narrowed(values - xp.log(xp.exp(values).sum(axis=axes, keepdims=True)), input.dtype)


@composite(method=False)
def softmin(input: Any, dim: int, dtype: Any = None) -> Any:
    """softmax of -input."""
    return softmax(-input, dim, dtype)
