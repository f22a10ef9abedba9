"""Writing into a copy or in place: index_*, masked_scatter, put, fill and their kin."""

from typing import Any

from adjoint.call.rule import FRONT
from adjoint.dtypes import refuse_kinds
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.conversion import copy, to
from adjoint.ops.arranging.indexing import (
    as_rows,
    as_scalar,
    as_value,
    check_mask,
    gather,
    lifted,
    masked_fill,
    pick,
    put_each,
    rows_added,
    same_dtype,
    set_each,
    setitem,
    spread,
    take,
)
from adjoint.ops.arranging.scattering import scatter_reduce
from adjoint.ops.arranging.shape import basic_index, expand, reshape, unsqueeze
from adjoint.ops.arranging.strided import diagonal
from adjoint.ops.batch_rules import of_rank, with_batch
from adjoint.ops.dims import (
    along,
    broadcast_shape,
    check_index_type,
    check_positions,
    normal_dim,
    product,
)
from adjoint.ops.elementwise.selection import choose, clamp
from adjoint.ops.op import composite, linear
from adjoint.ops.reducing.cumulative import cumsum
from adjoint.tensors.changes import apply_inplace

# ---- whole slices ----


def _check_slices(
    xp: Any,
    input: Any,
    dim: int,
    index: Any,
    source: Any,
    counting: type[Exception],
    short: bool = False,
) -> int:
    """The dimension counted from the front, after refusing what index_add and _copy can't take."""
    axis = normal_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"the index must be 1-d, not {index.ndim}-d")
    check_index_type(xp, index, short=short)
    same_dtype("source", input, source)
    whole, values = lifted(input), lifted(source)
    if axis >= values.ndim or index.size != values.shape[axis]:
        raise counting(f"{index.size} indices for a source of shape {list(source.shape)}")
    if whole.ndim != values.ndim or any(
        n != m for d, (n, m) in enumerate(zip(whole.shape, values.shape)) if d != axis
    ):
        refusal = RuntimeError if whole.ndim == values.ndim else counting
        raise refusal(
            f"a source of shape {list(source.shape)} must be like the tensor, "
            f"{list(input.shape)}, apart from dimension {axis}"
        )
    return axis


def _check_rank(input: Any, source: Any) -> None:
    """Refuse a single number for a tensor of one element, or the other way round."""
    if input.ndim != source.ndim:
        raise RuntimeError(
            f"a source of {source.ndim} dimensions does not fit one of {input.ndim}; reshape it"
        )


def _slices(grad: Value, dim: int, index: Value) -> Value:
    """The slices of a gradient that an index names, also by negative numbers."""
    return pick(grad, along(dim % grad.ndim, reshape(index, (-1,)))) if grad.ndim else grad


def _filled_part(grad: Value, dim: int, index: Value) -> Value:
    """The gradient where an index names slices, each once; zeros elsewhere."""
    return choose(index_fill(fill(grad, 0), dim, index, 1) == 1, grad, 0)


def _index_of_slices(dim: int, shape: Any, index: Any, batched: bool) -> tuple[Any, list[bool]]:
    """The index of the slices that an index tensor names along dim, and which part is batched."""
    axis = dim % len(shape) if shape else 0
    single = reshape(index, (*index.shape[:batched], -1))
    return along(axis, single), [False] * axis + [batched]


def _check_source(shape: Any, dim: int, index: Any, source_shape: Any) -> None:
    expected = list(shape or (1,))
    expected[dim if shape else 0] = product(index.shape[1:])
    if list(source_shape or (1,)) != expected:
        raise RuntimeError(
            f"a source of shape {list(source_shape)} for slices of shape {expected} in each "
            "element of the batch"
        )


def _added_slices_each(
    input_each: Any,
    input_shape: Any,
    dim: int,
    index: Any,
    index_batched: bool,
    source_each: Any,
    source_shape: Any,
    alpha: Any,
) -> Any:
    rows, values = as_rows(input_each), as_rows(source_each)
    if not index_batched:
        added = index_add.run([rows, dim if input_shape else -1, index, values, alpha])
    else:
        _check_source(input_shape, dim, index, source_shape)
        places, flags = _index_of_slices(dim, input_shape, index, True)
        names = [None if isinstance(part, slice) else part for part in places]
        values = values if alpha == 1 else values * alpha
        added = put_each(rows, input_shape or (1,), names, flags, values, True, True)
    return added if input_shape else reshape(added, input_each.shape)


