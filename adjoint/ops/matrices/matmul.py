"""Products of matrices and vectors: matmul and its relatives."""

import math
from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.rule import MATRICES
from adjoint.dtypes import refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import reshape, squeeze, transpose, unsqueeze
from adjoint.ops.batch_rules import of_rank
from adjoint.ops.node_names import of_product
from adjoint.ops.op import composite, multilinear
from adjoint.ops.reducing.reduction import sum


def mT(value: Any) -> Any:  # noqa: N802  as Tensor.mT
    """Matrices with rows and columns exchanged."""
    return value.T if value.ndim == 2 else transpose(value, -2, -1)


def mH(value: Any) -> Any:  # noqa: N802  as Tensor.mH
    """The conjugate transpose of matrices."""
    return conj(mT(value))


def shapes_of(*values: Any) -> str:
    """The shapes of operands, for an error message."""
    return " and ".join(str(tuple(value.shape)) for value in values)


def same_dtype(*values: Any) -> None:
    """Refuse operands of different data types.

    Values without one pass, so that the trial call which finds the short path does too.
    """
    kinds = [kind for value in values if (kind := getattr(value, "dtype", None)) is not None]
    if any(kind != kinds[0] for kind in kinds):
        names = " and ".join(getattr(kind, "name", str(kind)) for kind in kinds)
        raise RuntimeError(f"expected operands of one dtype, got {names}; convert one with .to()")


def check_ndim(*values: Any, ndim: int = 2) -> None:
    """Refuse anything but operands with `ndim` dimensions."""
    for value in values:
        if value.ndim != ndim:
            raise RuntimeError(f"expected {ndim}-d operands, got shapes {shapes_of(*values)}")


def _flat(value: Any) -> Any:
    """Rows of all batches under each other."""
    return reshape(value, (math.prod(value.shape[:-1]), value.shape[-1]))


def _left_factor(grad: Value, other: Value) -> Value:
    """Gradient of the left factor of a product."""
    if grad.ndim == 2 == other.ndim:
        return rows_product(grad, conj(other))
    if other.ndim == 1:
        return unsqueeze(grad, -1) * conj(other)
    if grad.ndim == other.ndim - 1:  # the left factor is a vector
        grad = unsqueeze(grad, -2)
    return matmul(grad, mH(other))


def _right_factor(grad: Value, input: Value, other_shape: Any) -> Value:
    """Gradient of the right factor of a product."""
    if input.ndim == 1:
        if grad.ndim == 0:
            return grad * conj(input)
        return unsqueeze(conj(input), -1) * unsqueeze(grad, -2)
    if grad.ndim == input.ndim - 1:  # the right factor is a vector
        return reshape(grad, (-1,)) @ conj(_flat(input))
    if input.ndim > 2 and len(other_shape) == 2:  # one product, instead of a sum of many
        return turned_product(conj(_flat(input)), _flat(grad))
    if input.ndim == 2 == grad.ndim:
        return turned_product(conj(input), grad)
    return mH(input) @ grad


def product_each(input: Any, input_batched: bool, other: Any, other_batched: bool) -> Any:
    """The product for each element: one product of many rows, where a matrix is shared."""
    left, right = input.ndim - input_batched, other.ndim - other_batched
    if not (left and right):
        raise RuntimeError("matmul: both operands must have at least one dimension")
    if (not other_batched and right < 3) or (not input_batched and left == 1 < right):
        return matmul(input, other)  # the batch is one more dimension of rows
    if not input_batched and right == 1 and left < 3:
        return matmul(other, mT(input) if left == 2 else input)
    first = unsqueeze(input, -2) if left == 1 else input
    second = unsqueeze(other, -1) if right == 1 else other
    rank = max(left, right, 2)
    product = matmul(of_rank(first, input_batched, rank), of_rank(second, other_batched, rank))
    gone = [dim for dim, single in ((-2, left == 1), (-1, right == 1)) if single]
    return squeeze(product, gone) if gone else product


@multilinear(
    input=lambda grad, other: _left_factor(grad, other),
    other=lambda grad, input, other_shape: _right_factor(grad, input, other_shape),
    vmap=product_each,
    batching=MATRICES,  # where both are
    node_name=of_product,
    saved_as={"other": "mat2"},
    exact_out=True,
    also="linalg",
    autocast="narrow",
)
def matmul(xp: Any, input: Array, other: Array) -> Array:
    """Matrix product of the last two dimensions, batches broadcast; 1-d operands are vectors."""
    same_dtype(input, other)
    refuse_kinds("matmul", input, "b")
    return xp.matmul(input, other)


