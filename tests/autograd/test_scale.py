"""Graphs of any size: the work grows with the graph, nothing recurses, and nothing is left."""

import gc
import weakref

import pytest

import adjoint
from adjoint import explain
from adjoint.autograd import Function, grad
from adjoint.viz import draw_graph, graph_dot
from tests.test_linear import lines_run

LARGE, MILLION = 100_000, 1_000_000


def leaf(*values):
    return adjoint.tensor(list(values), requires_grad=True)


def chain(size):
    """A graph as deep as it can be."""
    x = y = leaf(1.0)
    for _ in range(size):
        y = y * 1.0
    return x, y


def fan(size):
    """A graph as wide as it can be: that many edges into one leaf."""
    x = leaf(1.0)
    return x, adjoint.stack([x] * size).sum()


def pairs(size):
    """As many sums as edges that lead into one leaf, each of a node of its own."""
    x = leaf(1.0)
    total = x * 0.0
    for _ in range(size):
        total = total + x
    return x, total


def nested(depth):
    """Passes within passes; what the innermost leaf got."""
    x = leaf(1.0)

    class Inner(Function):
        @staticmethod
        def forward(ctx, value, left):
            ctx.left = left
            return value * 1.0

        @staticmethod
        def backward(ctx, gradient):
            if ctx.left:
                with adjoint.enable_grad():
                    Inner.apply(x, ctx.left - 1).backward()
            return gradient, None

    Inner.apply(x, depth).backward()
    return x


def forward_of(size):
    return lambda: chain(size)


def backward_of(make):
    return lambda size: make(size)[1].backward


def grad_of(size):
    x, y = chain(size)
    return lambda: grad(y, x, create_graph=True)


def dotted(size):
    _, y = chain(size)
    return lambda: graph_dot(y, limit=size + 10)


def drawn(size):
    _, y = chain(size)
    return lambda: draw_graph(y)


def explained(size):
    _, y = chain(size)
    return lambda: str(explain(y))


WORK = {
    "forward": (forward_of, 200),
    "backward of a chain": (backward_of(chain), 200),
    "backward of a fan": (backward_of(fan), 200),
    "backward of pairs": (backward_of(pairs), 200),
    "grad with a graph of its own": (grad_of, 200),
    "dot": (dotted, 100),
    "draw": (drawn, 2000),
    "explain": (explained, 200),
    "passes within passes": (lambda depth: lambda: nested(depth), 40),
}


@pytest.mark.parametrize(("work", "size"), WORK.values(), ids=WORK.keys())
def test_twice_the_graph_is_twice_the_work(work, size):
    work(size)()  # what happens once only is done
    assert lines_run(work(2 * size)) <= 2.2 * lines_run(work(size))


SIZES = [
    *((make, 10_000) for make in (chain, fan, pairs)),
    pytest.param(chain, MILLION, marks=pytest.mark.slow),
    pytest.param(fan, LARGE, marks=pytest.mark.slow),
    pytest.param(fan, MILLION, marks=pytest.mark.long),
    pytest.param(pairs, LARGE, marks=pytest.mark.slow),
    pytest.param(pairs, MILLION, marks=pytest.mark.long),
]


@pytest.mark.parametrize(("make", "size"), SIZES)
def test_a_large_graph_runs_and_is_freed_at_once(make, size):
    gc.collect()
    gc.disable()
    try:
        x, y = make(size)
        node = weakref.ref(y.grad_fn)
        below = weakref.ref(y.grad_fn.next_functions[0][0])
        y.backward()
        assert x.grad.tolist() == [1.0 if make is chain else float(size)]
        del y
        assert node() is None
        assert below() is None
        unused = make(size)[1]  # a graph that nothing has run through
        below = weakref.ref(unused.grad_fn.next_functions[0][0])
        del unused
        assert below() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("size", [5_000, pytest.param(MILLION, marks=pytest.mark.slow)])
def test_a_large_graph_is_drawn_and_explained(size):
    x, y = chain(size)
    told = str(explain(y))
    assert f"{size:,}" in told or str(size) in told
    assert "svg" in str(draw_graph(y))
    assert grad(y, x)[0].tolist() == [1.0]


@pytest.mark.parametrize("depth", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_passes_within_passes_of_any_depth(depth):
    assert nested(depth).grad.tolist() == [depth + 1.0]
