"""Which tensors the forward of a Function has computed from its inputs.

Forward is not recorded, so a tensor it saves has no history; whether it should have had one is
known here. Nothing is tracked outside such a forward.
"""

import weakref
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any

from adjoint.tensors.core import TensorCore, is_floating

if TYPE_CHECKING:
    from adjoint.ops.op import Op


class Lineage:
    """The inputs of one forward, and what came of them; tensors by identity, held weakly."""

    def __init__(self, inputs: list[Any]) -> None:
        self.marks: dict[int, weakref.ref[TensorCore]] = {}
        for tensor in inputs:
            self.mark(tensor)
        self.token: Token[Lineage | None] | None = None

    def mark(self, tensor: TensorCore) -> None:
        """Note that a tensor depends on the inputs."""
        self.marks[id(tensor)] = weakref.ref(tensor)

    def holds(self, value: Any) -> bool:
        """Whether a tensor, or one in a list, depends on the inputs."""
        if isinstance(value, (list, tuple)):
            return any(self.holds(element) for element in value)
        found = self.marks.get(id(value))
        return found is not None and found() is value

    def __enter__(self) -> "Lineage":
        self.token = _current.set(self)
        tracking.used = True
        return self

    def __exit__(self, *exc: object) -> None:
        assert self.token is not None
        _current.reset(self.token)


class _Tracking:
    """Whether a forward was ever tracked: until then, calls need not look at their context."""

    def __init__(self) -> None:
        self.used = False


tracking = _Tracking()
_current: ContextVar[Lineage | None] = ContextVar("adjoint_lineage", default=None)


def current() -> Lineage | None:
    """The forward that is tracked in this context."""
    return _current.get()


def extend(op: "Op", values: list[Any], results: list[Any]) -> None:
    """The results of an op depend on the inputs if one of its differentiable arguments does."""
    lineage = _current.get()
    if lineage is None:
        return
    for i, parameter in enumerate(op.inputs):
        ruled = op.joint is not None or op.custom is not None or op.rules[i] is not None
        if ruled and lineage.holds(values[parameter]):
            for result in results:
                if is_floating(result.array):
                    lineage.mark(result)
            return
