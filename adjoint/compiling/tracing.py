"""A run of the user's function on tracers: what it reads is input, what it changes output."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.autograd.function import Function
from adjoint.autograd.grad_mode import set_grad_enabled
from adjoint.backends import xla
from adjoint.backends.numpy import numpy_backend
from adjoint.compiling.answers import Answers
from adjoint.compiling.errors import CompileError
from adjoint.compiling.host import DrawCall, EventCall
from adjoint.compiling.places import Argument, GradientOf, Lifted, Place
from adjoint.compiling.regions import branched, looped, scanned
from adjoint.compiling.scheduling import settings_of
from adjoint.compiling.watching import UNTRACED, Event, Watching
from adjoint.device import device
from adjoint.optim.elementwise import narrowed, widened
from adjoint.tensors.core import NDARRAY, VersionCounter, backend_of
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.views import replay, scattered

_np: Any = numpy_backend.xp
XLA = device("xla")


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


class Tracing(Watching):
    """What a function meets while it runs on tracers."""

    places = ("cpu", "xla")

    def __init__(
        self,
        name: str,
        arguments: list[Any],
        where: device,
        answers: Answers,
        spread: Any = None,
    ) -> None:
        super().__init__(name, where, answers)
        self.spread = spread  # over the devices of a mesh, or None
        self.xp: Any = xla.backend.xp
        self.arguments = arguments
        self.numbers = {id(tensor): number for number, tensor in enumerate(arguments)}
        self.inputs: list[Any] = []  # of each input its Lifted, or the Event that makes it
        self.shown: dict[int, Any] = {}  # views of those, by id: of which array
        self.met = 0  # calls of ops
        self.rates: dict[int, Any] = {}  # settings that a scheduler has changed: to what
        self.regions: list[Any] = []  # functions that XLA calls by itself, the last inside
        self.cut: set[int] = set()  # ids of the tensors whose history is outside of those

    # ---- tensors from outside ----

    def refuse_layers(self) -> None:
        """Refuse arguments whose memory holds no values of theirs."""
        for tensor in self.arguments:
            if tensor.layer is not None:
                raise CompileError(
                    f"an argument of shape {list(tensor.shape)} is sparse, or of a class that "
                    "answers calls by itself"
                )

    def lift_all(self, tensors: list[Any]) -> None:
        """Let tensors that an op has met be inputs, if they come from outside."""
        self.note_modules()
        self.met += 1
        if self.regions:
            self.regions[-1].met.update((id(t), t) for t in tensors if t.layer is None)
        for tensor in tensors:
            if tensor.layer is None and not xla.is_traced(tensor.array):
                self.lift(tensor)
            elif self.sharing and tensor.extras is not None:
                self.renew(tensor)

    def renew(self, view: Any) -> None:
        """What a view shows is another by now, though its version does not say so (`data`)."""
        base = view.extras.base
        if base is not None and id(base) in self.sharing and view.layer is None:
            if self.shown.get(id(view)) is not base.array:
                self.shown[id(view)] = base.array
                view.replace_array(replay(base.array, view.extras.steps))

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
        apart = base is not None and isinstance(place, Argument) and id(base) not in self.numbers
        if apart:  # another call may come with a view of another tensor
            with UNTRACED:
                tensor.refresh(True)
            base = None
        record = Lifted(tensor, place, len(self.inputs) if base is None else -1)
        if apart:
            tensor.extras.base, tensor.extras.steps = None, ()
            counter = tensor.extras.counter = VersionCounter()
            counter.value = record.version
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

    # ---- tensors made inside ----

    def is_new(self, tensor: Any) -> bool:
        """See Watching."""
        array = tensor.array
        return id(tensor) not in self.lifted and (
            xla.is_traced(array) or id(array) in self.constants
        )

    def held(self, array: Any) -> Any:
        """The array of a new tensor: numbers of Python and NumPy become constants."""
        if xla.is_traced(array):
            return array
        made = xla.constant(array)
        self.constants[id(made)] = made
        return made

    def apart(self, tensor: Tensor) -> Any:
        """A tensor with which XLA computes once more what it has computed already."""
        with set_grad_enabled(True):  # so that it needs a gradient as before
            return _Apart.apply(tensor)

    def share(self, source: Tensor, other: Tensor) -> None:
        """Another tensor is made on the memory of one: a change of either is one of both."""
        if source.layer is None and not xla.is_traced(source.array):
            self.lift(source)
            other.replace_array(source.array)
        super().share(source, other)

    def follow(self, target: Tensor) -> None:
        """A tensor has changed in place: so do those that share its memory."""
        base: Any = None if target.extras is None else target.extras.base
        changed: Any = target if base is None else base
        group = self.sharing.get(id(changed), [])
        for other, steps in group[1:]:
            if other is changed:
                root, value = group[0][0], changed.array
                root.replace_array(scattered(root.array, steps, value) if steps else value)
        for other, steps in group:
            if other is not changed:
                other.replace_array(replay(group[0][0].array, steps))

    def put(self, target: Tensor, array: Any) -> None:
        """A tensor gets other values, in the memory that it has."""
        extras = target.extras
        if extras is not None and extras.base is not None:
            base = extras.base
            base.replace_array(scattered(base.array, extras.steps, array))
        target.replace_array(array)
        target.counter().bump()
        if extras is not None:
            extras.view_version = target.counter().value
        self.follow(target)

    def lay(self, target: Tensor, step: Any) -> None:
        """See Watching: from then on it is a part of the memory that steps show."""
        group = self.sharing.get(id(target), [])
        if group and group[0][0] is target:
            whole: Any = Tensor(target.array, AS_IS)
            group[0] = (whole, ())
            group.append((target, ()))
            self.sharing[id(whole)] = group
        for number, (other, steps) in enumerate(group):
            if other is target:
                group[number] = (other, (*steps, step))

    # ---- the host ----

    def event(self, event: Any, spec: xla.Spec | None = None) -> Any:
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
        known = [None if xla.is_traced(value) else value for value in parameters]
        call = DrawCall(draw, shape, known)
        return self.on_host(call, traced, [(shape, kind)])[0]

    def keep_chance(self, kept: Any) -> None:
        """See Watching: its values may be used, and answered."""
        array = kept.state.array
        event = Event(lambda: kept.read() or kept.state.array)
        kept.state.replace_array(self.event(event, (array.shape, array.dtype)))

    def end_pass(self) -> None:
        """See Watching: where the host can't be called, nothing is queued."""
        if not self.regions:
            super().end_pass()

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

    def rates_of(self, scheduler: Any) -> list[Any]:
        """See Watching."""
        return settings_of(scheduler)

    def set_rates(self, rates: list[Any], arrays: list[Any], values: list[Any]) -> None:
        """See Watching."""
        for rate, array, value in zip(rates, arrays, values):
            rate.replace_array(array)
            self.follow(rate)
            self.rates[id(rate)] = (array, value)

    @contextmanager
    def valued(self, settings: list[Any]) -> Iterator[None]:
        """See Watching."""
        met = [each for each in settings if id(each) in self.lifted]
        before = [each.array for each in met]
        values = [self._value_of(each) for each in met]
        try:
            for each, value in zip(met, values):
                each.replace_array(value.copy() if type(value) is NDARRAY else value)
            yield
        finally:
            for each, array in zip(met, before):
                each.replace_array(array)

    def _value_of(self, setting: Any) -> Any:
        """What the host knows of a setting: as it came, or as a scheduler has made it."""
        record = self.lifted[id(setting)]
        known, value = self.rates.get(id(setting), (record.tracer, record.array))
        if setting.array is not known:
            raise CompileError(
                "a learning rate, or another setting of an optimizer, is changed inside and then "
                "read by the host; let a scheduler change it, or give the optimizer capturable=True"
            )
        return value

    def step(self, numbers: Any, param: Any, vector: Any, writes: Any) -> None:
        """See Watching: the rule of the optimizer is compiled."""
        optimizer, xp = numbers.optimizer, xla.backend.xp
        home = optimizer.state.get(param) or {}
        tensors = [param, param.gradient, *[home[name] for name in numbers.arrays]]
        self.lift_all(tensors)
        arrays = [tensor.current_array() for tensor in tensors]
        work = [widened(xp, array) for array in arrays]
        program = optimizer.program(
            xla.backend, work, numbers.arrays, numbers.values, numbers.maximize
        )
        values = dict(numbers.values)
        for place, name in enumerate(numbers.names):
            values[name] = vector[place].astype(work[0].dtype)
        results = program.computed(xp, work, values)
        for tensor, before, result in zip(tensors[2:], arrays[2:], results[2:]):
            writes.set(tensor, "array", narrowed(result, before))
        writes.late.append((param, Tensor(narrowed(results[0], arrays[0]), AS_IS), False))

    def standing_by(self, tensors: list[Any]) -> dict[int, Any]:
        """See Watching: arrays never change, and tensors get others."""
        return {id(tensor): tensor.array for tensor in tensors if id(tensor) in self.lifted}

    def changed_since(self, tensors: list[Any], before: dict[int, Any]) -> list[tuple[Any, Any]]:
        """See Watching."""
        found = []
        for tensor in tensors:
            record = self.lifted.get(id(tensor))
            if record is not None:
                array = before.get(id(tensor), record.tracer)
                if tensor.array is not array:
                    found.append((tensor, array))
        return found

    def choose(self, flag: Any, before: Any, tensor: Any) -> None:
        """See Watching."""
        tensor.replace_array(self.xp.where(flag, before, tensor.array))
        self.follow(tensor)
