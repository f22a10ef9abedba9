"""The largest and the smallest element: over dimensions, and where they are."""

from numbers import Number
from typing import Any

from adjoint.call.rule import FRONT
from adjoint.dtypes import COMPLEX, category_of
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import squeeze
from adjoint.ops.batch_rules import reduced
from adjoint.ops.dims import normal_dim, normal_dims
from adjoint.ops.elementwise.comparison import isnan, logical_and, logical_or
from adjoint.ops.elementwise.selection import maximum, minimum
from adjoint.ops.op import composite, general
from adjoint.ops.plain_numbers import plain_number
from adjoint.ops.reducing.cumulative import pick_along, place_along
from adjoint.ops.reducing.reduction import kept, sum
from adjoint.tensors.tensor import Tensor


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


def _shared(grad: Value, input: Value, result: Value, dim: Any, keepdim: bool) -> Value:
    """The gradient of an extreme, in equal parts for the elements that attain it."""
    attained = input == kept(result, input.shape, dim, keepdim)
    return attained * (kept(grad, input.shape, dim, keepdim) / sum(attained, dim, True))


def _shared_tangent(
    input: Value, input_tangent: Value, result: Value, dim: Any, keepdim: bool
) -> Value:
    """The mean of the tangents of the elements that attain an extreme."""
    attained = input == kept(result, input.shape, dim, keepdim)
    return sum(attained * input_tangent, dim, keepdim) / sum(attained, dim, keepdim)


def tangent_of_equals(input: Value, input_tangent: Value, result: Value) -> Value:
    """The mean of the tangents of all elements equal to a chosen one; NaNs are equal."""
    chosen = logical_or(input == result, logical_and(isnan(input), isnan(result)))
    return sum(chosen * input_tangent) / sum(chosen)


def shared_by_equals(grad: Value, input: Value, result: Value) -> Value:
    """The gradient of one chosen element, in equal parts for all equal to it; NaNs are equal."""
    chosen = logical_or(input == result, logical_and(isnan(input), isnan(result)))
    return chosen * (grad / sum(chosen))


@general(
    input=_shared,
    vmap=lambda input, input_shape, dim, keepdim: reduced(amax, input_shape, [input, dim, keepdim]),
    exact_out=True,
    numpy="max",
    jvp=_shared_tangent,
    ordered=True,
)
def amax(xp: Any, input: Array, dim: Any = (), keepdim: bool = False) -> Array:
    """The largest element over dim; equal ones share the gradient."""
    refuse_complex(input)
    refuse_empty(input, dim)
    return input.max(axis=normal_dims(dim, input.ndim), keepdims=keepdim)


@general(
    input=_shared,
    vmap=lambda input, input_shape, dim, keepdim: reduced(amin, input_shape, [input, dim, keepdim]),
    exact_out=True,
    numpy="min",
    jvp=_shared_tangent,
    ordered=True,
)
def amin(xp: Any, input: Array, dim: Any = (), keepdim: bool = False) -> Array:
    """The smallest element over dim; equal ones share the gradient."""
    refuse_complex(input)
    refuse_empty(input, dim)
    return input.min(axis=normal_dims(dim, input.ndim), keepdims=keepdim)


@general(
    input=lambda grad0, grad1, input, result0, result1, dim, keepdim: (
        _shared(grad0, input, result0, dim, keepdim) + _shared(grad1, input, result1, dim, keepdim)
    ),
    vmap=lambda input, input_shape, dim, keepdim: reduced(
        aminmax, input_shape, [input, dim, keepdim]
    ),
    returns="min max",
    exact_out=True,
    jvp=lambda input, input_tangent, result0, result1, dim, keepdim: (
        _shared_tangent(input, input_tangent, result0, dim, keepdim),
        _shared_tangent(input, input_tangent, result1, dim, keepdim),
    ),
    ordered=True,
)
def aminmax(
    xp: Any, input: Array, *, dim: int | None = None, keepdim: bool = False
) -> tuple[Array, Array]:
    """The smallest and the largest element over dim."""
    refuse_complex(input)
    axes = (
        tuple(range(input.ndim))
        if dim is None
        else normal_dims(normal_dim(dim, input.ndim), input.ndim)
    )
    refuse_empty(input, dim)
    return input.min(axis=axes, keepdims=keepdim), input.max(axis=axes, keepdims=keepdim)


