"""Sums, means and extremes over runs of rows."""

import math
from typing import Any

from adjoint.dtypes import FLOAT, category_of, int64, refuse_kinds
from adjoint.ops.annotations import Value
from adjoint.ops.arranging.arrange import constant_pad_nd
from adjoint.ops.arranging.conversion import to
from adjoint.ops.arranging.indexing import index_select
from adjoint.ops.arranging.shape import expand, narrow, reshape
from adjoint.ops.arranging.writing import index_add, index_reduce
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.comparison import isnan
from adjoint.ops.elementwise.selection import where
from adjoint.ops.op import composite
from adjoint.ops.reducing.cumulative import cumsum
from adjoint.ops.reducing.reduction import sum
from adjoint.ops.reducing.sorting import searchsorted
from adjoint.ops.reducing.statistics import diff
from adjoint.tensors.concrete import has_values

# What a run starts from.
_STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


def _counted(sizes: Any, count: int) -> Any:
    """0, 1, 2 and so on, where the sizes are."""
    return cumsum(sizes.new_ones(count, dtype=int64), 0) - 1


def _bins(data: Any, lengths: Any, offsets: Any, axis: int, unsafe: bool) -> tuple[Any, Any]:
    """The bin of every row, and the sizes of runs; the last bin of a batch has rows of no run."""
    given = lengths if lengths is not None else offsets
    if given.ndim != axis + 1 or given.shape[:axis] != data.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): axis {axis} must be the last one of lengths or offsets, whose "
            f"others are those of data, {list(data.shape)}; got shape {list(given.shape)}"
        )
    rows = data.shape[axis]
    sizes = lengths if lengths is not None else diff(offsets)
    if lengths is not None and not unsafe and has_values(lengths):
        if bool((lengths < 0).any()) or bool((sum(lengths, -1) != rows).any()):
            raise RuntimeError(
                f"segment_reduce(): the lengths must not be negative and sum to the {rows} rows "
                f"of data, got {lengths.tolist()}"
            )
    runs, batches = sizes.shape[-1], math.prod(data.shape[:axis])
    ends = constant_pad_nd(cumsum(sizes, -1), (1, 0)) if lengths is not None else offsets
    ends = reshape(ends, (batches, runs + 1)).contiguous()
    places = expand(_counted(sizes, rows), (batches, rows)).contiguous()
    found = searchsorted(ends, places, right=True) - 1
    found = where((found < 0) | (found >= runs), runs, found)
    starts = reshape(_counted(sizes, batches) * (runs + 1), (batches, 1))
    return reshape(found + starts, (-1,)), sizes


def _joined(reduce: str, starts: Any, numbers: Any, rows: Any) -> Any:
    """The product or an extreme of each run, without its nans, which then make it nan.

    Ties share the gradient of an extreme, and nans do; that of a factor is the other ones' product.
    """
    missing, none = isnan(rows), starts.new_zeros(starts.shape)
    counts = index_add(none, 0, numbers, to(missing, rows.dtype))
    if reduce == "prod":
        known = index_reduce(starts, 0, numbers, where(missing, 1, rows), "prod")
        single = index_add(none, 0, numbers, where(missing, rows, 0))
        several = to(where(counts > 1, math.nan, 1.0), rows.dtype)
        return where(counts > 0, known * single * several, known)
    known = where(missing, _STARTS[reduce], rows)
    known = index_reduce(starts, 0, numbers, known, f"a{reduce}", include_self=False)
    known = where(known >= starts if reduce == "max" else known <= starts, known, starts)
    shares = where(missing, rows / where(missing, index_select(counts, 0, numbers), 1), 0)
    return where(counts > 0, index_add(none, 0, numbers, shares), known)


@composite(method=False)
def segment_reduce(
    data: Value,
    reduce: str,
    *,
    lengths: Value | None = None,
    indices: Any = None,
    offsets: Value | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Value:
    """The sum, mean, prod, max or min of runs of rows, given by their lengths or by offsets."""
    refuse_kinds("segment_reduce", data, "c")
    if reduce not in _STARTS:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {[*_STARTS]}, got {reduce!r}")
    given = lengths if lengths is not None else offsets
    if indices is not None or given is None:
        raise RuntimeError("segment_reduce(): give lengths or offsets of the runs")
    if category_of(data.dtype) < FLOAT:
        raise NotImplementedError(f"segment_reduce() is not implemented for {data.dtype}")
    axis = normal_dim(axis, data.ndim)
    numbers, sizes = _bins(data, lengths, offsets, axis, unsafe)
    outer, inner, runs = data.shape[:axis], data.shape[axis + 1 :], sizes.shape[-1]
    rows = reshape(data, (-1, *inner)) if axis else data
    if lengths is None or unsafe:  # a row of no run gets no gradient, not even nan
        inside = reshape(numbers % (runs + 1) < runs, (-1, *[1] * len(inner)))
        rows = where(inside, rows, 0)
    start = _STARTS[reduce] if initial is None else initial
    starts = data.new_full((math.prod(outer) * (runs + 1), *inner), start).detach()
    if reduce in ("prod", "max", "min"):
        total = _joined(reduce, starts, numbers, rows)
    else:
        total = index_add(starts, 0, numbers, rows)
    total = narrow(reshape(total, (*outer, runs + 1, *inner)), axis, 0, runs)
    if reduce != "mean":
        return total
    divisors = reshape(sizes, (*sizes.shape, *[1] * len(inner)))
    empty = math.nan if initial is None else initial
    return where(divisors == 0, empty, total / where(divisors == 0, 1, divisors))
