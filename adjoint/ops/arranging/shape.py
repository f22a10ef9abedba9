"""Views: the same memory in another shape, order or extent; and cat, stack and flip.

On NumPy a view shares memory; everywhere it is a pure function of its arguments, because a change
of the base replays it. Views by strides are in strided.py, further copies in arrange.py.
"""

import operator
from collections.abc import Sequence
from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.rule import FRONT
from adjoint.dtypes import INTEGER, category_of, dtype as data_type, int64
from adjoint.ops.annotations import Array, Value, Values
from adjoint.ops.dims import (
    along,
    broadcast_shape,
    distinct_dims,
    normal_dim,
    product,
    refuse_truth,
    resolved,
)
from adjoint.ops.node_names import of_index, of_squeezed
from adjoint.ops.op import composite, general, linear
from adjoint.tensors.tensor import Tensor

# ---- another shape ----


def _each(input: Any, input_shape: Any, shape: Any) -> tuple[int, ...]:
    """A shape requested of each element, as one of the whole batch."""
    return (input.shape[0], *resolved(shape, product(input_shape)))


@linear(
    input=lambda grad, input_shape: reshape(grad, input_shape),
    vmap=lambda input, input_shape, shape: reshape(input, _each(input, input_shape, shape)),
    view=True,
    node_name="ViewBackward0",
    numpy=True,
)
def reshape(xp: Any, input: Array, *shape: Any) -> Array:
    """The same elements in another shape: a view where memory allows it, else a copy."""
    return xp.reshape(input, resolved(shape, input.size))


@linear(
    input=lambda grad, input_shape: reshape(grad, input_shape),
    vmap=lambda input, input_shape, shape: view_shape(input, _each(input, input_shape, shape)),
    view=True,
    node_name="ViewBackward0",
    home=None,
)
def view_shape(xp: Any, input: Array, *shape: Any) -> Array:
    """The same memory in another shape."""
    sizes = resolved(shape, input.size)
    try:
        return xp.reshaped_view(input, sizes)
    except ValueError:
        raise RuntimeError(
            f"memory in this order can't be seen as shape {list(sizes)}; use reshape, which copies"
        ) from None


def _viewed_each(input: Any, input_shape: Any, dtype: Any) -> Any:
    """The bytes of each element as another data type: a batch is not its last dimension."""
    _check_last(input_shape, input.dtype, dtype)
    return view_dtype(input, dtype)


def _check_last(shape: Any, before: Any, after: Any) -> None:
    if before.itemsize != after.itemsize and not shape:
        raise RuntimeError("a 0-d tensor can't be viewed as a data type of another size")


@general(vmap=_viewed_each, view=True, home=None)
def view_dtype(xp: Any, input: Array, dtype: Any) -> Array:
    """The bytes of input read as another data type; the last dimension grows or shrinks."""
    kind = dtype.numpy_dtype
    if input.itemsize == kind.itemsize:
        return input.view(kind)
    before, after = input.itemsize, kind.itemsize
    _check_last(input.shape, input.dtype, dtype)
    if after > before and input.shape[-1] * before % after:
        raise RuntimeError(
            f"the last dimension, {input.shape[-1]} elements of {before} bytes, is no multiple of "
            f"{after} bytes"
        )
    return input.view(kind)


def _check_places(input: Any, dtype: Any) -> None:
    """Refuse elements that do not lie one after another, where whole ones of dtype would begin."""
    before, after = input.dtype.itemsize, dtype.itemsize
    if before == after or not input.ndim:
        return
    name = f"view(): {input.dtype.name} as {dtype.name}"
    *strides, last = input.stride()
    if last != 1:
        raise RuntimeError(f"{name}: the stride of the last dimension must be 1, but is {last}")
    ratio = after // before
    if ratio > 1 and input.storage_offset() % ratio:
        raise RuntimeError(
            f"{name}: storage_offset() must be divisible by {ratio}, but is "
            f"{input.storage_offset()}"
        )
    if ratio > 1 and any(stride % ratio for stride in strides):
        raise RuntimeError(f"{name}: strides must be divisible by {ratio}, but are {strides}")


