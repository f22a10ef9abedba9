"""Embeddings: rows of a table, looked up by number, singly or in bags."""

import math
import warnings
from typing import Any, NamedTuple

from adjoint.call.context import change_grad_enabled, current, set_current
from adjoint.call.half_precision import is_half
from adjoint.call.layers import change_tracking, tracking
from adjoint.dtypes import float32, int32, int64, refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.arrange import repeat
from adjoint.ops.arranging.indexing import getitem, setitem_
from adjoint.ops.arranging.positions import nonzero
from adjoint.ops.arranging.shape import reshape, unsqueeze
from adjoint.ops.arranging.writing import index_add
from adjoint.ops.batch_rules import with_batch
from adjoint.ops.dims import check_positions
from adjoint.ops.elementwise.arithmetic import div
from adjoint.ops.elementwise.selection import clamp_min, where
from adjoint.ops.neural.batches import joined, numbered_apart, parted, starts_of
from adjoint.ops.op import composite, general, linear
from adjoint.ops.reducing.cumulative import cumsum
from adjoint.ops.reducing.extremes import max_dim
from adjoint.ops.reducing.norms import renorm
from adjoint.ops.reducing.reduction import sum
from adjoint.ops.reducing.sorting import as_index
from adjoint.ops.same_dtype import same_kind
from adjoint.ops.sparse.layers import as_tensor
from adjoint.ops.sparse.parts import from_coordinates

# ---- one row each ----


def _embedded_over_batch(
    weight: Any,
    weight_batched: bool,
    weight_shape: Any,
    indices: Any,
    indices_batched: bool,
    padding_idx: Any,
    by_frequency: bool,
    sparse: bool,
    batch_size: int,
) -> Any:
    """One table of those of all elements, and numbers of rows in that."""
    if sparse:
        raise NotImplementedError(
            "embedding(): sparse gradients take no part in vmap; use sparse=False there"
        )
    if not weight_batched and not by_frequency:
        return embedded(weight, indices, padding_idx)
    count = weight_shape[0]
    table = joined(with_batch(weight, weight_batched, batch_size))
    numbers = numbered_apart(with_batch(indices, indices_batched, batch_size), count)
    if not _is_none(padding_idx):
        padding_idx = padding_idx + starts_of(numbers, batch_size, count, numbers.ndim - 1)
    return embedded(table, numbers, padding_idx, by_frequency)


def _is_none(padding_idx: Any) -> bool:
    """Whether no row is passed over."""
    return isinstance(padding_idx, int) and padding_idx < 0


@linear(
    weight=lambda grad, weight_shape, indices, padding_idx, by_frequency, sparse: (
        _sparse_rows(grad, indices, padding_idx, by_frequency, weight_shape)
        if sparse
        else summed_rows(
            _balanced(grad, indices, padding_idx, by_frequency, weight_shape[0]),
            indices,
            weight_shape[0],
        )
    ),
    vmap=_embedded_over_batch,
    node_name="EmbeddingBackward0",
    home=None,
)
def embedded(
    xp: Any,
    weight: Array,
    indices: Array,
    padding_idx: Any = -1,
    by_frequency: bool = False,
    sparse: bool = False,
) -> Array:
    """The rows of weight that indices name.

    The gradient passes over padding_idx, a number or one for each index, and by_frequency divides
    it by how often a row was used; if it is sparse, it has these rows alone.
    """
    check_positions(xp, indices, weight.shape[0], IndexError)
    return xp.take(weight, indices, 0)


def _sparse_rows(
    grad: Any, indices: Any, padding_idx: Any, by_frequency: bool, weight_shape: Any
) -> Any:
    """The gradient of the rows that were used, as a sparse tensor."""
    if by_frequency:
        raise RuntimeError("embedding(): scale_grad_by_freq does not go with sparse gradients")
    grad, indices = as_tensor(grad), as_tensor(indices)
    used = reshape(indices, (-1,))
    rows = reshape(grad, (used.shape[0], weight_shape[1]))
    if not _is_none(padding_idx):
        kept = nonzero(used != padding_idx)[:, 0]
        rows, used = getitem(rows, (kept,)), getitem(used, (kept,))
    return from_coordinates(rows, unsqueeze(used, 0), tuple(weight_shape))


