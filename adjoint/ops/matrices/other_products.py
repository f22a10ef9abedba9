"""Products of other kinds: Kronecker's, of vectors in space, of chains of matrices."""

import itertools
from collections.abc import Sequence
from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.rule import FRONT
from adjoint.dtypes import refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import expand, reshape, unsqueeze
from adjoint.ops.dims import normal_dim
from adjoint.ops.matrices.matmul import (
    check_ndim,
    matmul,
    same_dtype,
    shapes_of,
)
from adjoint.ops.op import composite, multilinear
from adjoint.ops.reducing.reduction import sum


@composite(numpy=True)
def kron(input: Value, other: Value) -> Value:
    """The Kronecker product: every element of input times all of other."""
    ndim = max(input.ndim, other.ndim)
    if ndim == 0:
        return input * other
    outer_shape = (1,) * (ndim - input.ndim) + tuple(input.shape)
    inner_shape = (1,) * (ndim - other.ndim) + tuple(other.shape)
    *outer_front, count = outer_shape
    *inner_front, width = inner_shape
    # Whole rows of the result: to repeat few elements takes less than to multiply by short rows.
    spread = expand(reshape(input, [*outer_front, count, 1]), (*outer_front, count, width))
    tile = expand(reshape(other, [*inner_front, 1, width]), (*inner_front, count, width))
    spread = reshape(spread, [n for size in outer_front for n in (size, 1)] + [count * width])
    tile = reshape(tile, [n for size in inner_front for n in (1, size)] + [count * width])
    return reshape(spread * tile, [m * n for m, n in zip(outer_shape, inner_shape)])


@multilinear(
    input=lambda grad, other, dim: linalg_cross(conj(other), grad, dim=dim),
    other=lambda grad, input, dim: linalg_cross(grad, conj(input), dim=dim),
    home="linalg",
    numpy="cross linalg.cross",
    batching=FRONT,
    exact_out=True,
    apart=True,
    ordered=True,
)
def linalg_cross(xp: Any, input: Array, other: Array, *, dim: int = -1) -> Array:
    """Cross product of the vectors along dim."""
    same_dtype(input, other)
    if input.ndim != other.ndim:
        raise RuntimeError(f"numbers of dimensions differ: shapes {shapes_of(input, other)}")
    dim = normal_dim(dim, input.ndim)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"dimension {dim} must have size 3, got {shapes_of(input, other)}")
    return xp.cross(input, other, axis=dim)


@composite(exact_out=True, apart=True)
def cross(input: Value, other: Value, dim: int | None = None) -> Value:
    """Cross product of the vectors along dim; without it, the first dimension of size 3."""
    if dim is None:
        sizes = list(input.shape)
        if 3 not in sizes:
            raise RuntimeError(f"cross: no dimension of size 3 in {shapes_of(input)}")
        dim = sizes.index(3)
    return linalg_cross(input, other, dim=dim)


@composite(home="linalg", exact_out=True, autocast="narrow")
def linalg_vecdot(x: Value, y: Value, *, dim: int = -1) -> Value:
    """Dot products of the vectors along dim, the first conjugated."""
    refuse_kinds("linalg_vecdot", x, "biu")
    same_dtype(x, y)
    return sum(conj(x) * y, dim)


def chain_order(sizes: list[int]) -> list[list[int]]:
    """Where to split each run of a product of matrices, so that the multiplications are fewest."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    later = -1 if count == 3 else 1  # where both cost the same, as in PyTorch
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], _, split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], later * k, k)
                for k in range(i, j)
            )
    return split


@composite(home="linalg", exact_out=True)
def linalg_multi_dot(tensors: Sequence[Value]) -> Value:
    """Product of several matrices in the cheapest order; the first and last may be vectors."""
    operands = list(tensors)
    if len(operands) < 2:
        raise RuntimeError(f"multi_dot: expected at least 2 tensors, got {len(operands)}")
    same_dtype(*operands)
    check_ndim(*operands[1:-1])
    from_vector, to_vector = operands[0].ndim == 1, operands[-1].ndim == 1
    if from_vector:
        operands[0] = unsqueeze(operands[0], 0)
    if to_vector:
        operands[-1] = unsqueeze(operands[-1], 1)
    check_ndim(operands[0], operands[-1])
    for left, right in itertools.pairwise(operands):
        if left.shape[1] != right.shape[0]:
            raise RuntimeError(f"multi_dot: can't multiply shapes {shapes_of(left, right)}")
    split = chain_order([operands[0].shape[0], *(operand.shape[1] for operand in operands)])

    def product(i: int, j: int) -> Any:
        if i == j:
            return operands[i]
        return matmul(product(i, split[i][j]), product(split[i][j] + 1, j))

    result = product(0, len(operands) - 1)
    ends = ([] if from_vector else [result.shape[0]]) + ([] if to_vector else [result.shape[1]])
    return reshape(result, ends) if from_vector or to_vector else result


@composite(method=False)
def chain_matmul(*matrices: Value) -> Value:
    """Product of several matrices in the cheapest order."""
    if not matrices:
        raise RuntimeError("chain_matmul(): expected at least one matrix")
    check_ndim(*matrices)
    return linalg_multi_dot(matrices) if len(matrices) > 1 else matrices[0]