@composite(home="Tensor")
def view(input: Value, *shape: Any, size: Any = None, dtype: Any = None) -> Value:
    """The same memory in another shape, or read as another data type."""
    if size is not None and not shape:
        shape = (size,)
    if len(shape) == 1 and isinstance(shape[0], data_type):
        dtype = shape[0]
    if dtype is not None:
        _check_places(input, dtype)
        return view_dtype(input, dtype)
    return view_shape(input, *shape)


@composite(home="Tensor")
def view_as(input: Value, other: Value) -> Value:
    """The same memory in the shape of other."""
    return view_shape(input, other.shape)


@composite(home="Tensor")
def reshape_as(input: Value, other: Value) -> Value:
    """The same elements in the shape of other."""
    return reshape(input, other.shape)


@composite
def flatten(input: Value, start_dim: int = 0, end_dim: int = -1) -> Value:
    """Dimensions start_dim to end_dim as one."""
    first, last = normal_dim(start_dim, input.ndim), normal_dim(end_dim, input.ndim)
    if input.ndim == 0:
        return reshape(input, (1,))
    if first > last:
        raise RuntimeError("flatten(): start_dim cannot come after end_dim")
    if first == last:
        return input
    middle = product(input.shape[first : last + 1])
    return reshape(input, (*input.shape[:first], middle, *input.shape[last + 1 :]))


@composite
def unflatten(input: Value, dim: int, sizes: Any) -> Value:
    """Dimension dim split into several of the given sizes, one of which may be -1."""
    if not len(sizes):
        raise RuntimeError("unflatten(): sizes must be non-empty")
    place = normal_dim(dim, input.ndim)
    parts = resolved(sizes, input.shape[place] if input.ndim else 1)
    return view_shape(input, (*input.shape[:place], *parts, *input.shape[place + 1 :]))


def _of_size_one(shape: Any, dim: Any) -> tuple[int, ...]:
    """The dimensions that squeeze takes away, counted from the end."""
    ndim = len(shape)
    if dim is None:
        dims = tuple(range(ndim))
    elif isinstance(dim, (tuple, list)):
        dims = distinct_dims(dim, ndim)
    else:
        dims = (normal_dim(dim, ndim),)
    return tuple([d - ndim for d in dims if d < ndim and shape[d] == 1])


@linear(
    input=lambda grad, input_shape: reshape(grad, input_shape),
    vmap=lambda input, input_shape, dim: squeeze(input, _of_size_one(input_shape, dim)),
    view=True,
    inplace=True,
    numpy=True,
    node_name=of_squeezed,
)
def squeeze(xp: Any, input: Array, dim: Any = None) -> Array:
    """A view without dimensions of size 1: all of them, or those of dim that are."""
    return xp.squeeze(input, _of_size_one(input.shape, dim))


@linear(
    input=lambda grad, input_shape: reshape(grad, input_shape),
    batching=FRONT,
    view=True,
    inplace=True,
    dims=1,
    numpy="expand_dims",
)
def unsqueeze(xp: Any, input: Array, dim: int) -> Array:
    """A view with a new dimension of size 1 at dim."""
    return xp.expand_dims(input, normal_dim(dim, input.ndim + 1))


# ---- another order ----


@linear(
    input=lambda grad, dim0, dim1: transpose(grad, dim0, dim1),
    batching=FRONT,
    view=True,
    inplace=True,
    also="swapdims swapaxes",
    numpy="swapaxes",
)
def transpose(xp: Any, input: Array, dim0: int, dim1: int) -> Array:
    """A view with two dimensions exchanged."""
    first, second = normal_dim(dim0, input.ndim), normal_dim(dim1, input.ndim)
    return xp.swapaxes(input, first, second) if input.ndim else input[...]


