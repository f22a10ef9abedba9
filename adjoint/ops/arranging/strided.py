"""Views by strides: diagonals, sliding windows, and memory read in any pattern."""

from typing import Any

from adjoint.call.rule import FRONT
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import clone
from adjoint.ops.arranging.shape import reshape, select, unsqueeze
from adjoint.ops.dims import normal_dim
from adjoint.ops.op import composite, linear
from adjoint.tensors.changes import apply_inplace
from adjoint.tensors.concrete import place_of, room_of
from adjoint.tensors.memory import restride
from adjoint.tensors.upper import upper

# ---- diagonals ----


def _diagonal_dims(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    first, second = normal_dim(dim1, ndim), normal_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"the dimensions of a diagonal cannot be identical: {dim1}, {dim2}")
    return first, second


def _diagonal_of(shape: Any, offset: int, dim1: int, dim2: int) -> tuple[int, int, int]:
    """Which diagonal of which dimensions; all beyond the corners are as empty as the next one."""
    first, second = _diagonal_dims(dim1, dim2, len(shape))
    return max(-shape[first], min(offset, shape[second])), first, second


@linear(
    input=lambda grad, input_shape, offset, dim1, dim2: diagonal_place(
        grad, input_shape, offset, dim1, dim2
    ),
    view=True,
    batching=FRONT,
)
def diagonal(xp: Any, input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A view of a diagonal of dim1 and dim2, as the last dimension."""
    offset, first, second = _diagonal_of(input.shape, offset, dim1, dim2)
    return xp.writable(xp.diagonal(input, offset, first, second), input)


@linear(
    input=lambda grad, offset, dim1, dim2: diagonal(grad, offset, dim1, dim2),
    vmap=lambda input, shape, offset, dim1, dim2: diagonal_place(
        input, (input.shape[0], *shape), offset, dim1, dim2
    ),
    dims=1,
    node_name="DiagonalBackward0",
    home=None,
)
def diagonal_place(xp: Any, input: Array, shape: Any, offset: int, dim1: int, dim2: int) -> Array:
    """Zeros of `shape` with input on a diagonal: the gradient of diagonal."""
    offset, first, second = _diagonal_of(shape, offset, dim1, dim2)
    zeros = xp.moveaxis(xp.zeros(tuple(shape), input.dtype), (first, second), (-2, -1))
    return xp.moveaxis(xp.with_diagonal(zeros, input, offset), (-2, -1), (first, second))


@linear(
    input=lambda grad, input_shape, offset, dim1, dim2: diagonal_place(
        grad, input_shape, offset, dim1, dim2
    ),
    method=False,
    node_name="DiagonalBackward0_copy",
    batching=FRONT,
    exact_out=True,
)
def diagonal_copy(xp: Any, input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A copy of a diagonal of dim1 and dim2, as the last dimension."""
    offset, first, second = _diagonal_of(input.shape, offset, dim1, dim2)
    return xp.copied(xp.diagonal(input, offset, first, second), ordered=True)


@composite
def diag_embed(input: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """Matrices, in dim1 and dim2, with the last dimension of input as their diagonals."""
    first, second = _diagonal_dims(dim1, dim2, input.ndim + 1)
    if input.ndim == 0:
        raise IndexError("diag_embed(): a 0-d tensor has no dimension to put on a diagonal")
    side = input.shape[-1] + abs(offset)
    lead = iter(input.shape[:-1])
    shape = [side if d in (first, second) else next(lead) for d in range(input.ndim + 1)]
    return diagonal_place(input, tuple(shape), offset, first, second)


@composite(exact_out=True, numpy=True)
def diag(input: Value, diagonal: int = 0) -> Value:
    """The diagonal of a matrix, or the matrix of a diagonal."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): expected 1 or 2 dimensions, got {input.ndim}")
    return diagonal_copy(input, diagonal)


# ---- memory ----


def _extent(sizes: Any, strides: Any) -> int:
    """How many elements a pattern spans, from its first on."""
    if 0 in sizes:
        return 0
    return 1 + sum((int(n) - 1) * int(s) for n, s in zip(sizes, strides))


def _is_ordered(sizes: Any, strides: Any) -> bool:
    """Whether the elements of a pattern lie side by side, in the order of their indices."""
    step = 1
    for n, stride in zip(reversed(sizes), reversed(strides)):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


def _is_distinct(sizes: Any, strides: Any) -> bool:
    """Whether it is plain that no two elements of a pattern lie in one place."""
    reach = 0
    for stride, n in sorted((int(s), int(n)) for n, s in zip(sizes, strides) if n != 1):
        if stride <= reach:
            return False
        reach += stride * (n - 1)
    return True


def _through(xp: Any, input: Any, source: Any, target: Any, mean: str) -> Any:
    """See through_memory."""
    low = min(source[2], target[2])
    span = max(p[2] + _extent(p[0], p[1]) for p in (source, target)) - low
    shared = source if mean == "source" else target
    count: Any = None
    if not _is_distinct(shared[0], shared[1]):
        ones = xp.ones(tuple(shared[0]), input.dtype)
        count = xp.summed_in_memory(ones, shared[1], shared[2] - low, span)
    if mean == "source" and count is not None:
        met = count[xp.positions(source[0], source[1], source[2] - low)]
        input = (input / met).astype(input.dtype)
    memory = xp.summed_in_memory(input, source[1], source[2] - low, span)
    if _is_ordered(target[0], target[1]):
        start = target[2] - low
        part: Any = slice(start, start + _extent(target[0], target[1]))
        found, met = (None if m is None else m[part].reshape(target[0]) for m in (memory, count))
    else:
        part = xp.positions(target[0], target[1], target[2] - low)
        found, met = (None if m is None else m[part] for m in (memory, count))
    return found if met is None or mean == "source" else found / met


def _through_each(input: Any, source: Any, target: Any, mean: str) -> Any:
    """Each element in memory of its own, one behind the other."""
    low = min(source[2], target[2])
    room = max(p[2] + _extent(p[0], p[1]) for p in (source, target)) - low
    count = input.shape[0]
    patterns = [
        ((count, *sizes), (room, *strides), offset - low)
        for sizes, strides, offset in (source, target)
    ]
    return through_memory(input, patterns[0], patterns[1], mean)


@linear(
    input=lambda grad, source, target, mean: through_memory(
        grad, target, source, "target" if mean == "source" else "source"
    ),
    vmap=_through_each,
    node_name="AsStridedBackward0",
    home=None,
)
def through_memory(xp: Any, input: Array, source: Any, target: Any, mean: str) -> Array:
    """input laid out as `source` says, read again as `target` says; what meets in one place adds.

    A pattern is (sizes, strides, offset). Where the pattern that `mean` names ("source" or
    "target") has several elements in one place, each takes an equal share.
    """
    return _through(xp, input, source, target, mean)


def _strided_each(input: Any, size: Any, stride: Any, offset: int, source: Any) -> Any:
    """The same pattern in each element: a view, if they lie in memory as `source` says."""
    end, reach = source[2] + _extent(source[0], source[1]), _extent(size, stride)
    if reach and not source[2] <= offset <= end - reach:
        raise RuntimeError(
            f"as_strided(): sizes {list(size)}, strides {list(stride)} and storage offset {offset} "
            "can access memory outside of `tensor`, an element of a batch. This is not supported "
            "inside of vmap"
        )
    strides = place_of(input)[1]
    if strides[1:] != tuple(source[1]):
        return _through_each(input, source, (size, stride, offset), "source")
    count, step = input.shape[0], strides[0]
    whole = ((count, *source[0]), (step, *source[1]), source[2])
    return strided_view(input, (count, *size), (step, *stride), offset, whole)


@linear(
    input=lambda grad, size, stride, offset, source: through_memory(
        grad, (size, stride, offset), source, "target"
    ),
    vmap=_strided_each,
    view=True,
    node_name="AsStridedBackward0",
    home=None,
)
def strided_view(xp: Any, input: Array, size: Any, stride: Any, offset: int, source: Any) -> Array:
    """Memory read in a pattern, `offset` counted as `source`, the pattern of input, counts.

    An array whose own pattern is another, as a gradient's may be, is read by value.
    """
    memory = xp.memory(input)
    if memory is None or memory.strides != source[1]:
        return _through(xp, input, source, (size, stride, offset), "source")
    start = memory.start + offset - source[2]
    if 0 in size:  # nothing is read, wherever it may begin
        start = 0
    if start < 0 or start + _extent(size, stride) > memory.room:
        raise RuntimeError(
            f"sizes {list(size)}, strides {list(stride)} and storage offset {offset} reach beyond "
            "the memory of the tensor"
        )
    return xp.strided(input, tuple(size), tuple(stride), start)


upper.operators.strided_view = strided_view


def _pattern(
    name: str, input: Any, size: Any, stride: Any, storage_offset: int | None
) -> list[Any]:
    """The arguments of strided_view, checked."""
    if len(size) != len(stride):
        raise RuntimeError(f"{name}(): {len(size)} sizes, but {len(stride)} strides")
    if any(s < 0 for s in stride) or any(n < 0 for n in size):
        raise RuntimeError(f"{name}(): sizes and strides must not be negative")
    own, strides = place_of(input)
    source = (tuple(input.shape), strides, own)
    offset = own if storage_offset is None else int(storage_offset)
    reach = 0 if input.layer is not None else _extent(size, stride)
    if reach and not 0 <= offset <= room_of(input) - reach:
        raise RuntimeError(
            f"{name}(): sizes {list(size)}, strides {list(stride)} and storage offset {offset} "
            f"reach beyond the memory of the tensor, {room_of(input)} elements"
        )
    return [input, tuple(size), tuple(stride), offset, source]


@composite
def as_strided(input: Value, size: Any, stride: Any, storage_offset: int | None = None) -> Value:
    """A view of the tensor's memory by sizes, strides and offset, all counted in elements."""
    return strided_view(*_pattern("as_strided", input, size, stride, storage_offset))


@composite(briefly=restride)
def as_strided_(input: Value, size: Any, stride: Any, storage_offset: int | None = None) -> Value:
    """In-place form of as_strided: the tensor shows its memory in another pattern."""
    return apply_inplace(strided_view, _pattern("as_strided_", input, size, stride, storage_offset))


@composite
def as_strided_scatter(
    input: Value, src: Value, size: Any, stride: Any, storage_offset: int | None = None
) -> Value:
    """A copy of input with src written where as_strided of these arguments looks."""
    if tuple(src.shape) != tuple(size):
        raise RuntimeError(
            f"as_strided_scatter(): src must have the size {list(size)}, got {list(src.shape)}"
        )
    written = clone(input)
    own, strides = place_of(input)
    if input.layer is None and place_of(written) != (own, strides):
        # Places are counted in the memory that input shows a part of: all of it is copied.
        memory = clone(as_strided(input, (room_of(input),), (1,), 0))
        written = as_strided(memory, input.shape, strides, own)
    as_strided(written, size, stride, storage_offset).copy_(src)
    return written


# ---- sliding windows ----


SHORT = 16  # elements


def _windows(length: int, size: int, step: int) -> int:
    return (length - size) // step + 1


def _unfolded_each(input: Any, input_shape: Any, dimension: int, size: int, step: int) -> Any:
    if input_shape:
        return unfold(input, dimension, size, step)
    windows = unfold(reshape(input, (input.shape[0], 1)), -1, size, step)
    return select(windows, -2, 0)


def _folded_each(input: Any, shape: Any, dimension: int, size: int, step: int) -> Any:
    count = input.shape[0]
    if shape:
        return folded(input, (count, *shape), dimension, size, step)
    return reshape(folded(unsqueeze(input, -2), (count, 1), -1, size, step), (count,))


@linear(
    input=lambda grad, input_shape, dimension, size, step: folded(
        grad, input_shape, dimension, size, step
    ),
    vmap=_unfolded_each,
    view=True,
    home="Tensor",
)
def unfold(xp: Any, input: Array, dimension: int, size: int, step: int) -> Array:
    """A view of all windows of `size` along a dimension, `step` apart, as a last dimension."""
    place = normal_dim(dimension, input.ndim)
    length = input.shape[place] if input.ndim else 1
    if not 0 <= size <= length:
        raise RuntimeError(f"a window of {size} does not fit dimension {place} of size {length}")
    if step < 1:
        raise RuntimeError(f"the step must be positive, got {step}")
    if input.ndim == 0:
        return input.reshape(1)[:size]
    count = _windows(length, size, step)
    memory = xp.memory(input)
    if memory is None:
        return xp.moveaxis(
            xp.take(input, _window_positions(xp, count, size, step), place), place + 1, -1
        )
    strides = memory.strides
    return xp.strided(
        input,
        (*input.shape[:place], count, *input.shape[place + 1 :], size),
        (*strides[:place], strides[place] * step, *strides[place + 1 :], strides[place]),
        memory.start,
    )


def _window_positions(xp: Any, count: int, size: int, step: int) -> Any:
    return xp.arange(count).reshape(-1, 1) * step + xp.arange(size)


@linear(
    input=lambda grad, dimension, size, step: unfold(grad, dimension, size, step),
    vmap=_folded_each,
    dims=-1,
    node_name="UnfoldBackward0",
    wide=True,
    home=None,
)
def folded(xp: Any, input: Array, shape: Any, dimension: int, size: int, step: int) -> Array:
    """Windows added up at their places in zeros of `shape`: the gradient of unfold."""
    if not shape:
        return xp.sum(input).reshape(()) if size else xp.zeros((), input.dtype)
    place = normal_dim(dimension, len(shape))
    count, lead = input.shape[place], (slice(None),) * place
    passes = -(-size // step)  # in each, what every window has of one stretch as long as a step
    stretches = max(-(-shape[place] // step), count + passes - 1)
    before, after = tuple(shape[:place]), tuple(shape[place + 1 :])
    whole = xp.zeros((*before, stretches, step, *after), input.dtype)
    windows = xp.moveaxis(input, -1, place + 1)
    if not after and step < SHORT:  # runs too short to be worth a loop are taken one by one
        for n in range(size if count else 0):
            index = (*lead, slice(n // step, n // step + count), n % step)
            whole = xp.raised(whole, index, input[..., n])
        passes = 0
    for n in range(passes if count else 0):
        width = min(step, size - n * step)
        part = windows[(*lead, slice(None), slice(n * step, n * step + width))]
        whole = xp.raised(whole, (*lead, slice(n, n + count), slice(0, width)), part)
    flat = whole.reshape(*before, stretches * step, *after)
    return flat[(*lead, slice(0, shape[place]))]
