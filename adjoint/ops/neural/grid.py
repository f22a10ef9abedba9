"""Images read at any places: grid_sample, and grids of affine maps."""

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

from adjoint.backends.numpy import host
from adjoint.call.half_precision import is_half
from adjoint.call.rule import FOLD, FRONT
from adjoint.dtypes import float32, refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import contiguous, to
from adjoint.ops.arranging.shape import (
    cat,
    flatten,
    reshape,
    stack,
    transpose,
)
from adjoint.ops.elementwise.arithmetic import abs, fmod
from adjoint.ops.elementwise.comparison import isnan
from adjoint.ops.elementwise.rounding import floor, round
from adjoint.ops.elementwise.selection import clamp, nan_to_num, where
from adjoint.ops.neural.resampling import cubic_weights
from adjoint.ops.op import Op, composite, general, linear, multilinear
from adjoint.ops.same_dtype import same_kind
from adjoint.ops.shared_rules import zero_of
from adjoint.tensors.core import TensorCore
from adjoint.tensors.tensor import Tensor

# ---- coordinates ----


def _pixels(places: Any, size: int, align: bool) -> Any:
    """Coordinates from -1 to 1 as those of pixels."""
    if align:
        return (places + 1) * ((size - 1) / 2)
    return ((places + 1) * size - 1) / 2


def _listed(grid: Any, count: int) -> Any:
    """The places of a grid as a list for each image."""
    return reshape(grid, (grid.shape[0], math.prod(grid.shape[1:-1]), count))


def _coordinates(grid: Any, sizes: Any, align: bool) -> list[Any]:
    """The coordinates of the places of a grid among pixels, a row for each dimension."""
    listed = _listed(grid, len(sizes))
    places = [listed[..., d] for d in range(len(sizes))]
    return [_pixels(row, size, align) for row, size in zip(places[::-1], sizes)]  # x comes first


def _as_images(channels: Any, input: Any, grid: Any) -> Any:
    """What was read of each channel, in the order of a grid."""
    return reshape(channels, (*input.shape[:2], *grid.shape[1:-1]))


def _ends(size: int, align: bool) -> tuple[float, int]:
    """Where coordinates are counted back from first, and how far it is to the other end."""
    return (0.0, size - 1) if align else (-0.5, size)


def _reflected(places: Any, size: int, align: bool) -> Any:
    """Coordinates beyond an end counted back from it, as often as needed."""
    low, span = _ends(size, align)
    if span == 0:
        return places * 0
    away = abs(places - low)
    extra = fmod(away, span)
    turns = floor(_fixed(away) / span)
    return where(turns % 2 == 0, extra + low, span - extra + low)


def _bordered(places: Any, size: int, padding_mode: str, align: bool) -> Any:
    """Coordinates moved into the image, unless what is outside counts as zero."""
    if padding_mode == "zeros":
        return places
    if padding_mode == "reflection":
        places = _reflected(places, size, align)
    # On the border itself the gradient is 0, as it is outside.
    inside = (places > 0) & (places < size - 1)
    edge = clamp(_fixed(places), 0, size - 1)
    return where(inside, places, where(isnan(edge), 0.0, edge))  # what is nowhere, at the start


def _speed(places: Any, size: int, padding_mode: str, align: bool) -> Any:
    """How fast a coordinate of pixels, before it is bordered, moves with one from -1 to 1."""
    scale = (size - 1) / 2 if align else size / 2
    if padding_mode == "zeros":
        return scale
    places = seen = _fixed(places)
    speed = zero_of(places) + scale
    if padding_mode == "reflection":
        low, span = _ends(size, align)
        seen = _reflected(places, size, align)
        ahead = (floor(abs(places - low) / max(span, 1)) % 2 == 0) == (places >= low)
        speed = where(ahead, speed, -speed)
    return where((seen > 0) & (seen < size - 1), speed, 0.0)


def _fixed(value: Any) -> Any:
    """A tensor without its history; an array has none."""
    return value.detach() if isinstance(value, Tensor) else value


def _inside(xp: Any, row: Any, size: int) -> tuple[Any, Any]:
    """Which coordinates are in the image, and these as whole numbers, the others as 0."""
    here = (row >= 0) & (row <= size - 1)
    return here, xp.where(here, row, xp.zeros((), row.dtype)).astype("int64")


