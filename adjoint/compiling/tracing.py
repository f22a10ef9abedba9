"""A run of the user's function on tracers: what it reads becomes inputs, what it changes outputs.

The rest of adjoint sees it as `Settings.tracing`, and asks it where a run on tracers differs: when
an op meets tensors from outside, memory is shared, chance is asked, an optimizer makes its step.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.autograd.function import Function
from adjoint.autograd.provenance import calls, modules_of
from adjoint.backends import xla
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import Changed
from adjoint.compiling.answers import Answers
from adjoint.compiling.errors import CompileError
from adjoint.compiling.host import DrawCall, EndOfPass, EventCall, PackCall, UnpackCall, asked
from adjoint.compiling.optimizers import make_step, rate_of, trace_step
from adjoint.compiling.places import Argument, GradientOf, Lifted, Place
from adjoint.compiling.regions import branched, looped, scanned
from adjoint.device import device
from adjoint.optim.lr_scheduler.base import remembered
from adjoint.optim.writes import Undo
from adjoint.random import default_generator
from adjoint.tensors.core import NDARRAY, backend_of, set_attribute
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.views import replay

_np: Any = numpy_backend.xp
UNTRACED = Changed({"tracing": None})
XLA = device("xla")


class Event:
    """What the host does at each call, before the program or between its pieces.

    It answers an array for the program, or None; what it changes it changes for good when the call
    has succeeded.
    """

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act
        self.before: Any = None  # how things were, while the call is under way

    def writes(self) -> list[tuple[Any, ...]]:
        """What it changes when the call succeeds: functions with their arguments."""
        return [] if self.before is None else [(set_attribute, self, "before", None)]

    def undo(self) -> None:
        """The call has failed: things become as they were."""


class _Apart(Function):
    """The same values, behind a barrier."""

    @staticmethod
    def forward(ctx: Any, tensor: Any) -> Any:
        return Tensor(xla.barrier([tensor.array])[0], AS_IS)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


def _none_of(value: Any) -> Any:
    """A parameter without elements, from which a draw of none learns its data type."""
    return value if isinstance(value, (bool, int, float)) else _np.zeros(0, value.dtype)


class Kept:
    """The state of a generator at a moment of a call."""

    def __init__(self, generator: Any, state: Tensor) -> None:
        self.generator = generator
        self.state = state

    def read(self) -> None:
        """Read it."""
        self.state = self.generator.get_state()


class Drawing(Event):
    """The state of the default generator before a call draws from it."""

    def __init__(self) -> None:
        super().__init__(self.read)

    def read(self) -> None:
        """Read it."""
        self.before = default_generator.get_state()

    def undo(self) -> None:
        """See Event."""
        if self.before is not None:
            default_generator.set_state(self.before)
            self.before = None


class Scheduled(Event):
    """The step of a scheduler, taken back if the call fails."""

    def __init__(self, step: Any, scheduler: Any, args: Any, kwargs: Any) -> None:
        super().__init__(self.make)
        self.given = (step, scheduler, args, kwargs)

    def make(self) -> None:
        """Make the step."""
        step, scheduler, args, kwargs = self.given
        before = Undo()
        remembered(scheduler, before)
        self.before = before
        step(scheduler, *args, **kwargs)

    def undo(self) -> None:
        """See Event."""
        if self.before is not None:
            self.before.run()
            self.before = None


class Tracing:
    """What a function meets while it runs on tracers."""

    def __init__(
        self,
        name: str,
        arguments: list[Any],
        where: device,
        answers: Answers,
        spread: Any = None,
    ) -> None:
        self.name = name
        self.answers = answers  # of hooks, in eager calls
        self.spread = spread  # over the devices of a mesh, or None
        self.device = where  # where tensors without values say that they are
        self.xp: Any = xla.backend.xp
        self.numbers = {id(tensor): number for number, tensor in enumerate(arguments)}
        self.lifted: dict[int, Lifted] = {}
        self.inputs: list[Any] = []  # of each input its Lifted, or the Event that makes it
        self.events: list[Event] = []  # those before the program, in order
        self.host_calls: list[Any] = []  # those between its pieces
        self.constants: dict[int, Any] = {}  # arrays with values, made inside, by id
        self.sharing: dict[int, list[Tensor]] = {}  # tensors on one memory, by id
        self.undoing: list[Callable[[], None]] = []  # what puts back what the trace changed
        self.chance: dict[int, Kept] = {}  # states of generators, by the ids of what shows them
        self.modules: dict[int, Any] = {}  # those whose calls have met an op, by id
        self.spent = False  # a once-only hook was called: the program is good for one call
        self.calls: Any = None  # the innermost of these, as provenance knows it
        self.regions: list[Any] = []  # functions that XLA calls by itself, the last inside
        self.cut: set[int] = set()  # ids of the tensors whose history is outside of those

    # ---- tensors from outside ----

    def lift_all(self, tensors: list[Any]) -> None:
        """Let tensors that an op has met be inputs, if they come from outside."""
        self.note_modules()
        if self.regions:
            self.regions[-1].met.update((id(t), t) for t in tensors if t.layer is None)
        for tensor in tensors:
            if tensor.layer is None and not xla.is_traced(tensor.array):
                self.lift(tensor)

    def note_modules(self) -> None:
        """Note the modules whose calls are under way: the program takes them for granted."""
        under_way = calls.get()
        if under_way is not self.calls:
            self.calls = under_way
            self.modules.update((id(module), module) for module in modules_of(under_way))

    def lift(self, tensor: Any) -> None:
        """Let a tensor from outside be an input: until the trace ends it holds a tracer."""
        array = tensor.array
        if xla.is_traced(array) or id(array) in self.constants or id(tensor) in self.lifted:
            return
        if type(array) is not NDARRAY and backend_of(array) is not xla.backend:
            raise CompileError(
                f"{self.name} can't be compiled by XLA: it uses a tensor on {tensor.device}; move "
                "it to 'cpu' or 'xla' first"
            )
        if type(array) is not NDARRAY:  # known by none of the arguments, if it comes from around
            self.device = XLA
        number = self.numbers.get(id(tensor))
        self._lift(tensor, Place(tensor) if number is None else Argument(tensor, number))

    def _lift(self, tensor: Any, place: Place) -> None:
        base = None if tensor.extras is None else tensor.extras.base
        record = Lifted(tensor, place, len(self.inputs) if base is None else -1)
        self.lifted[id(tensor)] = record
        if base is not None:
            self.lift(base)
            tensor.refresh()
        if base is None:
            self.inputs.append(record)
            record.tracer = xla.new_input(record.index, record.array.shape, record.array.dtype)
        else:
            record.tracer = replay(base.array, tensor.extras.steps)
        tensor.replace_array(record.tracer)
        if tensor.extras is not None:
            tensor.extras.accumulator = None
        if base is None and tensor.node is not None:  # a leaf here: its history is outside
            tensor.node, tensor.output_number = None, 0
        gradient = tensor.gradient
        if gradient is not None and id(gradient) not in self.lifted:
            self._lift(gradient, GradientOf(place))

    def knows(self, tensor: Any) -> bool:
        """Whether a tensor has values while the trace runs: it is a constant, made inside."""
        return id(tensor.array) in self.constants

    def refuse_value(self, tensor: Any) -> None:
        """A value is read while tracing: only those of constants made inside are known."""
        if self.knows(tensor):
            return
        raise CompileError("the value of a tensor is read (item(), bool(), numpy(), printing)")

    # ---- tensors made inside ----

    def held(self, array: Any) -> Any:
        """The array of a new tensor: numbers of Python and NumPy become constants."""
        if xla.is_traced(array):
            return array
        made = xla.constant(array)
        self.constants[id(made)] = made
        return made

    def apart(self, tensor: Tensor) -> Any:
        """A tensor with which XLA computes once more what it has computed already."""
        return _Apart.apply(tensor)

    def share(self, source: Tensor, other: Tensor) -> None:
        """Another tensor is made on the memory of one: a change of either is one of both."""
        if source.layer is None and not xla.is_traced(source.array):
            self.lift(source)
            other.replace_array(source.array)
        group = self.sharing.setdefault(id(source), [source])
        group.append(other)
        self.sharing[id(other)] = group

    def follow(self, target: Tensor) -> None:
        """A tensor has changed in place: so do those that share its memory."""
        base = None if target.extras is None else target.extras.base
        root: Any = target if base is None else base
        for other in self.sharing.get(id(root), ()):
            if other is not root:
                other.replace_array(root.array)

    # ---- the host ----

    def event(self, event: Event, spec: xla.Spec | None = None) -> Any:
        """Have the host do something at each call; an array that it answers is an input."""
        if self.regions:
            self.regions[-1].refuse("random numbers are drawn, or an optimizer makes a step")
        if self.host_calls:  # in the order of eager
            made = self.on_host(EventCall(event), [], [] if spec is None else [spec])
            return made[0] if made else None
        self.events.append(event)
        if spec is None:
            return None
        self.inputs.append(event)
        return xla.new_input(len(self.inputs) - 1, *spec)

    def on_host(self, call: Any, arrays: list[Any], specs: list[xla.Spec]) -> list[Any]:
        """Have the host called with arrays between two pieces of the program."""
        if self.regions:
            self.regions[-1].refuse("a hook, or another function of the host, is called")
        self.host_calls.append(call)
        return xla.call_on_host(len(self.host_calls) - 1, arrays, specs)

    def ask(self, function: Any, args: Any, answers: Any) -> Any:
        """Have the host call a function of the user's, whose answer stands for `answers`."""
        return asked(self, function, args, answers)

    def end_pass(self) -> None:
        """A backward pass has ended: the host calls what hooks have queued meanwhile."""
        if self.regions:  # where the host can't be called, nothing is queued
            return
        if self.host_calls and not isinstance(self.host_calls[-1], EndOfPass):
            self.on_host(EndOfPass(), [], [])

    def pack(self, function: Any, tensor: Any) -> PackCall:
        """Have the host pack a tensor that is saved."""
        call = PackCall(self, function, (tensor,), None)
        self.on_host(call, [*call.arrays, tensor.array], [])
        return call

    def unpack(self, function: Any, packed: PackCall) -> Tensor:
        """Have the host give back what it has packed."""
        return Tensor(self.on_host(UnpackCall(packed, function), [], packed.given)[0], AS_IS)

    def changes_so_far(self) -> tuple[list[tuple[Place, str, int]], list[Any]]:
        """Which tensors from outside eager code would have changed by now, and their arrays."""
        shown: list[tuple[Place, str, int]] = []
        arrays: list[Any] = []
        for record in self.lifted.values():
            tensor = record.tensor
            if record.index >= 0 and tensor.array is not record.tracer:
                shown.append((record.place, "array", len(arrays)))
                arrays.append(tensor.array)
            if tensor.gradient is not record.gradient:
                none = tensor.gradient is None
                shown.append((record.place, "gradient", -1 if none else len(arrays)))
                if tensor.gradient is not None:
                    arrays.append(tensor.gradient.array)
        return shown, arrays

    def drawn(self, draw: Any, shape: tuple[int, ...], parameters: tuple[Any, ...]) -> Any:
        """Random numbers: at each call the host draws them, as it does in eager code."""
        traced = [value for value in parameters if xla.is_traced(value)]
        self.remember_chance()
        kind = draw((0,), *[_none_of(value) for value in parameters]).dtype
        if not traced:
            return self.event(Event(lambda: draw(shape, *parameters)), (shape, kind))
        call = DrawCall(draw, shape, parameters)
        return self.on_host(call, traced, [(shape, kind)])[0]

    # ---- chance ----

    def remember_chance(self) -> None:
        """Have a call that fails take back what it has drawn from the default generator."""
        if not any(isinstance(event, Drawing) for event in self.events):
            self.events.insert(0, Drawing())

    def chance_of(self, generator: Any) -> Tensor:
        """The state of a generator, which is read at each call: it stands for it until then."""
        with UNTRACED:
            shown: Tensor = generator.get_state()
        kept = self.chance[id(shown)] = Kept(generator, shown)
        self.event(Event(kept.read))
        self.constants[id(shown.array)] = shown.array  # as which nobody makes it an input
        return shown

    def set_chance(self, generator: Any, state: Tensor) -> None:
        """Let a generator go on at each call from a state read before, or from outside."""
        kept = self.chance.get(id(state)) or Kept(generator, state)
        self.event(Event(lambda: generator.set_state(kept.state) and None))

    def seed(self, generator: Any, seed: int) -> None:
        """Let a generator start over at each call."""
        self.event(Event(lambda: generator.manual_seed(seed) and None))

    # ---- branches and loops ----

    def cond(self, pred: Tensor, bodies: list[Any], operands: list[Any]) -> list[Any]:
        """What one of two functions answers; see adjoint.compiling.regions."""
        return branched(self, pred, bodies, operands)

    def while_loop(self, test: Any, body: Any, carried: list[Any]) -> list[Any]:
        """What a loop carries in the end."""
        return looped(self, test, body, carried)

    def scan(
        self, step: Any, init: list[Any], xs: list[Any], reverse: bool
    ) -> tuple[list[Any], list[Any]]:
        """The last carry of a scan, and its results."""
        found = scanned(self, step, init, xs, reverse)
        return found[: len(init)], found[len(init) :]

    def standing(self) -> dict[int, Any]:
        """How tensors from outside are now, by their ids."""
        return {
            key: (record.tensor.version(), id(record.tensor.array), id(record.tensor.gradient))
            for key, record in self.lifted.items()
        }

    def stands(self, before: dict[int, Any]) -> bool:
        """Whether they are as they were; those that were not known then, as they were found."""
        for key, now in self.standing().items():
            record = self.lifted[key]
            found = (record.version, id(record.tracer), id(record.gradient))
            if now != before.get(key, found):
                return False
        return True

    # ---- optimizers ----

    def schedule(self, step: Any, scheduler: Any, args: Any, kwargs: Any) -> None:
        """The step of a scheduler, which the host makes at each call."""
        undo = Undo()
        with UNTRACED:
            remembered(scheduler, undo)
        self.undoing.append(undo.run)
        if any(isinstance(value, Tensor) for value in (*args, *kwargs.values())):
            self.ask(partial(step, scheduler), (*args, *kwargs.values()), None)
            return
        self.event(Scheduled(step, scheduler, args, kwargs))
        with UNTRACED:
            step(scheduler, *args, **kwargs)

    def make_step(self, optimizer: Any, number: int, params: list[Any], writes: Any) -> None:
        """The step of an optimizer; see adjoint.compiling.optimizers."""
        make_step(self, optimizer, number, params, writes)

    def rate(self, optimizer: Any, number: int, params: list[Any]) -> Any:
        """The learning rate of a group, which is read at each call."""
        return rate_of(self, optimizer, number, params)

    def number(self, event: Any) -> Tensor:
        """A number that the host finds at each call."""
        return Tensor(self.event(event, ((), _np.dtype("float64"))), AS_IS)

    def read(self, find: Callable[[], float]) -> Tensor:
        """A number of Python's that may be another at each call."""
        return self.number(Event(lambda: _np.array(float(find()))))

    def step(self, numbers: Any, param: Any, vector: Any, writes: Any) -> None:
        """The part of such a step that is one parameter's."""
        trace_step(self, numbers, param, vector, writes)

    # ---- the end ----

    def restore(self) -> None:
        """Let everything be as it was before the trace."""
        for record in self.lifted.values():
            record.restore()
        while self.undoing:
            self.undoing.pop()()
