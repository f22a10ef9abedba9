"""Schedules made of others: one after another, or all at once."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from adjoint.optim.lr_scheduler.base import LRScheduler, assign, current
from adjoint.optim.lr_scheduler.plateau import ReduceLROnPlateau
from adjoint.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    """Several schedules of one optimizer."""

    _schedulers: Sequence[Any]

    def _check(self, schedulers: Sequence[Any], optimizer: Any) -> None:
        name = type(self).__name__
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name}: the scheduler at index {index} has no `optimizer`")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau`, whose step() needs a metric: "
                    f"step the one at index {index} by itself"
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but the "
                    f"{type(scheduler).__name__} at index {index} has another one"
                )

    def state_dict(self) -> dict[str, Any]:
        own = [scheduler.state_dict() for scheduler in self._schedulers]
        return super().state_dict() | {"_schedulers": own}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rest = {key: value for key, value in state_dict.items() if key != "_schedulers"}
        super().load_state_dict(rest)
        for scheduler, saved in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(saved)


class SequentialLR(_Combined):
    """One schedule after another; the next begins at each milestone."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "SequentialLR expects number of schedulers provided to be one more than the number "
                f"of milestone points, but got {len(schedulers)} and {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            assign(group, group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()  # noqa: SLF001  # a schedule like this one
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the step that each schedule has made when it was constructed."""
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for inner in scheduler._schedulers:  # noqa: SLF001  # as above
                self.recursive_undo(inner)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]  # as in PyTorch it takes no epoch
        """Step the schedule whose turn it is; at a milestone, start the next."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)  # noqa: SLF001  # it starts without counting a step
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedules at once: each changes the rates that the one before has set."""

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler, but got none")
        self.optimizer = optimizer or getattr(schedulers[0], "optimizer", None)  # type: ignore[assignment]  # _check refuses None
        self._check(schedulers, self.optimizer)
        self._schedulers = schedulers
        self._last_lr = current(self.optimizer)

    def step(self) -> None:  # type: ignore[override]  # as in PyTorch it takes no epoch
        """Step all schedules in order."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = current(self.optimizer)
