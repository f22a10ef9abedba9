"""In which order in memory the elements lie that an index of arrays picks: in PyTorch's.

Its loop runs over the dimensions of the result. Those that the index leaves whole have the strides
of the array, those of the index arrays have theirs, and the result is laid out in the order of
strides; where these say nothing, it is that of the dimensions.
"""

from collections.abc import Sequence
from typing import Any

from adjoint.ops.arranging.index_parts import consumed


def picked(xp: Any, array: Any, picks: tuple[Any, ...]) -> Any:
    """array[picks], a copy, as it lies in memory in PyTorch."""
    out = xp.picked(array, picks)
    if out.ndim < 2:
        return out
    if xp.is_contiguous(array):
        if len(picks) == 1 and type(picks[0]) is not bool and picks[0].ndim < 2:  # most often
            return out
        if _are_in_order(xp, picks):
            if 1 in out.shape and out.size:  # where there may be any stride
                return _with_usual_strides(xp, out)
            return out if xp.is_contiguous(out) else xp.copied(out, ordered=True)
    order = _order(xp, array, picks, out.shape) if out.size else list(range(out.ndim))
    laid = xp.copied(xp.transpose(out, order), ordered=True)
    return xp.transpose(laid, [order.index(dim) for dim in range(out.ndim)])


def _with_usual_strides(xp: Any, out: Any) -> Any:
    ordered = out if xp.is_contiguous(out) else xp.copied(out, ordered=True)
    return ordered.reshape(-1).reshape(out.shape)


def _are_in_order(xp: Any, picks: tuple[Any, ...]) -> bool:
    """Whether no index array has dimensions in an order of its own."""
    for pick in picks:
        kind = type(pick)
        if kind is not slice and kind is not bool and pick.ndim > 1 and not xp.is_contiguous(pick):
            return False
    return True


def _order(xp: Any, array: Any, picks: tuple[Any, ...], shape: Sequence[int]) -> list[int]:
    """The dimensions of a result, the outermost in memory first."""
    operands = _steps(xp, array, picks, shape)
    order = list(range(len(shape)))[::-1]
    for place in range(1, len(order)):
        later = place
        for earlier in range(place - 1, -1, -1):
            verdict = _compared(order[earlier], order[later], shape, operands)
            if verdict > 0:
                order[earlier], order[later] = order[later], order[earlier]
                later = earlier
            elif verdict < 0:
                break
    return order[::-1]


def _compared(first: int, second: int, shape: Sequence[int], operands: list[list[int]]) -> int:
    """Whether the first of two dimensions is to lie further out: 1 if so, -1 if not, else 0."""
    for steps in operands:
        one, other = steps[first], steps[second]
        if not one or not other:  # repeated there, which says nothing
            continue
        if one != other:
            return 1 if one > other else -1
        if shape[first] > shape[second]:
            return 1
    return 0


def _steps(xp: Any, array: Any, picks: tuple[Any, ...], shape: Sequence[int]) -> list[list[int]]:
    """The strides of the array and of each index array, by dimensions of the result."""
    strides = _strides(xp, array)
    kept: list[int] = []  # of the dimensions that stay
    indices: list[Any] = []
    before = runs = dim = 0  # dimensions that stay before the first array; runs of arrays
    goes_on = False
    for pick in picks:
        if isinstance(pick, slice):
            before += not runs
            kept.append(strides[dim])
            dim += 1
        else:
            runs += not goes_on
            indices += [pick] if hasattr(pick, "ndim") else []
            dim += consumed(pick)
        goes_on = not isinstance(pick, slice)
    kept += strides[dim:]
    wide = len(shape) - len(kept)  # how many dimensions the arrays have together
    start = before if runs == 1 else 0
    own = [*kept[:start], *[0] * wide, *kept[start:]]
    return [own, *(_spread(xp, index, shape, start, wide) for index in indices)]


def _strides(xp: Any, array: Any) -> list[int]:
    """The strides of an array; that of a new dimension is as long as what follows it."""
    strides = list(xp.strides_of(array))
    for dim in range(len(strides) - 1, -1, -1):
        if array.shape[dim] == 1 and not strides[dim]:
            last = dim == len(strides) - 1
            strides[dim] = 1 if last else array.shape[dim + 1] * strides[dim + 1]
    return strides


def _spread(xp: Any, index: Any, shape: Sequence[int], start: int, wide: int) -> list[int]:
    """The strides of an index array with a dimension for each of the result's.

    A mask stands for a list of places; where it has one element, as others, a stride counts too.
    """
    is_mask = index.dtype.kind == "b"
    sizes = [shape[start]] if is_mask else list(index.shape)
    own = [index.ndim] if is_mask else list(xp.strides_of(index))
    ahead = sizes[0] * own[0] if own else 1
    steps = [ahead] * (start + wide - len(own)) + own
    steps += [own[-1] if own else 1] * (len(shape) - start - wide)
    lead = [1] * (start + wide - len(own)) + sizes + [1] * (len(shape) - start - wide)
    return [step if size == n else 0 for step, size, n in zip(steps, lead, shape, strict=True)]
