"""The backward graph as users and tools see it, under PyTorch's names where it has them."""

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from adjoint.autograd import alive
from adjoint.autograd.grad_mode import ContextDecorator
from adjoint.autograd.graph_task import GraphTask, current_task, queue_callback as queue_callback
from adjoint.autograd.hooks import (
    ACCUMULATE,
    NODE_FIRST,
    POST,
    PRE,
    TENSOR,
    Hook,
    HookContext as HookContext,
    RemovableHandle,
    ask,
    function_of,
    name_of,
    traceable as traceable,
)
from adjoint.autograd.node import AccumulateGrad, GradientEdge, Node, edge_node
from adjoint.autograd.provenance import (
    Source as Source,
    is_provenance_enabled as is_provenance_enabled,
    set_provenance_enabled as set_provenance_enabled,
)
from adjoint.call.context import Changed, Scope, Settings, current, replaced
from adjoint.tensors.core import VersionCounter
from adjoint.tensors.tensor import Tensor

__all__ = [
    "GradientEdge",
    "HookContext",
    "HookRecord",
    "MutationContext",
    "Node",
    "Source",
    "allow_mutation_on_saved_tensors",
    "current_node",
    "current_task_id",
    "disable_saved_tensors_hooks",
    "execution_order",
    "get_gradient_edge",
    "hooks",
    "increment_version",
    "is_checkpoint_valid",
    "is_provenance_enabled",
    "node_hooks",
    "queue_callback",
    "register_multi_grad_hook",
    "remove_hooks",
    "save_on_cpu",
    "saved_tensors_hooks",
    "set_provenance_enabled",
    "set_warn_on_accumulate_grad_stream_mismatch",
    "traceable",
    "will_run",
]


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place where a tensor's gradient arrives; of a leaf, its AccumulateGrad."""
    tracing = current().tracing
    if tracing is not None:
        tracing.lift_all([tensor])
    tensor.up_to_date()
    node = edge_node(tensor)
    if node is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients; call requires_grad_() on it first"
        )
    return GradientEdge(node, tensor.output_number)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell autograd of an in-place change it could not see, of one tensor or of several."""
    several = (tensor,) if isinstance(tensor, Tensor) else tensor
    if not isinstance(several, Iterable):
        raise RuntimeError(
            f"increment_version expects a Tensor or several, got {type(tensor).__name__}"
        )
    changed = list(several)
    for i, element in enumerate(changed):
        if not isinstance(element, Tensor):
            raise RuntimeError(
                f"increment_version expects each element to be a Tensor, but element {i} is a "
                f"{type(element).__name__}"
            )
    for element in changed:
        if not element.inference:  # what can't be saved need not be watched
            element.counter().count()


# ---- hooks on saving ----


class saved_tensors_hooks(Scope):
    """Inside, each tensor an op saves is given to pack_hook, and asked back from unpack_hook.

    `unpack_hook(pack_hook(x))` must equal x in shape, dtype and device. Inside another such region,
    the tensors that pack_hook returns, alone or in tuples, lists and dicts, are packed by that too.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("saved_hooks",)

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        if outer.hooks_refusal is not None:
            raise RuntimeError(outer.hooks_refusal)
        pairs = (*outer.saved_hooks, (self.pack_hook, self.unpack_hook))
        return replaced(outer, {"saved_hooks": pairs})


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors wait for backward in the memory of the CPU.

    The copies are done when this returns, whatever `pin_memory` says; `device_type` is there for
    PyTorch's signature, because a tensor knows the device it goes back to.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(_to_cpu, _from_cpu)
        self.pin_memory = pin_memory
        self.device_type = device_type


@traceable
def _to_cpu(tensor: Any) -> tuple[Any, Tensor]:
    return tensor.device, tensor.to("cpu")


@traceable
def _from_cpu(saved: tuple[Any, Any]) -> Tensor:
    where, tensor = saved
    back: Tensor = tensor.to(where)
    return back


class disable_saved_tensors_hooks(ContextDecorator, Changed):
    """Inside, hooks on saving are refused with this message; if some are active, at once."""

    def __init__(self, error_message: str) -> None:
        super().__init__({"hooks_refusal": error_message})

    def clone(self) -> "disable_saved_tensors_hooks":
        """See ContextDecorator."""
        return disable_saved_tensors_hooks(self.values["hooks_refusal"])

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        if outer.saved_hooks:
            raise RuntimeError(self.values["hooks_refusal"])
        return super()._inside(outer)


