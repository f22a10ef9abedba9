"""Dimensions, sizes and positions as users give them."""

import math
import operator
from collections.abc import Sequence
from typing import Any


def normal_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front; a 0-d tensor has dimensions -1 and 0, as in PyTorch."""
    number = operator.index(dim)
    span = ndim or 1
    if not -span <= number < span:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], "
            f"but got {number})"
        )
    return number + span if number < 0 else number


def normal_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """Several dimensions counted from the front; None or () means all."""
    if dim is None:
        return tuple(range(ndim))
    if isinstance(dim, int) or not isinstance(dim, Sequence):
        number = normal_dim(dim, ndim)
        return (number,) if ndim else ()
    if not dim:
        return tuple(range(ndim))
    dims = distinct_dims(dim, ndim)
    return dims if ndim else ()


def distinct_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    """The given dimensions counted from the front; a RuntimeError if one comes twice."""
    found = tuple([normal_dim(d, ndim) for d in dims])
    if len(set(found)) < len(found):
        raise RuntimeError(f"a dimension appears multiple times in the list of dims {tuple(dims)}")
    return found


def kept_shape(shape: Sequence[int], dim: Any) -> tuple[int, ...]:
    """The shape after reducing dim with keepdim=True."""
    reduced = normal_dims(dim, len(shape))
    return tuple(1 if i in reduced else n for i, n in enumerate(shape))


def along(dim: int, part: Any) -> tuple[Any, ...]:
    """The index that applies `part` to dimension dim and takes all of those before it."""
    return (slice(None),) * dim + (part,)


def product(sizes: Any) -> int:
    """How many elements these sizes make."""
    total = 1
    for n in sizes:
        total *= int(n)
    return total


def refuse_truth(what: str, value: Any = None) -> None:
    """Refuse a truth for a size or a count; of several PyTorch looks at the first one alone."""
    if isinstance(value, bool):
        raise TypeError(f"{what} must be a whole number, not {value}")


def resolved(shape: Any, size: int) -> tuple[int, ...]:
    """A requested shape with its -1 filled in."""
    if shape and type(shape[0]) is bool:
        refuse_truth("a size", shape[0])
    sizes = tuple(map(operator.index, shape))
    if min(sizes, default=0) >= 0 and math.prod(sizes) == size:
        return sizes
    for n in sizes:
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n}")
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    known = product(n for n in sizes if n != -1)
    if -1 in sizes:
        if known == 0 and size == 0:
            raise RuntimeError(
                f"cannot reshape a tensor of 0 elements into shape {list(sizes)} because the "
                "unspecified dimension size -1 can be any value"
            )
        if known == 0 or size % known:
            raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {size}")
        return tuple(size // known if n == -1 else n for n in sizes)
    if known != size:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {size}")
    return sizes


def check_positions(xp: Any, index: Any, size: int, error: type[Exception] = RuntimeError) -> None:
    """Refuse positions outside 0 … size - 1, where reading them costs nothing."""
    if not xp.readable() or not index.size:
        return
    if xp.are_indices(index) and xp.all_below(index, size):
        return
    low, high = index.min(), index.max()
    if low < 0 or high >= size:
        worst = low if low < 0 else high
        raise error(f"index {worst} is out of bounds for a dimension of size {size}")


def check_index_type(
    xp: Any, index: Any, error: type[Exception] = RuntimeError, short: bool = False
) -> None:
    """Refuse an index of another type than int64, or than int32 too where it may be short."""
    if not xp.are_indices(index) and not (short and index.dtype == "int32"):
        wanted = "int64 or int32" if short else "int64"
        raise error(f"expected an index tensor of {wanted}, got {index.dtype}")


def broadcast_shape(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together."""
    ndim = max((len(shape) for shape in shapes), default=0)
    sizes = [1] * ndim
    for shape in shapes:
        for d, n in enumerate(shape, ndim - len(shape)):
            if sizes[d] == 1:
                sizes[d] = n
            elif n not in (1, sizes[d]):
                raise RuntimeError(
                    f"the shapes {', '.join(str(list(s)) for s in shapes)} can't be broadcast "
                    f"together: dimension {d} has sizes {sizes[d]} and {n}"
                )
    return tuple(sizes)
