"""The graph's public face: edges, questions inside a pass, hooks over many tensors or nodes."""

import logging
import pickle
import threading
import weakref

import pytest

import adjoint
from adjoint.autograd import graph


def leaf(*values):
    return adjoint.tensor(list(values), dtype=adjoint.float64, requires_grad=True)


# ---- nodes and edges ----


def test_nodes_are_nodes():
    x = leaf(1.0, 2.0)
    y = x.exp()
    view = y[:1]
    view.mul_(2)
    for node in (y.grad_fn, view.grad_fn, graph.get_gradient_edge(x).node):
        assert isinstance(node, graph.Node)
    assert not isinstance(x, graph.Node)
    y.grad_fn.metadata["mine"] = 1
    assert y.grad_fn.metadata == {"mine": 1}


def test_gradient_edges():
    x = leaf(1.0, 2.0)
    first, second = (x * 1).unbind()
    edge = graph.get_gradient_edge(second)
    assert edge == graph.GradientEdge(second.grad_fn, 1)
    end = graph.get_gradient_edge(x)
    assert end.node.name() == "AccumulateGrad" and end.output_nr == 0
    (a, b) = adjoint.autograd.grad((first * second), [edge, end])
    assert a.item() == 1.0 and b.tolist() == [2.0, 1.0]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(adjoint.ones(2))
    base = x.clone()
    view = base[:1]
    base.mul_(2)
    assert graph.get_gradient_edge(view).node is view.grad_fn


# ---- questions inside a pass ----


def test_outside_of_a_pass():
    node = leaf(1.0).exp().grad_fn
    assert graph.current_node() is None
    assert graph.current_task_id() == -1
    assert graph.is_checkpoint_valid()
    with pytest.raises(RuntimeError, match="during the backward pass"):
        graph.will_run(node)
    with pytest.raises(RuntimeError, match="during the backward pass"):
        graph.execution_order()
    with pytest.raises(RuntimeError, match="during backward pass"):
        graph.queue_callback(print)


def test_current_node_and_task():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y.sum()
    seen = []
    for tensor in (x, y, z):
        tensor.register_hook(
            lambda grad: seen.append((graph.current_task_id(), graph.current_node()))
        )
    z.backward(retain_graph=True)
    z.backward()
    nodes = [z.grad_fn, y.grad_fn, graph.get_gradient_edge(x).node]
    assert [node for _, node in seen] == nodes * 2
    ids = [number for number, _ in seen]
    assert ids == [ids[0]] * 3 + [ids[0] + 1] * 3


def test_current_node_where_tensors_are_unpacked():
    nodes = []
    with graph.saved_tensors_hooks(
        lambda t: t, lambda t: (nodes.append(graph.current_node()), t)[1]
    ):
        y = leaf(1.0).sin()
    z = y * 2
    z.sum().backward()
    assert nodes == [y.grad_fn]


def test_a_task_of_its_own_for_a_pass_within_a_pass():
    x = leaf(1.0)
    ids = []

    @adjoint.enable_grad()
    def inner(grad):
        z = x * 2
        z.register_hook(lambda grad: ids.append(graph.current_task_id()))
        z.sum().backward()
        ids.append(graph.current_task_id())

    y = x * 3
    y.register_hook(inner)
    y.sum().backward()
    assert ids[0] != ids[1] and -1 not in ids


def test_will_run():
    a, b = leaf(1.0, 2.0), leaf(3.0, 4.0)
    c = a * b
    unused = c.cos()
    d = c.exp()
    out = d.sum()
    nodes = {
        n: graph.get_gradient_edge(t).node
        for n, t in {"a": a, "b": b, "c": c, "d": d, "unused": unused}.items()
    }
    answers = []
    d.register_hook(lambda grad: answers.append({n for n in nodes if graph.will_run(nodes[n])}))
    out.backward(retain_graph=True)
    out.backward(inputs=[a], retain_graph=True)
    out.backward(inputs=[c], retain_graph=True)
    adjoint.autograd.grad(out, c, retain_graph=True)
    assert answers == [{"a", "b", "c", "d"}, {"a", "c", "d"}, {"c", "d"}, {"c", "d"}]
    with pytest.raises(RuntimeError, match=r"currently running autograd.grad\(\)"):
        adjoint.autograd.grad(out, a, retain_graph=True)
    d.register_hook(lambda grad: graph.will_run(3))
    with pytest.raises(TypeError, match="int"):
        out.backward(inputs=[c])