def _check_matrix(ndim: int) -> None:
    if ndim > 2:
        raise RuntimeError(f"expected at most 2 dimensions, got {ndim}; use transpose")


def _turned_each(input: Any, input_shape: Any) -> Any:
    _check_matrix(len(input_shape))
    return transpose(input, -2, -1) if len(input_shape) == 2 else basic_index(input, ())


@linear(input=lambda grad: t(grad), vmap=_turned_each, view=True, inplace=True)
def t(xp: Any, input: Array) -> Array:
    """A view of a matrix with its two dimensions exchanged; vectors stay as they are."""
    _check_matrix(input.ndim)
    return xp.swapaxes(input, 0, 1) if input.ndim == 2 else input[...]


def _ordered(dims: Any, shape: Any) -> Any:
    """The order of all dimensions of a shape."""
    if len(dims) != len(shape):
        raise RuntimeError(f"{len(dims)} dimensions were given for a tensor of {len(shape)}")
    return dims


def _undo(dims: Any) -> list[int]:
    order = [0] * len(dims)
    for place, dim in enumerate(dims):
        order[dim] = place
    return order


@linear(
    input=lambda grad, dims: permute(grad, _undo([d % len(dims) for d in dims])),
    vmap=lambda input, input_shape, dims: permute(input, (0, *_ordered(dims, input_shape))),
    view=True,
)
def permute(xp: Any, input: Array, *dims: Any) -> Array:
    """A view with the dimensions in another order."""
    _ordered(dims, input.shape)
    return xp.transpose(input, distinct_dims(dims, input.ndim))


@composite(also="moveaxis", numpy="moveaxis")
def movedim(input: Value, source: Any, destination: Any) -> Value:
    """A view with the dimensions of source moved to those of destination, the others in order."""
    sources = source if isinstance(source, (tuple, list)) else (source,)
    targets = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim(): {len(sources)} source dimensions, but {len(targets)} destinations"
        )
    order = dict(
        zip(distinct_dims(targets, input.ndim), distinct_dims(sources, input.ndim), strict=True)
    )
    rest = iter([d for d in range(input.ndim) if d not in order.values()])
    return permute(input, [order[d] if d in order else next(rest) for d in range(input.ndim)])


def _reversed(input: Any) -> Any:
    """A view with the dimensions in reverse order: Tensor.T."""
    return permute(input, tuple(range(input.ndim))[::-1])


def _matrix_transposed(input: Any) -> Any:
    """A view with the last two dimensions exchanged: Tensor.mT."""
    if input.ndim == 1:
        raise RuntimeError("Tensor.mT is for matrices and batches of matrices, this one is 1-d")
    return transpose(input, -2, -1) if input.ndim else input


@composite
def adjoint(input: Value) -> Value:
    """The conjugate transpose of a matrix, or of each matrix of a batch."""
    if input.ndim == 1:
        raise RuntimeError("adjoint(): matrices and batches of matrices have one, this one is 1-d")
    return conj(_matrix_transposed(input))


def _hermitian(input: Any) -> Any:
    """The conjugate transpose of one matrix: Tensor.H."""
    if input.ndim not in (0, 2):
        raise RuntimeError(f"Tensor.H is for matrices, this one is {input.ndim}-d; use .mH")
    return adjoint(input)


# ---- another extent ----


def _expanded_each(input: Any, input_shape: Any, size: Any) -> Any:
    """The elements of a batch, each repeated to a size."""
    sizes = _expanded_sizes(size, input_shape)
    lead = len(sizes) - len(input_shape)
    if lead:
        input = reshape(input, (input.shape[0], *(1,) * lead, *input_shape))
    return expand(input, (input.shape[0], *sizes))


