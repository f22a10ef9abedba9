"""Activations: relu and its relatives."""

import math
from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.rule import FRONT
from adjoint.dtypes import FLOAT, category_of, from_numpy_dtype, refuse_kinds
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.shape import cat, narrow, reshape
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.arithmetic import abs, div, mul, sub
from adjoint.ops.elementwise.powers import exp
from adjoint.ops.elementwise.selection import where
from adjoint.ops.elementwise.special import error_function
from adjoint.ops.elementwise.trigonometry import tanh
from adjoint.ops.op import composite, elementwise, general
from adjoint.ops.reducing.cumulative import narrowed, widened
from adjoint.ops.sampling.random import uniform
from adjoint.ops.shared_rules import zero_of
from adjoint.tensors.core import TensorCore


@elementwise(
    input=lambda grad: grad,
    source=lambda grad: zero_of(grad),
    promotes="",
    inplace=False,
    home=None,
)
def constant_in(xp: Any, input: Array, source: Array) -> Array:
    """A copy of input that also hangs on source in the graph, with derivative 0."""
    return xp.array(xp.broadcast_arrays(input, source)[0])


def stepwise(grad: Value, source: Value) -> Value:
    """A gradient that source changes only by steps: one can differentiate it again, and get 0."""
    return constant_in(grad, source) if isinstance(grad, TensorCore) else grad


# ---- smooth steps ----


@elementwise(
    input=lambda grad, result: grad * conj(result * (1 - result)),
    floats=True,
    also="special.expit nn.functional",
    inplace="function",
)
def sigmoid(xp: Any, input: Array) -> Array:
    """1 / (1 + exp(-input)); an overflow of exp is the limit 0, as it should be."""
    return xp.reciprocal(1 + xp.exp(-input))


@elementwise(
    input=lambda grad, input: grad * sigmoid(-input),
    inplace=False,
    node_name="LogSigmoidBackward0",
    home="nn.functional",
    ordered=True,
    exact_out=True,
    refuses="bciu",
)
def logsigmoid(xp: Any, input: Array) -> Array:
    """log(sigmoid(input)), without overflow."""
    return xp.minimum(input, 0) - xp.log1p(xp.exp(-xp.absolute(input)))


