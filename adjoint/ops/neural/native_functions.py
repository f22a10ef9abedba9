"""Functions of networks as the top level has them, beside those of nn.functional.

The same functions with other arguments: in another order, with reductions and modes as numbers,
and with switches for libraries that play no part here. Where no more than that differs, it is said
by `native=` in the declaration of the function of nn.functional.
"""

import inspect
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from adjoint.call.overriding import answered_elsewhere, offered
from adjoint.dtypes import refuse_kinds
from adjoint.ops.annotations import Value
from adjoint.ops.arranging.shape import cat, reshape, unsqueeze
from adjoint.ops.arranging.writing import index_reduce
from adjoint.ops.declaration import Declaration
from adjoint.ops.elementwise.activation import random_slopes, rrelu
from adjoint.ops.elementwise.powers import rsqrt
from adjoint.ops.elementwise.selection import where
from adjoint.ops.inplace import INPLACE
from adjoint.ops.neural.adaptive_pooling import adaptive_max_pool1d
from adjoint.ops.neural.convolution import batched
from adjoint.ops.neural.dropout import dropped
from adjoint.ops.neural.embedding import (
    embedding,
    in_bags,
    shorten_rows,
)
from adjoint.ops.neural.grid import grid_sample
from adjoint.ops.neural.losses import REDUCTIONS, kl_div, reduced
from adjoint.ops.neural.normalization import (
    batch_normalized,
    group_standardized,
    last_axes,
    layer_standardized,
)
from adjoint.ops.neural.pooling import arranged, max_pool_places
from adjoint.ops.op import composite
from adjoint.ops.reducing.cumulative import cumsum, pick_along
from adjoint.ops.reducing.sorting import as_index
from adjoint.ops.signatures import Shown


