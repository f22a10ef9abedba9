"""Counts, covariances, differences and integrals of samples."""

import warnings
from typing import Any

from adjoint.call.arguments import conj, holds_complex
from adjoint.call.out import write_out
from adjoint.dtypes import FLOAT, bool_, category_of, refuse_kinds
from adjoint.ops.annotations import Array, Value, Values
from adjoint.ops.arranging.conversion import clone
from adjoint.ops.arranging.shape import cat, narrow, reshape, transpose
from adjoint.ops.arranging.strided import diagonal
from adjoint.ops.batch_rules import refused
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.comparison import logical_xor
from adjoint.ops.elementwise.complex_numbers import complex_, imag, real
from adjoint.ops.elementwise.powers import sqrt
from adjoint.ops.elementwise.selection import clamp
from adjoint.ops.matrices.matmul import matmul
from adjoint.ops.op import composite, general
from adjoint.ops.plain_numbers import plain_number
from adjoint.ops.reducing.cumulative import cumsum, widened
from adjoint.ops.reducing.reduction import any, mean, sum
from adjoint.tensors.concrete import has_values

# ---- counts ----


@general(exact_out=True)
def histc(xp: Any, input: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """How many elements lie in each of `bins` equal parts of min … max."""
    if bins <= 0:
        raise RuntimeError(f"bins must be > 0, but got {bins}")
    low, high = float(min), float(max)
    if low > high:
        raise RuntimeError(f"max must be larger than min, but they are {max} and {min}")
    if category_of(input.dtype) != FLOAT:
        raise NotImplementedError(f"histc is not implemented for {input.dtype}: convert it")
    if low == high and input.size and xp.valued():
        low, high = float(input.min()), float(input.max())
    if low == high:
        low, high = low - 1, high + 1
    if not -float("inf") < low <= high < float("inf"):
        raise RuntimeError(f"the range {low} … {high} must be finite, its ends in order")
    values = widened(input).reshape(-1)  # 16 bits would put an element into another bin
    inside = (values >= low) & (values <= high)
    # So large a number may have no other beside it, and then no width.
    scale = bins / (high - low) if high > low else 0.0
    place = xp.where(inside, (values - low) * scale, 0).astype("int64")
    place = xp.where(inside, xp.clip(place, 0, bins - 1), bins)
    return xp.counted(place, bins + 1)[:bins].astype(input.dtype)


def _refused_counts(grad: Value) -> Value:
    raise RuntimeError("the derivative of bincount is not implemented; see index_add")


@general(
    weights=_refused_counts,
    vmap=refused("bincount()", "use one_hot(input, num_classes).sum(0), or scatter_add"),
)
def bincount(xp: Any, input: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each integer from 0 on occurs, or the sum of its weights."""
    if input.dtype.kind not in "iu":
        raise NotImplementedError(f"bincount is not implemented for {input.dtype}")
    if minlength < 0:
        raise RuntimeError(f"minlength must be >= 0, but is {minlength}")
    if input.ndim != 1 or (input.size and input.min() < 0):
        raise RuntimeError("bincount counts 1-d tensors of integers that are not negative")
    numbers = input if xp.are_indices(input) else input.astype("int64")
    if weights is None:
        return xp.bincount(numbers, minlength=minlength).astype("int64")
    if weights.shape != input.shape:
        raise RuntimeError(f"the weights must have the input's shape {list(input.shape)}")
    kind = "float32" if weights.dtype == "float32" else "float64"
    counts = xp.bincount(numbers, weights=weights, minlength=minlength)
    return counts.astype(kind)


# ---- covariance ----


def _check_weights(name: str, weights: Any, count: int, floating: bool) -> None:
    if weights is None:
        return
    if weights.ndim > 1 or weights.numel() != count:
        raise RuntimeError(f"cov: {name} must be 1-d with one weight for each of {count} samples")
    if (category_of(weights.dtype) >= FLOAT) != floating:
        wanted = "a floating" if floating else "an integer"
        raise RuntimeError(f"cov: {name} must have {wanted} data type, not {weights.dtype}")
    if has_values(weights) and bool(any(weights < 0)):
        raise RuntimeError(f"cov: {name} can't be negative")


@composite
def cov(
    input: Value,
    *,
    correction: int = 1,
    fweights: Value | None = None,
    aweights: Value | None = None,
) -> Value:
    """Covariances of the variables in the rows, whose samples are in the columns."""
    refuse_kinds("cov", input, "b")
    if input.ndim > 2:
        raise RuntimeError(f"cov: expected at most 2 dimensions, got {input.ndim}")
    samples = input if input.ndim == 2 else reshape(input, 1, -1)
    count = samples.shape[1]
    _check_weights("fweights", fweights, count, False)
    _check_weights("aweights", aweights, count, True)
    if category_of(input.dtype) < FLOAT:
        samples = samples * 1.0
    weights = fweights
    if aweights is not None:
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        total: Any = count
        average = mean(samples, 1, True)
        freedom: Any = count - correction
    else:
        total = sum(weights)
        average = sum(samples * weights, 1, True) / total
        freedom = total - correction
        if aweights is not None and correction != 0:
            freedom = total - correction * sum(weights * aweights) / total
    if (weights is None or has_values(weights)) and bool(freedom <= 0):
        warnings.warn("cov: the degrees of freedom is <= 0", stacklevel=2)
    centred = samples - average
    weighted = centred if weights is None else centred * weights
    products = matmul(weighted, conj(transpose(centred, 0, 1)))
    freedom = clamp(freedom, min=0) if weights is not None else max(freedom, 0)
    result = products / freedom
    return reshape(result, ()) if samples.shape[0] == 1 else result


@composite
def corrcoef(input: Value) -> Value:
    """Correlation coefficients of the variables in the rows."""
    refuse_kinds("corrcoef", input, "b")
    covariance = cov(input)
    if not covariance.ndim:
        return covariance / covariance
    variances = diagonal(covariance)
    deviations = sqrt(real(variances) if holds_complex(variances) else variances)
    ratio = covariance / reshape(deviations, -1, 1) / reshape(deviations, 1, -1)
    if not holds_complex(ratio):
        return clamp(ratio, -1, 1)
    parts = [clamp(part(ratio), -1, 1) for part in (real, imag)]
    return complex_(*parts)


# ---- differences and integrals ----


@composite(numpy=True)
def diff(
    input: Value,
    n: int = 1,
    dim: int = -1,
    prepend: Value | None = None,
    append: Value | None = None,
    *,
    out: Value | None = None,
) -> Value:
    """Differences of neighbours along dim, taken n times."""
    if out is not None:  # differences are cast; the input itself is not
        return write_out("diff", diff(input, n, dim, prepend, append), out, n == 0)
    if input.ndim == 0:
        raise RuntimeError("diff: the input must have at least one dimension")
    if n < 0:
        raise RuntimeError(f"diff: n must not be negative, but is {n}")
    place = normal_dim(dim, input.ndim)
    pieces = [piece for piece in (prepend, input, append) if piece is not None]
    for piece in pieces:
        if piece.ndim != input.ndim:
            raise RuntimeError("diff: prepend and append must have the input's number of dims")
    if n == 0:
        return clone(input)
    values = pieces[0] if len(pieces) == 1 else cat(pieces, place)
    for _ in range(n):
        length = values.shape[place] - 1
        if length < 0:
            break
        earlier, later = narrow(values, place, 0, length), narrow(values, place, 1, length)
        values = logical_xor(later, earlier) if values.dtype is bool_ else later - earlier
    return values


def _trapezoids(y: Any, x: Any, dx: Any, dim: int, name: str) -> tuple[Any, Any, int]:
    """The areas between neighbouring samples along dim, what they are times, and the dimension."""
    if y.ndim == 0:
        raise IndexError(f"{name}: y must have at least one dimension")
    if x is not None and dx is not None:
        raise TypeError(f"{name}: give x or dx, not both")
    if isinstance(dx, complex):
        raise RuntimeError(f"{name}: dx must be a real number, got {dx}")
    place = normal_dim(dim, y.ndim)
    if y.dtype is bool_ or (x is not None and x.dtype is bool_):
        raise RuntimeError(f"{name}: bools are no samples; convert them first")
    count = y.shape[place]
    length = count - 1 if count else 0
    sums = narrow(y, place, min(1, count), length) + narrow(y, place, 0, length)
    if x is None:
        return sums, (1 if dx is None else dx) / 2.0, place
    axis = 0 if x.ndim == 1 else normal_dim(dim, x.ndim)
    if x.ndim == 0 or x.shape[axis] != count:
        raise RuntimeError(f"{name}: there must be one x for each of the {count} samples")
    if count == 0:
        return sums, 0.5, place
    widths = diff(x, dim=axis)
    if x.ndim == 1:
        widths = reshape(widths, [length if d == place else 1 for d in range(y.ndim)])
    return sums * widths, 0.5, place


@composite(method=False, also="trapz")
def trapezoid(y: Value, x: Value | None = None, *, dx: float | None = None, dim: int = -1) -> Value:
    """The integral of samples y along dim by the trapezoid rule, at places x or dx apart."""
    areas, scale, place = _trapezoids(y, x, dx, dim, "trapezoid")
    return sum(areas, place) * scale


@composite(method=False)
def cumulative_trapezoid(
    y: Value, x: Value | None = None, *, dx: float | None = None, dim: int = -1
) -> Value:
    """The integrals of samples y up to each place along dim by the trapezoid rule."""
    areas, scale, place = _trapezoids(y, x, dx, dim, "cumulative_trapezoid")
    return cumsum(areas, place) * scale


# ---- slopes ----


def _spacings(spacing: Any, dims: list[int], shape: Any) -> list[Any]:
    """For each dim the distance of samples: a number, or the places of all of them."""
    if not isinstance(spacing, (tuple, list)):
        return [1.0 if spacing is None else _distance(spacing)] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            f"gradient: {len(spacing)} spacings for {len(dims)} dimensions: give one, or one each"
        )
    for dim, places in zip(dims, spacing):
        if getattr(places, "ndim", 0) and tuple(places.shape) != (shape[dim],):
            raise RuntimeError(
                f"gradient: the places of dim {dim} must be a vector of {shape[dim]} numbers, got "
                f"shape {list(places.shape)}"
            )
    return [each if getattr(each, "ndim", 0) else _distance(each) for each in spacing]


def _distance(spacing: Any) -> Any:
    """The distance of samples: a number, also one that a tensor without history holds."""
    return plain_number("gradient", "spacing", spacing, "c")


def _slope_at_edge(near: Any, step: Any, next_step: Any) -> Any:
    """The slope at the first of three samples; steps lead inwards."""
    first, second, third = near
    both = step + next_step
    a, b = -(step + both) / (step * both), both / (step * next_step)
    return a * first + b * second - step / (next_step * both) * third


def _slopes(input: Any, dim: int, spacing: Any, edge_order: int) -> Any:
    """Central differences along dim; at the ends those of edge_order."""
    count = input.shape[dim]

    def part(start: int, length: int = 1) -> Any:
        return narrow(input, dim, start, length)

    if not getattr(spacing, "ndim", 0):
        inner = (part(2, count - 2) - part(0, count - 2)) / (2 * spacing)
        first = second = last = before = spacing
    else:
        across = [count - 1 if d == dim else 1 for d in range(input.ndim)]
        steps = reshape(diff(spacing), across)
        left, right = narrow(steps, dim, 0, count - 2), narrow(steps, dim, 1, count - 2)
        inner = (
            -right / (left * (left + right)) * part(0, count - 2)
            + (right - left) / (left * right) * part(1, count - 2)
            + left / (right * (left + right)) * part(2, count - 2)
        )
        last_place = max(count - 3, 0)
        first, second = narrow(steps, dim, 0, 1), narrow(steps, dim, min(1, count - 2), 1)
        last, before = narrow(steps, dim, count - 2, 1), narrow(steps, dim, last_place, 1)
    if edge_order == 1:
        low, high = (part(1) - part(0)) / first, (part(count - 1) - part(count - 2)) / last
    else:
        low = _slope_at_edge([part(0), part(1), part(2)], first, second)
        high = _slope_at_edge([part(count - d) for d in (1, 2, 3)], -last, -before)
    return cat([low, inner, high], dim)


@composite(method=False)
def gradient(input: Value, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Values:
    """The slope of samples along each of the dims, `spacing` apart or at the places it lists."""
    refuse_kinds("gradient", input, "u")
    if edge_order not in (1, 2):
        raise RuntimeError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    listed = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = [normal_dim(d, input.ndim) for d in listed]
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"gradient: a dimension appears multiple times in {dim}")
    spacings = _spacings(spacing, dims, input.shape)
    for d in dims:
        if input.shape[d] <= edge_order:
            raise RuntimeError(
                f"gradient: edge_order {edge_order} needs {edge_order + 1} samples, but dim {d} "
                f"has {input.shape[d]}"
            )
    return tuple(_slopes(input, d, space, edge_order) for d, space in zip(dims, spacings))
