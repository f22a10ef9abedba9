"""A number that stands for the contents of a tensor."""

from typing import Any

from adjoint.call.rule import FRONT
from adjoint.dtypes import FLOAT, category_of, float32, float64, int64, uint64
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import flatten, movedim, reshape, view_dtype
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.reduction import axes_of


@general(home=None, batching=FRONT)
def exclusive_or(xp: Any, input: Array) -> Array:
    """The exclusive or of whole numbers, or of others' bits as doubles, over the last dimension."""
    return xp.exclusive_or(input)


@composite(exact_out=True)
def hash_tensor(input: Value, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Value:
    """The exclusive or of all elements' bits, those of fractions as doubles, as one number."""
    if mode != 0:
        raise RuntimeError(f"hash_tensor(): mode must be 0, the only one there is, got {mode}")
    if category_of(input.dtype) > FLOAT:
        raise NotImplementedError(f"hash_tensor() is not implemented for {input.dtype.name}")
    axes = _axes(input, dim)
    kept = [size for axis, size in enumerate(input.shape) if axis not in axes]
    shape = [1 if axis in axes else size for axis, size in enumerate(input.shape)]
    numbers = input.detach()
    if numbers.dtype is not float32:  # which are made wide, and joined, in one go
        wide = numbers.to(float64 if category_of(input.dtype) == FLOAT else int64)
        numbers = view_dtype(wide, int64)
    if kept and axes:
        numbers = flatten(movedim(numbers, axes, tuple(range(-len(axes), 0))), len(kept))
    else:
        numbers = reshape(numbers, (*kept, -1))
    found = view_dtype(exclusive_or(numbers), uint64)
    return reshape(found, shape if keepdim else kept)


def _axes(input: Any, dim: Any) -> tuple[int, ...]:
    """The dimensions to reduce, counted from the front; none of them may be empty."""
    given = () if dim is None else tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if not given and input.numel() == 0:
        raise RuntimeError("hash_tensor(): name the dimensions of an empty input by dim")
    found: Any = axes_of(given or None, input.ndim)
    chosen = range(input.ndim) if found is None else found
    axes: tuple[int, ...] = tuple(axis % input.ndim for axis in chosen)
    for axis in axes:
        if input.shape[axis] == 0:
            raise IndexError(
                f"hash_tensor(): dimension {axis} of shape {list(input.shape)} is empty"
            )
    return axes
