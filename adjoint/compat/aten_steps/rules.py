"""Ops of which adjoint's rules are made, and layers of narrow numbers, in PyTorch's operations.

Where a backward pass is recorded, a mode sees them; so it does below autocast.
"""

import itertools
import math
from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps, renamed, unseen
from adjoint.compat.aten_steps.kept import beside
from adjoint.compat.aten_steps.places import reshaped
from adjoint.compat.aten_steps.products import STEPS as PRODUCTS, common
from adjoint.creation.factories import tensor
from adjoint.dtypes import bool_, float32, float64, int32, int64
from adjoint.ops.arranging.conversion import contiguous_format
from adjoint.ops.neural.resampling import taps
from adjoint.ops.sampling.random import drawn_as_mask

# ---- numbers ----


def _known(ask: Steps, values: Any, like: Any, kind: Any) -> Any:
    """Numbers that are no one's answer."""
    with unseen():
        found = tensor(values, dtype=kind, device=like.device)
    return ask("lift_fresh", found)


def _copy(ask: Steps, input: Any, shape: Any) -> Any:
    """A tensor spread over a shape, with memory of its own."""
    spread = input if tuple(input.shape) == tuple(shape) else ask("expand", input, list(shape))
    return ask("clone", spread, memory_format=contiguous_format)


def _constant_in(ask: Steps, input: Any, source: Any) -> Any:
    return _copy(ask, input, common(input.shape, source.shape))


def _share_of_larger(ask: Steps, input: Any, other: Any) -> Any:
    above = ask("_to_copy", ask("gt", input, other), dtype=input.dtype)
    return ask("where", ask("eq", input, other), ask("full_like", above, 0.5), above)


def _part_of(ask: Steps, slope: Any, length: Any) -> Any:
    return ask("masked_fill", ask("div", slope, length), ask("eq", length, 0), 0)


def _divided_product(ask: Steps, input: Any, whole: Any, dim: int) -> Any:
    if not input.ndim:
        return ask("ones_like", input)
    place, length = dim % input.ndim, input.shape[dim]
    one = ask("ones_like", ask("slice", input, place, 0, 1))
    before = ask("cat", [one, ask("slice", input, place, 0, length - 1)], place)
    after = ask("cat", [ask("slice", input, place, 1, length), one], place)
    after = ask("flip", ask("cumprod", ask("flip", after, [place]), place), [place])
    return ask("mul", ask("cumprod", before, place), after)


def _drop(ask: Steps, input: Any, p: float, scale: float = 1.0, channels: bool = False) -> Any:
    sizes = [*input.shape[:2], *[1] * (input.ndim - 2)]
    mask = ask("new_empty", input, sizes) if channels else ask("empty_like", input)
    with drawn_as_mask(p):
        mask = ask("bernoulli_.float", mask, *[] if p == 0.5 else [1 - p])
    if scale == 1:
        return mask
    return ask("div_.Scalar", mask, 1 - p) if scale * (1 - p) == 1 else ask("mul_", mask, scale)


# ---- places ----


def _unraveled(ask: Steps, indices: Any, shape: Any) -> Any:
    steps = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    parts = [
        ask("remainder", ask("div", indices, max(step, 1), rounding_mode="floor"), max(size, 1))
        for step, size in zip(steps, shape, strict=True)
    ]
    return ask("stack", parts)


def _fill_diagonal(ask: Steps, input: Any, fill_value: Any, wrap: bool) -> Any:
    return ask("fill_diagonal_", ask("clone", input), fill_value, wrap)


def _equal_rows(ask: Steps, input: Any, shape: Any) -> Any:
    return _copy(ask, ask("unsqueeze", input, input.ndim - 1), shape)


def _above(ask: Steps, input: Any, count: int) -> list[Any]:
    """Where elements above diagonals are, counted along the last two dimensions."""
    place = {**beside(input), "dtype": int64}
    pairs = ask("triu_indices", count, count, 1, **place)
    return [None] * (input.ndim - 2) + [ask("select", pairs, 0, number) for number in (0, 1)]


def _later_pairs(ask: Steps, input: Any) -> Any:
    return ask("index", input, _above(ask, input, input.shape[-1]))


def _placed_pairs(ask: Steps, input: Any, count: int) -> Any:
    zeros = ask("new_zeros", input, [*input.shape[:-1], count, count])
    return ask("index_put", zeros, _above(ask, zeros, count), input)


