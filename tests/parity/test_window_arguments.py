"""Convolutions, pooling, borders and other sizes agree with PyTorch for all their arguments."""

import math
from typing import Any

from hypothesis import strategies as st

from tests.parity.layer_trials import (
    Draw,
    Strategy,
    Trial,
    array,
    arrays,
    batches,
    check,
    dtypes,
    flags,
    mostly,
    parametrized,
    some,
    trials,
    whole,
)

SPACES = (1, 2, 3)


def each(values: Strategy, count: int) -> Strategy:
    """One number, or one for each dimension; only one number for a count of 0."""
    return values | st.tuples(*[values] * count) if count else values


def inner(count: int, *sizes: int) -> Strategy:
    """The sizes of `count` dimensions."""
    return st.tuples(*[mostly(sizes or (5, 4, 6), 3, 1)] * count)


# ---- convolutions ----

modes = mostly(["zeros", "reflect", "replicate", "circular"], "mirror")


@st.composite
def convolution(draw: Draw, count: int, transposed: bool = False, lazy: bool = False) -> Trial:
    """Channels in groups, windows of any shape, with or without a batch."""
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels = draw(mostly([2 * groups], 5))
    options: dict[str, Any] = draw(
        some(
            {"kernel_size": each(st.sampled_from([1, 2, 3]), count)},
            stride=each(st.sampled_from([1, 2, 3]), count),
            dilation=each(st.sampled_from([1, 2]), count),
            padding=each(st.integers(0, 2), count),
            bias=flags,
        )
    )
    batch = draw(batches)
    if batch == (0,) and transposed:  # for which PyTorch does not look at some of the options
        options.pop("padding", None)
    elif transposed:
        options |= draw(some(output_padding=each(st.integers(0, 1), count)))
        options |= draw(some(padding_mode=mostly(["zeros"], "reflect")))
    else:
        options |= draw(some(padding_mode=modes))
        if draw(st.integers(0, 3)) == 0:
            options["padding"] = draw(mostly(["same", "valid"], "full"))
    options |= {"out_channels": 2 * groups, "groups": groups}
    if not lazy:
        options["in_channels"] = channels
    given = (*batch, 2 * groups, *draw(inner(count)))
    return Trial(options, (array(given),), dtype=draw(dtypes))


CONVOLUTIONS = {
    f"{lazy}Conv{'Transpose' if transposed else ''}{count}d": convolution(
        count, transposed, bool(lazy)
    )
    for count in SPACES
    for transposed in (False, True)
    for lazy in ("", "Lazy")
}


