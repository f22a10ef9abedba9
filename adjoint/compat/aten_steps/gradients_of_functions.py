"""The steps of gradients of further functions of single elements, and of activations."""

import math
from typing import Any, Final

from adjoint.call.context import is_recording
from adjoint.compat.aten_networks import falling
from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.gradients import powers
from adjoint.compat.aten_steps.kept import (
    Kept,
    TooLittleKeptError,
    beside,
    check_no_zeros,
    zeros_beside,
)
from adjoint.dtypes import float64
from adjoint.ops.arranging.conversion import finfo, to_copy
from adjoint.ops.elementwise.special import log_ndtr
from adjoint.tensors.tensor import Tensor

SELU: Final = (1.6732632423543772, 1.0507009873554805)  # its height and slope


def _logarithm(of_base: float) -> Any:
    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        return (ask("div", grad, ask("mul.Scalar", kept.value(0), of_base)),)

    return steps


def _exp2(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("mul.Scalar", ask("mul", grad, kept.result()), math.log(2)),)


def _expm1(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("mul", grad, ask("add.Scalar", kept.result(), 1)),)


def _asinh(ask: Steps, kept: Kept, grad: Any) -> Any:
    square = ask("pow", kept.value(0), 2)
    return (ask("mul", grad, ask("rsqrt", ask("add.Scalar", square, 1))),)


def _erfc(ask: Steps, kept: Kept, grad: Any) -> Any:
    bell = ask("exp", ask("neg", ask("pow", kept.value(0), 2)))
    return (ask("mul", ask("mul.Scalar", bell, -2 / math.sqrt(math.pi)), grad),)


def _digamma(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("mul", grad, ask("polygamma", 1, kept.value(0))),)


def _flat(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("zeros_like", grad),)


def _lerp(ask: Steps, kept: Kept, grad: Any) -> Any:
    weight = kept.option(2)
    if isinstance(weight, complex) or weight is None:
        raise TooLittleKeptError
    scale = "mul" if isinstance(weight, Tensor) else "mul.Scalar"
    by_end = ask(scale, grad, weight) if kept.wanted[1] else None
    by_input = None
    if kept.wanted[0]:
        rest = one_less(ask, weight) if isinstance(weight, Tensor) else 1 - weight
        by_input = ask(scale, grad, rest)
    if not isinstance(weight, Tensor) or not kept.wanted[2]:
        return by_input, by_end, None
    return by_input, by_end, ask("mul", grad, ask("sub", kept.value(1), kept.value(0)))


def _addcmul(ask: Steps, kept: Kept, grad: Any) -> Any:
    found: list[Any] = [grad, None, None]
    for place, other in ((1, 2), (2, 1)):
        if kept.wanted[place]:
            found[place] = ask("mul", grad, ask("mul.Scalar", kept.value(other), kept.option(3)))
    return found


def _addcdiv(ask: Steps, kept: Kept, grad: Any) -> Any:
    value = kept.option(3)
    first, second = kept.input(1), kept.value(2)
    found: list[Any] = [grad, None, None]
    if kept.wanted[1]:
        share = ask("fill_.Scalar", ask("empty_like", second), value)
        found[1] = ask("mul", grad, ask("div_", share, second))
    if kept.wanted[2]:
        if first is None:
            raise TooLittleKeptError
        square = ask("mul", second, second)
        steep = ask("div", ask("mul.Scalar", first, value), square)
        found[2] = ask("mul", ask("neg", grad), steep)
    return found


