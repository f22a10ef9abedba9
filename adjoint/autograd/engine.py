"""The backward engine: in which order nodes run, and what happens around each.

`evaluate` is the contract of every hook. The order: a node runs when every gradient that
reaches it in this pass is there; among ready nodes the newest runs first, and leaves before all.
Gradients of leaves are kept aside and written when the pass has succeeded, so a pass that fails
changes no `.grad`.
"""

import contextlib
import contextvars
import logging
from heapq import heappop, heappush
from typing import Any, Final

from adjoint.autograd.daemons import Daemon, Halted
from adjoint.autograd.graph_task import (
    GraphTask,
    Halt,
    Presence,
    current_task,
    under_way,
)
from adjoint.autograd.hooks import (
    NodeHooks,
    add_note,
    ask,
    blamed,
    through_post_hooks,
    through_pre_hooks,
    through_tensor_hooks,
)
from adjoint.autograd.leaves import accumulate, commit, end_early_writes, retain, roll_back
from adjoint.autograd.node import ALIGNED, LEAF, USER, WHOLE, AccumulateGrad, Node, conform
from adjoint.autograd.reach import count_dependencies, restrict
from adjoint.autograd.reference_counts import is_first_alone, is_first_tensor_alone
from adjoint.backends.error_state import IGNORE, STATE
from adjoint.call.context import current, is_recording, set_current
from adjoint.tensors.core import NDARRAY, TensorCore, backend_of, raw
from adjoint.tensors.upper import upper

push: Final[Any] = heappush
pop: Final[Any] = heappop
error_state: Final[Any] = STATE.get
set_error_state: Final[Any] = STATE.set
log: Final[Any] = logging.getLogger("adjoint.autograd.graph")
DEBUG: Final = logging.DEBUG
FEW_EDGES: Final = 8  # are compared one by one
NESTED_PER_THREAD: Final = 12  # passes within passes, before the next goes to a fresh stack


# ---- one step ----


def evaluate(task: GraphTask, node: Node, grads: list[Any]) -> None:
    """One backward step; this order is the contract of every hook (docs/notes/engine.md)."""
    runs = task.needed is None or node in task.needed
    captured = bool(task.captures) and node in task.captures
    if runs and captured:
        capture(task, node, grads)  # as in PyTorch: one that runs before its hooks, others after
    if node.hooks is not None:
        grads = run_tensor_hooks(task, node, node.hooks, grads)
    if not runs:
        capture(task, node, grads)
        return
    if node.hooks is not None:
        grads = run_pre_hooks(task, node, node.hooks, grads)
    if not task.tensors:
        grads = [raw(g) for g in grads]  # the arrays alone: a Tensor that hooks let go is gone
    awaited = node.hooks is not None and bool(node.hooks.post)
    if not awaited and not all_none(grads) and takes_short_form(task, node, grads):
        step(task, node, grads[0] if node.outputs is None else grads)
        return
    results = answers_of(task, node, grads)
    if node.hooks is not None:  # those registered while it ran see no gradients of outputs
        results = run_post_hooks(task, node, node.hooks, results, grads if awaited else [])
    if not task.keep_graph:
        node.release()
    deliver_all(task, node, results, grads)


def takes_short_form(task: GraphTask, node: Node, grad: Any) -> bool:
    """Whether nothing is left between a node's rules and where their answers go; see `step`."""
    return task.short and grad is not None and LEAF < node.lane < USER


