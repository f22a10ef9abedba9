"""Writing where an index tensor names along a dimension: scatter and scatter_reduce."""

from numbers import Number
from typing import Any

from adjoint.call.half_precision import wide as in_single
from adjoint.dtypes import refuse_kinds
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.indexing import (
    as_rows,
    as_value,
    check_index,
    gather,
    in_type,
    lifted,
    masked_fill,
    of_source,
    same_dtype,
    scattered_each,
    spread,
)
from adjoint.ops.arranging.shape import basic_index, reshape
from adjoint.ops.dims import check_positions, normal_dim
from adjoint.ops.op import general
from adjoint.ops.shared_rules import zero_of


def _scatter_input(grad: Value, dim: int, index: Value, reduce: Any) -> Value:
    if reduce == "multiply":
        raise RuntimeError(
            "scatter(reduce='multiply') has no derivative; use scatter_reduce 'prod'"
        )
    return grad if reduce == "add" else scatter(grad, dim, index, value=0)


def _scatter_source(grad: Value, dim: int, index: Value, src_shape: Any, reduce: Any) -> Value:
    if reduce == "multiply":
        raise RuntimeError(
            "scatter(reduce='multiply') has no derivative; use scatter_reduce 'prod'"
        )
    return of_source(gather(grad, dim, index), src_shape)


def _scatter_tangent(
    input: Any,
    input_tangent: Any,
    dim: int,
    index: Any,
    src_tangent: Any,
    reduce: Any,
) -> Any:
    """The tangents written as the values were; a number that is written does not move."""
    if reduce == "multiply":
        raise RuntimeError(
            "scatter(reduce='multiply') has no derivative; use scatter_reduce 'prod'"
        )
    whole = zero_of(input) if input_tangent is None else input_tangent
    if src_tangent is None:
        return whole if reduce == "add" else scatter(whole, dim, index, value=0)
    return scatter(whole, dim, index, src_tangent, reduce=reduce)


def _scattered_each(
    input_shape: Any,
    input_each: Any,
    dim: int,
    index_each: Any,
    src_each: Any,
    value: Any,
    reduce: Any,
) -> Any:
    return scattered_each(
        scatter, input_shape, input_each, dim, index_each, src_each, value, reduce
    )


@general(
    input=lambda grad, dim, index, reduce: _scatter_input(grad, dim, index, reduce),
    src=lambda grad, dim, index, src_shape, reduce: _scatter_source(
        grad, dim, index, src_shape, reduce
    ),
    jvp=_scatter_tangent,
    vmap=_scattered_each,
    inplace=True,
    exact_out=True,
    apart="index src",
)
def scatter(
    xp: Any,
    input: Array,
    dim: int,
    index: Array,
    src: Operand | None = None,
    *,
    value: Any = None,
    reduce: Any = None,
) -> Array:
    """input with src, a tensor or a number, written where index names along dim."""
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"reduce must be 'add' or 'multiply', got {reduce!r}")
    source = value if src is None else src
    if source is None:
        raise TypeError("expected src, a tensor, or value, a number")
    if not index.size:
        return xp.array(input)
    if isinstance(source, Number) and hasattr(source, "item"):  # NumPy's
        source = source.item()
    number = isinstance(source, (bool, int, float, complex))
    if not number:
        same_dtype("src", input, source)
    whole, chosen, axis = lifted(input), lifted(index), normal_dim(dim, input.ndim)
    values = as_value(xp, source, input.dtype) if number else lifted(source)
    check_index(xp, whole, axis, chosen, None if number else values)
    check_positions(xp, chosen, whole.shape[axis])
    if number:
        values = xp.broadcast_to(values, chosen.shape)
    else:
        values = values[tuple(slice(n) for n in chosen.shape)]
    if reduce is not None:
        return xp.combined_along(reduce, whole, chosen, values, axis).reshape(input.shape)
    return xp.written_along(whole, chosen, values, axis).reshape(input.shape)


