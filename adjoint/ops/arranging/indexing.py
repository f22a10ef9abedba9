"""Indexing: x[...] and x[...] = value, by position, slice, mask and index tensor.

An index is first made plain: a tuple of ints, slices, None, Ellipsis, bools, arrays and lists. Its
ints and slices are a view; arrays, masks and lists then pick elements of that view, so that (as
in PyTorch, and not in NumPy) an int next to an index tensor does not change where dimensions go.
"""

import operator
import warnings
from collections.abc import Sequence
from typing import Any

from adjoint.backends import is_array
from adjoint.device import CPU
from adjoint.dtypes import bool_, fitted_integer, int64, uint8
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.conversion import is_contiguous, stride, to
from adjoint.ops.arranging.shape import basic_index, basic_place, expand, flatten, reshape, select
from adjoint.ops.dims import along, broadcast_shape, check_positions, normal_dim, product
from adjoint.ops.op import composite, general, linear
from adjoint.tensors.concrete import known_integer
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.views import apply_inplace

# ---- what an index means ----


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


def _is_plain_slice(part: slice) -> bool:
    """Whether a slice has no bounds but Python's own integers, and goes forward."""
    start, stop, step = part.start, part.stop, part.step
    return (
        (start is None or type(start) is int)
        and (stop is None or type(stop) is int)
        and (step is None or (type(step) is int and step > 0))
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


def _is_basic(index: tuple[Any, ...]) -> bool:
    """Whether a plain index gives a view."""
    return all(_is_simple(part) and not isinstance(part, bool) for part in index)


def _consumed(part: Any) -> int:
    """How many dimensions one part of an index takes."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, (int, slice, list)) or part.dtype.kind != "b":
        return 1
    ndim: int = part.ndim
    return ndim


def _is_whole_slice(part: Any) -> bool:
    return isinstance(part, slice) and part == slice(None)


def _one_ellipsis(index: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """The index with at most one Ellipsis; a second one stands for nothing, and ends the index."""
    places = [i for i, part in enumerate(index) if part is Ellipsis]
    if len(places) < 2:
        return index
    if sum(_consumed(part) for part in index) < ndim:
        rest = index[places[1] :]
        if not all(part is Ellipsis or _is_whole_slice(part) for part in rest):
            raise IndexError("nothing can follow a second Ellipsis")
        return index[: places[1]]
    return tuple([part for i, part in enumerate(index) if i not in places[1:]])


def _as_array(xp: Any, part: Any) -> Any:
    """An array to index with: lists become arrays, and uint8 is an old spelling of bool."""
    array = xp.asarray(part)
    if array.size == 0 and isinstance(part, list):
        return array.astype("int64")
    if array.dtype.kind not in "biu":
        raise IndexError(f"indices must be integers or bools, got {array.dtype}")
    return array.astype(bool) if array.dtype == "uint8" else array


def _divide(
    xp: Any, shape: Sequence[int], index: tuple[Any, ...]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A plain index as a view, and what picks from that view."""
    ndim = len(shape)
    parts = [part if _is_simple(part) else _as_array(xp, part) for part in index]
    taken = sum(_consumed(part) for part in parts)
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
            if part.dtype.kind == "b" and part.size == 0:
                _check_empty_mask(part.shape, shape, sum(map(_consumed, basic)))
            basic.extend([whole] * _consumed(part))
            picks.append(part)
    return tuple(basic), tuple(picks)


def _check_empty_mask(mask: Sequence[int], shape: Sequence[int], dim: int) -> None:
    """Refuse a mask without elements for dimensions of another size, which NumPy lets pass."""
    masked = tuple(shape[dim : dim + len(mask)])
    if tuple(mask) != masked:
        raise IndexError(
            f"a mask of shape {list(mask)} does not match dimensions of size {list(masked)}"
        )


def _is_whole(basic: tuple[Any, ...]) -> bool:
    return all(isinstance(part, slice) and part == slice(None) for part in basic)


# ---- reading ----


@composite(home=None)
def getitem(input: Value, index: Any) -> Value:
    """input[index]: a view by ints, slices, None and Ellipsis, else a copy."""
    if type(index) is slice and _is_plain_slice(index) and input.ndim:
        return basic_index(input, (index,))  # by far the most common, so without further ado
    parts = plain_index(index)
    if len(parts) == 1 and type(parts[0]) is int:
        return select(input, 0, parts[0])
    if _is_basic(parts):
        return basic_index(input, _one_ellipsis(parts, input.ndim))
    return pick(input, _nearby(input, _one_ellipsis(parts, input.ndim)))


def _nearby(input: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """An index with its tensors on the CPU moved to where input is, as PyTorch does."""
    if not isinstance(input, Tensor) or input.device == CPU:
        return parts
    where = input.device
    return tuple([to(p, where) if isinstance(p, Tensor) and p.device == CPU else p for p in parts])


@linear(
    input=lambda grad, input_shape, index: place(grad, input_shape, index),
    node_name="IndexBackward0",
    saved_as={"index": "indices"},
    home=None,
)
def pick(xp: Any, input: Array, index: Any) -> Array:
    """A copy of what a plain index with arrays, masks or lists names."""
    basic, picks = _divide(xp, input.shape, index)
    return (input if _is_whole(basic) else xp.indexed(input, basic))[picks]


def _added(xp: Any, array: Any, picks: tuple[Any, ...], values: Any) -> Any:
    """array with values added at the places that picks names, repeated places counted."""
    if len(picks) == 1 and not isinstance(picks[0], (bool, slice)) and picks[0].dtype.kind == "b":
        return xp.updated(array, picks, array[picks] + values)  # a mask names no place twice
    # One flat index over the leading dimensions is the fastest way to add where places repeat.
    depth = sum(_consumed(part) for part in picks)
    lead, rest = array.shape[:depth], array.shape[depth:]
    places = xp.asarray(xp.arange(product(lead)).reshape(lead)[picks])
    values = xp.broadcast_to(values, (*places.shape, *rest)).reshape(-1)
    if rest:
        inner = product(rest)
        places = places.reshape(-1, 1) * inner + xp.arange(inner)
    flat = xp.added_at(array.reshape(-1), places.reshape(-1), values)
    return flat.reshape(array.shape)


@linear(
    input=lambda grad, index: pick(grad, index),
    node_name="IndexBackward0",
    home=None,
)
def place(xp: Any, input: Array, shape: Any, index: Any) -> Array:
    """Zeros of `shape` with input added where a plain index names: the gradient of pick."""
    basic, picks = _divide(xp, shape, index)
    zeros = xp.zeros(tuple(shape), input.dtype)
    if _is_whole(basic):
        return _added(xp, zeros, picks, input)
    return xp.updated(zeros, basic, _added(xp, zeros[basic], picks, input))


# ---- writing ----


def as_value(xp: Any, value: Any, kind: Any) -> Any:
    """A number or array as an array of the data type it is written into."""
    if isinstance(value, complex) and kind.kind != "c":
        raise RuntimeError(f"a complex number can't be written into a tensor of {kind}")
    if type(value) is int and kind.kind in "iu":
        value = fitted_integer(value, kind)
    array = xp.asarray(value)
    if array.dtype == kind:
        return array
    return (array.real if array.dtype.kind == "c" and kind.kind != "c" else array).astype(kind)


def as_scalar(xp: Any, value: Any, kind: Any) -> Any:
    """A number or 0-d array to fill an array of this data type with."""
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
    basic, picks = _divide(xp, array.shape, index)
    shown = array[(*basic, Ellipsis)]
    shown[picks or ...] = _fitted(as_value(xp, value, array.dtype))


@general(
    input=lambda grad, index: setitem(grad, index, 0),
    value=lambda grad, index, value_shape: of_value(getitem(grad, index), value_shape),
    mutate=_write,
    node_name="IndexPutBackward0",
    home=None,
)
def setitem(xp: Any, input: Array, index: Any, value: Operand) -> Array:
    """A copy of input with value at a plain index."""
    basic, picks = _divide(xp, input.shape, index)
    value = _fitted(as_value(xp, value, input.dtype))
    if all(isinstance(part, slice) for part in picks):
        return xp.updated(input, basic, value)
    if _is_whole(basic):
        return xp.updated(input, picks, value)
    return xp.updated(input, basic, xp.updated(input[basic], picks, value))


@composite(home=None)
def setitem_(input: Value, index: Any, value: Operand) -> Value:
    """input[index] = value, in place."""
    if not isinstance(value, (Tensor, bool, int, float, complex)) and not is_array(value):
        raise TypeError(
            f"can't assign a {type(value).__name__} to a tensor; make it a tensor first"
        )
    parts = _nearby(input, _one_ellipsis(plain_index(index), input.ndim))
    _check_numbers(input.shape, parts)
    if _is_basic(parts) and not is_contiguous(input) and 0 in stride(input):
        basic_index(input, parts).copy_(value)  # the places written may be distinct all the same
        return input
    return apply_inplace(setitem, [input, parts, value])


def _check_numbers(shape: Any, index: tuple[Any, ...]) -> None:
    """Refuse ints out of range, before it is asked whether the tensor may be changed at all."""
    taken = sum(_consumed(part) for part in index)
    if taken > len(shape):
        raise IndexError(f"too many indices for a tensor of dimension {len(shape)}")
    dim = 0
    for part in index:
        if type(part) is int and not -shape[dim] <= part < shape[dim]:
            raise IndexError(
                f"index {part} is out of bounds for dimension {dim} with size {shape[dim]}"
            )
        dim += len(shape) - taken if part is Ellipsis else _consumed(part)


def same_dtype(name: str, input: Any, source: Any) -> None:
    """Refuse a source of another data type, which PyTorch does not cast either."""
    if not hasattr(source, "dtype"):
        raise TypeError(f"{name} must be a tensor, not {type(source).__name__}")
    if input.dtype != source.dtype:
        raise RuntimeError(f"{name} of {source.dtype} for a tensor of {input.dtype}; cast it first")


def _by_dimension(indices: Any) -> tuple[Any, ...]:
    """The index that a sequence of index tensors means: None stands for a whole dimension."""
    return tuple([slice(None) if part is None else part for part in indices])


def _accumulate_or_write(
    xp: Any, array: Any, indices: Any, values: Any, accumulate: bool = False
) -> None:
    if accumulate:
        array[...] = index_put.forward(xp, array, indices, values, True)
    else:
        same_dtype("values", array, values)
        _write(xp, array, _by_dimension(indices), values)


@general(
    input=lambda grad, indices, accumulate: (
        grad if accumulate else setitem(grad, _by_dimension(indices), 0)
    ),
    values=lambda grad, indices, values_shape: of_value(
        getitem(grad, _by_dimension(indices)), values_shape
    ),
    mutate=_accumulate_or_write,
    inplace="function",
)
def index_put(
    xp: Any, input: Array, indices: Sequence[Array], values: Array, accumulate: bool = False
) -> Array:
    """input with values written, or added, where the tensors of indices name."""
    same_dtype("values", input, values)
    if not accumulate:
        return setitem.forward(xp, input, _by_dimension(indices), values)
    picks = _divide(xp, input.shape, _by_dimension(indices))[1]
    return _added(xp, input, picks, values)


# ---- along one dimension ----


def lifted(array: Any) -> Any:
    """A 0-d array as one of one element, which is how these ops see it."""
    return array.reshape(1) if array.ndim == 0 else array


def positions_along(xp: Any, shape: Any, dim: int, index: Any) -> Any:
    """Where what an index tensor names along dim lies in a flattened array of `shape`."""
    check_positions(xp, index, shape[dim])
    total: Any = index.astype("int64") * product(shape[dim + 1 :])
    for d in range(len(shape)):
        if d != dim:
            across = (1,) * d + (-1,) + (1,) * (len(shape) - d - 1)
            total = total + xp.arange(index.shape[d]).reshape(across) * product(shape[d + 1 :])
    return total


def check_index(whole: Any, dim: int, index: Any, source: Any = None) -> None:
    """Refuse an index tensor that does not fit the tensor, or the source of what is written."""
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"expected an index tensor of int64 or int32, got {index.dtype}")
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


@linear(input=lambda grad, input_shape, dim, index: spread(grad, input_shape, dim, index))
def gather(xp: Any, input: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    """The elements that index names along dim, one for each of its elements."""
    axis = normal_dim(dim, input.ndim)
    if not index.size:
        return xp.zeros(index.shape, input.dtype)
    whole, chosen = lifted(input), lifted(index)
    check_index(whole, axis, chosen)
    return xp.take(whole.reshape(-1), positions_along(xp, whole.shape, axis, chosen)).reshape(
        index.shape
    )


@linear(
    input=lambda grad, dim, index: gather(grad, dim, index),
    node_name="GatherBackward0",
    home=None,
)
def spread(xp: Any, input: Array, shape: Any, dim: int, index: Array) -> Array:
    """Zeros of `shape` with input added where index names along dim: the gradient of gather."""
    return _scatter_added(xp, xp.zeros(tuple(shape), input.dtype), dim, index, input)


def _scatter_added(xp: Any, input: Any, dim: int, index: Any, src: Any) -> Any:
    axis = normal_dim(dim, input.ndim)
    if not index.size:
        return xp.array(input)
    whole, chosen, values = lifted(input), lifted(index), lifted(src)
    check_index(whole, axis, chosen, values)
    places = positions_along(xp, whole.shape, axis, chosen).reshape(-1)
    part = values[tuple(slice(n) for n in chosen.shape)].reshape(-1)
    return xp.added_at(whole.reshape(-1), places, part).reshape(input.shape)


def of_source(grad: Value, shape: Any) -> Value:
    """The gradient of a source of which only the corner of the index's shape was used."""
    if tuple(grad.shape) == tuple(shape):
        return grad
    return basic_place(grad, shape, tuple(slice(n) for n in grad.shape))


@linear(
    input=lambda grad: grad,
    src=lambda grad, dim, index, src_shape: of_source(gather(grad, dim, index), src_shape),
    inplace=True,
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


@linear(input=lambda grad, input_shape, dim, index: _unselected(grad, input_shape, dim, index))
def index_select(xp: Any, input: Array, dim: int, index: Array) -> Array:
    """The slices of dimension dim that the 1-d tensor index names."""
    axis = normal_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"the index must be 1-d, not {index.ndim}-d")
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"expected an index tensor of int64 or int32, got {index.dtype}")
    if input.ndim == 0 and index.size != 1:
        raise RuntimeError(f"a 0-d tensor has one element to select, not {index.size}")
    check_positions(xp, index, lifted(input).shape[axis], IndexError)
    found = xp.take(lifted(input), lifted(index), axis=axis)
    return found if input.ndim else found.reshape(())


@composite
def take_along_dim(input: Value, indices: Value, dim: int | None = None) -> Value:
    """The elements that indices names along dim, the other dimensions broadcast."""
    if indices.dtype is not int64:
        raise RuntimeError(f"take_along_dim(): indices must be of int64, got {indices.dtype}")
    if dim is None:
        return gather(flatten(input), 0, flatten(indices))
    axis = normal_dim(dim, input.ndim)
    if input.ndim != indices.ndim:
        raise RuntimeError(
            f"take_along_dim(): input and indices must have the same number of dimensions, but "
            f"have {input.ndim} and {indices.ndim}"
        )
    wide = [n if m == 1 else m for n, m in zip(input.shape, indices.shape)]
    wide[axis] = -1
    return gather(expand(input, wide), axis, expand(indices, wide))


# ---- by mask ----


def check_mask(mask: Any) -> None:
    """Refuse a mask that is not bool."""
    if mask.dtype.kind != "b":
        raise RuntimeError(f"expected a mask of bool, got {mask.dtype}; compare it, e.g. mask != 0")


@general(
    input=lambda grad, mask: masked_fill(grad, mask, 0),
    value=lambda grad, mask: masked_fill(grad, ~mask, 0),
    inplace=True,
)
def masked_fill(xp: Any, input: Array, mask: Array, value: Operand) -> Array:
    """input with value where mask is True."""
    check_mask(mask)
    return xp.where(mask, as_scalar(xp, value, input.dtype), input)


@composite
def masked_select(input: Value, mask: Value) -> Value:
    """The elements where mask is True, in one dimension."""
    check_mask(mask)
    shape = broadcast_shape(input.shape, mask.shape)
    return reshape(pick(expand(input, shape), (expand(mask, shape),)), (-1,))


@composite
def take(input: Value, index: Value) -> Value:
    """The elements of the flattened tensor that index names."""
    if index.dtype.kind not in "iu":
        raise RuntimeError("take(): expected an index tensor of int64")
    return pick(reshape(input, (-1,)), (index,))