def step(task: GraphTask, node: Node, grad: Any) -> None:
    """The short form of `evaluate`: rules on raw gradients, and their answers sent on.

    Most steps of most passes take it. Gradients stay arrays, no list of them is made
    in the lanes that go edge by edge, and those that must be repaired are so on delivery.
    """
    if node.lane == WHOLE:
        step_whole(task, node, grad)
        return
    needed = task.needed
    spec = node.spec
    aligned = node.lane == ALIGNED and spec is not None and not spec.single
    following = node.next0
    if following is not None and (needed is None or following in task.reached):
        exact = aligned and following.spec is spec
        deliver(task, following, node.nr0, node.vjp(0, grad), grad, exact)
    following = node.next1
    if following is not None and (needed is None or following in task.reached):
        exact = aligned and following.spec is spec
        deliver(task, following, node.nr1, node.vjp(1, grad), grad, exact)
    if node.more is not None:
        for i, (following, number) in enumerate(node.more):
            if following is not None and (needed is None or following in task.reached):
                deliver(task, following, number, node.vjp(i + 2, grad), grad)
    if not task.keep_graph:
        node.release()


def step_whole(task: GraphTask, node: Node, grad: Any) -> None:
    """The same for a node whose gradients come all at once."""
    edges = node.edges()
    several = node.outputs is not None
    answers = node.apply(grad if several else [grad], False, followed(task, edges))
    if len(answers) != len(edges):
        raise miscounted(node, answers, edges)
    if not task.keep_graph:
        node.release()
    seen: set[int] | None = None if len(edges) <= FEW_EDGES else set()
    for i, (following, number) in enumerate(edges):
        if following is None or (task.needed is not None and following not in task.reached):
            continue
        answer = raw(answers[i])
        shared = several or not node.makes_new() or _among(answer, answers, i, seen)
        deliver(task, following, number, answer, answer if shared else grad)


def run_tensor_hooks(task: GraphTask, node: Node, hooks: NodeHooks, grads: list[Any]) -> list[Any]:
    """Tensor.register_hook and retain_grad; a leaf's new data type comes before them."""
    if hooks.recast and grads[0] is not None:
        grads = [conform(node, 0, grads[0])]
    if not hooks.tensor and not hooks.retain:
        return grads
    task.enter_user_code()
    grads = through_tensor_hooks(node, hooks, grads)
    if hooks.retain:
        retain(task, hooks, grads)
    return grads


def run_pre_hooks(task: GraphTask, node: Node, hooks: NodeHooks, grads: list[Any]) -> list[Any]:
    """Node.register_prehook."""
    if not hooks.pre:
        return grads
    task.enter_user_code()
    return through_pre_hooks(node, hooks.pre, grads)


def run_post_hooks(
    task: GraphTask, node: Node, hooks: NodeHooks, results: list[Any], grads: list[Any]
) -> list[Any]:
    """Node.register_hook."""
    if not hooks.post:
        return results
    task.enter_user_code()
    return through_post_hooks(node, hooks.post, results, grads)


def answers_of(task: GraphTask, node: Node, grads: list[Any]) -> list[Any]:
    """What a node makes of its gradients, each conforming to where it goes."""
    if task.logged:
        log_step(node, grads)
    if isinstance(node, AccumulateGrad):
        owned = is_owned(task, node, grads)  # before grads[0] is taken: it counts references
        accumulate(task, node, grads[0], owned)
        return []
    if all_none(grads) and not node.takes_none():
        return [None] * node.edge_count
    if node.lane == USER:
        task.enter_user_code()
    edges = node.edges()
    answers = node.apply(grads, task.tensors, followed(task, edges))
    results = fit(task, node, edges, answers)
    if task.anomaly is not None:
        task.anomaly.inspect(node, results)
    return results


def is_owned(task: GraphTask, leaf: Node, grads: list[Any]) -> bool:
    """Whether nobody else holds the gradient of a leaf: what a hook has made and let go is ours."""
    if task.tensors:
        return not task.create_graph and is_first_tensor_alone(grads)
    hooks = leaf.hooks
    if hooks is not None and (hooks.tensor or hooks.retain or hooks.pre):
        return is_first_alone(grads)
    return leaf in task.owned


def log_step(node: Node, grads: list[Any]) -> None:
    """Write to the log which node runs, and on what."""
    shown = [
        "None" if grad is None else f"{raw(grad).dtype}{list(raw(grad).shape)}" for grad in grads
    ]
    log.debug("Executing: %r with grad_outputs: [%s]", node, ", ".join(shown))


