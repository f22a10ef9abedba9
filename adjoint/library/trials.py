"""An op with arguments to try it on: custom ops and ops of the table, seen in the same way."""

from collections.abc import Callable
from typing import Any

from adjoint.call.arguments import tensors_in
from adjoint.library.custom_op import CustomOpDef
from adjoint.ops.inplace import InplaceOp
from adjoint.ops.op import Op
from adjoint.pytree import tree_map
from adjoint.tensors.tensor import Tensor


def fresh(tensor: Any) -> Any:
    """A leaf with the same values."""
    return apart(tensor).requires_grad_(tensor.requires_grad)


def apart(tensor: Any) -> Any:
    """A tensor without history on memory of its own."""
    return tensor.detach().clone()


def replaced(change: Callable[[Any], Any], tree: Any) -> Any:
    """A nest of arguments with each tensor replaced."""
    return tree_map(lambda value: change(value) if isinstance(value, Tensor) else value, tree)


class Trial:
    """What the checks ask of an op and its arguments; each call gets fresh copies."""

    recorded = True  # whether what it changes has a derivative

    def __init__(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.op = op
        self.declared: Op = op.op if isinstance(op, InplaceOp) else op
        self.title: str = op.name
        self.mutated: list[str] = []  # the names of the arguments that the op may change
        self.args = args
        self.kwargs = kwargs

    def copies(self, change: Callable[[Any], Any]) -> Any:
        """The arguments with each tensor replaced."""
        return replaced(change, (self.args, self.kwargs))

    def differentiable(self) -> bool:
        """Whether there is a derivative to check: an argument requires grad, and none is lost."""
        needed = any(t.requires_grad for t in tensors_in([*self.args, *self.kwargs.values()]))
        return needed and (self.recorded or not self.mutated)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by the names of the parameters."""
        return dict(zip(self.declared.parameters, self.declared.bind(args, kwargs)))

    def compute(self, bound: dict[str, Any]) -> Any:
        """The op on bound arguments, which may be changed."""
        return self.op.run(list(bound.values()))

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op as users call it, recorded."""
        return self.op(*args, **kwargs)


class CustomTrial(Trial):
    """A custom op with arguments."""

    recorded = False

    def __init__(self, op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__(op, args, kwargs)
        self.mutated = op.schema.mutated


class TableTrial(Trial):
    """An op of the table, or its in-place form, with arguments."""

    def __init__(self, op: Op | InplaceOp, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__(op, args, kwargs)
        self.inplace = isinstance(op, InplaceOp)
        self.mutated = self.declared.parameters[:1] if self.inplace else []

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not self.inplace:
            return super().call(args, kwargs)
        values = self.declared.bind(args, kwargs)
        values[0] = values[0].clone()  # no leaf that requires grad may be changed
        return self.op.run(values)

    def has_rule(self, name: str) -> bool:
        """Whether the op has a derivative with respect to a parameter."""
        index = self.declared.index_of[name]
        if index not in self.declared.inputs:
            return False
        rule = self.declared.rules[self.declared.inputs.index(index)]
        return self.declared.joint is not None or rule is not None


def trial_of(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CustomTrial | TableTrial:
    """The trial of an op on arguments."""
    if isinstance(op, CustomOpDef):
        return CustomTrial(op, args, kwargs)
    if isinstance(op, (Op, InplaceOp)):
        return TableTrial(op, args, kwargs)
    raise ValueError(
        f"opcheck: op must be a custom op, got {type(op).__name__}; ops of the table and their "
        "in-place forms can be checked too, functions made of ops can't"
    )
