"""Averages of a model over its training: stochastic weight averaging, and exponential means."""

import copy
import math
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Literal

from adjoint import nn
from adjoint.autograd.grad_mode import no_grad
from adjoint.creation.factories import tensor
from adjoint.dtypes import FLOAT, category_of, int64
from adjoint.ops.elementwise.selection import where
from adjoint.optim.lr_scheduler.base import LRScheduler, Rates, for_each_group
from adjoint.optim.optimizer import Optimizer
from adjoint.tensors.concrete import has_values

Average = Callable[[Any, Any, Any], Any]
MultiAverage = Callable[[Any, Any, Any], None]

_BATCH_NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay}: it must be in the range [0, 1]")


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function that answers the exponential mean of one parameter."""
    _check_decay(decay)

    def ema_update(ema_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """A function that answers the plain mean of one parameter."""

    def swa_update(averaged_param: Any, current_param: Any, num_averaged: Any) -> Any:
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """A function that takes parameters into their exponential means."""
    _check_decay(decay)

    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        _mix(ema_param_list, current_param_list, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """A function that takes parameters into their plain means."""

    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        known = has_values(num_averaged)
        _mix(
            averaged_param_list,
            current_param_list,
            1 / ((float(num_averaged) if known else num_averaged) + 1),
        )

    return swa_update


@no_grad()
def _mix(means: Any, values: Any, part: Any) -> None:
    """Move each mean a part of the way to its value; it is a tensor in what is compiled."""
    for mean, value in zip(means, values, strict=True):
        if category_of(mean.array.dtype) >= FLOAT:
            mean.lerp_(value, part if isinstance(part, float) else part.to(mean.dtype))
        else:
            mean.copy_(mean * (1 - part) + value * part)


class AveragedModel(nn.Module):
    """A copy of a model that holds the mean of its parameters; update_parameters takes them in.

    Buffers are averaged with use_buffers, and otherwise copied.
    """

    n_averaged: Any

    def __init__(
        self,
        model: nn.Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model makes of an input."""
        return self.module(*args, **kwargs)

    def _averaged(self, model: nn.Module) -> list[Any]:
        buffers = model.buffers() if self.use_buffers else ()
        return [each.detach() for each in chain(model.parameters(), buffers)]

    @no_grad()
    def update_parameters(self, model: nn.Module) -> None:
        """Take the present parameters of the model into the mean."""
        means = self._averaged(self.module)
        values = [
            value.to(mean.device) for mean, value in zip(means, self._averaged(model), strict=True)
        ]
        first = self.n_averaged == 0
        if not has_values(first):  # it is compiled, and known when it runs
            mixed = [mean.clone() for mean in means]  # which change once, as eagerly
            self._average(mixed, values)
            values = [where(first, value, mean) for mean, value in zip(mixed, values)]
        if not has_values(first) or first:
            for mean, value in zip(means, values):
                mean.copy_(value)
        else:
            self._average(means, values)
        if not self.use_buffers:
            buffers: Any = zip(self.module.buffers(), model.buffers(), strict=True)
            for own, value in buffers:
                own.detach().copy_(value.detach().to(own.device))
        self.n_averaged += 1

    def _average(self, means: list[Any], values: list[Any]) -> None:
        """Call the averaging function: for each parameter, or those of a device and data type."""
        if self.avg_fn is not None:
            for mean, value in zip(means, values):
                mean.copy_(self.avg_fn(mean, value, self.n_averaged.to(mean.device)))
            return
        average = self.multi_avg_fn or get_swa_multi_avg_fn()
        kinds: dict[Any, tuple[list[Any], list[Any]]] = {}
        for mean, value in zip(means, values):
            own, current = kinds.setdefault((str(mean.device), mean.dtype), ([], []))
            own.append(mean)
            current.append(value)
        for own, current in kinds.values():
            average(own, current, self.n_averaged.to(own[0].device))


@no_grad()
def update_bn(loader: Iterable[Any], model: nn.Module, device: Any = None) -> None:
    """Compute the running statistics of batch norms anew, in one pass over the data."""
    kinds = tuple(getattr(nn, name) for name in _BATCH_NORMS if hasattr(nn, name))
    momenta: dict[Any, Any] = {
        module: module.momentum for module in model.modules() if isinstance(module, kinds)
    }
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # the plain mean over all batches
    try:
        for batch in loader:
            inputs = batch[0] if isinstance(batch, list | tuple) else batch
            model(inputs if device is None else inputs.to(device))
    finally:
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """From the present rates to swa_lr in anneal_epochs steps, and constant from there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = for_each_group("swa_lr", optimizer, swa_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy!r}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                f"anneal_epochs must be an integer equal or greater than 0, got {anneal_epochs}"
            )
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """How much of the way is gone after a part t of the time."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def _gone(self, step: float) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def _rates(self) -> Rates:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._gone(step - 1), self._gone(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates
