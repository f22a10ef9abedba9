"""Vectors along a dimension: their distances and angles, and the same of length 1."""

from typing import Any

from adjoint.call.rule import FRONT, MATRICES
from adjoint.dtypes import float32, float64, promote_types, refuse_kinds
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.conversion import to
from adjoint.ops.arranging.indexing import getitem
from adjoint.ops.arranging.shape import broadcast_tensors, unsqueeze
from adjoint.ops.elementwise.arithmetic import abs, div
from adjoint.ops.elementwise.rounding import ceil
from adjoint.ops.elementwise.selection import clamp_max, clamp_min
from adjoint.ops.matrices.matmul import matmul, mT
from adjoint.ops.op import composite, elementwise, general, linear
from adjoint.ops.reducing.norms import norm, p_norm
from adjoint.ops.reducing.reduction import mean, sum

FEW = 25  # rows whose differences are computed one by one, as by PyTorch


@composite(home="nn.functional")
def normalize(
    input: Value, p: float = 2.0, dim: Any = 1, eps: Operand = 1e-12, out: Any = None
) -> Value:
    """input divided by its norm of exponent p along dim, or by eps where that is greater."""
    lengths = clamp_min(norm(input, p, dim, True), eps)
    return div(input, lengths) if out is None else div(input, lengths, out=out)


@composite(method=False, also="nn.functional")
def cosine_similarity(x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """The cosine of the angle between vectors along dim."""
    refuse_kinds("cosine_similarity", x1, "c")
    if eps < 0:
        raise RuntimeError(f"cosine_similarity(): eps must be non-negative, got {eps}")
    kind = promote_types(x1.dtype, x2.dtype)
    x1, x2 = (x if x.dtype is kind else to(x, kind) for x in (x1, x2))
    one, other = (div(x, _length(x, dim, eps)) for x in broadcast_tensors(x1, x2))
    return sum(one * other, dim)


def _length(x: Any, dim: int, eps: float) -> Any:
    """The norm along dim, or eps where that is greater: with the norm's slope there as well."""
    length = p_norm(x, 2, dim, True)
    return length + clamp_min(eps - length.detach(), 0)


@composite(method=False, also="nn.functional")
def pairwise_distance(
    x1: Value, x2: Value, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Value:
    """The norm of exponent p of x1 - x2 + eps over the last dimension."""
    return norm(x1 - x2 + eps, p, -1, keepdim)


@elementwise(
    slope=lambda grad, length: part_of(grad, length),
    length=lambda grad, result, length: -part_of(grad * result, length),
    home=None,
    inplace=False,
)
def part_of(xp: Any, slope: Array, length: Array) -> Array:
    """slope over length, and 0 where that is 0."""
    zero = length == 0
    return xp.where(zero, 0, slope / xp.where(zero, 1, length))


def _distance_rule(
    grad: Value, x1: Value, x2: Value, result: Value, needs: list[bool]
) -> tuple[Value, Value]:
    """Sums of each difference over its length, times the gradient: products; 0 for length 0."""
    share = part_of(grad, result)
    # A shift of all rows changes nothing but what is lost to rounding.
    middle = mean(x2, -2, True) if x2.shape[-2] else 0.0
    first, second = x1 - middle, x2 - middle
    turned = mT(share)
    return (
        first * sum(share, -1, True) - matmul(share, second) if needs[0] else None,
        second * sum(turned, -1, True) - matmul(turned, first) if needs[1] else None,
    )


def _distance_tangent(
    x1: Value, x2: Value, x1_tangent: Value, x2_tangent: Value, result: Value
) -> Value:
    """The part of each difference's tangent that lies along it."""
    moved: Any = 0.0
    if x1_tangent is not None:
        moved = sum(x1 * x1_tangent, -1, True) - matmul(x1_tangent, mT(x2))
    if x2_tangent is not None:
        moved = moved + unsqueeze(sum(x2 * x2_tangent, -1), -2) - matmul(x1, mT(x2_tangent))
    return part_of(moved, result)


@general(
    joint=("x1 x2", _distance_rule),
    jvp=_distance_tangent,
    batching=MATRICES,
    node_name="EuclideanDistBackward0",
    home=None,
)
def euclidean(xp: Any, x1: Array, x2: Array) -> Array:
    """The lengths of the differences between all rows of x1 and all rows of x2."""
    return xp.distances(x1, x2)


def has_products(x1: Any, x2: Any, p: float) -> bool:
    """Whether distances are to come from a product of matrices: Euclidean ones of many rows."""
    many = x1.shape[-2] > FEW or x2.shape[-2] > FEW
    return many and p == 2 and x1.dtype in (float32, float64)


@linear(
    input=lambda grad, input_shape: placed_pairs(grad, input_shape[-1]), batching=FRONT, home=None
)
def later_pairs(xp: Any, input: Array) -> Array:
    """What is above the diagonals of square matrices, row after row."""
    return _above(xp, input)


def _above(xp: Any, matrices: Any) -> Any:
    return xp.pairs_above(matrices)


@linear(input=lambda grad: later_pairs(grad), batching=FRONT, home=None)
def placed_pairs(xp: Any, input: Array, count: int) -> Array:
    """Square matrices of `count` rows from what is above their diagonals; zeros elsewhere."""
    return xp.above_diagonal(input, count)


@linear(input=lambda grad: later_pairs(grad + mT(grad)), batching=FRONT, home=None)
def mirrored_pairs(xp: Any, input: Array, count: int) -> Array:
    """placed_pairs with the same below the diagonals."""
    return xp.mirrored_pairs(input, count)


def _pair_distance_rule(grad: Value, input: Value, result: Value) -> Value:
    """As of euclidean, for rows with themselves: one product, of a symmetric matrix."""
    both = mirrored_pairs(part_of(grad, result), input.shape[-2])
    rows = input - mean(input, -2, True)
    return rows * sum(both, -1, True) - matmul(both, rows)


def _pair_distance_tangent(input: Value, input_tangent: Value, result: Value) -> Value:
    moved, along = matmul(input, mT(input_tangent)), sum(input * input_tangent, -1, True)
    return part_of(later_pairs(along + mT(along) - moved - mT(moved)), result)


@general(
    input=_pair_distance_rule,
    jvp=_pair_distance_tangent,
    batching=MATRICES,
    node_name="PdistBackward0",
    home=None,
)
def pair_distances(xp: Any, input: Array) -> Array:
    """The lengths of the differences of all pairs of rows, each pair once."""
    return _above(xp, xp.distances(input, input))


def difference_norm(difference: Any, p: float) -> Any:
    """The norm of exponent p over the last dimension; an unknown difference is unknown for 0 too.

    The norm itself counts a NaN as one element that is not 0.
    """
    if p == 0:
        return sum(clamp_max(ceil(abs(difference)), 1), -1)
    return p_norm(difference, p, -1)


@composite(method=False, also="nn.functional")
def pdist(input: Value, p: float = 2.0) -> Value:
    """The distances between all pairs of rows, each pair once."""
    refuse_kinds("pdist", input, "c")
    if input.ndim != 2:
        raise RuntimeError(f"pdist(): expected a matrix, got shape {list(input.shape)}")
    if not p >= 0:
        raise RuntimeError(f"pdist(): p must not be negative, got {p}")
    count = input.shape[0]
    if has_products(input, input, p):
        return pair_distances(input)
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    first, second = ([pair[n] for pair in pairs] for n in range(2))
    return difference_norm(getitem(input, (first,)) - getitem(input, (second,)), p)
