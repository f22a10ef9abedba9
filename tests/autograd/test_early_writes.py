"""Gradients that are written before it is certain that a pass succeeds, and taken back if not."""

import threading
import tracemalloc

import numpy as np
import pytest

import adjoint
from adjoint.autograd import early_writes


class Stop(Exception):
    """What fails a pass on purpose."""


def leaf(*values):
    return adjoint.tensor(list(values), requires_grad=True)


def state(x):
    """Everything that a pass which fails must leave as it was."""
    grad = x.grad
    return None if grad is None else (id(grad), grad.numpy().tobytes(), grad._version)


def in_thread(function):
    failed = []

    def body():
        try:
            function()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert not failed


def within(*functions):
    """A loss in whose backward each of these functions is called, the first one first."""
    with adjoint.enable_grad():
        total = leaf(1.0) * 1.0
        for function in functions[::-1]:
            total = total * 1.0
            total.register_hook(lambda grad, function=function: function())
        return total.sum()


def fail():
    raise Stop


def add(x, value):
    """A function that adds to a gradient by a pass of its own, within another or not."""

    def call():
        with adjoint.enable_grad():
            (x * value).sum().backward()

    return call


STARTS = {
    "none": lambda x: None,
    "some": lambda x: setattr(x, "grad", adjoint.tensor([0.1, 0.2, 0.3])),
}


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert not early_writes.any_open()


@pytest.fixture(params=list(STARTS))
def x(request):
    made = leaf(1.0, 2.0, 3.0)
    STARTS[request.param](made)
    return made


def alike(x):
    """Another leaf with the same gradient."""
    made = leaf(1.0, 2.0, 3.0)
    if x.grad is not None:
        made.grad = x.grad.clone()
    return made


class TestOneThread:
    def test_a_pass_within_one_that_fails(self, x):
        before = state(x)
        with pytest.raises(Stop):
            within(add(x, 0.7), add(x, 0.9), fail).backward()
        assert state(x) == before

    def test_a_hook_on_the_accumulator(self, x):
        product = x * 3.0
        product.grad_fn.next_functions[0][0].register_hook(lambda *grads: None)
        before = state(x)
        loss = product.sum() + within(fail)
        loss.register_hook(lambda grad: None)
        with pytest.raises(Stop):
            loss.backward()
        assert state(x) == before

    def test_one_that_is_caught_keeps_what_came_before_it(self, x):
        other = alike(x)
        add(other, 0.7)()

        def caught():
            with pytest.raises(Stop):
                within(add(x, 0.9), add(x, 0.3), fail).backward()

        within(add(x, 0.7), caught).backward()
        assert state(x)[1:] == state(other)[1:]

    def test_three_deep(self, x):
        other = alike(x)
        add(other, 0.7)()
        add(other, 0.9)()

        def inner():
            with pytest.raises(Stop):
                within(add(x, 0.3), within(add(x, 0.2)).backward, fail).backward()
            add(x, 0.9)()

        within(add(x, 0.7), within(inner).backward).backward()
        assert state(x)[1:] == state(other)[1:]
        before = state(x)
        with pytest.raises(Stop):
            within(add(x, 0.7), within(inner).backward, fail).backward()
        assert state(x) == before

    @pytest.mark.parametrize("create_graph", [False, True])
    def test_a_gradient_with_a_history(self, x, create_graph):
        before = state(x)
        inner = (x * x).sum()
        with pytest.raises(Stop):
            within(lambda: inner.backward(create_graph=create_graph), add(x, 0.5), fail).backward()
        assert state(x) == before

    def test_a_retained_gradient(self):
        x = leaf(1.0, 2.0)
        y = x * 2.0
        y.retain_grad()
        loss = (y * 3.0).sum()
        loss.backward(retain_graph=True)
        before = state(y)
        x.register_hook(lambda grad: fail())
        with pytest.raises(Stop):
            loss.backward()
        assert state(y) == before

    def test_many_passes_cost_one_copy(self):
        x = adjoint.ones(250_000, requires_grad=True)
        x.grad = adjoint.zeros(250_000)
        loss = within(*[add(x, 2.0)] * 50, fail)
        tracemalloc.start()
        try:
            with pytest.raises(Stop):
                loss.backward()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 8 * x.grad.numpy().nbytes  # not fifty copies
        assert not x.grad.numpy().any()


