"""Copies of the elements in another arrangement: joined, repeated, rolled, padded, on grids."""

import math
import operator
from collections.abc import Sequence
from typing import Any

from adjoint.backends.numpy import host
from adjoint.call.half_precision import is_half
from adjoint.call.rule import FRONT, MATRICES
from adjoint.dtypes import FLOAT, fitted_integer, float32, get_default_dtype, int64, refuse_kinds
from adjoint.ops.annotations import Array, Operand, Value, Values
from adjoint.ops.arranging.conversion import clone, contiguous, contiguous_format, following
from adjoint.ops.arranging.indexing import index_select
from adjoint.ops.arranging.shape import (
    basic_index,
    cat,
    expand,
    flip,
    narrow,
    reshape,
    stack,
    unsqueeze,
)
from adjoint.ops.arranging.strided import diag_embed
from adjoint.ops.arranging.writing import fill
from adjoint.ops.batch_rules import of_rank, refused, with_batch
from adjoint.ops.dims import along, distinct_dims, normal_dim, product, refuse_truth
from adjoint.ops.op import composite, general, linear
from adjoint.ops.reducing.reduction import sum
from adjoint.tensors.tensor import AS_IS, Tensor

# ---- at least so many dimensions ----


def _each(function: Any, tensors: tuple[Any, ...]) -> Any:
    """A function of one tensor, of several, or of a list of them."""
    if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
        return function(tensors[0])
    several = tensors[0] if len(tensors) == 1 else tensors
    return tuple(function(tensor) for tensor in several)


def _at_least_1d(tensor: Any) -> Any:
    return tensor if tensor.ndim else reshape(tensor, (1,))


def _at_least_2d(tensor: Any) -> Any:
    return tensor if tensor.ndim > 1 else unsqueeze(_at_least_1d(tensor), 0)


def _at_least_3d(tensor: Any) -> Any:
    return tensor if tensor.ndim > 2 else unsqueeze(_at_least_2d(tensor), -1)


@composite(method=False, numpy=True)
def atleast_1d(*tensors: Value) -> Any:
    """The tensors with at least one dimension, as views."""
    return _each(_at_least_1d, tensors)


@composite(method=False, numpy=True)
def atleast_2d(*tensors: Value) -> Any:
    """The tensors with at least two dimensions, as views."""
    return _each(_at_least_2d, tensors)


@composite(method=False, numpy=True)
def atleast_3d(*tensors: Value) -> Any:
    """The tensors with at least three dimensions, as views."""
    return _each(_at_least_3d, tensors)


# ---- joined ----


def _several(name: str, tensors: Any) -> list[Any]:
    if not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): the argument must be a tuple of Tensors, not {type(tensors).__name__}"
        )
    if not len(tensors):
        raise RuntimeError(f"{name}(): expected a non-empty list of tensors")
    return list(tensors)


@composite(method=False, numpy=True, exact_out=TypeError)
def hstack(tensors: Sequence[Value]) -> Value:
    """The tensors joined by columns: along dimension 1, or 0 for vectors."""
    parts = [_at_least_1d(tensor) for tensor in _several("hstack", tensors)]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


@composite(method=False, also="row_stack", numpy=True, exact_out=TypeError)
def vstack(tensors: Sequence[Value]) -> Value:
    """The tensors joined by rows; a vector is one row."""
    return cat([_at_least_2d(tensor) for tensor in _several("vstack", tensors)], 0)


@composite(method=False, numpy=True, exact_out=TypeError)
def dstack(tensors: Sequence[Value]) -> Value:
    """The tensors joined along a third dimension."""
    return cat([_at_least_3d(tensor) for tensor in _several("dstack", tensors)], 2)


@composite(method=False, numpy=True, exact_out=TypeError)
def column_stack(tensors: Sequence[Value]) -> Value:
    """The tensors joined by columns; a vector is one column."""
    parts = _several("column_stack", tensors)
    return hstack([t if t.ndim > 1 else reshape(t, (product(t.shape), 1)) for t in parts])


