"""Where the kept elements of a sparse tensor lie: sorting, joining and looking up their places.

All here works on arrays of whole numbers; `xp` is their library.
"""

import math
from typing import Any


def places_of(xp: Any, indices: Any, sizes: tuple[int, ...]) -> Any:
    """For each column of indices its number among all places of a shape, counted row by row."""
    if not sizes:
        return xp.zeros(indices.shape[1], "int64")
    places = indices[0].astype("int64")
    for row, size in zip(indices[1:], sizes[1:]):
        places = places * size + row
    return places


def indices_of(xp: Any, places: Any, sizes: tuple[int, ...]) -> Any:
    """The columns of indices whose numbers these are."""
    rows: list[Any] = []
    for size in reversed(sizes):
        rows.append(places % max(size, 1))
        places = places // max(size, 1)
    return xp.stack(rows[::-1]) if rows else xp.zeros((0, places.shape[0]), "int64")


def joined(xp: Any, places: Any, elements: Any) -> tuple[Any, Any]:
    """Places in order and each once, and the sums of the elements that share one."""
    order = xp.argsort(places, kind="stable")
    ordered = places[order]
    first = xp.concatenate([xp.ones(1, bool), ordered[1:] != ordered[:-1]])
    found = ordered[first[: ordered.shape[0]]]
    owners = xp.cumsum(first)[: ordered.shape[0]] - 1
    rows = elements.reshape(elements.shape[0], math.prod(elements.shape[1:]))[order]
    sums = summed(xp, rows, owners, int(found.shape[0]))
    return found, sums.reshape(found.shape[0], *elements.shape[1:])


def summed(xp: Any, rows: Any, owners: Any, count: int) -> Any:
    """The sum of the rows of each owner; bools are joined by or."""
    if rows.dtype.kind == "b":
        return xp.summed_rows(rows.astype("int64"), owners, count) > 0
    return xp.summed_rows(rows, owners, count)


def looked_up(xp: Any, known: Any, wanted: Any) -> tuple[Any, Any]:
    """Where wanted places stand among known ones, which are in order; and whether they do."""
    if not known.shape[0]:
        return xp.zeros_like(wanted), xp.zeros(wanted.shape, bool)
    at = xp.searchsorted(known, wanted)
    at = xp.where(at < known.shape[0], at, 0)
    return at, known[at] == wanted


def starts_of(xp: Any, numbers: Any, count: int) -> Any:
    """Where each of `count` rows starts among kept elements whose rows, in order, are `numbers`."""
    sizes = xp.bincount(numbers, minlength=count)
    return xp.concatenate([xp.zeros(1, "int64"), xp.cumsum(sizes).astype("int64")])


def numbers_of(xp: Any, starts: Any) -> Any:
    """The row of each kept element, given where rows start."""
    return _owners(xp, starts[1:], int(starts[-1]) if starts.shape[0] else 0)


def _owners(xp: Any, ends: Any, total: int) -> Any:
    """For each of `total` things, in order, the group it is in, given where groups end."""
    return xp.searchsorted(ends, xp.arange(total), side="right")


def paired(xp: Any, columns: Any, starts: Any) -> tuple[Any, Any]:
    """All pairs of a left and a right element that meet in a product.

    The left ones lie in `columns`, the right ones in rows that start at `starts`.
    """
    sizes = starts[columns + 1] - starts[columns]
    ends = xp.cumsum(sizes)
    total = int(ends[-1]) if columns.shape[0] else 0
    left = _owners(xp, ends, total)
    return left, (starts[columns] - ends + sizes)[left] + xp.arange(total)