def order_programs(lib):
    """Graphs whose order is not that of a chain: the outputs, and the inputs to restrict to."""
    a, b = (lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in (1.0, 2.0))
    yield [b.sin() * a.cos()], None
    yield [a.sin() * a.cos()], None
    c = a * 2
    yield [c.sin(), c.cos(), c.cos()], None
    d = a.exp()
    e = d * b
    yield [e * d, e], None
    yield [(e * d).sin() + b], [a]
    yield [(e * d).sin() + b], [d]
    yield [(a * b) * (b * a).exp()], [a, b]


@pytest.mark.parametrize("number", range(7))
def test_execution_order_is_that_of_the_pass(number):
    outputs, inputs = list(order_programs(adjoint))[number]
    actual = []

    def watch(node, seen):
        if node is not None and node not in seen:
            seen.add(node)
            node.register_prehook(lambda grads: actual.append(graph.current_node()))
            for following, _ in node.next_functions:
                watch(following, seen)

    seen = set()
    for output in outputs:
        watch(output.grad_fn, seen)
    predicted = []
    outputs[-1].register_hook(lambda grad: predicted.append(graph.execution_order()))
    adjoint.autograd.backward(outputs, inputs=inputs)
    assert actual and predicted == [actual]


@pytest.mark.parametrize("number", [0, 1, 2, 4, 5, 6])  # the other is a bug of PyTorch's
def test_execution_order_is_pytorchs(number):
    torch = pytest.importorskip("torch")
    names = {}
    for lib in (adjoint, torch):
        outputs, inputs = list(order_programs(lib))[number]
        order = (
            graph.execution_order
            if lib is adjoint
            else torch._C._current_graph_task_execution_order
        )
        found = []
        outputs[-1].register_hook(lambda grad, found=found, order=order: found.append(order()))
        with torch.autograd.set_multithreading_enabled(False):
            lib.autograd.backward(outputs, inputs=inputs)
        names[lib] = [[node.name().rpartition(":")[2] for node in nodes] for nodes in found]
    assert names[adjoint] == names[torch]


def test_checkpoints_are_valid_in_whole_passes_only():
    x = leaf(1.0)
    answers = []

    @adjoint.enable_grad()
    def nested(grad):
        inner = x * 2
        inner.register_hook(lambda grad: answers.append(graph.is_checkpoint_valid()))
        inner.sum().backward()

    y = x * 3
    y.register_hook(nested)
    y.sum().backward(retain_graph=True)
    y.sum().backward(inputs=[x])
    assert answers == [True, False]


def test_callbacks_run_when_the_pass_ends():
    x = leaf(1.0)
    y = x * 2
    events = []

    def last():
        events.append(("last", x.grad.tolist()))

    def first():
        events.append("first")
        graph.queue_callback(last)

    def hook(grad):
        graph.queue_callback(first)
        events.append("hook")

    y.register_hook(hook)
    y.sum().backward(retain_graph=True)
    assert events == ["hook", "first", ("last", [2.0])]

    def fail():
        raise KeyError("callback")

    y.register_hook(lambda grad: graph.queue_callback(fail))
    with pytest.raises(KeyError):
        y.sum().backward()


# ---- hooks over several tensors ----


def test_multi_grad_all():
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    p, q, r = a * 1, b * 1, c * 1
    seen = []
    handle = graph.register_multi_grad_hook(
        [p, q, b, r], lambda grads: seen.append([None if g is None else g.item() for g in grads])
    )
    out = (p * q).sum()
    out.backward(retain_graph=True)
    assert seen == [[2.0, 1.0, 1.0, None]]
    out.backward(inputs=[p], retain_graph=True)
    assert seen[1:] == [[2.0, None, None, None]]
    r.sum().backward(retain_graph=True)
    assert seen[2:] == [[None, None, None, 1.0]]
    adjoint.autograd.grad(out, [b], retain_graph=True)
    assert seen[3:] == [[None, 1.0, 1.0, None]]
    (p * 2).sum().backward(inputs=[a], retain_graph=True)
    assert len(seen) == 5
    handle.remove()
    handle.remove()
    out.backward()
    assert len(seen) == 5 and graph.hooks(p) == []


def test_multi_grad_any():
    a = leaf(1.0)
    p, q = a.sin(), a.cos()
    seen = []
    with graph.register_multi_grad_hook([p, q], lambda grad: seen.append(grad.item()), mode="any"):
        (p * 3 + q * 5).sum().backward(retain_graph=True)
        assert seen == [5.0]
        (p * 3).sum().backward(retain_graph=True)
        assert seen == [5.0, 3.0]
    (p * q).sum().backward()
    assert len(seen) == 2


