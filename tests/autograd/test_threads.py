"""Threads: what they make is made once, what they count is counted, and no pass disturbs another.

The same in free-threaded Python. Everything waits for the threads, so a lock that is never released
shows as a test that never ends.
"""

import sys
import threading

import pytest

import adjoint
from adjoint import nn
from adjoint.autograd import Function, grad, graph
from adjoint.autograd.node import next_sequence_number
from adjoint.call import op_node

THREADS = 4
ROUNDS = [pytest.param(100, id="short"), pytest.param(1000, id="long", marks=pytest.mark.slow)]
rounds = pytest.mark.parametrize("rounds", ROUNDS)


@pytest.fixture(autouse=True)
def threads_that_switch_all_the_time():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work, threads=THREADS):
    """What `work(i)` answers in each thread, all starting at once; what one raises is raised."""
    start = threading.Barrier(threads)
    answers, failures = [None] * threads, []

    def body(i):
        try:
            start.wait()
            answers[i] = work(i)
        except BaseException as error:
            failures.append(error)

    pool = [threading.Thread(target=body, args=(i,)) for i in range(threads)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    if failures:
        raise failures[0]
    return answers


def leaf(*values):
    return adjoint.tensor(list(values), dtype=adjoint.float64, requires_grad=True)


def all_different(lists):
    return len({each for some in lists for each in some}) == sum(len(some) for some in lists)


# ---- what is counted ----


@rounds
def test_nodes_are_numbered_in_the_order_of_their_making(rounds):
    x = leaf(1.0)

    def work(i):
        own = leaf(1.0)
        made = [(own if k % 2 else x) * 2.0 for k in range(10 * rounds)]
        return [y.grad_fn._sequence_nr() for y in made] + [next_sequence_number()]

    found = together(work)
    assert all_different(found)
    assert all(numbers == sorted(numbers) for numbers in found)


@rounds
def test_no_two_hooks_have_one_id(rounds):
    x = leaf(1.0)
    y = x * 2.0
    found = together(lambda i: [y.register_hook(print).id for _ in range(10 * rounds)])
    assert all_different(found)
    assert graph.remove_hooks(y) == 10 * rounds * THREADS


@rounds
def test_no_two_passes_have_one_id(rounds):
    def work(i):
        found = []
        x = leaf(1.0)
        x.register_hook(lambda g: found.append(graph.current_task_id()))
        for _ in range(rounds):
            x.sum().backward()
        return found

    assert all_different(together(work))


@rounds
@pytest.mark.parametrize("count", ["increment_version", "add_", "view", "step"])
def test_every_change_is_counted(count, rounds):
    x = adjoint.zeros(THREADS)
    views = [x[i : i + 1] for i in range(THREADS)]
    parameter = nn.Parameter(x.detach())
    parameter.grad = adjoint.zeros(THREADS)
    optimizers = [adjoint.optim.SGD([parameter], lr=0.0) for _ in range(THREADS)]
    change = {
        "increment_version": lambda i: graph.increment_version(x),
        "add_": lambda i: x.add_(1.0),
        "view": lambda i: views[i].mul_(2.0),
        "step": lambda i: optimizers[i].step(),
    }[count]

    def work(i):
        for _ in range(10 * rounds):
            change(i)

    together(work)
    assert x._version == 10 * rounds * THREADS


# ---- what is made when it is first needed ----


@rounds
def test_a_leaf_has_one_accumulator(rounds):
    for _ in range(rounds):
        x = leaf(1.0, 2.0)
        results = together(lambda i, x=x: x * float(i))
        assert len({id(y.grad_fn.next_functions[0][0]) for y in results}) == 1


@rounds
@pytest.mark.parametrize("kind", ["leaf", "tensor", "accumulate", "pre", "post", "several outputs"])
def test_no_hook_that_is_registered_first_by_several_threads_is_lost(kind, rounds):
    def once():
        x = leaf(1.0, 2.0)
        y = x * 2.0
        parts = y.unbind()
        called = []

        def work(i):
            register = {
                "leaf": x.register_hook,
                "tensor": y.register_hook,
                "accumulate": x.register_post_accumulate_grad_hook,
                "pre": y.grad_fn.register_prehook,
                "post": y.grad_fn.register_hook,
                "several outputs": parts[i % 2].register_hook,
            }[kind]
            register(lambda *args: called.append(i))
            if kind == "leaf":
                sum(parts).backward(retain_graph=True)
                assert i in called

        together(work)
        called.clear()
        sum(parts).backward()
        assert sorted(called) == list(range(THREADS))

    for _ in range(rounds):
        once()


@rounds
def test_a_leaf_that_is_used_while_it_gets_its_first_hook(rounds):
    def once():
        x = leaf(1.0)
        called = []

        def work(i):
            if i == 0:
                x.register_hook(lambda g: called.append(i))
                return None
            return x * 2.0

        results = together(work)
        together(lambda i: None if results[i] is None else results[i].sum().backward())
        assert len(called) == THREADS - 1

    for _ in range(rounds):
        once()


@rounds
def test_one_version_counter_one_notebook_and_one_class(rounds):
    def once():
        y = leaf(1.0) * 2.0
        op_node._kinds.pop("MulBackward0", None)
        assert len({id(c) for c in together(lambda i: y.counter())}) == 1
        assert len({id(n) for n in together(lambda i: y.grad_fn.metadata)}) == 1
        results = [leaf(1.0) * 2.0 for _ in range(THREADS)]
        assert len({type(n) for n in together(lambda i: results[i].grad_fn)}) == 1

    for _ in range(rounds):
        once()


# ---- separate graphs ----


def network(x, w, order):
    """A graph with branches; its hooks note in which order they are called."""
    a = (x * w).tanh()
    b = (x + w).sin()
    c = a * b + a.exp()
    for name, tensor in (("a", a), ("b", b), ("c", c)):
        tensor.register_hook(lambda g, name=name: order.append(name))
    return (c * b).sum()


@rounds
def test_separate_graphs_give_what_they_give_alone(rounds):
    def once(i):
        order = []
        x, w = leaf(0.1 * i, 0.2, 0.3), leaf(1.0, 2.0, 3.0 + i)
        network(x, w, order).backward()
        return x.grad.tolist(), w.grad.tolist(), order

    alone = [once(i) for i in range(THREADS)]

    def work(i):
        for _ in range(rounds):
            assert once(i) == alone[i]

    together(work)


@rounds
def test_modules_functions_and_second_derivatives(rounds):
    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    adjoint.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)).double()

    def once(i):
        x = leaf(0.1 * i, 0.2, 0.3)
        (first,) = grad(module(Cube.apply(x)).sum(), x, create_graph=True)
        (second,) = grad((first**2).sum(), x)
        return first.tolist(), second.tolist()

    alone = [once(i) for i in range(THREADS)]

    def work(i):
        for _ in range(rounds):
            assert once(i) == alone[i]

    together(work)


