"""Functions of the user's that the host calls between two pieces of a program: hooks, above all.

They get tensors with real values, and what they answer goes on into the program. Where a gradient
has to pass through what a hook has computed, the host finds it too.
"""

from itertools import starmap
from operator import methodcaller
from typing import Any

from adjoint.autograd.entry_points import grad
from adjoint.autograd.function import Function, once_differentiable
from adjoint.autograd.grad_mode import set_grad_enabled
from adjoint.autograd.graph_task import GraphTask, Presence, current_task, under_way
from adjoint.autograd.hooks import add_note, name_of
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import Changed, current
from adjoint.compiling.answers import AnsweredError
from adjoint.compiling.errors import CompileError
from adjoint.compiling.places import GradientOf, Place
from adjoint.compiling.reads import putting
from adjoint.optim.writes import exhaust
from adjoint.pytree import tree_flatten
from adjoint.tensors.core import NDARRAY, backend_of
from adjoint.tensors.tensor import AS_IS, Tensor

_np: Any = numpy_backend.xp
Spec = tuple[tuple[int, ...], Any]  # shape and data type


class Visit:
    """One call of a compiled function, as the host's functions see it."""

    def __init__(self, program: Any, arguments: list[Any]) -> None:
        self.program = program
        self.arguments = arguments
        self.before: list[tuple[Any, str, Any]] = []  # whose attribute was what, to be put back
        self.locked: list[Any] = []  # arrays of NumPy's that nobody may write to meanwhile
        self.begun: list[Any] = []  # events
        self.graphs: dict[int, Any] = {}  # what hooks computed with, for their gradients
        self.packed: dict[int, Any] = {}  # what hooks on saving have made
        self.done = False  # all is written: from here on nothing is put back
        self.queue: Any = None

    @property
    def task(self) -> Any:
        """Keeps what hooks queue for the end of a backward pass."""
        if self.queue is None:
            self.queue = GraphTask([], True, False, None)
        return self.queue

    def call(self, number: int, arrays: list[Any]) -> list[Any]:
        """Make a call on the host."""
        found: list[Any] = self.program.host_calls[number].run(self, arrays)
        return found

    def tensor(self, array: Any) -> Tensor:
        """A value of the program as hooks see it: they may not change it in place."""
        return Tensor(self.program.seen(array), AS_IS)

    def show(self, place: Place, name: str, value: Any) -> None:
        """Let a tensor from outside be as it would be now in eager code."""
        tensor = place.found(self.arguments)
        self.before.append((tensor, name, getattr(tensor, name)))
        setattr(tensor, name, value)

    def put_back(self) -> None:
        """Let all tensors be as they were before the call."""
        exhaust(map(_unlock, sorted(self.locked, key=_is_view)))  # views after what they show
        exhaust(starmap(setattr, reversed(self.before)))
        self.before, self.locked = [], []

    def undo(self) -> None:
        """The call has failed: let everything be as before it."""
        self.put_back()
        for event in reversed(self.begun):
            event.undo()

    def ask(self, name: str, function: Any, args: Any, shown: list[Any]) -> Any:
        """What code of the user's answers, which may not change what the program reads."""
        standing = [(t, t.array, t.gradient) for t in (*self.program.owners, *self.arguments)]
        if not self.locked:
            self.before += [(t, "array", array) for t, array, _ in standing]
            self.before += [(t, "gradient", gradient) for t, _, gradient in standing]
        fixed = [t for t, _, _ in standing] + [g for _, _, g in standing if g is not None]
        known = {_memory(tensor) for tensor in (*fixed, *shown)}
        versions = [tensor.version() for tensor in fixed]
        arrays = [t.array for t in fixed if type(t.array) is NDARRAY]
        # Until the call ends, for what writes without asking: optimizers, and NumPy.
        self.locked += [array for array in arrays if array.flags.writeable]
        exhaust(map(_lock, self.locked))

        def refuse(tensor: Any) -> None:
            if _memory(tensor) in known:
                raise _changes(name)

        with Changed({"guards": (*current().guards, refuse)}):
            answer = function(*args)
        same = all(t.array is array and t.gradient is gradient for t, array, gradient in standing)
        if not same or [tensor.version() for tensor in fixed] != versions:
            raise _changes(name)
        return answer


def _memory(tensor: Any) -> int:
    """What stands for the memory of a tensor, and of all that share it."""
    array = tensor.array
    if not backend_of(array).mutable:
        return id(tensor.counter())
    while isinstance(getattr(array, "base", None), (NDARRAY, type(array))):
        array = array.base
    return id(array)


