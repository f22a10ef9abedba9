"""autograd.Function against PyTorch: the same results, histories, versions and refusals."""

import functools
import warnings

import pytest

import adjoint

torch = pytest.importorskip("torch")

LIBRARIES = {"adjoint": adjoint, "torch": torch}


def plain(value):
    """A value of either library that can be compared."""
    if isinstance(value, (adjoint.Tensor, torch.Tensor)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def attempt(log, action):
    """Note what an action gives, or which kind of error."""
    try:
        log.append(plain(action()))
    except Exception as error:
        log.append(type(error).__name__)


def both(scenario):
    logs = {}
    for name, lib in LIBRARIES.items():
        log = logs[name] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            attempt(log, functools.partial(scenario, lib, log))
        log.append([w.category.__name__ for w in caught if "mark_dirty" in str(w.message)])
    assert logs["adjoint"] == logs["torch"]


def leaf(lib, *values):
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=True)


def constant(lib, *values):
    return lib.tensor(list(values), dtype=lib.float64)


def function(lib, forward, backward=lambda ctx, *grads: grads, **attributes):
    """A Function of two plain functions."""
    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Fn", (lib.autograd.Function,), {**methods, **attributes})


def state(tensor):
    """All that autograd knows of a tensor."""
    node = tensor.grad_fn
    return (
        tensor.tolist(),
        tensor.requires_grad,
        None if node is None else node.name(),
        tensor.output_nr,
        tensor._version,
        tensor._is_view(),
        tensor.is_leaf,
    )


