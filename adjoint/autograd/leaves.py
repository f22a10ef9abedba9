"""The gradients of leaves: kept aside while a pass runs, written when it has succeeded.

A pass that fails changes no `.grad`: what had to be written early, because a hook waits to see it,
is taken back (`early_writes`). All writing happens under one lock, and without it what may run
code of the user: he might call backward there.
"""

import threading
from collections import deque
from itertools import chain, repeat, starmap
from operator import call, iadd, setitem
from typing import Any, Final

from adjoint._base import after_fork, moments
from adjoint.autograd.early_writes import any_open, base_of, close, forget_all, note, take_back
from adjoint.autograd.graph_task import GraphTask
from adjoint.autograd.hooks import NodeHooks, run_accumulate_hooks, wrapped
from adjoint.autograd.node import AccumulateGrad, Node
from adjoint.autograd.provenance import INTERPRETED
from adjoint.autograd.reference_counts import is_alone
from adjoint.autograd.saved_tensors import before_change
from adjoint.call.context import current
from adjoint.tensors.core import (
    NDARRAY,
    NUMPY_BACKEND,
    TensorCore,
    VersionCounter,
    backend_of,
    counting,
    raw,
)
from adjoint.tensors.upper import upper

exhaust: Final[Any] = deque(maxlen=0).extend
set_attribute: Final[Any] = object.__setattr__
set_item: Final[Any] = setitem
call_function: Final[Any] = call
append: Final[Any] = list.append
add_in_place: Final[Any] = iadd
can_cast: Final[Any] = NUMPY_BACKEND.xp.can_cast


class _Locks:
    """The lock under which leaves are written, so that sums by several threads stay exact."""

    def __init__(self) -> None:
        self.accumulate: Any = threading.RLock()  # an addition may be the user's, and come back


_locks: Final[_Locks] = _Locks()


def _after_fork() -> None:
    _locks.accumulate = threading.RLock()
    forget_all()


after_fork(_after_fork)


def accumulate(task: GraphTask, node: Node, grad: Any, owned: bool) -> None:
    """Keep a leaf's gradient for the end of the pass; at once if someone waits to see it."""
    if grad is None or not isinstance(node, AccumulateGrad):
        return
    leaf = node.variable
    extras = leaf.extras
    post = None if extras is None else extras.post_accumulate
    hooks = node.hooks
    seen = task.tensors and (bool(current().modes) or is_of_class(grad))
    if not post and not seen and (hooks is None or not hooks.post):
        if leaf.needs_grad:
            task.leaves.append((node, grad, owned))
        return
    if leaf.needs_grad:  # or it was frozen after the call, and its hooks run all the same
        accumulate_now(task, leaf, grad, owned, seen, bool(post))
    if post:
        task.enter_user_code()
        run_accumulate_hooks(node, post, leaf)


def accumulate_now(
    task: GraphTask, leaf: TensorCore, grad: Any, owned: bool, seen: bool, post: bool
) -> None:
    """Write a gradient before the end of the pass, for a hook or a mode to see."""
    sums: Sums | None = None
    if not seen and may_run_code(leaf, grad, task.create_graph):
        sums = Sums()
        sums.add(leaf, grad, task.create_graph)
    with _locks.accumulate:
        if seen:
            write_openly(task, leaf, grad, owned, not post)
        elif sums is None and leaf.gradient is None and post and not any_open():
            leaf.gradient = first(leaf, raw(grad), owned)  # the one thing to write
        else:
            write_early(task, sums, leaf, grad, owned, not post)


def write_early(
    task: GraphTask,
    sums: "Sums | None",
    leaf: TensorCore,
    grad: Any,
    owned: bool,
    taken_back: bool,
) -> None:
    """Write a gradient before the end of the pass; one that is taken back if the pass fails."""
    writes = Writes()
    if taken_back or any_open():
        note(writes, task if taken_back else None, leaf, part_of(leaf, grad, task.create_graph))
    prepare(writes, sums, leaf, grad, owned, task.create_graph)
    writes.run()


