"""Indexing: x[...] and x[...] = value, by position, slice, mask and index tensor.

An index is first made plain: a tuple of ints, slices, None, Ellipsis, bools, arrays and lists. Its
ints and slices are a view; arrays, masks and lists then pick elements of that view, so that (as
in PyTorch, and not in NumPy) an int next to an index tensor does not change where dimensions go.
"""

from collections.abc import Sequence
from typing import Any

from adjoint.backends import is_array
from adjoint.call.arguments import holds_complex
from adjoint.call.half_precision import cast, wide as in_single
from adjoint.dtypes import BOOL, as_real, category_of, fitted_integer
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.batched_index import EachIndex, flags_of
from adjoint.ops.arranging.conversion import contiguous, is_contiguous, is_index, stride, to
from adjoint.ops.arranging.index_parts import (
    check_part,
    consumed,
    divide,
    is_basic,
    is_plain_slice,
    is_whole,
    nearby,
    one_ellipsis,
    plain_index,
)
from adjoint.ops.arranging.picked_order import picked
from adjoint.ops.arranging.shape import basic_index, basic_place, expand, flatten, reshape, select
from adjoint.ops.batch_rules import of_rank, refusal
from adjoint.ops.dims import (
    along,
    broadcast_shape,
    check_index_type,
    check_positions,
    normal_dim,
    product,
)
from adjoint.ops.elementwise.selection import choose
from adjoint.ops.op import composite, linear
from adjoint.tensors.changes import apply_inplace
from adjoint.tensors.memory import same_memory
from adjoint.tensors.tensor import Tensor

# ---- reading ----


@composite(home=None)
def getitem(input: Value, index: Any) -> Value:
    """input[index]: a view by ints, slices, None and Ellipsis, else a copy."""
    if type(index) is slice and is_plain_slice(index) and input.ndim:
        return basic_index(input, (index,))  # by far the most common, so without further ado
    parts = plain_index(index)
    if len(parts) == 1 and type(parts[0]) is int:
        return select(input, 0, parts[0])
    if is_basic(parts):
        return basic_index(input, one_ellipsis(parts, input.ndim))
    return pick(input, nearby(input, one_ellipsis(parts, input.ndim)))


def _picked_each(
    input: Any,
    input_batched: bool,
    input_shape: Any,
    index: Any,
    index_batched: Any,
    batch_size: int,
) -> Any:
    flags = flags_of(index, index_batched)
    each = EachIndex(index, flags, input_shape, batch_size, input_batched)
    return each.to_front(pick(each.viewed(input), each.picks))


@linear(
    input=lambda grad, input_shape, index: place(grad, input_shape, index),
    vmap=_picked_each,
    node_name="IndexBackward0",
    saved_as={"index": "indices"},
    home=None,
)
def pick(xp: Any, input: Array, index: Any) -> Array:
    """A copy of what a plain index with arrays, masks or lists names."""
    basic, picks = divide(xp, input.shape, index)
    return picked(xp, input if is_whole(basic) else xp.indexed(input, basic), picks)


def _added(xp: Any, array: Any, picks: tuple[Any, ...], values: Any) -> Any:
    """array with values added at the places that picks names, repeated places counted."""
    if not xp.valued():
        return xp.added_at(array, picks, values)
    if len(picks) == 1 and _is_mask(picks[0]):  # which names no place twice
        return xp.updated(array, picks, xp.picked(array, picks) + values)
    # One flat index over the leading dimensions is the fastest way to add where places repeat.
    depth = sum(consumed(part) for part in picks)
    lead, rest = array.shape[:depth], array.shape[depth:]
    places = _places(xp, picks, lead)
    values = xp.broadcast_to(values, (*places.shape, *rest)).reshape(-1)
    if rest:
        return rows_added(xp, array, product(lead), places.reshape(-1), values)
    flat = xp.added_at(array.reshape(-1), places.reshape(-1), values)
    return flat.reshape(array.shape)