def _is_view(array: Any) -> bool:
    return array.base is not None


_lock, _unlock = methodcaller("setflags", write=False), methodcaller("setflags", write=True)


def _changes(name: str) -> CompileError:
    return CompileError(
        f"'{name}' changes a tensor from outside in place, its grad, or a value it was given, "
        "while the compiled program runs, which would not see that. Return the new value, or mark "
        "it with graph.traceable, so that it is compiled itself"
    )


class Unseen:
    """What the host asks or does before a piece of a program, without anything to be shown."""

    def show(self, visit: Visit) -> None:
        """Let hooks see what has become of things, where that is put back when the call ends."""


class OnHost:
    """What the host does between two pieces of a program."""

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """Do it with these arrays, and answer others."""
        raise NotImplementedError

    def forget(self) -> None:
        """The trace has ended: let go of its tensors, which have no values."""


class EventCall(OnHost):
    """An event that has to wait for its turn."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """Make the event happen."""
        visit.begun.append(self.event)
        made = self.event.act()
        self.event.show(visit)
        return [] if made is None else [made]


class Showing(OnHost):
    """A call that sees tensors from outside as eager code would have left them by then."""

    def __init__(self, tracing: Any) -> None:
        self.shown, arrays = tracing.changes_so_far()
        self.arrays: list[Any] = arrays  # the values of those that are shown
        self.showing = len(arrays)

    def replace(self, old: Place, new: Place) -> None:
        """Find a tensor at another place."""
        self.shown = [(new if place is old else place, n, i) for place, n, i in self.shown]

    def show(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """Let them be so until the call ends; the other arrays of this call."""
        for place, name, number in self.shown:
            value = None if number < 0 else visit.tensor(arrays[number])
            visit.show(place, name, value if value is None or name != "array" else value.array)
        return arrays[self.showing :]

    def forget(self) -> None:
        """See OnHost."""
        self.arrays = []


class HostCall(Showing):
    """A call of a function with tensors and other things as arguments."""

    def __init__(self, tracing: Any, function: Any, args: Any, answers: Any) -> None:
        self.function = function
        self.name = name_of(function)
        self.grad_enabled = current().recording
        self.where = _node_under_way()
        self.observes = tracing.answers.only_looks(function)
        self.skipping = tracing.skipping  # the step that it belongs to, if that may be skipped
        if self.observes:
            answers = None
        leaves, self.tree = tree_flatten(args)
        wanted, self.answer_tree = tree_flatten(answers)
        self.tensors: list[Any] = []  # whose values it is given, each once
        numbers: dict[int, int] = {}
        for leaf in (*leaves, *wanted):
            if isinstance(leaf, Tensor) and id(leaf) not in numbers:
                if leaf.layer is not None:
                    raise CompileError(f"'{self.name}' is called with a tensor inside a transform")
                tracing.lift_all([leaf])
                numbers[id(leaf)] = len(self.tensors)
                self.tensors.append(leaf)
        self.sources = [_source(tracing, leaf, numbers) for leaf in leaves]
        # Those of its tensors that it gets as they are outside, through which gradients pass.
        self.outside = {
            numbers[id(leaf)]: what
            for leaf, (_, what) in zip(leaves, self.sources)
            if isinstance(what, Place)
        }
        self.wanted = [numbers.get(id(leaf), -1) for leaf in wanted]
        self.others = wanted
        self.needs = [tensor.needs_grad and self.grad_enabled for tensor in self.tensors]
        self.given = [_spec(tensor) for tensor in self.tensors]
        super().__init__(tracing)

    def replace(self, old: Place, new: Place) -> None:
        """See Showing."""
        super().replace(old, new)
        self.sources = [(n, new if what is old else what) for n, what in self.sources]
        self.outside = {n: new if each is old else each for n, each in self.outside.items()}

    def specs(self) -> list[Spec]:
        """What its answers look like."""
        return [self.given[number] for number in self.wanted if number >= 0]

    def forget(self) -> None:
        """See OnHost."""
        super().forget()
        self.tensors = []
        self.others = [None if isinstance(other, Tensor) else other for other in self.others]

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """Call the function with these arrays; what it answers, or what it was given."""
        if self.skipping is not None and self.skipping.found:
            given = arrays[self.showing :]
            return [given[number] for number in self.wanted if number >= 0]
        arrays = self.show(visit, arrays)
        tensors, leaves = self.given_at(visit, arrays)
        answer = self._answer(visit, self.tree.unflatten(leaves), tensors)
        if not visit.program.read.hold():
            for act, *given in starmap(putting, visit.program.read.found):
                act(*given)
            raise CompileError(
                f"'{self.name}' replaces a tensor by another, while the compiled program that has "
                "read it runs. Mark it with graph.traceable, so that it is compiled itself"
            )
        results = [tensors[number] for number in self.wanted if number >= 0]
        if answer is not None and not any(answer is leaf for leaf in leaves):
            if self.observes:
                raise AnsweredError(self.function)
            results = self._checked(answer, results)
        if any(self.needs):
            visit.graphs[id(self)] = (tensors, results)
        wanted = [number for number in self.wanted if number >= 0]
        return [
            arrays[number] if result is tensors[number] else result.array
            for number, result in zip(wanted, results)
        ]

    def given_at(self, visit: Visit, arrays: list[Any]) -> tuple[list[Any], list[Any]]:
        """The tensors of a call with these arrays, and what stands for the leaves of arguments."""
        tensors = [visit.tensor(array) for array in arrays]
        for tensor, needs in zip(tensors, self.needs):
            tensor.needs_grad = needs
        for number, place in self.outside.items():
            tensors[number] = place.found(visit.arguments)
        leaves = [
            what.found(visit.arguments)
            if isinstance(what, Place)
            else tensors[number]
            if number >= 0
            else what
            for number, what in self.sources
        ]
        return tensors, leaves

    def _answer(self, visit: Visit, leaves: Any, shown: list[Any]) -> Any:
        """What the function says."""
        with set_grad_enabled(self.grad_enabled):
            return _asked_in_pass(visit, self.name, self.function, leaves, shown, self.where)

    def _checked(self, answer: Any, given: list[Any]) -> list[Any]:
        """The tensors of an answer, which must look like those whose place they take."""
        if not given:
            return given
        leaves = self._leaves(answer)
        found: list[Any] = []
        for leaf, number, other in zip(leaves, self.wanted, self.others):
            if number < 0:
                if leaf is not other and leaf != other:
                    raise self._refused(f"{leaf!r} in place of {other!r}")
                continue
            before = given[len(found)]
            if leaf is None:
                leaf = before
            if not isinstance(leaf, Tensor):
                raise self._refused(f"a {type(leaf).__name__} in place of a tensor")
            if leaf.array.shape != before.array.shape or leaf.array.dtype != before.array.dtype:
                raise self._refused(
                    f"{leaf.array.dtype}{list(leaf.array.shape)} in place of "
                    f"{before.array.dtype}{list(before.array.shape)}"
                )
            found.append(leaf)
        return found

    def _leaves(self, answer: Any) -> list[Any]:
        """An answer taken apart as what it stands for."""
        tree = self.answer_tree
        if isinstance(answer, Tensor) and not tree.is_leaf() and tree.num_leaves == 1:
            return [answer]
        try:
            found: list[Any] = tree.flatten_up_to(answer)
        except ValueError as error:
            raise self._refused(str(error)) from None
        return found

    def _refused(self, what: str) -> CompileError:
        return CompileError(
            f"'{self.name}' has answered {what}: in compiled code the shapes and types of what a "
            "hook answers must be those it was given. Mark it with graph.traceable, so that it is "
            "compiled itself"
        )


def _asked_in_pass(
    visit: Visit, name: str, function: Any, args: Any, shown: list[Any], where: str
) -> Any:
    """What a function says inside a pass; a signal at any step leaves no trace of that."""
    outer, presence = under_way.get(), Presence(visit.task)
    try:
        try:
            under_way.set(presence)
            return visit.ask(name, function, args, shown)
        except Exception as error:
            why = "; what the program reads is read-only meanwhile"
            why = why if "read-only" in str(error) else ""
            add_note(error, f"in '{name}', called for compiled code{where}{why}")
            raise
        finally:
            presence.task = None
    finally:
        under_way.set(outer)


def _node_under_way() -> str:
    """Which node a backward pass is at, and the line of the user's program that made it."""
    task = current_task()
    if task is None or task.current is None:
        return ""
    source = task.current.source()
    return f": at {task.current.name()}" + ("" if source is None else f", made in {source}")


