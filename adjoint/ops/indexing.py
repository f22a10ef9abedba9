"""Indexing: reading and writing by position, mask and index tensor."""

from typing import Any

from adjoint.ops.dims import along, check_positions, normal_dim, product
from adjoint.ops.op import composite, general, linear
from adjoint.ops.shape import basic_index, expand, flatten, reshape


def _is_basic(index: Any) -> bool:
    """Whether an index consists of ints, slices, None and Ellipsis: a view."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None
        or part is Ellipsis
        or isinstance(part, slice)
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


@linear(
    input=lambda grad, index: setitem(grad, index, 0),
    value=lambda grad, index: getitem(grad, index),
    mutate=_write,
    inplace=True,
    method=False,
)
def setitem(xp: Any, input: Any, index: Any, value: Any) -> Any:
    """input with input[index] = value."""
    return xp.updated(input, index, value)


# ---- along one dimension ----


def _lifted(array: Any) -> Any:
    """A 0-d array as one of one element, which is how these ops see it."""
    return array.reshape(1) if array.ndim == 0 else array


def _positions(xp: Any, shape: Any, dim: int, index: Any) -> Any:
    """Where the elements an index tensor names along dim lie in a flattened array of `shape`."""
    check_positions(xp, index, shape[dim])
    total: Any = 0
    for d, n in enumerate(shape):
        step = product(shape[d + 1 :])
        if d == dim:
            total = total + index.astype("int64") * step
        else:
            across = (1,) * d + (-1,) + (1,) * (len(shape) - d - 1)
            total = total + xp.arange(index.shape[d]).reshape(across) * step
    return total


def _check_index(input: Any, dim: int, index: Any, whole: Any) -> None:
    """Refuse an index tensor that does not fit: integers, and no larger than `whole` around dim."""
    if index.dtype.kind not in "iu":
        raise RuntimeError(f"expected an index tensor of int64, got {index.dtype}")
    if index.ndim != input.ndim:
        raise RuntimeError(
            f"index must have as many dimensions as the tensor, {input.ndim}, but has {index.ndim}"
        )
    for d, n in enumerate(index.shape):
        if d != dim and n > whole.shape[d]:
            raise RuntimeError(
                f"index of shape {list(index.shape)} exceeds {list(whole.shape)} apart from "
                f"dimension {dim}"
            )


@linear(input=lambda grad, input_shape, dim, index: spread(grad, input_shape, dim, index))
def gather(xp: Any, input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """The elements that index names along dim, one for each of its elements."""
    whole, chosen = _lifted(input), _lifted(index)
    place = normal_dim(dim, input.ndim)
    if not chosen.size:
        return xp.zeros(index.shape, input.dtype)
    _check_index(whole, place, chosen, whole)
    positions = _positions(xp, whole.shape, place, chosen)
    return xp.take(whole.reshape(-1), positions).reshape(index.shape)


@linear(
    input=lambda grad, dim, index: gather(grad, dim, index),
    method=False,
    node_name="GatherBackward0",
)
def spread(xp: Any, input: Any, shape: Any, dim: int, index: Any) -> Any:
    """Zeros of `shape` with input added where index names along dim: the gradient of gather."""
    return _scatter_added(xp, xp.zeros(shape, input.dtype), dim, index, input)


def _scatter_added(xp: Any, input: Any, dim: int, index: Any, src: Any) -> Any:
    """input with src added where index names along dim."""
    whole, chosen, values = _lifted(input), _lifted(index), _lifted(src)
    place = normal_dim(dim, input.ndim)
    if not chosen.size:
        return xp.array(input)
    _check_index(whole, place, chosen, whole)
    positions = _positions(xp, whole.shape, place, chosen)
    part = values[tuple(slice(n) for n in chosen.shape)]
    added = xp.added_at(whole.reshape(-1), positions.reshape(-1), part.reshape(-1))
    return added.reshape(input.shape)


@linear(
    input=lambda grad: grad,
    src=lambda grad, dim, index, src_shape: _of_source(gather(grad, dim, index), src_shape),
    inplace=True,
)
def scatter_add(xp: Any, input: Any, dim: int, index: Any, src: Any) -> Any:
    """input with the elements of src added where index names along dim."""
    return _scatter_added(xp, input, dim, index, src)


def _of_source(grad: Any, shape: Any) -> Any:
    """The gradient of a source of which only the corner of the index's shape was used."""
    if tuple(grad.shape) == tuple(shape):
        return grad
    return place(grad, shape, tuple(slice(n) for n in grad.shape))


@linear(
    input=lambda grad, input_shape, dim, index: place(
        grad, input_shape, along(dim % max(len(input_shape), 1), index)
    )
)
def index_select(xp: Any, input: Any, dim: int, index: Any) -> Any:
    """The slices of dimension dim that the 1-d tensor index names."""
    axis = normal_dim(dim, input.ndim)
    check_positions(xp, index, _lifted(input).shape[axis], IndexError)
    return xp.take(_lifted(input), _lifted(index), axis=axis)


@composite
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """The elements that indices names along dim, the other dimensions broadcast."""
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


@linear(
    input=lambda grad, mask: masked_fill(grad, mask, 0),
    value=lambda grad, mask: masked_fill(grad, ~mask, 0),
    inplace=True,
)
def masked_fill(xp: Any, input: Any, mask: Any, value: Any) -> Any:
    """input with value where mask is True."""
    if mask.dtype.kind != "b":
        raise RuntimeError(f"expected mask to be a bool tensor, got {mask.dtype}")
    return xp.where(mask, xp.asarray(value, dtype=input.dtype), input)
