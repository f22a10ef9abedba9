"""What the rules of this folder share about batches: how tensors get one, and how it is hidden.

A value below a level has its batch along the first dimension, if it is batched at all.
"""

from typing import Any

from adjoint.ops.arranging.shape import expand, movedim, reshape


def size_of(*pairs: tuple[Any, bool]) -> int:
    """The size of the batch, which at least one of the values has."""
    return next(int(value.shape[0]) for value, batched in pairs if batched)


def in_front(value: Any, batched: bool, size: int) -> Any:
    """A value with the batch in front; one for all elements is shown to each."""
    return value if batched else expand(value, (size, *value.shape))


def joined(value: Any) -> Any:
    """The first two dimensions as one."""
    first, second, *rest = value.shape
    return reshape(value, (first * second, *rest))


def parted(value: Any, size: int) -> Any:
    """The first dimension as two, the batch and what is left."""
    whole, *rest = value.shape
    return reshape(value, (size, whole // max(size, 1), *rest))


def ranked(value: Any, batched: bool, rank: int) -> Any:
    """A value of at most `rank` dimensions that broadcasts as one element does, or None."""
    if value is None or not batched:
        return value
    size, *rest = value.shape
    return reshape(value, (size, *[1] * (rank - len(rest)), *rest))


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


def numbered_apart(indices: Any, batched: bool, size: int, count: int) -> Any:
    """Numbers below `count`, with the batch in front, each element's in a range of its own."""
    whole = in_front(indices, batched, size)
    return whole + starts_of(whole, size, count, whole.ndim - 1)