class _Memory:
    """The handles of all saved tensors on one piece of memory; it lives as long as they do."""

    def __init__(self, counter: VersionCounter) -> None:
        self.counter = counter  # its id names the memory while this lives
        self.handles: weakref.WeakSet[_Handle] = weakref.WeakSet()


class _Handle:
    """What a node keeps in place of a tensor."""

    def __init__(self, key: tuple[int, int], memory: _Memory) -> None:
        self.key = key
        self.memory = memory


class MutationContext:
    """The tensors saved in one `allow_mutation_on_saved_tensors`: as they were, or their clones."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all tensors; what was saved here can't be used for backward any more.

        By new tables: to empty the old ones would call back for each tensor, and an interrupt that
        is heard in such a callback is lost.
        """
        self.original: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Handle, Any] = weakref.WeakKeyDictionary()
        self.handles: weakref.WeakValueDictionary[tuple[int, int], _Handle] = (
            weakref.WeakValueDictionary()
        )
        self.memories: weakref.WeakValueDictionary[int, _Memory] = weakref.WeakValueDictionary()

    @traceable
    def pack(self, tensor: Tensor) -> _Handle:
        """Take a tensor; the same one in the same version only once."""
        counter = tensor.counter()
        key = (id(tensor), counter.value)
        handle = self.handles.get(key)
        if handle is None:
            memory = self.memories.get(id(counter))
            if memory is None:
                memory = self.memories[id(counter)] = _Memory(counter)
            handle = self.handles[key] = _Handle(key, memory)
            memory.handles.add(handle)
            self.original[handle] = tensor
        return handle

    @traceable
    def unpack(self, handle: _Handle) -> Tensor:
        """Give a tensor back as it was when it was saved."""
        found: Tensor | None = self.cloned.get(handle)
        if found is None:
            found = self.original.get(handle)
        if found is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in "
                "which the graph was recorded; move the backward into it"
            )
        return found

    def protect(self, tensor: Tensor) -> None:
        """Clone whatever was saved on the memory of a tensor, which is about to change."""
        counter = None if tensor.extras is None else tensor.extras.counter
        memory = self.memories.get(id(counter))
        if memory is None:
            return
        for handle in list(memory.handles):
            original = self.original.pop(handle, None)
            if original is not None:
                self.cloned[handle] = original.detach().clone()
                self.handles.pop(handle.key, None)


class allow_mutation_on_saved_tensors(ContextDecorator, Scope):
    """Inside, saved tensors may be changed in place: they are cloned just before.

    Backward must run inside too. Such regions nest, and belong to the context that enters them.
    """

    def __init__(self) -> None:
        self.context = self._shown = MutationContext()
        self._after = self.context.clear

    def clone(self) -> "allow_mutation_on_saved_tensors":
        """See ContextDecorator."""
        return allow_mutation_on_saved_tensors()

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("saved_hooks", "guards")

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        if outer.hooks_refusal is not None:
            raise RuntimeError(outer.hooks_refusal)
        context = self.context
        pairs = (*outer.saved_hooks, (context.pack, context.unpack))
        return replaced(outer, {"saved_hooks": pairs, "guards": (*outer.guards, context.protect)})


# ---- hooks over many nodes or tensors ----


class node_hooks(Scope):
    """Inside, each node that is made gets these hooks, which are given the node as well.

    `pre(node, grad_outputs)` is called before it runs, `post(node, grad_inputs, grad_outputs)`
    after it ran; they may answer as hooks on the node itself may.
    """

    def __init__(self, pre: Any = None, post: Any = None, *, name: str | None = None) -> None:
        for label, hook in (("pre", pre), ("post", post)):
            if hook is not None and not callable(hook):
                raise TypeError(f"node_hooks: {label} must be callable, got {type(hook).__name__}")
        if pre is None and post is None:
            raise TypeError("node_hooks needs a pre hook, a post hook, or both")
        self.pair = tuple(
            None if hook is None else Hook(hook, name, False, NODE_FIRST) for hook in (pre, post)
        )

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("node_hooks",)

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        return replaced(outer, {"node_hooks": (*outer.node_hooks, self.pair)})


