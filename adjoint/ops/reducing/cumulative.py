"""Results that run along one dimension, and reading and writing by index along it."""

import math
from functools import partial
from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.half_precision import cast, half_type, is_half
from adjoint.call.rule import FRONT
from adjoint.dtypes import COMPLEX, FLOAT, as_dtype, category_of
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import flip
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.powers import complex_logaddexp, exp
from adjoint.ops.elementwise.selection import where
from adjoint.ops.op import composite, general, linear
from adjoint.tensors.changes import apply_inplace
from adjoint.tensors.core import F32, TensorCore

# ---- the types of sums ----


def widened(input: Any) -> Any:
    """The input in the type in which sums of it are gathered."""
    return cast(input, F32) if is_half(input.dtype) else input


def narrowed(value: Any, kind: Any) -> Any:
    """A result in the type it should have."""
    if value.dtype == kind:
        return value
    return cast(value, kind) if value.dtype is F32 else value.astype(kind)


# ---- reading and writing along a dimension ----


def open_index(xp: Any, index: Any, dim: int) -> tuple[Any, ...]:
    """An index for whole arrays that means: along dim at `index`, elsewhere in place."""
    places = []
    for axis, size in enumerate(index.shape):
        lengths = [1] * index.ndim
        lengths[axis] = size
        places.append(index if axis == dim else xp.arange(size).reshape(lengths))
    return tuple(places)


@linear(
    input=lambda grad, index, dim, input_shape: place_along(
        grad, index, dim, input_shape[dim] if input_shape else 1, False
    ),
    home=None,
    batching=FRONT,
)
def pick_along(xp: Any, input: Array, index: Array, dim: int) -> Array:
    """The elements at `index` along dim."""
    return xp.take_along_axis(input, index, normal_dim(dim, input.ndim)) if input.ndim else input


@linear(input=lambda grad, index, dim: pick_along(grad, index, dim), home=None, batching=FRONT)
def place_along(
    xp: Any, input: Array, index: Array, dim: int, size: int, distinct: bool = True
) -> Array:
    """Zeros, `size` of them along dim, with input added at `index`: what picking's gradient is."""
    if input.ndim == 0:
        return xp.array(input)
    dim = normal_dim(dim, input.ndim)
    if distinct:
        return xp.laid_along(input, index, dim, size)
    return narrowed(xp.added_along(widened(input), index, dim, size), input.dtype)


# ---- scans ----


@general(
    input=lambda grad, dim, step: moved(grad, dim, -step),
    home=None,
    jvp=lambda input_tangent, dim, step: moved(input_tangent, dim, step),
    batching=FRONT,
)
def moved(xp: Any, input: Array, dim: int, step: int, fill: Any = 0) -> Array:
    """The elements `step` places further along dim, and `fill` where none came."""
    return xp.moved(input, normal_dim(dim, input.ndim), step, fill) if input.ndim else input


def _recurrence_rule(grad: Value, factor: Any, result: Value, dim: int, step: int) -> Value:
    back = recurrence(grad, moved(conj(factor), dim, -step), dim, -step)
    return back, back * conj(moved(result, dim, step))


def _recurrence_tangent(
    input_tangent: Any, factor: Value, factor_tangent: Any, result: Value, dim: int, step: int
) -> Value:
    source = input_tangent
    if factor_tangent is not None:
        source = factor_tangent * moved(result, dim, step)
        source = source if input_tangent is None else input_tangent + source
    return recurrence(source, factor, dim, step)


@general(
    joint=("input factor", _recurrence_rule),
    wide=True,
    home=None,
    jvp=_recurrence_tangent,
    batching=FRONT,
)
def recurrence(xp: Any, input: Array, factor: Array, dim: int, step: int) -> Array:
    """y[i] = input[i] + factor[i] * y[i - step] along dim, for a step of 1 or -1."""
    return xp.recurrence(input, factor, normal_dim(dim, input.ndim), step)


# ---- cumulative sums and products ----


def _cast(input: Any, dtype: Any) -> Any:
    """The input in the type asked for; integers and bools as int64 if none is."""
    if dtype is not None:
        return input.astype(as_dtype(dtype).numpy_dtype)
    return input.astype("int64") if category_of(input.dtype) < FLOAT else input


def _in_place(op: Any, input: Any, dim: int, dtype: Any) -> Any:
    """A scan written over its input, whose data type must be the one asked for."""
    if dtype is not None and as_dtype(dtype) is not input.dtype:
        raise RuntimeError(
            f"{op.name}_(): dtype={as_dtype(dtype).name} is not the tensor's, {input.dtype.name}"
        )
    return apply_inplace(op, [input, dim, dtype])


def _cumsum_rule(grad: Value, dim: int, dtype: Any) -> Value:
    """In single precision if the input may have another type than 16-bit floats: rounded once."""
    kind = None if dtype is None or half_type(grad) is None else F32
    return flip(cumsum(flip(grad, (dim,)), dim, dtype=kind), (dim,))


@linear(
    input=_cumsum_rule,
    batching=FRONT,
    follows_out=True,
    ordered=True,
    aligned=True,
)
def cumsum(xp: Any, input: Array, dim: int, *, dtype: Any = None) -> Array:
    """Sums of all prefixes along dim."""
    axis = normal_dim(dim, input.ndim)
    input = _cast(input, dtype)
    if input.ndim == 0:
        return xp.array(input)
    values = widened(input)
    return narrowed(xp.cumsum(values, axis=axis, dtype=values.dtype), input.dtype)


