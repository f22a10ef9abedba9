"""Sums, means and extremes over runs of rows."""

import math
from typing import Any

from adjoint.dtypes import FLOAT, category_of
from adjoint.ops.annotations import Value
from adjoint.ops.arranging.arrange import repeat_interleave
from adjoint.ops.arranging.shape import narrow, reshape
from adjoint.ops.arranging.writing import index_add, index_reduce
from adjoint.ops.elementwise.selection import where
from adjoint.ops.op import composite
from adjoint.ops.reducing.reduction import sum
from adjoint.ops.reducing.statistics import diff
from adjoint.tensors.concrete import has_values

# What a run starts from, and how its rows are joined to that.
_STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
_JOINED = {"prod": "prod", "max": "amax", "min": "amin"}


def _runs(data: Any, lengths: Any, offsets: Any, unsafe: bool) -> tuple[Any, Any]:
    """How many rows each run has, and the rows of all runs."""
    sizes = lengths if lengths is not None else diff(offsets)
    if not has_values(sizes):
        return sizes, data
    first = 0 if lengths is not None else int(offsets[0])
    rows = int(sum(sizes))
    if not unsafe and (rows != data.shape[0] or bool((sizes < 0).any())):
        raise RuntimeError(
            f"segment_reduce(): the lengths must not be negative and sum to the {data.shape[0]} "
            f"rows of data, but sum to {rows}"
        )
    return sizes, narrow(data, 0, first, rows)


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
    if reduce not in _STARTS:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {[*_STARTS]}, got {reduce!r}")
    given = lengths if lengths is not None else offsets
    if indices is not None or given is None:
        raise RuntimeError("segment_reduce(): give lengths or offsets of the runs")
    if axis != 0 or given.ndim != 1:
        raise NotImplementedError(
            f"segment_reduce(): runs are of rows, axis=0 and a vector of lengths; got axis={axis} "
            f"and shape {list(given.shape)}"
        )
    if category_of(data.dtype) < FLOAT:
        raise NotImplementedError(f"segment_reduce() is not implemented for {data.dtype}")
    sizes, rows = _runs(data, lengths, offsets, unsafe)
    count = sizes.shape[0]
    start = _STARTS[reduce] if initial is None else initial
    starts = data.new_full((count, *data.shape[1:]), start).detach()
    numbers = repeat_interleave(sizes, output_size=rows.shape[0])
    if reduce in _JOINED:
        return index_reduce(starts, 0, numbers, rows, _JOINED[reduce])
    total = index_add(starts, 0, numbers, rows)
    if reduce == "sum":
        return total
    divisors = reshape(sizes, (count, *[1] * (data.ndim - 1)))
    empty = math.nan if initial is None else initial
    return where(divisors == 0, empty, total / where(divisors == 0, 1, divisors))