def _extreme(beyond: str) -> Any:
    """Steps of fmax and fmin: who is beyond the other has the gradient, or who is a number."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        input, other = kept.value(0), kept.value(1)
        found: list[Any] = [None, None]
        for place in (1, 0):
            if kept.wanted[place]:
                chosen = ask(beyond, input, other)
                chosen = ask("logical_or_", chosen, ask("isnan", other))
                chosen = chosen if place else ask("logical_not_", chosen)
                found[place] = ask("masked_fill", grad, chosen, 0)
        return found

    return steps


def _hypot(ask: Steps, kept: Kept, grad: Any) -> Any:
    result, found = kept.result(), [None, None]
    for place in (1, 0):
        if kept.wanted[place]:
            found[place] = ask("div", ask("mul", grad, kept.value(place)), result)
    return found


def _logaddexp(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, other = kept.value(0), kept.value(1)
    found: list[Any] = [None, None]
    for place, (above, below) in ((1, (input, other)), (0, (other, input))):
        if kept.wanted[place]:
            apart = ask("exp", ask("sub", above, below))
            found[place] = ask("div", grad, ask("add.Scalar", apart, 1))
    return found


def _xlogy(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, other = kept.value(0), kept.value(1)
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise TooLittleKeptError
    by_input = by_other = None
    if kept.wanted[1]:
        by_other = ask("div", ask("mul", grad, input), other)
    if kept.wanted[0]:
        steep = ask("xlogy", grad, other)
        least = ask("le", other, 0.0)
        nowhere = ask("bitwise_and", ask("eq", input, 0.0), least)
        by_input = ask("masked_fill", steep, nowhere, 0.0)
    return by_input, by_other


def _acosh(ask: Steps, kept: Kept, grad: Any) -> Any:
    input = kept.value(0)
    slope = ask("rsqrt", ask("sub.Scalar", ask("mul", input, input), 1))
    return (ask("mul", grad, slope),)


def one_less(ask: Steps, tensor: Any) -> Any:
    """1 - tensor, as PyTorch's gradients write it."""
    ones = ask("fill_.Scalar", ask("empty_like", tensor), 1)
    return ask("sub_", ones, tensor)


def _atanh(ask: Steps, kept: Kept, grad: Any) -> Any:
    left = one_less(ask, ask("pow", kept.value(0), 2))
    return (ask("div", grad, ask("mul.Scalar", left, 1)),)


def _erfinv(ask: Steps, kept: Kept, grad: Any) -> Any:
    bell = ask("exp", ask("pow", ask("erfinv", kept.value(0)), 2))
    return (ask("mul", ask("mul.Scalar", bell, math.sqrt(math.pi) / 2), grad),)


def _turned(factor: float) -> Any:
    """Steps of a change of units."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        return (ask("mul.Scalar", grad, factor),)

    return steps


def _atan2(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, other = kept.value(0), kept.value(1)
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise TooLittleKeptError
    square = ask("mul", input, input)
    far = ask("reciprocal", ask("add", square, ask("mul", other, other)))
    far = ask("masked_fill", far, ask("eq", far, math.inf), 0)
    by_input = by_other = None
    if kept.wanted[0]:
        by_input = ask("mul", grad, ask("mul", other, far))
    if kept.wanted[1]:
        by_other = ask("mul", grad, ask("mul", ask("neg", input), far))
    return by_input, by_other


def _rest(mode: str) -> Any:
    """Steps of what a division leaves, which is rounded in a mode."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        if not kept.wanted[1]:
            return grad, None
        whole = ask("div", kept.value(0), kept.value(1), rounding_mode=mode)
        return grad, ask("mul", ask("neg", grad), whole)

    return steps


