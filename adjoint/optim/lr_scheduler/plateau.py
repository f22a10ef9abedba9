"""ReduceLROnPlateau: lower rates when a metric no longer improves."""

from math import inf
from typing import Literal, SupportsFloat

from adjoint.optim.lr_scheduler.base import (
    LRScheduler,
    assign,
    checked,
    current,
    warn_of_epoch,
)
from adjoint.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Times factor when a metric has not improved for more than `patience` steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"factor should be < 1.0, got {factor}")
        self.factor = factor
        self.optimizer = checked(optimizer)
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple):
            if len(min_lr) != groups:
                raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
            self.default_min_lr: float | None = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * groups
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = current(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode!r} is unknown: it is 'min' or 'max'")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold_mode {threshold_mode!r} is unknown: it is 'rel' or 'abs'")
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = inf if mode == "min" else -inf
        self._reset()

    def _reset(self) -> None:
        """Forget what was seen."""
        self.best: float = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    @property
    def in_cooldown(self) -> bool:
        """Whether the last reduction was so recent that nothing counts yet."""
        return self.cooldown_counter > 0

    def step(  # type: ignore[override]  # it needs the metric
        self, metrics: SupportsFloat, epoch: int | None = None
    ) -> None:
        """Look at a metric, and reduce the rates if it is on a plateau."""
        value = float(metrics)
        if epoch is not None:
            warn_of_epoch()
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value, self.best):
            self.best = value
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = current(self.optimizer)

    def _is_better(self, value: float, best: float) -> bool:
        direction = 1 if self.mode == "max" else -1
        if self.threshold_mode == "rel":
            wanted = best * (1.0 + direction * self.threshold)
        else:
            wanted = best + direction * self.threshold
        return value > wanted if direction > 0 else value < wanted

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when ReduceLROnPlateau was initialized ({len(self.min_lrs)}): extend min_lrs "
                    "when a group is added"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            before = float(group["lr"])
            after = max(before * self.factor, least)
            if before - after > self.eps:
                assign(group, after)