@elementwise(
    input=lambda grad, input, beta, threshold: where(
        input * beta > threshold, grad, grad * sigmoid(input * beta)
    ),
    inplace=False,
    home="nn.functional",
    exact_out=True,
    refuses="bciu",
)
def softplus(xp: Any, input: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """log(1 + exp(beta * input)) / beta, and input itself where that is above threshold."""
    scaled = input * beta
    smooth = (xp.maximum(scaled, 0) + xp.log1p(xp.exp(-xp.absolute(scaled)))) / beta
    return xp.where(scaled > threshold, input, smooth)


# The gradients of those below are ops of their own: of many steps, that run in blocks.


def _silu_bend(grad: Value, slope: Value, input: Value) -> Value:
    step = sigmoid(input)
    return grad * conj(slope * (step * (1 - step) * (2 + input * (1 - 2 * step))))


@elementwise(
    slope=lambda grad, input: silu_back(grad, conj(input)),
    input=_silu_bend,
    home=None,
    inplace=False,
    node_name="SiluBackwardBackward0",
)
def silu_back(xp: Any, slope: Array, input: Array) -> Array:
    """slope times the derivative of silu: its gradient."""

    def part(grad: Any, x: Any) -> Any:
        step = xp.reciprocal(1 + xp.exp(-x))
        return grad * (step * (1 + x * (1 - step)))

    return xp.in_blocks(part, slope, input)


@elementwise(
    input=lambda grad, input: silu_back(grad, conj(input)),
    home="nn.functional",
    overwrites=True,
    refuses="biu",
)
def silu(xp: Any, input: Array) -> Array:
    """input * sigmoid(input)."""
    return xp.in_blocks(lambda x: xp.divide(x, 1 + xp.exp(-x)), input)


def _mish_bend(grad: Value, slope: Value, input: Value) -> Value:
    step, part = tanh(softplus(input)), sigmoid(input)
    bend = (1 - step * step) * part * (2 + input * (1 - part * (1 + 2 * step)))
    return grad * slope * bend


@elementwise(
    slope=lambda grad, input: mish_back(grad, input),
    input=_mish_bend,
    home=None,
    inplace=False,
    node_name="MishBackwardBackward0",
)
def mish_back(xp: Any, slope: Array, input: Array) -> Array:
    """slope times the derivative of mish: its gradient."""

    def part(grad: Any, x: Any) -> Any:
        step = xp.tanh(xp.logaddexp(x, 0))
        return grad * (step + x * xp.reciprocal(1 + xp.exp(-x)) * (1 - step * step))

    return xp.in_blocks(part, slope, input)


@elementwise(
    input=lambda grad, input: mish_back(grad, input),
    home="nn.functional",
    overwrites=True,
    refuses="biu",
)
def mish(xp: Any, input: Array) -> Array:
    """input * tanh(softplus(input))."""
    return xp.in_blocks(lambda x: x * xp.tanh(xp.logaddexp(x, 0)), input)


_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1 / math.sqrt(2 * math.pi)
_TANH_SLOPE = math.sqrt(2 / math.pi)
_TANH_CUBIC = 0.044715


def _gelu_slope(xp: Any, grad: Any, input: Any) -> Any:
    below = 0.5 * (1 + error_function(xp, "erf", input * _ROOT_HALF))
    return grad * (below + input * (xp.exp(input * input * -0.5) * _DENSITY))


def _tanh_gelu_slope(xp: Any, grad: Any, input: Any) -> Any:
    squared = input * input
    step = xp.tanh(input * (_TANH_SLOPE + _TANH_SLOPE * _TANH_CUBIC * squared))
    slope = _TANH_SLOPE + 3 * _TANH_SLOPE * _TANH_CUBIC * squared
    return grad * (0.5 * (1 + step + input * (1 - step * step) * slope))


def _gelu_bend(grad: Value, slope: Value, input: Value, approximate: str) -> Value:
    squared = input * input
    if approximate == "none":
        return grad * slope * (exp(squared * -0.5) * (2 - squared) * _DENSITY)
    step = tanh(input * (_TANH_SLOPE + _TANH_SLOPE * _TANH_CUBIC * squared))
    inner = _TANH_SLOPE + 3 * _TANH_SLOPE * _TANH_CUBIC * squared  # how fast tanh's argument moves
    bend = 2 * inner + squared * (6 * _TANH_SLOPE * _TANH_CUBIC) - 2 * input * step * inner * inner
    return grad * slope * (0.5 * (1 - step * step) * bend)


@elementwise(
    slope=lambda grad, input, approximate: gelu_back(grad, input, approximate=approximate),
    input=_gelu_bend,
    home=None,
    inplace=False,
    node_name="GeluBackwardBackward0",
)
def gelu_back(xp: Any, slope: Array, input: Array, *, approximate: str = "none") -> Array:
    """slope times the derivative of gelu: its gradient."""
    function = _gelu_slope if approximate == "none" else _tanh_gelu_slope
    return xp.in_blocks(lambda grad, x: function(xp, grad, x), slope, input)


def _gelu(xp: Any, input: Any) -> Any:
    wide = widened(input)
    below = 0.5 * (1 + error_function(xp, "erf", wide * _ROOT_HALF))
    return narrowed(wide * below, input.dtype)


def _tanh_gelu(xp: Any, input: Any) -> Any:
    inner = input * (_TANH_SLOPE + _TANH_SLOPE * _TANH_CUBIC * (input * input))
    return 0.5 * input * (1 + xp.tanh(inner))


@elementwise(
    input=lambda grad, input, approximate: gelu_back(grad, input, approximate=approximate),
    inplace=False,
    home="nn.functional",
    exact_out=True,
    refuses="bciu",
)
def gelu(xp: Any, input: Array, *, approximate: str = "none") -> Array:
    """input times the part of a standard normal distribution below it."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate must be 'none' or 'tanh', got {approximate!r}")
    function = _gelu if approximate == "none" else _tanh_gelu
    return xp.in_blocks(lambda x: function(xp, x), input)


# ---- with a kink ----


@elementwise(
    slope=lambda grad, output: relu_back(grad, output),
    output=lambda grad: zero_of(grad),
    domain=(0.5, 3.0),  # what relu answers is never negative
    home=None,
    inplace=False,
    node_name="ThresholdBackwardBackward0",
)
def relu_back(xp: Any, slope: Array, output: Array) -> Array:
    """slope where relu's result is not 0: its gradient, which passes a NaN, as in PyTorch."""
    return xp.relu_back(slope, output)


@elementwise(
    input=lambda grad, result: relu_back(grad, result),
    also="nn.functional",
    inplace="function",
    overwrites=True,
    refuses="cb",
)
def relu(xp: Any, input: Array) -> Array:
    """input where it is positive, else 0."""
    return xp.relu(input)


@elementwise(
    input=lambda grad, input, negative_slope: stepwise(
        where(input > 0, grad, grad * negative_slope), input
    ),
    home="nn.functional",
    inplace="function",
    overwrites=True,
    refuses="bciu",
)
def leaky_relu(xp: Any, input: Array, negative_slope: float = 0.01) -> Array:
    """input where it is positive, else negative_slope * input."""
    return xp.where(input > 0, input, input * negative_slope)


def _elu(xp: Any, input: Any, alpha: float, scale: float, stretch: float) -> Any:
    """scale * input above 0; below, an exponential that comes from -scale * alpha."""
    below = alpha * xp.expm1(xp.minimum(input, 0) * stretch)
    return scale * xp.where(input > 0, input, below)


def _elu_rule(grad: Value, input: Value, alpha: float, scale: float, stretch: float) -> Value:
    below = exp(where(input > 0, 0, input) * stretch) * (alpha * scale * stretch)
    return grad * where(input > 0, scale, below)


@elementwise(
    input=lambda grad, input, alpha: _elu_rule(grad, input, alpha, 1.0, 1.0),
    home="nn.functional",
    inplace="function",
    overwrites=True,
    refuses="bciu",
)
def elu(xp: Any, input: Array, alpha: float = 1.0) -> Array:
    """input where it is positive, else alpha * (exp(input) - 1)."""
    return _elu(xp, input, alpha, 1.0, 1.0)


# The fixed point at which activations keep mean 0 and variance 1 (Klambauer et al., 2017).
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


@elementwise(
    input=lambda grad, input: _elu_rule(grad, input, _SELU_ALPHA, _SELU_SCALE, 1.0),
    method=False,
    node_name="EluBackward0",
    also="nn.functional",
    inplace="function",
    overwrites=True,
    refuses="bciu",
)
def selu(xp: Any, input: Array) -> Array:
    """elu scaled so that deep networks keep mean 0 and variance 1."""
    return _elu(xp, input, _SELU_ALPHA, _SELU_SCALE, 1.0)


@elementwise(
    input=lambda grad, input, alpha: _elu_rule(grad, input, alpha, 1.0, 1.0 / alpha),
    method=False,
    also="nn.functional",
    inplace="function",
    overwrites=True,
    refuses="bciu",
)
def celu(xp: Any, input: Array, alpha: float = 1.0) -> Array:
    """input where it is positive, else alpha * (exp(input / alpha) - 1)."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0")
    return _elu(xp, input, alpha, 1.0, 1.0 / alpha)


def _inside(grad: Value, input: Value, low: float, high: float) -> Value:
    """grad where input lies between the bounds; nan counts as inside, a bound does not."""
    return stepwise(where((input <= low) | (input >= high), 0, grad), input)


@elementwise(
    input=lambda grad, input, min_val, max_val: _inside(grad, input, min_val, max_val),
    home="nn.functional",
    inplace="function",
    refuses="cb",
)
def hardtanh(xp: Any, input: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """input, but at least min_val and at most max_val."""
    if min_val > max_val:
        raise ValueError(f"min_val={min_val} is above max_val={max_val}")
    return xp.clip(input, min_val, max_val).astype(input.dtype)


@elementwise(
    input=lambda grad, input: _inside(grad, input, 0, 6),
    node_name="HardtanhBackward0",
    home="nn.functional",
    overwrites=True,
    refuses="cb",
)
def relu6(xp: Any, input: Array) -> Array:
    """input, but at least 0 and at most 6."""
    return xp.clip(input, 0, 6)


@elementwise(
    input=lambda grad, input: _inside(grad / 6, input, -3, 3),
    home="nn.functional",
    overwrites=True,
    refuses="bciu",
)
def hardsigmoid(xp: Any, input: Array) -> Array:
    """input / 6 + 1/2, but at least 0 and at most 1."""
    return xp.clip(input + 3, 0, 6) / 6


@elementwise(
    input=lambda grad, input: where(
        input < 3, where(input > -3, grad * (input / 3 + 0.5), 0), grad
    ),
    home="nn.functional",
    overwrites=True,
    refuses="bciu",
)
def hardswish(xp: Any, input: Array) -> Array:
    """input * hardsigmoid(input)."""
    return input * xp.clip(input + 3, 0, 6) / 6


# A number that every floating type holds: float16's greatest.
_EVERY_FLOAT = 65504.0


@elementwise(inplace=False, wide=False, home=None)
def near_zero(xp: Any, input: Array, bound: float) -> Array:
    """Whether elements are at most bound away from 0, a number in the type of the elements."""
    limit = xp.asarray(bound, dtype=input.dtype)
    return (input >= -limit) & (input <= limit)


def _shrink_rule(grad: Value, input: Value, lambd: float) -> Value:
    return stepwise(where(near_zero(input, lambd), 0, grad), input)


@elementwise(
    input=_shrink_rule,
    inplace=False,
    wide=False,
    exact_out=True,
    also="nn.functional",
    refuses="bciu",
)
def hardshrink(xp: Any, input: Array, lambd: float = 0.5) -> Array:
    """input, and 0 where it is at most lambd away from 0."""
    return xp.where(near_zero(input, lambd), 0, input)


@elementwise(
    input=_shrink_rule,
    inplace=False,
    wide=False,
    home="nn.functional",
    exact_out=True,
    refuses="bciu",
)
def softshrink(xp: Any, input: Array, lambd: float = 0.5) -> Array:
    """input moved by lambd towards 0, and 0 where it is nearer."""
    if not 0 <= lambd <= _EVERY_FLOAT:
        most = finfo(from_numpy_dtype(input.dtype)).max
        if not 0 <= lambd <= most:
            raise RuntimeError(f"lambd must be in [0, {most}] for {input.dtype}, got {lambd}")
    return xp.where(near_zero(input, lambd), 0, input - xp.sign(input) * lambd)


@elementwise(
    input=lambda grad, input, threshold: stepwise(where(input <= threshold, 0, grad), input),
    promotes="input",
    method=False,
    also="nn.functional",
    inplace="function",
    overwrites=True,
    constant=True,
    refuses="cb",
)
def threshold(xp: Any, input: Array, threshold: float, value: float) -> Array:
    """input where it is above threshold, else value."""
    return xp.where(input <= threshold, value, input).astype(input.dtype)


# ---- made of others ----


@composite(home="nn.functional")
def softsign(input: Value) -> Value:
    """input / (1 + |input|)."""
    return div(input, abs(input) + 1)


@composite(home="nn.functional")
def tanhshrink(input: Value) -> Value:
    """input - tanh(input)."""
    return sub(input, tanh(input))


@elementwise(
    input=lambda grad, input, weight: where(input > 0, grad, grad * weight),
    weight=lambda grad, input: where(input > 0, 0, grad * input),
    inplace=False,
    node_name="PreluKernelBackward0",
    home=None,
)
def leaky_by(xp: Any, input: Array, weight: Array) -> Array:
    """input where it is positive, else weight * input."""
    return xp.where(input > 0, input, input * weight)


@composite(also="nn.functional", autocast="narrow")
def prelu(input: Value, weight: Value) -> Value:
    """input where it is positive, else weight * input; one weight for all, or one a channel."""
    refuse_kinds("prelu", input, "bciu")
    count = math.prod(weight.shape)
    channels = input.shape[1] if input.ndim > 1 else 1
    if count != 1 and (weight.ndim != 1 or count != channels):
        raise RuntimeError(
            f"prelu(): weight must hold 1 number or {channels}, one for each channel of dimension "
            f"1, got shape {list(weight.shape)} for input of shape {list(input.shape)}"
        )
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu(): input and weight must have one data type, got {input.dtype} and "
            f"{weight.dtype}"
        )
    if input.ndim == weight.ndim == 1:
        return leaky_by(input, weight)
    ahead = (1, count) if input.ndim > 1 else (count,) * min(input.ndim, 1)
    return leaky_by(input, reshape(weight, (*ahead, *(1,) * (input.ndim - 2))))


def _halves(input: Any, dim: int) -> tuple[Any, Any]:
    half = input.shape[dim] // 2
    return narrow(input, dim, 0, half), narrow(input, dim, half, half)


def _half_arrays(xp: Any, array: Any, dim: int) -> list[Any]:
    """Both halves of an array along a dimension, that one last."""
    turned = xp.moveaxis(array, dim, -1)
    half = turned.shape[-1] // 2
    return [turned[..., :half], turned[..., half:]]


def _gated_tangent(input: Value, input_tangent: Value, dim: int) -> Value:
    (first, second), (by_first, by_second) = (_halves(x, dim) for x in (input, input_tangent))
    step = sigmoid(second)
    return by_first * step + by_second * (first * (step * (1 - step)))


def _gated_bend(grad: Value, slope: Value, input: Value, dim: int) -> Value:
    (first, second), (on_first, on_second) = (_halves(x, dim) for x in (input, grad))
    step = sigmoid(second)
    steep = slope * (step * (1 - step))
    return cat([on_second * steep, (on_first + on_second * first * (1 - 2 * step)) * steep], dim)


def _bent_tangent(
    slope: Value, slope_tangent: Any, input: Value, input_tangent: Any, dim: int
) -> Value:
    bent = None if input_tangent is None else _gated_bend(input_tangent, slope, input, dim)
    if slope_tangent is None:
        return bent
    moved = gated_slopes(slope_tangent, input, dim)
    return moved if bent is None else moved + bent


@general(
    slope=lambda grad, input, dim: _gated_tangent(input, grad, dim),
    input=_gated_bend,
    jvp=_bent_tangent,
    batching=FRONT,
    node_name="GluBackwardBackward0",
    home=None,
)
def gated_slopes(xp: Any, slope: Array, input: Array, dim: int) -> Array:
    """The gradient of gated_halves."""
    parts = _half_arrays(xp, widened(input), dim)
    both = xp.gated_back(xp.moveaxis(widened(slope), dim, -1), *parts)
    return narrowed(xp.moveaxis(both, -1, dim), input.dtype)


@general(
    input=lambda grad, input, dim: gated_slopes(grad, input, dim),
    jvp=_gated_tangent,
    batching=FRONT,
    node_name="GluBackward0",
    home=None,
)
def gated_halves(xp: Any, input: Array, dim: int) -> Array:
    """The first half along dim times the sigmoid of the second, of floats."""
    out = xp.gated(*_half_arrays(xp, widened(input), dim))
    return narrowed(xp.moveaxis(out, -1, dim), input.dtype)


@composite(home="nn.functional")
def glu(input: Value, dim: int = -1) -> Value:
    """The first half along dim times the sigmoid of the second."""
    refuse_kinds("glu", input, "bciu")
    if input.ndim == 0:
        raise RuntimeError("glu(): a tensor without dimensions can't be halved")
    dim = normal_dim(dim, input.ndim)
    size = input.shape[dim]
    if size % 2:
        raise RuntimeError(
            f"glu(): dimension {dim} must have an even size to be halved, got {size}"
        )
    if category_of(input.dtype) == FLOAT:
        return gated_halves(input, dim)
    first, second = _halves(input, dim)
    return mul(first, sigmoid(second))


@composite
def rrelu(
    input: Value,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Value:
    """input where it is positive, else times a slope: in training drawn for each element."""
    slopes = random_slopes(input, lower, upper, training, generator)
    return leaky_by(input, slopes) if training else leaky_relu(input, slopes)


def random_slopes(
    input: Any, lower: float, upper: float, training: bool, generator: Any = None
) -> Any:
    """The slopes of rrelu below 0: in training one for each element, else one number."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError(
            f"rrelu(): the lower bound must not be above the upper: {lower} > {upper}"
        )
    if not training:
        return (lower + upper) / 2
    return uniform(input.detach(), lower, upper, generator)