def _places(xp: Any, picks: tuple[Any, ...], lead: Any) -> Any:
    """Where an index names places in dimensions that are flattened."""
    if len(picks) == len(lead) == 1 and hasattr(picks[0], "dtype"):
        if xp.are_indices(picks[0]) and xp.all_below(picks[0], lead[0]):
            return picks[0]
    parts: list[Any] = []
    for pick in picks:
        sizes = tuple(lead[len(parts) : len(parts) + consumed(pick)])
        if not hasattr(pick, "dtype") or (_is_mask(pick) and pick.shape != sizes):
            return xp.asarray(xp.arange(product(lead)).reshape(lead)[picks])
        parts.extend(xp.nonzero(pick) if _is_mask(pick) and pick.ndim else [pick])
    total: Any = 0
    for part, size in zip(parts, lead, strict=True):
        counted = xp.where(part < 0, part + size, part)
        counted = counted if xp.are_indices(counted) else counted.astype("int64")
        check_positions(xp, counted, size, IndexError)
        total = total * size + counted
    return total


def rows_added(xp: Any, array: Any, count: int, places: Any, values: Any) -> Any:
    """An array seen as `count` rows, with the rows of values added at places that may repeat."""
    if not array.size:
        return xp.array(array)
    rows = values.reshape(len(places), array.size // count)
    return xp.rows_added(array.reshape(count, -1), places, rows).reshape(array.shape)


def _placed_each(
    input_each: Any, shape: Any, index: Any, index_batched: Any, batch_size: int
) -> Any:
    each = EachIndex(index, flags_of(index, index_batched), shape, batch_size, True)
    placed = place(each.to_place(input_each, True), each.viewed_shape(), each.picks)
    whole = (batch_size, *shape)
    return placed if is_whole(each.view) else basic_place(placed, whole, each.basic())


@linear(
    input=lambda grad, index: pick(grad, index),
    vmap=_placed_each,
    node_name="IndexBackward0",
    home=None,
)
def place(xp: Any, input: Array, shape: Any, index: Any) -> Array:
    """Zeros of `shape` with input added where a plain index names: the gradient of pick."""
    basic, picks = divide(xp, shape, index)
    zeros = xp.zeros(tuple(shape), input.dtype)
    if is_whole(basic):
        if len(picks) == 1 and _is_mask(picks[0]) and xp.valued():
            return xp.placed(zeros, picks, input)
        return _added(xp, zeros, picks, input)
    return xp.updated(zeros, basic, _added(xp, zeros[basic], picks, input))


# ---- writing ----


def as_value(xp: Any, value: Any, kind: Any) -> Any:
    """A number or array as an array of the data type it is written into."""
    if value is None or isinstance(value, str):
        raise TypeError(f"the value must be a number or a Tensor, not {value!r}")
    if isinstance(value, complex) and kind.kind not in "cWb":
        value = as_real(value)
    if isinstance(value, complex) and kind.kind not in "cWb":
        raise RuntimeError(f"a complex number can't be written into a tensor of {kind}")
    if type(value) in (int, float) and kind.kind in "iu":
        value = fitted_integer(value, kind)
    array = xp.asarray(value)
    if array.dtype == kind:
        return array
    lost = holds_complex(array) and kind.kind not in "cWb"
    return (xp.real(array) if lost else array).astype(kind)


def as_scalar(xp: Any, value: Any, kind: Any) -> Any:
    """A number or 0-d array to fill an array of this data type with."""
    if getattr(value, "dtype", kind).kind in "cW" and kind.kind not in "cWb":
        if xp.readable() and not xp.imag(value).any():
            return as_scalar(xp, xp.real(value), kind)
        raise RuntimeError(f"a complex number can't be written into a tensor of {kind}")
    number = as_value(xp, value, kind)
    if number.ndim:
        raise RuntimeError(f"the value must be a number or a 0-d tensor, not {number.ndim}-d")
    return number


def _fitted(value: Any) -> Any:
    """A value without leading dimensions of size 1, which may be more than the target has."""
    lead = 0
    while lead < value.ndim and value.shape[lead] == 1:
        lead += 1
    return value.reshape(value.shape[lead:])


def of_value(grad: Value, shape: Any) -> Value:
    """The gradient of what was written, with the leading dimensions of size 1 it had."""
    extra = len(shape) - grad.ndim
    return reshape(grad, (1,) * extra + tuple(grad.shape)) if extra > 0 else grad


def _write(xp: Any, array: Any, index: Any, value: Any) -> None:
    """The in-place form of setitem for arrays that can be changed."""
    basic, picks = divide(xp, array.shape, index)
    shown = array[(*basic, Ellipsis)]
    shown[picks or ...] = _fitted(as_value(xp, value, array.dtype))


def _marked(index: Any, flags: list[bool]) -> Any:
    """The batched mask that an index consists of; None if it is another."""
    if len(index) == 1 and flags[0] and index[0].dtype.kind == "b":
        return index[0]
    return None


def _masked_each(input: Any, rank: int, mask: Any, value: Any, value_batched: bool) -> Any:
    """Each element with a value that is the same wherever its own mask is True."""
    rest = rank + 1 - mask.ndim
    if isinstance(value, Tensor):
        own = value.shape[value_batched:]
        if len(own) > rest and any(n != 1 for n in own[: len(own) - rest]):
            raise refusal(
                "indexing with a mask", "use where() to write what differs from place to place"
            )
        lead = value.shape[:value_batched]
        value = reshape(value, (*lead, *own[max(len(own) - rest, 0) :]))
        value = to(of_rank(value, value_batched, rank), input.dtype)
    return choose(reshape(mask, (*mask.shape, *(1,) * rest)), value, input)


def set_each(
    input_each: Any,
    input_shape: Any,
    index: Any,
    index_batched: Any,
    value: Any,
    value_batched: bool,
) -> Any:
    """Each element with a value at an index."""
    flags = flags_of(index, index_batched)
    mask = _marked(index, flags)
    if mask is not None:
        return _masked_each(input_each, len(input_shape), mask, value, value_batched)
    each = EachIndex(index, flags, input_shape, input_each.shape[0], True)
    if isinstance(value, Tensor):
        value = each.to_place(value, value_batched)
    written = setitem(each.viewed(input_each), each.picks, value)
    return written if is_whole(each.view) else setitem(input_each, each.basic(), written)


@linear(
    input=lambda grad, index: setitem(grad, index, 0),
    value=lambda grad, index, value_shape: of_value(getitem(grad, index), value_shape),
    vmap=set_each,
    mutate=_write,
    node_name="IndexPutBackward0",
    home=None,
    apart="index value",
    rewrites=True,
)
def setitem(xp: Any, input: Array, index: Any, value: Operand) -> Array:
    """A copy of input with value at a plain index."""
    basic, picks = divide(xp, input.shape, index)
    value = _fitted(as_value(xp, value, input.dtype))
    if all(isinstance(part, slice) for part in picks):
        return xp.updated(input, basic, value)
    if is_whole(basic):
        return xp.updated(input, picks, value)
    return xp.updated(input, basic, xp.updated(input[basic], picks, value))


@composite(home=None)
def setitem_(input: Value, index: Any, value: Operand) -> Value:
    """input[index] = value, in place."""
    if not isinstance(value, (Tensor, bool, int, float, complex)) and not is_array(value):
        raise TypeError(
            f"can't assign a {type(value).__name__} to a tensor; make it a tensor first"
        )
    if input.layer is not None and input.layer.sparse:
        raise TypeError(
            "can't assign to elements of a sparse tensor: convert it with to_dense() first, or "
            "make a new one of indices and values"
        )
    parts = nearby(input, one_ellipsis(plain_index(index), input.ndim))
    _check_numbers(input.shape, parts)
    if isinstance(value, Tensor) and not is_basic(parts):
        _check_type("value", input, parts, value)
    shared = isinstance(value, Tensor) and same_memory(input, value)
    if is_basic(parts) and (shared or (not is_contiguous(input) and 0 in stride(input))):
        shown = basic_index(input, parts)  # the places written may be distinct all the same
        if shared and value.shape != shown.shape:
            if value.ndim > shown.ndim:
                value = reshape(value, value.shape[value.ndim - shown.ndim :])
            value = expand(value, shown.shape)
        shown.copy_(value)
        return input
    if shared and value.numel() == 1 and _is_one_mask(parts):
        value = value.clone()
    return apply_inplace(setitem, [input, parts, value])


def _check_type(name: str, input: Any, parts: tuple[Any, ...], value: Any) -> None:
    """Refuse a value of another data type, but for one number at a mask: PyTorch casts that."""
    if len(parts) == 1 and isinstance(parts[0], bool):
        return
    if input.dtype == value.dtype:
        return
    if product(value.shape) != 1 or not _is_one_mask(parts):
        same_dtype(name, input, value)
    elif holds_complex(value) and not holds_complex(input) and not _is_mask(input):
        raise RuntimeError(
            f"{name} of {value.dtype} can't be a number for a tensor of {input.dtype}: take its "
            "real part first"
        )


def _is_one_mask(parts: tuple[Any, ...]) -> bool:
    """Whether an index is a mask, with whole dimensions beside it."""
    masks = [part for part in parts if part is not Ellipsis and not _is_whole(part)]
    return len(masks) == 1 and _is_mask(masks[0])


def _is_whole(part: Any) -> bool:
    return isinstance(part, slice) and part == slice(None)


def _is_mask(part: Any) -> bool:
    return hasattr(part, "dtype") and category_of(part.dtype) == BOOL


def _check_numbers(shape: Any, index: tuple[Any, ...]) -> None:
    """Refuse ints out of range, before it is asked whether the tensor may be changed at all."""
    taken = sum(consumed(part) for part in index)
    if taken > len(shape):
        raise IndexError(f"too many indices for a tensor of dimension {len(shape)}")
    dim = 0
    for part in index:
        if type(part) is int and not -shape[dim] <= part < shape[dim]:
            raise IndexError(
                f"index {part} is out of bounds for dimension {dim} with size {shape[dim]}"
            )
        dim += len(shape) - taken if part is Ellipsis else consumed(part)


def same_dtype(name: str, input: Any, source: Any) -> None:
    """Refuse a source of another data type, which PyTorch does not cast either."""
    if not hasattr(source, "dtype"):
        raise TypeError(f"{name} must be a tensor, not {type(source).__name__}")
    if input.dtype != source.dtype:
        raise RuntimeError(f"{name} of {source.dtype} for a tensor of {input.dtype}; cast it first")


def _by_dimension(indices: Any) -> tuple[Any, ...]:
    """The index that a sequence of index tensors means: None stands for a whole dimension."""
    for part in indices:
        if part is not None:
            check_part(part)
    return tuple([slice(None) if part is None else part for part in indices])


_FEW = 8  # there are so many times as many places as an index names, or more


def _added_to_few(xp: Any, array: Any, indices: Any, values: Any) -> bool:
    """Whether values were added in place since the index names few of the places there are."""
    picks = divide(xp, array.shape, _by_dimension(indices))[1]
    depth = sum(consumed(part) for part in picks)
    lead, rest = array.shape[:depth], array.shape[depth:]
    plain = all(hasattr(part, "dtype") and not _is_mask(part) for part in picks)
    if not plain or 0 in array.strides or _FEW * sum(part.size for part in picks) > product(lead):
        return False
    places = _places(xp, picks, lead)
    if _FEW * places.size > product(lead):
        return False
    same_dtype("values", array, values)
    named, numbers = xp.unique(places.reshape(-1), return_inverse=True)
    steps = [product(lead[dim + 1 :]) for dim in range(depth)]
    index = tuple([named // step % size for step, size in zip(steps, lead)])
    wide = xp.broadcast_to(values, (*places.shape, *rest)).reshape(-1)
    array[index] = rows_added(xp, array[index], len(named), numbers.reshape(-1), wide)
    return True


def _accumulate_or_write(
    xp: Any, array: Any, indices: Any, values: Any, accumulate: bool = False
) -> None:
    if accumulate and _added_to_few(xp, array, indices, values):
        return
    if accumulate:
        seen_twice = [d for d, n in enumerate(array.shape) if n > 1 and not array.strides[d]]
        added = index_put.forward(xp, array, indices, values, True)
        if seen_twice:
            once = array[tuple([slice(1 if d in seen_twice else None) for d in range(array.ndim)])]
            array = once
            added = once + xp.sum(added - once, axis=tuple(seen_twice), keepdims=True)
        array[...] = added
    else:
        index = _by_dimension(indices)
        _check_type("values", array, index, values)
        _write(xp, array, index, values)


def put_each(
    input_each: Any,
    input_shape: Any,
    indices: Any,
    indices_batched: Any,
    values: Any,
    values_batched: bool,
    accumulate: bool,
) -> Any:
    """Each element with values written, or added, where index tensors name."""
    index, flags = _by_dimension(indices), flags_of(indices, indices_batched)
    if accumulate or _marked(index, flags) is None:
        same_dtype("values", input_each, values)
    mask = _marked(index, flags)
    if mask is not None:
        rank = len(input_shape)
        values = input_each + of_rank(values, values_batched, rank) if accumulate else values
        return _masked_each(input_each, rank, mask, values, accumulate or values_batched)
    each = EachIndex(index, flags, input_shape, input_each.shape[0], True)
    names = [None if isinstance(part, slice) else part for part in each.picks]
    return index_put(input_each, names, each.to_place(values, values_batched), accumulate)


@linear(
    input=lambda grad, indices, accumulate: (
        grad if accumulate else setitem(grad, _by_dimension(indices), 0)
    ),
    values=lambda grad, indices, values_shape: of_value(
        getitem(grad, _by_dimension(indices)), values_shape
    ),
    vmap=put_each,
    mutate=_accumulate_or_write,
    inplace="function",
    apart="indices values",
    rewrites=True,
)
def index_put(
    xp: Any, input: Array, indices: Sequence[Array], values: Array, accumulate: bool = False
) -> Array:
    """input with values written, or added, where the tensors of indices name."""
    if not accumulate:
        index = _by_dimension(indices)
        _check_type("values", input, index, values)
        return setitem.forward(xp, input, index, values)
    same_dtype("values", input, values)
    picks = divide(xp, input.shape, _by_dimension(indices))[1]
    return _added(xp, input, picks, values)


# ---- along one dimension ----


def lifted(array: Any) -> Any:
    """A 0-d array as one of one element, which is how these ops see it."""
    return array.reshape(1) if array.ndim == 0 else array


def check_index(xp: Any, whole: Any, dim: int, index: Any, source: Any = None) -> None:
    """Refuse an index tensor that does not fit the tensor, or the source of what is written."""
    check_index_type(xp, index, short=True)
    for other in (whole, source):
        if other is not None and index.ndim != other.ndim:
            raise RuntimeError(
                f"the index tensor must have as many dimensions as the others, {other.ndim}, but "
                f"has {index.ndim}"
            )
    for d, n in enumerate(index.shape):
        if (d != dim and n > whole.shape[d]) or (source is not None and n > source.shape[d]):
            raise RuntimeError(
                f"an index of shape {list(index.shape)} must be no larger than the tensor, "
                f"{list(whole.shape)}, apart from dimension {dim}"
                + ("" if source is None else f", and than the source, {list(source.shape)}")
            )


def _gathered_each(
    input: Any,
    input_batched: bool,
    input_shape: Any,
    input_each: Any,
    dim: int,
    index_each: Any,
    index_shape: Any,
) -> Any:
    # Nothing is repeated for each element; an index without elements may be of any type.
    if not input_batched and len(input_shape) == 1 and index_each.numel():
        return pick(input, (index_each,))
    found = gather(as_rows(input_each), _dim_of_rows(dim, input_shape), as_rows(index_each))
    return found if index_shape else reshape(found, index_each.shape)


def as_rows(value: Any) -> Any:
    """Elements with the batch in front of them, single numbers as rows of one."""
    return value if value.ndim > 1 else reshape(value, (*value.shape, 1))


def _dim_of_rows(dim: int, shape: Any) -> int:
    return dim if shape else -1


@linear(
    input=lambda grad, input_shape, dim, index: spread(grad, input_shape, dim, index),
    vmap=_gathered_each,
    exact_out=True,
    apart="input",
)
def gather(xp: Any, input: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    """The elements that index names along dim, one for each of its elements."""
    axis = normal_dim(dim, input.ndim)
    if not index.size:
        return xp.zeros(index.shape, input.dtype)
    whole, chosen = lifted(input), lifted(index)
    check_index(xp, whole, axis, chosen)
    check_positions(xp, chosen, whole.shape[axis])
    return xp.picked_along(whole, chosen, axis).reshape(index.shape)


def _spread_each(input_each: Any, shape: Any, dim: int, index_each: Any, batch_size: int) -> Any:
    rows = (batch_size, *(shape or (1,)))
    found = spread(as_rows(input_each), rows, _dim_of_rows(dim, shape), as_rows(index_each))
    return found if shape else reshape(found, (batch_size,))


@linear(
    input=lambda grad, dim, index: gather(grad, dim, index),
    vmap=_spread_each,
    node_name="GatherBackward0",
    home=None,
)
def spread(xp: Any, input: Array, shape: Any, dim: int, index: Array) -> Array:
    """Zeros of `shape` with input added where index names along dim: the gradient of gather."""
    sizes, axis = tuple(shape), normal_dim(dim, len(shape))
    fills = input.shape == index.shape == _replaced(sizes, axis, index.shape)
    if not fills or not len(sizes) == index.ndim > 0 or not index.size:
        return _scatter_added(xp, xp.zeros(sizes, input.dtype), dim, index, input)
    check_positions(xp, index, sizes[axis])
    # Without a copy of the zeros.
    return in_type(xp.added_along(in_single(input), index, axis, sizes[axis]), input.dtype)


def _replaced(sizes: Any, axis: int, others: Any) -> Any:
    """Sizes, with that of others along an axis."""
    return (*sizes[:axis], *others[axis : axis + 1], *sizes[axis + 1 :])


def _scatter_added(xp: Any, input: Any, dim: int, index: Any, src: Any) -> Any:
    axis = normal_dim(dim, input.ndim)
    if not index.size:
        return xp.array(input)
    whole, chosen, values = lifted(input), lifted(index), lifted(src)
    check_index(xp, whole, axis, chosen, values)
    check_positions(xp, chosen, whole.shape[axis])
    part = values[tuple(slice(n) for n in chosen.shape)]
    total = xp.combined_along("add", in_single(whole), chosen, in_single(part), axis)
    return in_type(total, input.dtype).reshape(input.shape)


def in_type(total: Any, kind: Any) -> Any:
    """What was gathered in a wider type in the type it should have, rounded once."""
    return total if total.dtype == kind else cast(total, kind)


def scattered_each(op: Any, shape: Any, input: Any, dim: int, *others: Any) -> Any:
    """An op that writes into its first argument along its second, a dim, for each element."""
    rows = [as_rows(value) if isinstance(value, Tensor) else value for value in others]
    written = op.run([as_rows(input), _dim_of_rows(dim, shape), *rows])
    return written if shape else reshape(written, input.shape)


def of_source(grad: Value, shape: Any) -> Value:
    """The gradient of a source of which only the corner of the index's shape was used."""
    if tuple(grad.shape) == tuple(shape):
        return grad
    return basic_place(grad, shape, tuple(slice(n) for n in grad.shape))


@linear(
    input=lambda grad: grad,
    src=lambda grad, dim, index, src_shape: of_source(gather(grad, dim, index), src_shape),
    vmap=lambda input_shape, input_each, dim, index_each, src_each: scattered_each(
        scatter_add, input_shape, input_each, dim, index_each, src_each
    ),
    inplace=True,
    exact_out=True,
    apart="index src",
)
def scatter_add(xp: Any, input: Array, dim: int, index: Array, src: Array) -> Array:
    """input with the elements of src added where index names along dim."""
    same_dtype("src", input, src)
    return _scatter_added(xp, input, dim, index, src)


def _unselected(grad: Value, shape: Any, dim: int, index: Value) -> Value:
    """The gradient of index_select; a 0-d tensor had one element to select."""
    if not len(shape):
        return reshape(grad, ())
    return place(grad, shape, along(dim % len(shape), reshape(index, (-1,))))


def _selected_each(
    input: Any,
    input_batched: bool,
    input_shape: Any,
    input_each: Any,
    dim: int,
    index: Any,
    index_batched: bool,
    index_shape: Any,
) -> Any:
    if not index_batched:
        found = index_select(as_rows(input), _dim_of_rows(dim, input_shape), index)
        return found if input_shape else reshape(found, input.shape)
    if len(index_shape) > 1:
        raise IndexError(f"the index must be 1-d, not {len(index_shape)}-d")
    size = index.shape[0]
    one = reshape(index, (size, product(index_shape)))
    if not input_shape:
        return reshape(gather(as_rows(input_each), -1, one), (size,))
    return _picked_each(
        input,
        input_batched,
        input_shape,
        along(dim % len(input_shape), one),
        [False] * (dim % len(input_shape)) + [True],
        size,
    )


@linear(
    input=lambda grad, input_shape, dim, index: _unselected(grad, input_shape, dim, index),
    vmap=_selected_each,
    exact_out=True,
    apart=True,
)
def index_select(xp: Any, input: Array, dim: int, index: Array) -> Array:
    """The slices of dimension dim that the 1-d tensor index names."""
    axis = normal_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"the index must be 1-d, not {index.ndim}-d")
    check_index_type(xp, index, short=True)
    if input.ndim == 0 and index.size != 1:
        raise RuntimeError(f"a 0-d tensor has one element to select, not {index.size}")
    length = lifted(input).shape[axis]
    error = IndexError if input.size or input.ndim < 2 else RuntimeError
    check_positions(xp, index, length, error)
    found = xp.take(lifted(input), lifted(index), axis=axis)
    return found if input.ndim else found.reshape(())


@composite(exact_out=True)
def take_along_dim(input: Value, indices: Value, dim: int | None = None) -> Value:
    """The elements that indices names along dim, the other dimensions broadcast."""
    if not is_index(indices):
        raise RuntimeError(f"take_along_dim(): indices must be of int64, got {indices.dtype}")
    if dim is None:
        input, indices, dim = flatten(input), flatten(indices), 0
    axis = normal_dim(dim, input.ndim)
    if input.ndim != indices.ndim:
        raise RuntimeError(
            f"take_along_dim(): input and indices must have the same number of dimensions, but "
            f"have {input.ndim} and {indices.ndim}"
        )
    wide = [n if m == 1 else m for n, m in zip(input.shape, indices.shape)]
    wide[axis] = -1
    counted = choose(indices < 0, indices + input.shape[axis], indices)
    return gather(expand(input, wide), axis, expand(counted, wide))


# ---- by mask ----


def check_mask(mask: Any) -> None:
    """Refuse a mask that is not bool."""
    if mask.dtype.kind != "b":
        raise RuntimeError(f"expected a mask of bool, got {mask.dtype}; compare it, e.g. mask != 0")


def _filled_each(
    input: Any,
    input_batched: bool,
    input_shape: Any,
    mask: Any,
    mask_batched: bool,
    mask_shape: Any,
    value: Any,
    value_batched: bool,
    value_shape: Any,
) -> Any:
    check_mask(mask)
    rank = max(len(input_shape), len(mask_shape))
    input, mask = of_rank(input, input_batched, rank), of_rank(mask, mask_batched, rank)
    if not value_batched:
        return masked_fill(input, mask, value)
    if value_shape:
        raise RuntimeError(f"the value must be a number or a 0-d tensor, not {len(value_shape)}-d")
    return choose(mask, to(of_rank(value, True, rank), input.dtype), input)


def _fill_marked(xp: Any, array: Any, mask: Any, value: Any) -> None:
    check_mask(mask)
    array[xp.broadcast_to(mask, array.shape)] = as_scalar(xp, value, array.dtype)


@linear(
    input=lambda grad, mask: masked_fill(grad, mask, 0),
    value=lambda grad, mask: masked_fill(grad, ~mask, 0),
    vmap=_filled_each,
    inplace=True,
    ordered=True,
    numbers_without_edge=("value",),
    rewrites=True,
    mutate=_fill_marked,
    aligned=True,
    apart="mask",
)
def masked_fill(xp: Any, input: Array, mask: Array, value: Operand) -> Array:
    """input with value where mask is True."""
    check_mask(mask)
    return xp.where(mask, as_scalar(xp, value, input.dtype), input)


@composite(exact_out=True, apart=True)
def masked_select(input: Value, mask: Value) -> Value:
    """The elements where mask is True, in one dimension."""
    check_mask(mask)
    shape = broadcast_shape(input.shape, mask.shape)
    return pick(expand(input, shape), (expand(mask, shape),))


@composite(exact_out=True, apart=True)
def take(input: Value, index: Value) -> Value:
    """The elements of the flattened tensor that index names."""
    if isinstance(index, Tensor) and not is_index(index):
        raise RuntimeError(f"take(): expected an index tensor of int64, got {index.dtype}")
    return pick(reshape(input, (-1,)), (contiguous(index),))  # the result lies as the index
