"""The engine: order, sums, what may fail and what is left behind."""

import contextvars
import gc
import os
import signal
import threading
import weakref

import numpy as np
import pytest

import adjoint
from adjoint.autograd import grad
from adjoint.autograd.graph import queue_callback


def leaf(*values, dtype=adjoint.float64):
    return adjoint.tensor(list(values), dtype=dtype, requires_grad=True)


def values(tensor):
    return tensor.detach().tolist()


class TestRoots:
    def test_scalar_root_starts_with_one(self):
        x = leaf(2.0, 3.0)
        (x * x).sum().backward()
        assert values(x.grad) == [4.0, 6.0]

    def test_several_roots_add_up(self):
        x = leaf(2.0)
        adjoint.autograd.backward([x * 3, x * 4], [adjoint.ones(1).double()] * 2)
        assert values(x.grad) == [7.0]

    def test_root_without_graph_is_refused_by_its_place(self):
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
            adjoint.autograd.backward([x.sum(), adjoint.ones(1).sum()])

    def test_missing_gradient_for_a_vector(self):
        with pytest.raises(RuntimeError, match="only for scalar outputs.*shape \\[2\\]"):
            (leaf(1.0, 2.0) * 2).backward()

    def test_gradient_of_wrong_shape(self):
        with pytest.raises(RuntimeError, match="Mismatch in shape"):
            (leaf(1.0, 2.0) * 2).backward(adjoint.ones(3).double())

    def test_counts_must_agree(self):
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="1 tensors and 2 gradients"):
            adjoint.autograd.backward([x * 2], [x, x])

    def test_gradient_must_be_a_tensor(self):
        with pytest.raises(TypeError, match="element 0 is a float"):
            adjoint.autograd.backward([leaf(1.0) * 2], [1.0])

    def test_leaf_as_root(self):
        x = leaf(5.0)
        x.backward()
        assert values(x.grad) == [1.0]

    def test_complex_scalar_needs_its_gradient(self):
        z = adjoint.tensor(1 + 2j, requires_grad=True)
        with pytest.raises(RuntimeError, match="real scalar"):
            (z * z).backward()


class TestInputs:
    def test_only_what_leads_to_the_inputs_runs(self):
        x, y = leaf(2.0), leaf(3.0)
        ran = []
        other = y * y
        other.grad_fn.register_hook(lambda *a: ran.append("y"))
        (x * x + other).sum().backward(inputs=[x])
        assert values(x.grad) == [4.0]
        assert y.grad is None
        assert not ran

    def test_inner_tensor_gets_its_grad(self):
        x = leaf(2.0)
        h = x * 3
        (h * h).sum().backward(inputs=[h])
        assert values(h.grad) == [12.0]
        assert x.grad is None

    def test_empty_inputs_are_refused(self):
        with pytest.raises(RuntimeError, match="inputs is empty"):
            leaf(1.0).sum().backward(inputs=[])
        for given in ({}, {"is_grads_batched": True, "grad_outputs": leaf(1.0)}):
            with pytest.raises(RuntimeError, match="inputs is empty"):
                grad(leaf(1.0).sum(), [], **given)

    def test_wrong_kind_of_input_is_refused_by_name(self):
        x = leaf(1.0)
        with pytest.raises(TypeError, match="element 1 is a str"):
            grad(x.sum(), [x, "x"])

    def test_unused_input(self):
        x, y = leaf(1.0), leaf(1.0)
        loss = (x * 2).sum()
        with pytest.raises(RuntimeError, match="element 1 of inputs.*allow_unused"):
            grad(loss, [x, y])
        loss = (x * 2).sum()
        assert grad(loss, [x, y], allow_unused=True)[1] is None
        loss = (x * 2).sum()
        assert values(grad(loss, [x, y], materialize_grads=True)[1]) == [0.0]

    def test_input_that_needs_no_grad(self):
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="does not require grad: element 0"):
            grad(x.sum(), adjoint.ones(1))

    def test_grad_leaves_grad_alone(self):
        x = leaf(3.0)
        assert values(grad((x * x).sum(), x)[0]) == [6.0]
        assert x.grad is None

    def test_gradient_edges(self):
        x = leaf(3.0)
        h = x * 2
        edge = adjoint.autograd.graph.GradientEdge(h.grad_fn, 0)
        assert values(grad((h * h).sum(), edge)[0]) == [12.0]
        h = x * 2
        edge = adjoint.autograd.graph.GradientEdge(h.grad_fn, 0)
        adjoint.autograd.backward(edge, adjoint.ones(1).double())
        assert values(x.grad) == [2.0]


