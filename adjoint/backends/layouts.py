"""How arrays would lie in memory, by arithmetic alone: strides are counted in elements.

This is what NumPy decides about new arrays, views and indices, for arrays that have no memory.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from adjoint.backends import NoValuesError
from adjoint.backends.namespace import ordered_strides

Shape = tuple[int, ...]


class Part(NamedTuple):
    """What an index picks."""

    shape: Shape
    strides: Shape | None  # None: a copy, in the order of its elements
    start: int  # how far from the first element of the whole


class Added(NamedTuple):
    """A single truth value in an index: one more dimension, which picks all or nothing."""

    shape: Shape


def is_dense(shape: Shape, strides: Shape) -> bool:
    """Whether elements lie one after the other, in the order of their indices."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 0:
            return True
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def broadcast_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape:
    """The strides of an array repeated to a shape; a repeated dimension has none."""
    lead = len(wanted) - len(shape)
    kept = tuple(0 if own == 1 != n else s for own, n, s in zip(shape, wanted[lead:], strides))
    return (0,) * lead + kept


def preserved(shape: Shape, strides: Shape) -> Shape:
    """The strides of a copy whose dimensions lie in the order that they have in the original."""
    if is_dense(shape, strides):
        return ordered_strides(shape)
    if 0 in strides:  # which has no place of its own in memory
        return alike(shape, (shape, strides))
    order = sorted(range(len(shape)), key=lambda dim: -abs(strides[dim]))
    return _dense(shape, order[::-1])


def _dense(shape: Shape, order: list[int]) -> Shape:
    """Strides without gaps, given the order of dimensions, the innermost first."""
    found, step = [0] * len(shape), 1
    for dim in order:
        found[dim] = step
        step *= max(shape[dim], 1)
    return tuple(found)


def alike(shape: Shape, *others: tuple[Shape, Shape]) -> Shape:
    """The strides of a new array whose dimensions lie in the order that they have in others.

    Others are shapes and strides; the first that tells two dimensions apart decides, as in NumPy.
    """
    if all(is_dense(*other) for other in others):
        return ordered_strides(shape)
    lines = [
        [
            0 if size == 1 else abs(step)
            for size, step in zip(shape, broadcast_strides(*other, shape))
        ]
        for other in others
    ]
    order: list[int] = []  # the innermost dimension first
    for dim in reversed(range(len(shape))):
        place = len(order)
        for i in reversed(range(len(order))):
            further = _lies_further(lines, order[i], dim)
            if further is False:
                break
            if further:
                place = i
        order.insert(place, dim)
    return _dense(shape, order)


def _lies_further(lines: list[list[int]], inner: int, outer: int) -> bool | None:
    """Whether neighbours are further apart along `inner` than along `outer`; None: no one knows."""
    found = None
    for line in lines:
        if line[inner] and line[outer]:
            if line[inner] <= line[outer]:
                return False
            found = True
    return found


def reshaped_strides(shape: Shape, strides: Shape, wanted: Shape) -> Shape | None:
    """The strides of an array seen in another shape; None if only a copy can have it."""
    if 0 in shape:
        return ordered_strides(wanted)
    runs = _runs(shape, strides)
    found: list[int] = []
    left, step = next(runs)
    for size in reversed(wanted):
        if size == 1:
            found.append(step)
            continue
        while left == 1:
            left, step = next(runs)
        if left % size:
            return None
        left //= size
        found.append(step)
        step *= size
    return tuple(reversed(found))


def _runs(shape: Shape, strides: Shape) -> Iterator[tuple[int, int]]:
    """How many elements lie equally far apart, and how far: for all dimensions, the last first."""
    count = step = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 1:
            continue
        if count == 1:
            count, step = size, stride
        elif stride == step * count:
            count *= size
        else:
            yield count, step
            count, step = size, stride
    yield count, step


# ---- indices ----