def write_openly(
    task: GraphTask, leaf: TensorCore, grad: Any, owned: bool, taken_back: bool
) -> None:
    """The same in calls that modes and classes see, one after the other, as PyTorch makes them.

    They are the user's code, and yet the lock is held: what they add to the memory of a gradient
    must not meet what another thread adds.
    """
    given = wrapped(grad)
    writes = Writes()
    if taken_back or any_open():
        note(writes, task if taken_back else None, leaf, part_of(leaf, grad, task.create_graph))
        writes.run()
    old: Any = leaf.gradient
    layered = is_layered(leaf, grad)
    if old is None:
        owned = owned and not task.create_graph
        whole = layered and not (owned and is_of_class(given))
        leaf.gradient = given.clone() if whole else upper.handed(leaf, given, owned)
    elif layered or task.create_graph or not is_changed_in_place(old):
        leaf.gradient = old + given
    else:
        check_leaf(leaf, old, given)
        old.add_(given)


def retain(task: GraphTask, hooks: NodeHooks, grads: list[Any]) -> None:
    """Let the tensors that asked for it keep their gradients, which go if the pass fails."""
    for number, reference in list(hooks.retain.items()):
        tensor = reference()
        if tensor is None or grads[number] is None:
            continue
        writes = Writes()
        with _locks.accumulate:
            note(writes, task, tensor, grads[number])
            writes.run()
        tensor.keep_grad(grads[number])


def part_of(leaf: TensorCore, grad: Any, create_graph: bool) -> Any:
    """What is added to a gradient: a Tensor if that is to be one of its own, or an array."""
    return wrapped(grad) if create_graph or is_layered(leaf, grad) else raw(grad)


def prepare(
    writes: "Writes",
    sums: "Sums | None",
    leaf: TensorCore,
    grad: Any,
    owned: bool,
    create_graph: bool,
) -> None:
    """Find what setting or adding to `.grad` comes to; what can fail, fails here."""
    old = leaf.gradient
    if create_graph or is_layered(leaf, grad):
        writes.give(leaf, total_of(sums, leaf, old, grad, True))
        return
    array = raw(grad)
    if old is None:
        writes.give(leaf, first(leaf, array, owned))
        return
    check_leaf(leaf, old, array)
    if is_changed_in_place(old):
        before_change(old)
        counter = old.counter()
        counter.note()
        writes.count(counter)
        if type(old.array) is NDARRAY:
            writes.call((add_in_place, old.array, array))
        else:
            writes.add(old.array, array)
    else:
        tracing = current().tracing
        base, steps = base_of(old) if tracing is None else (old, ())
        shown = writes.shown(base, steps)  # by another leaf, which shares the gradient, or memory
        total = total_of(sums, leaf, old, array, False) if shown is None else shown + array
        if tracing is not None:  # who shares its memory sees it change
            writes.replace(old, total)
            writes.call((tracing.put, old, total))
            return
        writes.put(base, steps, total)
        counter = old.counter()
        counter.note()
        writes.count(counter)


def may_run_code(leaf: TensorCore, grad: Any, create_graph: bool) -> bool:
    """Whether adding to a gradient makes a call that somebody may watch, or hook into."""
    old = leaf.gradient
    if type(grad) is NDARRAY and not create_graph:  # most of all, which every pass asks for
        return old is not None and (old.special or type(old.array) is not NDARRAY)
    if create_graph or is_layered(leaf, grad):
        return True
    return old is not None and not is_changed_in_place(old)


class Sums:
    """Sums made before the lock is held; they count if the gradient is still the same then."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, Any, Any, Any]] = {}

    def add(self, leaf: TensorCore, grad: Any, create_graph: bool) -> None:
        """Make the sum for a leaf."""
        old = leaf.gradient
        create_graph = create_graph or is_layered(leaf, grad)
        array = None if old is None else old.array
        self.made[id(leaf)] = (old, array, grad, total_of(None, leaf, old, grad, create_graph))

    def take(self, leaf: TensorCore, old: TensorCore | None, grad: Any) -> Any:
        """The sum for a leaf; None if it or its gradient is another now."""
        found = self.made.pop(id(leaf), None)
        if found is None or found[0] is not old or raw(found[2]) is not raw(grad):
            return None
        return found[3] if old is None or found[1] is old.array else None


def total_of(
    sums: Sums | None, leaf: TensorCore, old: TensorCore | None, grad: Any, as_tensor: bool
) -> Any:
    """A tensor with a history, or the array that takes the place of the gradient's."""
    made = None if sums is None else sums.take(leaf, old, grad)
    if made is not None:
        return made
    if as_tensor or old is None:
        return recorded(leaf, grad)
    array = raw(grad)
    check_leaf(leaf, old, array)
    return old.array + array


