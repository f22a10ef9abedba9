"""Views and rearrangements: the same elements in another shape or order."""

from typing import Any

from adjoint.ops.dims import normal_dim
from adjoint.ops.op import general, linear


def _resolved(shape: Any, size: int) -> tuple[int, ...]:
    """A requested shape with its -1 filled in."""
    sizes = tuple(int(n) for n in shape)
    known = 1
    for n in sizes:
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n}")
        known *= n if n != -1 else 1
    if sizes.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in sizes:
        if known == 0 or size % known:
            raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {size}")
        return tuple(size // known if n == -1 else n for n in sizes)
    if known != size:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {size}")
    return sizes


@linear(input=lambda grad, input_shape: reshape(grad, input_shape), view=True)
def reshape(xp: Any, input: Any, *shape: Any) -> Any:
    """The same elements in another shape: a view where memory allows it, else a copy."""
    return xp.reshape(input, _resolved(shape, input.size))


@linear(input=lambda grad, input_shape: reshape(grad, input_shape), view=True)
def view(xp: Any, input: Any, *shape: Any) -> Any:
    """The same memory in another shape."""
    return xp.reshaped_view(input, _resolved(shape, input.size))


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
        raise RuntimeError(f"permute: {input.ndim} dimensions, but {len(dims)} were given")
    return xp.transpose(input, [normal_dim(d, input.ndim) for d in dims])


@linear(input=lambda grad: grad, view=True)
def expand(xp: Any, input: Any, *size: Any, implicit: bool = False) -> Any:
    """A view in which dimensions of size 1, and new ones in front, repeat."""
    lead = len(size) - input.ndim
    if lead < 0:
        raise RuntimeError(f"expand: {len(size)} sizes for {input.ndim} dimensions")
    sizes = [input.shape[i - lead] if n == -1 and i >= lead else n for i, n in enumerate(size)]
    return xp.broadcast_to(input, sizes)


def _stack_unbound(grads: Any, dim: int) -> Any:
    return stack(list(grads), dim)


@linear(input=lambda grads, dim: _stack_unbound(grads, dim), view=True)
def unbind(xp: Any, input: Any, dim: int = 0) -> Any:
    """A tuple of views, one for each index along dim."""
    moved = xp.moveaxis(input, normal_dim(dim, input.ndim), 0)
    return tuple(moved[i, ...] for i in range(moved.shape[0]))


@linear(tensors=lambda grad, dim: list(unbind(grad, dim)), promotes="tensors")
def stack(xp: Any, tensors: Any, dim: int = 0) -> Any:
    """The tensors side by side along a new dimension."""
    return xp.stack(tensors, axis=normal_dim(dim, tensors[0].ndim + 1))