ANSWERS = {
    "none": lambda lib, g: None,
    "list": lambda lib, g: [g],
    "too many": lambda lib, g: (g, g),
    "too many, but None": lambda lib, g: (g, None, None),
    "too few": lambda lib, g: (),
    "number": lambda lib, g: 3.0,
    "other type": lambda lib, g: g.to(lib.float32),
    "integers": lambda lib, g: lib.ones(2, dtype=lib.int64),
    "wrong shape": lambda lib, g: lib.ones(3),
    "broadcast shape": lambda lib, g: lib.ones(4, 2),
    "complex": lambda lib, g: lib.ones(2, dtype=lib.complex64),
    "the gradient itself": lambda lib, g: g,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_what_backward_may_return(answer):
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        fn = function(lib, lambda ctx, x: x * 2, lambda ctx, g: answer(lib, g))
        attempt(log, lambda: fn.apply(x).sum().backward())
        log.append(plain(x.grad))
        if x.grad is not None:
            log.append(str(x.grad.dtype).split(".")[-1])

    both(scenario)


@pytest.mark.parametrize("second", ["number", "constant", "leaf"])
@pytest.mark.parametrize("answers", [1, 2])
def test_gradients_of_other_arguments(second, answers):
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        other = {"number": 3.0, "constant": constant(lib, 5.0, 6.0), "leaf": leaf(lib, 7.0, 8.0)}
        fn = function(lib, lambda ctx, x, k: x * k, lambda ctx, g: (g, g * 10)[:answers])
        attempt(log, lambda: fn.apply(x, other[second]).sum().backward())
        log.append(plain(x.grad))
        log.append(plain(getattr(other[second], "grad", None)))
        attempt(log, lambda: [n for n, _ in [fn.apply(x, 2.0).grad_fn.next_functions] if n])

    both(scenario)


OUTPUTS = {
    "new": lambda lib, x: x * 2,
    "input": lambda lib, x: x,
    "input twice": lambda lib, x: (x, x),
    "one result twice": lambda lib, x: (x * 2,) * 2,
    "two": lambda lib, x: (x * 2, x * 3),
    "list": lambda lib, x: [x * 2],
    "nothing": lambda lib, x: None,
    "empty": lambda lib, x: (),
    "values": lambda lib, x: (3, x * 2, None, "bar", x),
    "integers": lambda lib, x: x.to(lib.int64),
    "view": lambda lib, x: x[:1],
    "two views": lambda lib, x: (x[:1], x[1:]),
    "view and new": lambda lib, x: (x[:1], x * 2),
    "view of something new": lambda lib, x: (x * 2)[:1],
    "other leaf": lambda lib, x: leaf(lib, 9.0, 9.0),
}


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("given", ["leaf", "result", "constant"])
def test_what_forward_may_return(output, mode, given):
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        x = {"leaf": x, "result": x * 1, "constant": x.detach()}[given]
        fn = function(lib, lambda ctx, x: output(lib, x))
        with lib.set_grad_enabled(mode):
            got = fn.apply(x)
        log.append(type(got).__name__)
        for out in got if isinstance(got, (tuple, list)) else (got,):
            log.append(out is x)
            is_tensor = isinstance(out, (torch.Tensor, adjoint.Tensor))
            log.append(state(out) if is_tensor else out)
            if is_tensor:
                attempt(log, lambda out=out: out.add_(1).requires_grad)
        log.append(state(x))

    both(scenario)


def dirty(lib, behind, extra=False, back=lambda ctx, *g: g):
    def forward(ctx, x):
        if behind:
            x.detach().numpy()[...] += 1
        else:
            x.add_(1)
        ctx.mark_dirty(x)
        return (x, x * 2) if extra else x

    return function(lib, forward, back)


TARGETS = {
    "leaf": lambda lib, x: x,
    "result": lambda lib, x: x * 1,
    "constant": lambda lib, x: x.detach().clone(),
    "view": lambda lib, x: (x * 1)[:1],
    "view of leaf": lambda lib, x: x[:1],
    "view of constant": lambda lib, x: x.detach().clone()[:1],
    "one of several views": lambda lib, x: (x * 1).split(1)[0],
    "one of several views of a leaf": lambda lib, x: x.split(1)[0],
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("mode", [True, False])
def test_inputs_changed_in_place(target, behind, extra, mode):
    def scenario(lib, log):
        leaf_ = leaf(lib, 1.0, 2.0)
        x = target(lib, leaf_)
        with lib.set_grad_enabled(mode):
            got = dirty(lib, behind, extra).apply(x)
        first = got[0] if extra else got
        log.append(first is x)
        log.append([v for i, v in enumerate(state(first)) if i != 2])  # torch's view is as_strided
        log.append(x.requires_grad)

    both(scenario)


def test_changing_a_view_reaches_its_base():
    def scenario(lib, log):
        x, w = leaf(lib, 1.0, 2.0), leaf(lib, 3.0)

        def forward(ctx, v, w):
            ctx.mark_dirty(v)
            return v.add_(w)

        fn = function(lib, forward, lambda ctx, g: (g * 5, g * 7))
        base = x * 1
        part = base[:1]
        log.append(fn.apply(part, w) is part)
        log.append(base.grad_fn.name().split("::")[-1])
        base.sum().backward()
        log.extend([plain(base), plain(x.grad), plain(w.grad)])

    both(scenario)


def test_marks_that_are_wrong():
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        marks = [
            lambda ctx, x: (ctx.mark_dirty(x), x * 2)[1],
            lambda ctx, x: (ctx.mark_dirty(3), x)[1],
            lambda ctx, x: (ctx.mark_non_differentiable(3), x * 2)[1],
            lambda ctx, x: (ctx.save_for_backward(3), x * 2)[1],
            lambda ctx, x: (out := x.clone(), ctx.mark_dirty(out))[0],
            lambda ctx, x: (out := x.clone()[:1], ctx.mark_dirty(out))[0],
            lambda ctx, x: (ctx.set_materialize_grads("no"), x)[1],
        ]
        for forward in marks:
            for given in (x * 1, x.detach()):
                attempt(log, lambda f=forward, g=given: function(lib, f).apply(g).requires_grad)

    both(scenario)


def test_non_differentiable_outputs():
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)

        def forward(ctx, x):
            a, b = x * 2, x * 3
            ctx.mark_non_differentiable(a)
            return a, b, x

        def backward(ctx, a, b, c):
            log.append(plain([a, b, c]))
            return b + c

        a, b, c = function(lib, forward, backward).apply(x)
        log.extend([state(a), state(b), state(c)])
        b.sum().backward()
        same = function(lib, lambda ctx, x: (ctx.mark_non_differentiable(x), x)[1]).apply(x)
        log.extend([state(same), x.requires_grad])

    both(scenario)


@pytest.mark.parametrize("value", [True, False, None])
@pytest.mark.parametrize("non_diff", [True, False])
def test_materialized_gradients(value, non_diff):
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)

        def forward(ctx, x):
            if value is not None:
                ctx.set_materialize_grads(value)
            ctx._materialize_non_diff_grads = non_diff
            c = x * 4
            ctx.mark_non_differentiable(c)
            return x * 2, x * 3, c, 7

        def backward(ctx, *grads):
            log.append(plain(grads))
            return grads[1]

        function(lib, forward, backward).apply(x)[1].sum().backward()
        log.append(plain(x.grad))

    both(scenario)


