"""Normalisation: mean 0 and variance 1 over some dimensions, then a scale and a shift."""

import math
import operator
from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.half_precision import is_half
from adjoint.call.rule import LEAD
from adjoint.dtypes import float32, refuse_kinds
from adjoint.ops.annotations import Array, Operand, Value, Values
from adjoint.ops.arranging.conversion import (
    channels_last,
    channels_last_3d,
    contiguous,
    finfo,
    following,
)
from adjoint.ops.arranging.shape import expand, reshape
from adjoint.ops.elementwise.arithmetic import mul
from adjoint.ops.elementwise.powers import rsqrt, square
from adjoint.ops.neural.pooling import average_windows
from adjoint.ops.op import Op, composite, general
from adjoint.ops.reducing.cumulative import narrowed, widened
from adjoint.ops.reducing.reduction import mean, sum
from adjoint.tensors.concrete import has_values
from adjoint.tensors.core import TensorCore

# ---- one step for all of them ----


def _gradients(
    grad: Value,
    along_centre: Any,
    along_spread: Any,
    rest: Any,
    spread: Any,
    weight: Value,
    axes: Any,
    eps: float,
    needs: Any,
) -> tuple[Any, Any]:
    """By input and by weight, from the gradients of the result, of its mean and mean square.

    `along_centre` is None where no mean was taken.
    """
    scale = rsqrt(spread + eps)
    normal = rest * scale
    by_weight = grad * normal if needs[1] else None
    if not needs[0]:
        return None, by_weight
    part = grad if weight is None else grad * weight
    count = max(math.prod(rest.shape[axis] for axis in axes), 1)
    slope = mean(part * normal, axes, True) - along_spread * (2 / count) / square(scale)
    moved = part - normal * slope
    if along_centre is not None:
        moved = moved - (mean(part, axes, True) - along_centre / (scale * count))
    return moved * scale, by_weight


def _standard_rule(
    grads: Values,
    input: Value,
    weight: Value,
    result1: Value,
    result2: Value,
    axes: Any,
    eps: float,
    needs: Any,
) -> Values:
    grad, on_mean, on_variance = grads
    if not isinstance(grad, TensorCore):
        found = standard_slopes(*grads, input, weight, result1, result2, axes, eps, needs)
        return tuple([part if need else None for part, need in zip(found, needs)])
    rest = input - result1
    by_input, by_weight = _gradients(
        grad, on_mean, on_variance, rest, result2, weight, axes, eps, needs
    )
    return by_input, by_weight, grad if needs[2] else None


@general(returns="input weight bias", home=None)
def standard_slopes(
    xp: Any,
    grad: Array,
    on_mean: Array,
    on_variance: Array,
    input: Array,
    weight: Array | None,
    mean: Array,
    variance: Array,
    axes: Any,
    eps: float,
    needs: Any,
) -> tuple[Array, Array, Array]:
    """What _standard_rule answers to arrays, in few passes where the library can; 0: no need."""
    slopes = (grad, on_mean, on_variance)
    if weight is not None or not needs[2]:
        found = xp.standardized_back(slopes, input, weight, mean, variance, axes, eps)
        if found is not None:
            by_input, by_weight, by_bias = found
            return by_input, by_weight, by_bias
    by_input, by_weight = _gradients(*slopes, input - mean, variance, weight, axes, eps, needs)
    nothing = xp.zeros((), grad.dtype)
    shape = grad.shape if weight is None else weight.shape
    return (
        nothing if by_input is None else by_input,
        nothing if by_weight is None else _summed_to(by_weight, shape),
        _summed_to(grad, shape) if needs[2] else nothing,
    )


def _summed_to(array: Any, shape: Any) -> Any:
    """The sums over what was repeated to make an array of `shape` as large."""
    lead = array.ndim - len(shape)
    array = array.sum(axis=tuple(range(lead)))
    return array.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


def _tangents(
    input_tangent: Any,
    weight: Any,
    weight_tangent: Any,
    rest: Any,
    spread: Any,
    axes: Any,
    eps: float,
    centred: bool,
) -> tuple[Any, Any, Any]:
    """The tangents of the result before its shift, of the mean and of the mean square."""
    scale = rsqrt(spread + eps)
    normal = rest * scale
    moved = None if weight_tangent is None else normal * weight_tangent
    if input_tangent is None:
        return moved, None, None
    on_mean = mean(input_tangent, axes, True) if centred else None
    aside = input_tangent - on_mean if centred else input_tangent
    along = mean(rest * aside, axes, True)
    part = scale * (aside - normal * (scale * along))
    part = part if weight is None else part * weight
    return (part if moved is None else moved + part), on_mean, 2 * along


