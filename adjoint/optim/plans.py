"""How the parameters of a group make a step together, kept from one step to the next."""

from operator import attrgetter, setitem
from typing import Any, Final, NamedTuple

from adjoint.backends.numpy import numpy_backend
from adjoint.optim.programs import BLOCK, Cells, Fitted, Program, Spare
from adjoint.optim.writes import Writes
from adjoint.tensors.core import F32, F64, NDARRAY, backend_of, same, show
from adjoint.tensors.tensor import AS_IS, Tensor

State = dict[str, Any]

is_writable: Final[Any] = attrgetter("flags.writeable")

SMALL: Final = 8192  # up to here a parameter is worth a copy that saves calls


class Prepared(NamedTuple):
    """The state of a parameter for a step: what it has, what is missing, and where it belongs."""

    values: State
    home: State | None  # None: the optimizer has no state
    fresh: bool  # whether any of the arrays is new


class Batch:
    """Small parameters of one kind at one step, whose state lies in one array for each name."""

    def __init__(
        self, params: list[Any], states: list[Prepared], names: list[str], counters: list[str]
    ) -> None:
        self.params = params
        self.arrays = [param.array for param in params]  # a plan is made anew if one is replaced
        self.homes = [state.home for state in states]
        self.fresh = states[0].fresh  # the same for all of a batch
        self.names = names
        self.backend = backend_of(params[0].array)
        xp = self.backend.xp
        self.grad = xp.concatenate(self.arrays, axis=None)
        self.param = xp.empty_like(self.grad)
        parts = self._views(self.param)
        self.copies = [(setitem, array, ..., part) for array, part in zip(self.arrays, parts)]
        self.joined: list[Any] = []
        self.counts: State = {}
        self.tensors: dict[str, list[Tensor]] = {}  # each a part of a joined array
        for name in names:
            flat = xp.concatenate([state.values[name].array for state in states], axis=None)
            self.joined.append(flat)
            self.tensors[name] = [Tensor(part, AS_IS) for part in self._views(flat)]
        for name in counters:
            counts = numpy_backend.xp.stack([state.values[name].array for state in states])
            self.counts[name] = counts
            self.tensors[name] = [Tensor(counts[place, ...], AS_IS) for place in range(len(states))]
        self.state_parts = {name: [t.array for t in own] for name, own in self.tensors.items()}
        self.fitted: Fitted | None = None

    def _views(self, flat: Any) -> list[Any]:
        """The part of each parameter in a long array, in its shape."""
        views, start = [], 0
        for array in self.arrays:
            views.append(flat[start : start + array.size].reshape(array.shape))
            start += array.size
        return views

    def adopt(self, writes: Writes) -> None:
        """Let the state of each parameter be its part of the long arrays."""
        for name, tensors in self.tensors.items():
            for home, tensor in zip(self.homes, tensors):
                writes.put(home, name, tensor)

    def intact(self, states: list[Any]) -> bool:
        """Whether nobody has replaced a state since the last step, or set a counter apart."""
        if not same(states, self.homes):
            return False
        for name, tensors in self.tensors.items():
            if not same([state.get(name) for state in states], tensors):
                return False
            if not show(tensors, self.state_parts[name]):
                return False
        return all(bool((array == array[0]).all()) for array in self.counts.values())

    def gather(self) -> list[Any]:
        """The joined parameters, gradients and states; the first two as they are now."""
        join = self.backend.xp.concatenate
        join(self.arrays, axis=None, out=self.param)
        join([param.gradient.array for param in self.params], axis=None, out=self.grad)
        return [self.param, self.grad, *self.joined]

    def spread(self, writes: Writes) -> None:
        """Have each parameter get its part of the result."""
        check_writable(self.arrays)
        writes.calls += self.copies
        writes.changed += self.params