def _expanded_sizes(size: Any, shape: Any) -> tuple[int, ...]:
    """A requested size with each -1 as the size that there is."""
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(f"{len(size)} sizes are too few for {len(shape)} dimensions")
    sizes = []
    for i, n in enumerate(size):
        own = shape[i - lead] if i >= lead else None
        if n == -1 and own is None:
            raise RuntimeError("the size -1 is not allowed for a new dimension in front")
        if n < -1:
            raise RuntimeError(f"the size {n} is negative")
        if n != -1 and own not in (None, 1, n):
            raise RuntimeError(f"a dimension of size {own} can't be expanded to {n}")
        sizes.append(n if own is None or n != -1 else own)
    return tuple(sizes)


@linear(input=lambda grad: grad, vmap=_expanded_each, view=True, home="Tensor")
def expand(xp: Any, input: Array, *size: Any, implicit: bool = False) -> Array:
    """A view in which dimensions of size 1, and new ones in front, repeat."""
    lead = len(size) - input.ndim
    if lead > 0 and 1 in size[:lead]:  # with the strides that unsqueeze gives them
        input = input.reshape((1,) * lead + input.shape)
    return xp.writable(xp.broadcast_to(input, _expanded_sizes(size, input.shape)), input)


@composite(home="Tensor")
def expand_as(input: Value, other: Value) -> Value:
    """A view that repeats to the shape of other."""
    return expand(input, other.shape)


@composite(numpy=True)
def broadcast_to(input: Value, size: Any, *more: Any) -> Value:
    """A view that repeats to a shape."""
    sizes = tuple(size) if hasattr(size, "__len__") and not more else (size, *more)
    return expand(input, sizes)


@composite(method=False)
def broadcast_tensors(*tensors: Value) -> Values:
    """The tensors as views of the one shape they broadcast to."""
    shape = broadcast_shape(*[tensor.shape for tensor in tensors])
    return tuple(t if t.shape == shape else expand(t, shape) for t in tensors)


@linear(
    input=lambda grad, input_shape, index: basic_place(grad, input_shape, index),
    vmap=lambda input, index: basic_index(input, (slice(None), *index)),
    view=True,
    node_name=of_index,
    home=None,
)
def basic_index(xp: Any, input: Array, index: Any) -> Array:
    """A view by a tuple of ints, slices, None and at most one Ellipsis."""
    return xp.indexed(input, index if Ellipsis in index else (*index, Ellipsis))


@linear(
    input=lambda grad, index: basic_index(grad, index),
    vmap=lambda input, shape, index: basic_place(
        input, (input.shape[0], *shape), (slice(None), *index)
    ),
    node_name="SliceBackward0",
    home=None,
)
def basic_place(xp: Any, input: Array, shape: Any, index: Any) -> Array:
    """Zeros of `shape` with input at a basic index: the gradient of basic_index."""
    return xp.placed(xp.zeros(tuple(shape), input.dtype), index, input)


def _at(dim: int, shape: Any, index: int) -> tuple[Any, ...]:
    return along(dim % len(shape), index)


@linear(
    input=lambda grad, input_shape, dim, index: basic_place(
        grad, input_shape, _at(dim, input_shape, index)
    ),
    batching=FRONT,
    view=True,
)
def select(xp: Any, input: Array, dim: int, index: int) -> Array:
    """A view of one index along dim, without that dimension."""
    if input.ndim == 0:
        raise IndexError("a 0-d tensor has no dimension to index; item() is its value")
    place, position = normal_dim(dim, input.ndim), int(index)
    size = input.shape[place]
    if not -size <= position < size:
        raise IndexError(
            f"index {position} is out of bounds for dimension {place} with size {size}"
        )
    return input[(*along(place, position), Ellipsis)]


def _first(start: Any) -> int:
    """Where narrow begins: a number, or an integer tensor of no dimensions."""
    if isinstance(start, Tensor) and (start.ndim or category_of(start.dtype) != INTEGER):
        raise RuntimeError(
            "narrow(): start must be an integer or a 0-d integer tensor, got "
            f"{start.dtype.name} of {start.ndim} dimensions"
        )
    if isinstance(start, Tensor):
        return int(start)
    refuse_truth("narrow(): start", start)
    return operator.index(start)


