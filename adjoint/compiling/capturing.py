"""A run of the user's function whose work on the GPU is captured in a graph of CUDA.

Nothing is computed meanwhile, and everything is put back afterwards, as after a run on tracers.
Tensors from outside stay where they are, and the graph changes them there; arguments are copied to
memory of the graph before each launch, and what the function makes anew is copied out of it. Where
the host is called, the graph is parted: it is launched part by part (docs/notes/compile.md).
"""

from collections.abc import Callable
from typing import Any

from adjoint.backends import cupy_graphs
from adjoint.backends.loops.cuda_chance import WORDS
from adjoint.call.context import Changed
from adjoint.compiling.answers import Answers
from adjoint.compiling.errors import CompileError, OutdatedError, untraceable
from adjoint.compiling.escapes import all_tensors, mark_escaped
from adjoint.compiling.guards import PythonState, guards_of, refuse_iterators
from adjoint.compiling.host import Visit
from adjoint.compiling.optimizers import Numbers
from adjoint.compiling.places import Argument, Lifted, Part, Place, Shown
from adjoint.compiling.reads import Reads
from adjoint.compiling.repeated import Bindings
from adjoint.compiling.scaling import Skipping
from adjoint.compiling.signatures import objects_among
from adjoint.compiling.watching import Event, Watching
from adjoint.control_flow import stepped
from adjoint.device import device
from adjoint.optim.programs import Named
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.core import NDARRAY, backend_of
from adjoint.tensors.tensor import AS_IS, Tensor

CUDA = device("cuda")
TRIES = 2  # a kernel that is compiled meanwhile may spoil the first


class Feed:
    """Where in a graph's memory goes what an event makes, and which parts of it in which order."""

    def __init__(self, room: Any, order: list[Any] | None) -> None:
        self.room = room
        self.order = order  # of each number its place, or itself in a tuple; None: all as it comes

    def take(self, made: Any) -> None:
        """Bring it there."""
        if self.order is not None:
            made = [each[0] if type(each) is tuple else made[each] for each in self.order]
        cupy_graphs.fill(self.room, made)


class Piece:
    """What the host does around the launch of one part of a graph."""

    def __init__(self, events: list[Any]) -> None:
        self.events = events  # before it
        self.call: Any = None  # after it; None: it is the last
        self.given: list[Any] = []  # the arrays that the host is called with
        self.rooms: list[Any] = []  # where the next part finds what the host has answered


