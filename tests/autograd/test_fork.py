"""Processes that are forked: before a pass, within one, and while other threads hold locks.

A child that waits for a lock nobody holds any more never ends, and neither does the test.
"""

import multiprocessing
import os
import threading
import traceback

import pytest

import adjoint
from adjoint import nn
from adjoint._base import moments
from adjoint.autograd import graph, leaves
from adjoint.utils.checkpoint import checkpoint, passes

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),  # threads are the point
    pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning"),  # of JAX
]


def leaf(*values):
    return adjoint.tensor(list(values), dtype=adjoint.float64, requires_grad=True)


def in_child(work):
    """Run a function in a forked process; it must not raise."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def everything():
    """Of each part of a step a little: modes, hooks, chance, a checkpoint, a step."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5), nn.Linear(3, 1))
    called = []
    model.register_full_backward_hook(lambda *args: called.append(1))
    optimizer = adjoint.optim.Adam(model.parameters())
    with adjoint.enable_grad():
        x = adjoint.randn(4, 2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda t: called.append(2))
        loss = checkpoint(lambda t: model(t).exp(), x, use_reentrant=False).sum()
        loss.backward()
        optimizer.step()
        x.grad.add_(1.0)
        before = x.grad.clone()
        (x * 2.0).sum().backward()
    assert x.grad.tolist() == (before + 2.0).tolist()
    assert 1 in called and 2 in called


# ---- before, within, after ----


def test_a_graph_of_before_runs_in_both_processes():
    x = leaf(1.0, 2.0)
    called = []
    y = checkpoint(adjoint.exp, x * 2, use_reentrant=False)
    y.register_hook(lambda g: called.append(os.getpid()))
    loss = y.sum()
    wanted = adjoint.autograd.grad(loss, x, retain_graph=True)[0].tolist()

    def run():
        called.clear()
        loss.backward()
        assert x.grad.tolist() == wanted
        assert called == [os.getpid()]

    in_child(run)
    assert x.grad is None
    run()
    in_child(everything)
    everything()


def test_a_fork_in_the_middle_of_a_pass():
    """The child is in the same pass: it may end it, or begin others."""
    parent = os.getpid()
    x, w = leaf(1.0), leaf(3.0)
    y = x * w
    codes = []

    def fork(gradient):
        child = os.fork()
        if child:
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        else:
            everything()

    y.register_hook(fork)
    try:
        y.sum().backward()
        right = x.grad.tolist() == [3.0] and w.grad.tolist() == [1.0]
        everything()
    except BaseException:
        traceback.print_exc()
        right = False
    finally:
        if os.getpid() != parent:
            os._exit(0 if right else 1)
    assert right
    assert codes == [0]


# ---- while other threads are at work ----


LOCKS = {
    "of leaves": lambda: leaves._locks.accumulate,
    "of moments": lambda: moments.lock,
    "of the checkpoints": lambda: passes.locks.marks,
    "of the generator": lambda: adjoint.random.default_generator._lock,
    "of NumPy's generator": lambda: adjoint.random.default_generator._stream.bit_generator.lock,
}


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS.keys())
def test_a_lock_that_another_thread_holds(lock):
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock():
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        in_child(everything)
    finally:
        done.set()
        holder.join()
    everything()


FORKS = [
    10,
    pytest.param(50, marks=pytest.mark.slow),
    pytest.param(200, marks=pytest.mark.long),
]


@pytest.mark.parametrize("forks", FORKS)
def test_a_fork_at_any_moment_of_others_passes(forks):
    x = leaf(0.0, 0.0)
    stop = threading.Event()
    failures = []
    rounds = []

    def work(i):
        try:
            while not stop.is_set():
                (x * 1.0).sum().backward()
                rounds.append(i)
                everything()
        except BaseException as error:
            failures.append(error)

    pool = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in pool:
        thread.start()
    try:
        for _ in range(forks):
            in_child(everything)
    finally:
        stop.set()
        for thread in pool:
            thread.join()
    assert not failures
    assert rounds
    assert x.grad.tolist() == [float(len(rounds))] * 2


# ---- multiprocessing ----


def report(queue, model, x):
    """Of a forked process: what its hooks saw, and its gradients."""
    called = []
    (first, *_) = model.parameters()
    first.register_hook(lambda g: called.append("of the child"))
    model(x).sum().backward()
    queue.put((called, SEEN[:], first.grad.tolist(), graph.current_task_id()))


SEEN = []


def test_multiprocessing_inherits_hooks():
    SEEN.clear()
    adjoint.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    model.register_full_backward_hook(lambda *args: SEEN.append("module"))
    (first, *_) = model.parameters()
    first.register_post_accumulate_grad_hook(lambda t: SEEN.append("leaf"))
    x = adjoint.ones(1, 2, requires_grad=True)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    children = [context.Process(target=report, args=(queue, model, x)) for _ in range(2)]
    for child in children:
        child.start()
    answers = [queue.get() for _ in children]
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert first.grad is None
    assert not SEEN
    model(x).sum().backward()
    wanted = (["of the child"], ["leaf", "module"], first.grad.tolist(), -1)
    assert answers == [wanted] * 2
    assert SEEN == ["leaf", "module"]