def test_multi_grad_after_a_failure():
    a, b = leaf(1.0), leaf(2.0)
    p, q = a * 1, b * 1
    seen = []
    graph.register_multi_grad_hook([p, q], lambda grads: seen.append([g.item() for g in grads]))
    broken = p.exp()

    def fail(grad):
        raise KeyError

    handle = broken.register_hook(fail)
    out = (broken * q).sum()
    q.register_hook(lambda grad: None)
    with pytest.raises(KeyError):
        out.backward(retain_graph=True)
    assert seen == []
    handle.remove()
    out.backward()
    assert len(seen) == 1


def test_multi_grad_in_several_threads():
    """Passes at the same time do not see each other's gradients."""
    a, b = leaf(1.0), leaf(2.0)
    p, q = a * 1, b * 1
    seen = []
    meet = threading.Barrier(4)

    def wait(grad):
        meet.wait(60)

    q.register_hook(wait)
    graph.register_multi_grad_hook([p, q], lambda grads: seen.append([g.item() for g in grads]))

    def run(factor):
        (p * factor + q * factor * 10).sum().backward(retain_graph=True)

    threads = [threading.Thread(target=run, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [[float(i), i * 10.0] for i in range(4)]


def test_multi_grad_refusals():
    a = leaf(1.0)
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got foo"):
        graph.register_multi_grad_hook([a], print, mode="foo")
    with pytest.raises(RuntimeError, match="element 1"):
        graph.register_multi_grad_hook([a, adjoint.ones(1)], print)
    assert graph.hooks(a) == []
    graph.register_multi_grad_hook((), print).remove()


def test_multi_grad_of_one_tensor_twice_and_its_name():
    a = leaf(1.0)
    seen = []

    def both(grads):
        seen.append(len(grads))

    graph.register_multi_grad_hook([a, a], both)
    (a * 2).sum().backward()
    assert seen == [2]
    assert {record.name for record in graph.hooks(a)} == {both.__qualname__}


def test_the_handle_of_several_hooks_is_pickled():
    handle = graph.register_multi_grad_hook([leaf(1.0), leaf(2.0)], len)
    loaded = pickle.loads(pickle.dumps(handle))
    assert [h.id for h in loaded.handles] == [h.id for h in handle.handles]
    loaded.remove()


# ---- hooks of a region ----


def test_node_hooks():
    x = leaf(1.0, 2.0)
    before = x * 2
    events = []
    region = graph.node_hooks(
        pre=lambda node, grads: events.append(("pre", node.name(), len(grads))),
        post=lambda node, ins, outs: events.append(("post", node.name(), len(ins))),
        name="region",
    )
    with region:
        inside = before.exp()
        with graph.node_hooks(pre=lambda node, grads: (grads[0] * 10,)):
            deeper = inside.sin()
    out = deeper.sum()
    assert {r.name for r in graph.hooks(inside.grad_fn)} == {"region"}
    assert graph.hooks(before.grad_fn) == [] and graph.hooks(out.grad_fn) == []
    out.backward()
    assert events == [
        ("pre", "SinBackward0", 1),
        ("post", "SinBackward0", 1),
        ("pre", "ExpBackward0", 1),
        ("post", "ExpBackward0", 1),
    ]
    value = (x * 2).exp().detach()
    assert adjoint.allclose(x.grad, 20 * value.cos() * value)


def test_node_hooks_see_in_place_changes_and_gradients_of_gradients():
    x = leaf(1.0, 2.0, 3.0)
    names = []
    with graph.node_hooks(pre=lambda node, grads: names.append(node.name())):
        y = x.clone()
        y.mul_(2)
        y[:1].mul_(3)
        (first,) = adjoint.autograd.grad((y * y).sum(), x, create_graph=True)
        seen = set(names)
        assert {"CloneBackward0", "CopySlices", "MulBackward0"} <= seen
        names.clear()
    first.sum().backward()
    assert names


def test_node_hooks_are_refused():
    with pytest.raises(TypeError, match="pre hook"):
        graph.node_hooks()
    with pytest.raises(TypeError, match="post must be callable, got int"):
        graph.node_hooks(post=3)


def test_the_node_of_a_region_hook_is_not_kept():
    x = leaf(1.0)
    with graph.node_hooks(pre=lambda node, grads: None):
        y = x.exp()
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


# ---- the log ----


def test_a_pass_is_logged_at_debug(caplog):
    x = leaf(1.0, 2.0)
    y = (x * 2).sum()
    with caplog.at_level(logging.DEBUG, logger="adjoint.autograd.graph"):
        y.backward(retain_graph=True)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 3
    for name, line in zip(("SumBackward0", "MulBackward0", "AccumulateGrad"), lines):
        assert f"Executing: <{name} object at" in line
    assert "float64[]" in lines[0] and "float64[2]" in lines[1]
    assert x.grad.tolist() == [2.0, 2.0]
    caplog.clear()
    y.backward()
    assert not caplog.records
    assert graph.hooks(x) == [] and graph.hooks(y.grad_fn) == []


def test_stream_mismatch_switch():
    graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    graph.set_warn_on_accumulate_grad_stream_mismatch(True)
    with pytest.raises(TypeError, match="str"):
        graph.set_warn_on_accumulate_grad_stream_mismatch("yes")


# ---- nodes as tools see them ----


def test_nodes_have_classes_named_after_their_ops():
    x = adjoint.ones(2, requires_grad=True)
    node = ((x * 2).sin() + x).grad_fn
    assert type(node).__name__ == node.name() == "AddBackward0"
    names = [type(following).__name__ for following, _ in node.next_functions]
    assert names == ["SinBackward0", "AccumulateGrad"]
    assert isinstance(node, graph.Node)
    assert type((x + 1).grad_fn) is type(node)


def test_a_node_can_be_called():
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    y = x * adjoint.tensor([3.0, 4.0])
    first, second = y.grad_fn(adjoint.ones(2))
    assert first.tolist() == [3.0, 4.0]
    assert second is None
    square = x**2
    (slope,) = adjoint.autograd.grad(square.grad_fn(adjoint.ones(2))[0].sum(), x)
    assert slope.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError, match="expected 1 arguments, got 2"):
        y.grad_fn(adjoint.ones(2), adjoint.ones(2))


def test_an_edge_takes_its_gradient_as_its_tensor_does():
    x = adjoint.tensor([2.0], requires_grad=True)
    edge = graph.get_gradient_edge(x**3)
    (slope,) = adjoint.autograd.grad(edge, x, retain_graph=True)
    assert slope.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        adjoint.autograd.grad(edge, x, adjoint.ones(2), retain_graph=True)
    wide = graph.get_gradient_edge(adjoint.ones(3, requires_grad=True) * 2)
    with pytest.raises(RuntimeError, match="implicitly created only for scalar"):
        adjoint.autograd.backward([wide])


class TestEdgesThatLeadNowhere:
    """PyTorch crashes on some of these."""

    @pytest.mark.parametrize("number", [1, 5, -1])
    def test_an_output_that_is_not_there(self, number):
        x = adjoint.ones(3, requires_grad=True)
        y = (x * 2).sum()
        edge = graph.GradientEdge(y.grad_fn, number)
        for call in (
            lambda: adjoint.autograd.grad(edge, [x]),
            lambda: adjoint.autograd.grad(y, [edge]),
            lambda: adjoint.autograd.backward(edge),
            lambda: adjoint.autograd.backward(y, inputs=[edge]),
        ):
            with pytest.raises(IndexError, match=f"output {number} of SumBackward0, which has 1"):
                call()
        assert x.grad is None

    def test_one_of_several_outputs(self):
        x = adjoint.ones(2, 3, requires_grad=True)
        first, second = x.unbind()
        node = first.grad_fn
        (found,) = adjoint.autograd.grad(
            graph.GradientEdge(node, 1), [x], adjoint.ones(3), retain_graph=True
        )
        assert found.tolist() == [[0.0] * 3, [1.0] * 3]
        with pytest.raises(IndexError, match="output 2 of UnbindBackward0, which has 2"):
            adjoint.autograd.grad(graph.GradientEdge(node, 2), [x], adjoint.ones(3))

    @pytest.mark.parametrize(("node", "number"), [(None, 0), ("own", "0"), ("own", 0.0)])
    def test_of_another_type(self, node, number):
        x = adjoint.ones(3, requires_grad=True)
        y = (x * 2).sum()
        edge = graph.GradientEdge(y.grad_fn if node == "own" else node, number)
        with pytest.raises(TypeError, match="element 0 is"):
            adjoint.autograd.grad(edge, [x])
