"""Linear maps."""

import math
from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.rule import FRONT
from adjoint.dtypes import refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import movedim, reshape, unsqueeze
from adjoint.ops.batch_rules import of_rank, with_batch
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.matrices.einsum import einsum
from adjoint.ops.matrices.matmul import matmul, mT, turned_product
from adjoint.ops.neural.batches import joined
from adjoint.ops.op import composite, general, linear as linear_family
from adjoint.ops.reducing.cumulative import narrowed, widened
from adjoint.ops.reducing.reduction import sum


def _rows(x: Any) -> Any:
    """All leading dimensions as one."""
    return x if x.ndim == 2 else reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))


def _linear_input(grad: Value, weight: Value) -> Value:
    if weight.ndim == 1:
        return reshape(grad, (*grad.shape, 1)) * conj(weight)
    return matmul(grad, conj(weight))


def _linear_weight(grad: Value, input: Value, weight_shape: Any) -> Value:
    rows = conj(_rows(input))
    if len(weight_shape) == 1:
        return reshape(grad, (-1,)) @ rows
    return turned_product(_rows(grad), rows)


@linear_family(
    input=lambda grad: column_sums(grad),
    vmap=lambda input, shape: equal_rows(input, (input.shape[0], *shape)),
    home=None,
)
def equal_rows(xp: Any, input: Array, shape: Any) -> Array:
    """A matrix all of whose rows are input, or many of them: the gradient of column_sums."""
    return xp.expand_dims(input, -2).repeat(shape[-2], -2)  # row by row in memory


@linear_family(
    input=lambda grad, input_shape: equal_rows(grad, input_shape),
    batching=FRONT,
    home=None,
)
def column_sums(xp: Any, input: Array) -> Array:
    """The sum over the rows of a matrix, or of each of many."""
    return xp.column_sums(input)


def _linear_bias(grad: Value) -> Value:
    if grad.ndim == 2:
        return column_sums(grad)
    return sum(grad, tuple(range(grad.ndim - 1))) if grad.ndim > 1 else grad


def _over_batch(
    input: Any,
    input_batched: bool,
    input_shape: Any,
    weight: Any,
    weight_batched: bool,
    weight_shape: Any,
    bias: Any,
    bias_batched: bool,
    batch_size: int,
) -> Any:
    """Rows of all elements by one matrix, or the rows of each by its own."""
    if not weight_batched and not bias_batched:
        return linear(input, weight, bias)
    out_shape = (*input_shape[:-1], *weight_shape[:-1])
    if not weight_batched:
        out = linear(input, weight)
    elif not input_batched and len(weight_shape) == 2:
        many = linear(input, joined(weight))
        out = movedim(reshape(many, (*input_shape[:-1], batch_size, weight_shape[0])), -2, 0)
    else:
        rows = reshape(
            with_batch(input, input_batched, batch_size),
            (batch_size, math.prod(input_shape[:-1]), input_shape[-1]),
        )
        matrix = weight if len(weight_shape) == 2 else unsqueeze(weight, 1)
        out = reshape(matmul(rows, mT(matrix)), (batch_size, *out_shape))
    return out if bias is None else add(out, of_rank(bias, bias_batched, len(out_shape)))


@general(
    input=_linear_input,
    weight=_linear_weight,
    bias=_linear_bias,
    jvp=lambda input, weight, input_tangent, weight_tangent, bias_tangent, result: _linear_jvp(
        input, weight, input_tangent, weight_tangent, bias_tangent, result
    ),
    vmap=_over_batch,
    home="nn.functional",
    autocast="narrow",
    exact_out=True,
)
def linear(xp: Any, input: Array, weight: Array, bias: Array | None = None) -> Array:
    """input @ weight.T + bias."""
    kind = weight.dtype
    if input.dtype is not kind and input.dtype != kind:
        raise RuntimeError("input and weight must have the same dtype")
    if bias is not None and bias.dtype is not kind and bias.dtype != kind:
        raise RuntimeError("input, weight and bias must have the same dtype")
    if input.shape[-1:] != weight.shape[-1:] or not 0 < weight.ndim < 3:
        raise RuntimeError(  # a single number has no last dimension
            f"the last dimension of input, of shape {list(input.shape)}, must be that of weight, "
            f"of one or two dimensions; its shape is {list(weight.shape)}"
        )
    if kind.itemsize < 4:
        refuse_kinds("linear", input, "b")
        wide = None if bias is None else xp.wide_product(input, weight.T)
        if wide is not None:  # rounded once, after the sum
            return narrowed(wide + widened(bias), kind)
    return xp.linear(input, weight, bias)


def _linear_jvp(
    input: Any,
    weight: Any,
    input_tangent: Any,
    weight_tangent: Any,
    bias_tangent: Any,
    result: Any,
) -> Any:
    """Linear in each argument but bias, which is only added."""
    parts = []
    if input_tangent is not None:
        parts.append(linear(input_tangent, weight))
    if weight_tangent is not None:
        parts.append(linear(input, weight_tangent))
    total = parts[0] if len(parts) == 1 else add(*parts) if parts else None
    if bias_tangent is None:
        return total
    return bias_tangent + (0 * result if total is None else total)


@composite(method=False, also="nn.functional")
def bilinear(input1: Value, input2: Value, weight: Value, bias: Value | None = None) -> Value:
    """For each matrix of weight the product input1 @ matrix @ input2, plus bias."""
    if weight.ndim != 3 or (input1.shape[-1], input2.shape[-1]) != tuple(weight.shape[1:]):
        raise RuntimeError(
            f"bilinear(): weight of shape {list(weight.shape)} does not fit inputs of shapes "
            f"{list(input1.shape)} and {list(input2.shape)}"
        )
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): inputs must agree but for the last dimension, got shapes "
            f"{list(input1.shape)} and {list(input2.shape)}"
        )
    out = einsum("...i,oij,...j->...o", input1, weight, input2)
    return out if bias is None else add(out, bias)
