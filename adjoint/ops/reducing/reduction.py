"""Reductions: sums, products, moments and softmax."""

import builtins
import math
import operator
import warnings
from typing import Any

from adjoint.call.arguments import conj, holds_complex
from adjoint.call.half_precision import is_half
from adjoint.call.rule import FRONT
from adjoint.dtypes import COMPLEX, FLOAT, as_dtype, category_of, from_numpy_dtype, int64
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import clone
from adjoint.ops.arranging.shape import expand, reshape, unsqueeze
from adjoint.ops.arranging.strided import diagonal, diagonal_place
from adjoint.ops.batch_rules import reduced
from adjoint.ops.dims import kept_shape, normal_dim, normal_dims
from adjoint.ops.elementwise.arithmetic import abs as absolute
from adjoint.ops.elementwise.comparison import isnan, logical_not
from adjoint.ops.elementwise.complex_numbers import real
from adjoint.ops.elementwise.powers import exp
from adjoint.ops.elementwise.selection import where
from adjoint.ops.node_names import by_dim
from adjoint.ops.op import composite, elementwise, general, linear
from adjoint.ops.reducing.cumulative import narrowed, product_of_others, widened
from adjoint.tensors.core import TensorCore

INT64 = int64.numpy_dtype

# ---- what reductions have in common ----


