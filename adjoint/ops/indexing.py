"""Indexing: reading and writing by position, mask and index tensor."""

from typing import Any

from adjoint.ops.op import linear, multilinear


def _is_basic(index: Any) -> bool:
    """Whether an index consists of ints, slices, None and Ellipsis: a view."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is Ellipsis or isinstance(part, slice)
        or (isinstance(part, int) and not isinstance(part, bool))
        for part in parts
    )


def _complete(index: Any) -> Any:
    """An index under which NumPy answers a view even for a single element."""
    parts = index if isinstance(index, tuple) else (index,)
    return parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)


@linear(input=lambda grad, input_shape, index: place(grad, input_shape, index), view=True)
def getitem(xp: Any, input: Any, index: Any) -> Any:
    """input[index]."""
    if _is_basic(index):
        return input[_complete(index)]
    return input[index]


@linear(input=lambda grad, index: getitem(grad, index), method=False)
def place(xp: Any, input: Any, shape: Any, index: Any) -> Any:
    """Zeros of `shape` with input added at index: what getitem's gradient is."""
    zeros = xp.zeros(shape, input.dtype)
    if _is_basic(index):
        return xp.updated(zeros, index, input)
    return xp.added_at(zeros, index, input)


def _write(array: Any, index: Any, value: Any) -> None:
    array[index] = value


@multilinear(
    input=lambda grad, index: setitem(grad, index, 0),
    value=lambda grad, index: getitem(grad, index),
    mutate=_write,
    inplace=True,
    method=False,
)
def setitem(xp: Any, input: Any, index: Any, value: Any) -> Any:
    """input with input[index] = value."""
    return xp.updated(input, index, value)