class Capturing(Watching):
    """What a function meets while its work is captured."""

    def __init__(self, name: str, answers: Answers) -> None:
        super().__init__(name, CUDA, answers)
        self.xp = cupy_graphs.backend.xp
        self.graph = cupy_graphs.Graph()
        self.parts = [Piece(self.events)]
        self.feeds: dict[int, list[Feed]] = {}  # by the ids of events
        self.arguments: set[int] = set()  # the ids of the tensors that the user has given
        self.fills: list[tuple[Any, Any]] = []  # constants, and where the graph reads them
        self.changing: dict[int, Any] = {}  # arrays from outside that change before a host call

    def stand_in(self, tensor: Any, number: int) -> Any:
        """A tensor of the graph in the place of an argument."""
        array = tensor.current_array()
        if backend_of(array) is not cupy_graphs.backend:
            raise CompileError(
                f"{self.name} can't be captured: its argument {number} is on {tensor.device}; move "
                "it to 'cuda' first"
            )
        if tensor.gradient is not None:
            raise CompileError(
                f"{self.name} can't be captured: its argument {number} has a grad, which would not "
                "be added to; set it to None first"
            )
        made = Tensor(self.graph.room(array.shape, array.dtype), AS_IS)
        if tensor.needs_grad:
            made.requires_grad_()
        self.arguments.add(id(tensor))
        self.lifted[id(made)] = Lifted(made, Argument(made, number), number)
        return made

    # ---- tensors from outside ----

    def lift_all(self, tensors: list[Any]) -> None:
        """See Watching."""
        self.note_modules()
        for tensor in tensors:
            if tensor.layer is None:
                self.lift(tensor)

    def lift(self, tensor: Any) -> None:
        """Note a tensor from outside; the graph works on the memory that it has now."""
        array = tensor.array
        if id(tensor) in self.lifted:
            return
        if type(array) is NDARRAY or backend_of(array) is not cupy_graphs.backend:
            raise CompileError(
                f"{self.name} can't be captured: it uses a tensor on {tensor.device}; move it to "
                "'cuda' first"
            )
        if self.graph.owns(array):
            return
        if id(tensor) in self.arguments:
            raise CompileError(f"{self.name} reads an argument by another name, too")
        base = None if tensor.extras is None else tensor.extras.base
        self.lifted[id(tensor)] = Lifted(tensor, Place(tensor), 0 if base is None else -1)
        if base is not None:
            self.lift(base)
        elif tensor.node is not None:  # a leaf here: its history is outside
            tensor.node, tensor.output_number = None, 0

    def share(self, source: Tensor, other: Tensor) -> None:
        """See Watching: memory that is shared is shared in the graph as well."""
        if source.layer is None:
            self.lift(source)
        super().share(source, other)

    def follow(self, target: Tensor) -> None:
        """See Watching: whoever shares the memory of a tensor sees it change."""

    def held(self, array: Any) -> Any:
        """The array of a new tensor: what lies on the host is brought to the graph once."""
        if type(array) is not NDARRAY:
            return array
        room = self.graph.room(array.shape, array.dtype)
        self.fills.append((room, array))
        return room

    def knows(self, tensor: Any) -> bool:
        """See Watching: nothing has values on the host."""
        return False

    def is_new(self, tensor: Any) -> bool:
        """See Watching."""
        return bool(self.graph.owns(tensor.array))

    def apart(self, tensor: Tensor) -> Any:
        """See Watching: a graph does again what it was told to do again."""
        return tensor

    # ---- the host ----

    def event(self, event: Any, spec: Any = None) -> Any:
        """Have the host do something before a launch; what it answers is brought to a room."""
        self.parts[-1].events.append(event)
        if spec is None or isinstance(event, Numbers):  # of which rules want their own order
            return None
        room = self.graph.room(*spec)
        self.feeds.setdefault(id(event), []).append(Feed(room, None))
        return room

    def on_host(self, call: Any, arrays: list[Any], specs: list[Any]) -> list[Any]:
        """See Watching: the graph is parted here."""
        part = self.parts[-1]
        part.call, part.given = call, list(arrays)
        part.rooms = [self.graph.room(*spec) for spec in specs]
        self.host_calls.append(call)
        self.parts.append(Piece([]))
        self._note_changing()
        self.graph.part()
        return part.rooms

    def _note_changing(self) -> None:
        """Note what from outside may have changed by now: if the host fails, it is put back."""
        for record in self.lifted.values():
            if type(record.place) is not Place:
                continue
            if record.tensor.version() != record.version:
                self.changing[id(record.array)] = record.array
            gradient = record.gradient
            if gradient is not None and record.tensor.gradient is gradient:
                self.changing[id(gradient.array)] = gradient.array

    def changes_so_far(self) -> tuple[list[tuple[Place, str, int]], list[Any]]:
        """See Watching: what has memory from outside shows its changes by itself."""
        shown: list[tuple[Place, str, int]] = []
        arrays: list[Any] = []
        for record in self.lifted.values():
            tensor = record.tensor
            if isinstance(record.place, Argument) and tensor.version() != record.version:
                shown.append((record.place, "array", len(arrays)))
                arrays.append(tensor.array)
            if tensor.gradient is None and record.gradient is not None:
                shown.append((record.place, "gradient", -1))
            elif tensor.gradient is not record.gradient:
                shown.append((record.place, "gradient", len(arrays)))
                arrays.append(tensor.gradient.array)
        return shown, arrays

    # ---- branches and loops ----

    def cond(self, pred: Tensor, bodies: list[Any], operands: list[Any]) -> list[Any]:
        """Refuse what a value decides."""
        raise CompileError("cond: a graph of CUDA can't choose; use where(), or backend='xla'")

    def while_loop(self, test: Any, body: Any, carried: list[Any]) -> list[Any]:
        """Refuse what a value decides."""
        raise CompileError("while_loop: a graph of CUDA can't repeat; use backend='xla'")

    def scan(
        self, step: Any, init: list[Any], xs: list[Any], reverse: bool
    ) -> tuple[list[Any], list[Any]]:
        """The last carry of a scan, and its results, each step captured by itself."""
        return stepped(step, xs, reverse)

    def drawn(self, draw: Any, shape: tuple[int, ...], parameters: tuple[Any, ...]) -> Any:
        """Random numbers: the host draws them before each launch, as it does in eager code."""
        if not all(isinstance(value, (bool, int, float)) for value in parameters):
            raise CompileError("random numbers are drawn by what the graph computes")
        self.remember_chance()
        kind = draw((0,), *parameters).dtype
        return self.event(Event(lambda: draw(shape, *parameters)), (shape, kind))

    def state(self, generator: Any, draw: Any) -> Any:
        """The state of a generator for numbers that the graph draws itself: that of each launch."""
        self.remember_chance()
        return self.event(Event(lambda: generator.draw(draw)), ((WORDS,), "uint64"))

    # ---- optimizers ----

    def schedule(self, step: Any, scheduler: Any, args: Any, kwargs: Any) -> None:
        """See Watching: the host changes numbers, and nothing that lies on the GPU."""
        settings = [v for group in scheduler.optimizer.param_groups for v in group.values()]
        if any(isinstance(v, Tensor) and type(v.array) is not NDARRAY for v in settings):
            raise CompileError(
                f"{type(scheduler).__name__} changes a learning rate on the GPU; give the rate as "
                "a number, or let the scheduler make its step outside"
            )
        super().schedule(step, scheduler, args, kwargs)

    def step(self, numbers: Any, param: Any, vector: Any, writes: Any) -> None:
        """The step of one parameter, whose numbers are read from the graph's memory."""
        optimizer = numbers.optimizer
        home = optimizer.state.get(param) or {}
        tensors = [param, param.gradient, *[home[name] for name in numbers.arrays]]
        self.lift_all(tensors)
        arrays = [tensor.current_array() for tensor in tensors]
        program = optimizer.program(
            cupy_graphs.backend, arrays, numbers.arrays, numbers.values, numbers.maximize
        )
        if program.kernel is None or not program.kernel.takes(arrays):
            raise CompileError(
                f"{type(optimizer).__name__} has a parameter of shape {list(param.shape)} whose "
                "state lies in memory in another order, or is of another type"
            )
        room = self._ordered(numbers, program)
        key = (id(program), arrays[0].dtype, id(room))
        writes.launches.setdefault(key, (program.kernel, room, []))[2].append(arrays)
        writes.changed.append(param)

    def standing_by(self, tensors: list[Any]) -> dict[int, Any]:
        """See Watching: copies, which the graph makes."""
        here = [tensor for tensor in tensors if type(tensor.array) is not NDARRAY]
        self.lift_all(here)
        return {id(t): (cupy_graphs.backend.copy(t.current_array()), t.version()) for t in here}

    def changed_since(self, tensors: list[Any], before: dict[int, Any]) -> list[tuple[Any, Any]]:
        """See Watching."""
        found = [(tensor, before[id(tensor)]) for tensor in tensors if id(tensor) in before]
        return [(tensor, array) for tensor, (array, _) in found]

    def choose(self, flag: Any, before: Any, tensor: Any) -> None:
        """See Watching: in the memory that it has."""
        tensor.array[...] = self.xp.where(flag, before, tensor.array)

    def _ordered(self, numbers: Any, program: Any) -> Any:
        """Where a rule finds its numbers in the order in which it has asked for them."""
        order: list[Any] = [
            numbers.names.index(value.name) if type(value) is Named else (value,)
            for value in program.numbers[::-1]
        ]
        feeds = self.feeds.setdefault(id(numbers), [])
        for feed in feeds:
            if feed.order == order:
                return feed.room
        feeds.append(Feed(self.graph.room((max(1, len(order)),), "float64"), order or [(0.0,)]))
        return feeds[-1].room


