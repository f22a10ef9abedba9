"""Checkpointing by hooks on saving: a region saves nothing, and is run again when asked for it.

In the first run each saved tensor is replaced by a `Place`. When backward asks for one, the region
runs again and what it saves now, in the same order, belongs to the places. A recomputed tensor goes
as soon as another node asks for its own; all of them go with the region, or with the pass that they
were made for.
"""

import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

from adjoint.autograd.grad_mode import ContextDecorator
from adjoint.autograd.graph_task import current_task
from adjoint.autograd.hooks import add_note, traceable
from adjoint.autograd.saved_tensors import SavedTensor
from adjoint.call.arguments import tensors_in
from adjoint.call.context import Changed, current, is_recording
from adjoint.call.dispatch import OWN
from adjoint.call.held import Held
from adjoint.call.op_node import OpNode
from adjoint.call.record import inputs_to_keep
from adjoint.ops.op import Op
from adjoint.tensors.core import NDARRAY, backend_of
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.utils.checkpoint.passes import PerPass
from adjoint.utils.checkpoint.surroundings import Surroundings, keep, restored
from adjoint.utils.checkpoint.trace import Trace


class CheckpointError(RuntimeError):
    """A region did something else when it was run again."""


def noop_context_fn() -> tuple[Any, Any]:
    """No contexts, neither for the first run nor for later ones."""
    return nullcontext(), nullcontext()


# What was decided for all checkpoints of a context, the innermost last; None leaves it to them.
_Decisions = ContextVar[tuple[bool | None, ...]]
_early_stop: _Decisions = ContextVar("adjoint_checkpoint_early_stop", default=(None,))
_debug: _Decisions = ContextVar("adjoint_checkpoint_debug", default=(None,))


class Decided(ContextDecorator, Held):
    """Inside, something is decided for all checkpoints."""

    decisions: _Decisions

    def __init__(self, decision: bool | None) -> None:
        self.decision = decision

    def clone(self) -> Any:
        """See ContextDecorator."""
        return type(self)(self.decision)

    def _variable(self) -> Any:
        """See Held."""
        return self.decisions

    def _inside(self, before: Any) -> Any:
        """See Held."""
        return (*before, self.decision)


class set_checkpoint_early_stop(Decided):
    """Decide early_stop for all checkpoints whose first run is inside, whatever they ask for."""

    decisions = _early_stop

    def __init__(self, enable: bool) -> None:
        super().__init__(enable)


class set_checkpoint_debug_enabled(Decided):
    """Decide debug for all checkpoints whose first run is inside; None leaves it to them."""

    decisions = _debug

    def __init__(self, enabled: bool | None) -> None:
        super().__init__(enabled)


class Stop(BaseException):
    """Ends a recomputation that has all it needs; no function under it should catch it."""


class Place:
    """Stands for a tensor that a region saved."""

    __slots__ = ("__weakref__", "index")

    def __init__(self, index: int) -> None:
        self.index = index


class Region:
    """One call under checkpoint: how to run it again, and the places of what it saved."""

    def __init__(
        self, run: Callable[[], Any], label: str, compares: bool, early_stop: bool
    ) -> None:
        self.run = run
        self.label = label
        self.compares = compares
        self.early_stop = early_stop
        self.traces: tuple[Trace, Trace] | None = None
        self.surroundings: Any = None
        self.complete = False
        self.places: list[weakref.ref[Place]] = []
        self.facts: list[Any] = []
        self.recomputations: PerPass[Recomputation] = PerPass()

    @traceable
    def pack(self, value: Any) -> Place:
        """Drop what is saved, noting what it was."""
        place = Place(len(self.places))
        self.places.append(weakref.ref(place))
        self.facts.append(facts_of(value) if self.compares else None)
        return place

    @traceable
    def unpack(self, place: Place) -> Any:
        """What the place stands for, from this pass's recomputation."""
        try:
            return self.recomputations.get(Recomputation).value(self, place)
        except CheckpointError as error:
            if self.traces is None:
                raise
            first, second = self.traces
            raise CheckpointError(f"{error}\n{first.compared(second)}") from error