class TestThreads:
    """What other threads add stays, as if the pass that fails had never been."""

    def test_an_addition_by_another(self, x):
        other = alike(x)
        add(other, 0.3)()
        with pytest.raises(Stop):
            within(add(x, 0.7), lambda: in_thread(add(x, 0.3)), add(x, 0.1), fail).backward()
        assert state(x)[1:] == state(other)[1:]

    def test_many_additions_by_others(self, x):
        other = alike(x)
        calls = []
        for i in range(5):
            add(other, 0.1 * i)()
            calls += [add(x, 0.7), lambda i=i: in_thread(add(x, 0.1 * i))]
        with pytest.raises(Stop):
            within(*calls, fail).backward()
        assert state(x)[1:] == state(other)[1:]

    @pytest.mark.parametrize("first_fails", [False, True])
    @pytest.mark.parametrize("second_fails", [False, True])
    @pytest.mark.parametrize("second_ends_first", [False, True])
    def test_two_that_overlap(self, x, first_fails, second_fails, second_ends_first):
        """Both write early, and end in either way and order."""
        other = alike(x)
        order = [("a", 0.7), ("b", 0.3), ("a", 0.1), ("b", 0.9), ("c", 0.4)]
        for who, value in order:
            if not (who == "a" and first_fails) and not (who == "b" and second_fails):
                add(other, value)()
        turns = [threading.Event() for _ in range(8)]

        def turn(number, *functions):
            def call():
                assert turns[number].wait(5)
                for function in functions:
                    function()
                turns[number + 1].set()

            return call

        def whole(*functions, fails):
            def call():
                try:
                    within(*functions, *([fail] if fails else [])).backward()
                except Stop:
                    assert fails
                else:
                    assert not fails
                ended.set()

            return call

        ended = threading.Event()
        ends = [5, 6] if second_ends_first else [6, 5]
        first = [turn(0, add(x, 0.7)), turn(2, add(x, 0.1)), turn(ends[0])]
        second = [turn(1, add(x, 0.3)), turn(3, add(x, 0.9)), turn(ends[1])]
        turns[0].set()
        pool = [
            threading.Thread(target=whole(*first, fails=first_fails)),
            threading.Thread(target=whole(*second, fails=second_fails)),
        ]
        for thread in pool:
            thread.start()
        turn(4, add(x, 0.4))()
        for thread in pool:
            thread.join(60)
            assert not thread.is_alive()
        assert state(x)[1] == state(other)[1] if other.grad is not None else x.grad is None

    def test_a_retained_gradient_of_a_graph_that_two_go_through(self):
        x = leaf(1.0, 2.0)
        y = x * 2.0
        y.retain_grad()
        loss = (y * 0.1).sum()

        def hook(grad):
            if threading.current_thread() is threading.main_thread():
                in_thread(lambda: loss.backward(retain_graph=True))
                fail()

        x.register_hook(hook)
        with pytest.raises(Stop):
            loss.backward(retain_graph=True)
        assert y.grad.tolist() == pytest.approx([0.1, 0.1])
        assert x.grad.tolist() == pytest.approx([0.2, 0.2])


def test_two_leaves_that_share_a_gradient_which_is_replaced():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    shared = adjoint.zeros(2).as_subclass(Plain)
    x.grad = y.grad = shared
    ((x * 2.0).sum() + (y * 5.0).sum()).backward()
    assert x.grad is y.grad is shared
    assert np.asarray(shared.array).tolist() == [7.0, 7.0]


class Plain(adjoint.Tensor):
    """A subclass, to which nothing is added in place."""

    @classmethod
    def __torch_function__(cls, function, kinds, args=(), kwargs=None):
        return super().__torch_function__(function, kinds, args, kwargs or {})
