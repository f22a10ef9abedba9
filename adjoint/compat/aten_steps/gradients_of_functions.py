"""The steps of gradients of further functions of single elements, and of activations."""

import math
from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.gradients import scaled
from adjoint.compat.aten_steps.kept import Kept, TooLittleKeptError
from adjoint.tensors.tensor import Tensor

_SELU: Final = (1.6732632423543772, 1.0507009873554805)  # its height and slope


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
    if isinstance(weight, (Tensor, complex)) or weight is None:
        raise TooLittleKeptError
    by_end = ask("mul.Scalar", grad, weight) if kept.wanted[1] else None
    by_input = ask("mul.Scalar", grad, 1 - weight) if kept.wanted[0] else None
    return by_input, by_end, None


def _addcmul(ask: Steps, kept: Kept, grad: Any) -> Any:
    found: list[Any] = [grad, None, None]
    for place, other in ((1, 2), (2, 1)):
        if kept.wanted[place]:
            found[place] = ask("mul", grad, scaled(ask, kept.value(other), kept.option(3)))
    return found


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


# ---- activations ----


def _one(name: str) -> Any:
    """Steps of one operation on the gradient, the input and the op's options."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        options = [kept.option(place) for place in range(1, len(kept.node.op.parameters))]
        return (ask(name, grad, kept.value(0), *options),)

    return steps


def _threshold(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("threshold_backward", grad, kept.value(0), kept.option(1)),)


def _selu(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("elu_backward", grad, *_SELU, 1, False, kept.value(0)),)


def _celu(ask: Steps, kept: Kept, grad: Any) -> Any:
    alpha = kept.option(1)
    return (ask("elu_backward", grad, alpha, 1, 1 / alpha, False, kept.value(0)),)


def _relu6(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("hardtanh_backward", grad, kept.value(0), 0, 6),)


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
    "lerp": _lerp,
    "addcmul": _addcmul,
    "hypot": _hypot,
    "logaddexp": _logaddexp,
    "xlogy": _xlogy,
    "hardswish": _one("hardswish_backward"),
    "hardsigmoid": _one("hardsigmoid_backward"),
    "mish": _one("mish_backward"),
    "softshrink": _one("softshrink_backward"),
    "hardshrink": _one("hardshrink_backward"),
    "logit": _one("logit_backward"),
    "threshold": _threshold,
    "selu": _selu,
    "celu": _celu,
    "relu6": _relu6,
}