def _standard_tangent(
    input: Value,
    weight: Value,
    axes: Any,
    eps: float,
    result1: Value,
    result2: Value,
    input_tangent: Any,
    weight_tangent: Any,
    bias_tangent: Any,
) -> tuple[Any, Any, Any]:
    moved, on_mean, on_spread = _tangents(
        input_tangent, weight, weight_tangent, input - result1, result2, axes, eps, True
    )
    if bias_tangent is not None:
        moved = expand(bias_tangent, input.shape) if moved is None else moved + bias_tangent
    return moved, on_mean, on_spread


def _root_tangent(
    input: Value,
    weight: Value,
    axes: Any,
    eps: float,
    result1: Value,
    input_tangent: Any,
    weight_tangent: Any,
) -> tuple[Any, Any]:
    moved, _, on_power = _tangents(
        input_tangent, weight, weight_tangent, input, result1, axes, eps, False
    )
    return moved, on_power


def _standardizer(name: str, node_name: str, ordered: Any = True) -> Op:
    """The op under one of PyTorch's names for its node."""

    @general(
        joint=("input weight bias", _standard_rule),
        batching=LEAD,
        jvp=_standard_tangent,
        name=name,
        node_name=node_name,
        returns="output mean variance",
        home=None,
        wide="rules",
        ordered=ordered,
    )
    def forward(
        xp: Any, input: Array, weight: Array | None, bias: Array | None, axes: Any, eps: float
    ) -> tuple[Array, Array, Array]:
        """input with mean 0 and variance 1 over axes, scaled and shifted; its mean and variance."""
        factor, shift = (None if value is None else widened(value) for value in (weight, bias))
        out, centre, spread = xp.standardized(widened(input), factor, shift, axes, eps)
        return narrowed(out, input.dtype), centre, spread

    return forward


layer_standardized = _standardizer("layer_standardized", "NativeLayerNormBackward0")
batch_standardized = _standardizer("batch_standardized", "NativeBatchNormBackward0", "first")


# ---- groups of channels, arranged within the op: recorded, that took longer than the work ----


def _grouped(shape: Any, groups: int) -> tuple[Any, Any, Any]:
    """The shapes of images, of their means and of weights, by groups of channels."""
    width = shape[1] // groups
    size = math.prod(shape[2:])
    return (shape[0], groups, width, size), (shape[0], groups, 1, 1), (1, groups, width, 1)


def _shaped(value: Any, shape: Any) -> Any:
    """A Tensor or an array in another shape; None as it is."""
    return None if value is None else value.reshape(shape)


def _of_channels(slope: Any, shape: Any) -> Any:
    """A gradient by groups of channels as one by each channel."""
    if slope is not None and tuple(slope.shape) != shape:
        slope = sum(slope, (0, 3))
    return _shaped(slope, (math.prod(shape),))


def _group_rule(
    grads: Values,
    input: Value,
    weight: Value,
    result1: Value,
    result2: Value,
    groups: int,
    eps: float,
    needs: Any,
) -> Values:
    images, means, parts = _grouped(input.shape, groups)
    slopes = (_shaped(grads[0], images), *[_shaped(grad, means) for grad in grads[1:]])
    mean, variance = _shaped(result1, means), _shaped(result2, means)
    values = _shaped(input, images), _shaped(weight, parts)
    by_input, *others = _standard_rule(slopes, *values, mean, variance, (2, 3), eps, needs)
    return _shaped(by_input, tuple(input.shape)), *[_of_channels(each, parts) for each in others]


def _group_tangent(
    input: Value,
    weight: Value,
    groups: int,
    eps: float,
    result1: Value,
    result2: Value,
    input_tangent: Any,
    weight_tangent: Any,
    bias_tangent: Any,
) -> tuple[Any, Any, Any]:
    images, means, parts = _grouped(input.shape, groups)
    moved, on_mean, on_spread = _standard_tangent(
        _shaped(input, images),
        _shaped(weight, parts),
        (2, 3),
        eps,
        _shaped(result1, means),
        _shaped(result2, means),
        _shaped(input_tangent, images),
        _shaped(weight_tangent, parts),
        _shaped(bias_tangent, parts),
    )
    each = means[:2]
    return _shaped(moved, tuple(input.shape)), _shaped(on_mean, each), _shaped(on_spread, each)