def test_needs_input_grad():
    def scenario(lib, log):
        x, p = leaf(lib, 1.0), constant(lib, 2.0)

        def forward(ctx, *args, **kwargs):
            log.append(ctx.needs_input_grad)
            return args[0] * 2

        fn = function(lib, forward, lambda ctx, g: (g, None, None))
        y = fn.apply(x, p, 3)
        log.append(y.grad_fn.needs_input_grad)
        fn.apply(p)
        with lib.no_grad():
            fn.apply(x, p)

    both(scenario)


def test_setup_context():
    def scenario(lib, log):
        class Power(lib.autograd.Function):
            @staticmethod
            def forward(x, exponent=3, scale=2.0):
                log.append(lib.is_grad_enabled())
                return x**exponent * scale, "extra"

            @staticmethod
            def setup_context(ctx, inputs, output):
                log.append((plain(inputs), plain(output), lib.is_grad_enabled()))
                x, ctx.exponent, ctx.scale = inputs
                ctx.save_for_backward(x)

            @staticmethod
            def backward(ctx, g, extra):
                (x,) = ctx.saved_tensors
                log.append((lib.is_grad_enabled(), extra))
                return g * ctx.scale * ctx.exponent * x ** (ctx.exponent - 1), None, None

        x = leaf(lib, 2.0)
        y, _ = Power.apply(x, scale=5.0)
        (g,) = lib.autograd.grad(y, x, create_graph=True)
        log.append(plain(lib.autograd.grad(g, x)))
        attempt(log, lambda: Power.apply())
        attempt(log, lambda: Power.apply(x, other=1))

    both(scenario)


def test_keywords_stand_where_their_parameters_do():
    def scenario(lib, log):
        x, w = leaf(lib, 2.0), leaf(lib, 3.0)

        def forward(ctx, x, w, k=1):
            log.append(ctx.needs_input_grad)
            return x * w * k

        fn = function(lib, forward, lambda ctx, g: (g * 10, g * 100))
        fn.apply(w=w, x=x).backward()
        log.append(plain([x.grad, w.grad]))
        attempt(log, lambda: fn.apply(x, w, k=2).backward())
        attempt(log, lambda: fn.apply(x, w, x=2))
        attempt(log, lambda: fn.apply(x))

    both(scenario)


def saving(lib, look=True):
    def forward(ctx, x, y):
        out = x * y
        ctx.save_for_backward(x, y, None, out)
        return out

    def backward(ctx, g):
        if not look:
            return g, None
        x, y, nothing, out = ctx.saved_tensors
        assert nothing is None
        return g * y + 0 * out, g * x

    return function(lib, forward, backward)


def test_saved_tensors_and_their_release():
    def scenario(lib, log):
        x, y = leaf(lib, 2.0), leaf(lib, 3.0)
        mid = x * 1
        z = saving(lib).apply(mid, y)
        a, b, _, out = z.grad_fn.saved_tensors
        log.extend([a is mid, b is y, out is z, out.grad_fn is z.grad_fn, state(out)])
        z.backward(retain_graph=True)
        z.backward()
        log.append(plain([x.grad, y.grad]))
        attempt(log, lambda: z.backward())
        attempt(log, lambda: z.grad_fn.saved_tensors)
        blind = saving(lib, look=False).apply(x, y)
        blind.backward()
        attempt(log, lambda: blind.backward())

    both(scenario)