def reduction_word(name: str, number: Any) -> str:
    """The word for the number of a reduction."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(
            f"{name}(): reduction must be 0 (none), 1 (mean) or 2 (sum), not {number!r}; "
            f"nn.functional.{name} takes words"
        )
    if not 0 <= number < len(REDUCTIONS):
        raise RuntimeError(f"{name}(): there is no reduction {number}: 0 none, 1 mean, 2 sum")
    return REDUCTIONS[number]


def reordered(declared: Declaration) -> Callable[..., Any]:
    """A function of nn.functional with its arguments in the order that `native` names.

    Those in brackets may be left out. A reduction is given as a number, 0 if not at all; a name
    that the function does not have is taken and has no effect.
    """
    name, function = declared.name, declared.function
    needed, _, others = declared.native.rstrip("]").partition("[")
    required = needed.split()
    order = required + others.split()

    def call(*args: Any, **kwargs: Any) -> Any:
        if answered_elsewhere(args, kwargs):
            return offered(call, args, kwargs)
        if len(args) > len(order):
            raise TypeError(f"{name}() takes {len(order)} arguments, got {len(args)}")
        given = dict(zip(order, args))
        for key, value in kwargs.items():
            if key not in order or key in given:
                raise TypeError(f"{name}({', '.join(order)}): '{key}' is unknown or given twice")
            given[key] = value
        absent = [key for key in required if key not in given]
        if absent:
            raise TypeError(f"{name}() misses {', '.join(absent)}")
        if "reduction" in order:
            given["reduction"] = reduction_word(name, given.get("reduction", 0))
        return function(**{key: given[key] for key in given if key in own})

    def signature() -> Signature:
        found = inspect.signature(function)
        parameters = [_parameter(found.parameters.get(key), key, key in required) for key in order]
        return found.replace(parameters=parameters)

    own = _names(function)
    call.__name__ = call.__qualname__ = name
    call.__module__ = "adjoint"  # where pickle finds it
    call.__doc__ = f"nn.functional.{name} of ({', '.join(order)})."
    call.__wrapped__ = Shown(function, signature)  # type: ignore[attr-defined]  # of any function
    return call


def _names(function: Any) -> set[str]:
    code = inspect.unwrap(function).__code__
    return set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _parameter(own: Parameter | None, name: str, required: bool) -> Parameter:
    """A parameter of the reordered function, from that of the function, if it has it."""
    default = Parameter.empty if required or own is None else own.default
    annotation = bool if own is None else own.annotation
    if name == "reduction":
        default, annotation = (Parameter.empty if required else 0), int
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


# ---- losses ----


@composite(name="adjoint_kl_div", method=False)
def native_kl_div(
    input: Value, target: Value, reduction: int = 0, *, log_target: bool = False
) -> Value:
    """The divergence of a distribution, given by logarithms, from a target distribution."""
    losses = kl_div(input, target, reduction="none", log_target=log_target)
    return reduced(losses, reduction_word("kl_div", reduction))


# ---- tables of vectors ----


@composite(name="adjoint_embedding", method=False)
def native_embedding(
    weight: Value,
    indices: Value,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Value:
    """The row of weight for each index; a padding_idx below 0 is none."""
    padding = None if padding_idx < 0 else padding_idx
    return embedding(indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)


_BAG_MODES = ("sum", "mean", "max")


@composite(name="adjoint_embedding_bag", method=False)
def native_embedding_bag(
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Value, Value, Value, Value]:
    """embedding_bag, the bag of each index, the sizes of bags, and those or the largest rows."""
    if mode not in range(len(_BAG_MODES)):
        raise RuntimeError(f"embedding_bag(): there is no mode {mode}: 0 sum, 1 mean, 2 max")
    rest = (sparse, per_sample_weights, include_last_offset, padding_idx)
    word = _BAG_MODES[mode]
    made = in_bags(indices, weight, offsets, None, 2.0, scale_grad_by_freq, word, *rest, True)
    out, flat, bags, sizes = made
    return out, bags, sizes, sizes if word == "mean" else _largest_rows(weight, flat, bags, out)


def _largest_rows(weight: Any, flat: Any, bags: Any, out: Any) -> Any:
    """For each element of the largest of bags, the first row that it is from; 0 of empty bags."""
    found = weight.detach()[flat] == out.detach()[bags]
    count = flat.shape[0]
    order = where(found, unsqueeze(cumsum(flat * 0 + 1, 0) - 1, 1), count)
    start = bags.new_full(tuple(out.shape), count)
    first = index_reduce(start, 0, bags, order, "amin")
    return cat([flat, flat.new_zeros((1,))])[first]


@composite(method=False)
def embedding_renorm_(weight: Value, indices: Value, max_norm: float, norm_type: float) -> Value:
    """Scale down, in place, the rows of weight that indices name and that exceed max_norm."""
    shorten_rows(weight, as_index(indices), max_norm, norm_type)
    return weight


# ---- functions that answer places too ----


@composite(name="adjoint_adaptive_max_pool1d", method=False)
def native_adaptive_max_pool1d(input: Value, output_size: Any) -> tuple[Value, Value]:
    """The largest elements of output_size windows that cover all, and where they are."""
    values, places = adaptive_max_pool1d(input, output_size, return_indices=True)
    return values, places


@composite(method=False)
def max_pool1d_with_indices(
    input: Value,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Value, Value]:
    """The largest element of each window, and where it is."""
    given = arranged("max_pool1d", input, kernel_size, stride, padding, dilation, ceil_mode)
    places = batched(lambda images: max_pool_places(images, *given), input, 1)
    return pick_along(input, places, -1), places  # what is found once need not be looked for again


# ---- what draws random numbers ----


@composite(method=False)
def rrelu_(
    input: Value,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Value:
    """In-place form of rrelu."""
    if training:
        return input.copy_(rrelu(input, lower, upper, training, generator))
    return INPLACE["leaky_relu_"](input, random_slopes(input, lower, upper, training))


@composite(method=False)
def alpha_dropout_(input: Value, p: float, train: bool) -> Value:
    """In-place form of alpha_dropout."""
    return dropped(input, p, train, True, False, True)


@composite(method=False)
def feature_dropout_(input: Value, p: float, train: bool) -> Value:
    """In-place form of feature_dropout."""
    return dropped(input, p, train, True, True, False)


@composite(method=False)
def feature_alpha_dropout_(input: Value, p: float, train: bool) -> Value:
    """In-place form of feature_alpha_dropout."""
    return dropped(input, p, train, True, True, True)


# ---- places of images ----

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _sampled(
    name: str, input: Any, grid: Any, mode: int, padding: int, align_corners: bool, ndim: int
) -> Any:
    """grid_sample with its modes as numbers, for inputs of one number of dimensions."""
    if input.ndim != ndim:
        raise RuntimeError(f"{name}(): expected input of {ndim} dimensions, got {input.ndim}")
    return grid_sample(input, grid, _MODES[mode], _PADDINGS[padding], align_corners)


@composite(method=False)
def grid_sampler(
    input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    """grid_sample with its modes as numbers, from bilinear and zeros on."""
    rest = (interpolation_mode, padding_mode, align_corners)
    return _sampled("grid_sampler", input, grid, *rest, input.ndim)


@composite(method=False)
def grid_sampler_2d(
    input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    """Images read at the places of a grid; modes are numbers, from bilinear and zeros on."""
    refuse_kinds("grid_sampler_2d", input, "biu")
    return _sampled(
        "grid_sampler_2d", input, grid, interpolation_mode, padding_mode, align_corners, 4
    )


@composite(method=False)
def grid_sampler_3d(
    input: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    """Volumes read at the places of a grid; modes are numbers, from bilinear and zeros on."""
    refuse_kinds("grid_sampler_3d", input, "biu")
    return _sampled(
        "grid_sampler_3d", input, grid, interpolation_mode, padding_mode, align_corners, 5
    )


# ---- normalisations with their statistics ----


@composite(method=False)
def native_layer_norm(
    input: Value, normalized_shape: Any, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value]:
    """layer_norm, the mean, and 1 over the deviation."""
    refuse_kinds("native_layer_norm", input, "bciu")
    axes = last_axes("native_layer_norm", input, normalized_shape, weight, bias)
    out, centre, spread = layer_standardized(input, weight, bias, axes, eps)
    kind = input.dtype if weight is None else weight.dtype
    mean, deviation = centre.detach(), rsqrt(spread.detach() + eps)
    return (
        (out, mean, deviation) if kind == mean.dtype else (out, mean.to(kind), deviation.to(kind))
    )


@composite(method=False)
def native_group_norm(
    input: Value,
    weight: Value | None,
    bias: Value | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Value, Value, Value]:
    """group_norm, the mean of each group, and 1 over its deviation."""
    refuse_kinds("native_group_norm", input, "bciu")
    images = reshape(input, (N, C, HxW))
    out, centre, spread = group_standardized(images, weight, bias, group, eps)
    kind = input.dtype if weight is None else weight.dtype
    means, deviations = (value.to(kind) for value in (centre, rsqrt(spread + eps)))
    return reshape(out, tuple(input.shape)), means, deviations


@composite(method=False)
def native_batch_norm(
    input: Value,
    weight: Value | None,
    bias: Value | None,
    running_mean: Value | None,
    running_var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Value, Value, Value]:
    """batch_norm, and in training the mean of each channel and 1 over its deviation."""
    out, centre, spread = batch_normalized(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if centre is None:
        nothing = input.new_zeros((0,))
        return out, nothing, nothing
    kind = input.dtype if weight is None else weight.dtype
    statistics = (centre, rsqrt(spread + eps))
    means, deviations = (reshape(value, (-1,)).detach().to(kind) for value in statistics)
    return out, means, deviations
