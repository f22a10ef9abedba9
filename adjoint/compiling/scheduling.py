"""The step of a scheduler between two pieces of a program, which changes tensors of the program.

Learning rates that are tensors, or a loss that the schedule looks at: the host makes the step on
what they hold by then, and the program goes on with what has become of the rates.
"""

from typing import Any

from adjoint.autograd.grad_mode import set_grad_enabled
from adjoint.compiling.errors import CompileError
from adjoint.compiling.host import HostCall, Visit
from adjoint.optim.lr_scheduler.base import remembered
from adjoint.optim.writes import Undo
from adjoint.tensors.core import NDARRAY, set_attribute
from adjoint.tensors.tensor import Tensor


def settings_of(scheduler: Any) -> list[Any]:
    """The tensors among the settings of its optimizer, each once."""
    groups = scheduler.optimizer.param_groups
    found = [v for group in groups for v in group.values() if isinstance(v, Tensor)]
    return list({id(each): each for each in found}.values())


class ScheduleCall(HostCall):
    """The step of a scheduler, taken back if the call fails."""

    def __init__(
        self, tracing: Any, step: Any, scheduler: Any, given: Any, rates: list[Any]
    ) -> None:
        super().__init__(tracing, step, given, tuple(rates))
        self.scheduler = scheduler
        self.rates = [tracing.lifted[id(rate)].place for rate in rates]
        self.before: Undo | None = None

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """Make the step."""
        _, leaves = self.given_at(visit, self.show(visit, arrays))
        rates = [place.found(visit.arguments) for place in self.rates]
        undo = Undo()
        remembered(self.scheduler, undo, {id(rate) for rate in rates})
        for place, rate in zip(self.rates, rates):
            counter = rate.counter()
            undo.calls.append((set_attribute, counter, "value", counter.value))
            visit.show(place, "array", _own(rate.array))
        self.before = undo
        visit.begun.append(self)
        args, kwargs = self.tree.unflatten(leaves)
        with set_grad_enabled(self.grad_enabled):
            self.function(self.scheduler, *args, **kwargs)
        return [rate.array for rate in rates]

    def writes(self) -> list[tuple[Any, ...]]:
        """See Event."""
        return [(set_attribute, self, "before", None)]

    def undo(self) -> None:
        """See Event."""
        if self.before is not None:
            self.before.run()
            self.before = None


def _own(array: Any) -> Any:
    return array.copy() if type(array) is NDARRAY else array


def called(tracing: Any, step: Any, scheduler: Any, given: Any, rates: list[Any]) -> list[Any]:
    """Have the host make a step at each call; the arrays of the rates after it."""
    if any(rate.extras is not None and rate.extras.base is not None for rate in rates):
        raise CompileError(
            f"{type(scheduler).__name__} changes a learning rate that is a view of another "
            "tensor; give a clone() of it to the optimizer"
        )
    tracing.lift_all(rates)
    call = ScheduleCall(tracing, step, scheduler, given, rates)
    arrays = [tensor.array for tensor in call.tensors]
    found: list[Any] = tracing.on_host(call, [*call.arrays, *arrays], call.specs())
    return found