class Program:
    """A graph, and what has to be done on the host before and after each launch."""

    def __init__(self, capturing: Capturing, result: Any, stand_ins: list[Any]) -> None:
        self.name = capturing.name
        self.graph = capturing.graph
        self.parts = capturing.parts
        self.feeds = capturing.feeds
        self.host_calls = capturing.host_calls
        self.changing = list(capturing.changing.values())
        self.spent = capturing.spent
        self.unrepeated: list[str] = []  # names of what Python changed while it was captured
        self.rooms = [each.array for each in stand_ins]
        self.guards: list[Any] = []
        self.read = Bindings([])  # see Reads.held
        self.repeated = None  # a call has no short form
        self.outputs: list[Any] = []  # arrays of the graph that become new tensors
        self.gradients: list[tuple[Place, int]] = []  # whose, and which output; -1: none
        self.changed: list[tuple[Place, int]] = []  # whose memory, and how many changes it counts
        # What it was made for: the memory of tensors, whether they need a gradient and have one,
        # and those whose very gradient the graph adds to.
        self.memory: list[tuple[Any, Any]] = []
        self.states: list[tuple[Any, bool, bool]] = []
        self.kept: list[tuple[Any, Any]] = []
        self._slots: dict[int, int] = {}
        for record in capturing.lifted.values():
            self._note(record, capturing)
        self.owners = [tensor for tensor, _, _ in self.states]
        self.written = [p.number for p, _ in self.changed if isinstance(p, Argument)]
        leaves, self.tree = tree_flatten(result)
        self.answers = [self._answer(leaf, capturing) for leaf in leaves]

    def _slot(self, array: Any) -> int:
        """The number of an output."""
        found = self._slots.get(id(array))
        if found is None:
            found = self._slots[id(array)] = len(self.outputs)
            self.outputs.append(array)
        return found

    def _note(self, record: Lifted, capturing: Capturing) -> None:
        """What has become of a tensor from outside, or of one that stands for an argument."""
        tensor, place = record.tensor, record.place
        if tensor.array is not record.array:
            raise CompileError(
                f"a tensor of shape {list(tensor.shape)} from outside has got another array"
            )
        if tensor.node is not None and record.index >= 0:
            raise CompileError(
                f"a tensor of shape {list(tensor.shape)} from outside was changed in place by what "
                "needs a gradient; change it under no_grad(), or by detached values"
            )
        bumps = tensor.version() - record.version
        if bumps and record.index >= 0:  # as a view counts with its base
            self.changed.append((place, bumps))
        if type(place) is Place:
            self.memory.append((tensor, record.array))
            self.states.append((tensor, record.needs_grad, record.gradient is None))
        gradient, before = tensor.gradient, record.gradient
        if before is not None and type(place) is Place:
            known, bumps = id(before) in capturing.lifted, before.version()
            bumps -= record.gradient_version
            if known or bumps or gradient is before:  # what the graph works on
                self.kept.append((tensor, before))
                self.memory.append((before, before.array))
            if bumps and not known:
                self.changed.append((Place(before), bumps))
        if gradient is before:
            return
        if gradient is None:
            self.gradients.append((place, -1))
        elif capturing.graph.owns(gradient.array):
            self.gradients.append((place, self._slot(gradient.array)))
        else:
            raise CompileError(
                f"the gradient of a tensor of shape {list(tensor.shape)} is set to a tensor from "
                "outside"
            )

    def _answer(self, leaf: Any, capturing: Capturing) -> tuple[int, Any]:
        """Where a part of the answer comes from: an output, a tensor from outside, or itself."""
        if not isinstance(leaf, Tensor):
            return -1, leaf
        record = capturing.lifted.get(id(leaf))
        if record is not None:
            return -1, record.place
        if leaf.needs_grad:
            raise CompileError(
                "a result needs a gradient, whose history a graph does not keep: call backward "
                "inside and detach() the result"
            )
        base, steps, apart = capturing.memory_of(leaf)
        record = capturing.lifted.get(id(base))
        if base is not leaf and record is not None:
            return -1, Shown(record.place, Part(steps, apart, leaf))
        return self._slot(leaf.current_array()), None

    def check(self) -> None:
        """Raise OutdatedError if anything is not as it was when the graph was captured."""
        for guard in self.guards:
            guard.check()
        for tensor, needs_grad, without in self.states:
            if tensor.needs_grad is not needs_grad:
                raise OutdatedError(f"requires_grad of a tensor of {list(tensor.shape)} was set")
            if (tensor.gradient is None) is not without:
                raise OutdatedError(f"a tensor of shape {list(tensor.shape)} got or lost its grad")
        for owner, gradient in self.kept:
            if owner.gradient is not gradient:
                raise OutdatedError(f"the grad of a tensor of {list(owner.shape)} is another")
        for tensor, array in self.memory:
            if tensor.array is not array:
                raise OutdatedError(f"a tensor of shape {list(tensor.shape)} has other memory")

    def seen(self, array: Any) -> Any:
        """A value of the graph as hooks see it: they may keep it."""
        return cupy_graphs.copied(array)

    def run(self, arguments: list[Any]) -> Any:
        """Launch the graph on these tensors as arguments; the answer of the function."""
        self.check()
        for number in self.written:
            _refuse_shared(number, arguments)
        for room, tensor in zip(self.rooms, arguments):
            cupy_graphs.fill(room, tensor.current_array())
        visit = Visit(self, arguments)
        before = [cupy_graphs.copied(array) for array in self.changing]
        try:
            for number, part in enumerate(self.parts):
                self._launch(number, part, visit)
            made = [Tensor(cupy_graphs.copied(array), AS_IS) for array in self.outputs]
        except BaseException:
            for array, values in zip(self.changing, before):
                cupy_graphs.fill(array, values)
            visit.undo()
            raise
        visit.put_back()
        return self._finish(arguments, made, visit.begun)

    def _launch(self, number: int, part: Piece, visit: Visit) -> None:
        """Launch a part, and call the host after it."""
        for event in part.events:
            visit.begun.append(event)
            made = event.act()
            if self.host_calls:
                event.show(visit)
            for feed in self.feeds.get(id(event), ()):
                feed.take(made)
        self.graph.launch(number)
        if part.call is not None:
            for room, values in zip(part.rooms, part.call.run(visit, part.given)):
                cupy_graphs.fill(room, values)

    def _finish(self, arguments: list[Any], made: list[Any], events: list[Any]) -> Any:
        """Let tensors have what they have got; the answer."""
        for place, bumps in self.changed:
            tensor = place.found(arguments)
            if isinstance(place, Argument):
                cupy_graphs.fill(tensor.current_array(), self.rooms[place.number])
            tensor.counter().value += bumps
        for place, slot in self.gradients:
            place.found(arguments).gradient = None if slot < 0 else made[slot]
        for event in events:
            if isinstance(event, Skipping):
                for counter in event.uncounted():
                    counter.value -= 1
            for function, *values in event.writes():
                function(*values)
        found = [
            made[slot] if slot >= 0 else what.found(arguments) if isinstance(what, Place) else what
            for slot, what in self.answers
        ]
        return self.tree.unflatten(found)