def picked(shape: Shape, strides: Shape, index: Any) -> Part:
    """What array[index] is."""
    parts = _parts(shape, index)
    if any(hasattr(part, "shape") for part in parts):
        return Part(_gathered(shape, parts), None, 0)
    np.broadcast_to(np.False_, shape)[tuple(parts)]  # NumPy's own complaints, on one byte
    sizes: list[int] = []
    steps: list[int] = []
    start = dim = 0
    for part in parts:
        if part is None:
            sizes.append(1)
            steps.append(0)
            continue
        if isinstance(part, slice):
            first, last, step = part.indices(shape[dim])
            count = len(range(first, last, step))
            sizes.append(count)
            steps.append(strides[dim] * step)
            start += first * strides[dim] if count else 0
        else:
            start += part % shape[dim] * strides[dim]
        dim += 1
    return Part(tuple(sizes), tuple(steps), start)


def written_shape(shape: Shape, index: Any) -> Shape | None:
    """The shape of what is written at an index; None where a mask decides."""
    try:
        return picked(shape, ordered_strides(shape), index).shape
    except NoValuesError:
        return None


def _parts(shape: Shape, index: Any) -> list[Any]:
    """An index as numbers, slices, None and arrays of integers, for all dimensions."""
    given: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        given.extend(_unfolded(part))
    used = sum(not (p is None or p is Ellipsis or isinstance(p, Added)) for p in given)
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {used} were "
            "indexed"
        )
    if sum(part is Ellipsis for part in given) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = next((i for i, part in enumerate(given) if part is Ellipsis), len(given))
    return [*given[:at], *[slice(None)] * (len(shape) - used), *given[at + 1 :]]


def _unfolded(part: Any) -> list[Any]:
    """One part of an index; a mask as the positions of what it picks."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return [part]
    if isinstance(part, (bool, list, np.ndarray, np.generic)):
        values = np.asarray(part, np.int64 if isinstance(part, list) and not part else None)
        if values.dtype.kind != "b":
            return [values if values.ndim else int(values)]
        if not values.ndim:
            return [Added((int(values),))]
        return list(values.nonzero())
    if hasattr(part, "shape"):
        if part.dtype.kind == "b":
            raise NoValuesError("what a mask picks depends on its values")
        if part.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return [part]
    return [part.__index__()]


def _gathered(shape: Shape, parts: list[Any]) -> Shape:
    """The shape of what arrays in an index pick; numbers beside them count as arrays."""
    arrays = [i for i, p in enumerate(parts) if not (p is None or isinstance(p, slice))]
    common = broadcast_shape([getattr(parts[i], "shape", ()) for i in arrays])
    together = arrays[-1] - arrays[0] == len(arrays) - 1
    sizes: list[int] = [] if together else list(common)
    dim = 0
    for i, part in enumerate(parts):
        if together and i == arrays[0]:
            sizes.extend(common)
        if part is None:
            sizes.append(1)
            continue
        if isinstance(part, slice):
            sizes.append(len(range(*part.indices(shape[dim]))))
        elif isinstance(part, Added):
            continue
        elif not hasattr(part, "shape"):
            np.broadcast_to(np.False_, shape[dim : dim + 1])[part]
        dim += 1
    return tuple(sizes)


def broadcast_shape(shapes: list[Shape]) -> Shape:
    """The shape that arrays of these shapes have together."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(map(str, shapes))
        raise ValueError(f"operands could not be broadcast together with shapes {listed}") from None


def fitting_shape(size: int, wanted: Any) -> Shape:
    """A shape for so many elements; -1 in it is the size that is left."""
    sizes = [n.__index__() for n in (wanted if isinstance(wanted, (tuple, list)) else (wanted,))]
    if sizes.count(-1) == 1:
        rest = math.prod(n for n in sizes if n != -1)
        sizes[sizes.index(-1)] = size // rest if rest else 0
    if math.prod(sizes) != size or min(sizes, default=0) < 0:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(wanted)}")
    return tuple(sizes)