class _MultiHandle(RemovableHandle):
    """Takes the hooks on several tensors away together."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state


class _Arrivals:
    """The gradients of several tensors that one pass has brought so far."""

    def __init__(self, length: int, expected: int) -> None:
        self.grads: list[Any] = [None] * length
        self.last = expected - 1
        self.counter = itertools.count()  # counts exactly, also where threads meet


class _MultiGradHook:
    """A hook on several tensors; what it has seen is kept by the pass, and goes with it."""

    def __init__(self, tensors: Sequence[Tensor], function: Callable[[Any], object]) -> None:
        self.function = function
        # Weak: hooks hang at the nodes. A leaf's accumulator is looked up, it may be made anew.
        self.places = [weakref.ref(t if t.is_leaf else t.grad_fn) for t in tensors]
        self.__qualname__ = name_of(function)

    def is_expected(self, task: GraphTask, place: Any) -> bool:
        """Whether the gradient of a tensor is computed in a pass."""
        target = place()
        node = edge_node(target) if isinstance(target, Tensor) else target
        return node is not None and _is_computed(task, node)

    def arrived(self, index: int, grad: Any) -> None:
        """Mode "all": the gradient of one tensor is there; with the last, call the function."""
        task = current_task()
        assert task is not None
        arrivals = task.notes.get(self)
        if arrivals is None:
            expected = sum(self.is_expected(task, place) for place in self.places)
            arrivals = task.notes.setdefault(self, _Arrivals(len(self.places), expected))
        arrivals.grads[index] = grad
        if next(arrivals.counter) == arrivals.last:
            ask(self.function, (arrivals.grads,))

    def first(self, index: int, grad: Any) -> None:
        """Mode "any": call the function, unless another gradient was there before."""
        task = current_task()
        assert task is not None
        mine = object()
        if task.notes.setdefault(self, mine) is mine:
            ask(self.function, (grad,))


class _Share:
    """The part of a hook on several tensors that hangs at one of them."""

    def __init__(self, method: Callable[[int, Any], None], index: int, name: str) -> None:
        self.method = method
        self.index = index
        self.__qualname__ = name

    _adjoint_traceable = True  # it only counts; the function it calls is asked by itself

    def __call__(self, grad: Any) -> None:
        self.method(self.index, grad)


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], object], *, mode: str = "all"
) -> RemovableHandle:
    """Call fn once a pass with the gradients of several tensors.

    Mode "all": with a list of them, None for those that the pass does not compute, when the last
    of the others is there. Mode "any": with the first that is there.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    several = list(tensors)
    for i, tensor in enumerate(several):
        if not isinstance(tensor, Tensor) or not tensor.requires_grad:
            raise RuntimeError(
                f"register_multi_grad_hook: cannot register a hook on element {i}, which is no "
                "Tensor, or one that doesn't require gradient"
            )
    shared = _MultiGradHook(several, fn)
    method = shared.arrived if mode == "all" else shared.first
    shares = [_Share(method, i, shared.__qualname__) for i in range(len(several))]
    return _MultiHandle(tuple(t.register_hook(s) for t, s in zip(several, shares)))


# ---- listing and removing hooks ----


@dataclass(frozen=True, slots=True)
class HookRecord:
    """A hook that is registered somewhere."""

    id: int
    kind: str
    name: str
    function: Any
    owner: Any
    output_nr: int
    table: Any = field(repr=False)  # a weak reference

    def remove(self) -> None:
        """Remove the hook; any number of times."""
        table = self.table()
        if table is not None:
            table.pop(self.id, None)


def _tables_of(target: Any) -> Iterator[tuple[Any, Any, str, int]]:
    """The tables of one object: with their owner, kind and output number."""
    if isinstance(target, Tensor):
        target.up_to_date()
        node, extras = target.node, target.extras
        if node is not None:
            known = {} if node.hooks is None else node.hooks.tensor
            yield known.get(target.output_number), node, TENSOR, target.output_number
        elif extras is not None:
            yield extras.hooks, target, TENSOR, 0
            yield extras.post_accumulate, target, ACCUMULATE, 0
    elif isinstance(target, Node):
        if target.hooks is not None:
            owner = target.variable if isinstance(target, AccumulateGrad) else target
            for number, table in target.hooks.tensor.items():
                yield table, owner, TENSOR, number
            yield target.hooks.pre, target, PRE, 0
            yield target.hooks.post, target, POST, 0
    elif hasattr(target, "hook_tables"):  # a module, or whatever else has hooks of its own
        for kind, table in target.hook_tables():
            yield table, target, kind, 0
    else:
        raise TypeError(
            f"hooks belong to a Tensor, a Node or a Module, not to a {type(target).__name__}"
        )


