"""What is common to the runs of a function that are watched, to be compiled or captured.

The rest of adjoint sees such a run as `Settings.tracing`, and asks it where it differs: when an op
meets tensors from outside, memory is shared, chance is asked, an optimizer makes its step.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import RLock
from typing import Any

from adjoint.autograd.provenance import calls, modules_of
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import Changed
from adjoint.compiling.answers import Answers
from adjoint.compiling.errors import CompileError, EagerError
from adjoint.compiling.host import EndOfPass, PackCall, UnpackCall, Unseen, asked
from adjoint.compiling.optimizers import make_step, rate_of, traced_group
from adjoint.compiling.places import Lifted, Place
from adjoint.compiling.scaling import (
    Overflow,
    Remembered,
    Updated,
    known,
    overflowed,
    stepped_unless,
    unscaled,
)
from adjoint.compiling.scheduling import called
from adjoint.device import device
from adjoint.optim.lr_scheduler.base import remembered
from adjoint.optim.writes import Undo
from adjoint.pytree import tree_flatten
from adjoint.random import default_generator
from adjoint.tensors.core import set_attribute
from adjoint.tensors.tensor import AS_IS, Tensor

_np: Any = numpy_backend.xp
UNTRACED = Changed({"tracing": None})
TURN = RLock()  # of the thread that watches: what its run has met holds tracers meanwhile
PATIENCE = 60.0  # seconds for another thread's run, which may itself wait for this thread


class Event(Unseen):
    """What the host does at each call, before the program or between its pieces.

    It answers an array for the program, or None; what it changes it changes for good when the call
    has succeeded.
    """

    only_asks = False  # whether it changes nothing while the call is under way

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act
        self.before: Any = None  # how things were, while the call is under way

    def writes(self) -> list[tuple[Any, ...]]:
        """What it changes when the call succeeds: functions with their arguments."""
        return [] if self.before is None else [(set_attribute, self, "before", None)]

    def undo(self) -> None:
        """The call has failed: things become as they were."""


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


class FunctionOnHost:
    """A Function that the host calls, and through it gradients."""

    def __init__(self, kind: Any, names: tuple[str, ...]) -> None:
        self.kind = kind
        self.names = names
        self.__qualname__ = kind.__qualname__

    def __call__(self, *values: Any) -> Any:
        count = len(values) - len(self.names)
        return self.kind.apply(*values[:count], **dict(zip(self.names, values[count:])))


class Watching:
    """What a function meets while it is watched."""

    xp: Any  # of the arrays that it makes
    places: tuple[str, ...] = ("cuda",)  # the types of the devices that it computes on

    def __init__(self, name: str, where: device, answers: Answers) -> None:
        self.name = name
        self.answers = answers  # of hooks, in eager calls
        self.device = where  # where tensors without values say that they are
        self.lifted: dict[int, Lifted] = {}
        self.events: list[Event] = []  # those before the program, in order
        self.host_calls: list[Any] = []  # those between its pieces
        self.constants: dict[int, Any] = {}  # arrays with values, made inside, by id
        self.undoing: list[Callable[[], None]] = []  # what puts back what the run changed
        self.chance: dict[int, Kept] = {}  # states of generators, by the ids of what shows them
        self.modules: dict[int, Any] = {}  # those whose calls have met an op, by id
        self.optimizers: dict[int, Any] = {}  # those that make a step, by id
        self.steps: dict[int, Any] = {}  # the last Numbers of parameters, by the ids of their state
        self.scheduled: dict[int, Any] = {}  # what steps of schedulers may change, by id
        self.updated: dict[int, Any] = {}  # scalers, by the ids of their attributes
        self.functions: set[Any] = set()  # the Functions that were called
        self.spent = False  # a once-only hook was called: the program is good for one call
        self.skipping: Any = None  # what says at each call whether a step under way is skipped
        # Tensors on one memory, by their ids: the first has all of it, others what steps show.
        self.sharing: dict[int, list[tuple[Any, tuple[Any, ...]]]] = {}
        self.calls: Any = None  # the innermost of these, as provenance knows it

    # ---- what differs from kind to kind ----

    def lift_all(self, tensors: list[Any]) -> None:
        """Note tensors that an op has met, if they come from outside."""
        raise NotImplementedError

    def knows(self, tensor: Any) -> bool:
        """Whether a tensor has values while the run lasts."""
        raise NotImplementedError

    def is_new(self, tensor: Any) -> bool:
        """Whether a tensor was made inside."""
        raise NotImplementedError

    def lay(self, target: Tensor, step: Any) -> None:
        """A tensor is about to show its memory otherwise (`t_`)."""

    def held(self, array: Any) -> Any:
        """The array of a new tensor: what has values already is brought where the run needs it."""
        raise NotImplementedError

    def on_host(self, call: Any, arrays: list[Any], specs: list[Any]) -> list[Any]:
        """Have the host called with arrays between two pieces of the program."""
        raise NotImplementedError

    def event(self, event: Any, spec: Any = None) -> Any:
        """Have the host do something at each call; an array that it answers is an input."""
        raise NotImplementedError

    def changes_so_far(self) -> tuple[list[tuple[Place, str, int]], list[Any]]:
        """Which tensors from outside eager code would have changed by now, and their arrays."""
        raise NotImplementedError

    def step(self, numbers: Any, param: Any, vector: Any, writes: Any) -> None:
        """The part of an optimizer's step that is one parameter's."""
        raise NotImplementedError

    def standing_by(self, tensors: list[Any]) -> dict[int, Any]:
        """The arrays of tensors, by their ids, before something that may change them."""
        raise NotImplementedError

    def changed_since(self, tensors: list[Any], before: dict[int, Any]) -> list[tuple[Any, Any]]:
        """Those of these tensors that have changed, with their arrays from before."""
        raise NotImplementedError

    def choose(self, flag: Any, before: Any, tensor: Any) -> None:
        """Let a tensor be as before where a flag is set."""
        raise NotImplementedError

    # ---- memory that is shared ----

    def share(self, source: Tensor, other: Tensor) -> None:
        """Another tensor is made on the memory of one: a change of either is one of both."""
        root, steps, _ = self.memory_of(source)
        group = self.sharing.setdefault(id(root), [(root, ())])
        group.append((other, steps))
        self.sharing[id(other)] = group

    def memory_of(self, tensor: Any) -> tuple[Any, tuple[Any, ...], bool]:
        """What has the memory of a tensor, the steps that show its part, whether by a detach()."""
        extras = tensor.extras
        if extras is None or tensor.layer is not None:
            return tensor, (), False
        base, steps = tensor, ()
        if extras.base is not None:
            base, steps = extras.base, extras.steps
        for other, path in self.sharing.get(id(base), ())[1:]:
            if other is base:
                return self.sharing[id(base)][0][0], (*path, *steps), True
        return base, steps, False

    def set_data(self, target: Tensor, value: Tensor) -> None:
        """A tensor is about to get the memory of another, which a program can't do from outside."""
        self.lift_all([target, value])
        root, steps, _ = self.memory_of(value)
        if id(root) in self.lifted and (root is not target or steps):
            raise CompileError(
                "data is set to a tensor from outside, whose memory the two would share from then "
                "on; copy_() the values, or set it to a clone()"
            )

    # ---- the host ----

    def note_modules(self) -> None:
        """Note the modules whose calls are under way: the program takes them for granted."""
        under_way = calls.get()
        if under_way is not self.calls:
            self.calls = under_way
            self.modules.update((id(module), module) for module in modules_of(under_way))

    def refuse_value(self, tensor: Any) -> None:
        """A value is read while tracing: only those of constants made inside are known."""
        if self.knows(tensor):
            return
        raise CompileError("the value of a tensor is read (item(), bool(), numpy(), printing)")

    def refuse_place(self, where: Any) -> None:
        """A tensor is moved: the program computes in some places only."""
        if where.type not in self.places:
            raise CompileError(f"a tensor is moved to {where}, where the program does not compute")

    def refuse_program(self, reason: str) -> None:
        """The function that is watched has to run eagerly."""
        raise EagerError(reason)

    def ask(self, function: Any, args: Any, answers: Any) -> Any:
        """Have the host call a function of the user's, whose answer stands for `answers`."""
        return asked(self, function, args, answers)

    def call_function(self, kind: Any, names: Any, values: list[Any], trace: Any) -> Any:
        """The call of a Function: it is traced, or if its code reads values the host makes it."""
        self.functions.add(kind)
        known = self.answers.results_of(kind, values) if kind in self.answers.on_host else None
        if known is None:
            return trace(values)
        tree, looks = known
        shown = [
            Tensor(self.held(_np.zeros(*each[:2])), AS_IS) if isinstance(each, tuple) else each
            for each in looks
        ]
        found = self.ask(FunctionOnHost(kind, names), tuple(values), tree.unflatten(shown))
        leaves, tree = tree_flatten(found)
        return tree.unflatten(
            each.detach() if isinstance(each, Tensor) and not look[2] else each
            for each, look in zip(leaves, looks)
        )

    def end_pass(self) -> None:
        """A backward pass has ended: the host calls what hooks have queued meanwhile."""
        if self.host_calls and not isinstance(self.host_calls[-1], EndOfPass):
            call = EndOfPass(self)
            self.on_host(call, call.arrays, [])

    def pack(self, function: Any, tensor: Any) -> PackCall:
        """Have the host pack a tensor that is saved."""
        call = PackCall(self, function, (tensor,), None)
        self.on_host(call, [*call.arrays, tensor.array], [])
        return call

    def unpack(self, function: Any, packed: PackCall) -> Tensor:
        """Have the host give back what it has packed."""
        call = UnpackCall(self, packed, function)
        return Tensor(self.on_host(call, call.arrays, packed.given)[0], AS_IS)

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
        self.keep_chance(kept)
        return shown

    def keep_chance(self, kept: Kept) -> None:
        """Have a state read at each call."""
        self.event(Event(kept.read))
        self.constants[id(kept.state.array)] = kept.state.array  # so that it is no input

    def set_chance(self, generator: Any, state: Tensor) -> None:
        """Let a generator go on at each call from a state read before, or from outside."""
        kept = self.chance.get(id(state)) or Kept(generator, state)
        self.event(Event(lambda: generator.set_state(kept.state) and None))

    def seed(self, generator: Any, seed: int) -> None:
        """Let a generator start over at each call."""
        self.event(Event(lambda: generator.manual_seed(seed) and None))

    # ---- optimizers ----

    def schedule(self, step: Any, scheduler: Any, args: Any, kwargs: Any) -> None:
        """The step of a scheduler, which the host makes at each call."""
        undo, rates = Undo(), self.rates_of(scheduler)
        with UNTRACED:
            remembered(scheduler, undo, {id(rate) for rate in rates})
        self.scheduled.update((id(each), each) for each in undo.tables)
        self.undoing.append(undo.run)
        looks = any(isinstance(value, Tensor) for value in (*args, *kwargs.values()))
        if not looks and not rates:
            self.event(Scheduled(step, scheduler, args, kwargs))
            with UNTRACED:
                step(scheduler, *args, **kwargs)
            return
        made = called(self, step, scheduler, (args, kwargs), rates)
        with self.valued(rates), UNTRACED:
            versions = [rate.version() for rate in rates]
            if not looks:
                step(scheduler, *args, **kwargs)
            values = [rate.array for rate in rates]
            for rate, version in zip(rates, versions):  # the host counts, at each call
                rate.counter().value = version
        self.set_rates(rates, made, values)

    def rates_of(self, scheduler: Any) -> list[Any]:
        """The settings that are tensors of the program, which a step of a scheduler may change."""
        return []

    def set_rates(self, rates: list[Any], arrays: list[Any], values: list[Any]) -> None:
        """Let settings have become these arrays of the program, and these values on the host."""

    def valued(self, settings: list[Any]) -> AbstractContextManager[None]:
        """Inside, settings that are tensors hold values that they may have by then."""
        return nullcontext()

    def make_step(self, optimizer: Any, number: int, params: list[Any], writes: Any) -> None:
        """The step of an optimizer; see adjoint.compiling.optimizers."""
        self.optimizers[id(optimizer)] = optimizer
        make_step(self, optimizer, number, params, writes)

    def rate(self, optimizer: Any, number: int, params: list[Any]) -> Any:
        """The learning rate of a group, which is read at each call."""
        self.optimizers[id(optimizer)] = optimizer
        return rate_of(self, optimizer, number, params)

    def group(self, optimizer: Any, number: int, params: list[Any]) -> dict[str, Any]:
        """The settings of a group for a step that is traced with all its numbers."""
        if not params or all(map(self.is_new, params)):
            group: dict[str, Any] = optimizer.param_groups[number]
            return group
        self.optimizers[id(optimizer)] = optimizer
        return traced_group(self, optimizer, number, params)

    def number(self, event: Any) -> Tensor:
        """A number that the host finds at each call."""
        return Tensor(self.event(event, ((), _np.dtype("float64"))), AS_IS)

    def read(self, find: Callable[[], float]) -> Tensor:
        """A number of Python's that may be another at each call."""
        return self.number(Event(lambda: _np.array(float(find()))))

    # ---- scaled losses ----

    def _remember(self, scaler: Any) -> None:
        """Have a scaler put back when the run ends."""
        kept = Remembered(scaler)
        kept.remember()
        self.undoing.append(kept.undo)

    def unscale(self, scaler: Any, optimizer: Any, grads: list[Any]) -> None:
        """Divide gradients by a scale; see adjoint.compiling.scaling."""
        self._remember(scaler)
        overflowed(scaler)[optimizer] = unscaled(self, scaler, optimizer, grads)

    def step_scaled(self, scaler: Any, optimizer: Any, args: Any, kwargs: Any) -> None:
        """The step of an optimizer, unless its gradients have overflowed."""
        if args or kwargs:
            raise CompileError("GradScaler.step: a compiled step takes no closure")
        found = overflowed(scaler)[optimizer]
        if not isinstance(found, Overflow):
            found = known(self, scaler, optimizer)
        stepped_unless(self, found, optimizer)

    def update_scale(self, scaler: Any, new_scale: Any) -> None:
        """The update of a scale, which the host makes at each call."""
        if isinstance(new_scale, Tensor):
            self.refuse_value(new_scale)
        self._remember(scaler)
        self.event(Updated(scaler, new_scale))
        self.updated[id(vars(scaler))] = scaler
        overflowed(scaler).clear()

    # ---- the end ----

    def restore(self) -> None:
        """Let everything be as it was before the trace."""
        for record in reversed(self.lifted.values()):  # a view counts on from where its base was
            record.restore()
        while self.undoing:
            self.undoing.pop()()