def followed(task: GraphTask, edges: list[tuple[Node | None, int]]) -> list[bool] | None:
    """Which edges of a node this pass follows; None for all."""
    if task.needed is None:
        return None
    return [following is not None and following in task.reached for following, _ in edges]


def all_none(grads: list[Any]) -> bool:
    """Whether no gradient came at all."""
    for grad in grads:
        if grad is not None:
            return False
    return True


def miscounted(node: Node, results: list[Any], edges: list[Any]) -> RuntimeError:
    """The error for a node that answers too many gradients, or too few."""
    return RuntimeError(f"{node.name()} returned {len(results)} gradients for {len(edges)} inputs")


def fit(
    task: GraphTask, node: Node, edges: list[tuple[Node | None, int]], results: list[Any]
) -> list[Any]:
    """The results of a node, each conforming to where it goes."""
    if len(results) != len(edges):
        raise miscounted(node, results, edges)
    fitted: list[Any] = []
    for (following, number), result in zip(edges, results):
        if result is None or following is None or (task.needed and following not in task.reached):
            fitted.append(None)
        else:
            fitted.append(conform(following, number, result))
    return fitted


def deliver_all(task: GraphTask, node: Node, results: list[Any], grads: list[Any]) -> None:
    """Send a node's results along its edges; one thread of a pass at a time."""
    if task.workers is None:
        send(task, node, results, grads)
    else:
        with task.workers.lock:
            send(task, node, results, grads)


def send(task: GraphTask, node: Node, results: list[Any], grads: list[Any]) -> None:
    """Each result, which conforms already, to where its edge leads."""
    source = grads[0] if len(grads) == 1 else None
    seen: set[int] | None = None if node.edge_count <= FEW_EDGES else set()
    for i, (following, number) in enumerate(node.edges()):
        if following is None or (task.needed is not None and following not in task.reached):
            continue
        result = results[i]
        if not task.tensors:
            result = raw(result)
        shared = node.hooks is not None or not node.makes_new() or _among(result, results, i, seen)
        deliver(task, following, number, result, result if shared else source, True)


def _among(value: Any, results: list[Any], end: int, seen: set[int] | None) -> bool:
    """Whether one of the first results is this very object; of many, `seen` has the ids."""
    if seen is not None:
        known = id(value) in seen
        seen.add(id(value))
        return known
    for i in range(end):
        if results[i] is value:
            return True
    return False


def deliver(
    task: GraphTask, node: Node, number: int, grad: Any, source: Any, exact: bool = False
) -> None:
    """Bring a gradient to a node; with the last one it becomes ready.

    `source` is what the gradient was made from: if it is the gradient itself, or if the gradient is
    a view, someone else may hold its memory. An `exact` gradient is known to conform.
    """
    waiting = task.waiting
    own = False
    if grad is not None:
        if node.outputs is not None:
            grad = gathered(task, node, number, grad)
        else:
            if not exact:
                spec = node.spec_of(0)
                if (
                    type(grad) is not spec.array_type
                    or grad.dtype is not spec.dtype
                    or grad.shape != spec.shape
                ):
                    grad = conform(node, number, grad)
            held = waiting.get(node) if waiting else None
            if held is not None:
                grad = add(task, node, held, grad)
            elif node.lane == LEAF and grad is not source and _is_own(grad):
                own = True
    elif waiting:
        grad = waiting.get(node)
    left = task.remaining[node]
    direct = node.lane == LEAF and node.hooks is None and task.short and task.needed is None
    if own and (left > 1 or not direct):
        task.owned.add(node)
    if left > 1:
        task.remaining[node] = left - 1
        if grad is not None:
            waiting[node] = grad
    elif direct:
        if grad is not None:
            if waiting:
                waiting.pop(node, None)
            accumulate(task, node, grad, own or node in task.owned)
    elif task.hot is None and task.workers is None:
        task.hot = node
        task.hot_grad = grad
    else:
        enqueue(task, node, grad)