def _balanced(grad: Value, indices: Any, padding_idx: Any, by_frequency: bool, count: int) -> Value:
    if not _is_none(padding_idx):  # replaced, not multiplied: what is passed over may be NaN
        grad = where(unsqueeze(indices != padding_idx, -1), grad, 0)
    return grad * row_factors(grad, indices, count) if by_frequency else grad


def _factors_over_batch(like: Any, indices_each: Any, count: int, batch_size: int) -> Any:
    return row_factors(like, numbered_apart(indices_each, count), batch_size * count)


@general(vmap=_factors_over_batch, home=None)
def row_factors(xp: Any, like: Array, indices: Array, count: int) -> Array:
    """One divided by how often each index below `count` was used, in the data type of `like`."""
    flat = indices.reshape(-1)
    counts = xp.counted(flat, count)[flat].reshape(indices.shape)
    return xp.expand_dims(1 / counts.astype(like.dtype), -1)


def _rows_over_batch(input_each: Any, indices_each: Any, count: int, batch_size: int) -> Any:
    numbers = numbered_apart(indices_each, count)
    return parted(summed_rows(input_each, numbers, batch_size * count), batch_size)


@linear(input=lambda grad, indices: embedded(grad, indices), vmap=_rows_over_batch, home=None)
def summed_rows(xp: Any, input: Array, indices: Array, count: int) -> Array:
    """A table of `count` rows, each the sum of those of input whose index it is."""
    width = input.shape[-1]
    rows = input.reshape(math.prod(indices.shape), width)
    return xp.summed_rows(rows, indices.reshape(-1), count)


def _check_indices(name: str, indices: Any) -> Any:
    if indices.dtype not in (int64, int32):
        raise RuntimeError(f"{name}(): indices must be int64 or int32, not {indices.dtype}")
    return as_index(indices)


def _check_padding(name: str, padding_idx: int | None, count: int) -> int:
    """The row that is not trained, or -1."""
    if padding_idx is None:
        return -1
    if not -count <= padding_idx < count:
        error = AssertionError if name == "embedding" else RuntimeError
        raise error(
            f"{name}(): padding_idx must be within the number of embeddings, {count}, got "
            f"{padding_idx}"
        )
    return padding_idx % count


def shorten_rows(weight: Any, indices: Any, max_norm: float, norm_type: float) -> None:
    """Scale down, in place, the rows that will be used and are longer than max_norm."""
    settings, tracked = current(), tracking.get()
    try:
        change_tracking(False)  # a table keeps its tangent, as it keeps its history
        change_grad_enabled(False)
        used = reshape(indices, (-1,))  # a row that is named twice is written twice, the same
        setitem_(weight, (used,), renorm(getitem(weight, (used,)), norm_type, 0, max_norm))
    finally:
        change_tracking(tracked)
        set_current(settings)


