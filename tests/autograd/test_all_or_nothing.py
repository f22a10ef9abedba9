"""Ctrl-C at any moment: what was to be written is written whole or not at all, and nothing hangs.

A timer sends what Ctrl-C sends, a little later each time, from before the first moment of the work
until after its last one.
"""

import contextvars
import gc
import signal
import threading
import time

import numpy as np
import pytest

import adjoint
from adjoint import nn
from adjoint.autograd import Function, graph
from adjoint.call.context import DEFAULT, current
from adjoint.utils.checkpoint import checkpoint

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer on this system"),
    # Python drops, with such a warning, what is raised while an object is finalized.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

TIMES = [
    20,
    pytest.param(100, marks=pytest.mark.slow),
    pytest.param(500, marks=pytest.mark.long),
]


@pytest.fixture(autouse=True)
def timer_that_interrupts():
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def is_interrupted(work, seconds):
    """Do some work until it is interrupted; whether it was, before it was done."""
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False


def is_interrupted_apart(work, seconds):
    """The same in a context of its own, with which ends what a signal may leave set there.

    In the pure package that is so at the first bytecode of an `__exit__` (docs/reliability.md).
    """
    return contextvars.copy_context().run(is_interrupted, work, seconds)


def leaf(*values):
    return adjoint.tensor(list(values), dtype=adjoint.float64, requires_grad=True)


class Case:
    """Some work, and what it writes."""

    def __init__(self, written):
        self.written = written  # tensors, whose .grad is written

    def values(self):
        return [None if t.grad is None else t.grad.tolist() for t in self.written]

    def prepare(self):
        """Bring everything to where it begins; some tensors have a .grad, others have none."""
        for i, tensor in enumerate(self.written):
            tensor.grad = adjoint.full_like(tensor, 0.5) if i % 2 else None

    def work(self):
        self.loss.backward(retain_graph=True)


class Backward(Case):
    """A graph with branches, hooks, and a Function."""

    def __init__(self):
        class Twice(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                assert ctx.saved_tensors
                return g * 2

        leaves = [leaf(float(i), 1.0) for i in range(12)]
        total = leaf(0.0, 0.0)
        loss = total * 1.0
        for x in leaves:
            y = Twice.apply(x.sin() * 2.0)
            y.register_hook(lambda g: g * 3.0)
            loss = loss + y * x
        self.loss = loss.sum()
        super().__init__([*leaves, total])


class Commit(Case):
    """Little to compute, and much to write."""

    def __init__(self):
        leaves = [leaf(1.0) for _ in range(600)]
        self.loss = adjoint.cat(leaves).sum()
        super().__init__(leaves)


class Checkpoint(Case):
    """Regions that are run again, of both kinds."""

    def __init__(self):
        self.w, self.x = leaf(1.0, 2.0), leaf(3.0, 4.0)
        super().__init__([self.w, self.x])

    def work(self):
        def region(x):
            return (x * self.w).tanh() + x

        x = self.x
        for i in range(8):
            x = checkpoint(region, x, use_reentrant=bool(i % 2))
        x.sum().backward()


class Reentrant(Case):
    """Passes within passes, deeper than one thread goes."""

    def __init__(self):
        self.leaves = [leaf(float(i)) for i in range(30)]
        super().__init__(self.leaves)

    def work(self):
        def go(depth):
            with adjoint.enable_grad():
                h = self.leaves[depth] * 2.0
                if depth + 1 < len(self.leaves):
                    h.register_hook(lambda g: go(depth + 1))
                h.sum().backward()

        go(0)


class Hooked(Case):
    """A leaf whose gradient someone waits to see before the pass has ended."""

    def __init__(self):
        leaves = [leaf(float(i), 1.0) for i in range(12)]
        loss = leaf(1.0, 1.0)
        for x in leaves:
            loss = loss * x.sin()
            graph.get_gradient_edge(x).node.register_hook(lambda given, answered: None)
        self.loss = loss.sum()
        super().__init__(leaves)


class Step(Case):
    """A step of an optimizer: parameters and their state."""

    def __init__(self):
        adjoint.manual_seed(0)
        self.parameters = [nn.Parameter(adjoint.randn(3)) for _ in range(30)]
        self.parameters += [nn.Parameter(adjoint.randn(3, dtype=adjoint.float64))]
        self.start = [p.detach().clone() for p in self.parameters]
        self.optimizer = adjoint.optim.Adam(self.parameters, lr=0.1)
        for p in self.parameters:
            p.grad = adjoint.ones_like(p)
        self.optimizer.step()
        self.saved = self.optimizer.state_dict()
        super().__init__([])

    def values(self):
        state = self.optimizer.state_dict()["state"]
        return (
            [p.tolist() for p in self.parameters],
            {k: {n: np.asarray(v).tolist() for n, v in s.items()} for k, s in state.items()},
        )

    def prepare(self):
        with adjoint.no_grad():
            for p, start in zip(self.parameters, self.start, strict=True):
                p.copy_(start)
        copied = {k: {n: v.clone() for n, v in s.items()} for k, s in self.saved["state"].items()}
        self.optimizer.load_state_dict({**self.saved, "state": copied})

    def work(self):
        self.optimizer.step()


def duration_of(case):
    """How long the work takes when nothing disturbs it."""
    found = []
    for _ in range(5):
        case.prepare()
        begin = time.perf_counter()
        case.work()
        found.append(time.perf_counter() - begin)
    return sorted(found)[2]


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("kind", [Backward, Commit, Checkpoint, Reentrant, Hooked, Step])
def test_all_or_nothing(kind, times):
    contextvars.copy_context().run(interrupt, kind, times)  # what one leaves set, no other sees


def interrupt(kind, times):
    """Interrupt some work again and again, and look at what it has left."""
    case = kind()
    duration = duration_of(case)
    case.prepare()
    before = case.values()
    case.work()
    after = case.values()
    assert before != after
    numpy_state = np.geterr()
    threads = set(threading.enumerate())
    outcomes = {"before": 0, "after": 0}
    attempt = is_interrupted if adjoint.__compiled__ else is_interrupted_apart
    for i in range(times):
        case.prepare()
        interrupted = attempt(case.work, 1.2 * duration * (i + 1) / times)
        found = case.values()
        assert found == after or (interrupted and found == before)
        outcomes["before" if found == before else "after"] += 1
        assert current() is DEFAULT
        assert np.geterr() == numpy_state
        assert graph.current_task_id() == -1
        case.prepare()
        case.work()
        assert case.values() == after
    assert outcomes["before"], outcomes
    gc.collect()
    assert set(threading.enumerate()) <= threads
