"""What an index means: x[...] in parts, as a view and what picks from it."""

import operator
import warnings
from collections.abc import Sequence
from typing import Any

from adjoint.backends import is_array
from adjoint.device import CPU
from adjoint.dtypes import bool_, uint8
from adjoint.ops.arranging.conversion import to
from adjoint.tensors.concrete import concrete, has_values, known_integer
from adjoint.tensors.tensor import AS_IS, Tensor


def _as_tuple(index: Any) -> tuple[Any, ...]:
    """The parts of an index; a short list that has parts counts as a tuple, as in PyTorch."""
    if isinstance(index, tuple):
        return index
    if (
        isinstance(index, list)
        and len(index) < 32
        and any(
            part is None
            or part is Ellipsis
            or isinstance(part, (slice, list, tuple, range, Tensor))
            or (is_array(part) and hasattr(part, "__len__"))  # an array, and no number of NumPy's
            for part in index
        )
    ):
        return tuple(index)
    return (index,)


def _plain_slice(part: slice) -> slice:
    bounds = [None if b is None else operator.index(b) for b in (part.start, part.stop, part.step)]
    if bounds[2] is not None and bounds[2] < 1:
        raise ValueError(f"the step of a slice must be positive, got {bounds[2]}; flip() reverses")
    return slice(*bounds)


def is_plain_slice(part: slice) -> bool:
    """Whether a slice has no bounds but Python's own integers, and goes forward."""
    start, stop, step = part.start, part.stop, part.step
    return (
        (start is None or type(start) is int)
        and (stop is None or type(stop) is int)
        and (step is None or (type(step) is int and step > 0))
    )


def check_part(part: Any) -> None:
    """Refuse a tensor of numbers that are no index: int64, int32, bools and uint8 are."""
    kind, size = part.dtype.kind, part.dtype.itemsize
    if kind != "b" and not (kind == "i" and size >= 4) and not (kind == "u" and size == 1):
        raise IndexError(
            f"tensors used as indices must be of int64, int32, bool or uint8, got {part.dtype}"
        )


def _array_part(part: Any) -> Any:
    """A Tensor or an array as a part of an index; one number, where it can be read, as an int."""
    kind = part.dtype.kind
    if kind not in "biu":
        raise IndexError(
            f"tensors used as indices must be of an integer type or bool, got {part.dtype}"
        )
    if part.dtype is uint8:
        warnings.warn("an index of uint8 is a mask, as bool is; use bool", stacklevel=3)
        return to(part, bool_)
    if part.ndim == 0 and kind != "b":
        number = known_integer(part)
        return part if number is None else number
    if isinstance(part, Tensor):
        check_part(part)  # an array of NumPy's may be of any whole numbers
    return part


def _plain_part(part: Any) -> Any:
    """One part of an index: int, slice, None, Ellipsis, bool, array, Tensor or list."""
    if part is None or part is Ellipsis or isinstance(part, (bool, int, list)):
        return part
    if isinstance(part, slice):
        return _plain_slice(part)
    if isinstance(part, Tensor) or is_array(part):
        return _array_part(part)
    if isinstance(part, (tuple, range)):
        return list(part)
    if isinstance(part, str):
        raise TypeError("a str can't be an index")
    if hasattr(part, "__index__"):
        return operator.index(part)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None, bools and integer or bool tensors "
        f"are valid indices (got {type(part).__name__})"
    )


def plain_index(index: Any) -> tuple[Any, ...]:
    """The parts of an index as the ops of this table take them."""
    return tuple([_plain_part(part) for part in _as_tuple(index)])


def _is_simple(part: Any) -> bool:
    """Whether a part is none of array, Tensor and list."""
    return part is None or part is Ellipsis or isinstance(part, (int, slice))


def is_basic(index: tuple[Any, ...]) -> bool:
    """Whether a plain index gives a view."""
    return all(_is_simple(part) and not isinstance(part, bool) for part in index)


def consumed(part: Any) -> int:
    """How many dimensions one part of an index takes."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, (int, slice, list)) or part.dtype.kind != "b":
        return 1
    ndim: int = part.ndim
    return ndim


def _is_whole_slice(part: Any) -> bool:
    return isinstance(part, slice) and part == slice(None)


def one_ellipsis(index: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """The index with at most one Ellipsis; a second one stands for nothing, and ends the index."""
    places = [i for i, part in enumerate(index) if part is Ellipsis]
    if len(places) < 2:
        return index
    if sum(consumed(part) for part in index) < ndim:
        rest = index[places[1] :]
        if not all(part is Ellipsis or _is_whole_slice(part) for part in rest):
            raise IndexError("nothing can follow a second Ellipsis")
        return index[: places[1]]
    return tuple([part for i, part in enumerate(index) if i not in places[1:]])


def as_index(xp: Any, part: Any) -> Any:
    """An array to index with: lists become arrays, and uint8 is an old spelling of bool."""
    array = xp.asarray(part)
    if array.size == 0 and isinstance(part, list):
        return array.astype("int64")
    if array.dtype.kind not in "biu":
        raise IndexError(f"indices must be integers or bools, got {array.dtype}")
    return array.astype(bool) if array.dtype == "uint8" else array


def divide(
    xp: Any, shape: Sequence[int], index: tuple[Any, ...]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A plain index as a view, and what picks from that view."""
    return divided(shape, [part if _is_simple(part) else as_index(xp, part) for part in index])


def divided(shape: Sequence[int], parts: list[Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The same, of an index whose lists have become arrays or Tensors."""
    ndim = len(shape)
    taken = sum(consumed(part) for part in parts)
    if taken > ndim:
        raise IndexError(f"too many indices for a tensor of dimension {ndim}")
    basic: list[Any] = []
    picks: list[Any] = []
    whole = slice(None)
    for part in parts:
        if part is Ellipsis:
            basic.extend([whole] * (ndim - taken))
            picks.extend([whole] * (ndim - taken))
        elif part is None or isinstance(part, slice):
            basic.append(part)
            picks.append(whole)
        elif isinstance(part, bool):
            picks.append(part)
        elif isinstance(part, int):
            basic.append(part)
        else:
            if part.dtype.kind == "b" and 0 in part.shape:
                _check_empty_mask(part.shape, shape, sum(map(consumed, basic)))
            basic.extend([whole] * consumed(part))
            picks.append(part)
    return tuple(basic), tuple(picks)


def _check_empty_mask(mask: Sequence[int], shape: Sequence[int], dim: int) -> None:
    """Refuse a mask without elements for dimensions of another size, which NumPy lets pass."""
    masked = tuple(shape[dim : dim + len(mask)])
    if tuple(mask) != masked:
        raise IndexError(
            f"a mask of shape {list(mask)} does not match dimensions of size {list(masked)}"
        )


def is_whole(basic: tuple[Any, ...]) -> bool:
    """Whether a view by these parts shows all there is, as it is."""
    return all(isinstance(part, slice) and part == slice(None) for part in basic)


def nearby(input: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index with its tensors on the CPU moved to where input is, as PyTorch does."""
    if not isinstance(input, Tensor) or input.device == CPU:
        return parts
    where = input.device
    found: list[Any] = []
    for part in parts:
        if not isinstance(part, Tensor) or part.device != CPU:
            found.append(part)
        elif part.dtype is bool_ and part.ndim and not has_values(input):
            found.extend(to(Tensor(places, AS_IS), where) for places in concrete(part).nonzero())
        else:
            found.append(to(part, where))
    return tuple(found)