def _mirrored_pairs(ask: Steps, input: Any, count: int) -> Any:
    found = _placed_pairs(ask, input, count)
    return ask("add", found, ask("transpose", found, found.ndim - 2, found.ndim - 1))


# ---- matrices ----


def _contract(ask: Steps, input: Any, other: Any, left: str, right: str, out: str) -> Any:
    sizes = dict(zip([*left, *right], [*input.shape, *other.shape], strict=True))
    batch = [label for label in left if label in right and label in out]
    summed = [label for label in left if label in right and label not in out]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]

    def arranged(value: Any, labels: str, *groups: list[str]) -> Any:
        order = [labels.index(label) for group in (batch, *groups) for label in group]
        shape = [math.prod(sizes[label] for label in group) for group in (batch, *groups)]
        return reshaped(ask, ask("permute", value, order), shape)

    found = ask("bmm", arranged(input, left, rows, summed), arranged(other, right, summed, columns))
    made = [*batch, *rows, *columns]
    found = ask("view", found, [sizes[label] for label in made])
    return ask("permute", found, [made.index(label) for label in out])


def _eigenpairs(ask: Steps, A: Any, count: int, largest: bool) -> Any:
    found = ask("_linalg_eigh", A)
    if largest:
        found = [ask("flip", each, [-1]) for each in found]
    return tuple([ask("slice", each, each.ndim - 1, 0, count) for each in found])


def _coordinate_product(
    ask: Steps, elements: Any, other: Any, rows: Any, columns: Any, count: int
) -> Any:
    picked = ask("mul", ask("unsqueeze", elements, 1), ask("index_select", other, 0, columns))
    return ask("index_add", ask("new_zeros", picked, [count, other.shape[1]]), 0, rows, picked)


# ---- images ----