@composite(home="nn.functional")
def embedding(
    input: Value,
    weight: Value,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:
    """The row of weight for each index of input."""
    if weight.ndim != 2:
        raise RuntimeError(f"embedding(): weight must be a matrix, got shape {list(weight.shape)}")
    padding = _check_padding("embedding", padding_idx, weight.shape[0])
    indices = _check_indices("embedding", input)
    if max_norm is not None:
        shorten_rows(weight, indices, max_norm, norm_type)
    return embedded(weight, indices, padding, scale_grad_by_freq, sparse)


# ---- bags ----


def _regrouped_over_batch(
    input_each: Any, sources_each: Any, targets_each: Any, count: int, batch_size: int
) -> Any:
    numbers = numbered_apart(sources_each, input_each.shape[1]), numbered_apart(targets_each, count)
    rows = regrouped_rows(joined(input_each), *map(joined, numbers), batch_size * count)
    return parted(rows, batch_size)


@linear(
    input=lambda grad, input_shape, sources, targets: regrouped_rows(
        grad, targets, sources, input_shape[0]
    ),
    vmap=_regrouped_over_batch,
    node_name="EmbeddingBagBackward0",
    wide=True,
    home=None,
)
def regrouped_rows(xp: Any, input: Array, sources: Array, targets: Array, count: int) -> Array:
    """A table of `count` rows: those of input that sources name, summed where targets say."""
    check_positions(xp, sources, input.shape[0], IndexError)
    return xp.regrouped_rows(input, sources, targets, count)


@general(
    vmap=lambda offsets, places, count: (
        sum(unsqueeze(offsets[:, :count], 2) <= offsets.new_tensor(range(places)), 1) - 1
    ),
    home=None,
)
def bag_numbers(xp: Any, offsets: Array, places: int, count: int) -> Array:
    """For each place the bag it lies in, given where `count` bags start, and the last may end."""
    if xp.readable(waiting=True) and offsets.size:
        if offsets[0] != 0:
            raise RuntimeError(f"the first offset of a bag must be 0, got {int(offsets[0])}")
        if offsets[-1] > places:
            raise RuntimeError(
                f"the last offset of a bag, {int(offsets[-1])}, is beyond the {places} indices"
            )
    bags = xp.searchsorted(offsets[:count], xp.arange(places), side="right") - 1
    return bags.astype("int64")


def _places_over_batch(bags_each: Any, counted_each: Any, count: int, batch_size: int) -> Any:
    """The bags of all elements one after another; places are counted from each one's first."""
    numbers, kept = joined(numbered_apart(bags_each, count)), joined(counted_each)
    places = parted(bag_places(numbers, kept, batch_size * count), batch_size)
    first = starts_of(places, batch_size, numbers.shape[0] // max(batch_size, 1), 2)
    return where(places < 0, -1, places - first)


@general(vmap=_places_over_batch, home=None)
def bag_places(xp: Any, bags: Array, counted: Array, count: int) -> Array:
    """The places of each of `count` bags, filled up with -1; places that don't count are left out.

    One column more than the longest bag needs, so that an empty one has a place too.
    """
    places = xp.arange(bags.shape[0])
    owners = xp.where(counted, bags, count)  # of what doesn't count a bag beyond the others
    sizes = xp.counted(owners, count + 1)
    starts = xp.cumsum(sizes[:count]) - sizes[:count]
    ranks = xp.where(counted, xp.cumsum(counted) - 1 - starts[bags], 0)
    longest = xp.largest(sizes[:count], bags.shape[0])
    table = xp.full((count + 1, longest + 1), -1, dtype="int64")
    return xp.updated(table, (owners, ranks), places)[:count]


def _sizes_over_batch(bags_each: Any, counted_each: Any, count: int, batch_size: int) -> Any:
    numbers, kept = joined(numbered_apart(bags_each, count)), joined(counted_each)
    return parted(bag_sizes(numbers, kept, batch_size * count), batch_size)


@general(vmap=_sizes_over_batch, home=None)
def bag_sizes(xp: Any, bags: Array, counted: Array, count: int) -> Array:
    """How many places each of `count` bags has, but those that don't count."""
    return xp.counted(xp.where(counted, bags, count), count + 1)[:count].astype("int64")


def arranged_bags(input: Any, offsets: Any, include_last_offset: bool) -> tuple[Any, Any, int]:
    """The indices in one row, the bag of each, and how many bags there are."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag(): a matrix of indices has a bag a row; offsets=None")
        count, width = input.shape
        numbers = cumsum(input.new_ones((count, width)), 0) - 1
        return reshape(input, (-1,)), reshape(numbers, (-1,)), count
    if input.ndim != 1 or offsets is None:
        raise ValueError(
            f"embedding_bag(): indices must be a matrix, or a vector with offsets; got shape "
            f"{list(input.shape)}"
        )
    if offsets.ndim != 1:
        raise ValueError(f"embedding_bag(): offsets must be a vector, got {offsets.ndim}D")
    count = len(offsets) - include_last_offset
    numbers = bag_numbers(as_index(offsets), input.shape[0], count)
    return input, numbers, count


def _largest(rows: Any, bags: Any, counted: Any, count: int, side_by_side: bool) -> Any:
    """The maximum of each bag, element by element; zeros for an empty one."""
    if not rows.shape[0]:
        return repeat(sum(rows, 0, True), count, 1)
    if side_by_side:  # all of one size
        blank = ~reshape(counted, (count, -1))
        rows = reshape(rows, (count, -1, rows.shape[1]))
    else:
        places = bag_places(bags, counted, count)
        blank = places < 0
        rows = getitem(rows, (where(blank, 0, places),))
    chosen = where(unsqueeze(blank, 2), float("-inf"), rows)
    best = max_dim(chosen, 1)[0]
    return where(best == float("-inf"), 0.0, best)


@composite(home="nn.functional")
def embedding_bag(
    input: Value,
    weight: Value,
    offsets: Value | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Value:
    """The sum, mean or maximum of the rows of weight that the indices of each bag name."""
    if weight.dtype is int64 and input.dtype.is_floating_point:
        warnings.warn("embedding_bag(): the indices come first, then the weight", stacklevel=2)
        input, weight = weight, input
    refuse_kinds("embedding_bag", weight, "bciu")
    options = (max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights)
    return in_bags(input, weight, offsets, *options, include_last_offset, padding_idx).rows


class Bags(NamedTuple):
    """What embedding_bag answers, and the indices that it was made of."""

    rows: Any
    indices: Any
    numbers: Any  # of the bag of each index
    sizes: Any  # of bags; None where they were not asked for


def _check_options(
    input: Any, scale_grad_by_freq: bool, mode: str, sparse: bool, per_sample_weights: Any
) -> None:
    """Refuse a mode that there is none of, and what doesn't go with it."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f"embedding_bag(): mode has to be one of sum, mean or max, got {mode!r}")
    if mode == "max" and sparse:
        raise ValueError("embedding_bag(): sparse gradients go with sum and mean, not with max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("embedding_bag(): scale_grad_by_freq goes with sum and mean, not with max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag(): per_sample_weights need mode='sum', not {mode}"
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag(): per_sample_weights must have the shape of input, "
            f"{list(input.shape)}, got {list(per_sample_weights.shape)}"
        )


def in_bags(
    input: Any,
    weight: Any,
    offsets: Any,
    max_norm: float | None,
    norm_type: float,
    scale_grad_by_freq: bool,
    mode: str,
    sparse: bool,
    per_sample_weights: Any,
    include_last_offset: bool,
    padding_idx: int | None,
    with_sizes: bool = False,
) -> Bags:
    """embedding_bag, with what it finds out on its way."""
    _check_options(input, scale_grad_by_freq, mode, sparse, per_sample_weights)
    same_kind("embedding_bag", weight, per_sample_weights=per_sample_weights)
    padding = _check_padding("embedding_bag", padding_idx, weight.shape[0])
    indices, bags, count = arranged_bags(
        _check_indices("embedding_bag", input), offsets, include_last_offset
    )
    if max_norm is not None:
        shorten_rows(weight, indices, max_norm, norm_type)
    at_once = mode != "max" and padding < 0 and per_sample_weights is None
    at_once = at_once and not (scale_grad_by_freq or sparse)
    try:
        if at_once:
            rows = regrouped_rows(weight, indices, bags, count)
        else:
            rows = embedded(weight, indices, padding, scale_grad_by_freq, sparse)
    except IndexError as error:
        raise RuntimeError(f"embedding_bag(): {error}") from None
    counted = indices != padding
    ragged = input.ndim != 2 or padding >= 0
    counts = with_sizes or (mode == "mean" and ragged)
    sizes = bag_sizes(bags, counted, count) if counts else None
    if mode == "max":
        return Bags(_largest(rows, bags, counted, count, input.ndim == 2), indices, bags, sizes)
    if padding >= 0:
        rows = where(unsqueeze(counted, 1), rows, 0.0)
    if per_sample_weights is not None:
        if is_half(weight.dtype.numpy_dtype):  # rounded once, not for each product
            rows, per_sample_weights = rows.to(float32), per_sample_weights.to(float32)
        rows = rows * reshape(per_sample_weights, (-1, 1))
    if at_once:
        total = rows
    elif input.ndim == 2:  # bags of one size lie side by side
        total = sum(reshape(rows, (*input.shape, weight.shape[1])), 1)
    else:
        total = index_add(rows.new_zeros((count, weight.shape[1])), 0, bags, rows)
    if mode == "mean" and ragged:
        total = div(total, unsqueeze(clamp_min(sizes, 1), 1).to(weight.dtype))
    elif mode == "mean":
        total = div(total, max(input.shape[1], 1))
    if total.dtype is not weight.dtype:
        total = total.to(weight.dtype)
    return Bags(total, indices, bags, sizes)