@composite
def narrow(input: Value, dim: int, start: Any, length: int) -> Value:
    """A view of `length` elements of dimension dim from start on."""
    if input.ndim == 0:
        raise RuntimeError("narrow(): a 0-d tensor has no dimension to narrow")
    place, first = normal_dim(dim, input.ndim), _first(start)
    size = input.shape[place]
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {length}")
    if not -size <= first <= size:
        raise IndexError(f"narrow(): start {first} is outside a dimension of size {size}")
    first = first + size if first < 0 else first
    if first + length > size:
        raise RuntimeError(
            f"narrow(): start {first} and length {length} exceed a dimension of size {size}"
        )
    return basic_index(input, along(place, slice(first, first + length)))


# ---- in pieces ----


@linear(input=lambda grads, dim: stack(list(grads), dim), batching=FRONT, view=True)
def unbind(xp: Any, input: Array, dim: int = 0) -> tuple[Array, ...]:
    """A tuple of views, one for each index along dim."""
    if input.ndim == 0:
        raise IndexError("a 0-d tensor has no dimension to unbind")
    moved = xp.moveaxis(input, normal_dim(dim, input.ndim), 0)
    return tuple(moved[i, ...] for i in range(moved.shape[0]))


@linear(
    input=lambda grads, dim: cat(list(grads), dim),
    batching=FRONT,
    view=True,
    node_name="SplitBackward0",
)
def split_with_sizes(xp: Any, input: Array, split_sizes: Any, dim: int = 0) -> tuple[Array, ...]:
    """A tuple of views of the given lengths, one after the other along dim."""
    if input.ndim == 0:
        raise RuntimeError("a 0-d tensor has no dimension to split")
    place = normal_dim(dim, input.ndim)
    if any(n < 0 for n in split_sizes) or sum(split_sizes) != input.shape[place]:
        raise RuntimeError(
            f"the sizes {list(split_sizes)} must be non-negative and sum to {input.shape[place]}, "
            f"the size of dimension {place}"
        )
    pieces, start = [], 0
    for length in split_sizes:
        pieces.append(input[along(place, slice(start, start + length))])
        start += length
    return tuple(pieces)


def _length(name: str, input: Any, dim: int) -> int:
    """The size of the dimension that is to be split."""
    if input.ndim == 0:
        raise RuntimeError(f"{name}(): a 0-d tensor has no dimension to split")
    length: int = input.shape[normal_dim(dim, input.ndim)]
    return length


def _equal_sizes(length: int, size: int) -> tuple[int, ...]:
    """Pieces of `size`, the last one smaller; one empty piece of nothing."""
    return tuple([min(size, length - start) for start in range(0, length, size)] or [0])


def split_lengths(
    tensor: Value, split_size_or_sections: Any, dim: int = 0
) -> tuple[Value, tuple[int, ...], int]:
    """A tensor, the lengths of what split makes of it, and along which dimension."""
    length = _length("split", tensor, dim)
    if isinstance(split_size_or_sections, (tuple, list)):
        refuse_truth("split(): the size of a piece", *split_size_or_sections[:1])
        return tensor, tuple(map(operator.index, split_size_or_sections)), dim
    refuse_truth("split(): the size of a piece", split_size_or_sections)
    size = operator.index(split_size_or_sections)
    if size < 0 or (size == 0 and length):
        raise RuntimeError(f"split(): the size of a piece must be positive, got {size}")
    return tensor, _equal_sizes(length, max(size, 1)), dim


@composite
def split(tensor: Value, split_size_or_sections: Any, dim: int = 0) -> Values:
    """A tuple of views of one length, or of the given lengths, along dim."""
    if isinstance(split_size_or_sections, Tensor):  # of any type, as in PyTorch
        if product(split_size_or_sections.shape) != 1:
            raise TypeError(
                "split(): the size of the pieces must be one number, not a Tensor of shape "
                f"{list(split_size_or_sections.shape)}; give sizes as a list: .tolist()"
            )
        split_size_or_sections = int(split_size_or_sections)
    return split_with_sizes(*split_lengths(tensor, split_size_or_sections, dim))