def _groups_over_batch(
    input_each: Any, weight_each: Any, bias_each: Any, groups: int, eps: float
) -> tuple[Any, Any, Any]:
    batch, *shape = input_each.shape
    images, means, parts = _grouped(shape, groups)
    factors = [_shaped(value, (-1, *parts)) for value in (weight_each, bias_each)]
    found = batch_standardized(_shaped(input_each, (batch, *images)), *factors, (3, 4), eps)
    moments = [_shaped(moment, (batch, *means[:2])) for moment in found[1:]]
    return _shaped(found[0], tuple(input_each.shape)), moments[0], moments[1]


@general(
    joint=("input weight bias", _group_rule),
    vmap=_groups_over_batch,
    jvp=_group_tangent,
    node_name="NativeGroupNormBackward0",
    returns="output mean variance",
    home=None,
    wide="rules",
    ordered=True,
)
def group_standardized(
    xp: Any, input: Array, weight: Array | None, bias: Array | None, groups: int, eps: float
) -> tuple[Array, Array, Array]:
    """Groups of channels with mean 0 and variance 1, scaled and shifted; means and variances."""
    images, means, parts = _grouped(input.shape, groups)
    factor, shift = (None if v is None else widened(v).reshape(parts) for v in (weight, bias))
    found = xp.standardized(widened(input).reshape(images), factor, shift, (2, 3), eps)
    centre, spread = [each.reshape(means[:2]) for each in found[1:]]
    return narrowed(found[0].reshape(input.shape), input.dtype), centre, spread


def _root_rule(
    grads: Values, input: Value, weight: Value, result1: Value, axes: Any, eps: float, needs: Any
) -> Values:
    values = conj(input), conj(result1), conj(weight)
    return _gradients(grads[0], None, grads[1], *values, axes, eps, needs)


@general(
    joint=("input weight", _root_rule),
    batching=LEAD,
    returns="output power",
    node_name="FusedRmsNormBackward0",
    wide="rules",
    home=None,
    jvp=_root_tangent,
    ordered=True,
)
def root_scaled(
    xp: Any, input: Array, weight: Array | None, axes: Any, eps: float
) -> tuple[Any, Any]:
    """input divided by the root of its mean square over axes, times weight; that mean square."""
    whole = xp.copied(widened(input))
    spread = xp.square(whole).mean(axis=axes, keepdims=True)
    factor = None if weight is None else widened(weight)
    return narrowed(xp.rescaled(whole, spread, factor, None, eps), input.dtype), spread


def _check_kinds(name: str, input: Any, **given: Any) -> None:
    """Refuse parameters of another type than input's; to 16-bit input all may be float32."""
    if 0 in input.shape:  # then nothing is computed with them
        return
    kind = input.dtype
    kinds = {value.dtype for value in given.values() if value is not None}
    if not kinds or kinds == {kind} or (kinds == {float32} and is_half(kind.numpy_dtype)):
        return
    found = ", ".join(f"{what} is {v.dtype}" for what, v in given.items() if v is not None)
    raise RuntimeError(
        f"{name}(): mixed dtype: input is {kind}, but {found}; expected all in input's type, or "
        "in float32 if that has 16 bits"
    )


# ---- over the last dimensions ----


def last_axes(name: str, input: Any, shape: Any, *others: Any) -> tuple[int, ...]:
    """The dimensions of a normalized shape; refuses one that is not the end of input's."""
    wanted = tuple(map(operator.index, shape))
    if not wanted or tuple(input.shape[-len(wanted) :]) != wanted:
        raise RuntimeError(
            f"{name}(): normalized_shape {list(wanted)} is not the end of input's shape "
            f"{list(input.shape)}"
        )
    for other in others:
        if other is not None and tuple(other.shape) != wanted:
            raise RuntimeError(
                f"{name}(): weight and bias must be of normalized_shape {list(wanted)}, got "
                f"{list(other.shape)}"
            )
    return tuple(range(input.ndim - len(wanted), input.ndim))


