"""Which tensors the forward of a Function has computed from its inputs.

Forward is not recorded, so a tensor it saves has no history; whether it should have had one is
known here. The settings of the context hold the record while such a forward runs.
"""

import weakref
from typing import TYPE_CHECKING, Any

from adjoint.tensors.core import TensorCore, is_floating

if TYPE_CHECKING:
    from adjoint.ops.op import Op


class Intermediates:
    """The inputs of one forward, and what came of them; tensors by identity, held weakly."""

    def __init__(self, inputs: list[Any]) -> None:
        self.marks: dict[int, weakref.ref[TensorCore]] = {}
        for tensor in inputs:
            self.mark(tensor)

    def mark(self, tensor: TensorCore) -> None:
        """Note that a tensor depends on the inputs."""
        self.marks[id(tensor)] = weakref.ref(tensor)

    def holds(self, value: Any) -> bool:
        """Whether a tensor, or one in a list, depends on the inputs."""
        if isinstance(value, (list, tuple)):
            return any(self.holds(element) for element in value)
        found = self.marks.get(id(value))
        return found is not None and found() is value

    def extend(self, op: "Op", values: list[Any], results: list[Any]) -> None:
        """The results of an op depend on the inputs if one of its differentiable arguments does."""
        if any(self.holds(values[parameter]) for parameter in op.ruled_parameters()):
            for result in results:
                if is_floating(result.array):
                    self.mark(result)