def hooks(target: Any = None) -> list[HookRecord]:
    """The hooks of a tensor, a node or a module; without one, of the whole process.

    To register a hook costs nothing more for this: all that the collector knows is looked through.
    """
    found: dict[int, tuple[Any, Any, str, int]] = {}  # a leaf and its accumulator share a table
    for owner in _owners() if target is None else [target]:
        for entry in _tables_of(owner):
            if entry[0]:
                found.setdefault(id(entry[0]), entry)
    return [
        HookRecord(key, kind, name_of(hook), function_of(hook), owner, number, weakref.ref(table))
        for table, owner, kind, number in found.values()
        for key, hook in list(table.items())
    ]


def _owners() -> Iterator[Any]:
    """Everything in the process that may have hooks."""
    found = alive.kinds()  # classes: a stand-in's `__class__` may be code of the user
    own = [kind for kind in found if issubclass(kind, (Node, Tensor))]
    for thing in alive.of_kinds(own):
        if isinstance(thing, Node):
            if thing.hooks is not None:
                yield thing
        elif thing.node is None and thing.extras is not None:
            yield thing
    yield from alive.of_kinds(kind for kind in found if hasattr(kind, "hook_tables"))


def remove_hooks(target: Any = None) -> int:
    """Remove the hooks that `hooks` lists; how many there were."""
    found = hooks(target)
    for record in found:
        record.remove()
    return len(found)


# ---- inside a pass ----


def _pass(asked: str) -> GraphTask:
    task = current_task()
    if task is None:
        raise RuntimeError(f"{asked} should only be called during the backward pass, in a hook")
    return task


def _is_computed(task: GraphTask, node: Node) -> bool:
    """Whether a pass brings a gradient to a node."""
    return node in task.remaining and (task.needed is None or node in task.reached)


def current_node() -> Node | None:
    """The node that the pass under way is at; None outside of one."""
    task = current_task()
    return None if task is None or task.current is None else task.current.shown()


def current_task_id() -> int:
    """The number of the pass under way, each having its own; -1 outside of one."""
    task = current_task()
    return -1 if task is None else task.id


def will_run(node: Node) -> bool:
    """Whether the pass under way has run a node, or will."""
    task = _pass("will_run")
    if not isinstance(node, Node):
        raise TypeError(f"will_run: expected a Node, got {type(node).__name__}")
    if not _is_computed(task, node):
        return False
    if isinstance(node, AccumulateGrad) and node in task.captures:
        raise RuntimeError(
            "will_run: the gradient of this leaf is computed, but not accumulated: you are "
            "currently running autograd.grad() with respect to it"
        )
    return True


def execution_order() -> list[Node]:
    """The nodes of the pass under way, in the order they run: those that have run as well."""
    task = _pass("execution_order")
    if task.workers is not None:
        raise RuntimeError("execution_order: several threads work on this pass, in no one order")
    left = _dependencies(task)
    ready: list[tuple[int, int, Node]] = []
    order: list[Node] = []
    pushed = itertools.count()

    def arrive(node: Node | None) -> None:
        if node is not None and _is_computed(task, node):
            left[node] -= 1
            if not left[node]:
                heappush(ready, (-node.sequence_number, next(pushed), node))

    for root in task.roots:
        arrive(root)
    while ready:
        node = heappop(ready)[2]
        order.append(node)
        if task.needed is None or node in task.needed:
            for following, _ in node.edges():
                arrive(following)
    return order


def _dependencies(task: GraphTask) -> dict[Node, int]:
    """How many gradients each node of a pass received or will receive."""
    counts: dict[Node, int] = {}
    stack: list[Node | None] = list(task.roots)
    while stack:
        node = stack.pop()
        if node is None:
            continue
        counts[node] = counts.get(node, 0) + 1
        if counts[node] == 1:
            stack.extend(following for following, _ in node.edges())
    return counts


def is_checkpoint_valid() -> bool:
    """Whether reentrant checkpoints work here: not in a pass that runs only a part of its graph."""
    task = current_task()
    while task is not None:
        if task.needed is not None:
            return False
        task = task.parent
    return True


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether to warn of a gradient made on another stream than its leaf's.

    There is nothing to warn of: all backward work of a device is done on one stream.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"expected a bool, got {type(enabled).__name__}")