def _convolve_filters(
    ask: Steps,
    images: Any,
    other: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    lengths = [before for before, _ in padding]
    if any(before != after for before, after in padding):
        sides = [side for pair in reversed(padding) for side in pair]
        images, lengths = ask("constant_pad_nd", images, sides, 0.0), [0] * len(padding)
    channels = [other.shape[1], images.shape[1] // groups]
    weight = ask("new_empty", images, [*channels, *kernel])
    rest = (stride, lengths, dilation, False, [0] * len(lengths), groups, [False, True, False])
    return ask("convolution_backward", other, images, weight, None, *rest)[1]


def _taps(ask: Steps, input: Any, weight: Any, bias: Any, pad: int) -> Any:
    if bias is None:
        bias = ask("new_zeros", input, [weight.shape[-1]])
    return ask("conv_tbc", input, weight, bias, pad)


def _tap_products(ask: Steps, input: Any, other: Any, pad: int) -> Any:
    frames, count = ask("constant_pad_nd", input, [0, 0, 0, 0, pad, pad], 0.0), other.shape[0]
    rows = reshaped(ask, other, (-1, other.shape[-1]))
    parts = []
    for first in range(frames.shape[0] - count + 1):
        part = reshaped(ask, ask("slice", frames, 0, first, first + count), (-1, input.shape[-1]))
        parts.append(ask("mm", ask("t", part), rows))
    return ask("stack", parts)


def _lines(ask: Steps, input: Any, dim: int, facts: Any, kind: Any) -> Any:
    """Of each neighbour that goes into a resampled dimension the places, and the weights."""
    places, weights = taps(*facts)
    after = input.ndim - dim % input.ndim - 1
    for near, factors in zip(zip(*places), zip(*weights), strict=True):
        rows = [[factor] for factor in factors] if after else factors
        known = _known(ask, rows, input, kind)
        if after > 1:
            known = ask("view", known, [-1, *[1] * after])
        yield _known(ask, near, input, int64), known


def _resample(
    ask: Steps, input: Any, dim: int, kind: str, wanted: int, align: bool, scale: Any
) -> Any:
    place, total = dim % input.ndim, None
    facts = (kind, input.shape[dim], wanted, align, scale)
    for near, factors in _lines(ask, input, dim, facts, input.dtype):
        part = ask("mul", ask("index_select", input, place, near), factors)
        total = part if total is None else ask("add", total, part)
    return total


def _resample_back(
    ask: Steps, input: Any, dim: int, kind: str, size: int, wanted: int, align: bool, scale: Any
) -> Any:
    place, shape = dim % input.ndim, list(input.shape)
    shape[place] = size
    total = ask("new_zeros", input, shape)
    for near, factors in _lines(ask, input, dim, (kind, size, wanted, align, scale), input.dtype):
        total = ask("index_add", total, place, near, ask("mul", input, factors))
    return total


def _sampled(name: str) -> Any:
    borders = ("zeros", "border", "reflection")

    def steps(ask: Steps, input: Any, grid: Any, padding_mode: str, align: bool) -> Any:
        return ask(name, input, grid, 0, borders.index(padding_mode), align)

    return steps


def _corner_numbers(ask: Steps, rows: Any, sizes: Any, further: Any = (0, 1)) -> Any:
    pairs = []
    for row, size in zip(rows, sizes, strict=True):
        moved = [ask("add", row, step) if step else row for step in further]
        pairs.append([(each, _between(ask, each, size)) for each in moved])
    numbers = []
    for corner in itertools.product(*pairs):
        total = inside = None
        for (row, here), size in zip(corner, sizes, strict=True):
            place = ask("masked_fill", row, ask("logical_not", here), 0.0)
            inside = here if inside is None else ask("logical_and", inside, here)
            place = ask("_to_copy", place, dtype=int64)
            total = place if total is None else ask("add", ask("mul", total, size), place)
        outside = ask("logical_not", inside)
        numbers.append(ask("masked_fill", total, outside, math.prod(sizes)))
    return ask("stack", numbers, -1)


def _between(ask: Steps, row: Any, size: int) -> Any:
    return ask("logical_and", ask("ge", row, 0), ask("le", row, size - 1))


def _pixel_numbers(ask: Steps, rows: Any, sizes: Any) -> Any:
    return ask("squeeze", _corner_numbers(ask, rows, sizes, (0,)), -1)


def _in_one(ask: Steps, numbers: Any, count: int) -> Any:
    """The rows that numbers name in the tables of a batch, one below the other."""
    lead = numbers.shape[:-2]
    if lead:
        first = ask("arange", math.prod(lead), **beside(numbers))
        first = ask("view", ask("mul", first, count), [*lead, 1, 1])
        numbers = ask("add", numbers, first)
    return reshaped(ask, numbers, (-1,))


def _named_rows(ask: Steps, table: Any, numbers: Any) -> Any:
    flat = reshaped(ask, table, (-1, table.shape[-1]))
    found = ask("index_select", flat, 0, _in_one(ask, numbers, table.shape[-2]))
    return ask("view", found, [*numbers.shape, table.shape[-1]])


def _mixed_rows(ask: Steps, table: Any, numbers: Any, weights: Any) -> Any:
    found = _named_rows(ask, table, numbers)
    return ask("sum", ask("mul", found, ask("unsqueeze", weights, -1)), [-2])


def _matched_rows(ask: Steps, table: Any, numbers: Any, other: Any) -> Any:
    found = _named_rows(ask, table, numbers)
    return ask("sum", ask("mul", found, ask("unsqueeze", other, -2)), [-1])


def _dealt_rows(ask: Steps, input: Any, numbers: Any, weights: Any, count: int) -> Any:
    *lead, _, width = input.shape
    parts = ask("mul", ask("unsqueeze", input, -2), ask("unsqueeze", weights, -1))
    zeros = ask("new_zeros", input, [math.prod(lead) * count, width])
    places = _in_one(ask, numbers, count)
    found = ask("index_add", zeros, 0, places, ask("view", parts, [-1, width]))
    return ask("view", found, [*lead, count, width])


def _mapped_grid(ask: Steps, theta: Any, sizes: Any, align: bool) -> Any:
    return ask("affine_grid_generator", theta, [theta.shape[0], 1, *sizes], align)


def _mapped_back(ask: Steps, input: Any, sizes: Any, align: bool) -> Any:
    count, place = len(sizes), beside(input)
    base = ask("empty", [input.shape[0], *sizes, count + 1], **place)
    for number, size in enumerate(reversed(sizes)):
        part = ask("select", base, -1, number)
        ends = (-1, 1) if size > 1 else (0, 0)
        line = ask("linspace", *ends, size, **place)
        if not align and size > 1:
            line = ask("div.Scalar", ask("mul.Scalar", line, size - 1), size)
        for _ in range(number):
            line = ask("unsqueeze_", line, -1)
        ask("copy_", part, line)
    ask("fill_.Scalar", ask("select", base, -1, count), 1)
    whole = [input.shape[0], math.prod(sizes)]
    columns = ask("transpose", ask("view", base, [*whole, count + 1]), 1, 2)
    found = ask("bmm", columns, reshaped(ask, input, (*whole, count)))
    return ask("transpose", found, 1, 2)


# ---- windows by chance ----


def _random_windows(ask: Steps, samples: Any, sizes: Any, wanted: Any, kernel: Any) -> Any:
    first, axes = None, len(sizes)
    wide = ask("_to_copy", samples, dtype=float64)
    for axis, (size, count, width) in enumerate(zip(sizes, wanted, kernel, strict=True)):
        offset = ask("select", wide, -1, axes - 1 - axis if axes == 2 else axis)
        gap, last = (size - width) / max(count - 1, 1), size - width
        offset = ask("unsqueeze", offset, -1)
        moved = ask("add", offset, ask("arange", count, **beside(wide)))
        place = ask("floor", ask("mul", moved, gap))
        place = ask("sub", place, ask("floor", ask("mul", offset, gap)))
        place = ask("slice", ask("_to_copy", place, dtype=int64), 2, 0, count - 1)
        end = ask("new_full", place, [*place.shape[:2], 1], last)
        place = ask("cat", [place, end], 2)
        if first is not None:
            lines = ask("unsqueeze", ask("mul", first, size), -1)
            place = ask("add", lines, ask("unsqueeze", place, 2))
            place = ask("view", place, [*place.shape[:2], -1])
        first = place
    is_narrow = math.prod(sizes) < 1 << 31
    return ask("_to_copy", first, dtype=int32) if is_narrow else first


def _greatest_at(ask: Steps, input: Any, starts: Any, inner: Any, sizes: Any) -> Any:
    count = len(sizes)
    near = _known(ask, list(inner), starts, int64)
    starts = ask("_to_copy", starts, dtype=int64)
    places = ask("add", ask("unsqueeze", starts, -1), near)
    flat = reshaped(ask, input, (*input.shape[:-count], -1))
    lines = ask("view", places, [*places.shape[:2], -1])
    each = ask("view", ask("gather", flat, -1, lines), list(places.shape))
    values, order = ask("max", each, -1)
    places = ask("squeeze", ask("gather", places, -1, ask("unsqueeze", order, -1)), -1)
    return tuple([ask("view", e, [*e.shape[:-1], *sizes]) for e in (values, places)])


# ---- attention ----


def _score_slope(ask: Steps, slope: Any, value: Any, mean: Any, weights: Any) -> Any:
    turned = ask("transpose", value, value.ndim - 2, value.ndim - 1)
    found = PRODUCTS["matmul"](ask, slope, turned)
    level = ask("sum", ask("mul", slope, mean), [-1], True)
    return ask("mul", ask("sub", found, level), weights)


def _lower_mask(ask: Steps, like: Any, rows: int, columns: int) -> Any:
    return ask("tril", ask("new_ones", like, [rows, columns], dtype=bool_))


def _attend(
    ask: Steps, query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool
) -> Any:
    scores = ask("mul", query, scale)
    turned = ask("transpose", key, key.ndim - 2, key.ndim - 1)
    scores = PRODUCTS["matmul"](ask, scores, turned)
    if causal:
        mask = _lower_mask(ask, query, *scores.shape[-2:])
    if mask is not None and mask.dtype is bool_:
        scores = ask("masked_fill", scores, ask("logical_not", mask), -math.inf)
    elif mask is not None:
        scores = ask("add", scores, mask)
    return PRODUCTS["matmul"](ask, ask("_safe_softmax", scores, -1), value)


# ---- losses ----


def _shares(ask: Steps, target: Any, ignore_index: int, kind: Any) -> Any:
    """What each row counts for in the mean over the last dimension."""
    seen = ask("_to_copy", ask("ne", target, ignore_index), dtype=kind)
    return ask("div", seen, ask("sum", seen, [-1], True))


def _rows(ask: Steps, target: Any, ignore_index: int) -> Any:
    """The places of the classes that count along a last dimension."""
    known = ask("masked_fill", target, ask("eq", target, ignore_index), 0)
    return ask("unsqueeze", known, -1)


def _spread_losses(ask: Steps, input: Any, target: Any, shape: Any, ignore_index: int) -> Any:
    unknown = ask("eq", target, ignore_index)
    safe = ask("unsqueeze", ask("masked_fill", target, unknown, 0), 1)
    values = ask("masked_fill", ask("neg", input), unknown, 0)
    zeros = ask("new_zeros", input, list(shape))
    return ask("scatter", zeros, 1, safe, ask("unsqueeze", values, 1))


def _spread_mean(ask: Steps, input: Any, target: Any, classes: int, ignore_index: int) -> Any:
    if target.ndim == 1:
        whole = ask("new_empty", input, [*target.shape, classes])
        count = ask("sum", ask("_to_copy", ask("ne", target, ignore_index), dtype=input.dtype))
        return ask("nll_loss_backward", input, whole, target, None, 1, ignore_index, count)
    shares = _shares(ask, target, ignore_index, input.dtype)
    values = ask("mul", ask("neg", ask("unsqueeze", input, -1)), shares)
    zeros = ask("new_zeros", input, [*target.shape, classes])
    rows = _rows(ask, target, ignore_index)
    return ask("scatter", zeros, -1, rows, ask("unsqueeze", values, -1))


def _picked_mean(ask: Steps, input: Any, target: Any, ignore_index: int) -> Any:
    if input.ndim == 2:
        return ask("nll_loss_forward", input, target, None, 1, ignore_index)[0]
    picked = ask("squeeze", ask("gather", input, -1, _rows(ask, target, ignore_index)), -1)
    shares = _shares(ask, target, ignore_index, input.dtype)
    return ask("neg", ask("sum", ask("mul", picked, shares), [-1]))


def _class_slope(ask: Steps, input: Any, target: Any, ignore_index: int) -> Any:
    logarithms = ask("_log_softmax", input, input.ndim - 1, False)
    one = ask("new_ones", input, list(target.shape[:-1]))
    slope = _spread_mean(ask, one, target, input.shape[-1], ignore_index)
    return ask("_log_softmax_backward_data", slope, logarithms, input.ndim - 1, input.dtype)


def _class_turn(ask: Steps, direction: Any, input: Any, target: Any, ignore_index: int) -> Any:
    shares = ask("_softmax", input, input.ndim - 1, False)
    factor = _shares(ask, target, ignore_index, direction.dtype)
    weighted = ask("mul", direction, ask("unsqueeze", factor, -1))
    return ask("_softmax_backward_data", weighted, shares, input.ndim - 1, input.dtype)


def _padded_targets(ask: Steps, targets: Any, lengths: Any, blank: int) -> Any:
    with unseen():
        longest = int(lengths.max()) if lengths.numel() else 0
    columns = ask("arange", longest, **{**beside(targets), "dtype": int64})
    ends = ask("unsqueeze", lengths, 1)
    if targets.ndim == 2:
        rows = ask("slice", targets, 1, 0, longest)
    else:
        starts = ask("sub", ask("unsqueeze", ask("cumsum", lengths, 0), 1), ends)
        places = ask("clamp_max", ask("add", starts, columns), max(targets.shape[0] - 1, 0))
        rows = ask("index", targets, [places])
    rows = ask("masked_fill", rows, ask("ge", columns, ends), blank)
    return ask("_to_copy", rows, dtype=int64)


def _path_losses(ask: Steps, *values: Any) -> Any:
    return ask("_ctc_loss.Tensor", *values)[0]


def _path_slopes(ask: Steps, grad: Any, *values: Any) -> Any:
    *given, blank, zero_infinity, _ = values
    found = ask("_ctc_loss.Tensor", *given, blank, zero_infinity)
    return ask("_ctc_loss_backward.Tensor", grad, *given, *found, blank, zero_infinity)


# ---- bags ----


def _row_factors(ask: Steps, like: Any, indices: Any, count: int) -> Any:
    flat = reshaped(ask, indices, (-1,))
    times = ask("index_select", ask("bincount", flat, None, count), 0, flat)
    times = ask("_to_copy", times, dtype=like.dtype)
    shares = ask("view", ask("reciprocal", times), list(indices.shape))
    return ask("unsqueeze", shares, -1)


def _bag_places(ask: Steps, bags: Any, counted: Any, count: int) -> Any:
    kept = ask("squeeze", ask("nonzero", counted), 1)
    owners = ask("index_select", bags, 0, kept)
    sizes = ask("bincount", owners, None, count)
    starts = ask("sub", ask("cumsum", sizes, 0), sizes)
    ranks = ask("arange", kept.shape[0], **beside(sizes))
    ranks = ask("sub", ranks, ask("index_select", starts, 0, owners))
    with unseen():
        longest = int(sizes.max()) if count else 0
    table = ask("new_full", kept, [count, longest + 1], -1)
    return ask("index_put", table, [owners, ranks], kept)


# ---- layers of narrow numbers ----


def _root_scaled(ask: Steps, input: Any, weight: Any, axes: Any, eps: float) -> Any:
    wide = input.dtype if input.dtype in (float32, float64) else float32
    whole = input if wide is input.dtype else ask("_to_copy", input, dtype=wide)
    spread = ask("mean", ask("pow", whole, 2), list(axes), True)
    scaled = ask("mul", whole, ask("rsqrt", ask("add.Scalar", spread, eps)))
    if weight is not None:
        scaled = ask("mul", scaled, weight)
    return scaled if wide is input.dtype else ask("_to_copy", scaled, dtype=input.dtype), spread


def _lstm_gates(ask: Steps, gates: Any, cell: Any) -> Any:
    parts = ask("unsafe_split", gates, cell.shape[-1], gates.ndim - 1)
    entering, kept, shown = (ask("sigmoid", parts[n]) for n in (0, 1, 3))
    following = ask("mul", entering, ask("tanh", parts[2]))
    following = ask("add", ask("mul", kept, cell), following)
    return ask("mul", shown, ask("tanh", following)), following


def _gru_gates(ask: Steps, from_input: Any, from_hidden: Any, state: Any) -> Any:
    width = state.shape[-1]
    given, own = (ask("unsafe_split", e, width, e.ndim - 1) for e in (from_input, from_hidden))
    reset, update = (ask("sigmoid", ask("add", given[n], own[n])) for n in (0, 1))
    new = ask("tanh", ask("add", given[2], ask("mul", reset, own[2])))
    return ask("add", ask("mul", ask("sub", state, new), update), new)


STEPS: Final[dict[str, Any]] = {
    "transfer": lambda ask, input, where, origin: ask("_to_copy", input, device=where),
    "constant_in": _constant_in,
    "share_of_larger": _share_of_larger,
    "part_of": _part_of,
    "near_zero": lambda ask, input, bound: ask("le", ask("abs", input), bound),
    "mish_back": renamed("mish_backward"),
    "gelu_back": lambda ask, slope, input, kind: ask(
        "gelu_backward", slope, input, approximate=kind
    ),
    "divided_product": _divided_product,
    "dropout_mask": _drop,
    "unraveled": _unraveled,
    "fill_diagonal": _fill_diagonal,
    "equal_rows": _equal_rows,
    "later_pairs": _later_pairs,
    "placed_pairs": _placed_pairs,
    "mirrored_pairs": _mirrored_pairs,
    "euclidean": renamed("_euclidean_dist"),
    "pair_distances": renamed("_pdist_forward"),
    "contract": _contract,
    "eigenpairs": _eigenpairs,
    "eigenvalues": lambda ask, A: ask("linalg_eig", A)[0],
    "coordinate_product": _coordinate_product,
    "convolve_filters": _convolve_filters,
    "taps": _taps,
    "tap_products": _tap_products,
    "resample": _resample,
    "resample_back": _resample_back,
    "plane_sampled": _sampled("grid_sampler_2d"),
    "volume_sampled": _sampled("grid_sampler_3d"),
    "corner_numbers": _corner_numbers,
    "pixel_numbers": _pixel_numbers,
    "mixed_rows": _mixed_rows,
    "matched_rows": _matched_rows,
    "dealt_rows": _dealt_rows,
    "mapped_grid": _mapped_grid,
    "mapped_back": _mapped_back,
    "random_windows": _random_windows,
    "greatest_at": _greatest_at,
    "score_slope": _score_slope,
    "lower_mask": _lower_mask,
    "attend": _attend,
    "spread_losses": _spread_losses,
    "spread_mean": _spread_mean,
    "picked_mean": _picked_mean,
    "class_slope": _class_slope,
    "class_turn": _class_turn,
    "padded_targets": _padded_targets,
    "path_losses": _path_losses,
    "path_slopes": _path_slopes,
    "row_factors": _row_factors,
    "bag_places": _bag_places,
    "root_scaled": _root_scaled,
    "lstm_gates": _lstm_gates,
    "gru_gates": _gru_gates,
}