def _refuse_shared(number: int, arguments: list[Any]) -> None:
    """Refuse an argument that changes in memory of which the graph has another copy."""
    changed = arguments[number]
    for other, tensor in enumerate(arguments):
        if tensor is not changed and cupy_graphs.backend.shares_memory(tensor.array, changed.array):
            raise CompileError(
                f"argument {number}, which is changed in place, shares its memory with argument "
                f"{other}, of which a graph has a copy of its own; pass a clone() of one of them"
            )


def program_of(
    function: Callable[..., Any],
    name: str,
    tensors: list[Any],
    args: Any,
    kwargs: Any,
    answers: Answers,
) -> Program:
    """The program of a call; everything is as before when it is made, or can't be."""
    for attempt in range(TRIES):
        capturing = Capturing(name, answers)
        try:
            return _captured(capturing, function, tensors, args, kwargs)
        except cupy_graphs.RefusedError as error:
            if attempt == TRIES - 1:
                raise untraceable(name, error, _reason(error), function) from error
        except CompileError as error:
            raise untraceable(name, error, error, function) from error
    raise AssertionError


def _reason(error: Exception) -> str:
    return f"it waits for the GPU, or brings values there from the host ({error})"


def _captured(
    capturing: Capturing, function: Callable[..., Any], tensors: list[Any], args: Any, kwargs: Any
) -> Program:
    """One try to capture a call."""
    known: dict[int, Any] = {}
    for number, tensor in enumerate(tensors):
        if id(tensor) not in known:
            known[id(tensor)] = capturing.stand_in(tensor, number)
    leaves, tree = tree_flatten((args, kwargs))
    given, named = tree_unflatten([known.get(id(leaf), leaf) for leaf in leaves], tree)
    made: list[Program] = []
    objects = objects_among(leaves)
    reads = Reads([function], given=objects)
    refuse_iterators(capturing.name, reads)
    state = PythonState(reads)

    def run() -> None:
        with Changed({"tracing": capturing}):
            result = function(*given, **named)
        made.append(Program(capturing, result, [known[id(tensor)] for tensor in tensors]))

    try:
        capturing.graph.capture(run, capturing)
    finally:
        capturing.restore()
    program = made[0]
    program.unrepeated = state.changed()
    for call in capturing.host_calls:
        call.forget()
    for room, values in capturing.fills:
        cupy_graphs.fill(room, values)
    mark_escaped(capturing.name, capturing.graph.owns, all_tensors())
    records = capturing.lifted.values()
    leaves = [r.tensor for r in records if type(r.place) is Place and r.needs_grad]
    reads = Reads([function, *capturing.modules.values()], capturing.host_calls, objects)
    program.guards = guards_of(reads, list(capturing.optimizers.values()), leaves, state.places)
    return program
