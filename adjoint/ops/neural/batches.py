"""How a batch is hidden in another dimension, and found again: what rules of networks share."""

from typing import Any

from adjoint.ops.arranging.shape import movedim, reshape


def joined(value: Any) -> Any:
    """The first two dimensions as one."""
    first, second, *rest = value.shape
    return reshape(value, (first * second, *rest))


def parted(value: Any, size: int) -> Any:
    """The first dimension as two, the batch and what is left."""
    whole, *rest = value.shape
    return reshape(value, (size, whole // max(size, 1), *rest))


def side_by_side(value: Any) -> Any:
    """(batch, n, channels, …) as (n, batch * channels, …)."""
    size, count, channels, *rest = value.shape
    return reshape(movedim(value, 0, 1), (count, size * channels, *rest))


def one_after_another(value: Any, size: int) -> Any:
    """The reverse: (n, batch * channels, …) as (batch, n, channels, …)."""
    count, channels, *rest = value.shape
    return movedim(reshape(value, (count, size, channels // max(size, 1), *rest)), 1, 0)


def starts_of(like: Any, size: int, count: int, rank: int) -> Any:
    """Where the numbers of each element of a batch start, if each has `count` of them."""
    starts = like.new_tensor([count * place for place in range(size)])
    return reshape(starts, (size, *[1] * rank))


def numbered_apart(indices: Any, count: int) -> Any:
    """Numbers below `count`, the batch in front of them, each element's in a range of its own."""
    return indices + starts_of(indices, indices.shape[0], count, indices.ndim - 1)