@composite(method=False, also="nn.functional")
def layer_norm(
    input: Value,
    normalized_shape: Any,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
) -> Value:
    """input with mean 0 and variance 1 over its last dimensions, scaled and shifted."""
    refuse_kinds("layer_norm", input, "bciu")
    axes = last_axes("layer_norm", input, normalized_shape, weight, bias)
    _check_kinds("layer_norm", input, weight=weight, bias=bias)
    return layer_standardized(input, weight, bias, axes, eps)[0]


@composite(method=False, also="nn.functional")
def rms_norm(
    input: Value, normalized_shape: Any, weight: Value | None = None, eps: float | None = None
) -> Value:
    """input divided by the root of its mean square over its last dimensions, times weight."""
    if input.ndim < len(normalized_shape):
        raise ValueError(
            f"rms_norm(): input of shape {list(input.shape)} has fewer dimensions than "
            f"normalized_shape {list(normalized_shape)}"
        )
    axes = last_axes("rms_norm", input, normalized_shape, weight)
    if eps is None:
        eps = finfo(float32 if is_half(input.dtype.numpy_dtype) else input.dtype).eps
    return root_scaled(input, weight, axes, eps)[0]


# ---- over channels ----


def _per_channel(value: Any, ndim: int) -> Any:
    """A number for each channel, aligned with dimension 1."""
    return None if value is None else reshape(value, (1, -1, *[1] * (ndim - 2)))


def _check_channels(name: str, input: Any, **given: Any) -> None:
    channels = input.shape[1]
    for what, value in given.items():
        if value is not None and tuple(value.shape) != (channels,):
            raise RuntimeError(
                f"{name}(): {what} must hold a number for each of {channels} channels, got shape "
                f"{list(value.shape)}"
            )


@composite(method=False)
def group_norm(
    input: Value,
    num_groups: int,
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
) -> Value:
    """Each group of channels of a sample with mean 0 and variance 1, scaled and shifted."""
    refuse_kinds("group_norm", input, "bciu")
    if input.ndim < 2:
        raise RuntimeError(f"group_norm(): expected at least 2 dimensions, got {input.ndim}")
    channels = input.shape[1]
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(f"group_norm(): {channels} channels don't make {num_groups} groups")
    _check_channels("group_norm", input, weight=weight, bias=bias)
    _check_kinds("group_norm", input, weight=weight, bias=bias)
    return following(group_standardized(input, weight, bias, num_groups, eps)[0], input)


def _check_running(name: str, input: Any, *running: Any) -> None:
    """Refuse to move statistics that are one for all elements of a batch that vmap makes."""
    for value in running:
        if value is not None and not has_values(input) and has_values(value):
            raise RuntimeError(
                f"{name}(): inside vmap the input is batched, but running_mean and running_var, "
                "which training changes in place, are one for all elements; make the module with "
                "track_running_stats=False, replace it by GroupNorm, call eval(), or give each "
                "element its own by stack_module_state and functional_call"
            )


def _note(running: Any, value: Any, momentum: float) -> None:
    """Move a running statistic towards what was seen."""
    if running is not None:
        running.mul_(1 - momentum).add_(reshape(value.detach(), (-1,)).to(running.dtype) * momentum)


def _with_known_statistics(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, eps: float
) -> Any:
    """Normalised by statistics of earlier batches."""
    if is_half(input.dtype.numpy_dtype):
        given = (input, running_mean, running_var, weight, bias)
        x, mean, spread, scale, shift = (None if t is None else t.to(float32) for t in given)
        return _with_known_statistics(x, mean, spread, scale, shift, eps).to(input.dtype)
    factor = rsqrt(running_var + eps)
    if weight is not None:
        factor = factor * weight
    shift = -running_mean * factor
    if bias is not None:
        shift = shift + bias
    out = mul(input, _per_channel(factor, input.ndim)) + _per_channel(shift, input.ndim)
    out = out.to(input.dtype)
    last = channels_last if input.ndim == 4 else channels_last_3d if input.ndim == 5 else None
    return out if last is not None and input.is_contiguous(last) else contiguous(out)