@composite(home="Tensor")
def cumsum_(input: Value, dim: int, *, dtype: Any = None) -> Value:
    """In-place form of cumsum."""
    return _in_place(cumsum, input, dim, dtype)


def _cumprod_rule(grad: Value, input: Value, result: Value, dim: int) -> Value:
    """Exact at zeros: products of what comes before and after each element, no division."""
    if input.ndim == 0:
        return grad
    later = recurrence(grad, moved(conj(input), dim, -1), dim, -1)
    return later * conj(moved(result, dim, 1, 1))


@general(
    input=_cumprod_rule,
    wide="rules",
    jvp=lambda input, input_tangent, result, dim: (
        recurrence(input_tangent * moved(result, dim, 1, 1), input, dim, 1)
        if input.ndim
        else input_tangent
    ),
    batching=FRONT,
    follows_out=True,
    ordered=True,
    aligned=True,
)
def cumprod(xp: Any, input: Array, dim: int, *, dtype: Any = None) -> Array:
    """Products of all prefixes along dim."""
    axis = normal_dim(dim, input.ndim)
    input = _cast(input, dtype)
    if input.ndim == 0:
        return xp.array(input)
    values = widened(input)
    return narrowed(xp.cumprod(values, axis=axis, dtype=values.dtype), input.dtype)


@composite(home="Tensor")
def cumprod_(input: Value, dim: int, *, dtype: Any = None) -> Value:
    """In-place form of cumprod."""
    return _in_place(cumprod, input, dim, dtype)


def product_of_others(input: Any, dim: int) -> Any:
    """For each element, the product of all others along dim, without dividing by it."""
    before = moved(cumprod(input, dim), dim, 1, 1)
    after = flip(moved(cumprod(flip(input, (dim,)), dim), dim, 1, 1), (dim,))
    return before * after


def _logcumsumexp_rule(grad: Value, input: Value, result: Value, hidden: Any, dim: int) -> Value:
    """Every weight is exp of a difference that is not positive: nothing can overflow."""
    if input.ndim == 0:
        return grad
    if hidden is not None and not isinstance(grad, TensorCore):
        result = hidden  # before it was rounded to 16 bits, whose differences say little
    following = moved(result, dim, -1, float("inf"))
    decay = where(result == following, 1.0, exp(result - following))
    return recurrence(grad, conj(decay), dim, -1) * conj(exp(input - result))


def _logcumsumexp_tangent(input: Value, input_tangent: Value, result: Value, dim: int) -> Value:
    if input.ndim == 0:
        return input_tangent
    before = moved(result, dim, 1, float("-inf"))
    decay = where(before == result, 1.0, exp(before - result))
    return recurrence(input_tangent * exp(input - result), decay, dim, 1)


@general(
    input=_logcumsumexp_rule,
    wide="rules",
    hides=True,
    exact_out=True,
    jvp=_logcumsumexp_tangent,
    batching=FRONT,
    ordered=True,
    aligned=True,
)
def logcumsumexp(xp: Any, input: Array, dim: int) -> tuple[Array, Any]:
    """Logarithms of the sums of the exponentials of all prefixes along dim."""
    axis = normal_dim(dim, input.ndim)
    if category_of(input.dtype) < FLOAT:
        raise NotImplementedError(
            f"logcumsumexp is not implemented for {input.dtype}: convert it first"
        )
    if input.ndim == 0:
        return xp.array(input), None
    if category_of(input.dtype) == COMPLEX:
        terms = complex_logaddexp(
            xp, input, xp.asarray(-math.inf, input.dtype)
        )  # -inf has no angle
        return xp.running(partial(complex_logaddexp, xp), terms, axis), None
    wide = xp.running(xp.logaddexp, widened(input), axis)
    return narrowed(wide, input.dtype), wide if is_half(input.dtype) else None


# ---- cumulative extremes ----


def _running_extreme(xp: Any, input: Any, dim: int, greatest: bool) -> tuple[Any, Any]:
    """Running extremes and where they are."""
    if category_of(input.dtype) == COMPLEX:
        raise NotImplementedError("not implemented for complex numbers, which have no order")
    axis = normal_dim(dim, input.ndim)
    if input.ndim == 0:
        return xp.array(input), xp.zeros((), "int64")
    found: tuple[Any, Any] = xp.running_extreme(input, axis, greatest)
    return found


def _cumulative_rule(grad0: Value, result1: Value, input_shape: Any, dim: int) -> Value:
    return place_along(grad0, result1, dim, input_shape[dim] if input_shape else 1, False)


@general(
    input=_cumulative_rule,
    returns="values indices",
    exact_out=True,
    jvp=lambda input_tangent, result1, dim: (pick_along(input_tangent, result1, dim), None),
    batching=FRONT,
    ordered=True,
)
def cummax(xp: Any, input: Array, dim: int) -> tuple[Array, Array]:
    """The largest element so far along dim, and its index."""
    return _running_extreme(xp, input, dim, True)


@general(
    input=_cumulative_rule,
    returns="values indices",
    exact_out=True,
    jvp=lambda input_tangent, result1, dim: (pick_along(input_tangent, result1, dim), None),
    batching=FRONT,
    ordered=True,
)
def cummin(xp: Any, input: Array, dim: int) -> tuple[Array, Array]:
    """The smallest element so far along dim, and its index."""
    return _running_extreme(xp, input, dim, False)
