"""Vectors along a dimension: their distances and angles, and the same of length 1."""

from typing import Any

from adjoint.dtypes import promote_types
from adjoint.ops.annotations import Value
from adjoint.ops.arranging.conversion import to
from adjoint.ops.arranging.indexing import getitem
from adjoint.ops.arranging.shape import broadcast_tensors
from adjoint.ops.elementwise.arithmetic import abs, div
from adjoint.ops.elementwise.rounding import ceil
from adjoint.ops.elementwise.selection import clamp_max, clamp_min
from adjoint.ops.op import composite
from adjoint.ops.reducing.norms import norm, p_norm
from adjoint.ops.reducing.reduction import sum


@composite(home="nn.functional")
def normalize(
    input: Value, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Value:
    """input divided by its norm of exponent p along dim, or by eps where that is greater."""
    lengths = clamp_min(norm(input, p, dim, True), eps)
    return div(input, lengths) if out is None else div(input, lengths, out=out)


@composite(method=False, also="nn.functional")
def cosine_similarity(x1: Value, x2: Value, dim: int = 1, eps: float = 1e-8) -> Value:
    """The cosine of the angle between vectors along dim."""
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
    if input.ndim != 2:
        raise RuntimeError(f"pdist(): expected a matrix, got shape {list(input.shape)}")
    if p < 0:
        raise RuntimeError(f"pdist(): p must not be negative, got {p}")
    count = input.shape[0]
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    first, second = ([pair[n] for pair in pairs] for n in range(2))
    return difference_norm(getitem(input, (first,)) - getitem(input, (second,)), p)