# ---- one graph ----


@rounds
def test_one_graph_for_all_threads(rounds):
    x, w = leaf(0.1, 0.2, 0.3), leaf(1.0, 2.0, 3.0)
    order = []
    loss = network(x, w, order)
    alone = [g.tolist() for g in grad(loss, (x, w), retain_graph=True)]

    def work(i):
        for _ in range(rounds):
            found = grad(loss, (x, w), retain_graph=True, create_graph=bool(i % 2))
            assert [g.tolist() for g in found] == alone

    together(work)
    assert len(order) == 3 * (rounds * THREADS + 1)


@rounds
def test_one_graph_that_is_freed_runs_or_says_that_it_is_freed(rounds):
    def once():
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        loss = ((x * w).exp().tanh() * w * adjoint.cat([x[:1], w[1:]])).sum()
        wanted = [g.tolist() for g in grad(loss, (x, w), retain_graph=True)]
        succeeded = []

        def work(i):
            try:
                loss.backward()
            except RuntimeError as error:
                assert "second time" in str(error), error
            else:
                succeeded.append(i)

        together(work)
        assert succeeded or x.grad is None
        if succeeded:  # sums of the same number are exact
            sums = [leaf(*g) * float(len(succeeded)) for g in wanted]
            assert [x.grad.tolist(), w.grad.tolist()] == [s.tolist() for s in sums]

    for _ in range(rounds):
        once()


# ---- shared leaves ----


