"""The steps of gradients of arithmetic and activations, as PyTorch makes them.

Each is given what a node keeps and the gradients of its outputs, asks for the steps one by one, and
answers a gradient for each input of the op. In a backward pass that is recorded, each step is.
"""

import math
from typing import Any, Final

from adjoint.call.context import is_recording
from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.kept import Kept, TooLittleKeptError, beside, from_front
from adjoint.tensors.tensor import Tensor


def scaled(ask: Steps, grad: Any, factor: Any) -> Any:
    """A gradient times a number, which is no step if that is 1."""
    return grad if factor == 1 else ask("mul.Scalar", grad, factor)


def _add(ask: Steps, kept: Kept, grad: Any) -> Any:
    by_other = scaled(ask, grad, kept.option(2)) if kept.wanted[1] else None
    return grad, by_other


def _mul(ask: Steps, kept: Kept, grad: Any) -> Any:
    by_other = ask("mul", grad, kept.value(0)) if kept.wanted[1] else None
    by_input = ask("mul", grad, kept.value(1)) if kept.wanted[0] else None
    return by_input, by_other


def _true_divide(ask: Steps, kept: Kept, grad: Any) -> Any:
    by_input = by_other = None
    other = kept.value(1)
    if kept.wanted[1]:
        by_other = _by_divisor(ask, grad, kept, other)
    if kept.wanted[0]:
        by_input = ask("div", grad, other)
    return by_input, by_other


def _by_divisor(ask: Steps, grad: Any, kept: Kept, other: Any) -> Any:
    input = kept.value(0)
    if isinstance(input, Tensor):
        steeper = ask("div", ask("div", input, other), other)
        return ask("mul", ask("neg", grad), steeper)
    grad = ask("mul", grad, input)
    inverse = ask("detach", kept.shown[0]) if kept.shown else None
    if inverse is None or is_recording():
        with unseen():
            inverse = 1 / other
    return _by_inverse(ask, grad, inverse)


def _by_inverse(ask: Steps, grad: Any, inverse: Any) -> Any:
    squared = ask("mul", inverse, inverse)
    return ask("mul", ask("neg", grad), squared)