def enqueue(task: GraphTask, node: Node, grad: Any) -> None:
    """A node is ready. The newest is held apart: a chain needs neither queue nor dictionary."""
    if task.workers is not None:
        if grad is not None:
            task.waiting[node] = grad
        task.workers.push(node)
        return
    hot = task.hot
    if hot is None:
        task.hot = node
        task.hot_grad = grad
    elif node.sequence_number > hot.sequence_number:
        queue(task, hot, task.hot_grad)
        task.hot = node
        task.hot_grad = grad
    else:
        queue(task, node, grad)


def queue(task: GraphTask, node: Node, grad: Any) -> None:
    """Put a ready node into the queue, and its gradient aside."""
    if grad is not None:
        task.waiting[node] = grad
    task.pushed += 1
    push(task.ready, (-node.sequence_number, task.pushed, node))


def take(waiting: dict[Node, Any], node: Node) -> Any:
    """What waits for a node, which then waits no more."""
    grad = waiting.get(node)
    if grad is not None:
        del waiting[node]
    return grad


def _is_own(grad: Any) -> bool:
    """Whether this array holds its own memory."""
    if type(grad) is NDARRAY:
        return grad.base is None
    return not isinstance(grad, TensorCore) and backend_of(grad).owns_memory(grad)


def gathered(task: GraphTask, node: Node, number: int, grad: Any) -> list[Any]:
    """The gradients of a node with several outputs, with this one added."""
    grad = conform(node, number, grad)
    held: list[Any] | None = task.waiting.get(node)
    if held is None:
        held = [None] * node.output_count()
    held[number] = grad if held[number] is None else held[number] + grad
    return held


def add(task: GraphTask, node: Node, held: Any, grad: Any) -> Any:
    """The sum of two gradients; in place where the running sum is ours alone."""
    if type(held) is NDARRAY and node in task.owned and held.dtype is grad.dtype:
        held += grad
        return held
    if not task.tensors and type(held) is type(grad) and is_launched(held):
        total = upper.calls.total(held, grad)
    else:
        total = held + grad if task.tensors else raw(held + grad)
    if not isinstance(total, TensorCore):
        total = backend_of(total).asarray(total)
        task.owned.add(node)
    return total


def is_launched(array: Any) -> bool:
    """Whether kernels made from declarations work on an array."""
    if type(array) is NDARRAY or isinstance(array, TensorCore):
        return False
    return bool(backend_of(array).launches(array.dtype))


def capture(task: GraphTask, node: Node, grads: list[Any]) -> None:
    """Keep the gradients that `grad` or `inputs=` asked for."""
    for number, slot in task.captures[node]:
        task.captured[slot] = grads[number]


# ---- a whole pass ----


def run_pass(
    roots: list[Node],
    numbers: list[int],
    grads: list[Any],
    targets: list[tuple[Node, int]],
    accumulate_targets: bool,
    keep_graph: bool,
    create_graph: bool,
    layered: bool = False,
) -> list[Any]:
    """One backward pass from the roots; the gradients that reached the targets.

    Inside transforms gradients stay Tensors, as they do to be recorded: then it is `layered`. It
    is so too if the pass reaches a node that works on tensors without memory.
    """
    parent = current_task()
    task = GraphTask(roots, keep_graph, create_graph, parent)
    if layered and not create_graph:
        task.tensors, task.short = True, False
    settings = current()
    task.observers = settings.observers
    task.anomaly = settings.anomaly
    task.logged = log.isEnabledFor(DEBUG)
    if task.logged or task.observers or task.anomaly is not None:
        task.short = False
    if targets:
        if not accumulate_targets:
            task.captured = [None] * len(targets)
            task.captures = {}
            for slot, (node, number) in enumerate(targets):
                task.captures.setdefault(node, []).append((number, slot))
        restrict(task, roots, [node for node, _ in targets], accumulate_targets)
    workers = count_dependencies(task, roots)
    if task.tensors:
        grads = [g if isinstance(g, TensorCore) else upper.tensor(g) for g in grads]
    if workers:
        from adjoint.autograd.workers import Workers  # threads only where a device needs one

        task.workers = Workers()
        task.short = False  # the short form of a step does not lock
    if task.depth > 0 and task.depth % NESTED_PER_THREAD == 0:
        on_fresh_stack(task, roots, numbers, grads)
    else:
        run(task, roots, numbers, grads)
    return task.captured