def is_changed_in_place(grad: TensorCore) -> bool:
    """Whether what comes is added to the memory of a gradient; or else it gets another array."""
    return not grad.special and bool(backend_of(grad.array).mutable)


def first(leaf: TensorCore, array: Any, owned: bool) -> TensorCore:
    """The gradient of a leaf that has none: the array itself if nobody else holds it."""
    if not owned or not (same_layout(array, leaf.array) or current().any_layout):
        array = _in_layout_of(leaf.array, backend_of(array).copy(array))
    return upper.tensor(array)


def recorded(leaf: TensorCore, grad: Any) -> Any:
    """The gradient of a leaf with a history of its own."""
    given = wrapped(grad)
    old: Any = leaf.gradient
    return _recorded_copy(leaf, given) if old is None else old + given


def is_of_class(grad: Any) -> bool:
    """Whether a gradient is of a class that answers calls on its instances."""
    layer = grad.layer if isinstance(grad, TensorCore) else None
    return layer is not None and bool(layer.wraps) and not layer.sparse


def is_layered(leaf: TensorCore, grad: Any) -> bool:
    """Whether a gradient, or the one before, takes part in a transform; then its leaf must, too."""
    if not isinstance(grad, TensorCore) or grad.layer is None:
        return leaf.gradient is not None and leaf.gradient.layer is not None
    if grad.layer.level.fades:
        return True
    if leaf.layer is None or leaf.layer.level.number < grad.layer.level.number:
        raise RuntimeError(
            f"backward inside {grad.layer.level.opened_at()} has reached a leaf of shape "
            f"{tuple(leaf.array.shape)} from outside, whose .grad can't hold what differs from "
            "one element of a batch, or direction, to the next. Use func.grad inside, or call "
            "backward outside."
        )
    return True


def _recorded_copy(leaf: TensorCore, grad: Any) -> Any:
    """A copy of a gradient, laid out as the leaf is, that leads back to the gradient."""
    if leaf.layer is not None or grad.layer is not None:
        return grad.clone()
    array = grad.array
    blank = backend_of(array).xp.empty(array.shape, array.dtype)
    copy: Any = upper.tensor(_in_layout_of(leaf.array, blank))
    return copy.copy_(grad)


def same_layout(array: Any, like: Any) -> bool:
    """Whether two arrays of one shape lie in memory in the same way."""
    if type(array) is NDARRAY:
        return bool(array.strides == like.strides)
    return bool(backend_of(array).same_layout(array, like))


def _in_layout_of(like: Any, array: Any) -> Any:
    """The same values with the strides of another array, if that is dense."""
    if type(like) is not NDARRAY or like.strides == array.strides:
        return array
    strides = like.strides
    order = sorted(range(like.ndim), key=lambda axis: -strides[axis])
    if not like.transpose(order).flags.c_contiguous:
        return array
    back = sorted(range(like.ndim), key=lambda place: order[place])
    return array.transpose(order).copy(order="C").transpose(back)


def check_leaf(leaf: TensorCore, old: TensorCore, grad: Any) -> None:
    """Refuse a gradient that can't be added to the one there is, before any is written."""
    total = old.array
    array = grad.array if isinstance(grad, TensorCore) else grad
    if total.shape != array.shape:
        raise RuntimeError(
            f"a leaf of shape {tuple(leaf.array.shape)} has a .grad of shape "
            f"{tuple(total.shape)}, to which this one can't be added; was its data replaced? "
            "Set .grad to None before backward."
        )
    if type(total) is not NDARRAY:
        return
    if total.dtype is not array.dtype and not can_cast(array.dtype, total.dtype, "same_kind"):
        raise _unwritable(leaf, f"is of {total.dtype}, and {array.dtype} can't be cast to that")
    flags = total.flags
    if not flags.writeable:
        raise _unwritable(leaf, "lies in memory that is read-only")
    if flags.c_contiguous:
        return
    for size, stride in zip(total.shape, total.strides):
        if stride == 0 and size > 1:
            raise _unwritable(leaf, "has more than one element in a single memory location")


