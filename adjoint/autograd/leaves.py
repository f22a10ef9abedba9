"""The gradients of leaves: kept aside while a pass runs, written when it has succeeded.

A pass that fails changes no `.grad`: what had to be written early, because a hook waits to see it,
is in the pass's journal and put back.
"""

import os
import threading
from typing import Any, Final

from adjoint.autograd.graph_task import GraphTask
from adjoint.autograd.hooks import NodeHooks, run_accumulate_hooks, wrapped
from adjoint.autograd.node import AccumulateGrad, Node
from adjoint.autograd.reference_counts import is_alone
from adjoint.autograd.saved_tensors import before_change
from adjoint.call.context import current
from adjoint.tensors.core import NDARRAY, TensorCore, backend_of, raw
from adjoint.tensors.upper import upper


class _Locks:
    """The lock under which leaves are written, so that sums by several threads stay exact."""

    def __init__(self) -> None:
        self.accumulate: Any = threading.Lock()


_locks: Final[_Locks] = _Locks()


def _after_fork() -> None:
    _locks.accumulate = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def accumulate(task: GraphTask, node: Node, grad: Any, owned: bool) -> None:
    """Keep a leaf's gradient for the end of the pass; at once if someone waits to see it."""
    if grad is None or not isinstance(node, AccumulateGrad):
        return
    extras = node.variable.extras
    post = None if extras is None else extras.post_accumulate
    hooks = node.hooks
    if not post and (hooks is None or not hooks.post):
        task.leaves.append((node, grad, owned))
        return
    leaf = node.variable
    lock = _locks.accumulate
    lock.acquire()  # not by `with`, which costs compiled code twice as much
    try:
        if not post:
            remember(task, leaf)
        write_leaf(leaf, grad, owned, task.create_graph)
    finally:
        lock.release()
    if post:
        task.enter_user_code()
        run_accumulate_hooks(node, post, leaf)


def remember_retained(task: GraphTask, hooks: NodeHooks) -> None:
    """Note the gradients of tensors that are about to keep another, as for leaves."""
    for reference in list(hooks.retain.values()):
        kept = reference()
        if kept is not None:
            remember(task, kept)


def remember(task: GraphTask, leaf: TensorCore) -> None:
    """Note a leaf's gradient, to put it back if the pass fails."""
    old = leaf.gradient
    task.journal.append((leaf, old, None if old is None else backend_of(old.array).copy(old.array)))


def write_leaf(leaf: TensorCore, grad: Any, owned: bool, create_graph: bool) -> None:
    """Set or add to `.grad`."""
    old = leaf.gradient
    if create_graph:
        given = wrapped(grad)
        leaf.gradient = _recorded_copy(leaf, given) if old is None else old + given
        return
    array = raw(grad)
    if old is None:
        if not owned or not (same_layout(array, leaf.array) or current().any_layout):
            array = _in_layout_of(leaf.array, backend_of(array).copy(array))
        leaf.gradient = upper.tensor(array)
        return
    backend = backend_of(array)
    if backend.mutable and not old.special:
        before_change(old)
        total = old.array
        total += array
        old.counter().bump()
    else:
        old.replace_array(old.array + array)


def _recorded_copy(leaf: TensorCore, grad: Any) -> Any:
    """A copy of a gradient, laid out as the leaf is, that leads back to the gradient."""
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


def check_leaf(leaf: TensorCore, grad: Any) -> None:
    """Refuse a gradient that can't be added to the one there is, before any is written."""
    old = leaf.gradient
    if old is not None and old.array.shape != raw(grad).shape:
        raise RuntimeError(
            f"a leaf of shape {tuple(leaf.array.shape)} has a .grad of shape "
            f"{tuple(old.array.shape)}, to which this one can't be added; was its data replaced? "
            "Set .grad to None before backward."
        )


def commit(task: GraphTask) -> None:
    """The pass has succeeded: write the gradients of all leaves."""
    leaves = task.leaves
    task.current = None
    for node, grad, _ in leaves:
        if node.variable.gradient is not None:
            check_leaf(node.variable, grad)
    nested = task.parent is not None
    with _locks.accumulate:
        while leaves:
            node, grad, owned = leaves.pop()
            if nested:
                remember(task, node.variable)
            if not owned and node.variable.gradient is None:
                owned = is_alone(grad)
            write_leaf(node.variable, grad, owned, task.create_graph)
    if task.parent is not None:
        task.parent.journal.extend(task.journal)


def roll_back(task: GraphTask) -> None:
    """The pass has failed: put back what was written early."""
    with _locks.accumulate:
        for leaf, old, values in task.journal[::-1]:
            leaf.gradient = old
            if old is not None:
                if backend_of(values).mutable:
                    old.array[...] = values
                else:
                    old.replace_array(values)
    task.journal.clear()