def on_fresh_stack(
    task: GraphTask, roots: list[Node], numbers: list[int], grads: list[Any]
) -> None:
    """Run a deeply nested pass on a thread of its own, so that depth is bounded by memory."""
    detached = Detached(task, roots, numbers, grads)
    daemon = Daemon("adjoint-nested-backward", detached.run)
    try:
        daemon.start()
        daemon.wait()
    except BaseException:
        detached.halt.ask()
        try:
            daemon.cancel()
            daemon.outlast()
        finally:
            detached.let_go()
        raise
    detached.end()


class Detached:
    """A pass on another thread than the one that waits for it."""

    def __init__(
        self, task: GraphTask, roots: list[Node], numbers: list[int], grads: list[Any]
    ) -> None:
        outer = None if task.parent is None else task.parent.halt
        self.halt = task.halt = Halt(outer)
        self.arguments: Any = (task, roots, numbers, grads)
        self.context = contextvars.copy_context()
        self.failed: BaseException | None = None

    def run(self) -> None:
        """What the other thread does."""
        try:
            self.context.run(run, *self.arguments)
        except BaseException as error:
            self.failed = error

    def let_go(self) -> None:
        """Drop the pass, and what it has raised, whose frames refer to this."""
        self.failed = self.arguments = None

    def end(self) -> None:
        """Raise what the pass has raised; nothing is kept alive by that."""
        failed = self.failed
        self.let_go()
        if failed is not None:
            try:
                raise failed
            finally:
                failed = None


def run(task: GraphTask, roots: list[Node], numbers: list[int], grads: list[Any]) -> None:
    """Run a pass, with settings of its own; what user code leaves behind goes as well.

    A signal may be heard after each call, so each setting is put back in a `finally` of its own.
    """
    settings = current()
    outer = under_way.get()
    warnings = error_state()
    presence = Presence(task)
    try:
        perform(task, presence, roots, numbers, grads)
    finally:
        presence.task = None
        try:
            under_way.set(outer)
        finally:
            try:
                set_error_state(warnings)
            finally:
                set_current(settings)  # even if they are: a variable that is set is read faster


def perform(
    task: GraphTask,
    presence: Presence,
    roots: list[Node],
    numbers: list[int],
    grads: list[Any],
) -> None:
    """Deliver the roots' gradients, evaluate until nothing is ready, and write the leaves."""
    workers = task.workers
    try:
        if workers is not None:
            workers.task = task  # a circle, from here on until the end
        under_way.set(presence)
        if workers is not None or (task.tensors and is_recording() != task.create_graph):
            task.enter_user_code()  # before a worker copies this context
        set_error_state(IGNORE)
        if workers is not None:
            with workers.lock:
                deliver_roots(task, roots, numbers, grads)
            workers.run()
        else:
            deliver_roots(task, roots, numbers, grads)
            drain(task)
        commit(task)
    except BaseException as error:
        try:
            give_up(task)
        except BaseException:  # an interrupt: nothing is reported before it is done
            give_up(task)
            raise
        if workers is None and not task.committed:
            explain(task, task.current, error)
        raise
    finally:
        if workers is not None:  # without a call: one that fails would leave the circle
            task.workers = workers.task = None
            workers.contexts, workers.errors = {}, []
        if task.journal:
            try:
                end_early_writes(task)
            except BaseException:  # an interrupt: nothing else would forget them
                end_early_writes(task)
                raise
    callbacks = task.callbacks
    at = 0
    while at < len(callbacks):
        ask(callbacks[at], ())
        at += 1
    tracing = current().tracing
    if tracing is not None:
        tracing.end_pass()


