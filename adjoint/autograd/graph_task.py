"""One backward pass: what it knows, and how it is found from inside."""

import contextvars
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from adjoint.call.context import change_grad_enabled

if TYPE_CHECKING:
    from adjoint.autograd.early_writes import Log
    from adjoint.autograd.node import AccumulateGrad, Node


next_id: Final[Any] = itertools.count().__next__  # in one step, so that no two threads get the same


class Halt:
    """Whether a pass on a thread of its own is to stop, and so all within it."""

    def __init__(self, outer: "Halt | None") -> None:
        self.inner: Halt | None = None
        self.asked = False
        if outer is not None:
            outer.inner = self
            self.asked = outer.asked  # read last: who asks sets it first

    def ask(self) -> None:
        """Stop the pass, and those on further threads within it."""
        halt: Halt | None = self
        while halt is not None:
            halt.asked = True
            halt = halt.inner


# What a pass that nobody restricts asks for; never changed, a pass gets its own where it needs one.
_NONE: "Final[set[Node]]" = set()
_NOTHING: "Final[dict[Node, list[tuple[int, int]]]]" = {}
_NO_GRADIENTS: Final[list[Any]] = []


class GraphTask:
    """One backward pass: what waits, what is ready, what was asked for."""

    def __init__(
        self,
        roots: "list[Node]",
        keep_graph: bool,
        create_graph: bool,
        parent: "GraphTask | None",
    ) -> None:
        self.id: int = next_id()
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.tensors = create_graph  # gradients are Tensors throughout, not arrays
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.remaining: dict[Node, int] = {}
        self.waiting: dict[Node, Any] = {}
        self.owned: set[Node] = set()  # whose waiting gradient nobody else holds
        self.ready: list[tuple[int, int, Node]] = []  # a heap: newest first, then first come
        self.pushed = 0
        self.hot: Node | None = None  # ready too, newer than any in the queue; its gradient:
        self.hot_grad: Any = None
        self.needed: set[Node] | None = None  # None: every node of the graph
        self.reached: set[Node] = _NONE  # needed, or only captured
        self.captures: dict[Node, list[tuple[int, int]]] = _NOTHING
        self.captured: list[Any] = _NO_GRADIENTS
        self.leaves: list[tuple[AccumulateGrad, Any, bool]] = []
        self.journal: dict[int, Log] = {}  # what was written early, by the id of the tensor
        self.committed = False  # the leaves are written
        self.callbacks: list[Callable[[], object]] = []
        self.roots = roots
        self.notes: dict[Any, Any] = {}  # what hooks over several tensors keep
        self.logged = False  # each step is written to the log
        self.observers: tuple[Any, ...] = ()  # told before and after each step
        self.anomaly: Any = None  # looks at what each step answers
        self.current: Node | None = None
        self.short = not create_graph  # nobody sees the steps, and one thread makes them all
        self.in_user_code = False
        self.halt: Halt | None = None if parent is None else parent.halt
        self.workers: Any = None  # Workers, if devices with threads of their own take part

    def enter_user_code(self) -> None:
        """Hooks and user functions run with grad mode as in PyTorch: on if a graph is made."""
        if not self.in_user_code:
            self.in_user_code = True
            change_grad_enabled(self.create_graph)


class Presence:
    """What a context knows of a pass; once that has ended nothing, in copies of the context too."""

    def __init__(self, task: GraphTask) -> None:
        self.task: GraphTask | None = task


under_way: Final[contextvars.ContextVar[Presence | None]] = contextvars.ContextVar(
    "adjoint_graph_task", default=None
)


def current_task() -> GraphTask | None:
    """The pass under way in this context."""
    presence = under_way.get()
    return None if presence is None else presence.task


def queue_callback(callback: Callable[[], object]) -> None:
    """Call back when the pass under way ends."""
    task = current_task()
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks.append(callback)