def _source(tracing: Any, leaf: Any, numbers: dict[int, int]) -> tuple[int, Any]:
    """Where an argument is found at a call: a tensor from outside, a value, or what it is."""
    record = tracing.lifted.get(id(leaf)) if isinstance(leaf, Tensor) else None
    if record is not None and not isinstance(record.place, GradientOf):
        return -1, record.place
    number = numbers.get(id(leaf), -1)
    return number, None if number >= 0 else leaf


def _spec(tensor: Any) -> Spec:
    return tuple(tensor.array.shape), tensor.array.dtype


class BackCall(OnHost):
    """The gradients of what a function of the host has computed."""

    def __init__(self, call: HostCall) -> None:
        self.call = call

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """The gradients of all tensors it was given, from those of its answers."""
        tensors, results = visit.graphs[id(self.call)]
        grads = [visit.tensor(array) for array in arrays]
        roots = [(r, g) for r, g in zip(results, grads) if r.needs_grad]
        leaves = [tensor for tensor in tensors if tensor.needs_grad]
        found: list[Any] = [None] * len(leaves)
        if roots and leaves:
            outputs, starts = zip(*roots)
            found = list(grad(outputs, leaves, starts, allow_unused=True, retain_graph=True))
        made = iter(found)
        answers: list[Any] = []
        for tensor in tensors:
            got = next(made) if tensor.needs_grad else None
            answers.append((tensor.new_zeros(tensor.shape) if got is None else got).array)
        return answers