class Recomputation:
    """What one pass gets from running a region again."""

    def __init__(self) -> None:
        # By the indices of places. Tables of weak references would forget a place by themselves, in
        # a callback, where what a signal raises is lost.
        self.values: dict[int, Any] = {}
        self.taken: set[int] = set()  # by the node that came last:
        self.reader = -1
        self.lock = threading.RLock()

    def value(self, region: Region, place: Place) -> Any:
        """What was recomputed for a place; computed again if it has been dropped."""
        with self.lock:
            self.drop_taken()
            if place.index not in self.values:
                Run(region, self.values).run()
            self.taken.add(place.index)
            return self.values[place.index]

    def drop_taken(self) -> None:
        """Once another node asks, the last one has had what it wanted."""
        task = current_task()
        node = None if task is None else task.current
        reader = -1 if node is None else node.sequence_number
        if reader != self.reader:
            for index in self.taken:
                self.values.pop(index, None)
            self.taken.clear()
            self.reader = reader


class Run:
    """One run of a region after the first."""

    def __init__(self, region: Region, values: dict[int, Any]) -> None:
        self.region = region
        self.values = values
        self.count = 0
        self.beyond = False  # it saved more than a first run that is still under way
        self.failure: CheckpointError | None = None
        self.hooks: tuple[Any, ...] = ()

    def run(self) -> None:
        """Fill in the values, and check that they are what the first run saved."""
        region = self.region
        self.hooks = ((self.pack, _same),)
        watchers = (self.call,) if region.early_stop else ()
        try:
            region.surroundings.again(region.run, self.hooks, (self.preserve,), watchers)
        except Stop:
            pass
        except Exception as error:
            add_note(error, f"while {region.label} was run again for backward, under checkpoint")
            raise
        finally:
            self.hooks = ()  # which refer to this run
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        if self.count != len(region.places) and not self.beyond:
            raise CheckpointError(
                f"checkpoint: A different number of tensors was saved when {region.label} was run "
                f"again: {self.count}, but {len(region.places)} in the first run. {_WAY_OUT}"
            )

    @traceable
    def pack(self, value: Any) -> Any:
        """Give what is saved to the next place."""
        region, index = self.region, self.count
        self.count += 1
        if index >= len(region.places):
            if region.complete:
                self.fail(
                    f"checkpoint: {region.label} is trying to save more tensors during "
                    f"recomputation than the {len(region.places)} of its first run. {_WAY_OUT}"
                )
            self.beyond = True
            return value
        place = region.places[index]()
        if place is not None:
            if region.compares and facts_of(value) != region.facts[index]:
                self.fail(difference(region, place, value))
            self.values[index] = without_history(value)
        if region.early_stop and self.count == len(region.places):
            raise Stop
        return value

    def call(self, op: Any, values: list[Any]) -> Any:
        """Make a call, unless all that is still missing are arguments of it: then it may stop."""
        missing = len(self.region.places) - self.count
        settings = current()
        if missing and settings.recording and settings.saved_hooks is self.hooks:
            tensors = tensors_in(values)
            if missing <= len(tensors) and isinstance(op, Op) and op.lane != OWN:
                if not any(tensor.special for tensor in tensors):
                    self.foresee(op, values, missing)
        return op.run(values)

    def foresee(self, op: Op, values: list[Any], missing: int) -> None:
        """Take what a call would save, if that is the rest; the last one raises Stop."""
        kept = inputs_to_keep(op, values)
        if kept is not None and len(kept) == missing:
            for tensor in kept:
                tensor.up_to_date()
                self.pack(tensor)

    def preserve(self, tensor: Any) -> None:
        """A tensor is about to be changed in place: what was saved of its memory is copied."""
        counter = tensor.counter()
        for index, value in list(self.values.items()):
            if isinstance(value, Tensor) and value.counter() is counter:
                self.values[index] = Tensor(backend_of(value.array).copy(value.array), AS_IS)

    def fail(self, message: str) -> None:
        """Stop at once; the error is raised where no function's `except` can take it."""
        self.failure = CheckpointError(message)
        raise Stop