def give_up(task: GraphTask) -> None:
    """The pass has failed: wait for those who work for it, and take back what it wrote."""
    if task.workers is not None:
        task.workers.close()
    if not task.committed:
        roll_back(task)


def deliver_roots(task: GraphTask, roots: list[Node], numbers: list[int], grads: list[Any]) -> None:
    """Bring the gradients a pass starts with to their nodes."""
    for root, number, grad in zip(roots, numbers, grads):
        if task.needed is None or root in task.reached:
            deliver(task, root, number, grad, grad)


def drain(task: GraphTask) -> None:
    """Evaluate ready nodes, newest first, until there are none."""
    ready = task.ready
    waiting = task.waiting
    observed = bool(task.observers)
    captures = task.captures
    steps = task.short  # then every node that is reached runs, or is captured
    halt = task.halt
    while True:
        if halt is not None and halt.asked:
            raise Halted
        hot = task.hot
        if hot is not None:
            node, grad = hot, task.hot_grad
            task.hot, task.hot_grad = None, None
            if waiting:
                waiting.pop(node, None)
            if ready and -ready[0][0] > node.sequence_number:
                queue(task, node, grad)
                continue
        elif ready:
            node = pop(ready)[2]
            grad = take(waiting, node)
        else:
            break
        task.current = node
        if grad is None and node.outputs is not None:
            grad = [None] * node.output_count()
        plain = steps and node.hooks is None and grad is not None and LEAF < node.lane < USER
        if plain and (not captures or node not in captures):
            step(task, node, grad)  # what evaluate would do, for most nodes of most passes
            continue
        grads = [grad] if node.outputs is None else grad
        grad = None  # the list alone holds it: a leaf asks whether others do
        if observed:
            visit(task, node, grads)
        else:
            evaluate(task, node, grads)


def visit(task: GraphTask, node: Node, grads: list[Any]) -> None:
    """Evaluate a node, before the eyes of those who observe the pass."""
    if not task.observers:
        evaluate(task, node, grads)
        return
    tokens = [observer.enter_node(node) for observer in task.observers]
    try:
        evaluate(task, node, grads)
    finally:
        for observer, token in zip(task.observers[::-1], tokens[::-1]):
            observer.leave_node(token)


def explain(task: GraphTask, node: Node | None, error: BaseException) -> None:
    """Say in a note which step of the backward failed; what fails in that leaves the error be."""
    with contextlib.suppress(Exception):
        _explain(task, node, error)


def _explain(task: GraphTask, node: Node | None, error: BaseException) -> None:
    hook = blamed(error)
    if node is None:
        add_note(error, "when the gradients were to be added to the leaves; no .grad was changed")
        return
    if task.anomaly is not None:
        task.anomaly.report(node)
    shapes = node.output_shapes()
    shape = shapes[0] if node.outputs is None else shapes
    source = node.source()
    add_note(
        error,
        f"in the backward of {node.name()}, whose output has shape {shape}"
        + ("" if hook is None else f", in its {hook}")
        + "; no .grad was changed"
        + ("" if not _consumed(task) else " but those given to post-accumulate hooks before")
        + ("" if source is None else f"\nits forward: {source}")
        + ("" if node.module_path is None else f"\nin the module {node.module_path}"),
    )


def _consumed(task: GraphTask) -> bool:
    """Whether a post-accumulate hook may have seen a gradient in this pass."""
    for node in task.remaining:
        if isinstance(node, AccumulateGrad):
            extras = node.variable.extras
            if extras is not None and extras.post_accumulate:
                return True
    return False
