"""The step of an optimizer in a program: its numbers are inputs, its rule is compiled.

The host asks the optimizer for its numbers at each call, so that a learning rate that a scheduler
has changed, or a count of steps, is that of the call.
"""

from operator import getitem, is_, is_not, setitem
from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import Changed
from adjoint.compiling.errors import CompileError, OutdatedError, StatelessError
from adjoint.compiling.host import Unseen
from adjoint.dtypes import float32
from adjoint.optim.elementwise import Counters, floats
from adjoint.optim.optimizer import hooks_of
from adjoint.optim.programs import likeness
from adjoint.tensors.tensor import Tensor

_np: Any = numpy_backend.xp
_PLAIN = (float, int, bool, str, type(None))  # nothing that changes in place


class Numbers:
    """The numbers of a step for parameters that have made as many, asked for at each call."""

    only_asks = True

    def __init__(
        self, optimizer: Any, number: int, params: list[Any], skipping: Any, earlier: Any
    ) -> None:
        self.optimizer = optimizer
        self.number = number
        self.params = params
        self.skipping = skipping  # says whether a call makes no step
        self.earlier = earlier  # the Numbers of a step before this one in the same call, or None
        group = optimizer.param_groups[number]
        self.counts = list(optimizer.counts(group))
        self.arrays = list(optimizer.arrays(group))
        self.homes = [optimizer.state.get(param) for param in params]
        keeping = [(home, name) for home in self.homes if home for name in self.arrays]
        self.keepers = [home for home, _ in keeping]
        self.kept_names = [name for _, name in keeping]
        self.kept = [home[name] for home, name in keeping]
        self.hooks = hooks_of(optimizer)
        self.new: dict[str, Any] = {}
        self.values = self._asked()
        self.names = [name for name, value in self.values.items() if type(value) in (int, float)]
        self.alike = likeness(self.values)
        self.maximize = group["maximize"]
        self.settings: list[Any] = []  # of the last call, if nothing else decides its numbers
        self.vector: Any = None
        if self.alike is None:
            raise CompileError(f"{type(optimizer).__name__} has arrays among its settings")

    def _asked(self) -> dict[str, Any]:
        """What the optimizer answers now; its counters advance when the call has succeeded."""
        home = self.homes[0]
        own = {name: home[name].array for name in self.counts} if home else {}
        if self.earlier is not None:
            own |= self._counted()
        counters = Counters(own)
        group = self.optimizer.param_groups[self.number]
        values: dict[str, Any] = floats(self.optimizer.numbers(_np, group, counters, False))
        self.new = counters.new
        return values

    def _counted(self) -> dict[str, Any]:
        """What an earlier step of the same call has counted to."""
        last = self.earlier
        while last is not None and last.is_skipped():
            last = last.earlier
        found: dict[str, Any] = {} if last is None else last.new
        return found

    def is_skipped(self) -> bool:
        """Whether the call that is under way makes no step."""
        return self.skipping is not None and bool(self.skipping.found)

    def show(self, visit: Any) -> None:
        """Let hooks see what the step has counted to, until the call ends."""
        if self.is_skipped():
            return
        for name, value in self.new.items():
            for home in self.homes:
                tensor = home[name]
                visit.before.append((tensor, "array", tensor.array))
                tensor.array = _np.array(value)

    def act(self) -> Any:
        """The numbers of this call."""
        self._check_state()
        group = self.optimizer.param_groups[self.number]
        if len(group) == len(self.settings) and all(map(is_, group.values(), self.settings)):
            return self.vector
        values = self._asked()
        if likeness(values) != self.alike or group["maximize"] is not self.maximize:
            raise OutdatedError(
                f"the settings of {type(self.optimizer).__name__} are of another kind"
            )
        self.vector = _np.array([values[name] for name in self.names])
        lasting = all(type(value) in _PLAIN for name, value in group.items() if name != "params")
        self.settings = list(group.values()) if lasting and not self.counts else []
        return self.vector

    def _check_state(self) -> None:
        """Refuse a state that was replaced, or whose parameters count their steps apart."""
        state = self.optimizer.state
        if hooks_of(self.optimizer) != self.hooks:
            raise OutdatedError(f"the hooks of {type(self.optimizer).__name__} have changed")
        if any(map(is_not, map(state.get, self.params), self.homes)) or any(
            map(is_not, map(getitem, self.keepers, self.kept_names), self.kept)
        ):
            raise OutdatedError(f"the state of {type(self.optimizer).__name__} was replaced")
        for name in self.counts:
            first = self.homes[0][name].array.item(0)
            for home in self.homes:
                if home[name].array.item(0) != first:
                    raise OutdatedError("parameters have made different numbers of steps")

    def writes(self) -> list[tuple[Any, ...]]:
        """When the call succeeds the counters advance, unless the step was skipped."""
        if self.skipping is not None and self.skipping.found:
            return []
        return [
            (setitem, home[name].array, ..., value)
            for name, value in self.new.items()
            for home in self.homes
        ]

    def undo(self) -> None:
        """The call has failed: nothing was changed."""


