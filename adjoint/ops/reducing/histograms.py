"""Histograms of one or several variables, in bins of equal or given widths."""

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from adjoint.dtypes import FLOAT, category_of
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.conversion import clone
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.reduction import sum
from adjoint.ops.reducing.statistics import diff
from adjoint.ops.shared_rules import refused_derivative
from adjoint.ops.signatures import answer_of
from adjoint.ops.spacing import spaced
from adjoint.tensors.tensor import Tensor


@answer_of("histogram")
class Histogram(NamedTuple):
    """What histogram answers."""

    hist: Any
    bin_edges: Any


@answer_of("histogramdd")
class Histograms(NamedTuple):
    """What histogramdd answers."""

    hist: Any
    bin_edges: Any


def _ends(points: Any, range: Any, dim: int) -> tuple[float, float]:
    """Where the bins of a variable begin and end: the range, or that of the points."""
    if range is not None:
        low, high = (float(end) for end in range[2 * dim : 2 * dim + 2])
    elif points.size:
        own = points[:, dim].copy()  # in order, where NumPy finds extremes by vectors
        low, high = float(own.min()), float(own.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"the range of variable {dim} is not finite: {low} … {high}")
    if low > high:
        raise RuntimeError(f"the range of variable {dim} is not in order: {low} > {high}")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


@general(home=None, dims=None)
def equal_edges(xp: Any, points: Array, count: int, range: Any, dim: int) -> Array:
    """The edges of `count` bins of equal width for one of the variables."""
    if count < 1:
        raise RuntimeError(f"bins must be > 0, but got {count} for variable {dim}")
    low, high = _ends(points, range, dim)
    exact = spaced(low, high, count + 1, points.dtype)
    if exact is None:
        return xp.linspace(low, high, count + 1).astype(points.dtype)
    return xp.asarray(exact)


@general(points=refused_derivative("histogram"), node_name="HistogramddBackward0", home=None)
def bin_totals(
    xp: Any, points: Array, edges: Sequence[Array], weight: Array | None = None
) -> Array:
    """How many points, a row each, lie in each cell between edges, or the sum of their weights.

    A bin includes its lower edge, the last one its upper edge too.
    """
    if category_of(points.dtype) != FLOAT:
        raise NotImplementedError(f"histograms are not implemented for {points.dtype}")
    shape = tuple(len(each) - 1 for each in edges)
    cells, inside = xp.zeros(len(points), "int64"), xp.ones(len(points), "bool")
    columns = xp.copied(xp.swapaxes(points, 0, 1), ordered=True)
    for values, each, size in zip(columns, edges, shape, strict=True):
        place = xp.searchsorted(each, values, side="right") - 1
        place = xp.where(values == each[-1], size - 1, place)
        inside = inside & (values >= each[0]) & (values <= each[-1])
        cells = cells * size + place
    cells = xp.where(inside, cells, math.prod(shape))
    values = xp.ones(len(points), points.dtype) if weight is None else weight
    totals = xp.added_at(xp.zeros(math.prod(shape) + 1, points.dtype), cells, values)
    return totals[:-1].reshape(shape)


def _edges(name: str, points: Any, bins: Any, range: Any) -> list[Any]:
    """The edges of the bins of each variable."""
    count = points.shape[1]
    if not isinstance(bins, (tuple, list)):
        bins = [operator.index(bins)] * count
    if len(bins) != count:
        raise RuntimeError(f"{name}(): {len(bins)} bins for {count} variables: give one each")
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(f"{name}(): range must hold 2 numbers for each of {count} variables")
    edges: list[Any] = []
    for dim, given in enumerate(bins):
        single = isinstance(given, Tensor) and math.prod(given.shape) == 1
        if single and category_of(given.dtype) < FLOAT:
            given = int(given.item())  # how many, and no edge
        if not isinstance(given, Tensor):
            edges.append(equal_edges(points.detach(), given, range, dim))
            continue
        if given.ndim != 1 or given.dtype is not points.dtype or given.shape[0] < 2:
            raise RuntimeError(
                f"{name}(): the edges of variable {dim} must be a vector of {points.dtype} with "
                f"at least 2 elements, got {given.dtype} of shape {list(given.shape)}"
            )
        edges.append(given)
    return edges


def _histogram(
    name: str, points: Any, bins: Any, range: Any, weight: Any, density: bool
) -> tuple[Any, list[Any]]:
    """Totals and edges of points, a row each."""
    if weight is not None and (
        weight.dtype is not points.dtype or weight.numel() != points.shape[0]
    ):
        raise RuntimeError(
            f"{name}(): there must be a weight of {points.dtype} for each of {points.shape[0]} "
            f"points, got {weight.dtype} of shape {list(weight.shape)}"
        )
    edges = _edges(name, points, bins, range)
    if not edges:  # without variables no point lies anywhere
        return points.new_full((), float("nan") if density else 0.0), edges
    flat = None if weight is None else reshape(weight, (-1,))
    totals = bin_totals(points, edges, flat)
    if density:
        totals = totals / sum(totals)
        for place, each in enumerate(reversed(edges)):
            totals = totals / reshape(diff(each), (-1, *[1] * place))
    return totals, edges


@composite(exact_out=True)
def histogram(
    input: Value,
    bins: Operand = 100,
    *,
    range: Any = None,
    weight: Value | None = None,
    density: bool = False,
) -> Histogram:
    """How many elements lie in each bin, and the edges of the bins.

    `bins` is their number, between the ends of `range`, or a tensor of edges.
    """
    if isinstance(bins, Tensor) and range is not None:
        raise TypeError("histogram(): range is for a number of bins; edges say it themselves")
    points = reshape(input, (-1, 1))
    totals, edges = _histogram("histogram", points, _listed(bins), range, weight, density)
    return Histogram(totals, clone(edges[0]) if isinstance(bins, Tensor) else edges[0])


def _listed(bins: Any) -> Any:
    return [bins] if isinstance(bins, Tensor) else bins


@composite(method=False)
def histogramdd(
    input: Value, bins: Any, range: Any = None, weight: Value | None = None, density: bool = False
) -> Histograms:
    """How many points lie in each cell, and the edges of the bins of each variable.

    The variables are in the last dimension. `bins` is a number, or for each variable a number or a
    tensor of edges; `range` lists the two ends of each variable.
    """
    if input.ndim < 2:
        raise RuntimeError(f"histogramdd(): expected at least 2 dimensions, got {input.ndim}")
    points = reshape(input, (math.prod(input.shape[:-1]), input.shape[-1]))
    totals, edges = _histogram("histogramdd", points, bins, range, weight, density)
    return Histograms(totals, tuple(edges))