def chunk_lengths(input: Value, chunks: int, dim: int = 0) -> tuple[Value, tuple[int, ...], int]:
    """The same of chunk."""
    length = _length("chunk", input, dim)
    if chunks < 1:
        raise RuntimeError(f"chunk(): chunks must be positive, got {chunks}")
    return input, _equal_sizes(length, -(-length // chunks)) if length else (0,) * chunks, dim


@composite
def chunk(input: Value, chunks: int, dim: int = 0) -> Values:
    """A tuple of at most `chunks` views along dim, all of one length but the last."""
    return split_with_sizes(*chunk_lengths(input, chunks, dim))


@composite(numpy="array_split")
def tensor_split(input: Value, indices_or_sections: Any, dim: int = 0) -> Values:
    """A tuple of views along dim: as many as said, of nearly one length, or cut at indices."""
    length = _length("tensor_split", input, dim)
    place = normal_dim(dim, input.ndim)
    cuts = indices_or_sections
    if isinstance(cuts, Tensor):
        if cuts.dtype is not int64 or cuts.ndim > 1:
            raise RuntimeError(
                "tensor_split(): a tensor of indices or sections must be int64 and have at most "
                f"one dimension, got {cuts.dtype.name} of {cuts.ndim}"
            )
        cuts = cuts.tolist()
    elif not isinstance(cuts, (tuple, list)):
        cuts = operator.index(cuts)
    if isinstance(cuts, int):
        if cuts < 1:
            raise RuntimeError(f"tensor_split(): needs at least one section, got {cuts}")
        small, larger = divmod(length, cuts)
        cuts = [i * small + min(i, larger) for i in range(1, cuts)]
    parts = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
    return tuple(basic_index(input, along(place, part)) for part in parts)


def _split_evenly(name: str, input: Any, cuts: Any, dim: int, least: int) -> Any:
    """hsplit, vsplit and dsplit: tensor_split along dim, which the sections must divide."""
    if input.ndim < least:
        raise RuntimeError(f"{name}(): needs at least {least} dimensions, got {input.ndim}")
    if hasattr(cuts, "__index__") and not isinstance(cuts, Tensor):
        cuts = operator.index(cuts)
    if isinstance(cuts, int) and (cuts < 1 or input.shape[dim] % cuts):
        raise RuntimeError(
            f"{name}(): dimension {dim} of size {input.shape[dim]} can't be divided into {cuts} "
            "equal sections; tensor_split can"
        )
    return tensor_split(input, cuts, dim)


@composite
def hsplit(input: Value, indices_or_sections: Any) -> Values:
    """tensor_split by columns: along dimension 1, or 0 of a vector."""
    return _split_evenly("hsplit", input, indices_or_sections, min(input.ndim - 1, 1), 1)


@composite
def vsplit(input: Value, indices_or_sections: Any) -> Values:
    """tensor_split by rows: along dimension 0."""
    return _split_evenly("vsplit", input, indices_or_sections, 0, 2)


@composite
def dsplit(input: Value, indices_or_sections: Any) -> Values:
    """tensor_split by depth: along dimension 2."""
    return _split_evenly("dsplit", input, indices_or_sections, 2, 3)


# ---- copies that others build on ----


def _cat_pieces(grad: Value, shapes: Any, dim: int) -> list[Any]:
    """What each tensor of a cat gets of the gradient; 1-d empty ones took no part."""
    start, pieces = 0, []
    place = dim % grad.ndim
    for shape in shapes:
        length = 0 if shape == (0,) else shape[place]
        piece = basic_index(grad, along(place, slice(start, start + length)))
        pieces.append(reshape(piece, (0,)) if shape == (0,) else piece)
        start += length
    return pieces


def _joined_each(tensors: Any, tensors_shape: Any, tensors_batched: Any, dim: int) -> Any:
    """What belongs to each element of the batch, joined; 1-d empty tensors take any shape."""
    _check_joined(tensors, tensors_shape)
    sizes = [t.shape[0] for t, batched in zip(tensors, tensors_batched) if batched]
    shapes = [shape for shape in tensors_shape if shape != (0,)]
    nothing = list(shapes[0]) if shapes else [0]
    nothing[dim] = 0
    parts = [t if b else expand(t, (sizes[0], *t.shape)) for t, b in zip(tensors, tensors_batched)]
    return cat(
        [
            reshape(part, (sizes[0], *nothing)) if shape == (0,) else part
            for part, shape in zip(parts, tensors_shape)
        ],
        dim,
    )


def _check_joined(tensors: Any, shapes: Any) -> None:
    if not isinstance(tensors, (tuple, list)):
        raise TypeError("expected a tuple or list of tensors, got one tensor")
    if any(not shape for shape in shapes):
        raise RuntimeError("a 0-d tensor cannot be concatenated; use stack, or reshape it to (1,)")


@linear(
    tensors=lambda grad, tensors_shape, dim: _cat_pieces(grad, tensors_shape, dim),
    vmap=_joined_each,
    promotes="tensors",
    method=False,
    also="concatenate concat",
    numpy="concatenate",
    autocast="widest",
    apart=True,
    exact_out=TypeError,
    ordered="all",
)
def cat(xp: Any, tensors: Sequence[Array], dim: int = 0) -> Array:
    """The tensors one after the other along dim; 1-d empty tensors fit anywhere."""
    _check_joined(tensors, [tensor.shape for tensor in tensors])
    parts = [tensor for tensor in tensors if tensor.shape != (0,)]
    if not parts:
        parts, dim = list(tensors), 0  # there is nothing to join along any other
    alike = all(part.ndim == parts[0].ndim for part in parts)
    place = normal_dim(dim, parts[0].ndim) if alike else -1
    for part in parts:
        if part.ndim != parts[0].ndim or any(
            n != m for d, (n, m) in enumerate(zip(part.shape, parts[0].shape)) if d != place
        ):
            raise RuntimeError(
                f"sizes must match except in dimension {place}, but one tensor has shape "
                f"{list(parts[0].shape)} and another {list(part.shape)}"
            )
    return xp.concatenate(parts, axis=place)


@linear(
    tensors=lambda grad, dim: list(unbind(grad, dim)),
    batching=FRONT,
    promotes="tensors",
    method=False,
    dims=1,
    numpy=True,
    autocast="widest",
    exact_out=TypeError,
    ordered=True,
    apart=True,
)
def stack(xp: Any, tensors: Sequence[Array], dim: int = 0) -> Array:
    """The tensors side by side along a new dimension."""
    for tensor in tensors:
        if tensor.shape != tensors[0].shape:
            raise RuntimeError(
                f"each tensor must be of equal size, but got {list(tensors[0].shape)} and "
                f"{list(tensor.shape)}"
            )
    return xp.stack(tensors, axis=normal_dim(dim, tensors[0].ndim + 1))


@linear(input=lambda grad, dims: flip(grad, dims), batching=FRONT)
def flip(xp: Any, input: Array, *dims: Any) -> Array:
    """A copy with the order of elements reversed along dims."""
    axes = distinct_dims(dims, input.ndim)
    return xp.flipped(input, tuple(axes)) if input.ndim else xp.array(input)


def _backwards(self: Any) -> Any:
    """What reversed() gives: a copy in the opposite order along the first dimension."""
    return flip(self, 0) if self.ndim else self


METHODS = {"__reversed__": _backwards}
PROPERTIES = {"T": _reversed, "mT": _matrix_transposed, "H": _hermitian, "mH": adjoint}