def _product(left: Any, right: Any, out: Any) -> Any:
    """matmul, into `out` where one is given."""
    return matmul(left, right) if out is None else matmul(left, right, out=out)


@multilinear(
    input=lambda grad, other: rows_product(conj(other), grad),
    other=lambda grad, input: matmul(conj(input), grad),
    batching=MATRICES,
    home=None,
    autocast="narrow",
    node_name="MmBackward0",
)
def turned_product(xp: Any, input: Array, other: Array) -> Array:
    """The transpose of a matrix times another, in one step: the gradient of a right factor."""
    return xp.turned_product(input, other)


@multilinear(
    input=lambda grad, other: matmul(grad, conj(other)),
    other=lambda grad, input: turned_product(grad, conj(input)),
    batching=MATRICES,
    home=None,
    autocast="narrow",
    node_name="MmBackward0",
)
def rows_product(xp: Any, input: Array, other: Array) -> Array:
    """A matrix times the transpose of another, in one step: the gradient of a left factor."""
    return xp.rows_product(input, other)


@composite
def mm(input: Value, mat2: Value, *, out: Any = None) -> Value:
    """Product of two matrices."""
    check_ndim(input, mat2)
    return _product(input, mat2, out)


@composite
def bmm(input: Value, mat2: Value, *, out: Any = None) -> Value:
    """Products of two batches of matrices."""
    check_ndim(input, mat2, ndim=3)
    if input.shape[0] != mat2.shape[0]:
        raise RuntimeError(f"bmm: batches differ in size: {shapes_of(input, mat2)}")
    return _product(input, mat2, out)


@composite
def mv(input: Value, vec: Value, *, out: Any = None) -> Value:
    """Product of a matrix and a vector."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"mv: expected a matrix and a vector, got {shapes_of(input, vec)}")
    return _product(input, vec, out)


def _vectors(name: str, first: Any, second: Any) -> None:
    if len(first) != 1 or tuple(first) != tuple(second):
        raise RuntimeError(
            f"{name}: expected two vectors of one length, got shapes {tuple(first)} and "
            f"{tuple(second)}"
        )


def _dot_each(input: Any, input_batched: bool, tensor: Any, tensor_batched: bool) -> Any:
    _vectors("dot", input.shape[input_batched:], tensor.shape[tensor_batched:])
    same_dtype(input, tensor)
    if input_batched and tensor_batched:
        return sum(input * tensor, -1)
    return matmul(input, tensor) if input_batched else matmul(tensor, input)


@multilinear(
    input=lambda grad, tensor: grad * conj(tensor),
    tensor=lambda grad, input: grad * conj(input),
    vmap=_dot_each,
    exact_out=True,
)
def dot(xp: Any, input: Array, tensor: Array) -> Array:
    """Sum of the products of two vectors' elements."""
    _vectors("dot", input.shape, tensor.shape)
    same_dtype(input, tensor)
    refuse_kinds("dot", input, "b")
    return xp.dot(input, tensor)


@composite(exact_out=True)
def vdot(input: Value, other: Value) -> Value:
    """Dot product of two vectors, the first conjugated."""
    _vectors("vdot", input.shape, other.shape)
    return dot(conj(input), other)


@composite(also="ger", numpy=True)
def outer(input: Value, vec2: Value) -> Value:
    """The matrix of all products of two vectors' elements."""
    if input.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"outer: expected two vectors, got shapes {shapes_of(input, vec2)}")
    if input.dtype is vec2.dtype:
        return outer_product(input, vec2)
    return unsqueeze(input, 1) * vec2


def outer_each(first: Any, first_batched: bool, second: Any, second_batched: bool) -> Any:
    """The outer product for each element, in a batch of one or more."""
    shapes = first.shape[first_batched:], second.shape[second_batched:]
    if len(shapes[0]) != 1 or len(shapes[1]) != 1:
        raise RuntimeError(
            f"expected two vectors, got shapes {tuple(shapes[0])} and {tuple(shapes[1])}"
        )
    product = unsqueeze(first, -1) * unsqueeze(second, -2)
    return product if product.ndim == 3 else unsqueeze(product, 0)


@multilinear(
    input=lambda grad, vec2: matmul(grad, conj(vec2)),
    vec2=lambda grad, input: matmul(conj(input), grad),
    vmap=lambda input, input_batched, vec2, vec2_batched: outer_each(
        input, input_batched, vec2, vec2_batched
    ),
    node_name="MulBackward0",
    home=None,
)
def outer_product(xp: Any, input: Array, vec2: Array) -> Array:
    """All products of two vectors' elements; of their gradients each is one product of a matrix."""
    return xp.multiply(input[:, None], vec2)