def _written_slices_each(
    input_each: Any,
    input_shape: Any,
    dim: int,
    index: Any,
    index_batched: bool,
    source_each: Any,
    source_shape: Any,
) -> Any:
    rows, values = as_rows(input_each), as_rows(source_each)
    if not index_batched:
        written = index_copy.run([rows, dim if input_shape else -1, index, values])
    else:
        same_dtype("source", input_each, source_each)
        _check_source(input_shape, dim, index, source_shape)
        places, flags = _index_of_slices(dim, input_shape, index, True)
        written = set_each(rows, input_shape or (1,), places, flags, values, True)
    return written if input_shape else reshape(written, input_each.shape)


def _filled_slices_each(
    input_each: Any,
    input_shape: Any,
    dim: int,
    index: Any,
    index_batched: bool,
    value: Any,
    value_batched: bool,
) -> Any:
    places, flags = _index_of_slices(dim, input_shape, index, index_batched)
    rows, shape = as_rows(input_each), input_shape or (1,)
    filled = set_each(rows, shape, places, flags, value, value_batched)
    return filled if input_shape else reshape(filled, input_each.shape)


@linear(
    input=lambda grad: grad,
    vmap=_added_slices_each,
    source=lambda grad, dim, index, source_shape, alpha: (
        reshape(_slices(grad, dim, index), source_shape) * alpha
    ),
    inplace=True,
    exact_out=True,
    apart="index source",
)
def index_add(
    xp: Any, input: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1
) -> Array:
    """input with alpha times the slices of source added where index names along dim."""
    axis = _check_slices(xp, input, dim, index, source, RuntimeError, short=True)
    _check_rank(input, source)
    whole, values = lifted(input), lifted(source)
    check_positions(xp, index, whole.shape[axis], RuntimeError if whole.ndim > 1 else IndexError)
    if alpha != 1:
        values = values * as_value(xp, alpha, input.dtype)
    if axis == 0 < whole.ndim - 1:
        return rows_added(xp, whole, whole.shape[0], index.reshape(-1), values)
    wide = index.reshape((1,) * axis + (-1,) + (1,) * (whole.ndim - axis - 1))
    chosen = xp.broadcast_to(wide, values.shape)
    return xp.combined_along("add", whole, chosen, values, axis).reshape(input.shape)


@linear(
    input=lambda grad, dim, index: index_fill(grad, dim, index, 0),
    source=lambda grad, dim, index, source_shape: reshape(_slices(grad, dim, index), source_shape),
    vmap=_written_slices_each,
    inplace=True,
    exact_out=True,
    ordered=True,
    apart="index source",
    autocast="widest",
)
def index_copy(xp: Any, input: Array, dim: int, index: Array, source: Array) -> Array:
    """input with the slices of source where index names along dim."""
    axis = _check_slices(xp, input, dim, index, source, IndexError)
    whole = lifted(input)
    check_positions(xp, index, whole.shape[axis], IndexError)
    return xp.updated(whole, along(axis, lifted(index)), lifted(source)).reshape(input.shape)


def _check_flat(index: Any) -> None:
    if index.ndim > 1:
        raise RuntimeError(f"the index must be 1-d, not {index.ndim}-d")


def _number_of_slices(xp: Any, index: Any, value: Any, kind: Any) -> Any:
    """The number that slices are filled with, after refusing another kind of index."""
    check_index_type(xp, index, IndexError)
    held = getattr(value, "dtype", kind).kind in "cW" or isinstance(value, complex)
    if kind.kind not in "cW" and held:
        raise RuntimeError(f"index_fill(): a complex number can't be written into one of {kind}")
    return as_scalar(xp, value, kind)


def _fill_slices(xp: Any, array: Any, dim: int, index: Any, value: Any) -> None:
    axis = normal_dim(dim, array.ndim)
    _check_flat(index)
    lifted(array)[along(axis, lifted(index))] = _number_of_slices(xp, index, value, array.dtype)


