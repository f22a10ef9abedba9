"""Order: sort, topk, median, mode, quantiles, unique elements, search."""

from numbers import Real
from typing import Any

from adjoint.call.rule import FRONT
from adjoint.dtypes import COMPLEX, FLOAT, category_of, float32, float64, refuse_kinds
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.conversion import to
from adjoint.ops.arranging.shape import basic_index, expand, permute, reshape, unsqueeze
from adjoint.ops.arranging.writing import fill
from adjoint.ops.batch_rules import refused, with_batch
from adjoint.ops.dims import along, check_positions, normal_dim, product
from adjoint.ops.elementwise.comparison import isnan
from adjoint.ops.elementwise.rounding import ceil, floor, round
from adjoint.ops.elementwise.selection import clamp, where
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.cumulative import (
    narrowed,
    pick_along,
    place_along,
    widened,
)
from adjoint.ops.reducing.extremes import (
    amax,
    chosen_along,
    refuse_complex,
    refuse_empty,
    selected,
    selected_tangent,
    shared_by_equals,
    tangent_of_equals,
)
from adjoint.ops.reducing.reduction import all, any, sum
from adjoint.ops.shared_rules import refused_derivative
from adjoint.tensors.concrete import has_values
from adjoint.tensors.tensor import Tensor

# ---- sorting ----


def order_along(xp: Any, input: Any, axis: int, descending: bool = False) -> Any:
    """The indices that sort along an axis: equals keep their order, NaN counts as largest.

    NumPy does not know where the NaN of a bfloat16 belongs, so 16-bit floats are widened.
    """
    if not descending:
        return xp.argsort(widened(input), axis=axis, stable=True)
    backwards = xp.argsort(xp.flip(widened(input), axis), axis=axis, stable=True)
    return input.shape[axis] - 1 - xp.flip(backwards, axis)


def _ordered(grad0: Value, result1: Value, input_shape: Any, dim: int) -> Value:
    """The gradient of values taken from distinct places along dim."""
    return place_along(grad0, result1, dim, input_shape[dim]) if input_shape else grad0


@general(
    input=_ordered,
    returns="values indices",
    exact_out=True,
    jvp=lambda input_tangent, result1, dim: (pick_along(input_tangent, result1, dim), None),
    batching=FRONT,
    aligned=True,
    ordered="argument",
)
def sort(
    xp: Any, input: Array, dim: int = -1, descending: bool = False, *, stable: bool | None = None
) -> tuple[Array, Array]:
    """The elements in order along dim, and where they were; equal ones keep their order."""
    refuse_complex(input, RuntimeError)
    axis = normal_dim(dim, input.ndim)
    if input.ndim == 0:
        return xp.array(input), xp.zeros((), "int64")
    return chosen_along(xp, input, order_along(xp, input, axis, descending), axis, True)


