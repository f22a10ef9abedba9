"""What PyTorch's steps of a backward pass find in a node."""

from typing import Any

from adjoint.autograd.node import AccumulateGrad
from adjoint.call.context import is_grad_enabled
from adjoint.compat.aten_steps.asking import Steps
from adjoint.ops.arranging.conversion import strided


class TooLittleKeptError(Exception):
    """A node does not keep what PyTorch's steps need; its own rules do without."""


def check_no_zeros(tensor: Any) -> None:
    """Leave zeros to the rules where PyTorch's steps are recorded, which lose the derivative."""
    if is_grad_enabled() and tensor.layer is None and (tensor.array == 0).any():
        raise TooLittleKeptError


class Kept:
    """What a node keeps, by the places of the op's parameters, and which inputs are wanted."""

    def __init__(self, node: Any, wanted: list[bool]) -> None:
        self.node = node
        self.wanted = wanted

    def option(self, place: int) -> Any:
        """An argument, which may be None."""
        return self.node.value(place, True)

    def input(self, place: int) -> Any:
        """An input of the op, which may be None; a leaf is found behind its edge."""
        found = self.option(place)
        if found is None:
            edge, _ = self.node.edges()[self.node.op.inputs.index(place)]
            found = edge.variable if isinstance(edge, AccumulateGrad) else None
        return found

    def value(self, place: int) -> Any:
        """An argument that must be there."""
        found = self.input(place) if place in self.node.op.inputs else self.option(place)
        if found is None:
            raise TooLittleKeptError
        return found

    def result(self, number: int = 0) -> Any:
        """A result of the call."""
        return self.node.result_value(number, True)

    def shape(self, place: int) -> tuple[int, ...]:
        """The sizes of an argument, if it is kept or derived."""
        if place in self.node.op.inputs:
            edge, _ = self.node.edges()[self.node.op.inputs.index(place)]
            found = self.option(place) if edge is None else None
            if found is not None:
                return tuple(found.shape)
            if edge is None:
                raise TooLittleKeptError
        return tuple(self.node.shape(place))


def beside(tensor: Any) -> dict[str, Any]:
    """How PyTorch asks for a tensor beside another."""
    return {"dtype": tensor.dtype, "layout": strided, "device": tensor.device}


def zeros_beside(ask: Steps, grad: Any, shape: Any) -> Any:
    """Zeros that are a whole gradient: of the same class as another one."""
    if grad.layer is not None:
        return ask("new_zeros", grad, list(shape))
    return ask("zeros", list(shape), **beside(grad))


def from_front(dim: Any, ndim: int) -> list[int]:
    """Dimensions, one or several, counted from the first."""
    return [each % max(ndim, 1) for each in ([dim] if isinstance(dim, int) else dim)]


def unreduced(ask: Steps, tensor: Any, dims: list[int]) -> Any:
    """A tensor with the dimensions that a reduction has left out."""
    for dim in sorted(dims):
        tensor = ask("unsqueeze", tensor, dim)
    return tensor