@linear(
    input=lambda grad, dim, index: index_fill(grad, dim, index, 0),
    value=lambda grad, dim, index: _filled_part(grad, dim, index),
    vmap=_filled_slices_each,
    inplace=True,
    apart="index",
    rewrites=True,
    mutate=_fill_slices,
    numbers_without_edge=("value",),
)
def index_fill(xp: Any, input: Array, dim: int, index: Array, value: Operand) -> Array:
    """input with value in the slices that index names along dim."""
    axis = normal_dim(dim, input.ndim)
    _check_flat(index)
    number = _number_of_slices(xp, index, value, input.dtype)
    return xp.updated(lifted(input), along(axis, lifted(index)), number).reshape(input.shape)


@composite(exact_out=True)
def index_reduce(
    input: Value, dim: int, index: Value, source: Value, reduce: str, *, include_self: bool = True
) -> Value:
    """input with the slices of source taken in by prod, mean, amax or amin where index names."""
    refuse_kinds("index_reduce", input, "bc")
    wide = _wide_index(input, dim, index, source)
    return scatter_reduce(input, dim, wide, source, reduce, include_self=include_self)


@composite(home="Tensor")
def index_reduce_(
    input: Value, dim: int, index: Value, source: Value, reduce: str, *, include_self: bool = True
) -> Value:
    """The in-place form of index_reduce."""
    wide = _wide_index(input, dim, index, source)
    return apply_inplace(scatter_reduce, [input, dim, wide, source, reduce, include_self])


def _wide_index(input: Any, dim: int, index: Any, source: Any) -> Any:
    """An index of slices as one of their elements."""
    axis, shape = normal_dim(dim, input.ndim), tuple(source.shape)
    if input.ndim + source.ndim == 1:
        _check_rank(input, source)
    if not shape and index.numel() == 1:
        return reshape(index, ())
    if index.ndim > 1 or not shape or index.numel() != shape[axis]:
        raise IndexError(
            f"index_reduce(): an index of shape {list(index.shape)} does not fit a source of shape "
            f"{list(shape)}"
        )
    if len(shape) - axis == 2:  # the commonest, and by a shorter way
        return expand(unsqueeze(index, -1), shape)
    return expand(reshape(index, [-1 if d == axis else 1 for d in range(len(shape))]), shape)


# ---- by mask and by flat position ----


def _ranks_each(mask: Any, size: int) -> Any:
    """For each place of the mask of each element, as a row, how many before it are True."""
    rows = reshape(mask, (mask.shape[0], product(mask.shape[1:])))
    return clamp(cumsum(rows, -1) - 1, 0, max(size - 1, 0))


def _dealt_each(input_each: Any, mask_each: Any) -> Any:
    size, *shape = input_each.shape
    count = product(shape)
    if not count:
        return to(mask_each, input_each.dtype) * 0
    dealt = gather(reshape(input_each, (size, count)), -1, _ranks_each(mask_each, count))
    return choose(mask_each, reshape(dealt, mask_each.shape), 0)


def _collected_each(
    input: Any, input_batched: bool, mask: Any, mask_batched: bool, shape: Any, batch_size: int
) -> Any:
    size, count = batch_size, product(shape)
    rank = max(input.ndim - input_batched, mask.ndim - mask_batched)
    mask = of_rank(mask, mask_batched, rank)
    chosen = choose(mask, of_rank(input, input_batched, rank), 0)
    ranks = _ranks_each(expand(mask, chosen.shape), count)
    total = spread(reshape(chosen, ranks.shape), (size, max(count, 1)), -1, ranks)
    return reshape(basic_index(total, (slice(None), slice(0, count))), (size, *shape))


def _masked_scatter_each(
    input: Any,
    input_batched: bool,
    input_shape: Any,
    mask: Any,
    mask_batched: bool,
    mask_shape: Any,
    source_each: Any,
    batch_size: int,
) -> Any:
    check_mask(mask)
    same_dtype("source", input, source_each)
    shape = (batch_size, *broadcast_shape(input_shape, mask_shape))
    rank = len(shape) - 1
    mask = expand(of_rank(mask, mask_batched, rank), shape)
    dealt = _dealt_each(source_each, mask)
    return choose(mask, dealt, of_rank(input, input_batched, rank))