def _numbers(xp: Any, found: Any, sizes: Any) -> Any:
    """The places of pixels in a flattened image, given those along each dimension."""
    total: Any = 0
    inside: Any = True
    for (here, place), size in zip(found, sizes):
        total = place if inside is True else total * size + place
        inside = here if inside is True else inside & here
    return xp.where(inside, total, math.prod(sizes))


@general(batching=FRONT, home=None)
def pixel_numbers(xp: Any, rows: Sequence[Array], sizes: Any) -> Array:
    """Whole coordinates, a list of arrays, as places in a flattened image; outside, the next."""
    return _numbers(xp, [_inside(xp, row, size) for row, size in zip(rows, sizes)], sizes)


_WHOLE = {4: 1 << 24, 8: 1 << 53}  # by the bytes of a float, up to where it holds whole numbers


def _fast_corners(xp: Any, rows: Any, sizes: Any) -> Any:
    """corner_numbers, computed with as floats: that takes half the time."""
    pairs = []
    for row, size in zip(rows, sizes):
        both = (row, row + 1)
        pairs.append([(each, (each >= 0) & (each <= size - 1)) for each in both])
    outside = xp.asarray(math.prod(sizes), rows[0].dtype)
    corners = []
    with xp.errstate(invalid="ignore"):  # of what is outside, which may be infinite
        for (total, inside), *others in itertools.product(*pairs):
            for (row, here), size in zip(others, sizes[1:]):
                total, inside = total * size + row, inside & here
            corners.append(xp.where(inside, total, outside))
    return xp.stack(corners, -1).astype("int64")


@general(batching=FRONT, home=None)
def corner_numbers(xp: Any, rows: Sequence[Array], sizes: Any) -> Array:
    """pixel_numbers of whole coordinates and those one further, in all combinations."""
    if math.prod(sizes) < _WHOLE.get(rows[0].dtype.itemsize, 0):
        return _fast_corners(xp, rows, sizes)
    pairs = [
        [_inside(xp, row + further, size) for further in (0, 1)] for row, size in zip(rows, sizes)
    ]
    return xp.stack([_numbers(xp, corner, sizes) for corner in itertools.product(*pairs)], -1)


# ---- sums of some rows of a table ----


def _in_one(xp: Any, numbers: Any, count: int) -> Any:
    """Numbers of rows of several tables as those of one, in which they follow each other."""
    *lead, _, each = numbers.shape
    starts = xp.arange(math.prod(lead)).reshape(*lead, 1, 1) * count
    return (numbers + starts).reshape(math.prod(numbers.shape[:-1]), each)


def _flat(table: Any) -> Any:
    """Several tables as one."""
    return table.reshape(math.prod(table.shape[:-1]), table.shape[-1])


@multilinear(
    table=lambda grad, table_shape, numbers, weights: dealt_rows(
        grad, numbers, weights, table_shape[-2]
    ),
    weights=lambda grad, table, numbers: matched_rows(table, numbers, grad),
    batching=FRONT,
    home=None,
)
def mixed_rows(xp: Any, table: Array, numbers: Array, weights: Array) -> Array:
    """Sums of the rows of a table that each row of numbers names, weighted."""
    places = _in_one(xp, numbers, table.shape[-2])
    out = xp.mixed_rows(_flat(table), places, weights.reshape(places.shape))
    return out.reshape(*numbers.shape[:-1], table.shape[-1])


@multilinear(
    input=lambda grad, numbers, weights: mixed_rows(grad, numbers, weights),
    weights=lambda grad, input, numbers: matched_rows(grad, numbers, input),
    batching=FRONT,
    home=None,
)
def dealt_rows(xp: Any, input: Array, numbers: Array, weights: Array, count: int) -> Array:
    """A table of `count` rows, to which each of input is added, weighted, where numbers say."""
    *lead, _, width = input.shape
    places = _in_one(xp, numbers, count)
    factors, total = weights.reshape(places.shape), math.prod(lead) * count
    return xp.dealt_rows(_flat(input), places, factors, total).reshape(*lead, count, width)


@multilinear(
    table=lambda grad, table_shape, numbers, other: dealt_rows(
        other, numbers, grad, table_shape[-2]
    ),
    other=lambda grad, table, numbers: mixed_rows(table, numbers, grad),
    batching=FRONT,
    home=None,
)
def matched_rows(xp: Any, table: Array, numbers: Array, other: Array) -> Array:
    """The products of each row of other with the rows of a table that numbers name."""
    places = _in_one(xp, numbers, table.shape[-2])
    return xp.matched_rows(_flat(table), places, _flat(other)).reshape(numbers.shape)