_REFUSED = {"amax": "c", "amin": "c", "mean": "b"}  # what has no order, or no mean
_COMBINE = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _corner(source: Any, index: Any) -> Any:
    """The part of a source that an index of this shape uses."""
    if tuple(source.shape) == tuple(index.shape):
        return source
    return basic_index(source, tuple(slice(n) for n in index.shape))


def _counts(shape: Any, dim: int, index: Any, include_self: bool) -> Any:
    """How many elements met at each place, at least one."""
    met = times_met(index, shape, dim)
    return met + 1 if include_self else met + (met == 0)


def _times_met_each(index_each: Any, shape: Any, dim: int, batch_size: int) -> Any:
    met = times_met(as_rows(index_each), (batch_size, *(shape or (1,))), dim if shape else -1)
    return met if shape else reshape(met, (batch_size,))


@general(vmap=_times_met_each, home=None)
def times_met(xp: Any, index: Array, shape: Any, dim: int) -> Array:
    """How often index names each place of a tensor of `shape` along dim, as float32."""
    met = xp.counted_along(lifted(index), tuple(shape) or (1,), normal_dim(dim, len(shape)))
    return met.astype("float32").reshape(tuple(shape))


def _product_gradients(
    grad: Value, dim: int, index: Value, input: Value, src: Any, include_self: bool, result: Value
) -> tuple[Any, Any]:
    """The product without the element itself: also where one factor is zero."""
    shape = tuple(input.shape)
    own = masked_fill(input, input == 0, 1)
    grad_input = (
        grad * scatter_reduce(own, dim, index, src, "prod", include_self=include_self) / own
    )
    part = _corner(src, index)
    zero = part == 0
    zeros = gather(spread(zero * 1.0, shape, dim, index), dim, index)
    if include_self:
        zeros = zeros + gather((input == 0) * 1.0, dim, index)
    filled = masked_fill(part, zero, 1)
    # The only zero of its place gets the product of the others; else division gives the same.
    safe_input = masked_fill(input, input == 0, 1) if include_self else input
    others = scatter_reduce(safe_input, dim, index, filled, "prod", include_self=include_self)
    alone = gather(grad * others, dim, index)
    usual = gather(grad * result, dim, index) / filled
    # Of two zeros each gets the other, a zero whose derivative is not: it is the sum without one.
    vanished = masked_fill(part, ~zero, 0)
    total = gather(spread(vanished, shape, dim, index), dim, index)
    if include_self:
        total = total + gather(masked_fill(input, input != 0, 0), dim, index)
    only, both = zero & (zeros == 1), zero & (zeros == 2)
    paired = masked_fill(alone * (total - vanished), ~both, 0)
    rest = masked_fill(usual, only | both, 0)
    return grad_input, masked_fill(alone, ~only, 0) + paired + rest


def _extreme_gradients(
    grad: Value, dim: int, index: Value, input: Value, src: Any, include_self: bool, result: Value
) -> tuple[Any, Any]:
    """All that are equal to the extreme share its gradient."""
    own = (input == result) * 1.0
    chosen = (_corner(src, index) == gather(result, dim, index)) * 1.0
    count = spread(chosen, tuple(input.shape), dim, index)
    count = count + own if include_self else count + (count == 0)
    share = grad / count
    return own * share, chosen * gather(share, dim, index)


def _scatter_reduce_gradients(
    grad: Value,
    input: Value,
    dim: int,
    index: Value,
    src: Any,
    reduce: str,
    include_self: bool,
    result: Value,
) -> tuple[Any, Any]:
    if reduce == "sum":
        grad_input, grad_src = grad, gather(grad, dim, index)
    elif reduce == "mean":
        grad_input = grad / _counts(tuple(input.shape), dim, index, include_self)
        grad_src = gather(grad_input, dim, index)
    elif reduce == "prod":
        grad_input, grad_src = _product_gradients(
            grad, dim, index, input, src, include_self, result
        )
    else:
        grad_input, grad_src = _extreme_gradients(
            grad, dim, index, input, src, include_self, result
        )
    if not include_self:
        grad_input = scatter(grad_input, dim, index, value=0)
    return grad_input, of_source(grad_src, tuple(src.shape))