def _logaddexp2(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, other = kept.value(0), kept.value(1)
    found: list[Any] = [None, None]
    for place, (above, below) in ((1, (input, other)), (0, (other, input))):
        if kept.wanted[place]:
            apart = ask("pow", 2, ask("sub", above, below))
            found[place] = ask("div", grad, ask("add.Scalar", apart, 1))
    return found


def _i0(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("mul", grad, ask("special_i1", kept.value(0))),)


def _i0e(ask: Steps, kept: Kept, grad: Any) -> Any:
    input = kept.value(0)
    falling = ask("mul", ask("sgn", input), kept.result())
    return (ask("mul", grad, ask("sub", ask("special_i1e", input), falling)),)


def _by_order_1(lower: str) -> Any:
    """Steps of i1 and i1e, from the function of order 0; PyTorch's at 0 is the limit."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        input, result = kept.value(0), kept.result()
        least = finfo(input.dtype).eps
        away = ask("gt", ask("abs", input), least)
        safe = ask("where", away, input, ask("scalar_tensor", least, **beside(input)))
        inverse = ask("reciprocal", safe)
        if lower != "i0":
            inverse = ask("add", ask("sgn", input), inverse)
        falling = ask("mul", result, inverse)
        slope = ask("sub", ask(lower, input), falling)
        half = ask("scalar_tensor", 0.5, **beside(slope))
        return (ask("mul", grad, ask("where", away, slope, half)),)

    return steps


def _ndtr(ask: Steps, kept: Kept, grad: Any) -> Any:
    with unseen():
        narrow = kept.value(0) * math.sqrt(0.5)
    grad = ask("mul.Scalar", grad, 0.5)
    bell = ask("exp", ask("neg", ask("pow", narrow, 2)))
    slope = ask("mul", ask("mul.Scalar", bell, 2 / math.sqrt(math.pi)), grad)
    return (ask("mul.Scalar", slope, math.sqrt(0.5)),)


def _ndtri(ask: Steps, kept: Kept, grad: Any) -> Any:
    bell = ask("exp", ask("div.Scalar", ask("pow", kept.result(), 2), 2))
    return (ask("mul", grad, ask("mul.Scalar", bell, math.sqrt(2 * math.pi))),)


def _log_ndtr(ask: Steps, kept: Kept, grad: Any) -> Any:
    input = kept.value(0)
    with unseen():
        result = log_ndtr(input)  # which is not kept
    square = ask("div.Scalar", ask("pow", input, 2), 2)
    bell = ask("exp", ask("neg", ask("add", result, square)))
    return (ask("mul", grad, ask("div.Scalar", bell, math.sqrt(2 * math.pi))),)


def _erfcx(ask: Steps, kept: Kept, grad: Any) -> Any:
    rising = ask("mul", ask("mul.Scalar", kept.value(0), 2.0), kept.result())
    return (ask("mul", ask("sub.Scalar", rising, 2 / math.sqrt(math.pi)), grad),)


def _entr(ask: Steps, kept: Kept, grad: Any) -> Any:
    slope = ask("neg", ask("add.Scalar", ask("log", kept.value(0)), 1))
    return (ask("mul", grad, slope),)


def _xlog1py(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, other = kept.value(0), kept.value(1)
    by_input = by_other = None
    if kept.wanted[1]:
        above = ask("add.Scalar", other, 1)
        scale = "mul" if isinstance(input, Tensor) else "mul.Scalar"
        by_other = ask("div", ask(scale, grad, input), above)
    if kept.wanted[0]:
        by_input = ask("special_xlog1py", grad, other)
        if isinstance(other, Tensor):
            least = ask("le", other, -1.0)
            nowhere = ask("bitwise_and", ask("eq", input, 0.0), least)
            by_input = ask("masked_fill", by_input, nowhere, 0.0)
        elif other <= -1:
            by_input = ask("masked_fill", by_input, ask("eq", input, 0.0), 0.0)
    return by_input, by_other


def _sinc(ask: Steps, kept: Kept, grad: Any) -> Any:
    input = kept.value(0)
    check_no_zeros(input)
    angle = ask("mul.Scalar", input, math.pi)
    square = ask("mul", angle, input)
    angle = ask("mul.Scalar", input, math.pi)
    sine = ask("sin", angle)
    rising = ask("mul", angle, ask("cos", angle))
    slope = ask("mul", grad, ask("div", ask("sub", rising, sine), square))
    zero = ask("scalar_tensor", 0.0, **beside(slope))
    return (ask("where", ask("eq", square, 0.0), zero, slope),)


def _copysign(ask: Steps, kept: Kept, grad: Any) -> Any:
    by_input = None
    by_sign = zeros_beside(ask, grad, kept.shape(1)) if kept.wanted[1] else None
    if kept.wanted[0]:
        input = kept.value(0)
        turn = ask("div", kept.result(), input)
        by_input = ask("mul", grad, ask("masked_fill_", turn, ask("eq", input, 0), 0))
    return by_input, by_sign


def _nextafter(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, other = kept.value(0), kept.value(1)
    found: list[Any] = [None, None]
    if kept.wanted[1]:
        found[1] = zeros_beside(ask, grad, kept.shape(1))
    if kept.wanted[0]:
        moved = ask("ne", input, other)
        zero = ask("scalar_tensor", 0.0, **beside(grad))
        found[0] = ask("where", moved, grad, zero)
    return found


def _float_power(ask: Steps, kept: Kept, grad: Any) -> Any:
    """Steps of a power in double precision, of copies that PyTorch keeps."""
    if grad.dtype is not float64:
        raise TooLittleKeptError
    given = [kept.value(0), kept.value(1)]
    with unseen():
        wide = [
            to_copy(each, dtype=float64) if isinstance(each, Tensor) else each for each in given
        ]
    result = kept.result() if kept.wanted[1] else None
    found = list(powers(ask, kept.wanted, grad, wide[0], wide[1], result))
    for place, each in enumerate(given):
        if found[place] is not None and each.dtype is not float64:
            found[place] = ask("_to_copy", found[place], dtype=each.dtype)
    return found


def _sgn(ask: Steps, kept: Kept, grad: Any) -> Any:
    if grad.layer is not None:
        return _flat(ask, kept, grad)
    return (ask("_efficientzerotensor", list(grad.shape), **beside(grad)),)


def _normal_from(ask: Steps, kept: Kept, grad: Any) -> Any:
    found: list[Any] = [None, None]
    for place in (0, 1):
        if kept.wanted[place]:
            found[place] = zeros_beside(ask, grad, kept.shape(place))
    return found


def _bernoulli_p(ask: Steps, kept: Kept, grad: Any) -> Any:
    chance = zeros_beside(ask, grad, kept.shape(1)) if kept.wanted[1] else None
    return ask("zeros_like", grad) if kept.wanted[0] else None, chance


def _incomplete(rises: bool) -> Any:
    """Steps of the incomplete gamma functions, by where their integral ends."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        input, other = kept.value(0), kept.value(1)
        if kept.wanted[0] or not isinstance(input, Tensor) or not isinstance(other, Tensor):
            raise TooLittleKeptError
        whole, height = ask("lgamma", input), ask("log", other)
        power = ask("mul", ask("sub.Scalar", input, 1), height)
        slope = ask("exp", ask("sub", ask("sub", power, other), whole))
        return None, ask("mul", grad, slope if rises else ask("neg", slope))

    return steps


def _masked_fill(ask: Steps, kept: Kept, grad: Any) -> Any:
    mask = kept.value(1)
    by_input = ask("masked_fill", grad, mask, 0) if kept.wanted[0] else None
    if not kept.wanted[1]:
        return by_input, None
    zero = ask("scalar_tensor", 0, **beside(grad))
    return by_input, ask("sum", ask("where", mask, grad, zero))


def _flat_twice(ask: Steps, kept: Kept, grad: Any) -> Any:
    second = ask("zeros_like", grad) if kept.wanted[1] else None
    return ask("zeros_like", grad) if kept.wanted[0] else None, second


def _nan_to_num(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("mul", grad, finite(ask, kept.value(0))),)


def finite(ask: Steps, input: Any) -> Any:
    """Which numbers are neither infinite nor undefined."""
    bounded = ask("ne", ask("abs", input), math.inf)
    return ask("mul", ask("eq", input, input), bounded)


# ---- activations ----


def _one(name: str) -> Any:
    """Steps of one operation on the gradient, the input and the op's options."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        options = [kept.option(place) for place in range(1, len(kept.node.op.parameters))]
        return (ask(name, grad, kept.value(0), *options),)

    return steps


def _threshold(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("threshold_backward", grad, kept.value(0), kept.option(1)),)


def _logsigmoid(ask: Steps, kept: Kept, grad: Any) -> Any:
    input = kept.value(0)
    with unseen():
        rest = falling(input)
    return (ask("log_sigmoid_backward", grad, input, rest),)


def _gated(ask: Steps, kept: Kept, grad: Any) -> Any:
    input = kept.value(0)
    return (ask("glu_backward", grad, input, kept.option(1)),)


def _leaky_by(ask: Steps, kept: Kept, grad: Any) -> Any:
    slopes = ask("_prelu_kernel_backward", grad, kept.value(0), kept.value(1))
    return [each if wanted else None for each, wanted in zip(slopes, kept.wanted, strict=True)]


def _selu(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("elu_backward", grad, *SELU, 1, False, kept.value(0)),)


def _celu(ask: Steps, kept: Kept, grad: Any) -> Any:
    alpha = kept.option(1)
    return (ask("elu_backward", grad, alpha, 1, 1 / alpha, False, kept.value(0)),)


def _relu6(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("hardtanh_backward", grad, kept.value(0), 0, 6),)


# ---- of which a recorded pass is made of other steps ----


def _silu(ask: Steps, kept: Kept, grad: Any) -> Any:
    input = kept.value(0)
    if not is_recording():
        return (ask("silu_backward", grad, input),)
    share = ask("sigmoid", input)
    slope = ask("add.Scalar", ask("mul", input, one_less(ask, share)), 1)
    return (ask("mul", ask("mul", grad, share), slope),)


def _mish(ask: Steps, kept: Kept, grad: Any) -> Any:
    input = kept.value(0)
    if not is_recording():
        return (ask("mish_backward", grad, input),)
    share = ask("sigmoid", input)
    height = ask("tanh", ask("log1p", ask("exp", input)))
    left = one_less(ask, ask("mul", height, height))
    slope = ask("add", height, ask("mul", ask("mul", input, share), left))
    return (ask("mul", grad, slope),)


def _logit(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, eps = kept.value(0), kept.option(1)
    if not is_recording():
        return (ask("logit_backward", grad, input, eps),)
    if eps is None:
        outside = ask("fill_.Scalar", ask("empty", [], **beside(input)), math.nan)
    else:
        outside = ask("zeros", [], **beside(input))
    low = 0.0 if eps is None else eps
    found = ask("div", grad, ask("mul", input, one_less(ask, input)))
    below = ask("le", input, 1 - low)
    inside = ask("logical_and", ask("ge", input, low), below)
    return (ask("where", inside, found, outside),)


STEPS: Final[dict[str, Any]] = {
    "log2": _logarithm(math.log(2)),
    "log10": _logarithm(2.3025850929940455),
    "exp2": _exp2,
    "expm1": _expm1,
    "asinh": _asinh,
    "erfc": _erfc,
    "digamma": _digamma,
    "sign": _flat,
    "floor": _flat,
    "ceil": _flat,
    "trunc": _flat,
    "round": _flat,
    "angle": _flat,
    "zero": _flat,
    "fill": lambda ask, kept, grad: (
        ask("zeros_like", grad) if kept.wanted[0] else None,
        ask("sum", grad) if kept.wanted[1] else None,
    ),
    **dict.fromkeys(
        (
            *("bernoulli_input", "uniform", "normal_fill", "log_normal"),
            *("cauchy", "exponential", "geometric", "random", "poisson"),
        ),
        _flat,
    ),
    "bernoulli_p": _bernoulli_p,
    "normal_from": _normal_from,
    "rounded_divide": _flat_twice,
    "acosh": _acosh,
    "atanh": _atanh,
    "erfinv": _erfinv,
    "deg2rad": _turned(math.pi / 180),
    "rad2deg": _turned(180 / math.pi),
    "atan2": _atan2,
    "fmod": _rest("trunc"),
    "remainder": _rest("floor"),
    "logaddexp2": _logaddexp2,
    "float_power": _float_power,
    "sgn": _sgn,
    "igamma": _incomplete(True),
    "igammac": _incomplete(False),
    "masked_fill": _masked_fill,
    "i0": _i0,
    "i0e": _i0e,
    "i1": _by_order_1("i0"),
    "i1e": _by_order_1("special_i0e"),
    "ndtr": _ndtr,
    "ndtri": _ndtri,
    "log_ndtr": _log_ndtr,
    "erfcx": _erfcx,
    "entr": _entr,
    "xlog1py": _xlog1py,
    "sinc": _sinc,
    "copysign": _copysign,
    "nextafter": _nextafter,
    "nan_to_num": _nan_to_num,
    "logsigmoid": _logsigmoid,
    "gated_halves": _gated,
    "leaky_by": _leaky_by,
    "lerp": _lerp,
    "addcmul": _addcmul,
    "addcdiv": _addcdiv,
    "fmax": _extreme("ge"),
    "fmin": _extreme("le"),
    "hypot": _hypot,
    "logaddexp": _logaddexp,
    "xlogy": _xlogy,
    "hardswish": _one("hardswish_backward"),
    "hardsigmoid": _one("hardsigmoid_backward"),
    "silu": _silu,
    "mish": _mish,
    "softshrink": _one("softshrink_backward"),
    "hardshrink": _one("hardshrink_backward"),
    "logit": _logit,
    "threshold": _threshold,
    "selu": _selu,
    "celu": _celu,
    "relu6": _relu6,
}