# ---- reading ----


def _table(input: Any) -> Any:
    """The channels of each pixel as a row, and one of zeros for what is outside."""
    rows = transpose(flatten(input, 2), 1, 2)
    return cat([rows, zero_of(rows[:, :1])], 1)


def _mixed(table: Any, corners: Any, weights: Any, sizes: Any) -> Any:
    """The weighted sums of pixels at corners, lists of whole coordinates."""
    numbers = [pixel_numbers([row.detach() for row in corner], sizes) for corner in corners]
    return mixed_rows(table, stack(numbers, -1), stack(weights, -1))


class _Corners:
    """The pixels around each place of a grid, two along each dimension, and how they weigh."""

    def __init__(self, input: Any, grid: Any, padding_mode: str, align: bool) -> None:
        self.sizes = tuple(input.shape[2:])
        self.pixels = _coordinates(grid, self.sizes, align)
        self.border = padding_mode, align
        rows = [_bordered(row, n, *self.border) for row, n in zip(self.pixels, self.sizes)]
        lows = [floor(_fixed(row)) for row in rows]
        self.pairs = [(1 - part, part) for part in map(operator.sub, rows, lows)]
        self.numbers = corner_numbers(lows, self.sizes)

    def weights(self, without: int = -1) -> list[Any]:
        """The weight of each corner; without a dimension, how fast it moves with that one."""
        pairs: list[Any] = list(self.pairs)
        if without >= 0:
            pairs[without] = (-1, 1)
        return [functools.reduce(operator.mul, corner) for corner in itertools.product(*pairs)]

    def speeds(self) -> list[Any]:
        """How fast the coordinates of pixels move with those of the grid."""
        return [_speed(row, size, *self.border) for row, size in zip(self.pixels, self.sizes)]

    def moved_weights(self, grid_tangent: Any) -> Any:
        """The tangents of all weights, from that of the grid."""
        steps = [grid_tangent[..., d] for d in reversed(range(len(self.sizes)))]
        moves = [step * speed for step, speed in zip(steps, self.speeds())]
        terms = [[w * move for w in self.weights(d)] for d, move in enumerate(moves)]
        return stack([functools.reduce(operator.add, each) for each in zip(*terms)], -1)

    def by_grid(self, by_weights: Any) -> Any:
        """The gradient by the places of a grid, x first, from that by all weights."""
        found = []
        for d, speed in enumerate(self.speeds()):
            terms = [by_weights[..., k] * weight for k, weight in enumerate(self.weights(d))]
            found.append(functools.reduce(operator.add, terms) * speed)
        return stack(found[::-1], -1)


def _linear_slopes(
    grad: Any, input: Any, grid: Any, padding_mode: str, align: bool, needs: Any
) -> tuple[Any, Any]:
    """The gradients of what is read between pixels, by the images and by the grid."""
    corners = _Corners(input, grid, padding_mode, align)
    channels = transpose(flatten(grad, 2), 1, 2)
    by_input = by_grid = None
    if needs[0]:
        size = math.prod(corners.sizes)
        table = dealt_rows(channels, corners.numbers, stack(corners.weights(), -1), size + 1)
        by_input = reshape(transpose(table[:, :size], 1, 2), tuple(input.shape))
    if needs[1]:
        found = corners.by_grid(matched_rows(_table(input), corners.numbers, channels))
        by_grid = reshape(found, tuple(grid.shape))
    return by_input, by_grid


def _linear_tangent(
    input: Any, grid: Any, padding_mode: str, align: bool, input_tangent: Any, grid_tangent: Any
) -> Any:
    parts = []
    if input_tangent is not None:
        sampled = plane_sampled if input.ndim == 4 else volume_sampled
        parts.append(sampled(input_tangent, grid, padding_mode, align))
    if grid_tangent is not None:
        corners = _Corners(input, grid, padding_mode, align)
        listed = _listed(grid_tangent, len(corners.sizes))
        out = mixed_rows(_table(input), corners.numbers, corners.moved_weights(listed))
        parts.append(_as_images(transpose(out, 1, 2), input, grid))
    return functools.reduce(operator.add, parts)