@linear(
    input=lambda grad, input_shape, mask: masked_collect(grad, mask, input_shape),
    vmap=_dealt_each,
    node_name="MaskedScatterBackward0",
    home=None,
)
def masked_deal(xp: Any, input: Array, mask: Array) -> Array:
    """The elements of input, in order, where mask is True; zeros elsewhere."""
    if not input.size:
        return xp.zeros(mask.shape, input.dtype)
    return xp.dealt(xp.zeros((), input.dtype), mask, input)


@linear(
    input=lambda grad, mask: masked_deal(grad, mask),
    vmap=_collected_each,
    node_name="MaskedScatterBackward0",
    home=None,
)
def masked_collect(xp: Any, input: Array, mask: Array, shape: Any) -> Array:
    """The elements where mask is True, in order, in an array of `shape`, then zeros."""
    size = product(shape)
    if not size:
        return xp.zeros(tuple(shape), input.dtype)
    input, mask = xp.broadcast_arrays(input, mask)
    return xp.collected(input, mask, size).reshape(tuple(shape))


def _collected(grad: Value, mask: Any, shape: Any) -> Value:
    return masked_collect(grad, expand(mask, tuple(grad.shape)), shape)


@linear(
    input=lambda grad, mask: masked_fill(grad, mask, 0),
    source=lambda grad, mask, source_shape: _collected(grad, mask, source_shape),
    vmap=_masked_scatter_each,
    inplace=True,
)
def masked_scatter(xp: Any, input: Array, mask: Array, source: Array) -> Array:
    """input with the elements of source, in order, where mask is True."""
    check_mask(mask)
    same_dtype("source", input, source)
    shape = broadcast_shape(input.shape, mask.shape)
    wide = xp.broadcast_to(mask, shape)
    if xp.readable() and int(wide.sum()) > source.size:
        raise RuntimeError(
            f"the mask takes {int(wide.sum())} elements, the source has {source.size}"
        )
    if not source.size:
        return xp.array(xp.broadcast_to(input, shape))
    return xp.dealt(input, wide, source)


def _put_input(grad: Value, index: Value, accumulate: bool) -> Value:
    if accumulate:
        return grad
    return reshape(setitem(reshape(grad, (-1,)), (index,), 0), tuple(grad.shape))


def _put_in_each(
    input_each: Any,
    input_shape: Any,
    index: Any,
    index_batched: bool,
    source: Any,
    source_batched: bool,
    accumulate: bool,
    batch_size: int,
) -> Any:
    count = product(input_shape)
    flat = reshape(input_each, (batch_size, count))
    places = reshape(index, (*index.shape[:index_batched], -1))
    values = reshape(source, (*source.shape[:source_batched], -1))
    written = put_each(
        flat, (count,), [places], [index_batched], values, source_batched, accumulate
    )
    return reshape(written, input_each.shape)


