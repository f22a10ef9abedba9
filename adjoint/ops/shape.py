"""Views and rearrangements: the same elements in another shape or order."""

from typing import Any

from adjoint.ops.dims import along, distinct_dims, normal_dim, resolved
from adjoint.ops.op import composite, linear


@linear(
    input=lambda grad, input_shape: reshape(grad, input_shape),
    view=True,
    node_name="ViewBackward0",
)
def reshape(xp: Any, input: Any, *shape: Any) -> Any:
    """The same elements in another shape: a view where memory allows it, else a copy."""
    return xp.reshape(input, resolved(shape, input.size))


@linear(input=lambda grad, input_shape: reshape(grad, input_shape), view=True)
def view(xp: Any, input: Any, *shape: Any) -> Any:
    """The same memory in another shape."""
    return xp.reshaped_view(input, resolved(shape, input.size))


@composite
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Dimensions start_dim to end_dim as one."""
    if input.ndim == 0:
        return reshape(input, (1,))
    first, last = normal_dim(start_dim, input.ndim), normal_dim(end_dim, input.ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    middle = 1
    for n in input.shape[first : last + 1]:
        middle *= n
    return reshape(input, (*input.shape[:first], middle, *input.shape[last + 1 :]))


@linear(input=lambda grad, input_shape: reshape(grad, input_shape), view=True)
def squeeze(xp: Any, input: Any, dim: Any = None) -> Any:
    """A view without dimensions of size 1: all of them, or those of dim that are."""
    if dim is None:
        dims = tuple(range(input.ndim))
    elif isinstance(dim, (tuple, list)):
        dims = distinct_dims(dim, input.ndim)
    else:
        dims = (normal_dim(dim, input.ndim),)
    return xp.squeeze(input, tuple(d for d in dims if d < input.ndim and input.shape[d] == 1))


@linear(input=lambda grad, input_shape: reshape(grad, input_shape), view=True)
def unsqueeze(xp: Any, input: Any, dim: int) -> Any:
    """A view with a new dimension of size 1 at dim."""
    return xp.expand_dims(input, normal_dim(dim, input.ndim + 1))


@linear(input=lambda grad, dim0, dim1: transpose(grad, dim0, dim1), view=True)
def transpose(xp: Any, input: Any, dim0: int, dim1: int) -> Any:
    """A view with two dimensions exchanged."""
    first, second = normal_dim(dim0, input.ndim), normal_dim(dim1, input.ndim)
    return xp.swapaxes(input, first, second) if input.ndim else input[...]


def _undo(dims: Any) -> list[int]:
    order = [0] * len(dims)
    for place, dim in enumerate(dims):
        order[dim] = place
    return order


@linear(
    input=lambda grad, dims: permute(grad, _undo([d % len(dims) for d in dims])),
    view=True,
)
def permute(xp: Any, input: Any, *dims: Any) -> Any:
    """A view with the dimensions in another order."""
    if len(dims) != input.ndim:
        raise RuntimeError(f"{len(dims)} dimensions were given for a tensor of {input.ndim}")
    return xp.transpose(input, distinct_dims(dims, input.ndim))


def _writable(shown: Any, source: Any) -> Any:
    """A view that may be written where its source may: NumPy protects some kinds of views."""
    if not getattr(getattr(shown, "flags", None), "writeable", True) and source.flags.writeable:
        shown.flags.writeable = True
    return shown


@linear(input=lambda grad: grad, view=True)
def expand(xp: Any, input: Any, *size: Any, implicit: bool = False) -> Any:
    """A view in which dimensions of size 1, and new ones in front, repeat."""
    lead = len(size) - input.ndim
    if lead < 0:
        raise RuntimeError(f"{len(size)} sizes are too few for {input.ndim} dimensions")
    sizes = []
    for i, n in enumerate(size):
        own = input.shape[i - lead] if i >= lead else None
        if n == -1 and own is None:
            raise RuntimeError("the size -1 is not allowed for a new dimension in front")
        if n < -1:
            raise RuntimeError(f"the size {n} is negative")
        if n != -1 and own not in (None, 1, n):
            raise RuntimeError(f"a dimension of size {own} can't be expanded to {n}")
        sizes.append(own if n == -1 else n)
    return _writable(xp.broadcast_to(input, tuple(sizes)), input)


@linear(
    input=lambda grad, input_shape, index: basic_place(grad, input_shape, index),
    view=True,
    method=False,
    node_name="SliceBackward0",
)
def basic_index(xp: Any, input: Any, index: Any) -> Any:
    """A view by ints, slices with positive steps, None and Ellipsis."""
    return input[(*index, Ellipsis) if Ellipsis not in index else index]


@linear(
    input=lambda grad, index: basic_index(grad, index),
    method=False,
    node_name="SliceBackward0",
)
def basic_place(xp: Any, input: Any, shape: Any, index: Any) -> Any:
    """Zeros of `shape` with input at a basic index: the gradient of basic_index."""
    return xp.updated(xp.zeros(shape, input.dtype), index, input)


@composite
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """A view of `length` elements of dimension dim from start on."""
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    place, first = normal_dim(dim, input.ndim), int(start)
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


@linear(input=lambda grads, dim: stack(list(grads), dim), view=True)
def unbind(xp: Any, input: Any, dim: int = 0) -> Any:
    """A tuple of views, one for each index along dim."""
    if input.ndim == 0:
        raise RuntimeError("a 0-d tensor has no dimension to unbind")
    moved = xp.moveaxis(input, normal_dim(dim, input.ndim), 0)
    return tuple(moved[i, ...] for i in range(moved.shape[0]))


def _cat_pieces(grad: Any, shapes: Any, dim: int) -> list[Any]:
    """What each tensor of a cat gets of the gradient; 1-d empty ones took no part."""
    start, pieces = 0, []
    place = dim % grad.ndim
    for shape in shapes:
        length = 0 if shape == (0,) else shape[place]
        piece = basic_index(grad, along(place, slice(start, start + length)))
        pieces.append(reshape(piece, (0,)) if shape == (0,) else piece)
        start += length
    return pieces


@linear(
    tensors=lambda grad, tensors_shape, dim: _cat_pieces(grad, tensors_shape, dim),
    promotes="tensors",
)
def cat(xp: Any, tensors: Any, dim: int = 0) -> Any:
    """The tensors one after the other along dim; 1-d empty tensors fit anywhere."""
    if not tensors:
        raise RuntimeError("expected a non-empty list of Tensors")
    if any(tensor.ndim == 0 for tensor in tensors):
        raise RuntimeError("a 0-d tensor cannot be concatenated; use stack, or reshape it to (1,)")
    parts = [tensor for tensor in tensors if tensor.shape != (0,)] or list(tensors)
    place = normal_dim(dim, parts[0].ndim)
    for part in parts:
        if part.ndim != parts[0].ndim or any(
            n != m for d, (n, m) in enumerate(zip(part.shape, parts[0].shape)) if d != place
        ):
            raise RuntimeError(
                f"sizes must match except in dimension {place}, but one tensor has shape "
                f"{list(parts[0].shape)} and another {list(part.shape)}"
            )
    return xp.concatenate(parts, axis=place)


@linear(tensors=lambda grad, dim: list(unbind(grad, dim)), promotes="tensors")
def stack(xp: Any, tensors: Any, dim: int = 0) -> Any:
    """The tensors side by side along a new dimension."""
    if not tensors:
        raise RuntimeError("expected a non-empty list of Tensors")
    for tensor in tensors:
        if tensor.shape != tensors[0].shape:
            raise RuntimeError(
                f"each tensor must be of equal size, but got {list(tensors[0].shape)} and "
                f"{list(tensor.shape)}"
            )
    return xp.stack(tensors, axis=normal_dim(dim, tensors[0].ndim + 1))


@linear(input=lambda grad, dims: flip(grad, dims))
def flip(xp: Any, input: Any, *dims: Any) -> Any:
    """A copy with the order of elements reversed along dims."""
    axes = distinct_dims(dims, input.ndim)
    return xp.array(xp.flip(input, axes) if input.ndim else input)