@general(numpy=True, batching=FRONT, ordered="argument")
def argsort(
    xp: Any, input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Array:
    """The indices that put the elements in order along dim."""
    refuse_complex(input, RuntimeError)
    axis = normal_dim(dim, input.ndim)
    return order_along(xp, input, axis, descending) if input.ndim else xp.zeros((), "int64")


@composite(exact_out=True)
def msort(input: Value) -> Value:
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


@general(
    input=_ordered,
    returns="values indices",
    exact_out=True,
    jvp=lambda input_tangent, result1, dim: (pick_along(input_tangent, result1, dim), None),
    batching=FRONT,
    aligned=True,
)
def topk(
    xp: Any, input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    """The k largest, or smallest, elements along dim in order, and where they are."""
    if input.dtype == bool or category_of(input.dtype) == COMPLEX:
        raise RuntimeError(f"topk does not support {input.dtype}; convert it first")
    axis = normal_dim(dim, input.ndim)
    length = input.shape[axis] if input.ndim else 1
    if not 0 <= k <= length:
        raise RuntimeError(f"k={k} is out of range for a dimension of size {length}")
    if input.ndim == 0:
        return xp.array(input), xp.zeros((), "int64")
    if length == 0:
        return xp.array(input), xp.zeros(input.shape, "int64")
    keys = widened(input)
    if largest:
        start = min(length - k, length - 1)
        found = xp.argpartition(keys, start, axis=axis)[along(axis, slice(length - k, None))]
    else:
        found = xp.argpartition(keys, max(k - 1, 0), axis=axis)[along(axis, slice(0, k))]
    order = order_along(xp, xp.take_along_axis(input, found, axis), axis, largest)
    index = narrowed(xp.take_along_axis(found, order, axis), "int64")
    return chosen_along(xp, input, index, axis, True)


# ---- elements of a given rank ----


def _ranked(input: Any) -> None:
    """Refuse the types that kthvalue, median and mode do not know."""
    if input.dtype == bool:
        raise NotImplementedError("ranking is not implemented for bool; convert to an integer type")
    refuse_complex(input)


def _element(xp: Any, input: Any, axis: int, rank: Any, keepdim: bool) -> tuple[Any, Any]:
    """The element of a rank (a number, or an array with the axis kept), and its index."""
    index = xp.place_of_rank(widened(input), axis, xp.asarray(rank))
    return chosen_along(xp, input, index, axis, keepdim)


@general(
    input=selected,
    returns="values indices",
    exact_out=True,
    jvp=selected_tangent,
    batching=FRONT,
    apart=True,
)
def kthvalue(
    xp: Any, input: Array, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[Array, Array]:
    """The k-th smallest element along dim, counted from 1, and its index."""
    _ranked(input)
    axis = normal_dim(dim, input.ndim)
    refuse_empty(input, axis)
    length = input.shape[axis] if input.ndim else 1
    if not 1 <= k <= length:
        raise RuntimeError(f"k={k} is out of range for a dimension of size {length}")
    if input.ndim == 0:
        return xp.array(input), xp.zeros((), "int64")
    return _element(xp, input, axis, k - 1, keepdim)


def _median_along(
    xp: Any, input: Any, dim: int, keepdim: bool, ignore_nan: bool
) -> tuple[Array, Array]:
    """The lower median along dim; a NaN is the median of all it is among, unless ignored."""
    _ranked(input)
    axis = normal_dim(dim, input.ndim)
    refuse_empty(input, axis)
    if input.ndim == 0:
        return xp.array(input), xp.zeros((), "int64")
    index = xp.place_of_median(widened(input), axis, ignore_nan)
    return chosen_along(xp, input, index, axis, keepdim)


def _median_of_all(xp: Any, input: Any, ignore_nan: bool) -> Any:
    if not input.size:
        lowest = float("nan") if input.dtype.kind not in "iu" else xp.iinfo(input.dtype).min
        return xp.full((), lowest, input.dtype)
    return _median_along(xp, input.reshape(-1), 0, False, ignore_nan)[0]


def _median_each(along: Any, input: Any, shape: Any) -> Any:
    """The median of all of each element, whose equals share the gradient: they are the largest."""
    size, count = input.shape[0], product(shape)
    if not count:
        return expand(median_all(basic_index(input, (0,))), (size,))
    flat = reshape(input, (size, count))
    middle = along(flat, -1, True)[0]
    if category_of(input.dtype) < FLOAT:
        return reshape(middle, (size,))
    chosen = (flat == middle) | (isnan(flat) & isnan(middle))
    return amax(where(chosen, flat, float("-inf")), -1)


@general(
    input=shared_by_equals,
    node_name="MedianBackward0",
    home=None,
    jvp=tangent_of_equals,
    vmap=lambda input, input_shape: _median_each(median_dim, input, input_shape),
)
def median_all(xp: Any, input: Array) -> Array:
    """The lower median of all elements."""
    _ranked(input)
    return _median_of_all(xp, input, False)


@general(
    input=selected,
    returns="values indices",
    node_name="MedianBackward1",
    exact_out=True,
    home=None,
    batching=FRONT,
    jvp=selected_tangent,
    ordered=True,
)
def median_dim(xp: Any, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The lower median along dim, and its index."""
    return _median_along(xp, input, dim, keepdim, False)


@general(
    input=shared_by_equals,
    vmap=lambda input, input_shape: _median_each(nanmedian_dim, input, input_shape),
    node_name="NanmedianBackward0",
    home=None,
    jvp=tangent_of_equals,
)
def nanmedian_all(xp: Any, input: Array) -> Array:
    """The lower median of all elements that are not NaN."""
    _ranked(input)
    return _median_of_all(xp, input, True)


@general(
    input=selected,
    returns="values indices",
    node_name="NanmedianBackward1",
    exact_out=True,
    home=None,
    batching=FRONT,
    jvp=selected_tangent,
)
def nanmedian_dim(xp: Any, input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The lower median along dim of what is not NaN, and its index."""
    return _median_along(xp, input, dim, keepdim, True)


@composite(without={"dim keepdim": Tensor})
def median(input: Value, dim: int | None = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The median: of all, or along dim with indices; of two in the middle the lower one."""
    options = {} if out is None else {"out": out}
    return (
        median_all(input, **options) if dim is None else median_dim(input, dim, keepdim, **options)
    )


@composite(without={"dim keepdim": Tensor})
def nanmedian(
    input: Value, dim: int | None = None, keepdim: bool = False, *, out: Any = None
) -> Any:
    """The median of the elements that are not NaN: of all, or along dim with indices."""
    options = {} if out is None else {"out": out}
    if dim is None:
        return nanmedian_all(input, **options)
    return nanmedian_dim(input, dim, keepdim, **options)


@general(
    input=selected,
    returns="values indices",
    exact_out=True,
    jvp=selected_tangent,
    batching=FRONT,
)
def mode(xp: Any, input: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The most frequent element along dim, of several the smallest, and its last index."""
    refuse_complex(input)
    axis = normal_dim(dim, input.ndim)
    if input.ndim == 0:
        return xp.array(input), xp.zeros((), "int64")
    if input.shape[axis] == 0:
        raise IndexError(f"dim {axis} has size 0, so there is nothing to choose from")
    wide = widened(input)
    values = xp.sorted_values(wide, axis)
    lengths = [1] * input.ndim
    lengths[axis] = input.shape[axis]
    places = xp.broadcast_to(xp.arange(input.shape[axis]).reshape(lengths), input.shape)
    begins = (values != xp.moved(values, axis, 1)) | (places == 0)
    starts = xp.running(xp.maximum, xp.where(begins, places, 0), axis)
    longest = xp.argmax(places - starts, axis=axis, keepdims=True)
    equal = wide == xp.take_along_axis(values, longest, axis)  # nowhere, where all are NaN
    index = xp.max(xp.where(equal, places, 0), axis=axis, keepdims=True)
    return chosen_along(xp, input, index, axis, keepdim)


# ---- quantiles ----


@general(home=None, batching=FRONT)
def as_index(xp: Any, input: Array) -> Array:
    """Whole numbers as indices."""
    return xp.array(input) if xp.are_indices(input) else xp.copied(input, "int64")


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(name: str, input: Any, q: Any, interpolation: str) -> None:
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}: interpolation must be one of {', '.join(_INTERPOLATIONS)}, "
            f"but is {interpolation!r}"
        )
    if input.dtype not in (float32, float64):
        raise RuntimeError(f"{name}: the input must be float32 or float64, not {input.dtype}")
    if not input.numel():
        raise RuntimeError(f"{name}: the input has no elements")
    if isinstance(q, (int, float)):
        inside = 0 <= q <= 1
    else:
        if q.ndim > 1:
            raise RuntimeError(f"{name}: q must be a number or a 1-d tensor, got {q.ndim} dims")
        if q.dtype is not input.dtype:
            raise RuntimeError(f"{name}: q must have the input's type {input.dtype}, not {q.dtype}")
        inside = not has_values(q) or bool(all((q >= 0) & (q <= 1)))
    if not inside:
        raise RuntimeError(f"{name}: q must be in the range [0, 1], but is {q}")


def _between(ordered: Any, ranks: Any, interpolation: str) -> Any:
    """The elements at fractional ranks along the last dimension of an ordered tensor."""
    if interpolation == "nearest":
        return pick_along(ordered, as_index(round(ranks)), -1)
    below = floor(ranks)
    low = pick_along(ordered, as_index(below), -1)
    if interpolation == "lower":
        return low
    high = pick_along(ordered, as_index(ceil(ranks)), -1)
    if interpolation == "higher":
        return high
    weight = 0.5 if interpolation == "midpoint" else ranks - below
    return low + weight * (high - low)


def _quantile(
    name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, ignore_nan: bool
) -> Any:
    if isinstance(q, Real):
        q = float(q)
    _check_quantile(name, input, q, interpolation)
    if dim is None or input.ndim == 0:
        if dim is not None:
            normal_dim(dim, 0)
        rows, kept = reshape(input, -1), (1,) * input.ndim
    else:
        place = normal_dim(dim, input.ndim)
        rest = [d for d in range(input.ndim) if d != place]
        rows = permute(input, [*rest, place])
        kept = tuple(1 if d == place else n for d, n in enumerate(input.shape))
    ordered = sort(rows, -1)[0]
    unknown = sum(isnan(ordered), -1, True, dtype=input.dtype)
    last = rows.shape[-1] - 1
    if ignore_nan:
        ranks = clamp(last - unknown, min=0) * q
    else:
        # NaN sorts last: a row that has one is read there, whatever q is.
        ranks = where(unknown > 0, float(last), q * (last + 0 * unknown))
    values = _between(ordered, ranks, interpolation)
    several = not isinstance(q, (int, float)) and q.ndim == 1
    if not several:
        return reshape(values, kept if keepdim else tuple(rows.shape[:-1]))
    values = permute(values, [values.ndim - 1, *range(values.ndim - 1)])
    return reshape(values, (values.shape[0], *kept)) if keepdim else values


@composite(exact_out=True)
def quantile(
    input: Value,
    q: Operand,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Value:
    """The value below which a part q of the elements lies, of all or along dim."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@composite(exact_out=True)
def nanquantile(
    input: Value,
    q: Operand,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Value:
    """The quantile of the elements that are not NaN."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


# ---- distinct elements ----


@general(
    input=refused_derivative("unique"),
    vmap=refused("unique()", "sort() the elements and compare neighbours, or call it outside"),
    returns="output inverse counts",
    node_name="Unique2Backward0",
    home=None,
)
def unique_all(
    xp: Any,
    input: Array,
    dim: int | None = None,
    numbered: bool = True,
    counted: bool = True,
) -> tuple[Array, Array, Array]:
    """The distinct elements, or slices along dim, in order; where each went; how many.

    Places and counts that nobody wants are left out: their arrays are empty.
    """
    refuse_complex(input)
    kind, input = input.dtype, widened(input)
    if dim is None:
        shape = input.shape
        input, axis = input.reshape(-1), 0
    else:
        axis = normal_dim(dim, input.ndim)
        shape = (input.shape[axis],)
        if 0 in input.shape[:axis] + input.shape[axis + 1 :]:
            raise RuntimeError(f"slices of no elements along dim {axis} can't be told apart")
    places = counts = xp.zeros((0,), "int64")
    if input.ndim == 1:
        values, inverse, lengths = xp.distinct(input, numbered, counted)
    elif not input.size:
        return xp.array(input, kind), xp.zeros(shape, "int64") if numbered else places, counts
    else:
        found = xp.unique(input, return_inverse=True, return_counts=True, axis=axis)
        values, inverse, lengths = found
    if numbered:
        places = inverse.reshape(shape).astype("int64")
    if counted:
        counts = lengths.astype("int64")
    return narrowed(values, kind), places, counts


@general(
    input=refused_derivative("unique_consecutive"),
    vmap=refused("unique_consecutive()", "compare neighbours, or call it outside"),
    returns="output inverse counts",
    node_name="UniqueConsecutiveBackward0",
    home=None,
)
def unique_runs(
    xp: Any,
    input: Array,
    dim: int | None = None,
    numbered: bool = True,
    counted: bool = True,
) -> tuple[Array, Array, Array]:
    """The first of each run of equal elements, or slices along dim; its number; its length.

    Numbers and lengths that nobody wants are left out: their arrays are empty.
    """
    nothing = xp.zeros((0,), "int64")
    if dim is None:
        shape, axis = input.shape, 0
        input = input.reshape(-1)
        found = None if numbered or counted else xp.firsts_of_runs(input)
        if found is not None:
            return found, nothing, nothing
        changes = input[1:] != input[:-1]
    else:
        axis = normal_dim(dim, input.ndim)
        shape = (input.shape[axis],)
        rows = xp.moveaxis(input, axis, 0)
        rows = rows.reshape(rows.shape[0], -1) if rows.size else rows.reshape(rows.shape[0], 0)
        changes = (rows[1:] != rows[:-1]).any(axis=1)
    count = input.shape[axis]
    begins = xp.concatenate([xp.ones((min(count, 1),), "bool"), changes])
    starts = xp.nonzero(begins)[0]
    numbers = lengths = nothing
    if numbered:
        numbers = (xp.cumsum(begins, dtype="int64") - 1).reshape(shape)
    if counted:
        ends = xp.concatenate([starts[1:], xp.full((min(count, 1),), count, starts.dtype)])
        lengths = ends - starts
    return xp.take(input, starts, axis=axis), numbers, lengths


def _parts(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    """What the caller of unique asked for."""
    parts = [found[0]]
    if return_inverse:
        parts.append(found[1])
    if return_counts:
        parts.append(found[2])
    return parts[0] if len(parts) == 1 else tuple(parts)


@composite(without={"return_inverse return_counts": Tensor})
def unique(
    input: Value,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, or slices along dim, in order; if asked where each went, how many."""
    found = unique_all(input, dim, return_inverse, return_counts)
    return _parts(found, return_inverse, return_counts)


@composite(without={"return_inverse return_counts": Tensor})
def unique_consecutive(
    input: Value, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equals; if asked the run of each element, and the lengths."""
    refuse_kinds("unique_consecutive", input, "c")
    found = unique_runs(input, dim, return_inverse, return_counts)
    return _parts(found, return_inverse, return_counts)


# ---- search ----


def _searched_each(
    sorted_sequence: Any,
    sorted_sequence_batched: bool,
    sorted_sequence_shape: Any,
    input: Any,
    input_batched: bool,
    input_shape: Any,
    out_int32: bool,
    right: bool,
    side: Any,
    sorter: Any,
    sorter_batched: bool,
    batch_size: int,
) -> Any:
    options = {"out_int32": out_int32, "right": right, "side": side}
    rows, rank = sorted_sequence, len(sorted_sequence_shape)
    if not rank:
        raise RuntimeError("sorted_sequence must have at least one dimension")
    if not sorted_sequence_batched and not sorter_batched and rank == 1:
        return searchsorted(rows, input, **options, sorter=sorter)
    size = batch_size
    rows = with_batch(rows, sorted_sequence_batched, size)
    order = None if sorter is None else with_batch(sorter, sorter_batched, size)
    if isinstance(input, Tensor):
        values = with_batch(input, input_batched, size)
    else:
        kind = float64 if isinstance(input, float) else rows.dtype
        values = fill(to(sum(rows, -1), kind), input)
    if rank == 1:  # any shape of values
        values = reshape(values, (size, product(input_shape)))
    found = searchsorted(rows, values, **options, sorter=order)
    return reshape(found, (size, *input_shape))


@general(vmap=_searched_each, method=False, exact_out=True)
def searchsorted(
    xp: Any,
    sorted_sequence: Array,
    input: Operand,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    """Where each value would be inserted into the ordered last dimension of sorted_sequence."""
    if side not in (None, "left", "right"):
        raise RuntimeError(f"side can only be 'left' or 'right', not {side!r}")
    if side == "left" and right:
        raise RuntimeError("side='left' and right=True are opposites: give one of them")
    if sorted_sequence.ndim == 0:
        raise RuntimeError("sorted_sequence must have at least one dimension")
    refuse_complex(sorted_sequence)
    if sorter is not None:
        sorted_sequence = _sorted_by(xp, sorted_sequence, sorter)
    where_equal = "right" if right else side or "left"
    kind = "int32" if out_int32 else "int64"
    values = xp.asarray(input)
    if sorted_sequence.ndim == 1:
        return xp.searchsorted(sorted_sequence, values, side=where_equal).astype(kind)
    if values.shape[:-1] != sorted_sequence.shape[:-1]:
        raise RuntimeError(
            f"all sizes but the last must agree: the sequences have {list(sorted_sequence.shape)}, "
            f"the values {list(values.shape)}"
        )
    count = product(values.shape[:-1])
    rows = sorted_sequence.reshape(count, sorted_sequence.shape[-1])
    wanted = values.reshape(count, values.shape[-1])
    found = [xp.searchsorted(r, v, side=where_equal) for r, v in zip(rows, wanted, strict=True)]
    stacked = xp.stack(found) if found else xp.zeros((0,))
    return stacked.reshape(values.shape).astype(kind)


def _sorted_by(xp: Any, sequence: Any, sorter: Any) -> Any:
    """A sequence in the order that a sorter describes."""
    if sorter.shape != sequence.shape:
        raise RuntimeError(
            f"the sorter has shape {list(sorter.shape)}, the sequence {list(sequence.shape)}"
        )
    if not xp.are_indices(sorter):
        raise RuntimeError(f"the sorter must be an int64 tensor, not {sorter.dtype}")
    check_positions(xp, sorter, sequence.shape[-1])
    return xp.take_along_axis(sequence, sorter, -1)


@composite(method=False, exact_out=True)
def bucketize(
    input: Operand, boundaries: Value, *, out_int32: bool = False, right: bool = False
) -> Value:
    """The bucket of each element, between ordered boundaries."""
    refuse_kinds("bucketize", input, "bc")
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize: boundaries must be 1-d, got {boundaries.ndim} dimensions")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def _among_each(
    elements: Any,
    elements_batched: bool,
    test_elements: Any,
    test_elements_batched: bool,
    invert: bool,
) -> Any:
    if not test_elements_batched:
        return isin(elements, test_elements, invert=invert)
    rank = elements.ndim - elements_batched if isinstance(elements, Tensor) else 0
    size = test_elements.shape[0]
    tests = reshape(test_elements, (size, *(1,) * rank, product(test_elements.shape[1:])))
    if isinstance(elements, Tensor):
        elements = unsqueeze(elements, -1)
    return any(elements == tests, -1) ^ invert


@general(
    vmap=_among_each, promotes="elements test_elements", method=False, exact_out=True, refuses="c"
)
def isin(
    xp: Any,
    elements: Operand,
    test_elements: Operand,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Array:
    """Whether each element is among the test elements."""
    if elements.dtype == bool:
        raise RuntimeError("isin does not take bool elements; convert them first")
    return xp.isin(elements, test_elements, assume_unique=assume_unique, invert=invert)