@composite(method=False)
def block_diag(*tensors: Value) -> Value:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
    for tensor in tensors:
        if tensor.ndim > 2:
            raise RuntimeError(f"block_diag(): expected at most 2 dimensions, got {tensor.ndim}")
    if not tensors:
        return Tensor(host.empty((1, 0), get_default_dtype().numpy_dtype), AS_IS)
    return joined_blocks([_at_least_2d(tensor) for tensor in tensors])


def _blocks_of(shapes: Any) -> list[tuple[Any, ...]]:
    """Where matrices of these shapes lie along the diagonal."""
    row = column = 0
    found: list[tuple[Any, ...]] = []
    for *_, height, width in shapes:
        found.append((..., slice(row, row + height), slice(column, column + width)))
        row, column = row + height, column + width
    return found


def _joined_blocks_each(tensors: Any, tensors_batched: Any, batch_size: int) -> Any:
    parts = zip(tensors, tensors_batched, strict=True)
    return joined_blocks([with_batch(part, batched, batch_size) for part, batched in parts])


@linear(
    tensors=lambda grad, tensors_shape: [
        basic_index(grad, block) for block in _blocks_of(tensors_shape)
    ],
    vmap=_joined_blocks_each,
    promotes="tensors",
    node_name="BlockDiagBackward0",
    home=None,
)
def joined_blocks(xp: Any, tensors: Sequence[Array]) -> Array:
    """Matrices, or batches of as many, along the diagonal of one; zeros elsewhere."""
    blocks = _blocks_of([tensor.shape for tensor in tensors])
    sizes = [place.stop for place in blocks[-1][1:]]
    out = xp.zeros((*tensors[0].shape[:-2], *sizes), tensors[0].dtype)
    for tensor, block in zip(tensors, blocks, strict=True):
        out = xp.placed(out, block, tensor)
    return out


# ---- repeated ----


def _unrepeated(grad: Value, shape: Any, repeats: Any) -> Value:
    """The sum over the copies that repeat made."""
    lead = len(repeats) - len(shape)
    sizes = (1,) * lead + tuple(shape)
    apart = [n for pair in zip(repeats, sizes, strict=True) for n in pair]
    summed = sum(reshape(grad, apart), tuple(range(0, 2 * len(repeats), 2))) if repeats else grad
    return reshape(summed, tuple(shape))


def _check_repeats(repeats: Any, ndim: int) -> None:
    if len(repeats) < ndim:
        raise RuntimeError(f"{len(repeats)} repeats are too few for {ndim} dimensions")
    refuse_truth("repeat(): how often", *repeats[:1])
    if any(n < 0 for n in repeats):
        raise RuntimeError(f"repeats must not be negative, got {list(repeats)}")


def _repeated_each(input: Any, input_shape: Any, repeats: Any) -> Any:
    _check_repeats(repeats, len(input_shape))
    return repeat(of_rank(input, True, len(repeats)), (1, *repeats))


@linear(
    input=lambda grad, input_shape, repeats: _unrepeated(grad, input_shape, repeats),
    vmap=_repeated_each,
    home="Tensor",
    ordered=True,
)
def repeat(xp: Any, input: Array, *repeats: Any) -> Array:
    """A copy in which each dimension comes several times, one after the other."""
    _check_repeats(repeats, input.ndim)
    return xp.tile(input, tuple(repeats)) if repeats else xp.array(input)


@composite(numpy=True)
def tile(input: Value, *dims: Any) -> Value:
    """repeat, with ones for the dimensions in front that dims does not name."""
    counts = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    return repeat(input, (1,) * (input.ndim - len(counts)) + tuple(counts))


@general(
    vmap=refused("repeat_interleave()", "give repeats that are one for all elements"), home=None
)
def repeated_index(xp: Any, repeats: Array, size: Any = None, total: Any = None) -> Array:
    """0, 1, 2, …, each as often as repeats says; one number of repeats holds for `size` of them.

    `total` is how many there will be, if that is known.
    """
    if not xp.are_indices(repeats) and repeats.dtype != "int32":
        raise NotImplementedError(f"repeats must be of int64 or int32, got {repeats.dtype}")
    if repeats.ndim > 1:
        raise RuntimeError(f"repeats must have at most 1 dimension, got {repeats.ndim}")
    counts = repeats.reshape(-1)
    if size is not None and counts.shape[0] == 1:
        counts = xp.broadcast_to(counts, (size,))
    if size is not None and counts.shape[0] != size:
        raise RuntimeError(f"{counts.shape[0]} repeats for a dimension of size {size}")
    if xp.readable() and counts.size and counts.min() < 0:
        raise RuntimeError("repeats must not be negative")
    if total is not None and not xp.valued():
        return xp.empty(total, "int64")
    numbers = xp.arange(counts.shape[0], dtype=repeats.dtype)
    return xp.repeat(numbers, counts) if total is None else xp.repeated(numbers, counts, total)


