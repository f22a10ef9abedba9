"""The engine against PyTorch: the same events, in the same order, with the same values."""

import contextlib
import warnings

import pytest

import adjoint

torch = pytest.importorskip("torch")

LIBRARIES = {"adjoint": adjoint, "torch": torch}


def both(scenario):
    """Run a scenario in both libraries and compare what it logged."""
    logs = {}
    for name, lib in LIBRARIES.items():
        log = []
        try:
            scenario(lib, log)
        except Exception as error:
            log.append(("raised", type(error).__name__))
        logs[name] = log
    assert rounded(logs["adjoint"]) == rounded(logs["torch"])
    assert logs["torch"], "the scenario logged nothing"


def rounded(value):
    """Nested events with floats to ten digits, so that they can be compared."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, (list, tuple)):
        return [rounded(v) for v in value]
    return value


def leaf(lib, *values):
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=True)


def note(log, label):
    def hook(*args):
        flat = []
        for a in args:
            for g in a if isinstance(a, tuple) else (a,):
                flat.append(None if g is None else g.tolist())
        log.append((label, flat))

    return hook


def network(lib, log):
    x, w = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
    h = x * w
    t = h.tanh()
    y = (t * h).sum()
    for label, tensor in (("x", x), ("w", w), ("h", h), ("t", t), ("y", y)):
        tensor.register_hook(note(log, f"tensor hook of {label}"))
    for label, tensor in (("h", h), ("t", t), ("y", y)):
        tensor.grad_fn.register_prehook(note(log, f"pre-hook of {label}"))
        tensor.grad_fn.register_hook(note(log, f"post-hook of {label}"))
    w.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p.grad.tolist())))
    return x, w, h, t, y


def test_all_hooks_of_a_plain_backward():
    def scenario(lib, log):
        x, w, h, t, y = network(lib, log)
        h.retain_grad()
        y.backward()
        log.append((x.grad.tolist(), w.grad.tolist(), h.grad.tolist()))

    both(scenario)


@pytest.mark.parametrize("target", ["x", "h", "t", "y"])
def test_capture_by_grad(target):
    def scenario(lib, log):
        x, w, h, t, y = network(lib, log)
        wanted = {"x": x, "h": h, "t": t, "y": y}[target]
        (g,) = lib.autograd.grad(y, wanted)
        log.append(("answer", g.tolist()))

    both(scenario)


def test_captured_node_that_also_runs():
    """A gradient is captured before the tensor's own hooks change it, if the node runs as well."""

    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        h = x * 3
        h.register_hook(lambda g: g * 10)
        gh, gx = lib.autograd.grad((h * h).sum(), [h, x])
        log.append((gh.tolist(), gx.tolist()))

    both(scenario)


def test_captured_node_that_does_not_run():
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        h = x * 3
        h.register_hook(lambda g: g * 10)
        (gh,) = lib.autograd.grad((h * h).sum(), [h])
        log.append(gh.tolist())

    both(scenario)


@pytest.mark.parametrize("names", [["x"], ["w"], ["h"], ["x", "h"], ["t", "w"]])
def test_backward_with_inputs(names):
    def scenario(lib, log):
        x, w, h, t, y = network(lib, log)
        wanted = [{"x": x, "w": w, "h": h, "t": t}[name] for name in names]
        y.backward(inputs=wanted)
        for tensor in (x, w, h, t):
            log.append(None if tensor.grad is None else tensor.grad.tolist())

    both(scenario)


@pytest.mark.parametrize("options", [{"retain_graph": True}, {"create_graph": True}])
def test_two_passes(options):
    def scenario(lib, log):
        x, w, h, t, y = network(lib, log)
        y.backward(**options)
        y.backward()
        log.append((x.grad.tolist(), x.grad.requires_grad, x.grad.is_leaf))
        x.grad = w.grad = None

    both(scenario)


def test_hooks_replace_gradients():
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        h = x * 2
        h.register_hook(lambda g: g + 1)
        h.register_hook(note(log, "second"))
        h.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
        h.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] + outputs[0], *inputs[1:]))
        x.register_hook(lambda g: g * 0.5)
        h.sum().backward()
        log.append(x.grad.tolist())

    both(scenario)


@pytest.mark.parametrize(
    "answer", ["number", "shape", "dtype", "tuple too long", "not a tuple"], ids=str
)
def test_bad_answers_of_hooks(answer):
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        h = x * 2
        if answer == "number":
            h.register_hook(lambda g: 3)
        elif answer == "shape":
            h.register_hook(lambda g: g.sum())
        elif answer == "dtype":
            h.register_hook(lambda g: g.to(lib.float32))
        elif answer == "tuple too long":
            h.grad_fn.register_hook(lambda i, o: (i[0], i[0], i[0]))
        else:
            h.grad_fn.register_prehook(lambda grads: 3)
        h.sum().backward()

    both(scenario)