def kept(value: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """A reduced value with its reduced dimensions back as size 1, to broadcast with the input."""
    return value if keepdim else reshape(value, kept_shape(shape, dim))


def expand_reduced(grad: Value, shape: Any, dim: Any, keepdim: bool) -> Value:
    """The gradient of a reduced result, spread over what was reduced."""
    if dim is not None and not keepdim:
        grad = reshape(grad, kept_shape(shape, dim))
    return expand(grad, tuple(shape))


def reduced_count(shape: Any, dim: Any) -> int:
    """How many elements go into each reduced one."""
    return math.prod([shape[d] for d in normal_dims(dim, len(shape))])


def axes_of(dim: Any, ndim: int) -> Any:
    """The axes to reduce as array libraries take them."""
    return None if dim is None else normal_dims(dim, ndim)


# ---- sums and products ----

MANY = 4096  # elements, of whose columns a library may know faster sums than its own


def _spread_each(input: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """The sums of each element at every place that went into them."""
    if not shape:
        return clone(input)
    dims = tuple([d - len(shape) for d in normal_dims(dim, len(shape))])
    return spread_sum(input, (input.shape[0], *shape), dims, keepdim)


@linear(
    input=lambda grad, dim, keepdim: sum(grad, dim, keepdim),
    vmap=_spread_each,
    home=None,
    dims=None,
)
def spread_sum(xp: Any, input: Array, shape: Any, dim: Any = None, keepdim: bool = False) -> Array:
    """A sum over dim at every place of `shape` that went into it: the gradient of sum."""
    if not keepdim and dim is not None:
        input = input.reshape(kept_shape(shape, dim))
    return xp.broadcast_to(input, tuple(shape))


@linear(
    input=lambda grad, input_shape, dim, keepdim: spread_sum(grad, input_shape, dim, keepdim),
    vmap=lambda input, input_shape, dim, keepdim, dtype: reduced(
        sum, input_shape, [input, dim, keepdim, dtype]
    ),
    numpy=True,
    follows_out="all",
    ordered=True,
    node_name=by_dim("Sum"),
)
def sum(
    xp: Any, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Array:
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
        return narrowed(widened(input).sum(axis=axes, keepdims=keepdim), kind)
    ends = axes == (input.ndim - 1,) or (axes == (0,) and input.size >= MANY)
    if ends and kind.kind == "f" and input.ndim > 1:
        total = xp.sums_along(input, axes)
        if keepdim:
            return total
        return total.reshape(input.shape[1:] if axes == (0,) else input.shape[:-1])
    return input.sum(axis=axes, dtype=kind, keepdims=keepdim)


def _mean_rule(grad: Value, input_shape: Any, dim: Any, keepdim: bool) -> Value:
    count = reduced_count(input_shape, dim)
    return expand_reduced(grad / count, input_shape, dim, keepdim)


@linear(
    input=_mean_rule,
    vmap=lambda input, input_shape, dim, keepdim, dtype: reduced(
        mean, input_shape, [input, dim, keepdim, dtype]
    ),
    numpy=True,
    follows_out="floats",
    ordered=True,
    node_name=by_dim("Mean"),
)
def mean(
    xp: Any, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Array:
    """Mean over dim, or over everything."""
    kind = input.dtype if dtype is None else as_dtype(dtype).numpy_dtype
    if dtype is not None:
        input = input.astype("float32" if is_half(kind) else kind)
    if kind.kind in "biu":
        raise RuntimeError(f"the mean of {kind} is no {kind}: give dtype=, or convert the input")
    if dim is None and kind.itemsize != 2:
        return xp.divide(input.sum(keepdims=True) if keepdim else xp.total(input), input.size)
    if dim is None and not keepdim:
        return narrowed(xp.wide_total(input) / input.size, kind)
    total = widened(input).sum(axis=normal_dims(dim, input.ndim), keepdims=keepdim)
    return narrowed(total / reduced_count(input.shape, dim), kind)


def _prod_rule(grad: Value, input: Value, result: Value, dim: Any, keepdim: bool) -> Value:
    """Exact at zeros: the product of all others, where there may be any without dividing."""
    if dim is None or input.ndim == 0:
        factors, whole = reshape(input, -1), reshape(result, (1,))
        return grad * conj(reshape(_others(factors, whole, 0), tuple(input.shape)))
    others = _others(input, kept(result, input.shape, dim, keepdim), dim)
    return kept(grad, input.shape, dim, keepdim) * conj(others)


def _others(input: Any, whole: Any, dim: int) -> Any:
    """The product of all others along dim; on Tensors always by their factors."""
    if isinstance(input, TensorCore):
        return product_of_others(input, dim)
    return divided_product(input, whole, dim)


@general(home=None, batching=FRONT)
def divided_product(xp: Any, input: Array, whole: Array, dim: int) -> Array:
    """The product of all others along dim, given that of all; without zeros by division."""
    if xp.readable() and bool(xp.all(xp.isfinite(whole) & (whole != 0))):
        return xp.divide(whole, input)
    others: Any = product_of_others(input, dim)
    return others


def _prod_tangent(input: Value, input_tangent: Value, dim: Any, keepdim: bool) -> Value:
    if dim is None or input.ndim == 0:
        others = reshape(product_of_others(reshape(input, -1), 0), tuple(input.shape))
        return sum(input_tangent * others, None, keepdim)
    return sum(input_tangent * product_of_others(input, dim), dim, keepdim)


@general(
    input=_prod_rule,
    numpy=True,
    autocast="float32",
    jvp=_prod_tangent,
    vmap=lambda input, input_shape, dim, keepdim, dtype: reduced(
        prod, input_shape, [input, dim, keepdim, dtype]
    ),
    follows_out="all",
    ordered=True,
)
def prod(
    xp: Any, input: Array, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None
) -> Array:
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
    ),
    vmap=lambda input, input_shape, dim, keepdim, dtype: reduced(
        nansum, input_shape, [input, dim, keepdim, dtype]
    ),
    numpy=True,
    jvp=lambda input, input_tangent, dim, keepdim: sum(
        input_tangent * logical_not(isnan(input)), dim, keepdim
    ),
    exact_out=NotImplementedError,
    follows_out="floats",
    ordered=True,
)
def nansum(
    xp: Any, input: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Array:
    """Sum over dim, NaN counted as 0."""
    if category_of(input.dtype) == COMPLEX:
        raise RuntimeError("nansum is not defined for complex tensors")
    return sum.forward(xp, xp.where(xp.isnan(input), 0, input), dim, keepdim, dtype=dtype)


@composite(numpy=True, exact_out=NotImplementedError)
def nanmean(input: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Value:
    """Mean over dim of the elements that are not NaN."""
    if dtype is None and not _is_floating(input):
        raise RuntimeError("nanmean: expected a floating-point tensor; give dtype=, or convert it")
    return nansum(input, dim, keepdim, dtype=dtype) / sum(logical_not(isnan(input)), dim, keepdim)


def _is_floating(input: Any) -> bool:
    return bool(category_of(input.dtype) >= FLOAT)


@composite(home="Tensor")
def sum_to_size(input: Value, *size: Any) -> Value:
    """Sum over dimensions such that a tensor of `size` would broadcast to the input's shape."""
    sizes = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    sizes = tuple(map(operator.index, sizes))
    lead = input.ndim - len(sizes)
    shape = tuple(input.shape)
    fits = lead >= 0 and builtins.all(
        wanted in (1, n) for wanted, n in zip(sizes, shape[lead:], strict=True)
    )
    if not fits:
        raise RuntimeError(f"sum_to_size: size {list(sizes)} does not broadcast to {list(shape)}")
    if not sizes:
        return sum(input)
    dims = [i for i in range(len(shape)) if i < lead or (sizes[i - lead] == 1 and shape[i] != 1)]
    total = sum(input, dims, True) if dims else input
    return reshape(total, sizes) if lead else total


def _check_matrix(shape: Any) -> None:
    if len(shape) != 2:
        raise RuntimeError(f"expected a matrix, got a tensor of {len(shape)} dimensions")


def _traced_each(input: Any, input_shape: Any) -> Any:
    _check_matrix(input_shape)
    return sum(diagonal(input, 0, -2, -1), -1)


@linear(
    input=lambda grad, input_shape: on_diagonal(grad, input_shape),
    vmap=_traced_each,
    autocast="float32",
    refuses="b",
)
def trace(xp: Any, input: Array) -> Array:
    """Sum of the diagonal of a matrix."""
    _check_matrix(input.shape)
    return xp.trace(input, dtype=INT64 if input.dtype.kind in "biu" else input.dtype)


@linear(
    input=lambda grad: trace(grad),
    vmap=lambda input, shape: diagonal_place(
        expand(unsqueeze(input, -1), (-1, builtins.min(shape))), (input.shape[0], *shape), 0, -2, -1
    ),
    home=None,
)
def on_diagonal(xp: Any, input: Array, shape: Any) -> Array:
    """A matrix with one value on its diagonal: what the gradient of trace is."""
    return xp.eye(*shape, dtype=input.dtype) * input


@general(
    vmap=lambda input, input_shape, dim: reduced(count_nonzero, input_shape, [input, dim]),
    numpy=True,
)
def count_nonzero(xp: Any, input: Array, dim: Any = None) -> Array:
    """How many elements are not zero."""
    return xp.how_many(input != 0, axes_of(dim, input.ndim))


def _judged_each(op: Any, input: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """any or all of each element; an empty tuple of dims reduces nothing."""
    values = [input, dim, keepdim]
    if isinstance(dim, (tuple, list)) and not dim:
        return op.run(values)
    return reduced(op, shape, values)


@general(
    vmap=lambda input, input_shape, dim, keepdim: _judged_each(
        any, input, input_shape, dim, keepdim
    ),
    ordered=True,
    exact_out=True,
    numpy=True,
)
def any(xp: Any, input: Array, dim: Any = None, keepdim: bool = False) -> Array:
    """Whether an element along dim is true (not zero)."""
    return _judged(xp, xp.any, input, dim, keepdim)


@general(
    vmap=lambda input, input_shape, dim, keepdim: _judged_each(
        all, input, input_shape, dim, keepdim
    ),
    ordered=True,
    exact_out=True,
    numpy=True,
)
def all(xp: Any, input: Array, dim: Any = None, keepdim: bool = False) -> Array:
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


def _moments_each(
    op: Any, input: Any, shape: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> Any:
    """Moments of each element."""
    dim, correction = _correction(dim, unbiased, correction)
    return reduced(op, shape, [input, dim, None, keepdim, correction])


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


def _variance_rule(grad: Value, input: Value, dim: Any, correction: Any) -> Value:
    """The gradient of a variance whose gradient has its dimensions kept."""
    freedom = reduced_count(input.shape, dim) - correction
    centred = input - mean(input, dim, True)
    if freedom > 0:
        return grad * (2 / freedom) * centred
    return grad * math.inf * absolute(centred)


def _var_tangent(
    input: Value, input_tangent: Value, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> Value:
    dim, correction = _correction(dim, unbiased, correction)
    slope = _variance_rule(1.0, input, dim, correction)
    moved = sum(conj(slope) * input_tangent, dim, keepdim)
    return real(moved) if holds_complex(moved) else moved


def _std_tangent(
    input: Value,
    input_tangent: Value,
    result: Value,
    dim: Any,
    unbiased: Any,
    keepdim: bool,
    correction: Any,
) -> Value:
    moved = _var_tangent(input, input_tangent, dim, unbiased, keepdim, correction)
    still = result == 0
    return where(still, 0.0, moved / (2 * where(still, 1.0, result)))


def _mean_tangent(input_tangent: Value, dim: Any, unbiased: Any, keepdim: bool) -> Value:
    return mean(input_tangent, _correction(dim, unbiased, None)[0], keepdim)


def _var_rule(
    grad: Value, input: Value, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> Value:
    dim, correction = _correction(dim, unbiased, correction)
    return _variance_rule(kept(grad, input.shape, dim, keepdim), input, dim, correction)


@general(
    input=_var_rule,
    vmap=lambda input, input_shape, dim, unbiased, keepdim, correction: _moments_each(
        var, input, input_shape, dim, unbiased, keepdim, correction
    ),
    jvp=_var_tangent,
    ordered=True,
)
def var(
    xp: Any,
    input: Array,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Array:
    """Variance over dim: squared distances from the mean, divided by count - correction."""
    dim, correction = _correction(dim, unbiased, correction)
    result = _variance(xp, input, dim, correction, keepdim)
    return narrowed(result, from_numpy_dtype(input.dtype).to_real().numpy_dtype)


def _std_rule(
    grad: Value,
    input: Value,
    result: Value,
    dim: Any,
    unbiased: Any,
    keepdim: bool,
    correction: Any,
) -> Value:
    """Zero where the deviation is zero, as subgradient."""
    dim, correction = _correction(dim, unbiased, correction)
    still = result == 0
    grad = where(still, 0.0, grad / (2 * where(still, 1.0, result)))
    return _variance_rule(kept(grad, input.shape, dim, keepdim), input, dim, correction)


@general(
    input=_std_rule,
    vmap=lambda input, input_shape, dim, unbiased, keepdim, correction: _moments_each(
        std, input, input_shape, dim, unbiased, keepdim, correction
    ),
    jvp=_std_tangent,
    ordered=True,
)
def std(
    xp: Any,
    input: Array,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Array:
    """Standard deviation over dim: the square root of var."""
    dim, correction = _correction(dim, unbiased, correction)
    squares = _variance(xp, input, dim, correction, keepdim)
    if xp.readable() and squares.size:
        low, high = (squares.min(), squares.max()) if squares.ndim else (float(squares),) * 2
        lost = not (low > 1e-30 and high < math.inf) and squares.dtype == "float32"
        if lost and reduced_count(input.shape, dim) > correction:
            wide = "complex128" if category_of(input.dtype) == COMPLEX else "float64"
            squares = _variance(xp, input.astype(wide), dim, correction, keepdim)
    result = xp.sqrt(squares)
    return narrowed(result, from_numpy_dtype(input.dtype).to_real().numpy_dtype)


def _mean_rule_beside(grad: Value, input: Value, dim: Any, unbiased: Any, keepdim: bool) -> Value:
    """The gradient of a mean that is answered together with another moment."""
    dim, _ = _correction(dim, unbiased, None)
    return kept(grad, input.shape, dim, keepdim) / reduced_count(input.shape, dim)


def _var_mean_rule(
    grad0: Value,
    grad1: Value,
    input: Value,
    dim: Any,
    unbiased: Any,
    keepdim: bool,
    correction: Any,
) -> Value:
    spread = _var_rule(grad0, input, dim, unbiased, keepdim, correction)
    return spread + _mean_rule_beside(grad1, input, dim, unbiased, keepdim)


@general(
    input=_var_mean_rule,
    vmap=lambda input, input_shape, dim, unbiased, keepdim, correction: _moments_each(
        var_mean, input, input_shape, dim, unbiased, keepdim, correction
    ),
    method=False,
    jvp=lambda input, input_tangent, dim, unbiased, keepdim, correction: (
        _var_tangent(input, input_tangent, dim, unbiased, keepdim, correction),
        _mean_tangent(input_tangent, dim, unbiased, keepdim),
    ),
    ordered=True,
)
def var_mean(
    xp: Any,
    input: Array,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Array, Array]:
    """Variance and mean over dim."""
    axes, _ = _correction(dim, unbiased, correction)
    spread = var.forward(xp, input, dim, unbiased, keepdim, correction=correction)
    return spread, mean.forward(xp, input, axes, keepdim)


def _std_mean_rule(
    grad0: Value,
    grad1: Value,
    input: Value,
    result0: Value,
    dim: Any,
    unbiased: Any,
    keepdim: bool,
    correction: Any,
) -> Value:
    spread = _std_rule(grad0, input, result0, dim, unbiased, keepdim, correction)
    return spread + _mean_rule_beside(grad1, input, dim, unbiased, keepdim)


@general(
    input=_std_mean_rule,
    vmap=lambda input, input_shape, dim, unbiased, keepdim, correction: _moments_each(
        std_mean, input, input_shape, dim, unbiased, keepdim, correction
    ),
    method=False,
    jvp=lambda input, input_tangent, result0, dim, unbiased, keepdim, correction: (
        _std_tangent(input, input_tangent, result0, dim, unbiased, keepdim, correction),
        _mean_tangent(input_tangent, dim, unbiased, keepdim),
    ),
    ordered=True,
)
def std_mean(
    xp: Any,
    input: Array,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Array, Array]:
    """Standard deviation and mean over dim."""
    axes, _ = _correction(dim, unbiased, correction)
    spread = std.forward(xp, input, dim, unbiased, keepdim, correction=correction)
    return spread, mean.forward(xp, input, axes, keepdim)


# ---- exponentials that don't overflow ----


@elementwise(
    slope=lambda grad, input, whole: conj(scaled_power(conj(grad), input, whole)),
    input=lambda grad, result: grad * conj(result),
    whole=lambda grad, result: -grad * conj(result),
    home=None,
    inplace=False,
)
def scaled_power(xp: Any, slope: Array, input: Array, whole: Array) -> Array:
    """slope times the exponential of input less whole."""
    return slope * xp.exp(input - whole)


def _log_sum_rule(grad: Value, input: Value, result: Value, dim: Any, keepdim: bool) -> Value:
    slope, whole = (kept(each, input.shape, dim, keepdim) for each in (grad, result))
    return conj(scaled_power(conj(slope), input, whole))


@general(
    input=_log_sum_rule,
    vmap=lambda input, input_shape, dim, keepdim: reduced(
        logsumexp, input_shape, [input, dim, keepdim]
    ),
    floats=True,
    promotes="input",
    wide="rules",
    also="special",
    jvp=lambda input, input_tangent, result, dim, keepdim: sum(
        input_tangent * exp(input - kept(result, input.shape, dim, keepdim)), dim, keepdim
    ),
    ordered=True,
)
def logsumexp(xp: Any, input: Array, dim: Any, keepdim: bool = False) -> Array:
    """Logarithm of the sum of exponentials over dim."""
    values = widened(input)
    axes = normal_dims(dim, input.ndim)
    if not input.size:
        return narrowed(xp.log(values.sum(axis=axes, keepdims=keepdim)), input.dtype)
    found = xp.log_sums(values) if axes == (input.ndim - 1,) else None
    if found is not None:
        return narrowed(found[..., None] if keepdim else found, input.dtype)
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
    input=lambda grad, result, dim: result * (grad - sum(grad * result, dim, True)),
    batching=FRONT,
    wide="rules",
    exact_out=True,
    also="special",
    jvp=lambda input_tangent, result, dim: (
        result * (input_tangent - sum(input_tangent * result, dim, True))
    ),
    ordered=True,
)
def softmax(xp: Any, input: Array, dim: int, dtype: Any = None) -> Array:
    """Exponentials along dim, scaled to sum 1."""
    input = _floating(input, dtype)
    axes = normal_dims(normal_dim(dim, input.ndim), input.ndim)
    if not input.size:
        return xp.array(input)
    values = widened(input)
    shifted = xp.asarray(values - values.max(axis=axes, keepdims=True))
    powers = xp.into(xp.exp, shifted, shifted)
    shares = xp.into(xp.divide, powers, powers, xp.sums_along(powers, axes))
    return narrowed(shares, input.dtype)


@general(
    input=lambda grad, result, dim: grad - exp(result) * sum(grad, dim, True),
    batching=FRONT,
    wide="rules",
    exact_out=True,
    also="special",
    jvp=lambda input_tangent, result, dim: (
        input_tangent - sum(exp(result) * input_tangent, dim, True)
    ),
    ordered=True,
)
def log_softmax(xp: Any, input: Array, dim: int, dtype: Any = None) -> Array:
    """The logarithm of softmax, without its underflow."""
    input = _floating(input, dtype)
    axes = normal_dims(normal_dim(dim, input.ndim), input.ndim)
    if not input.size:
        return xp.array(input)
    values = widened(input)
    shifted = xp.asarray(values - values.max(axis=axes, keepdims=True))
    totals = xp.log(xp.sums_along(xp.exp(shifted), axes))
    return narrowed(xp.into(xp.subtract, shifted, shifted, totals), input.dtype)


@composite(home=None)
def softmin(input: Value, dim: int, dtype: Any = None) -> Value:
    """softmax of -input."""
    return softmax(-input, dim, dtype)
