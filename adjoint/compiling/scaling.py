"""A GradScaler in a program, which finds out whether gradients overflowed and tells the host.

The step of the optimizer is a part of the program always; where it is skipped, the values from
before are chosen, no hook of the step is called, and the host counts no step.
"""

from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.backends.numpy import numpy_backend
from adjoint.compiling.errors import CompileError, OutdatedError
from adjoint.compiling.host import OnHost, Unseen, Visit
from adjoint.dtypes import bfloat16, float16, float32
from adjoint.ops.sparse.layers import sparse_of
from adjoint.tensors.tensor import Tensor

_np: Any = numpy_backend.xp


def overflowed(scaler: Any) -> dict[Any, Any]:
    """By optimizer whether its gradients have overflowed, of those that are unscaled already."""
    found: dict[Any, Any] = vars(scaler)["_overflowed"]
    return found


class Remembered(Unseen):
    """What the host knows of a scaler before a call changes it."""

    only_asks = False

    def __init__(self, scaler: Any) -> None:
        self.scaler = scaler
        self.before: Any = None

    def remember(self) -> None:
        """It is about to change."""
        self.before = {**vars(self.scaler), "_overflowed": dict(overflowed(self.scaler))}

    def writes(self) -> list[tuple[Any, ...]]:
        """What changes has changed already."""
        return []

    def undo(self) -> None:
        """The call has failed: things become as they were."""
        if self.before is not None:
            vars(self.scaler).update(self.before)
            self.before = None


class Skipping:
    """Whether a call makes no step; and if not, how many versions it takes back again."""

    found = False  # in the call that is under way

    def __init__(self) -> None:
        self.counted: list[tuple[Any, int]] = []  # tensors, and how often the step changes them

    def uncounted(self) -> list[Any]:
        """The counters of versions that a step did not change which the program has made anyway."""
        return [t.counter() for t, bumps in self.counted if self.found for _ in range(bumps)]

    def writes(self) -> list[tuple[Any, ...]]:
        """What it changes it has changed already."""
        return []


class Overflow(Skipping, OnHost, Remembered):
    """Whether gradients of an optimizer have overflowed: the program says so to the host."""

    def __init__(self, scaler: Any, optimizer: Any, flag: Tensor) -> None:
        Skipping.__init__(self)
        Remembered.__init__(self, scaler)
        self.optimizer = optimizer
        self.flag: Any = flag  # in the program

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """See OnHost."""
        visit.begun.append(self)
        self.remember()
        self.found = bool(visit.tensor(arrays[0]).item())
        overflowed(self.scaler)[self.optimizer] = self.found
        return []

    def forget(self) -> None:
        """See OnHost."""
        self.flag = None


class Unscaling:
    """The factor of gradients in a call, before which they must not have been unscaled."""

    def __init__(self, scaler: Any, optimizer: Any) -> None:
        self.scaler = scaler
        self.optimizer = optimizer

    def factor(self) -> float:
        """What gradients are multiplied by."""
        if self.optimizer in overflowed(self.scaler):
            raise OutdatedError("the gradients of an optimizer are unscaled already")
        return 1.0 / float(self.scaler.get_scale())


class Known(Skipping, Unseen):
    """What was found when gradients were unscaled outside, before the call."""

    only_asks = False

    def __init__(self, scaler: Any, optimizer: Any) -> None:
        super().__init__()
        self.scaler = scaler
        self.optimizer = optimizer
        self.flag: Any = None

    def act(self) -> Any:
        """It as a number."""
        found = overflowed(self.scaler).get(self.optimizer)
        if found is None:
            raise OutdatedError("the gradients of an optimizer are not unscaled yet")
        self.found = found
        return _np.array(float(found))

    def undo(self) -> None:
        """Nothing was changed."""


class Updated(Remembered):
    """The update of a scale."""

    def __init__(self, scaler: Any, new_scale: Any) -> None:
        super().__init__(scaler)
        self.new_scale = new_scale

    def act(self) -> None:
        """Update it."""
        self.remember()
        self.scaler.update(self.new_scale)


def unscaled(watching: Any, scaler: Any, optimizer: Any, grads: list[Any]) -> Overflow:
    """Divide gradients by the scale of each call, and find out whether one is infinite or NaN."""
    factor = watching.read(Unscaling(scaler, optimizer).factor)
    watching.lift_all(grads)
    finite: Any = None
    with no_grad():
        for grad in grads:
            if sparse_of(grad) is not None:
                raise CompileError("GradScaler: a gradient is sparse, which can't be compiled")
            wide = grad.to(float32) if grad.dtype in (float16, bfloat16) else grad
            scaled = (wide * factor.to(wide.dtype)).to(grad.dtype)
            every = scaled.isfinite().all()
            finite = every if finite is None else finite.logical_and(every)
            grad.copy_(scaled)
        overflow = Overflow(scaler, optimizer, finite.logical_not())
    watching.on_host(overflow, [overflow.flag.array], [])
    return overflow


def known(watching: Any, scaler: Any, optimizer: Any) -> Known:
    """Whether gradients that were unscaled before the call have overflowed."""
    found = Known(scaler, optimizer)
    found.flag = watching.number(found) != 0
    return found


def state_of(optimizer: Any) -> list[Any]:
    """The tensors that a step of an optimizer may change."""
    params = [param for group in optimizer.param_groups for param in group["params"]]
    kept = [value for home in optimizer.state.values() for value in home.values()]
    return [each for each in (*params, *kept) if isinstance(each, Tensor)]


def stepped_unless(watching: Any, overflow: Any, optimizer: Any) -> None:
    """The step of an optimizer, which counts unless gradients have overflowed."""
    tensors = state_of(optimizer)
    versions = [tensor.version() for tensor in tensors]
    before = watching.standing_by(tensors)
    watching.skipping = overflow
    try:
        optimizer.step()
    finally:
        watching.skipping = None
    bumps = [tensor.version() - version for tensor, version in zip(tensors, versions)]
    overflow.counted += [each for each in zip(tensors, bumps) if each[1]]
    for tensor, array in watching.changed_since(tensors, before):
        if tensor.extras is not None and tensor.extras.base is not None:
            raise CompileError("GradScaler.step: a parameter, or its state, is a view")
        watching.choose(overflow.flag.array, array, tensor)