def _taken_in_tangent(
    input: Any,
    input_tangent: Any,
    dim: int,
    index: Any,
    src: Any,
    src_tangent: Any,
    reduce: str,
    include_self: bool,
    result: Any,
) -> Any:
    """Each element goes to one place, so that its slope is what the gradient 1 gives it."""
    ones = zero_of(result) + 1
    slopes = _scatter_reduce_gradients(ones, input, dim, index, src, reduce, include_self, result)
    moved: Any = None if input_tangent is None else slopes[0] * input_tangent
    if src_tangent is None:
        return moved
    part = _corner(slopes[1] * src_tangent, index)
    brought = spread(part, tuple(input.shape), dim, index)
    return brought if moved is None else moved + brought


def _taken_in_each(
    input_shape: Any,
    input_each: Any,
    dim: int,
    index_each: Any,
    src_each: Any,
    reduce: str,
    include_self: bool,
) -> Any:
    return scattered_each(
        scatter_reduce, input_shape, input_each, dim, index_each, src_each, reduce, include_self
    )


def _parts_to_take_in(
    xp: Any, input: Any, dim: int, index: Any, src: Any, reduce: str
) -> tuple[Any, Any, Any, int]:
    """What is taken in: where to, at which places, what, and along which axis; or a refusal."""
    if reduce not in _COMBINE:
        raise RuntimeError(f"reduce must be sum, prod, mean, amax or amin, got {reduce!r}")
    refuse_kinds("scatter_reduce", input, _REFUSED.get(reduce, ""))
    same_dtype("src", input, src)
    whole, chosen, values = lifted(input), lifted(index), lifted(src)
    axis = normal_dim(dim, input.ndim)
    if index.size:
        check_index(xp, whole, axis, chosen, values)
        check_positions(xp, chosen, whole.shape[axis])
        if values.shape != chosen.shape:
            values = values[tuple(slice(n) for n in chosen.shape)]
    return whole, chosen, values, axis


def _take_in(
    xp: Any, array: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool
) -> None:
    """scatter_reduce in place."""
    if not include_self or reduce == "mean" or not index.size:
        array[...] = scatter_reduce.forward(
            xp, array, dim, index, src, reduce, include_self=include_self
        )
        return
    whole, chosen, values, axis = _parts_to_take_in(xp, array, dim, index, src, reduce)
    xp.combine_along(_COMBINE[reduce], whole, chosen, values, axis)


@general(
    joint=("input src", _scatter_reduce_gradients),
    jvp=_taken_in_tangent,
    vmap=_taken_in_each,
    mutate=_take_in,
    inplace=True,
    exact_out=True,
    apart="index src",
)
def scatter_reduce(
    xp: Any,
    input: Array,
    dim: int,
    index: Array,
    src: Array,
    reduce: str,
    *,
    include_self: bool = True,
) -> Array:
    """input with src taken in by sum, prod, mean, amax or amin where index names along dim."""
    whole, chosen, values, axis = _parts_to_take_in(xp, input, dim, index, src, reduce)
    if not index.size:
        return xp.array(input)
    start, values = in_single(whole), in_single(values)
    if not include_self:
        places = xp.flat_places(chosen, whole.shape, axis).reshape(-1)
        start = xp.updated(start.reshape(-1), places, _neutral(xp, reduce, input.dtype))
        start = start.reshape(whole.shape)
    out = xp.combined_along(_COMBINE[reduce], start, chosen, values, axis)
    if reduce == "mean":
        exact = input.dtype.kind in "iu"
        met = xp.counted_along(chosen, whole.shape, axis)
        count = xp.maximum(met + 1 if include_self else met, 1)
        out = out // count if exact else out / count.astype(out.dtype)
    return in_type(out, input.dtype).reshape(input.shape)


def _neutral(xp: Any, reduce: str, kind: Any) -> Any:
    """What changes nothing when it is taken in."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if kind.kind == "b":
        return reduce == "amin"
    if kind.kind in "iu":
        limits = xp.iinfo(kind)
        return limits.min if reduce == "amax" else limits.max
    return -xp.inf if reduce == "amax" else xp.inf
