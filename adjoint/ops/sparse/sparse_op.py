"""Ops that take or answer sparse tensors, and no others: their forward works on Tensors."""

from typing import Any, NoReturn

from adjoint.call import dispatch
from adjoint.call.arguments import tensors_in
from adjoint.call.context import Changed, current
from adjoint.ops.op import Op
from adjoint.ops.sparse.layers import as_tensor
from adjoint.tensors.core import backend_of


class SparseOp(Op):
    """An op that computes on Tensors, below autograd, and is recorded by its rules as others are.

    Inside vmap and forward mode there is none.
    """

    def __init__(self, name: str, family: str, forward: Any) -> None:
        super().__init__(name, family, forward)
        self.lane = dispatch.OWN

    def evaluated(self, values: list[Any]) -> Any:
        """See Op."""
        values = [as_tensor(value) for value in values]
        settings = current()
        if settings.modes:
            result = dispatch.asked_below(settings, False, self, values)
        else:
            xp = backend_of(tensors_in(values)[0].spec().array_type).xp
            with Changed({"grad_enabled": False}):
                result = dispatch.run_forward(self, xp, values)
        recorded = settings.recording and bool(self.inputs)
        dispatch.keep_history(self, values, [result], False, None, recorded, settings)
        return result

    def over_batch(self, level: Any, values: list[Any]) -> NoReturn:
        """See Op."""
        raise self.refused("vmap")

    def pushed(self, level: Any, values: list[Any]) -> NoReturn:
        """See Op."""
        raise self.refused("forward mode")

    def refused(self, transform: str) -> NotImplementedError:
        """The error for a call inside a transform."""
        return NotImplementedError(
            f"{self.name}(): sparse tensors take no part in {transform}; use dense ones there"
        )
