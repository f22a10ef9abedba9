"""Rules that many tables share: of what is constant, and of what has no derivative."""

from typing import Any

from adjoint.ops.annotations import Array
from adjoint.ops.op import elementwise


@elementwise(input=lambda grad: zero_of(grad), inplace=False, home=None)
def zero_of(xp: Any, input: Array) -> Array:
    """Zeros in the form of input: the gradient of what is constant almost everywhere."""
    return xp.zeros_like(input)


def refused_derivative(name: str, error: type[Exception] = RuntimeError) -> Any:
    """The rule of an op that PyTorch records but refuses to differentiate, by this error."""

    def rule(grad: Any) -> Any:
        raise error(f"the derivative of {name} is not implemented")

    return rule