def _reciprocal(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (_by_inverse(ask, grad, kept.result()),)


def _pow(ask: Steps, kept: Kept, grad: Any) -> Any:
    result = kept.result() if kept.wanted[1] else None
    return powers(ask, kept.wanted, grad, kept.value(0), kept.value(1), result)


def powers(ask: Steps, wanted: Any, grad: Any, input: Any, exponent: Any, result: Any) -> Any:
    """The gradients of a power by its base and its exponent."""
    if isinstance(input, complex) or isinstance(exponent, complex):
        raise TooLittleKeptError
    if not isinstance(exponent, Tensor):
        return _power(ask, grad, input, float(exponent)), None
    if not isinstance(input, Tensor):
        return _exponential(ask, grad, input, exponent, result)
    by_input = by_exponent = None
    if wanted[1]:
        flat = ask("logical_and", ask("ge", exponent, 0), ask("eq", input, 0))
        rising = ask("mul", result, ask("log", input))
        zero = ask("scalar_tensor", 0.0, **beside(rising))
        by_exponent = ask("mul", grad, ask("where", flat, zero, rising))
    if wanted[0]:
        lower = ask("pow", input, ask("sub.Scalar", exponent, 1))
        rising = ask("mul", grad, ask("mul", exponent, lower))
        zero = ask("scalar_tensor", 0.0, **beside(rising))
        by_input = ask("where", ask("eq", exponent, 0.0), zero, rising)
    return by_input, by_exponent


def _exponential(ask: Steps, grad: Any, base: Any, exponent: Any, result: Any) -> Any:
    if base <= 0:
        raise TooLittleKeptError
    return None, ask("mul", grad, ask("mul.Scalar", result, math.log(base)))


def _power(ask: Steps, grad: Any, input: Any, exponent: float) -> Any:
    if exponent == 0:
        raise TooLittleKeptError
    slope = ask("mul.Scalar", ask("pow", input, exponent - 1), exponent)
    return ask("mul", grad, slope)


def _square(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (_power(ask, grad, kept.value(0), 2.0),)


def _sqrt(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("div", grad, ask("mul.Scalar", kept.result(), 2)),)


def _rsqrt(ask: Steps, kept: Kept, grad: Any) -> Any:
    slope = ask("mul.Scalar", ask("pow", kept.result(), 3), -0.5)
    return (ask("mul", slope, grad),)


def _log1p(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("div", grad, ask("add.Scalar", kept.value(0), 1)),)


def _cos(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("mul", grad, ask("neg", ask("sin", kept.value(0)))),)


def _tan(ask: Steps, kept: Kept, grad: Any) -> Any:
    slope = ask("add.Scalar", ask("pow", kept.result(), 2), 1)
    return (ask("mul", grad, slope),)


def _arc(ask: Steps, kept: Kept) -> Any:
    """The slope of asin."""
    input = kept.value(0)
    square = ask("mul", ask("neg", input), input)
    return ask("rsqrt", ask("add.Scalar", square, 1))


def _asin(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("mul", grad, _arc(ask, kept)),)


def _acos(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("mul", grad, ask("neg", _arc(ask, kept))),)


def _atan(ask: Steps, kept: Kept, grad: Any) -> Any:
    input = kept.value(0)
    return (ask("div", grad, ask("add.Scalar", ask("mul", input, input), 1)),)


def _erf(ask: Steps, kept: Kept, grad: Any) -> Any:
    bell = ask("exp", ask("neg", ask("pow", kept.value(0), 2)))
    return (ask("mul", ask("mul.Scalar", bell, 2 / math.sqrt(math.pi)), grad),)


def _clamp(ask: Steps, kept: Kept, grad: Any) -> Any:
    input, low, high = kept.value(0), kept.option(1), kept.option(2)
    if isinstance(low, Tensor) and isinstance(high, Tensor):
        return _between(ask, kept, grad, input, low, high)
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        raise TooLittleKeptError
    zero = ask("scalar_tensor", 0.0, **beside(grad))
    above = None if low is None else ask("ge", input, low)
    below = None if high is None else ask("le", input, high)
    inside = below if above is None else above
    if above is not None and below is not None:
        inside = ask("logical_and_", above, below)
    return ask("where", inside, grad, zero), None, None


def _between(ask: Steps, kept: Kept, grad: Any, input: Any, low: Any, high: Any) -> Any:
    """Steps of bounds that are tensors: each has the gradient where it is the result."""
    found: list[Any] = [None, None, None]
    if kept.wanted[1] or kept.wanted[2]:
        zero = ask("scalar_tensor", 0.0, **beside(grad))
    if kept.wanted[1]:
        below = ask("lt", low, high)
        below = ask("logical_and", ask("lt", input, low), below)
        found[1] = ask("where", below, grad, zero)
    if kept.wanted[2]:
        above = ask("gt", input, high)
        above = ask("logical_or", above, ask("lt", high, low))
        found[2] = ask("where", above, grad, zero)
    if kept.wanted[0]:
        zero = ask("scalar_tensor", 0.0, **beside(grad))
        inside = ask("ge", input, low)
        inside = ask("logical_and", inside, ask("le", input, high))
        found[0] = ask("where", inside, grad, zero)
    return found


def _bound(within: str, beyond: str) -> Any:
    """Steps of a bound on one side: which of the input is within it, and which beyond."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        input, bound = kept.value(0), kept.option(1)
        found: list[Any] = [None, None]
        for place, side in ((1, beyond), (0, within)):
            if kept.wanted[place]:
                zero = ask("scalar_tensor", 0.0, **beside(grad))
                found[place] = ask("where", ask(side, input, bound), grad, zero)
        return found

    return steps


def _extreme(beyond: str, short: str) -> Any:
    """Steps of maximum and minimum: who is beyond the other, and who falls short."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        input, other = kept.value(0), kept.value(1)
        found: list[Any] = [None, None]
        for place, lost in ((1, beyond), (0, short)):
            if kept.wanted[place]:
                half = ask("div.Scalar", grad, 2)
                shared = ask("where", ask("eq", input, other), half, grad)
                found[place] = ask("masked_fill_", shared, ask(lost, input, other), 0)
        return found

    return steps


def _choose(ask: Steps, kept: Kept, grad: Any) -> Any:
    condition = kept.value(0)
    found: list[Any] = [None, None]
    for place in (1, 0):
        if kept.wanted[place]:
            zero = ask("scalar_tensor", 0, **beside(grad))
            parts = (zero, grad) if place else (grad, zero)
            found[place] = ask("where", condition, *parts)
    return found


# ---- activations ----


def _of_result(name: str) -> Any:
    """Steps of one operation on the gradient and the result."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        return (ask(name, grad, kept.result()),)

    return steps


def _of_input(name: str, *more: Any) -> Any:
    """Steps of one operation on the gradient, the input, the op's options and what follows."""

    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        options = [kept.option(place) for place in range(1, len(kept.node.op.parameters))]
        return (ask(name, grad, kept.value(0), *options, *more),)

    return steps


def _gelu(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("gelu_backward", grad, kept.value(0), approximate=kept.option(1)),)


def _elu(ask: Steps, kept: Kept, grad: Any) -> Any:
    return (ask("elu_backward", grad, kept.option(1), 1, 1, False, kept.value(0)),)


def _softmax(name: str) -> Any:
    def steps(ask: Steps, kept: Kept, grad: Any) -> Any:
        result = kept.result()
        dim = from_front(kept.option(1), result.ndim)[0]
        return (ask(name, grad, result, dim, result.dtype),)

    return steps


STEPS: Final[dict[str, Any]] = {
    "add": _add,
    "mul": _mul,
    "true_divide": _true_divide,
    "reciprocal": _reciprocal,
    "pow": _pow,
    "square": _square,
    "sqrt": _sqrt,
    "rsqrt": _rsqrt,
    "log1p": _log1p,
    "cos": _cos,
    "tan": _tan,
    "asin": _asin,
    "acos": _acos,
    "atan": _atan,
    "erf": _erf,
    "clamp": _clamp,
    "clamp_min": _bound("ge", "lt"),
    "clamp_max": _bound("le", "gt"),
    "maximum": _extreme("gt", "lt"),
    "minimum": _extreme("lt", "gt"),
    "choose": _choose,
    "sigmoid": _of_result("sigmoid_backward"),
    "gelu": _gelu,
    "softplus": _of_input("softplus_backward"),
    "elu": _elu,
    "leaky_relu": _of_input("leaky_relu_backward", False),
    "hardtanh": _of_input("hardtanh_backward"),
    "softmax": _softmax("_softmax_backward_data"),
    "log_softmax": _softmax("_log_softmax_backward_data"),
}
