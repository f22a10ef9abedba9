"""Calls on tensors with tangents: the layer of forward mode.

A dual tensor holds a primal and its tangent, a tensor like the primal. What an op makes of the
primals is computed once; its tangent follows from the op's family or rules (`forward_rules`).
"""

from typing import Any

from adjoint.autograd.forward_rules import pushed
from adjoint.autograd.node import edge_node
from adjoint.call import dispatch
from adjoint.call.layers import Layer, Level, with_layer
from adjoint.ops.op import Op
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.views import replay


class DualLevel(Level):
    """One forward derivative under way."""

    def __init__(self, name: str = "jvp", fades: bool = False) -> None:
        super().__init__(name)
        self.fades = fades

    def lift(self, tensor: Tensor) -> Tensor:
        """See Level."""
        return dual(self, tensor, None)


class Dual(Layer):
    """A tensor with a tangent; None if it has none but takes part."""

    def __init__(self, level: Level, primal: Tensor, tangent: Tensor | None) -> None:
        super().__init__(level)
        self.primal = primal
        self.tangent = tangent

    def call(self, op: Op, values: list[Any]) -> Any:
        """See Layer."""
        level = self.level
        primals = [primal_at(level, value) for value in values]
        tangents = [tangent_at(level, value) for value in values]
        if all(tangent is None for tangent in tangents):
            result, pushed_on = op.run(primals), None
        else:
            result, pushed_on = pushed(op, primals, tangents)
        if not isinstance(result, (tuple, list)):
            return dual(level, result, pushed_on)
        if pushed_on is None:
            pushed_on = [None] * len(result)
        results = [dual(level, r, t) for r, t in zip(result, pushed_on)]
        return tuple(results) if op.outputs is None else op.outputs(*results)

    def adopt(self, name: str, values: list[Any]) -> None:
        """See Layer."""
        target: Tensor = values[0]
        base = None if target.extras is None else target.extras.base
        if base is not None and (base.layer is None or base.layer.level is not self.level):
            take_part(self.level, base)
            base.layer.tangent = zeros_like(base.layer.primal)
        if target.layer is None or target.layer.level is not self.level:
            take_part(self.level, target)
            if base is not None and target.extras is not None:
                target.layer.tangent = replay(base.layer.tangent, target.extras.steps)

    def store(self, target: Tensor, result: Tensor) -> None:
        """See Layer."""
        layer: Dual = target.layer
        own: Any = layer.primal
        own.copy_(primal_at(self.level, result))
        tangent = tangent_at(self.level, result)
        held: Any = layer.tangent
        if held is not None:
            held.copy_(zeros_like(held) if tangent is None else tangent)
        elif tangent is not None:
            fresh: Any = zeros_like(layer.primal)
            layer.tangent = fresh.copy_(tangent)

    def detached(self) -> Layer:
        """See Layer: a tangent is history, too."""
        return Dual(self.level, self.primal.detach(), None)

    def copied(self) -> Layer:
        """See Layer."""
        primal: Any = self.primal
        return Dual(self.level, primal.clone(), self.tangent)

    def own(self, op: Op, values: list[Any]) -> Any:
        """See Layer."""
        return op.pushed(self.level, values)

    def below(self) -> list[Tensor]:
        """See Layer."""
        return [self.primal] if self.tangent is None else [self.primal, self.tangent]

    def imitated(self, make: Any) -> Tensor:
        """See Layer."""
        return make(self.primal, ())  # type: ignore[no-any-return]  # a factory makes Tensors

    def settled(self) -> Tensor:
        """See Layer."""
        return self.primal

    def value_refused(self) -> str | None:
        """See Layer: the values are those of the primal."""
        layer: Layer | None = self.primal.layer
        return None if layer is None else layer.value_refused()


def dual(level: Level, primal: Tensor, tangent: Tensor | None) -> Tensor:
    """A tensor of a level of forward mode."""
    return with_layer(primal.array, Dual(level, primal, tangent))


def primal_at(level: Level, value: Any) -> Any:
    """An argument without its tangent at a level; lists element by element."""
    if isinstance(value, Tensor):
        layer = value.layer
        return layer.primal if layer is not None and layer.level is level else value
    if isinstance(value, (list, tuple)) and dispatch.tensors_in([value]):
        return [primal_at(level, element) for element in value]
    return value


def tangent_at(level: Level, value: Any) -> Any:
    """The tangent of an argument at a level, None if it has none; a list of them for a list."""
    if isinstance(value, Tensor):
        layer = value.layer
        return layer.tangent if layer is not None and layer.level is level else None
    if isinstance(value, (list, tuple)):
        found = [tangent_at(level, element) for element in value]
        return found if any(tangent is not None for tangent in found) else None
    return None


def zeros_like(tensor: Any) -> Any:
    """Zeros of the form of a tensor, at its levels; memory of their own."""
    return tensor.detach().clone().zero_()


def take_part(level: Level, tensor: Any) -> None:
    """Give a tensor from below a layer, in which it has no tangent yet."""
    below = Tensor(tensor.array)
    below.layer, below.special = tensor.layer, tensor.special
    below.extras = tensor.extras
    below.needs_grad = tensor.needs_grad
    below.node, below.output_number = edge_node(tensor), tensor.output_number
    tensor.layer = Dual(level, below, None)
    tensor.special = True
    tensor.needs_grad = False
    tensor.node, tensor.output_number = None, 0