@pytest.mark.parametrize("victim", ["input", "output", "neither"])
@pytest.mark.parametrize("look", [True, False])
def test_saved_tensors_that_changed(victim, look):
    def scenario(lib, log):
        x, y = leaf(lib, 2.0), leaf(lib, 3.0)
        mid = x * 1
        z = saving(lib, look).apply(mid, y)
        {"input": mid, "output": z, "neither": x * 1}[victim].add_(1)
        attempt(log, lambda: z.backward())
        log.append(plain([x.grad, y.grad]))

    both(scenario)


def test_second_order():
    def scenario(lib, log):
        x, y = leaf(lib, 2.0, 3.0), leaf(lib, 5.0, 7.0)
        fn = saving(lib)
        z = fn.apply(fn.apply(x, y), x)
        (g,) = lib.autograd.grad(z.sum(), x, create_graph=True)
        log.append(plain(lib.autograd.grad((g * g).sum(), [x, y])))
        z = fn.apply(x, y)
        z.sum().backward(create_graph=True)
        log.append((plain(x.grad), x.grad.requires_grad))

    both(scenario)


def test_once_differentiable():
    def scenario(lib, log):
        once = lib.autograd.function.once_differentiable

        def backward(ctx, g):
            log.append(lib.is_grad_enabled())
            return g * 3, None, g * 5

        fn = function(lib, lambda ctx, x, k, y: x * k + y, once(backward))
        x, y, weight = leaf(lib, 1.0), leaf(lib, 2.0), leaf(lib, 1.0)
        out = fn.apply(x, 3, y)
        log.append(plain(lib.autograd.grad(out, [x, y], retain_graph=True)))
        gx, gy = lib.autograd.grad(out * weight, [x, y], create_graph=True)
        log.append(gx.grad_fn.name().split("::")[-1])
        log.extend([gx.output_nr, gy.output_nr, gx.requires_grad])
        log.append([node is None for node, _ in gx.grad_fn.next_functions])
        attempt(log, lambda: gx.backward())

    both(scenario)


def test_hooks_on_its_node():
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0)
        y = function(lib, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: a * 2 + b).apply(x)
        node = y[0].grad_fn
        node.metadata["mine"] = 1
        log.append((node is y[1].grad_fn, y[1].grad_fn.metadata, node.name()))
        node.register_prehook(lambda grads: log.append(("pre", plain(grads))))
        node.register_hook(lambda ins, outs: log.append(("post", plain(ins), plain(outs))))
        y[0].register_hook(lambda g: g * 100)
        y[0].sum().backward()
        log.append(plain(x.grad))

    both(scenario)


def test_ctx_is_the_node():
    def scenario(lib, log):
        seen = []
        node_class = lib.autograd.graph.Node

        def forward(ctx, x):
            ctx.shape, ctx.dtype, ctx.outputs, ctx.hooks, ctx.mine = 1, 2, 3, 4, 5
            seen.append(ctx)
            log.append((isinstance(ctx, node_class), hasattr(ctx, "other")))
            return x * 2

        def backward(ctx, g):
            log.append((ctx.shape, ctx.dtype, ctx.outputs, ctx.hooks, ctx.mine, ctx.name()))
            ctx.after = 6
            return g

        y = function(lib, forward, backward).apply(leaf(lib, 1.0))
        log.extend([y.grad_fn.mine, isinstance(y.grad_fn, node_class), type(y.grad_fn).__name__])
        y.backward()
        log.extend([y.grad_fn.after, seen[0].after, seen[0].name(), seen[0].needs_input_grad])
        log.append(isinstance(seen[0], lib.autograd.function.FunctionCtx))
        attempt(log, lambda: y.grad_fn.absent)
        attempt(log, lambda: seen[0].absent)

    both(scenario)