@parametrized(CONVOLUTIONS)
def test_convolutions(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- pooling ----


def images(count: int, *kinds: str, sizes: Any = (5, 4, 6), channels: Any = (0,)) -> Strategy:
    """Arrays of two channels, with or without a batch; now and then of other dimensions."""
    odd = [*((n,) for n in channels), (2, 2, 1)]
    parts = st.tuples(batches, mostly([(2,)], *odd), inner(count, *sizes))
    return arrays(parts.map(lambda made: sum(made, ())), *kinds)


def pooled(count: int, **more: Strategy) -> Strategy:
    """Options that all pooling layers have, and some more."""
    return some(
        {"kernel_size": each(st.sampled_from([2, 3, 1]), count)},
        stride=each(st.sampled_from([1, 2, 3]), count),
        ceil_mode=flags,
        **more,
    )


padded = mostly([0, 1], 2)
overriding = mostly([None, 3, -2], 0)
norms = st.sampled_from([2, 1, 2.0, 3.0, 0.5, math.inf, -math.inf])
POOLS: dict[str, Strategy] = {}
for n in SPACES:
    over = {"divisor_override": overriding} if n > 1 else {}
    POOLS[f"MaxPool{n}d"] = trials(
        pooled(
            n, padding=each(padded, n), dilation=each(st.integers(1, 2), n), return_indices=flags
        ),
        images(n),
    )
    POOLS[f"AvgPool{n}d"] = trials(
        pooled(n, padding=each(padded, n), count_include_pad=flags, **over), images(n)
    )
    POOLS[f"LPPool{n}d"] = trials(
        pooled(n if n > 1 else 0, norm_type=norms).map(lambda given: {"norm_type": 2, **given}),
        images(n, "positive", "normal"),
    )
    target = each(mostly([2, 3, 1, 7], None if n > 1 else 4), n)
    target |= mostly([2], None)  # nothing empty, which PyTorch can't differentiate
    POOLS[f"AdaptiveAvgPool{n}d"] = trials(some({"output_size": target}), images(n, channels=()))
    POOLS[f"AdaptiveMaxPool{n}d"] = trials(
        some({"output_size": target}, return_indices=flags), images(n)
    )


@parametrized(POOLS)
def test_pools(name: str, trial: Trial) -> None:
    check(name, trial)


@st.composite
def fractional(draw: Draw, count: int) -> Trial:
    """The samples are given, since each library draws its own."""
    options = {"kernel_size": draw(each(st.sampled_from([2, 1, 3]), count))}
    wanted = {
        "output_size": each(st.sampled_from([2, 3, 1]), count) | mostly([2], 9),
        "output_ratio": each(st.sampled_from([0.5, 0.7]), count) | mostly([0.3], 1.0, 0.0),
    }
    for name in draw(mostly([["output_size"], ["output_ratio"]], [*wanted], [])):
        options[name] = draw(wanted[name])
    options |= draw(some(return_indices=flags))
    lead = draw(st.sampled_from([(2,), (1,), ()]))
    options["_random_samples"] = array((*(lead or (1,)), 3, count), "chances")
    return Trial(options, (array((*lead, 3, *draw(inner(count, 5, 6)))),), dtype=draw(dtypes))


@st.composite
def unpooled(draw: Draw, count: int) -> Trial:
    """Elements and distinct places for them, some of which lie outside."""
    options = {"kernel_size": draw(each(st.sampled_from([2, 3]), count))}
    options |= draw(some(stride=each(st.integers(1, 3), count), padding=each(padded, count)))
    lead = (*draw(st.sampled_from([(2,), (1,), ()])), 2)
    sizes = draw(inner(count, 2, 3))
    places = math.prod(sizes)
    spread = draw(mostly([1], 2, 20))
    indices = whole((*lead, 1), 0, 1) + (whole(places, 0, 1) + range(places)) * spread
    lengths = {"output_size": mostly([(4,) * count, (5,) * count], [2, 2, *(4,) * count])}
    call = draw(mostly([{}], draw(some(lengths))))
    inputs = (array((*lead, *sizes)), indices.reshape(*lead, *sizes))
    return Trial(options, inputs, call, dtype=draw(dtypes))


PLACES = {f"FractionalMaxPool{n}d": fractional(n) for n in (2, 3)}
PLACES |= {f"MaxUnpool{n}d": unpooled(n) for n in SPACES}


@parametrized(PLACES)
def test_pools_with_places(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- borders ----


def borders(count: int, *widths: int) -> dict[str, Strategy]:
    """One width, one for each side, or as many as do not go together."""
    sides = [st.sampled_from(widths)] * 2 * count
    return {"padding": sides[0] | st.tuples(*sides) | st.tuples(*sides) | mostly([1], (1, 1, 1))}


BORDERS: dict[str, Strategy] = {}
for n in SPACES:
    worth = {"value": st.sampled_from([0.0, 1.5, -2, 3])}
    BORDERS[f"ZeroPad{n}d"] = trials(some(borders(n, 1, 0, 2, -1)), images(n))
    BORDERS[f"ConstantPad{n}d"] = trials(some({**borders(n, 1, 0, 2, -1), **worth}), images(n))
    BORDERS[f"CircularPad{n}d"] = trials(some(borders(n, 0, 1, 4)), images(n))
    for kind in ("Reflection", "Replication"):
        BORDERS[f"{kind}Pad{n}d"] = trials(some(borders(n, 0, 1, 3)), images(n, channels=()))


@parametrized(BORDERS)
def test_borders(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- other sizes and orders ----


@st.composite
def resized(draw: Draw, count: int, options: Strategy) -> Trial:
    """Images of `count` dimensions, by a size or by a scale."""
    wanted = {
        "size": each(mostly([7, 3, 1], 0), count),
        "scale_factor": each(mostly([2, 0.5, 1.7, 3.0], 0.1), count),
    }
    both = draw(mostly([["size"], ["scale_factor"]], [*wanted], []))
    given = {name: draw(wanted[name]) for name in both} | draw(options)
    lead = (*draw(st.sampled_from([(2,), (1,), (0,), (2,)])), 2)
    return Trial(given, (array((*lead, *draw(inner(count)))),), dtype=draw(dtypes))


methods = mostly(["nearest", "linear", "area", "nearest-exact"], "bicubic", "cubic")
sampled = some(mode=methods, align_corners=mostly([None], False, True))
FITTING = {1: "linear", 2: "bilinear", 3: "trilinear"}


@st.composite
def fitting(draw: Draw) -> Trial:
    """A method that suits the dimensions, mostly."""
    count = draw(st.integers(1, 3))
    options = draw(sampled)
    if options.get("mode") == "linear":
        options["mode"] = draw(mostly([FITTING[count]], "linear"))
        options |= draw(some(align_corners=flags))
    if count == 2 and draw(flags):
        options |= {"mode": "bicubic"} | draw(some(align_corners=flags))
    trial: Trial = draw(resized(count, st.just(options)))
    if "scale_factor" in trial.options:
        trial.options.update(draw(some(recompute_scale_factor=flags)))
    return trial


factor = mostly([2, 1], 3, 0, -1)
shuffled = mostly([(1, 4, 2, 4), (8, 2, 2), (2, 1, 8, 2, 4)], (2, 9, 3, 6), (4, 4))
columns = {
    "dilation": each(st.integers(1, 2), 2),
    "padding": each(st.integers(0, 2), 2),
    "stride": each(st.integers(1, 3), 2),
}


@st.composite
def folded(draw: Draw) -> Trial:
    """As many columns as the output has windows, mostly."""
    options = draw(some({"kernel_size": each(st.sampled_from([2, 1, 3]), 2)}, **columns))
    options["output_size"] = draw(each(st.sampled_from([5, 4, 3]), 2))
    sized = {"dilation": 1, "padding": 0, "stride": 1, **options}
    both = {k: v if isinstance(v, tuple) else (v, v) for k, v in sized.items()}
    names = ("output_size", "kernel_size", "dilation", "padding", "stride")
    counts = [
        max((size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1, 0)
        for size, kernel, dilation, padding, stride in zip(*[both[k] for k in names], strict=True)
    ]
    wrong = draw(st.sampled_from([0, 0, 0, 0, 1]))
    shape = (2 * math.prod(both["kernel_size"]), math.prod(counts) + wrong)
    return Trial(options, (array((*draw(batches), *shape)),), dtype=draw(dtypes))


ORDERS = {
    "Upsample": fitting(),
    "UpsamplingNearest2d": resized(2, some()),
    "UpsamplingBilinear2d": resized(2, some()),
    "PixelShuffle": trials(some({"upscale_factor": factor}), arrays(shuffled)),
    "PixelUnshuffle": trials(some({"downscale_factor": factor}), arrays(shuffled)),
    "ChannelShuffle": trials(some({"groups": factor}), arrays(shuffled | st.just((0, 4, 2, 2)))),
    "Unfold": trials(
        some({"kernel_size": each(st.sampled_from([2, 1, 3]), 2)}, **columns), images(2)
    ),
    "Fold": folded(),
}


@parametrized(ORDERS)
def test_other_sizes_and_orders(name: str, trial: Trial) -> None:
    check(name, trial)
