"""Gradients of convolutions as functions: of their input, given its size, and of their weight."""

from typing import Any

from adjoint.autograd.entry_points import grad as gradient
from adjoint.autograd.grad_mode import recording
from adjoint.call.context import is_recording
from adjoint.nn import functional


def _slope(convolution: Any, input: Any, weight: Any, grad_output: Any, options: Any) -> Any:
    """The gradient with respect to input or weight, the one of which only the size is given.

    The convolution is linear in it, so that zeros will do.
    """
    known = input if hasattr(input, "new_zeros") else weight
    unknown = known.new_zeros(weight if known is input else input).requires_grad_()
    given = (known, unknown) if known is input else (unknown, known)
    stride, padding, dilation, groups = options
    with recording():
        out = convolution(*given, None, stride, padding, dilation, groups)
    found: Any = gradient(out, unknown, grad_output, create_graph=is_recording())
    return found[0]


def _rules(dims: int) -> tuple[Any, Any]:
    """The two functions for convolutions over so many dimensions."""
    convolution = getattr(functional, f"conv{dims}d")

    def of_input(
        input_size: Any,
        weight: Any,
        grad_output: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        options = (stride, padding, dilation, groups)
        return _slope(convolution, input_size, weight, grad_output, options)

    def of_weight(input: Any, weight_size: Any, grad_output: Any, *args: Any, **named: Any) -> Any:
        return of_input(input, weight_size, grad_output, *args, **named)

    for rule, name in ((of_input, "input"), (of_weight, "weight")):
        rule.__name__ = rule.__qualname__ = f"conv{dims}d_{name}"
        rule.__doc__ = f"The gradient of conv{dims}d with respect to its {name}, of the size given."
    return of_input, of_weight


conv1d_input, conv1d_weight = _rules(1)
conv2d_input, conv2d_weight = _rules(2)
conv3d_input, conv3d_weight = _rules(3)