@composite
def repeat_interleave(
    input: Value | None = None,
    repeats: Operand | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Value:
    """Each element, or slice along dim, several times in a row."""
    if input is None or repeats is None:  # the counts alone, under either name
        return repeated_index(repeats if input is None else input, total=output_size)
    whole = reshape(input, (-1,)) if dim is None else input
    axis = normal_dim(0 if dim is None else dim, whole.ndim)
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError(f"repeat_interleave(): repeats must not be negative, got {repeats}")
        if output_size not in (None, whole.shape[axis] * repeats):
            raise RuntimeError(
                f"repeat_interleave(): output_size must be {whole.shape[axis] * repeats}, got "
                f"{output_size}"
            )
        apart = expand(
            unsqueeze(whole, axis + 1),
            (*whole.shape[: axis + 1], repeats, *whole.shape[axis + 1 :]),
        )
        shape = (*whole.shape[:axis], whole.shape[axis] * repeats, *whole.shape[axis + 1 :])
        return reshape(clone(apart, memory_format=contiguous_format), shape)
    index = repeated_index(repeats, whole.shape[axis], output_size)
    if output_size not in (None, index.shape[0]):
        raise RuntimeError(
            f"repeat_interleave(): output_size must be {index.shape[0]}, got {output_size}"
        )
    return index_select(whole, axis, index)


# ---- moved ----


def _negative(shifts: Any) -> Any:
    return tuple(-n for n in shifts) if isinstance(shifts, (tuple, list)) else -shifts


def _rolled_each(input: Any, input_shape: Any, shifts: Any, dims: Any) -> Any:
    if dims is not None and dims != () and dims != []:
        if not input_shape:
            raise IndexError("a 0-d tensor has no dimension to roll along")
        return roll(input, shifts, dims)
    flat = reshape(input, (input.shape[0], product(input_shape)))
    return reshape(roll(flat, shifts, -1), (input.shape[0], *input_shape))


@linear(
    input=lambda grad, shifts, dims: roll(grad, _negative(shifts), dims),
    vmap=_rolled_each,
    ordered="first",
)
def roll(xp: Any, input: Array, shifts: Any, dims: Any = ()) -> Array:
    """A copy in which elements move along dims, or as if flattened, and come back at the start."""
    steps = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    refuse_truth("roll(): a shift", *steps[:1])
    steps = tuple(map(operator.index, steps))
    axes = () if dims is None else dims
    axes = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    if not steps:
        raise RuntimeError("shifts are required")
    if len(steps) != len(axes) and (axes or len(steps) > 1):
        raise RuntimeError(f"{len(steps)} shifts for {len(axes)} dimensions")
    if axes and input.ndim == 0:
        raise IndexError("a 0-d tensor has no dimension to roll along")
    if not axes:
        return xp.roll(input, steps[0], None)
    return xp.roll(input, steps, tuple(normal_dim(d, input.ndim) for d in axes))


@linear(input=lambda grad, k, dims: rot90(grad, -k, dims), batching=FRONT)
def rot90(xp: Any, input: Array, k: int = 1, dims: Any = (0, 1)) -> Array:
    """A copy turned k times by a right angle, from the first of dims towards the second."""
    if len(dims) != 2 or input.ndim < 2:
        raise RuntimeError(
            f"a rotation needs 2 dimensions: got dims {list(dims)} of a {input.ndim}-d tensor"
        )
    first, second = distinct_dims(dims, input.ndim)
    turns = k % 4
    if not turns:
        return xp.copied(input, ordered=True)
    turned = (second,) if turns == 1 else (first,) if turns == 3 else (first, second)
    flipped = xp.flipped(input, turned)
    return flipped if turns == 2 else xp.swapaxes(flipped, first, second)


@composite
def fliplr(input: Value) -> Value:
    """A copy with the order of columns reversed."""
    if input.ndim < 2:
        raise RuntimeError(f"fliplr(): expected at least 2 dimensions, got {input.ndim}")
    return flip(input, 1)


@composite
def flipud(input: Value) -> Value:
    """A copy with the order of rows reversed."""
    if input.ndim < 1:
        raise RuntimeError("flipud(): expected at least 1 dimension, got 0")
    return flip(input, 0)


def _diagonal_in(input: Any, diagonal: int) -> int:
    """A diagonal of the matrices of input, the nearest one beyond them for one far away."""
    if input.ndim < 2:
        raise RuntimeError(f"expected at least 2 dimensions, got {input.ndim}")
    rows, columns = input.shape[-2:]
    return int(max(-rows, min(diagonal, columns)))


@linear(
    input=lambda grad, diagonal: tril(grad, diagonal),
    inplace=True,
    exact_out=True,
    numpy=True,
    batching=MATRICES,
    ordered=True,
)
def tril(xp: Any, input: Array, diagonal: int = 0) -> Array:
    """A copy with zeros above a diagonal."""
    return xp.tril(input, _diagonal_in(input, diagonal))


@linear(
    input=lambda grad, diagonal: triu(grad, diagonal),
    inplace=True,
    exact_out=True,
    numpy=True,
    batching=MATRICES,
    ordered=True,
)
def triu(xp: Any, input: Array, diagonal: int = 0) -> Array:
    """A copy with zeros below a diagonal."""
    return xp.triu(input, _diagonal_in(input, diagonal))


@composite
def diagflat(input: Value, offset: int = 0) -> Value:
    """A matrix with all elements of input on a diagonal."""
    return diag_embed(reshape(input, (-1,)), offset)


# ---- padded ----


def _cropping(pad: Any) -> tuple[int, ...]:
    return tuple(-n for n in pad)


def _padded_each(input: Any, input_shape: Any, pad: Any, value: Any) -> Any:
    _check_padding(pad, len(input_shape))
    return constant_pad_nd(input, pad, value)


@general(
    input=lambda grad, pad: constant_pad_nd(grad, _cropping(pad)),
    vmap=_padded_each,
    jvp=lambda input_tangent, pad: constant_pad_nd(input_tangent, pad),
    ordered="first",
)
def constant_pad_nd(xp: Any, input: Array, pad: Any, value: Any = 0) -> Array:
    """input with value around it; pad goes from the last dimension on, and may be negative."""
    _check_padding(pad, input.ndim)
    pad = [operator.index(each) for each in pad]  # numbers of a narrow type wrap around
    widths = [(0, 0)] * input.ndim
    for i in range(0, len(pad), 2):
        widths[input.ndim - 1 - i // 2] = (pad[i], pad[i + 1])
    crop = []
    for n, (left, right) in zip(input.shape, widths, strict=True):
        if n + min(left, 0) + min(right, 0) < 0 or n + left + right < 0:
            raise RuntimeError(f"padding {list(pad)} takes away more than there is")
        crop.append(slice(max(-left, 0), n - max(-right, 0)))
    wide = [(max(left, 0), max(right, 0)) for left, right in widths]
    if isinstance(value, complex) and input.dtype.kind in "fiu":
        raise RuntimeError(f"a border of {value} can't be written beside {input.dtype}")
    if isinstance(value, float) and input.dtype.kind in "iu":
        value = fitted_integer(value, input.dtype)
    return (
        xp.pad(input[tuple(crop)], wide, constant_values=value) if input.ndim else xp.array(input)
    )


def _check_padding(pad: Any, ndim: int) -> None:
    if len(pad) % 2:
        raise RuntimeError(f"padding must come in pairs, got {len(pad)} numbers")
    if len(pad) > 2 * ndim:
        raise RuntimeError(f"padding of {len(pad) // 2} dimensions for a tensor of {ndim}")


def _edges(input: Any, dim: int, left: int, right: int, mode: str) -> tuple[Any, Any]:
    """What goes before and after along dim; the counts are not negative."""
    n = input.shape[dim]
    if mode == "reflect":
        if left >= n or right >= n:
            raise RuntimeError(f"pad(): a reflection of {left} and {right} needs more than {n}")
        before = flip(narrow(input, dim, 1, left), dim)
        return before, flip(narrow(input, dim, n - 1 - right, right), dim)
    if mode == "circular":
        if left > n or right > n:
            raise RuntimeError(f"pad(): padding {left}, {right} wraps a size of {n} more than once")
        return narrow(input, dim, n - left, left), narrow(input, dim, 0, right)
    if not n:
        raise RuntimeError("pad(): an empty dimension has no edge to repeat")
    sizes = [-1] * input.ndim
    sizes[dim] = left
    before = expand(narrow(input, dim, 0, 1), sizes)
    sizes[dim] = right
    return before, expand(narrow(input, dim, n - 1, 1), sizes)


@composite(home="nn.functional")
def pad(input: Value, pad: Any, mode: str = "constant", value: Any = None) -> Value:
    """input with a border, from the last dimension on: constant, reflect, replicate or circular."""
    if mode == "constant":
        return constant_pad_nd(input, tuple(pad), 0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"pad(): unknown mode {mode!r}")
    refuse_kinds("pad", input, "" if mode == "circular" else "b")
    if value not in (None, 0):
        raise RuntimeError(f"pad(): mode {mode!r} takes no value")
    _check_padding(pad, input.ndim)
    if input.ndim - len(pad) // 2 not in (1, 2):
        raise NotImplementedError(
            f"pad(): mode {mode!r} pads all dimensions but one or two, got {len(pad) // 2} of "
            f"{input.ndim}"
        )
    inner_shape = input.shape[1:] if input.ndim - len(pad) // 2 == 2 else input.shape
    if mode != "circular" and 0 in inner_shape:
        raise RuntimeError(
            f"pad(): in mode {mode!r} only the batch may be empty, got shape {list(input.shape)}"
        )
    if is_half(input.dtype.numpy_dtype):  # so that gradients of repeated elements are added there
        return _padded(input.to(float32), pad, mode).to(input.dtype)
    return _as_pytorch_lays_it(_padded(input, pad, mode), input, mode)


def _padded(input: Any, pad: Any, mode: str) -> Any:
    """input with borders made of its own elements, a dimension at a time."""
    for i in range(0, len(pad), 2):
        dim, left, right = input.ndim - 1 - i // 2, pad[i], pad[i + 1]
        n = input.shape[dim]
        if n + left + right < (0 if mode == "circular" else 1):
            raise RuntimeError(f"pad(): of {n} places in dimension {dim}, {tuple(pad)} leaves none")
        inner = basic_index(input, along(dim, slice(max(-left, 0), max(n + min(right, 0), 0))))
        source = inner if mode == "circular" else input
        before, after = _edges(source, dim, max(left, 0), max(right, 0), mode)
        if min(left, right) < -n:  # of the border on the other side something goes, too
            input = narrow(cat([before, input, after], dim), dim, max(-left, 0), n + left + right)
        else:
            input = cat([before, inner, after], dim)
    return input


def _as_pytorch_lays_it(padded: Any, input: Any, mode: str) -> Any:
    """In order if what is padded goes round, else as the images lay; PyTorch's kernels differ."""
    return contiguous(padded) if mode == "circular" else following(padded, input)


# ---- grids ----


@composite(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> Values:
    """The coordinates of a grid: each vector, expanded along the dimensions of the others."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    vectors = list(given)
    if not vectors:
        raise RuntimeError("meshgrid(): expected a non-empty list of tensors")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f"meshgrid(): indexing must be 'ij' or 'xy', got {indexing!r}")
    for vector in vectors:
        if vector.ndim > 1:
            raise RuntimeError(f"meshgrid(): expected vectors, got {vector.ndim} dimensions")
        if vector.dtype != vectors[0].dtype:
            raise RuntimeError("meshgrid(): expected all tensors to have the same dtype")
        if vector.device != vectors[0].device:
            raise RuntimeError("meshgrid() expects all tensors to have the same device")
    places = list(range(len(vectors)))
    if indexing == "xy" and len(vectors) > 1:
        places[0], places[1] = 1, 0
    shape = [0] * len(vectors)
    for place, vector in zip(places, vectors, strict=True):
        shape[place] = product(vector.shape)
    grids = []
    for place, vector in zip(places, vectors, strict=True):
        across = [shape[place], *[1] * (len(shape) - 1 - place)]  # others are new ones in front
        column = vector if vector.ndim == len(across) else reshape(vector, across)
        grids.append(expand(column, shape))
    return tuple(grids)


@composite(method=False)
def cartesian_prod(*tensors: Value) -> Value:
    """All combinations of one element of each vector, a row each."""
    for tensor in tensors:
        if tensor.ndim != 1:
            raise RuntimeError(f"cartesian_prod(): expected vectors, got {tensor.ndim} dimensions")
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return stack([reshape(grid, (product(grid.shape),)) for grid in grids], 1)


MOST_CHOSEN = (1 << 31) - 1  # elements of a result: more would take for ever


def _choices(size: int, r: int, with_replacement: bool) -> int:
    """How many combinations there are; some number above all bounds if there are very many."""
    if with_replacement:
        if size == 0:
            return 0
        size += r - 1
    if min(r, size - r) > 31:  # then they are more than 2 to the power of that
        return MOST_CHOSEN + 1
    return math.comb(size, r)


def _chosen(size: int, r: int, with_replacement: bool) -> Any:
    """The places of all choices, a row each, in main memory: each choice goes on by all later."""
    if _choices(size, r, with_replacement) == 0:
        return host.zeros((0, r), dtype="int64")
    columns = [host.arange(size)]
    for _ in range(r - 1):
        first = columns[-1] if with_replacement else columns[-1] + 1
        counts = size - first
        before = host.repeat(host.cumsum(counts) - counts, counts)
        owner = host.repeat(host.arange(first.size), counts)
        columns = [column[owner] for column in columns]
        columns.append(first[owner] + host.arange(owner.size) - before)
    return host.stack(columns, axis=1)


@composite(method=False)
def combinations(input: Value, r: int = 2, with_replacement: bool = False) -> Value:
    """All choices of r elements of a vector, a row each, in the order of the vector."""
    if input.ndim != 1:
        raise RuntimeError(f"combinations(): expected a vector, got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations(): r must not be negative, got {r}")
    if r == 0:
        return input.new_zeros((0,))
    if _choices(input.shape[0], r, with_replacement) * r > MOST_CHOSEN:
        raise RuntimeError(
            f"combinations(): the choices of {r} of {input.shape[0]} elements are too many to list"
        )
    rows = _chosen(input.shape[0], r, with_replacement)
    places = input.new_tensor(rows.reshape(-1), dtype=int64)
    return reshape(index_select(input, 0, places), rows.shape)


@composite(method=False)
def vander(x: Value, N: Any = None, increasing: bool = False) -> Value:
    """A matrix of the powers of a vector's elements, the highest first unless increasing."""
    if x.ndim != 1:
        raise RuntimeError(f"vander(): expected a vector, got {x.ndim} dimensions")
    x = x if x.dtype.category >= FLOAT else x.to(int64)
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError(f"vander(): N must not be negative, got {count}")
    if count == 0:
        return basic_index(unsqueeze(x, 1), along(1, slice(0, 0)))
    powers = [fill(x, 1)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return stack(powers if increasing else powers[::-1], 1)


@composite(home="linalg")
def linalg_vander(x: Value, *, N: int | None = None) -> Value:
    """Matrices of the powers of each element of the last dimension, from the 0th to the N - 1st."""
    x = x if x.ndim else reshape(x, (1,))
    if N is not None and N <= 1:
        raise RuntimeError(f"linalg.vander(): N must be greater than 1, got {N}")
    base = x if x.dtype.category >= FLOAT else x.to(int64)
    powers = [fill(base, 1)]
    for _ in range((x.shape[-1] if N is None else N) - 1):
        powers.append(powers[-1] * base)
    return stack(powers, -1)