class Rate(Unseen):
    """The learning rate of a group, asked for at each call; all else of it must stay the same.

    So must the rate itself if it is a tensor of the program.
    """

    only_asks = True

    def __init__(self, optimizer: Any, number: int, params: list[Any], traced: bool) -> None:
        self.optimizer = optimizer
        self.number = number
        self.params = params
        self.homes = [optimizer.state.get(param) for param in params]
        self.kept = [list(home.values()) for home in self.homes]
        self.hooks = hooks_of(optimizer)
        self.asks = not traced or not isinstance(self._group()["lr"], Tensor)
        self.names, self.settings = self._settings()

    def _group(self) -> dict[str, Any]:
        group: dict[str, Any] = self.optimizer.param_groups[self.number]
        return group

    def _settings(self) -> tuple[list[str], list[Any]]:
        left_out = ("params", "lr") if self.asks else ("params",)
        group = {name: value for name, value in self._group().items() if name not in left_out}
        return list(group), list(group.values())

    def act(self) -> Any:
        """The rate of this call."""
        name = type(self.optimizer).__name__
        if hooks_of(self.optimizer) != self.hooks:
            raise OutdatedError(f"the hooks of {name} have changed")
        names, settings = self._settings()
        if names != self.names or not _same(settings, self.settings):
            raise OutdatedError(f"the settings of {name} have changed")
        for param, home, kept in zip(self.params, self.homes, self.kept):
            now = self.optimizer.state.get(param)
            if now is not home or any(map(is_not, now.values(), kept)):
                raise OutdatedError(f"the state of {name} was replaced")
        return _np.array(float(self._group()["lr"]) if self.asks else 0.0)

    def writes(self) -> list[tuple[Any, ...]]:
        """The program itself writes what changes."""
        return []

    def undo(self) -> None:
        """Nothing was changed."""


def _same(now: Any, before: Any) -> bool:
    """Whether settings are what they were: tensors by identity, all else by what it is."""
    if now is before:
        return True
    if type(now) in (list, tuple) and type(now) is type(before):
        return len(now) == len(before) and all(map(_same, now, before))
    return type(now) in _PLAIN and type(now) is type(before) and bool(now == before)


def rate_of(
    tracing: Any, optimizer: Any, number: int, params: list[Any], traced: bool = False
) -> Any:
    """The learning rate of a group, as an input; its tensors may be traced themselves."""
    for param in params:
        if not optimizer.state.get(param):
            raise _stateless(optimizer, param)
    if not traced:
        with tracing.valued(_tensors_of(optimizer.param_groups[number])):
            pass  # what the program itself has changed is refused
    return tracing.number(Rate(optimizer, number, params, traced))


def traced_group(tracing: Any, optimizer: Any, number: int, params: list[Any]) -> dict[str, Any]:
    """The settings of a group whose rule is traced with all its numbers."""
    group: dict[str, Any] = optimizer.param_groups[number]
    rate = rate_of(tracing, optimizer, number, params, traced=True)
    return group if isinstance(group["lr"], Tensor) else {**group, "lr": rate.to(float32)}


def _stateless(optimizer: Any, param: Any) -> StatelessError:
    return StatelessError(
        f"{type(optimizer).__name__} has no state yet for a parameter of shape "
        f"{list(param.shape)}: let it make a step before it is compiled (warm_up=1)"
    )


def _tensors_of(group: dict[str, Any]) -> list[Any]:
    return [value for value in group.values() if isinstance(value, Tensor)]


def make_step(tracing: Any, optimizer: Any, number: int, params: list[Any], writes: Any) -> None:
    """Trace the step of the parameters of a group that have gradients."""
    group = optimizer.param_groups[number]
    counts, names = list(optimizer.counts(group)), list(optimizer.arrays(group))
    kinds: dict[Any, tuple[Any, list[Any]]] = {}
    for param in params:
        state = optimizer.state.get(param)
        if any((state or {}).get(name) is None for name in (*counts, *names)):
            raise _stateless(optimizer, param)
        stand = tuple(state[name].array.item(0) for name in counts)
        earlier = tracing.steps.get(id(state)) if counts else None
        kinds.setdefault((stand, id(earlier)), (earlier, []))[1].append(param)
    for earlier, members in kinds.values():
        with tracing.valued(_tensors_of(group)), Changed({"tracing": None}):
            numbers = Numbers(optimizer, number, members, tracing.skipping, earlier)
        tracing.steps.update((id(home), numbers) for home in numbers.homes)
        vector = tracing.event(numbers, ((len(numbers.names),), _np.dtype("float64")))
        for param in members:
            tracing.step(numbers, param, vector, writes)
