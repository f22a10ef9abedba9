"""Normalisations, composed as PyTorch does."""

import math
from typing import Any, Final

from adjoint.autograd.grad_mode import no_grad
from adjoint.call.context import is_recording
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.kept import TooLittleKeptError
from adjoint.compat.aten_steps.places import reshaped
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import uint8
from adjoint.ops.arranging.arrange import pad, repeat
from adjoint.ops.arranging.conversion import contiguous, contiguous_format, finfo, strided
from adjoint.ops.arranging.shape import reshape, squeeze, unsqueeze
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.elementwise.arithmetic import add, div, mul
from adjoint.ops.elementwise.powers import pow, rsqrt
from adjoint.ops.reducing.reduction import mean


def _batch_gradients(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    input, weight, _, running_mean, running_var, training, _, eps = args
    statistics = (running_mean, running_var, results[1], results[2], training, eps)
    return ask("native_batch_norm_backward", grad, input, weight, *statistics, wanted)


def _group_gradients(
    ask: Any, wanted: Any, args: Any, results: Any, grad: Any, by_mean: Any, by_spread: Any
) -> Any:
    input, weight, _, *sizes, _ = args
    if grad is None:
        raise TooLittleKeptError
    if is_recording() or by_mean is not None or by_spread is not None:
        return _by_groups(ask, wanted, args, results, grad, by_mean, by_spread)
    if not grad.is_contiguous():
        grad = ask("clone", grad, memory_format=contiguous_format)
    statistics = (results[1], results[2], weight)
    return ask("native_group_norm_backward", grad, input, *statistics, *sizes, wanted)


def _by_groups(
    ask: Any, wanted: Any, args: Any, results: Any, grad: Any, by_mean: Any, by_spread: Any
) -> Any:
    """The gradients of groups in steps that have gradients, or by what was found of groups, too."""
    input, weight, _, samples, channels, length, groups, eps = args
    width, single = channels // groups, [samples, groups, 1, 1]
    shape, count = [samples, groups, width, length], width * length

    def summed(value: Any, dim: int) -> Any:
        return ask("unsqueeze_", ask("sum", value, [dim]), dim - 4)

    whole = reshaped(ask, input, shape)
    mean, spread = (ask("view", each, single) for each in results[1:])
    slope = reshaped(ask, grad, shape)
    along, total = summed(ask("mul", slope, whole), 3), summed(slope, 3)
    factor = None if weight is None else ask("view", weight, [1, groups, width, 1])
    by_input = by_weight = by_bias = None
    if wanted[0]:
        variance = ask("reciprocal_", ask("mul", spread, spread))
        ask("clamp_min", ask("sub.Scalar", variance, eps), 0)
        cube = ask("mul", ask("mul", spread, spread), spread)
        if by_spread is not None:
            by_spread = ask("view", by_spread, single)
            by_spread = ask("mul", ask("mul.Scalar", cube, -0.5), by_spread)
        own, parts = spread, [along, total]
        if factor is not None:
            own = ask("mul", spread, factor)
        parts = [summed(p if factor is None else ask("mul", p, factor), 2) for p in parts]
        steep = ask("sub", ask("mul", parts[1], mean), parts[0])
        steep = ask("mul.Scalar", ask("mul", steep, cube), 1 / count)
        level = ask("mul.Scalar", ask("mul", parts[1], spread), 1 / count)
        level = ask("sub", ask("mul", ask("neg", steep), mean), level)
        moved = ask("mul", steep, whole)
        by_input = ask("add", ask("add", ask("mul", own, slope), moved), level)
        more = []
        if by_mean is not None:
            by_mean = ask("view", by_mean, single)
        if by_spread is not None:
            apart = ask("sub", whole, ask("mean", whole, [2, 3], True))
            more.append(ask("mul", ask("mul.Scalar", by_spread, 2 / count), apart))
        if by_mean is not None:
            more.append(ask("div.Scalar", ask("expand", by_mean, shape), count))
        if more:
            by_input = ask("add_", by_input, ask("add", *more) if len(more) > 1 else more[0])
        by_input = ask("view", by_input, list(input.shape))
    if wanted[1]:
        by_weight = ask("mul", ask("sub", along, ask("mul", total, mean)), spread)
        by_weight = ask("view", ask("sum", by_weight, [0]), [channels])
    if wanted[2]:
        by_bias = ask("view", ask("sum", total, [0]), [channels])
    return by_input, by_weight, by_bias


_BATCH_NORM: Final = Operation("native_batch_norm", (0, 1, 2), _batch_gradients)
_IN_TRAINING: Final = Operation("native_batch_norm", (0, 1, 2), _batch_gradients, (3, 4))


def _layer_gradients(
    ask: Any, wanted: Any, args: Any, results: Any, grad: Any, *others: Any
) -> Any:
    input, shape, weight, bias, _ = args
    statistics = (results[1], results[2], weight, bias)
    return ask("native_layer_norm_backward", grad, input, shape, *statistics, wanted)


def _statistics_too(name: str, gradients: Any, inputs: Any = (0, 1, 2)) -> Operation:
    """A normalisation that answers what it found, too, which has no gradient then."""

    def steps(ask: Any, wanted: Any, args: Any, results: Any, grad: Any, *others: Any) -> Any:
        if grad is None or any(each is not None for each in others):
            raise TooLittleKeptError
        return gradients(ask, wanted, args, results, grad)

    changing = (3, 4) if "batch" in name else ()
    return Operation(name, inputs, steps, changing, None, (0, 1, 2), (1, 2))


_GROUPS: Final = Operation("native_group_norm", (0, 1, 2), _group_gradients, outputs=(0, 1, 2))
_LAYERS: Final = _statistics_too("native_layer_norm", _layer_gradients, (0, 2, 3))
_BATCHES: Final = _statistics_too("native_batch_norm", _batch_gradients)
LEGIT: Final = _statistics_too("_native_batch_norm_legit", _batch_gradients)


def _whole(operation: Operation) -> Any:
    """A function that is one operation."""

    def function(*args: Any, **named: Any) -> Any:
        if named or not args[0].numel():
            return NotImplemented
        return operation(*args)

    return function


def _batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    count = math.prod(input.shape) // max(input.shape[1], 1) if input.ndim > 1 else 0
    known = running_mean is not None and running_var is not None
    kinds = {each.dtype for each in (input, weight, bias, running_mean) if each is not None}
    if count < 1 + training or not (training or known) or eps <= 0 or len(kinds) > 1:
        return NotImplemented  # refused, or of nothing
    with asking() as ask:
        ask("empty", [0], dtype=uint8, layout=strided, device=input.device)
    rest = (running_mean, running_var, training, momentum, eps)
    return (_IN_TRAINING if training else _BATCH_NORM)(input, weight, bias, *rest)


def _instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    running = (running_mean, running_var)
    known = [each is not None for each in running]
    if any(known) != all(known) or not (use_input_stats or all(known)):
        return NotImplemented
    if input.ndim < 3 or math.prod(input.shape[2:]) <= 1 or not input.numel():
        return NotImplemented
    samples, channels, *sizes = input.shape
    given = [each for each in (*running, weight, bias) if each is not None]
    if any(tuple(each.shape) != (channels,) or each.dtype is not input.dtype for each in given):
        return NotImplemented
    factor, shift, centre, spread = (
        None if each is None else repeat(each, samples) for each in (weight, bias, *running)
    )
    flat = reshape(contiguous(input), (1, samples * channels, *sizes))
    out = _batch_norm(flat, centre, spread, factor, shift, use_input_stats, momentum, eps)
    if out is NotImplemented:
        return NotImplemented
    if all(known) and use_input_stats:
        with no_grad(), asking() as ask:
            for own, moved in zip(running, (centre, spread), strict=True):
                whole = ask("alias", own)
                ask("copy_", whole, ask("mean", ask("view", moved, [samples, channels]), [0]))
    return reshape(out, (samples, channels, *sizes))


def _group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    fits = input.ndim > 1 and num_groups > 0 and input.shape[1] % num_groups == 0
    kinds = {each.dtype for each in (input, weight, bias) if each is not None}
    if not fits or len(kinds) > 1 or not input.numel():
        return NotImplemented
    samples, channels, *sizes = input.shape
    if any(each is not None and tuple(each.shape) != (channels,) for each in (weight, bias)):
        return NotImplemented
    given = [None if each is None else contiguous(each) for each in (input, weight, bias)]
    return _GROUPS(*given, samples, channels, math.prod(sizes), num_groups, eps)[0]


def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    kinds = {each.dtype for each in (input, weight, bias) if each is not None}
    if not isinstance(normalized_shape, (tuple, list)) or len(kinds) > 1 or not input.numel():
        return NotImplemented
    shape = list(normalized_shape)
    fits = shape and list(input.shape[-len(shape) :]) == shape
    if not fits or any(e is not None and list(e.shape) != shape for e in (weight, bias)):
        return NotImplemented
    return _LAYERS(input, shape, weight, bias, eps)[0]


def _rms_norm(
    input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Any:
    count = len(normalized_shape)
    shape = tuple(normalized_shape)
    is_fit = 0 < count <= input.ndim and tuple(input.shape[input.ndim - count :]) == shape
    is_known = weight is None or (tuple(weight.shape), weight.dtype) == (shape, input.dtype)
    if not is_fit or not is_known:
        return NotImplemented
    dims = list(range(input.ndim - 1, input.ndim - 1 - count, -1))
    squares = mean(pow(input, 2), dims, True)
    with no_grad(), asking() as ask:
        ask("add_.Scalar", squares, finfo(input.dtype).eps if eps is None else eps)
    scaled = mul(input, rsqrt(squares))
    return scaled if weight is None else mul(scaled, weight)


def _local_response_norm(
    input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Any:
    if input.ndim < 3 or not input.numel() or size < 1:
        return NotImplemented
    squares = mul(input, input)
    before, after = size // 2, (size - 1) // 2
    if input.ndim == 3:
        channels = pad(unsqueeze(squares, 1), (0, 0, before, after))
        around = squeeze(COMPOSITES["avg_pool2d"](channels, (size, 1), 1), 1)
    else:
        samples, count, first, *_ = input.shape
        volumes = reshape(squares, (samples, 1, count, first, -1))
        volumes = pad(volumes, (0, 0, 0, 0, before, after))
        around = squeeze(COMPOSITES["avg_pool3d"](volumes, (size, 1, 1), 1), 1)
        around = reshape(around, tuple(input.shape))
    return div(input, pow(add(mul(around, alpha), k), beta))


FUNCTIONS: Final[dict[str, Any]] = {
    "rms_norm": _rms_norm,
    "batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
    "local_response_norm": _local_response_norm,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "native_group_norm": _whole(_GROUPS),
    "native_layer_norm": _whole(_LAYERS),
    "native_batch_norm": _whole(_BATCHES),
}
