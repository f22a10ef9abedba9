"""LRScheduler: what every schedule of learning rates shares."""

import functools
import types
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from adjoint.autograd.provenance import warn
from adjoint.call.context import current as settings
from adjoint.ops.arranging.conversion import clone
from adjoint.ops.arranging.shape import reshape
from adjoint.optim.optimizer import Optimizer
from adjoint.optim.writes import Undo
from adjoint.tensors.tensor import Tensor

Rates = list[Any]
Step = TypeVar("Step", bound=Callable[..., None])

EPOCH_GIVEN = (
    "the epoch parameter of scheduler.step() is deprecated: step() without it goes on by one. With "
    "it, the closed form of the schedule is used where there is one."
)


def warn_of_epoch() -> None:
    """Say that step(epoch) is on its way out."""
    warn(EPOCH_GIVEN)


def checked(optimizer: Any) -> Optimizer:
    """The optimizer, if it is one."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def _copied(value: Any) -> Any:
    return clone(value) if isinstance(value, Tensor) else value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> Rates:
    """A setting as a list with one entry for each parameter group."""
    count = len(optimizer.param_groups)
    if not isinstance(value, list | tuple):
        value = [value] * count
    elif len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups: it has {len(value)} "
            f"values, and there are {count} groups"
        )
    return [_copied(item) for item in value]


def current(optimizer: Optimizer, key: str = "lr") -> Rates:
    """What each group has for a setting; tensors are copied, so that nobody changes them."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def assign(group: dict[str, Any], value: Any, key: str = "lr") -> None:
    """Set a group's setting; a tensor there is filled, because others may hold it."""
    if isinstance(group[key], Tensor):
        group[key].fill_(reshape(value, ()) if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def functions_state(functions: Iterable[Any]) -> list[Any]:
    """What can be saved of functions: the attributes of objects; None for plain functions."""
    return [
        None
        if isinstance(function, types.FunctionType) or not hasattr(function, "__dict__")
        else vars(function).copy()
        for function in functions
    ]


def remembered(scheduler: Any, undo: Undo, apart: Collection[int] = ()) -> None:
    """Note what a step of a schedule may change: its own attributes, and its optimizer's groups.

    Tensors with these ids are left out.
    """
    undo.mapping(vars(scheduler))
    for inner in getattr(scheduler, "_schedulers", ()):
        remembered(inner, undo, apart)
    for group in scheduler.optimizer.param_groups:
        undo.mapping(group)
        for value in group.values():
            if isinstance(value, Tensor) and id(value) not in apart:
                undo.tensor(value)


def _all_or_nothing(step: Step) -> Step:
    """step() that leaves everything as it was if it fails or is interrupted."""

    @functools.wraps(step)
    def wrapper(self: "LRScheduler", *args: Any, **kwargs: Any) -> None:
        tracing = settings().tracing
        if tracing is not None:
            tracing.schedule(wrapper, self, args, kwargs)
            return
        undo = Undo()
        remembered(self, undo)
        try:
            step(self, *args, **kwargs)
        except BaseException:
            undo.run()
            raise

    return wrapper  # type: ignore[return-value]  # it takes what step takes


class LRScheduler:
    """The base of all schedules: it sets the learning rates of an optimizer at each step.

    A subclass gives `get_lr`. `last_epoch` is -1 at the start, or the last step that was made when
    a schedule goes on; the groups of the optimizer must then have an `initial_lr`.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _get_closed_form_lr: Callable[[], Rates] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _all_or_nothing(cls.__dict__["step"])  # type: ignore[method-assign]  # whatever it takes

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = checked(optimizer)
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming "
                    f"scheduler with last_epoch {last_epoch}: load the optimizer's state first, or "
                    "leave last_epoch at -1 for a new run"
                )
        self.base_lrs: Rates = current(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _count_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Make the step that sets the first learning rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything it knows but the optimizer."""
        return {key: value for key, value in vars(self).items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what state_dict() returned."""
        vars(self).update(state_dict)

    def get_last_lr(self) -> Rates:
        """The learning rate of each group, as last set by this schedule."""
        return self._last_lr

    def get_lr(self) -> Rates:
        """The learning rates of the step under way; ask get_last_lr() for the present ones."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "to get the last learning rate computed by the scheduler, use get_last_lr()",
                UserWarning,
                stacklevel=2,
            )
        return self._rates()

    def _rates(self) -> Rates:
        """The rates for last_epoch, for schedules that leave get_lr as it is."""
        raise NotImplementedError

    def _scaled(self, factor: Any) -> Rates:
        """The present rates times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    @_all_or_nothing
    def step(self, epoch: int | None = None) -> None:
        """Set the next learning rates; call it after the optimizer's step."""
        if self._step_count == 1:
            _warn_of_order(self.optimizer)
        self._step_count += 1
        if epoch is not None:
            warn_of_epoch()
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._within_step():
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = self._get_closed_form_lr
            rates = self.get_lr() if epoch is None or closed is None else closed()
        self._assign(rates)

    def _assign(self, rates: Rates) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            assign(group, rate)
        self._last_lr: Rates = current(self.optimizer)

    @contextmanager
    def _within_step(self) -> Iterator[None]:
        """Inside, get_lr is asked by the schedule itself."""
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False


def _count_steps(optimizer: Optimizer) -> None:
    """Notice steps of an optimizer whose step was replaced; the others say so themselves."""
    step = vars(optimizer).get("step")
    if step is None or hasattr(step, "counts_steps"):
        return

    @functools.wraps(step)
    def counted(*args: Any, **kwargs: Any) -> Any:
        vars(optimizer)["_opt_called"] = True
        return step(*args, **kwargs)

    counted.counts_steps = True  # type: ignore[attr-defined]  # a mark for the check below
    optimizer.step = counted  # type: ignore[method-assign]  # replaced once already


def _warn_of_order(optimizer: Optimizer) -> None:
    """Warn if the schedule goes on before the optimizer has made its first step."""
    step = vars(optimizer).get("step")
    if step is not None and not hasattr(step, "counts_steps"):
        warn(
            "optimizer.step() has been overridden after learning rate scheduler initialization: "
            "make sure that it is called before lr_scheduler.step()",
        )
    elif "_opt_called" not in vars(optimizer):
        warn(
            "Detected call of `lr_scheduler.step()` before `optimizer.step()`: the first value of "
            "the learning rate schedule is skipped; call them the other way round",
        )