@composite(
    home="nn.functional",
    native="input weight bias running_mean running_var training momentum eps cudnn_enabled",
)
def batch_norm(
    input: Value,
    running_mean: Value | None,
    running_var: Value | None,
    weight: Value | None = None,
    bias: Value | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Value:
    """Each channel of a batch with mean 0 and variance 1, scaled and shifted.

    In training by the batch's own statistics, towards which the running ones move.
    """
    if eps < 0 or (training and eps == 0):
        raise ValueError(f"batch_norm(): eps must be positive, or 0 unless training, got {eps}")
    return batch_normalized(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )[0]


def batch_normalized(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Any, Any, Any]:
    """batch_norm, and the mean and variance of the batch, None where they play no part."""
    refuse_kinds("batch_norm", input, "ciu")
    if input.ndim < 2:
        if input.ndim and not input.shape[0]:
            return input * 1, None, None
        raise RuntimeError(f"batch_norm(): expected at least 2 dimensions, got {input.ndim}")
    count = math.prod(input.shape) // max(input.shape[1], 1)
    if training and count == 1:
        raise ValueError(
            f"batch_norm(): Expected more than 1 value per channel when training, got input of "
            f"shape {list(input.shape)}"
        )
    given = {"running_mean": running_mean, "running_var": running_var}
    _check_channels("batch_norm", input, **given, weight=weight, bias=bias)
    _check_kinds("batch_norm", input, **given, weight=weight, bias=bias)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "batch_norm(): running_mean and running_var must be given unless training"
            )
        known = _with_known_statistics(input, running_mean, running_var, weight, bias, eps)
        return known, None, None
    _check_running("batch_norm", input, running_mean, running_var)
    axes = (0, *range(2, input.ndim))
    factor, shift = _per_channel(weight, input.ndim), _per_channel(bias, input.ndim)
    out, centre, spread = batch_standardized(input, factor, shift, axes, eps)
    if count:  # of nothing there is nothing to note
        _note(running_mean, centre, momentum)
        _note(running_var, spread * (count / (count - 1)), momentum)
    return out, centre, spread


@composite(
    home="nn.functional",
    native="input weight bias running_mean running_var use_input_stats momentum eps cudnn_enabled",
)
def instance_norm(
    input: Value,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Value | None = None,
    bias: Value | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Value:
    """Each channel of each sample with mean 0 and variance 1, scaled and shifted."""
    refuse_kinds("instance_norm", input, "c")
    count = math.prod(input.shape[2:])
    if use_input_stats and count == 1:
        raise ValueError(
            f"instance_norm(): Expected more than 1 spatial element when training, got input of "
            f"shape {list(input.shape)}"
        )
    given = {"running_mean": running_mean, "running_var": running_var}
    _check_channels("instance_norm", input, **given, weight=weight, bias=bias)
    _check_kinds("instance_norm", input, weight=weight, bias=bias)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "instance_norm(): running_mean and running_var must be given unless use_input_stats"
            )
        known = running_mean.to(input.dtype), running_var.to(input.dtype)
        return _with_known_statistics(input, *known, weight, bias, eps)
    _check_running("instance_norm", input, running_mean, running_var)
    factor, shift = _per_channel(weight, input.ndim), _per_channel(bias, input.ndim)
    axes = tuple(range(2, input.ndim))
    out, centre, spread = batch_standardized(contiguous(input), factor, shift, axes, eps)
    if running_mean is not None and input.shape[0]:
        _note(running_mean, mean(centre, 0), momentum)
        _note(running_var, mean(spread, 0) * (count / max(count - 1, 1)), momentum)
    return out


@composite(home="nn.functional")
def local_response_norm(
    input: Value, size: int, alpha: Operand = 1e-4, beta: Operand = 0.75, k: Operand = 1.0
) -> Value:
    """input divided by a power of the mean square over neighbouring channels."""
    refuse_kinds("local_response_norm", input, "bcu")
    if input.ndim < 3:
        raise ValueError(
            f"local_response_norm(): Expected 3D or higher dimensionality, got {input.ndim}"
        )
    if input.numel() == 0:
        return input
    if size < 1:
        raise RuntimeError(f"local_response_norm(): size must be positive, got {size}")
    channels = input.shape[1]
    flat = reshape(square(input), (input.shape[0], 1, channels, math.prod(input.shape[2:])))
    sides = ((size // 2, (size - 1) // 2), (0, 0))
    means = average_windows(flat, (size, 1), (1, 1), sides, (True, size))
    around = following(reshape(means, tuple(input.shape)), input)
    return input / (around * alpha + k) ** beta