def test_boxed_gradients_and_direct_calls():
    def scenario(lib, log):
        def backward(ctx, grads):
            log.append((type(grads).__name__, plain(grads)))
            return grads[0] * 2 + grads[1] * 3

        fn = function(lib, lambda ctx, x: (x * 2, x * 3), backward, boxed_grads_call=True)
        x = leaf(lib, 1.0)
        a, b = fn.apply(x)
        (a + b).backward()
        log.append(plain(x.grad))
        log.append(plain(a.grad_fn.apply(constant(lib, 1.0), constant(lib, 2.0))))
        plainly = function(lib, lambda ctx, x: x * 2, lambda ctx, g: g[0]).apply(x)
        log.append(plain(plainly.grad_fn.apply([constant(lib, 7.0)])))

    both(scenario)


@pytest.mark.parametrize("times", [1, 2])
def test_saved_tensors_given_out_once(times):
    def scenario(lib, log):
        fn = function(
            lib,
            lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1],
            lambda ctx, g: [ctx.saved_tensors for _ in range(times)][-1][0] * g,
            clear_saved_tensors_on_access=True,
        )
        x = leaf(lib, 3.0)
        log.append(plain(lib.autograd.grad(fn.apply(x), x)))

    both(scenario)


def test_incomplete_functions():
    def scenario(lib, log):
        x = leaf(lib, 1.0)
        base = lib.autograd.Function
        forward = {"forward": staticmethod(lambda ctx, x: x * 2)}
        rule = staticmethod(lambda ctx, g: g * 5)
        attempt(log, lambda: type("A", (base,), {"backward": rule}).apply(x))
        attempt(log, lambda: type("B", (base,), forward).apply(x).requires_grad)
        attempt(
            log,
            lambda: (
                type("D", (base,), {**forward, "backward": rule, "vjp": rule}).apply(x).backward()
            ),
        )
        type("E", (base,), {**forward, "vjp": rule}).apply(x).backward()
        log.append(plain(x.grad))
        log.append(base.generate_vmap_rule)
        attempt(log, lambda: base.vmap(None, (0,), x))
        attempt(log, lambda: base.jvp(None, x))

    both(scenario)


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("arguments", [1, 2])
@pytest.mark.parametrize("temporary", [True, False])
def test_a_pure_view_can_be_changed(pure, arguments, temporary):
    def scenario(lib, log):
        def forward(ctx, x, *others):
            ctx._is_pure_view = pure
            return x.clone()[:1] if temporary else x[:1]

        y = leaf(lib, 1.0, 2.0) * 1
        part = function(lib, forward, lambda ctx, g: None).apply(*[y] * arguments)
        attempt(log, lambda: part.add_(3).tolist())
        log.append(plain(y))

    both(scenario)


def test_using_a_view_after_its_base_changed():
    def scenario(lib, log):
        x = leaf(lib, 1.0, 2.0) * 1
        part = function(lib, lambda ctx, x: x[:1]).apply(x)
        x.add_(1)
        attempt(log, lambda: part * 2)

    both(scenario)


def test_modes():
    def scenario(lib, log):
        x = leaf(lib, 1.0)

        def forward(ctx, x):
            log.append(lib.is_grad_enabled())
            with lib.enable_grad():
                return x * 2

        def backward(ctx, g):
            log.append(lib.is_grad_enabled())
            with lib.enable_grad():
                inner = leaf(lib, 2.0)
                (h,) = lib.autograd.grad(inner**3, inner, grad_outputs=g)
            log.append(lib.is_grad_enabled())
            return h

        fn = function(lib, forward, backward)
        fn.apply(x).backward()
        fn.apply(x).backward(create_graph=True)
        log.append(plain(x.grad))
        with lib.inference_mode():
            y = fn.apply(x)
            log.extend([y.is_inference(), y.requires_grad])
            q = constant(lib, 2.0)
        saver = function(lib, lambda ctx, x, q: (ctx.save_for_backward(q), x * 2)[1])
        attempt(log, lambda: saver.apply(x, q))

    both(scenario)