class Single:
    """A plain parameter that makes its step alone, with a state that is complete."""

    __slots__ = ("arrays", "counts", "fitted", "home", "memory", "tensors")

    def __init__(self, param: Any, home: State, names: list[str], counters: list[str]) -> None:
        self.home = home
        self.tensors = list(home.values())
        self.memory = [tensor.array for tensor in self.tensors]
        self.arrays = [param.array, *(home[name].array for name in names)]
        self.counts = {name: home[name].array for name in counters}
        self.fitted: Fitted | None = None

    def intact(self, home: State) -> bool:
        """Whether nobody has replaced a state since the last step."""
        if home is not self.home or not same(list(home.values()), self.tensors):
            return False
        return show(self.tensors, self.memory)

    def ready(self, grad: Any) -> bool:
        """Whether its program can be made to run on this gradient: all of one kind, and plain."""
        array = self.arrays[0]
        if type(grad) is not NDARRAY or grad.dtype is not array.dtype:
            return False
        return array.size <= BLOCK or bool(grad.flags.c_contiguous)

    def calls(self, cells: Cells, grad: Any, spare: Spare) -> list[tuple[Any, ...]]:
        """The calls that make its step."""
        if grad.shape != self.arrays[0].shape:
            check_shapes([self.arrays[0], grad], [])
        check_writable(self.arrays)
        fitted = self.fitted
        if fitted is None or fitted.cells is not cells:
            first, *rest = self.arrays
            fitted = self.fitted = Fitted(cells, [first, grad, *rest], spare)
        return fitted.on(grad)


class Plan:
    """How the parameters of a group that have gradients make a step: in batches, or singly."""

    def __init__(self, params: list[Any], names: list[str], together: bool) -> None:
        self.params = params
        self.names = names
        self.together = together
        self.arrays = [param.array for param in params]
        self.repeated = len(set(map(id, params))) != len(params)
        self.batches: list[Batch] = []
        self.singles: list[Any] = []
        self.known: list[Single | None] = []  # of each of them, when it has made its first step
        self.cells: list[Cells] = []  # those of a step, in the order in which they are wanted

    def fits(self, params: list[Any], names: list[str], together: bool, state: Any) -> bool:
        """Whether these are the parameters and states it was made for, in the same memory."""
        if names != self.names or together is not self.together:
            return False
        if not same(params, self.params) or not show(params, self.arrays):
            return False
        return all(batch.intact(list(map(state.get, batch.params))) for batch in self.batches)

    def filled(self, place: int, program: Program, kind: Any, numbers: dict[str, Any]) -> Cells:
        """The numbers of a program for this step, where those of the last one were."""
        before = self.cells[place] if place < len(self.cells) else None
        if before is not None and before.program is program and before.kind is kind:
            cells = before
        else:
            cells = Cells(program, numpy_backend.xp, kind)
            self.cells[place:] = [cells]  # those behind it have others now
        cells.fill(numbers)
        return cells

    def single(self, number: int, home: State, counters: list[str]) -> Single | None:
        """One of the singles with its state, if its program can be kept from step to step."""
        known = self.known[number]
        if known is None or not known.intact(home):
            known, param = None, self.singles[number]
            if home.keys() >= {*self.names, *counters} and stays(param, list(home.values())):
                check_shapes([param.array, *(home[name].array for name in self.names)], self.names)
                known = Single(param, home, self.names, counters)
                if any(array.dtype is not param.array.dtype for array in known.arrays):
                    known = None
            self.known[number] = known
        return known


def stays(param: Any, state: list[Any]) -> bool:
    """Whether a parameter and its state are plain memory, which a step finds where it was."""
    if param.special or param.inference:
        return False
    if not all(isinstance(each, Tensor) and each.layer is None for each in state):
        return False
    arrays = [param.array, *(each.array for each in state)]
    if not all(type(array) is NDARRAY for array in arrays) or arrays[0].dtype not in (F32, F64):
        return False
    return arrays[0].size <= BLOCK or all(array.flags.c_contiguous for array in arrays)


def check_shapes(arrays: list[Any], names: list[str]) -> None:
    """Refuse a gradient or a state in another shape than its parameter's."""
    shape = arrays[0].shape
    for array, name in zip(arrays[::-1], [*names[::-1], ".grad"]):
        if array.shape != shape:
            raise RuntimeError(
                f"a parameter of shape {tuple(shape)} has a {name} of shape {tuple(array.shape)}: "
                "was its data replaced, or the state of another loaded?"
            )


def check_writable(arrays: list[Any]) -> None:
    """Refuse memory that is read-only, before anything is written."""
    if type(arrays[0]) is NDARRAY and not all(map(is_writable, arrays)):
        raise RuntimeError("a parameter or its state lies in memory that is read-only; clone() it")


def joins(param: Any) -> bool:
    """Whether a parameter is small and plain enough to be joined with others."""
    array = param.array
    backend = backend_of(array)
    return (
        array.size <= SMALL
        and array.dtype in (F32, F64)
        and backend.mutable
        and backend.xp.valued()
        and not backend.launches(array.dtype)  # one kernel takes many as they lie
        and not (param.special or param.inference)
    )