def _linear_rule(
    grad: Value, input: Value, grid: Value, padding_mode: str, align: bool, needs: Any
) -> Any:
    if isinstance(grad, TensorCore):
        return _linear_slopes(grad, input, grid, padding_mode, align, needs)
    found = sampled_slopes(grad, input, grid, padding_mode, align, needs)
    return tuple([part if need else None for part, need in zip(found, needs)])


@general(returns="input grid", home=None)
def sampled_slopes(
    xp: Any, grad: Array, input: Array, grid: Array, padding_mode: str, align: bool, needs: Any
) -> tuple[Array, Array]:
    """What _linear_rule answers to arrays, by one loop where the library has it; 0: no need."""
    found = xp.sampled_back(grad, input, grid, padding_mode, align)
    if found is None:
        nothing = xp.zeros((), grad.dtype)
        slopes = _linear_slopes(grad, input, grid, padding_mode, align, needs)
        found = tuple([nothing if s is None else xp.ascontiguousarray(s) for s in slopes])
    by_input, by_grid = found
    return by_input, by_grid


def _linear_sampler(name: str, node_name: str) -> Op:
    """The op under one of PyTorch's names for its node."""

    @general(
        joint=("input grid", _linear_rule),
        jvp=_linear_tangent,
        batching=FOLD,
        name=name,
        node_name=node_name,
        home=None,
        ordered=True,
    )
    def forward(xp: Any, input: Array, grid: Array, padding_mode: str, align: bool) -> Array:
        """Weighted sums of the pixels nearest to the places of a grid, two along each dimension."""
        found = xp.sampled(input, grid, padding_mode, align)
        if found is not None:
            return found
        corners = _Corners(input, grid, padding_mode, align)
        out = mixed_rows(_table(input), corners.numbers, stack(corners.weights(), -1))
        return _as_images(transpose(out, 1, 2), input, grid)

    return forward


plane_sampled = _linear_sampler("plane_sampled", "GridSampler2DBackward0")
volume_sampled = _linear_sampler("volume_sampled", "GridSampler3DBackward0")


def _cubic(table: Any, rows: list[Any], sizes: Any, padding_mode: str, align: bool) -> Any:
    """A weighted sum of the nearest pixels, four along each dimension."""
    lows = [floor(row.detach()) for row in rows]
    factors = [cubic_weights(row - low) for row, low in zip(rows, lows)]
    corners, weights = [], []
    for corner in itertools.product(range(4), repeat=len(rows)):
        weight: Any = 1
        for each, n in zip(factors, corner):
            weight = weight * each[n]
        places = [
            _bordered(low + (n - 1), size, padding_mode, align)
            for low, n, size in zip(lows, corner, sizes)
        ]
        corners.append(places)
        weights.append(weight)
    return _mixed(table, corners, weights, sizes)


def _nearest(table: Any, rows: list[Any], sizes: Any) -> Any:
    """The nearest pixel; the grid has derivative zero."""
    nearest = [round(row) for row in rows]
    return _mixed(table, [nearest], [nan_to_num(rows[0], 0.0, 0.0, 0.0) * 0 + 1], sizes)


def _check_grid(input: Any, grid: Any, mode: str, padding_mode: str) -> None:
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', got {mode!r}"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"grid_sample(): expected padding_mode to be 'zeros', 'border' or 'reflection', got "
            f"{padding_mode!r}"
        )
    fits = input.ndim == grid.ndim in (4, 5) and input.shape[0] == grid.shape[0]
    if not fits or grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sample(): a grid of shape {list(grid.shape)} does not fit images of shape "
            f"{list(input.shape)}"
        )
    same_kind("grid_sample", input, grid=grid)
    if 0 in input.shape[2:]:
        raise RuntimeError(
            f"grid_sample(): expected input to have non-empty spatial dimensions, got shape "
            f"{list(input.shape)}"
        )
    if mode == "bicubic" and input.ndim != 4:
        raise RuntimeError("grid_sample(): bicubic interpolation is for images, not for volumes")