def test_hooks_added_and_removed_while_running():
    def scenario(lib, log):
        x = leaf(lib, 1.0)
        handles = []

        def remove_next(g):
            log.append("first")
            handles[1].remove()
            x.register_hook(lambda g: log.append("late"))

        handles.append(x.register_hook(remove_next))
        handles.append(x.register_hook(lambda g: log.append("second")))
        for _ in range(2):
            (x * 2).sum().backward()

    both(scenario)


def test_hooks_follow_the_value_through_an_in_place_change():
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        h = x * 2
        h.register_hook(note(log, "before"))
        h.retain_grad()
        h.mul_(3)
        h.register_hook(note(log, "after"))
        h.sum().backward()
        log.append(h.grad.tolist())

    both(scenario)


def test_order_of_independent_branches():
    def scenario(lib, log):
        x = leaf(lib, 1.0)
        branches = [x * (i + 1.0) for i in range(5)]
        for i, branch in enumerate(branches):
            branch.register_hook(note(log, i))
        total = branches[3] + branches[1]
        total = total * branches[0]
        total = total + branches[4] * branches[2]
        total.sum().backward()

    both(scenario)


def test_nested_backward_in_a_hook():
    def scenario(lib, log):
        x, inner = leaf(lib, 1.0), leaf(lib, 2.0)
        h = x * 2

        def nested(g):
            with lib.enable_grad():
                (inner * inner).sum().backward()
            log.append(("inner", inner.grad.tolist()))

        h.register_hook(nested)
        h.sum().backward()
        log.append((x.grad.tolist(), inner.grad.tolist()))

    both(scenario)


def test_names_of_nodes_and_edges():
    def scenario(lib, log):
        x, w = leaf(lib, 1.0, 2.0), leaf(lib, 3.0, 4.0)
        y = ((x * w).tanh() + x.exp() - w.sqrt()).sum()
        stack, seen = [y.grad_fn], set()
        while stack:
            node = stack.pop()
            edges = [(None if n is None else n.name(), i) for n, i in node.next_functions]
            log.append((node.name().replace("torch::autograd::", ""), len(edges)))
            for n, _ in node.next_functions:
                if n is not None and n not in seen:
                    seen.add(n)
                    stack.append(n)

    both(scenario)


def test_errors_of_grad_and_backward():
    def scenarios(lib):
        x, y = leaf(lib, 1.0, 2.0), leaf(lib, 1.0, 2.0)
        yield lambda: lib.autograd.grad((x * 2).sum(), y)
        yield lambda: lib.autograd.grad((x * 2).sum(), lib.ones(2))
        yield lambda: lib.autograd.grad(x * 2, x)
        yield lambda: lib.autograd.grad(x * 2, x, lib.ones(3))
        yield lambda: lib.ones(2).sum().backward()
        yield lambda: lib.ones(2).register_hook(lambda g: None)
        yield lambda: (x * 2).register_post_accumulate_grad_hook(lambda p: None)
        yield lambda: lib.ones(2).retain_grad()
        yield lambda: setattr(x, "grad", lib.ones(3, dtype=lib.float64))
        yield lambda: setattr(x, "grad", 3)
        yield lambda: setattr(x * 2, "requires_grad", False)
        yield lambda: lib.ones(2, dtype=lib.int64).requires_grad_()

    names = {}
    for label, lib in LIBRARIES.items():
        names[label] = []
        for i, call in enumerate(scenarios(lib)):
            with pytest.raises(Exception) as caught:
                call()
            names[label].append((i, caught.type.__name__))
    assert names["adjoint"] == names["torch"]


def recording_passes(lib):
    """Passes that make a graph, or might; some are refused."""
    x = leaf(lib, 1.0, 2.0)
    y = x * 2
    square = (y * y).sum()
    yield lambda: square.backward(create_graph=True)
    yield lambda: square.backward(create_graph=True, inputs=[x])
    yield lambda: square.backward(create_graph=True, inputs=[y])
    yield lambda: lib.autograd.backward([square], create_graph=True)
    yield lambda: y.sum().backward(create_graph=True)
    yield lambda: lib.no_grad()(square.backward)(create_graph=True)
    yield lambda: square.backward(retain_graph=True)
    yield lambda: lib.autograd.grad(square, x, create_graph=True)
    yield lambda: y.backward(create_graph=True)


def test_who_is_warned_of_a_graph_in_grad():
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    heard = {}
    try:
        for name, lib in LIBRARIES.items():
            heard[name] = []
            for call in recording_passes(lib):
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter("always")
                    with contextlib.suppress(RuntimeError):
                        call()
                heard[name].append([w.category for w in found if "create_graph" in str(w.message)])
    finally:
        torch.set_warn_always(before)
    assert heard["adjoint"] == heard["torch"]
    assert heard["torch"] == [[UserWarning]] * 6 + [[]] * 3