_WAY_OUT = (
    "It must do the same each time: look for random numbers of other libraries, global state, and "
    "arguments it changes. debug=True lists the calls of both runs."
)


def _same(value: Any) -> Any:
    return value


def without_history(value: Any) -> Any:
    """What is kept of a recomputed tensor, so that the graph of the recomputation can go."""
    return value.shared() if isinstance(value, Tensor) and value.node is not None else value


def facts_of(value: Any) -> Any:
    """What must agree: shape, dtype and device; of what another hook packed, its type."""
    if not isinstance(value, Tensor):
        return (type(value).__name__,)
    array = value.array
    where = "cpu" if type(array) is NDARRAY else str(backend_of(array).device(array))
    return (tuple(array.shape), str(array.dtype), where)


def difference(region: Region, place: Place, value: Any) -> str:
    """In what a recomputed tensor differs, and which op had saved it."""
    before, now = region.facts[place.index], facts_of(value)
    names = ("shape", "dtype", "device") if len(before) == len(now) == 3 else ("type", "", "")
    parts = [f"{n} {b} became {a}" for n, b, a in zip(names, before, now) if b != a]
    return (
        "checkpoint: Recomputed values for the following tensors have different metadata than in "
        f"the first run: of {region.label}, saved tensor {place.index}{saver_of(place)}: "
        f"{', '.join(parts)}. {_WAY_OUT}"
    )


def saver_of(place: Place) -> str:
    """The op of the pass under way that saved a place, and what it was to it."""
    task = current_task()
    for node in () if task is None else list(task.remaining):
        if not isinstance(node, OpNode):
            continue
        saved = [(name, node.kept(i)) for i, name in enumerate(node.op.parameters)]
        results = node.result if isinstance(node.result, list) else [node.result]
        for name, value in [*saved, *(("result", result) for result in results)]:
            if isinstance(value, SavedTensor) and value.packed is place:
                return f", '{name}' of {node.op.name} ({node.name()}, {node.source()})"
    return ""


def run_recomputed(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    context_fn: Callable[[], tuple[Any, Any]],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
    preserve_rng_state: bool,
) -> Any:
    """The function's result, all that it saved dropped."""
    if determinism_check not in ("default", "none"):
        raise ValueError(
            "determinism_check should be one of 'default' and 'none', but got "
            f"{determinism_check!r}"
        )
    traces = _traces(debug, context_fn)
    first, again = context_fn() if traces is None else traces
    if not is_recording():
        return function(*args, **kwargs)
    refusal = current().hooks_refusal
    if refusal is not None:
        raise RuntimeError(refusal)
    kept = [keep(value) for value in args]
    kept_named = {name: keep(value) for name, value in kwargs.items()}

    def run() -> None:
        with again:
            function(
                *(restored(value) for value in kept),
                **{name: restored(value) for name, value in kept_named.items()},
            )

    forced = _early_stop.get()[-1]
    region = Region(
        run,
        label_of(function),
        determinism_check == "default",
        early_stop if forced is None else forced,
    )
    region.traces = traces
    region.surroundings = Surroundings(preserve_rng_state)
    return _first_run(region, first, function, args, kwargs)


def _first_run(
    region: Region, context: Any, function: Callable[..., Any], args: Any, kwargs: Any
) -> Any:
    hooks = {"saved_hooks": ((region.pack, region.unpack),), "hooks_refusal": None}
    answered = False
    with Changed(hooks), context:
        result = function(*args, **kwargs)
        answered = True
    if not answered:
        raise RuntimeError(
            "checkpoint: the forward context of context_fn suppressed an exception of "
            f"{region.label}, which therefore has no result"
        )
    region.complete = True
    region.surroundings.forget_unused()
    return result


def _traces(debug: bool, context_fn: Any) -> tuple[Trace, Trace] | None:
    """The logs of both runs, if they are wanted."""
    forced = _debug.get()[-1]
    if not (debug if forced is None else forced):
        return None
    if context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    return Trace("first run"), Trace("recomputation")


def label_of(function: Any) -> str:
    """A function or module in messages."""
    name = getattr(function, "__qualname__", None)
    return f"'{name or type(function).__qualname__}'"
