"""Which nodes a pass reaches, and how many gradients each waits for: found before it starts."""

from typing import Any

from adjoint.autograd.graph_task import GraphTask
from adjoint.autograd.node import Node
from adjoint.backends import is_here


def count_dependencies(task: GraphTask, roots: list[Node]) -> bool:
    """How many gradients each node waits for; True if threads of devices must work on the pass.

    One device whose work the calling thread can do needs none. The pass keeps Tensors if a node
    does.
    """
    remaining = task.remaining
    stack: list[Node] = []
    several = keeps_tensors = False
    worker: Any = None
    for root in roots:
        if root in remaining:
            remaining[root] += 1
        else:
            remaining[root] = 1
            stack.append(root)
    upcoming: Node | None = None
    while upcoming is not None or stack:
        node = stack.pop() if upcoming is None else upcoming
        upcoming = None  # one of those that follow is next: a chain needs no stack
        spec = node.spec
        if spec is None or spec.worker is not None:
            own = node.worker()
            if own is not None and own != worker:
                several = several or worker is not None
                worker = own
        if node.edge_count == 0:
            continue
        if node.keeps_tensors:
            keeps_tensors = True
        following = node.next0
        if following is not None:
            if following in remaining:
                remaining[following] += 1
            else:
                remaining[following] = 1
                upcoming = following
        following = node.next1
        if following is not None:
            if following in remaining:
                remaining[following] += 1
            else:
                remaining[following] = 1
                if upcoming is None:
                    upcoming = following
                else:
                    stack.append(following)
        if node.more is not None:
            for following, _ in node.more:
                if following is not None:
                    if following in remaining:
                        remaining[following] += 1
                    else:
                        remaining[following] = 1
                        stack.append(following)
    if keeps_tensors and not task.tensors:
        task.tensors, task.short = True, False
    return several or (worker is not None and not is_here(worker))


def restrict(task: GraphTask, roots: list[Node], targets: list[Node], run_targets: bool) -> None:
    """Only what leads to the targets runs; the targets themselves if `run_targets`."""
    leads: set[Node] = set(targets)
    needed: set[Node] = set(targets) if run_targets else set()
    begun: set[Node] = set()
    stack: list[Node] = list(roots)
    while stack:
        node = stack[-1]
        if node in begun:  # and all that follows it is done
            stack.pop()
            if is_followed_by(node, leads):
                leads.add(node)
                needed.add(node)
            continue
        begun.add(node)
        following = node.next0
        if following is not None and following not in begun:
            stack.append(following)
        following = node.next1
        if following is not None and following not in begun:
            stack.append(following)
        if node.more is not None:
            for following, _ in node.more:
                if following is not None and following not in begun:
                    stack.append(following)
    task.needed = needed
    task.reached = leads


def is_followed_by(node: Node, some: set[Node]) -> bool:
    """Whether an edge of a node leads to one of these."""
    if node.edge_count == 0:
        return False
    following = node.next0
    if following is not None and following in some:
        return True
    following = node.next1
    if following is not None and following in some:
        return True
    if node.more is not None:
        for following, _ in node.more:
            if following is not None and following in some:
                return True
    return False
