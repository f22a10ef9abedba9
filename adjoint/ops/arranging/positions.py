"""Positions as numbers: of what is not zero, of elements counted from the start, of classes."""

from typing import Any

from adjoint.call.out import write_out
from adjoint.dtypes import int64
from adjoint.ops.annotations import Array, Value, Values
from adjoint.ops.arranging.indexing import lifted
from adjoint.ops.arranging.shape import cat, movedim, reshape, stack, unbind
from adjoint.ops.batch_rules import refusal, refused
from adjoint.ops.dims import check_positions, product
from adjoint.ops.op import composite, general
from adjoint.tensors.concrete import has_values
from adjoint.tensors.tensor import Tensor


@general(vmap=refused("nonzero()", "use where() with three arguments, or a mask"), home=None)
def nonzero_positions(xp: Any, input: Array) -> Array:
    """A row of indices for each element that is not zero."""
    found = xp.nonzero(lifted(input))
    # The positions in each dimension lie together, as in PyTorch.
    rows = xp.swapaxes(xp.asarray(xp.stack(found), dtype="int64"), 0, 1)
    return rows if input.ndim else rows[:, :0]


def _first_positions(input: Value, size: int, fill_value: int) -> Value:
    """The first rows of indices of what is not zero, by steps whose shapes no value decides."""
    flat = reshape(input, (-1,)) != 0
    if not flat.numel() or not input.ndim:
        return input.new_full((size, input.ndim), fill_value, dtype=int64)
    order = flat.logical_not().to(int64).argsort(stable=True)
    places = flat.new_ones(size, dtype=int64).cumsum(0) - 1
    found = order.index_select(0, places.clamp(max=flat.numel() - 1))
    steps = [product(input.shape[dim + 1 :]) for dim in range(input.ndim)]
    there = places < flat.sum()
    columns = [found // step % n for step, n in zip(steps, input.shape)]
    return stack([column.where(there, fill_value) for column in columns], 1)


@composite(without={"as_tuple": Tensor})
def nonzero(input: Value, *, as_tuple: bool = False, out: Value | None = None) -> Any:
    """Where elements are not zero: a row of indices each, or a tuple of index tensors."""
    if out is not None:
        if not isinstance(out, Tensor):
            raise TypeError(f"nonzero(): out must be a Tensor, got {type(out).__name__}")
        if as_tuple:
            raise RuntimeError("nonzero(): a tuple of tensors can't be written to out")
        return write_out("nonzero", nonzero_positions(input), out, True)
    if not as_tuple:
        return nonzero_positions(input)
    return tuple(unbind(nonzero_positions(input if input.ndim else reshape(input, (1,))), 1))


@composite
def argwhere(input: Value) -> Value:
    """A row of indices for each element that is not zero."""
    return nonzero_positions(input)


@composite
def nonzero_static(input: Value, *, size: int, fill_value: int = -1) -> Value:
    """The first `size` rows of nonzero; where there are fewer, rows of fill_value follow."""
    if size < 0:
        raise RuntimeError(f"nonzero_static(): size must not be negative, got {size}")
    if input.layer is None and not has_values(input):
        return _first_positions(input, size, fill_value)
    found = nonzero_positions(input)
    kept = found[:size]
    return cat([kept, kept.new_full((size - kept.shape[0], input.ndim), fill_value)])


@general(
    vmap=lambda indices, shape: movedim(unraveled(indices, shape), 0, 1),
    home=None,
)
def unraveled(xp: Any, indices: Array, shape: Any) -> Array:
    """The position in each dimension of a shape, in front, of elements counted from the start."""
    sizes = [product(shape[dim + 1 :]) for dim in range(len(shape))]
    wide = indices.astype("int64")
    parts = [wide // max(size, 1) % max(n, 1) for size, n in zip(sizes, shape)]
    return xp.stack(parts)


@composite(method=False)
def unravel_index(indices: Value, shape: Any) -> Values:
    """For each dimension of a shape the positions of elements counted from the start."""
    if indices.dtype.kind not in "iu":
        raise TypeError(f"unravel_index(): expected indices of integers, got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"unravel_index(): shape must hold ints, got {type(size).__name__}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index(): a size can't be negative: {sizes}")
    return tuple(unbind(unraveled(indices, sizes), 0)) if sizes else ()


def _one_hot_each(tensor: Any, num_classes: int) -> Any:
    if num_classes == -1:
        raise refusal("one_hot()", "give num_classes")
    return one_hot(tensor, num_classes)


@general(vmap=_one_hot_each, home="nn.functional", ordered=True)
def one_hot(xp: Any, tensor: Array, num_classes: int = -1) -> Array:
    """For each class number a row of zeros with a one at that place."""
    if not xp.are_indices(tensor):
        raise RuntimeError(f"expected class numbers of int64, got {tensor.dtype}")
    if num_classes == -1:
        if not tensor.size:
            raise RuntimeError("can't tell the number of classes from an empty tensor")
        num_classes = int(tensor.max()) + 1
    if num_classes < 1:
        raise RuntimeError(f"the number of classes must be positive, got {num_classes}")
    check_positions(xp, tensor, num_classes)
    count = product(tensor.shape)
    rows = xp.placed(
        xp.zeros((count, num_classes), "int64"), (xp.arange(count), tensor.reshape(-1)), 1
    )
    return rows.reshape(*tensor.shape, num_classes)