class TestOrder:
    def test_newest_ready_node_runs_first(self):
        x = leaf(1.0)
        order = []
        nodes = []
        for name in "abc":
            node = (x * 2).grad_fn
            nodes.append((name, node))
        branches = [x * (i + 1) for i in range(4)]
        for i, branch in enumerate(branches):
            branch.grad_fn.register_hook(lambda *a, i=i: order.append(i))
        total = branches[2] + branches[0]
        total = total + branches[3] + branches[1]
        total.sum().backward()
        assert order == [3, 2, 1, 0]

    def test_leaf_is_written_as_soon_as_it_is_ready(self):
        x, y = leaf(1.0), leaf(1.0)
        order = []
        y.register_post_accumulate_grad_hook(lambda p: order.append("y"))
        early = x * 2
        early.grad_fn.register_hook(lambda *a: order.append("early"))
        (early * y).sum().backward()
        assert order == ["y", "early"]

    def test_node_waits_for_all_its_gradients(self):
        x = leaf(2.0)
        h = x * x
        seen = []
        h.register_hook(lambda g: seen.append(values(g)))
        (h * 2 + h * 3 + h).sum().backward()
        assert seen == [[6.0]]


class TestFreeing:
    def test_second_pass_is_refused_with_the_way_out(self):
        x = leaf(2.0)
        loss = (x * x).sum()
        loss.backward()
        with pytest.raises(RuntimeError, match="second time.*MulBackward0.*retain_graph=True"):
            loss.backward()

    def test_retain_graph(self):
        x = leaf(2.0)
        loss = (x * x).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        assert values(x.grad) == [8.0]

    def test_graph_that_saved_nothing_can_run_again(self):
        x = leaf(2.0)
        loss = (x + x).sum()
        loss.backward()
        loss.backward()
        assert values(x.grad) == [4.0]

    def test_create_graph_keeps_and_differentiates(self):
        x = leaf(2.0)
        (x * x * x).sum().backward(create_graph=True)
        assert x.grad.requires_grad
        (second,) = grad(x.grad.sum(), x)
        assert values(second) == [12.0]
        x.grad = None

    def test_nothing_is_kept_alive_without_the_collector(self):
        gc.collect()
        gc.disable()
        try:
            x = leaf(2.0)
            y = x * x
            node, middle = weakref.ref(y.grad_fn), weakref.ref(y)
            z = y.tanh().sum()
            z.backward()
            del y, z
            assert node() is None
            assert middle() is None
            (first,) = grad((x * x).sum(), x, create_graph=True)
            node = weakref.ref(first.grad_fn)
            del first
            assert node() is None
        finally:
            gc.enable()

    @pytest.mark.parametrize("length", [1_000_000])
    def test_a_million_nodes(self, length):
        x = leaf(1.0)
        h = x
        for _ in range(length):
            h = h + 1.0
        assert "AddBackward0" in repr(h)
        h.sum().backward()
        assert values(x.grad) == [1.0]
        del h

    def test_a_million_nodes_dropped_without_backward(self):
        h = leaf(1.0)
        for _ in range(1_000_000):
            h = h * 1.0
        last = weakref.ref(h.grad_fn)
        del h
        assert last() is None