@composite(home="nn.functional")
def grid_sample(
    input: Value,
    grid: Value,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Value:
    """Images read at the places of a grid, from (-1, -1), one corner, to (1, 1), the other."""
    refuse_kinds("grid_sample", input, "biu")
    _check_grid(input, grid, mode, padding_mode)
    if is_half(input.dtype.numpy_dtype):  # rounded once, not for each pixel
        wide = grid_sample(to(input, float32), to(grid, float32), mode, padding_mode, align_corners)
        return to(wide, input.dtype)
    align = bool(align_corners)
    if mode == "bilinear":
        sampled = plane_sampled if input.ndim == 4 else volume_sampled
        return sampled(input, grid, padding_mode, align)
    sizes = tuple(input.shape[2:])
    rows, table = _coordinates(grid, sizes, align), _table(input)
    if mode == "bicubic":
        out = _cubic(table, rows, sizes, padding_mode, align)
    else:
        rows = [_bordered(row, size, padding_mode, align) for row, size in zip(rows, sizes)]
        out = _nearest(table, rows, sizes)
    return _as_images(contiguous(transpose(out, 1, 2)), input, grid)


# ---- grids ----


def _line(xp: Any, size: int, kind: Any) -> Any:
    """Numbers from -1 to 1, from both ends on: each rounded once, as PyTorch's are."""
    if size == 1:
        return xp.zeros(1, kind)
    step = 2 / (size - 1)
    high = float(host.float32(step))
    low = 0.0 if kind == "float32" else step - high  # products of either part are exact
    ahead = xp.arange(size)
    back = ahead[::-1]
    line = xp.where(
        ahead < size // 2, (high * ahead - 1) + low * ahead, (1 - high * back) - low * back
    )
    return line.astype(kind)


def _base_columns(xp: Any, sizes: Any, align: bool, kind: Any) -> list[Any]:
    """The coordinates of all pixels, x first: a list of each."""
    vectors = []
    for size in sizes:
        line = _line(xp, size, kind)
        vectors.append(
            line if align else line * xp.asarray(size - 1, kind) / xp.asarray(size, kind)
        )
    grids = xp.meshgrid(*vectors, indexing="ij")
    return [grid.reshape(-1).astype(kind) for grid in reversed(grids)]


def _base_grid(xp: Any, sizes: Any, align: bool, kind: Any) -> Any:
    """The coordinates of all pixels, and ones: a row for each."""
    columns = _base_columns(xp, sizes, align, kind)
    return xp.stack([*columns, xp.ones_like(columns[0])])


@linear(
    theta=lambda grad, sizes, align: mapped_back(grad, sizes, align),
    node_name="AffineGridGeneratorBackward0",
    batching=FOLD,
    home=None,
)
def mapped_grid(xp: Any, theta: Array, sizes: Any, align: bool) -> Array:
    """The coordinates of all pixels, mapped by each matrix of a batch."""
    lines = _base_columns(xp, sizes, align, theta.dtype)
    mapped = []
    for row in range(len(sizes)):
        # Term after term: a product of matrices would round otherwise than PyTorch's.
        places = lines[0] * theta[:, row, :1]
        for column in range(1, len(sizes)):
            places = places + lines[column] * theta[:, row, column : column + 1]
        mapped.append(places + theta[:, row, -1:])
    return xp.stack(mapped, axis=-1).reshape(theta.shape[0], *sizes, len(sizes))


@linear(input=lambda grad, sizes, align: mapped_grid(grad, sizes, align), batching=FOLD, home=None)
def mapped_back(xp: Any, input: Array, sizes: Any, align: bool) -> Array:
    """For each matrix, its places times the coordinates of all pixels: mapped_grid's gradient."""
    places = input.reshape(input.shape[0], math.prod(sizes), len(sizes))
    base = _base_grid(xp, sizes, align, input.dtype)
    return xp.swapaxes(xp.matmul(base, places), -1, -2)


@composite(home="nn.functional")
def affine_grid(theta: Value, size: Any, align_corners: bool | None = None) -> Value:
    """The grid, for grid_sample, of an affine map of each image of a batch."""
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid(): expected floating point theta, got {theta.dtype}")
    sizes = tuple(int(n) for n in size[2:])
    count = len(sizes)
    if count not in (2, 3):
        raise NotImplementedError(
            f"affine_grid(): size must be of 4 or 5 numbers, images or volumes, got {len(size)}"
        )
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (count, count + 1):
        raise ValueError(
            f"affine_grid(): expected a batch of {count}x{count + 1} matrices, got theta of shape "
            f"{list(theta.shape)}"
        )
    if min(sizes) <= 0:
        raise ValueError(f"affine_grid(): expected non-zero, positive output size, got {size}")
    return mapped_grid(theta, sizes, bool(align_corners))