@rounds
@pytest.mark.parametrize("hooked", [False, True], ids=["plain", "hooked"])
@pytest.mark.parametrize("size", [1, 5000])
def test_sums_into_shared_leaves_are_exact(size, hooked, rounds):
    x = adjoint.zeros(size, dtype=adjoint.float64, requires_grad=True)
    y = adjoint.zeros(size, dtype=adjoint.float64, requires_grad=True)
    if hooked:
        x.register_post_accumulate_grad_hook(lambda t: None)
        graph.get_gradient_edge(y).node.register_hook(lambda given, answered: None)
        kept = y * 1.0  # and with it the accumulator, which has the hook

    def work(i):
        for k in range(rounds):
            (x * float(i + 1) + y * float(k)).sum().backward()

    together(work)
    assert set(x.grad.unique().tolist()) == {float(rounds * sum(range(1, THREADS + 1)))}
    assert set(y.grad.unique().tolist()) == {float(THREADS * sum(range(rounds)))}
    assert not hooked or kept.requires_grad


@rounds
def test_the_first_gradient_of_a_leaf_comes_from_several_threads(rounds):
    for _ in range(rounds):
        x = leaf(1.0, 2.0)
        together(lambda i, x=x: (x * 2.0).sum().backward())
        assert x.grad.tolist() == [2.0 * THREADS] * 2


# ---- failing beside succeeding ----


class Refusal(Exception):
    pass


def refuse(*args):
    raise Refusal


@rounds
@pytest.mark.parametrize("waits", ["nobody", "a post-hook of the leaf"])
def test_passes_that_fail_leave_those_that_succeed_alone(waits, rounds):
    x, w = leaf(0.0, 0.0), leaf(1.0, 1.0)
    accumulator = graph.get_gradient_edge(x).node
    if waits != "nobody":  # who sees the sum before the pass has ended
        accumulator.register_hook(lambda given, answered: None)

    def work(i):
        for _ in range(rounds):
            if i % 2:
                (x * 3.0).sum().backward()
                continue
            failing = w * 2.0  # the older, so that x has its gradient when this fails
            failing.register_hook(refuse)
            loss = failing.sum() + (x * 5.0).sum()
            with pytest.raises(Refusal):
                loss.backward()

    together(work)
    assert x.grad.tolist() == [3.0 * rounds * (THREADS // 2)] * 2
    assert w.grad is None


# ---- hooks that come and go ----


@rounds
@pytest.mark.parametrize("kind", ["leaf", "tensor", "accumulate", "pre", "post"])
def test_hooks_that_come_and_go_while_others_run(kind, rounds):
    x = leaf(1.0, 2.0)
    y = x.exp()
    register = {
        "leaf": x.register_hook,
        "tensor": y.register_hook,
        "accumulate": x.register_post_accumulate_grad_hook,
        "pre": y.grad_fn.register_prehook,
        "post": y.grad_fn.register_hook,
    }[kind]
    calls = []
    register(lambda *args: calls.append(0))
    loss = y.sum()
    passes = [0] * THREADS

    def work(i):
        for _ in range(rounds):
            if i % 2:
                loss.backward(retain_graph=True)
                passes[i] += 1
            else:
                with register(lambda *args: None), register(lambda *args: None, once=True):
                    loss.backward(retain_graph=True)
                    passes[i] += 1

    together(work)
    assert len(calls) == sum(passes) == rounds * THREADS
    assert len(graph.hooks(y.grad_fn if kind in ("pre", "post") else y)) <= 1 + kind.count("leaf")


@rounds
def test_a_hook_that_is_called_once_is_called_once(rounds):
    x = leaf(1.0)
    y = x * 2.0
    loss = y.sum()
    for _ in range(rounds):
        called = []
        y.register_hook(lambda g, called=called: called.append(1), once=True)
        together(lambda i: loss.backward(retain_graph=True))
        assert called == [1]


@rounds
def test_hooks_of_a_module_that_come_and_go(rounds):
    module = nn.Sequential(nn.Linear(2, 2), nn.Tanh()).double()
    x = adjoint.ones(1, 2, dtype=adjoint.float64, requires_grad=True)
    calls = []
    module.register_full_backward_hook(lambda *args: calls.append("backward"))
    module.register_forward_hook(lambda *args: calls.append("forward"))

    def work(i):
        for _ in range(rounds):
            if i % 2:
                with (
                    module.register_full_backward_hook(lambda *args: None),
                    module.register_forward_pre_hook(lambda *args: None),
                    nn.register_module_forward_hook(lambda *args: None),
                ):
                    module(x).sum().backward()
            else:
                module(x).sum().backward()

    together(work)
    assert calls.count("forward") == calls.count("backward") == rounds * THREADS