class TestLeaves:
    def test_gradients_accumulate_in_place(self):
        x = leaf(1.0)
        (x * 2).sum().backward()
        first = x.grad
        (x * 3).sum().backward()
        assert x.grad is first
        assert values(first) == [5.0]

    def test_two_leaves_never_share_memory(self):
        x, y = leaf(1.0, 2.0), leaf(1.0, 2.0)
        (x + y).sum().backward()
        assert not np.shares_memory(x.grad.numpy(), y.grad.numpy())

    def test_given_gradient_is_not_the_users_memory(self):
        x = leaf(1.0, 2.0)
        given = adjoint.tensor([5.0, 6.0]).double()
        (x + 0).backward(given)
        given.mul_(0)
        assert values(x.grad) == [5.0, 6.0]

    def test_hook_that_keeps_the_gradient_keeps_its_own(self):
        x = leaf(1.0, 2.0)
        kept = []
        x.register_hook(lambda g: kept.append(g))
        (x * 3).sum().backward()
        x.grad.mul_(0)
        assert values(kept[0]) == [3.0, 3.0]

    def test_layout_follows_the_leaf(self):
        data = adjoint.tensor(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
        x = data.t().detach().requires_grad_()
        (x * x).sum().backward()
        assert x.grad.stride() == x.stride()

    def test_broadcast_is_undone_and_dtype_cast_back(self):
        x = leaf(1.0, dtype=adjoint.float32)
        y = adjoint.ones(3, 4, dtype=adjoint.float64)
        (x * y).sum().backward()
        assert x.grad.dtype is adjoint.float32
        assert values(x.grad) == [12.0]


class TestFailure:
    def make(self):
        x, w = leaf(1.0), leaf(2.0)
        w.grad = adjoint.tensor([10.0]).double()
        h = x * 3
        return x, w, h, (h * w).sum()

    def test_original_exception_with_a_note_and_no_grad_changed(self):
        x, w, h, loss = self.make()
        error = ValueError("from the hook")

        def fail(gradient):
            raise error

        h.register_hook(fail)
        with pytest.raises(ValueError, match="from the hook") as caught:
            loss.backward()
        assert caught.value is error
        assert any("MulBackward0" in note for note in error.__notes__)
        assert x.grad is None
        assert values(w.grad) == [10.0]

    def test_every_position_of_a_failure(self):
        """Fail at the n-th hook, for every n: no grad changes, and the next pass is right."""
        count = 0
        fail_at = -1

        def hook(*args):
            nonlocal count
            count += 1
            if count == fail_at:
                raise KeyError(count)

        def build():
            a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
            p = a * b
            q = p * c
            r = (q + p) * b
            for t in (a, b, c, p, q, r):
                t.register_hook(hook)
            for t in (p, q, r):
                t.grad_fn.register_prehook(hook)
                t.grad_fn.register_hook(hook)
            return (a, b, c), r.sum()

        leaves, loss = build()
        loss.backward()
        total, expected = count, [values(t.grad) for t in leaves]
        assert total == 12
        for n in range(1, total + 1):
            leaves, loss = build()
            count, fail_at = 0, n
            with pytest.raises(KeyError):
                loss.backward(retain_graph=True)
            assert [t.grad for t in leaves] == [None] * 3
            count, fail_at = 0, -1
            loss.backward()
            assert [values(t.grad) for t in leaves] == expected

    def test_early_written_leaf_is_put_back(self):
        x, w, h, loss = self.make()
        seen = []
        accumulator = h.grad_fn.next_functions[0][0]
        node = loss.grad_fn.next_functions[0][0].next_functions[1][0]
        node.register_hook(lambda *a: seen.append(values(w.grad)))

        def fail(*args):
            raise ZeroDivisionError

        h.grad_fn.register_hook(fail)
        with pytest.raises(ZeroDivisionError):
            loss.backward()
        assert seen == [[13.0]]
        assert values(w.grad) == [10.0]
        assert accumulator.variable is x

    def test_post_accumulate_hook_is_the_exception_and_the_note_says_so(self):
        x, w, h, loss = self.make()
        w.register_post_accumulate_grad_hook(lambda p: None)

        def fail(gradient):
            raise ValueError

        h.register_hook(fail)
        with pytest.raises(ValueError) as caught:
            loss.backward()
        assert values(w.grad) == [13.0]
        assert "post-accumulate" in caught.value.__notes__[-1]

    def test_inner_pass_is_rolled_back_with_the_outer(self):
        x, inner = leaf(1.0), leaf(2.0)
        inner.grad = adjoint.tensor([1.0]).double()
        h = x * 2

        def nested(gradient):
            with adjoint.enable_grad():
                (inner * 5).sum().backward()
            assert values(inner.grad) == [6.0]
            raise ValueError

        h.register_hook(nested)
        with pytest.raises(ValueError):
            h.sum().backward()
        assert values(inner.grad) == [1.0]

    def test_interrupt_between_two_nodes(self):
        x, w, h, loss = self.make()
        h.register_hook(lambda g: signal.raise_signal(signal.SIGINT))  # to this very thread
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                loss.backward()
        finally:
            signal.signal(signal.SIGINT, before)
        assert x.grad is None
        assert values(w.grad) == [10.0]


class TestNested:
    def test_backward_within_a_hook_any_depth(self):
        depth = 400

        def go(left):
            with adjoint.enable_grad():
                x = leaf(1.0)
                h = x * 2
                if left:
                    h.register_hook(lambda g: go(left - 1))
                h.sum().backward()
                assert values(x.grad) == [2.0]

        go(depth)

    def test_error_of_the_innermost_pass_reaches_the_caller(self):
        def go(left):
            with adjoint.enable_grad():
                x = leaf(1.0)
                h = x * 2
                if not left:
                    raise LookupError("deep down")
                h.register_hook(lambda g: go(left - 1))
                h.sum().backward()

        with pytest.raises(LookupError, match="deep down"):
            go(40)

    def test_grad_mode_inside_hooks(self):
        x = leaf(1.0)
        seen = []
        h = x * 2
        h.register_hook(lambda g: seen.append(adjoint.is_grad_enabled()))
        h.sum().backward(retain_graph=True)
        h.sum().backward(create_graph=True)
        assert seen == [False, True]
        assert adjoint.is_grad_enabled()
        x.grad = None


class TestCallbacks:
    def test_run_when_the_pass_ends_and_may_queue_more(self):
        x = leaf(1.0)
        log = []

        def second():
            log.append(("second", values(x.grad)))

        def first():
            log.append(("first", values(x.grad)))
            queue_callback(second)

        h = x * 2
        h.register_hook(lambda g: queue_callback(first))
        h.sum().backward()
        assert log == [("first", [2.0]), ("second", [2.0])]

    def test_outside_a_pass(self):
        with pytest.raises(RuntimeError, match="during backward pass"):
            queue_callback(lambda: None)

    def test_errors_reach_the_caller(self):
        x = leaf(1.0)
        h = x * 2

        def fail():
            raise OSError("late")

        h.register_hook(lambda g: queue_callback(fail))
        with pytest.raises(OSError, match="late"):
            h.sum().backward()


class TestThreads:
    def test_sums_into_a_shared_leaf_are_exact(self):
        x = adjoint.zeros(50_000, dtype=adjoint.float64, requires_grad=True)

        def work():
            for _ in range(20):
                (x * 1.0).sum().backward()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert set(x.grad.unique().tolist()) == {80.0}

    def test_one_graph_from_several_threads(self):
        x = leaf(3.0)
        loss = (x * x).tanh().sum()
        loss.backward(retain_graph=True)
        once = values(x.grad)[0]
        x.grad = None
        failures = []

        def work():
            try:
                for _ in range(50):
                    loss.backward(retain_graph=True)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures
        assert values(x.grad)[0] == pytest.approx(200 * once)

    def test_context_variables_reach_hooks(self):
        variable = contextvars.ContextVar("variable", default="none")
        x = leaf(1.0)
        seen = []
        x.register_hook(lambda g: seen.append(variable.get()))
        token = variable.set("mine")
        (x * 2).sum().backward()
        variable.reset(token)
        assert seen == ["mine"]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
    def test_child_process_can_run_backward(self):
        x = leaf(3.0)
        loss = (x * x).sum()
        outcome = []

        def fork_inside(gradient):
            child = os.fork()
            if child == 0:
                try:
                    with adjoint.enable_grad():
                        y = leaf(2.0)
                        (y * y).sum().backward()
                    os._exit(0 if values(y.grad) == [4.0] else 1)
                except BaseException:
                    os._exit(2)
            outcome.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

        x.register_hook(fork_inside)
        loss.backward()
        fork_inside(None)
        assert outcome == [0, 0]
        assert values(x.grad) == [6.0]


class TestBatches:
    def test_a_batch_of_gradients_gives_a_batch(self):
        x, y = leaf(1.0, 2.0), leaf(3.0)
        out = x * y
        batch = adjoint.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 5.0]]).double()
        by_x, by_y = adjoint.autograd.grad(out, (x, y), batch, is_grads_batched=True)
        assert by_x.tolist() == [[3.0, 0.0], [0.0, 3.0], [6.0, 15.0]]
        assert by_y.tolist() == [[1.0], [2.0], [12.0]]

    def test_what_is_not_used_is_none_or_zeros(self):
        x, other = leaf(1.0), leaf(2.0, 3.0)
        batch = adjoint.ones(4, 1).double()
        options = {"is_grads_batched": True, "retain_graph": True}
        out = x * 2
        _, none = adjoint.autograd.grad(out, (x, other), batch, allow_unused=True, **options)
        assert none is None
        _, zeros = adjoint.autograd.grad(out, (x, other), batch, materialize_grads=True, **options)
        assert zeros.shape == (4, 2)

    def test_a_retained_gradient_does_not_outlive_its_batch(self):
        x = leaf(1.0)
        middle = x * 3
        middle.retain_grad()
        out = middle * 2
        batch = adjoint.ones(4, 1).double()
        for _ in range(2):
            (found,) = adjoint.autograd.grad(
                out, x, batch, is_grads_batched=True, retain_graph=True
            )
            assert found.tolist() == [[6.0]] * 4
        out.backward()
        assert middle.grad.tolist() == [2.0]

    def test_sizes_must_agree(self):
        x = leaf(1.0)
        outputs = (x * 2, x * 3)
        batches = (adjoint.ones(2, 1).double(), adjoint.ones(3, 1).double())
        with pytest.raises(RuntimeError, match="of one size"):
            adjoint.autograd.grad(outputs, x, batches, is_grads_batched=True)