def _unwritable(leaf: TensorCore, reason: str) -> RuntimeError:
    return RuntimeError(
        f"the .grad of a leaf of shape {tuple(leaf.array.shape)} {reason}, so this one can't be "
        "added to it. Set .grad to None before backward, or to its clone()."
    )


class Writes:
    """What is to be written when a pass has succeeded: found first, then written all at once."""

    def __init__(self) -> None:
        self.leaves: list[TensorCore] = []  # which get these
        self.gradients: list[TensorCore | None] = []
        self.succeeds: GraphTask | None = None  # the pass that has succeeded with this
        self.attributes: list[tuple[Any, str, Any]] | None = None  # whose, of which name, is what
        self.calls: list[Any] | None = None  # which functions are called before, with what
        self.replaced: dict[int, Any] | None = None  # arrays among these, by their tensors' ids
        self.counters: list[VersionCounter] | None = None  # interpreted ones, which count a change
        self.fallible: list[tuple[Any, Any]] | None = None  # sums that may fail, or run bytecode

    def give(self, leaf: TensorCore, gradient: TensorCore | None) -> None:
        """A tensor gets another gradient, or none."""
        self.leaves.append(leaf)
        self.gradients.append(gradient)

    def count(self, counter: VersionCounter) -> None:
        """A change is counted."""
        if not INTERPRETED:
            self.call((VersionCounter.count, counter))
        elif self.counters is None:
            self.counters = [counter]
        else:
            self.counters.append(counter)

    def add(self, total: Any, part: Any) -> None:
        """Something is added to an array of another library than NumPy."""
        if self.fallible is None:
            self.fallible = []
        self.fallible.append((total, part))

    def shown(self, base: TensorCore, steps: tuple[Any, ...]) -> Any:
        """What views of an array show, or None of all of one that is not among these."""
        array = None if self.replaced is None else self.replaced.get(id(base))
        return (
            upper.sharing.shown(base.array if array is None else array, steps) if steps else array
        )

    def put(self, base: TensorCore, steps: tuple[Any, ...], array: Any) -> None:
        """A tensor gets another array, or that part of it: its views find what they show."""
        if steps:
            whole = None if self.replaced is None else self.replaced.get(id(base))
            whole = base.array if whole is None else whole
            array = upper.sharing.scattered(whole, steps, array)
        self.replace(base, array)
        self.set(base, "array", array)
        self.set(base, "known", None)

    def replace(self, tensor: TensorCore, array: Any) -> None:
        """Know what takes the place of a tensor's array."""
        if self.replaced is None:
            self.replaced = {}
        self.replaced[id(tensor)] = array

    def set(self, owner: Any, name: str, value: Any) -> None:
        """An attribute becomes what is given."""
        if self.attributes is None:
            self.attributes = []
        self.attributes.append((owner, name, value))

    def restore(self, array: Any, values: Any) -> None:
        """An array gets these values."""
        self.call((set_item, array, ..., values))

    def note(self, log: list[Any], entry: Any) -> None:
        """Something is appended to a list."""
        self.call((append, log, entry))

    def call(self, function_and_arguments: tuple[Any, ...]) -> None:
        """A function is called, which runs no bytecode."""
        if self.calls is None:
            self.calls = []
        self.calls.append(function_and_arguments)

    def run(self) -> None:
        """Write: one call that runs no bytecode, between which a signal could be heard."""
        if self.fallible is not None:
            self.run_fallible(self.fallible)
            return
        if not INTERPRETED and self.calls is None and self.attributes is None:
            self.run_native()
            return
        if self.succeeds is not None:
            self.set(self.succeeds, "committed", True)
        gradients = map(set_attribute, self.leaves, repeat("gradient"), self.gradients)
        attributes = starmap(set_attribute, self.attributes or ())
        calls = starmap(call_function, self.calls or ())
        if self.counters is None:
            exhaust(chain(calls, gradients, attributes))
        else:
            with moments.lock:  # from reading the counts on, so that no change of another is lost
                exhaust(chain(calls, gradients, attributes, counting(self.counters)))

    def run_native(self) -> None:
        """The same for most passes, in fewer instructions: compiled, it runs no bytecode."""
        for leaf, gradient in zip(self.leaves, self.gradients):
            leaf.gradient = gradient
        if self.succeeds is not None:
            self.succeeds.committed = True

    def run_fallible(self, sums: list[tuple[Any, Any]]) -> None:
        """Make the sums first that may fail, and take them back if anything does."""
        self.fallible = None
        before: list[tuple[Any, Any]] = []
        done: list[bool] = []
        self.note(done, True)
        try:
            while sums:
                total, part = sums.pop()
                before.append((total, backend_of(total).copy(total)))
                total += part
            self.run()
        except BaseException:
            while before and not done:
                total, values = before.pop()
                total[...] = values
            raise