class _OnHost(Function):
    """A call on the host through which gradients pass."""

    @staticmethod
    def forward(ctx: Any, tracing: Any, call: HostCall, *tensors: Any) -> Any:
        ctx.tracing, ctx.call = tracing, call
        made = _made(tracing, call, [tensor.array for tensor in tensors])
        return tuple(made)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        arrays = [each.array for each in grads]
        found = ctx.tracing.on_host(BackCall(ctx.call), arrays, ctx.call.given)
        return (None, None, *[Tensor(array, AS_IS) for array in found])


def _made(tracing: Any, call: HostCall, arrays: list[Any]) -> list[Any]:
    found = tracing.on_host(call, [*call.arrays, *arrays], call.specs())
    return [Tensor(array, AS_IS) for array in found]


def asked(tracing: Any, function: Any, args: Any, answers: Any) -> Any:
    """Have the host call a function at each run; tensors in place of those of `answers`."""
    call = HostCall(tracing, function, args, answers)
    if any(call.needs) and any(number >= 0 for number in call.wanted):
        made = list(_OnHost.apply(tracing, call, *call.tensors))
    else:
        made = _made(tracing, call, [tensor.array for tensor in call.tensors])
    if answers is None or call.observes:
        return None
    found = iter(made)
    leaves = [
        next(found) if number >= 0 else other for number, other in zip(call.wanted, call.others)
    ]
    return call.answer_tree.unflatten(leaves)


class DrawCall(OnHost):
    """Random numbers drawn with parameters that the program has computed."""

    def __init__(self, draw: Any, shape: Any, parameters: list[Any]) -> None:
        self.draw = draw
        self.shape = shape
        self.parameters = parameters  # None: it is computed

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """Draw them."""
        given = iter(arrays)
        found = [_np.asarray(next(given)) if p is None else p for p in self.parameters]
        return [_np.asarray(self.draw(self.shape, *found))]


class EndOfPass(Showing):
    """The host calls what hooks have queued for the end of a backward pass."""

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """Call them, and those that they queue."""
        callbacks = visit.task.callbacks
        if callbacks:
            self.show(visit, arrays)
        while callbacks:
            callback = callbacks.pop(0)
            _asked_in_pass(visit, name_of(callback), callback, (), [], "")
        return []


class PackCall(HostCall):
    """A pack hook: what it makes of a tensor stays with the host."""

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """See HostCall."""
        (array,) = self.show(visit, arrays)
        given = visit.tensor(array)
        with set_grad_enabled(False):
            visit.packed[id(self)] = visit.ask(self.name, self.function, (given,), [given])
        return []


class UnpackCall(Showing):
    """An unpack hook: it gives back the tensor."""

    def __init__(self, tracing: Any, pack: PackCall, function: Any) -> None:
        super().__init__(tracing)
        self.pack = pack
        self.function = function

    def run(self, visit: Visit, arrays: list[Any]) -> list[Any]:
        """See HostCall."""
        self.show(visit, arrays)
        with set_grad_enabled(False):
            name, packed = name_of(self.function), visit.packed[id(self.pack)]
            tensor = visit.ask(name, self.function, (packed,), [])
        if not isinstance(tensor, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor, but "
                f"'{name_of(self.function)}' returned {type(tensor).__name__}"
            )
        shape, dtype = self.pack.given[0]
        if tensor.array.shape != shape or tensor.array.dtype != dtype:
            raise RuntimeError(
                f"the unpack hook '{name_of(self.function)}' of a saved tensor returned "
                f"{tensor.array.dtype}{list(tensor.array.shape)}; saved was "
                f"{dtype}{list(shape)}"
            )
        return [tensor.array]