def selected(grad0: Value, result1: Value, input_shape: Any, dim: int, keepdim: bool) -> Value:
    """The gradient of values chosen along dim: it goes to the chosen places."""
    if not input_shape:
        return grad0
    grad = kept(grad0, input_shape, dim, keepdim)
    return place_along(grad, kept(result1, input_shape, dim, keepdim), dim, input_shape[dim])


def selected_tangent(input_tangent: Value, result1: Value, dim: int, keepdim: bool) -> Any:
    """The tangents of values chosen along dim; their places have none."""
    if not input_tangent.ndim:
        return input_tangent, None
    places = kept(result1, input_tangent.shape, dim, keepdim)
    values = pick_along(input_tangent, places, dim)
    return (values if keepdim else squeeze(values, dim)), None


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


@general(
    input=shared_by_equals,
    vmap=lambda input, input_shape: reduced(amax, input_shape, [input, None, False]),
    node_name="MaxBackward1",
    home=None,
    jvp=tangent_of_equals,
)
def max_all(xp: Any, input: Array) -> Array:
    """The largest element of all."""
    refuse_complex(input)
    refuse_empty(input, None)
    return input.max()


@general(
    input=shared_by_equals,
    vmap=lambda input, input_shape: reduced(amin, input_shape, [input, None, False]),
    node_name="MinBackward1",
    home=None,
    jvp=tangent_of_equals,
)
def min_all(xp: Any, input: Array) -> Array:
    """The smallest element of all."""
    refuse_complex(input)
    refuse_empty(input, None)
    return input.min()


@general(
    input=selected,
    returns="values indices",
    node_name="MaxBackward0",
    exact_out=True,
    home=None,
    batching=FRONT,
    jvp=selected_tangent,
    ordered=True,
)
def max_dim(xp: Any, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The largest elements along dim, and where they are."""
    return _extreme(xp, input, dim, keepdim, xp.argmax)


@general(
    input=selected,
    returns="values indices",
    node_name="MinBackward0",
    exact_out=True,
    home=None,
    batching=FRONT,
    jvp=selected_tangent,
    ordered=True,
)
def min_dim(xp: Any, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The smallest elements along dim, and where they are."""
    return _extreme(xp, input, dim, keepdim, xp.argmin)


def _overloaded(
    ops: tuple[Any, Any, Any], input: Any, dim: Any, keepdim: Any, other: Any, out: Any
) -> Any:
    """Of all, along dim, or of two tensors: which one max and min mean."""
    over_all, along, of_two = ops
    options = {} if out is None else {"out": out}
    if other is None and hasattr(dim, "shape") and not isinstance(dim, Number):
        if keepdim is None:
            dim, other = None, dim
        else:
            dim = plain_number(along.name.removesuffix("_dim"), "dim", dim, "i")
    if other is not None:
        if dim is not None or keepdim is not None:
            raise TypeError(f"{of_two.name}: another tensor takes neither dim nor keepdim")
        return of_two(input, other, **options)
    if dim is not None:
        return along(input, dim, bool(keepdim), **options)
    if keepdim is not None:
        raise TypeError("keepdim needs a dim: use amax or amin to reduce all and keep dimensions")
    return over_all(input, **options)


@composite(without={"dim keepdim other": Tensor})
def max(
    input: Value,
    dim: Any = None,
    keepdim: bool | None = None,
    *,
    other: Value | None = None,
    out: Any = None,
) -> Any:
    """The largest of all; along dim, with indices; or of two tensors at each place."""
    return _overloaded((max_all, max_dim, maximum), input, dim, keepdim, other, out)


@composite(without={"dim keepdim other": Tensor})
def min(
    input: Value,
    dim: Any = None,
    keepdim: bool | None = None,
    *,
    other: Value | None = None,
    out: Any = None,
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


@general(
    vmap=lambda input, input_shape, dim, keepdim: reduced(
        argmax, input_shape, [input, dim, keepdim]
    ),
    exact_out=True,
    numpy=True,
)
def argmax(xp: Any, input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where the largest element is: along dim, or in the flattened tensor."""
    return _place_of(xp, input, dim, keepdim, xp.argmax)


@general(
    vmap=lambda input, input_shape, dim, keepdim: reduced(
        argmin, input_shape, [input, dim, keepdim]
    ),
    exact_out=True,
    numpy=True,
)
def argmin(xp: Any, input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """Where the smallest element is: along dim, or in the flattened tensor."""
    return _place_of(xp, input, dim, keepdim, xp.argmin)