@linear(
    input=lambda grad, index, accumulate: _put_input(grad, index, accumulate),
    vmap=_put_in_each,
    source=lambda grad, index, source_shape: reshape(take(grad, index), source_shape),
    inplace=True,
    apart="index source",
)
def put(xp: Any, input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """input with source written, or added, where index names in the flattened tensor."""
    same_dtype("source", input, source)
    check_index_type(xp, index)
    if index.size != source.size:
        raise IndexError(f"{index.size} indices for a source of {source.size} elements")
    change = xp.added_at if accumulate else xp.updated
    flat = change(input.reshape(-1), index.reshape(-1), source.reshape(-1))
    return flat.reshape(input.shape)


# ---- everywhere, or a part ----


def _fill_memory(xp: Any, array: Any, value: Any) -> None:
    array[...] = as_scalar(xp, value, array.dtype)


def _filled_each(
    input: Any,
    input_batched: bool,
    input_shape: Any,
    value: Any,
    value_batched: bool,
    value_shape: Any,
) -> Any:
    if value_shape:
        raise RuntimeError(f"the value must be a number or a 0-d tensor, not {len(value_shape)}-d")
    if not value_batched:
        return fill(input, value)
    whole = with_batch(input, input_batched, value.shape[0])
    return copy(whole, of_rank(value, True, len(input_shape)))


@linear(
    input=lambda grad: fill(grad, 0),
    vmap=_filled_each,
    value=lambda grad: grad,
    mutate=_fill_memory,
    inplace="function",
    constant=True,
)
def fill(xp: Any, input: Array, value: Operand) -> Array:
    """A tensor like input with value everywhere."""
    return xp.array(xp.broadcast_to(as_scalar(xp, value, input.dtype), input.shape))


def _zero_memory(xp: Any, array: Any) -> None:
    array[...] = 0


@linear(
    input=lambda grad: zero(grad),
    mutate=_zero_memory,
    inplace="function",
    constant=True,
    home="Tensor",
    batching=FRONT,
)
def zero(xp: Any, input: Array) -> Array:
    """A tensor like input with zeros everywhere."""
    return xp.zeros(input.shape, input.dtype)


def _on_diagonal(grad: Value, wrap: bool) -> Value:
    return grad - fill_diagonal(grad, 0, wrap)


def _diagonal_places(shape: Any, wrap: bool) -> slice:
    """Where the main diagonal lies in a flattened tensor."""
    if len(shape) < 2:
        raise RuntimeError("a diagonal needs at least 2 dimensions")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError(f"all dimensions must be of equal length, got {list(shape)}")
    step = sum(product(shape[d + 1 :]) for d in range(len(shape)))
    end = product(shape) if wrap else min(shape) * step
    return slice(0, min(end, product(shape)), step)


def _diagonal_filled_each(
    input: Any, input_shape: Any, fill_value: Any, fill_value_batched: bool, wrap: bool
) -> Any:
    size = input.shape[0]
    flat = reshape(input, (size, product(input_shape)))
    value = reshape(fill_value, (size, 1)) if fill_value_batched else fill_value
    filled = setitem(flat, (slice(None), _diagonal_places(input_shape, wrap)), value)
    return reshape(filled, (size, *input_shape))


@linear(
    input=lambda grad, wrap: fill_diagonal(grad, 0, wrap),
    vmap=_diagonal_filled_each,
    fill_value=lambda grad, wrap: _on_diagonal(grad, wrap),
    inplace=True,
    home="Tensor",
)
def fill_diagonal(xp: Any, input: Array, fill_value: complex, wrap: bool = False) -> Array:
    """input with a value on its main diagonal; wrap starts it again below a tall matrix's end."""
    places = _diagonal_places(input.shape, wrap)
    return xp.updated(input.reshape(-1), (places,), as_scalar(xp, fill_value, input.dtype)).reshape(
        input.shape
    )


def _embedded(name: str, input: Any, index: tuple[Any, ...], src: Any) -> Any:
    """input with src, which must have just that shape, at a basic index."""
    shape = tuple(basic_index(input, index).shape)
    if shape != tuple(src.shape):
        raise RuntimeError(
            f"{name}(): expected src of the shape of the slice, {list(shape)}, got "
            f"{list(src.shape)}"
        )
    return setitem(input, index, src)


@composite
def select_scatter(input: Value, src: Value, dim: int, index: int) -> Value:
    """A copy of input with src at one index along dim."""
    return _embedded("select_scatter", input, along(normal_dim(dim, input.ndim), index), src)


@composite(exact_out=True)
def slice_scatter(
    input: Value, src: Value, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Value:
    """A copy of input with src in a slice along dim."""
    part = along(normal_dim(dim, input.ndim), slice(start, end, step))
    return _embedded("slice_scatter", input, part, src)


@linear(
    input=lambda grad, offset, dim1, dim2: diagonal_scatter(
        grad, zero(diagonal(grad, offset, dim1, dim2)), offset, dim1, dim2
    ),
    src=lambda grad, offset, dim1, dim2: diagonal(grad, offset, dim1, dim2),
    batching=FRONT,
)
def diagonal_scatter(
    xp: Any, input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    """A copy of input with src on a diagonal."""
    first, second = normal_dim(dim1, input.ndim), normal_dim(dim2, input.ndim)
    expected = xp.diagonal(input, offset, first, second).shape
    if expected != src.shape:
        raise RuntimeError(f"expected src of shape {list(expected)}, got {list(src.shape)}")
    moved = xp.array(xp.moveaxis(input, (first, second), (-2, -1)))
    changed = xp.with_diagonal(moved, src.astype(input.dtype), offset)
    return xp.moveaxis(changed, (-2, -1), (first, second))
