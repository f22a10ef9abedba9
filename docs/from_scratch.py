"""Autograd from scratch: the idea of adjoint in about a hundred lines that run.

`python docs/from_scratch.py` runs them, and they check themselves. Right gradients need no more;
adjoint adds PyTorch's rules, speed, other array libraries, and errors that name your line.
"""

import functools
import heapq
import inspect
import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# ---- The graph ----

# A tensor is an array and the node that made it. A node stands for one step of the program, to be
# undone later: it has an edge to the node of each input that wants a gradient. A leaf, such as a
# weight, was made by no step; its node has no edges, and is where gradients come to rest.


class Tensor:
    """An array that knows where it came from."""

    def __init__(self, array, requires_grad=False):
        self.array = np.asarray(array, dtype=float)
        self.node = Node("leaf", []) if requires_grad else None

    @property
    def grad(self):
        return self.node.grad

    def register_hook(self, hook):
        self.node.hooks.append(hook)

    def backward(self):
        run(self.node, np.ones_like(self.array))


class Node:
    """A step to be undone; the later it was made, the larger its number."""

    numbers = itertools.count()

    def __init__(self, name, edges):
        self.name, self.edges, self.hooks, self.grad = name, edges, [], None
        self.number = next(Node.numbers) if edges else math.inf

    def __lt__(self, other):
        return self.number > other.number  # first comes the newest; leaves before all


class Edge(NamedTuple):
    """The way of a gradient: where it goes, what shape it must have there, how it is computed."""

    node: Node
    shape: tuple[int, ...]
    rule: Callable

    def follow(self, grad):
        """The gradient of the input, summed wherever the forward had repeated its elements."""
        grad = self.rule(grad)
        grad = grad.sum(axis=tuple(range(grad.ndim - len(self.shape))))
        stretched = [dim for dim, size in enumerate(self.shape) if size < grad.shape[dim]]
        return grad.sum(axis=tuple(stretched), keepdims=True)


# ---- The ops ----

# An op is declared once, its derivatives beside its forward. A rule takes the gradient of the
# result and whatever else it *names*: an input, the result, or only the shape of an input. That is
# all a node keeps. No rule thinks of broadcasting, because every edge does.


def op(**rules):
    """Make an op, and a method of Tensor, of a forward on arrays and of a rule for each input."""

    def declare(forward):
        names = list(inspect.signature(forward).parameters)

        def call(*inputs):
            tensors = [x if isinstance(x, Tensor) else Tensor(x) for x in inputs]
            known = dict(zip(names, [tensor.array for tensor in tensors]))
            result = Tensor(forward(**known))
            known |= {f"{name}_shape": array.shape for name, array in known.items()}
            known["result"] = result.array
            edges = [
                Edge(tensor.node, tensor.array.shape, keep_what_it_names(rules[name], known))
                for name, tensor in zip(names, tensors)
                if tensor.node is not None
            ]
            if edges:
                result.node = Node(forward.__name__, edges)
            return result

        setattr(Tensor, forward.__name__, call)
        return call

    return declare


def keep_what_it_names(rule, known):
    """The rule as a function of the gradient alone."""
    _, *names = inspect.signature(rule).parameters
    return functools.partial(rule, **{name: known[name] for name in names})


@op(input=lambda grad: grad, other=lambda grad: grad)
def add(input, other):
    return input + other


@op(input=lambda grad, other: grad * other, other=lambda grad, input: grad * input)
def mul(input, other):
    return input * other


@op(input=lambda grad, other: grad @ other.T, other=lambda grad, input: input.T @ grad)
def matmul(input, other):
    return input @ other


@op(input=lambda grad, result: grad * (1 - result * result))
def tanh(input):
    return np.tanh(input)


@op(input=lambda grad, input_shape: np.broadcast_to(grad, input_shape))
def sum(input):
    return np.sum(input)


Tensor.__add__, Tensor.__mul__, Tensor.__matmul__ = add, mul, matmul

# ---- The engine ----

# A node may run when all its gradients have come; of those that may, the newest runs first. So the
# order is the program's own, backwards. One step is always: the hooks of the tensor, each given
# what the one before it answered; then the rules; then every result goes along its edge.

# What reaches a leaf is put aside until the whole pass has succeeded. If a rule or a hook raises,
# no `.grad` has changed.


def run(root, grad):
    """Carry a gradient from the root to all leaves."""
    remaining = Counter(edge.node for node in reachable(root) for edge in node.edges)
    grads, ready, finished = {root: grad}, [root], []
    while ready:
        node = heapq.heappop(ready)
        grad = call_hooks(node, grads.pop(node))
        if not node.edges:
            finished.append((node, grad))
        for edge in node.edges:
            grads[edge.node] = grads.get(edge.node, 0) + edge.follow(grad)
            remaining[edge.node] -= 1
            if remaining[edge.node] == 0:
                heapq.heappush(ready, edge.node)
    for leaf, grad in finished:
        leaf.grad = grad if leaf.grad is None else leaf.grad + grad


def reachable(root):
    """The root and every node that leads away from it, however long the way."""
    found, waiting = {root}, [root]
    while waiting:
        for edge in waiting.pop().edges:
            if edge.node not in found:
                found.add(edge.node)
                waiting.append(edge.node)
    return found


def call_hooks(node, grad):
    """The gradient as hooks leave it: None changes nothing, any other answer takes its place."""
    for hook in list(node.hooks):
        answer = hook(grad)
        grad = grad if answer is None else answer
    return grad


# ---- Does it work? ----

# A layer with a bias, which is broadcast over the batch. Every gradient must be what finite
# differences say; steps must be undone newest first; and a hook that raises must change nothing.


def numeric_grad(function, leaf, step=1e-6):
    """The gradient of a function with respect to a leaf, by changing one element after another."""
    grad = np.empty_like(leaf.array)
    for place, middle in np.ndenumerate(leaf.array.copy()):
        leaf.array[place] = middle + step
        above = function().array
        leaf.array[place] = middle - step
        below = function().array
        leaf.array[place] = middle
        grad[place] = (above - below) / (2 * step)
    return grad


def main():
    """Check gradients, order and failure."""
    random = np.random.default_rng(0)
    points = Tensor(random.normal(size=(5, 3)))
    weight = Tensor(random.normal(size=(3, 2)), requires_grad=True)
    bias = Tensor(random.normal(size=2), requires_grad=True)

    def loss(watch=lambda name, tensor: None):
        hidden = (points @ weight + bias).tanh()
        watch("hidden", hidden)
        square = hidden * hidden
        watch("square", square)
        return (square + hidden * 0.5).sum()

    loss().backward()
    for leaf in (weight, bias):
        assert np.allclose(leaf.grad, numeric_grad(loss, leaf), atol=1e-8)
    print("gradients: as finite differences say")

    order = []
    loss(lambda name, tensor: tensor.register_hook(lambda grad: order.append(name))).backward()
    assert order == ["square", "hidden"]
    print("order: newest first,", " then ".join(order))

    def refuse(grad):
        raise ValueError("not this one")

    weight.register_hook(refuse)
    before, raised = bias.grad, None
    try:
        loss().backward()
    except ValueError as error:
        raised = error
    assert raised is not None
    assert bias.grad is before
    print(f"failure: {raised!r} has changed no .grad")


if __name__ == "__main__":
    main()
