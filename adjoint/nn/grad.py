"""Gradients of convolutions as functions: of their input, given its size, and of their weight."""

from typing import Any

from adjoint.ambient import is_grad_enabled
from adjoint.autograd.differentiate import grad as gradient
from adjoint.autograd.grad_mode import enable_grad
from adjoint.nn import functional


def _slope(convolution: Any, unknown: int, given: list[Any], grad_output: Any, options: Any) -> Any:
    """The gradient of a convolution with respect to one argument, of which only the size matters.

    The convolution is linear in it, so that zeros will do.
    """
    other = given[1 - unknown]
    given[unknown] = other.new_zeros(given[unknown]).requires_grad_()
    with enable_grad():
        out = convolution(*given, None, *options)
    found: Any = gradient(out, given[unknown], grad_output, create_graph=is_grad_enabled())
    return found[0]


def _of_input(dims: int) -> Any:
    convolution = getattr(functional, f"conv{dims}d")

    def rule(
        input_size: Any,
        weight: Any,
        grad_output: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        options = (stride, padding, dilation, groups)
        return _slope(convolution, 0, [input_size, weight], grad_output, options)

    rule.__name__ = f"conv{dims}d_input"
    rule.__doc__ = f"The gradient of conv{dims}d with respect to an input of this size."
    return rule


def _of_weight(dims: int) -> Any:
    convolution = getattr(functional, f"conv{dims}d")

    def rule(
        input: Any,
        weight_size: Any,
        grad_output: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        options = (stride, padding, dilation, groups)
        return _slope(convolution, 1, [input, weight_size], grad_output, options)

    rule.__name__ = f"conv{dims}d_weight"
    rule.__doc__ = f"The gradient of conv{dims}d with respect to a weight of this size."
    return rule


conv1d_input, conv2d_input, conv3d_input = map(_of_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, (1, 2, 3))