def commit(task: GraphTask) -> None:
    """The pass has succeeded: write the gradients of all leaves, or of none if one can't be."""
    leaves = task.leaves
    task.current = None
    if not leaves and task.parent is None:  # hooks have seen all there was to write
        task.committed = True
        return
    sums: Sums | None = None
    for node, grad, _ in leaves:
        if may_run_code(node.variable, grad, task.create_graph):
            if sums is None:
                sums = Sums()
            sums.add(node.variable, grad, task.create_graph)
    grad = None  # held once more, it would be copied
    writes = Writes()
    late: list[tuple[AccumulateGrad, Any, bool]] = []
    with _locks.accumulate:
        noted = task.parent is not None or any_open()
        while leaves:
            node, grad, owned = leaves.pop()
            leaf = node.variable
            if node.spec is not leaf.known:
                late.append((node, grad, owned))  # its leaf may have changed, and be here twice
                continue
            if noted:
                note(writes, task.parent, leaf, part_of(leaf, grad, task.create_graph))
            if not owned and leaf.gradient is None:
                owned = is_alone(grad)
            prepare(writes, sums, leaf, grad, owned, task.create_graph)
        if late:
            prepare_late(task, writes, sums, late)
        if task.parent is not None:
            task.parent.journal.update(task.journal)
        writes.succeeds = task
        writes.run()


def prepare_late(
    task: GraphTask,
    writes: Writes,
    sums: Sums | None,
    late: list[tuple[AccumulateGrad, Any, bool]],
) -> None:
    """The same for leaves that may be set already: what comes is then added to that."""
    places = {id(leaf): i for i, leaf in enumerate(writes.leaves)}
    while late:
        node, grad, owned = late.pop()
        leaf = node.variable
        if task.parent is not None or any_open():
            note(writes, task.parent, leaf, part_of(leaf, grad, task.create_graph))
        place = places.get(id(leaf))
        if place is not None:
            new: Any = writes.gradients[place]
            check_leaf(leaf, new, grad)
            recording = task.create_graph or new.layer is not None or is_layered(leaf, grad)
            both = new + wrapped(grad) if recording else upper.tensor(new.array + raw(grad))
            writes.gradients[place] = both
            continue
        if not owned and leaf.gradient is None:
            owned = is_alone(grad)
        place = len(writes.leaves)
        prepare(writes, sums, leaf, grad, owned, task.create_graph)
        if place < len(writes.leaves):  # or it had one, to which this is added
            places[id(leaf)] = place


def roll_back(task: GraphTask) -> None:
    """The pass has failed: take back what was written early."""
    if not task.journal:
        return
    writes = Writes()
    with _locks.accumulate:
        take_back(writes, task)
        writes.run()


def end_early_writes(task: GraphTask) -> None:
    """The pass has ended, and what it wrote early is settled: the outermost forgets it."""
    if task.parent is None or not task.committed:
        with _locks.accumulate:
            close(task)
    task.journal = {}
