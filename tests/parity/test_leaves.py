"""The gradients of leaves against PyTorch: data types, layouts, and who sees what."""

import pytest

import adjoint

torch = pytest.importorskip("torch")

LIBRARIES = {"adjoint": adjoint, "torch": torch}


def both(scenario):
    """Run a scenario in both libraries and compare what it logged."""
    logs = []
    for lib in LIBRARIES.values():
        log = []
        scenario(lib, log)
        logs.append(log)
    assert logs[0] == logs[1]
    assert logs[1], "the scenario logged nothing"


def attempt(log, call):
    try:
        log.append(call())
    except Exception as error:
        log.append(type(error).__name__)


def name(dtype):
    return None if dtype is None else str(dtype).rpartition(".")[2]


def doubled(lib):
    class Doubled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad.double()

    return Doubled.apply


@pytest.mark.parametrize("kind", ["own", "float16", "float64", "bfloat16", None])
@pytest.mark.parametrize("late", [False, True])
def test_grad_dtype(kind, late):
    def scenario(lib, log):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        kept = x * 3
        outputs = [lambda: kept, lambda: doubled(lib)(x), lambda: x * x + x]
        if not late and kind != "own":
            x.grad_dtype = None if kind is None else getattr(lib, kind)
        for make in outputs:
            y = make().sum()
            if late and kind != "own" and x.grad is None:
                x.grad_dtype = None if kind is None else getattr(lib, kind)
            (found,) = lib.autograd.grad(y, x, retain_graph=True)
            y.backward()
            log.append((name(x.grad_dtype), name(found.dtype), name(x.grad.dtype)))
            log.append((found.tolist(), x.grad.tolist()))

    both(scenario)


def test_grad_dtype_of_any_tensor():
    def scenario(lib, log):
        for x in (lib.tensor([1, 2]), lib.tensor([1.0]), lib.tensor([1.0], dtype=lib.float64)):
            log.append(name(x.grad_dtype))
            attempt(log, lambda x=x: setattr(x, "grad_dtype", lib.float16))
            log.append(name(x.grad_dtype))
            log.append(name(x.detach().grad_dtype))
        x = lib.tensor([1.0], requires_grad=True)
        attempt(log, lambda: (x * 2).grad_dtype)
        attempt(log, lambda: setattr(x * 2, "grad_dtype", None))
        attempt(log, lambda: setattr(x, "grad_dtype", 3))
        attempt(log, lambda: setattr(x, "grad", lib.ones(1, dtype=lib.float64)))
        x.grad_dtype = None
        attempt(log, lambda: setattr(x, "grad", lib.ones(1, dtype=lib.float64)))
        attempt(log, lambda: setattr(x, "grad_dtype", lib.float32))
        log.append(name(x.grad_dtype))

    both(scenario)


@pytest.mark.parametrize("enforced", [True, False])
def test_layouts(enforced):
    def scenario(lib, log):
        class Ones(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sum()

            @staticmethod
            def backward(ctx, grad):
                return lib.ones(3, 4)

        x = lib.ones(4, 3).t().requires_grad_()
        losses = [Ones.apply, lambda x: (x * 2).sum(), lambda x: (x * lib.ones(3, 4)).sum()]
        for loss in losses:
            for create_graph in (False, True):
                x.grad = None
                with lib.autograd.enforce_grad_layout_policy(enforced):
                    loss(x).backward(create_graph=create_graph)
                log.append(tuple(x.grad.stride()))
                loss(x).backward()
                log.append(tuple(x.grad.stride()))
        x.grad = None

    both(scenario)


def test_a_hook_after_the_accumulation_sees_the_memory_of_the_gradient():
    def scenario(lib, log):
        x = lib.ones(2, requires_grad=True)
        accumulator = x.view_as(x).grad_fn.next_functions[0][0]
        x.register_hook(lambda grad: grad.sub(2.0))
        accumulator.register_prehook(lambda grads: (grads[0].div(4.0),))

        def add_half(x):
            x.grad.add_(0.5)

        x.register_post_accumulate_grad_hook(add_half)

        def after(grads, outputs):
            log.append(outputs[0].tolist())

        accumulator.register_hook(after)
        x.view_as(x)[0].backward()
        log.append(x.grad.tolist())

    both(scenario)


def test_a_post_hook_registered_while_its_node_runs_sees_no_gradients():
    def scenario(lib, log):
        x = lib.ones(2, requires_grad=True)

        def unpack(tensor):
            y.grad_fn.register_hook(
                lambda inputs, outputs: log.append(([g.tolist() for g in inputs], outputs))
            )
            return tensor

        with lib.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, unpack):
            y = x.sin()
        y.sum().backward()
        log[:] = [([round(v, 5) for v in inputs[0]], outputs) for inputs, outputs in log]

    both(scenario)


def no_grad_views():
    """How a view can be made and changed so that nobody knows its node; and ways that are fine."""

    def outside(lib, base, change):
        view = base[:1]
        with lib.no_grad():
            change(base, view)
        return view

    def inside(lib, base, change):
        with lib.no_grad():
            view = base[:1]
            change(base, view)
        return view

    def inference(lib, base, change):
        with lib.inference_mode():
            view = base[:1]
            change(base, view)
        return view

    def piece(lib, base, change):
        view = base.split(1)[0]
        with lib.no_grad():
            change(base, view)
        return view

    def leaf(lib, base, change):
        view = base.detach()[:1].requires_grad_()
        with lib.no_grad():
            change(view if view._base is None else view._base, view)
        return view

    return [outside, inside, inference, piece, leaf]


CHANGES = {
    "view": lambda base, view: view.mul_(2),
    "base": lambda base, view: base.mul_(2),
    "assignment": lambda base, view: view.__setitem__(0, 2.0),
    "shape": lambda base, view: view.unsqueeze_(0),
    "none": lambda base, view: None,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", no_grad_views(), ids=lambda make: make.__name__)
@pytest.mark.parametrize("is_leaf", [False, True])
def test_views_changed_where_nothing_is_recorded(make, change, is_leaf):
    def scenario(lib, log):
        base = lib.ones(2, requires_grad=True)
        view = make(lib, base if is_leaf else base * 1, CHANGES[change])
        for enabled in (True, False):
            with lib.set_grad_enabled(enabled):
                attempt(log, lambda: view.grad_fn is None)
                attempt(log, lambda: view.is_leaf)
                attempt(log, lambda: view.requires_grad)
                attempt(log, lambda: (view * 2).requires_grad)
                attempt(log, lambda: "Invalid" in repr(view))
        attempt(log, lambda: (view * 3).sum().backward())
        attempt(log, lambda: None if base.grad is None else base.grad.tolist())

    both(scenario)
