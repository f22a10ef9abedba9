"""Hooks of modules against PyTorch: the same events, in the same order, with the same values."""

import gc
import warnings
import weakref
from collections import namedtuple

import pytest

import adjoint

torch = pytest.importorskip("torch")

LIBRARIES = {"adjoint": adjoint, "torch": torch}


def both(scenario):
    """Run a scenario in both libraries and compare what it logged."""
    logs = {}
    for name, lib in LIBRARIES.items():
        log = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                scenario(lib, log)
            except Exception as error:
                log.append(("raised", type(error).__name__))
        logs[name] = log
    assert logs["adjoint"] == logs["torch"]
    assert logs["torch"], "the scenario logged nothing"


def plain(value):
    """Tensors as lists, in nests too."""
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (tuple, list)):
        return tuple(plain(v) for v in value)
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


def leaf(lib, *values):
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=True)


def module_of(lib, function, name="M", weight=None):
    """A module that computes function(self, ...)."""

    class Made(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.name = name
            if weight is not None:
                self.weight = lib.nn.Parameter(lib.tensor(weight, dtype=lib.float64))

        def forward(self, *args, **kwargs):
            return function(self, *args, **kwargs)

    return Made()


def globals_of(lib):
    """Where the hooks of all modules are registered."""
    return lib.nn if lib is adjoint else torch.nn.modules.module


def note(log, label, answer=None):
    """A hook that logs what it is given."""

    def hook(module, *args):
        log.append((label, module.name, plain(args)))
        return answer(*args) if callable(answer) else answer

    return hook


def gradients(*leaves):
    return [plain(leaf.grad) for leaf in leaves]


def dressed(lib, log, module):
    """The module with a hook of each kind."""
    module.register_forward_hook(note(log, "forward"))
    module.register_forward_pre_hook(note(log, "pre"))
    module.register_full_backward_hook(note(log, "backward"))
    module.register_full_backward_pre_hook(note(log, "backward pre"))
    return module


def test_order_in_a_nest():
    @both
    def scenario(lib, log):
        inner = dressed(lib, log, module_of(lib, lambda m, x: (x * m.weight).tanh(), "inner", 2.0))
        other = dressed(lib, log, module_of(lib, lambda m, x: x * 3, "other"))
        outer = dressed(lib, log, module_of(lib, lambda m, x: other(inner(x)) + inner(x), "outer"))
        x = leaf(lib, 1.0, 2.0)
        out = outer(x)
        log.append("backward")
        out.sum().backward()
        log.append(plain([x.grad, inner.weight.grad]))


def test_order_with_global_hooks():
    @both
    def scenario(lib, log):
        home = globals_of(lib)
        inner = dressed(lib, log, module_of(lib, lambda m, x: x * 2, "inner"))
        outer = dressed(lib, log, module_of(lib, lambda m, x: inner(x) * 3, "outer"))
        handles = [
            home.register_module_forward_pre_hook(note(log, "global pre")),
            home.register_module_forward_hook(note(log, "global forward")),
            home.register_module_full_backward_pre_hook(note(log, "global backward pre")),
            home.register_module_full_backward_hook(note(log, "global backward")),
            home.register_module_forward_hook(note(log, "with kwargs"), with_kwargs=True),
            home.register_module_forward_hook(note(log, "always"), always_call=True),
        ]
        try:
            outer(leaf(lib, 1.0)).sum().backward()
        finally:
            for handle in handles:
                handle.remove()
        log.append("removed")
        outer(leaf(lib, 1.0)).sum().backward()


def test_prepend_and_removal():
    @both
    def scenario(lib, log):
        module = module_of(lib, lambda m, x: x * 2)
        kinds = ("forward_pre_hook", "forward_hook", "full_backward_pre_hook", "full_backward_hook")
        handles = []
        for kind in kinds:
            register = getattr(module, f"register_{kind}")
            handles.append(register(note(log, f"{kind} 1")))
            handles.append(register(note(log, f"{kind} 2"), prepend=True))
            handles.append(register(note(log, f"{kind} 3")))
            handles.append(register(note(log, f"{kind} 4"), prepend=True))
        module(leaf(lib, 1.0)).sum().backward()
        for handle in handles[::2]:
            handle.remove()
            handle.remove()
        log.append("half of them")
        module(leaf(lib, 1.0)).sum().backward()
        with module.register_forward_hook(note(log, "within")):
            module(leaf(lib, 1.0))
        module(leaf(lib, 1.0))


def test_hooks_that_register_and_remove():
    @both
    def scenario(lib, log):
        module = module_of(lib, lambda m, x: x * 2)
        handles = []

        def adds(m, *args):
            log.append("adds")
            handles.append(m.register_forward_hook(note(log, "added")))

        def removes(m, *args):
            log.append("removes")
            handles[0].remove()

        handles.append(module.register_forward_hook(adds))
        module.register_forward_hook(removes)
        module(leaf(lib, 1.0))
        log.append("again")
        module(leaf(lib, 1.0))


def test_backward_hooks_are_those_of_the_call():
    @both
    def scenario(lib, log):
        module = module_of(lib, lambda m, x: x * 2)
        handle = module.register_full_backward_hook(note(log, "there at the call"))
        out = module(leaf(lib, 1.0))
        handle.remove()
        module.register_full_backward_hook(note(log, "too late"))
        out.sum().backward()


def test_kwargs():
    @both
    def scenario(lib, log):
        module = module_of(lib, lambda m, x, *, scale=1.0: x * scale)
        module.register_forward_pre_hook(note(log, "plain pre"))
        module.register_forward_pre_hook(
            note(log, "pre", lambda args, kwargs: (args, {"scale": kwargs["scale"] * 2})),
            with_kwargs=True,
        )
        module.register_forward_hook(note(log, "plain"))
        module.register_forward_hook(
            note(log, "with kwargs", lambda args, kwargs, out: out * 10), with_kwargs=True
        )
        log.append(plain(module(leaf(lib, 1.0), scale=3.0)))


PRE_ANSWERS = {
    "a tensor": (False, lambda lib: lib.ones(1)),
    "a tuple": (False, lambda lib: (lib.ones(1), 5)),
    "a list": (False, lambda lib: [lib.ones(1)]),
    "both": (True, lambda lib: ((lib.ones(1),), {"scale": 3})),
    "a tensor for both": (True, lambda lib: lib.ones(1)),
    "three": (True, lambda lib: (1, 2, 3)),
    "a list of both": (True, lambda lib: [(lib.ones(1),), {}]),
}


@pytest.mark.parametrize("case", PRE_ANSWERS, ids=str)
def test_what_a_pre_hook_may_answer(case):
    @both
    def scenario(lib, log):
        with_kwargs, answer = PRE_ANSWERS[case]

        def forward(m, *args, **kwargs):
            log.append((plain(args), kwargs))
            return 5

        module = module_of(lib, forward)
        module.register_forward_pre_hook(lambda *a: answer(lib), with_kwargs=with_kwargs)
        module(leaf(lib, 1.0), scale=2)


def test_forward_hook_replaces():
    @both
    def scenario(lib, log):
        module = module_of(lib, lambda m, x: x * 2)
        module.register_full_backward_hook(note(log, "backward"))
        module.register_forward_hook(lambda m, args, out: (out * 3, args[0] * 5))
        module.register_forward_hook(note(log, "sees the replaced"))
        x = leaf(lib, 1.0, 2.0)
        one, two = module(x)
        (one.sum() + two.sum()).backward()
        log.append(x.grad.tolist())


def failing(m, x):
    raise ValueError("forward fails")


def test_always_call():
    @both
    def scenario(lib, log):
        home = globals_of(lib)
        for where in ("forward", "pre-hook", "hook", "always called", "nowhere"):
            log.append(where)
            module = module_of(lib, failing if where == "forward" else lambda m, x: x * 2)

            def raises(*args):
                raise ValueError(where)  # noqa: B023

            handle = home.register_module_forward_hook(note(log, "global"), always_call=True)
            module.register_forward_hook(note(log, "first"), always_call=True)
            if where == "pre-hook":
                module.register_forward_pre_hook(raises)
            if where == "hook":
                module.register_forward_hook(raises)
            if where == "always called":
                module.register_forward_hook(raises, always_call=True)
            module.register_forward_hook(note(log, "not always"))
            module.register_forward_hook(
                note(log, "always with kwargs", 7), always_call=True, with_kwargs=True
            )
            module.register_forward_hook(note(log, "last"), always_call=True)
            try:
                log.append(plain(module(leaf(lib, 1.0))))
            except ValueError as error:
                log.append(str(error))
            finally:
                handle.remove()


def test_always_called_hook_that_fails_too_warns():
    for lib in LIBRARIES.values():
        module = module_of(lib, failing)

        def raises(*args):
            raise KeyError("second")

        module.register_forward_hook(raises, always_call=True)
        with (
            pytest.warns(UserWarning, match="silenced as another error was raised"),
            pytest.raises(ValueError, match="forward fails"),
        ):
            module(leaf(lib, 1.0))


Pair = namedtuple("Pair", "one two")

SHAPES = {
    "two in, one out": lambda m, a, b: a * b,
    "one unused": lambda m, a, b: a * 2,
    "two out": lambda m, a, b: (a * 2, b * 3),
    "out of the wrong kind": lambda m, a, b: (a * 2, 5, None, b.detach()),
    "a named tuple": lambda m, a, b: Pair(a * b, b * 2),
    "an input as it came": lambda m, a, b: (a, b * 2),
    "an input alone": lambda m, a, b: a,
    "one twice": lambda m, a, b: (a * b,) * 2,
    "a parameter": lambda m, a, b: (a * b, m.weight),
    "a view": lambda m, a, b: (a * b).view(-1),
    "several views": lambda m, a, b: (a * b).unbind(0),
    "made before": lambda m, a, b: (m.earlier, a),
}


@pytest.mark.parametrize("use", ["all", "first"])
@pytest.mark.parametrize("arguments", ["both", "one", "none", "same", "made"])
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_gradients_seen(case, arguments, use):
    @both
    def scenario(lib, log):
        module = dressed(lib, log, module_of(lib, SHAPES[case], weight=[3.0, 4.0]))
        a, b = leaf(lib, 1.0, 2.0), leaf(lib, 5.0, 6.0)
        module.earlier = leaf(lib, 1.5, 2.5) * 2
        if arguments == "one":
            b.requires_grad_(False)
        if arguments == "none":
            a.requires_grad_(False)
            b.requires_grad_(False)
        given = (a, a) if arguments == "same" else (a, b)
        if arguments == "made":
            given = (a * 2, b.sin())
        out = module(*given)
        outs = out if isinstance(out, tuple) else (out,)
        outs = [
            o for o in outs if isinstance(o, (adjoint.Tensor, torch.Tensor)) and o.requires_grad
        ]
        log.append(len(outs))
        if use == "first":
            outs = outs[:1]
        if outs:
            total = sum((i + 2) * o.sum() for i, o in enumerate(outs)) + (a * 7).sum()
            total.backward()
        log.append(gradients(a, b, module.weight))


def test_inputs_without_use_get_zeros():
    @both
    def scenario(lib, log):
        module = dressed(lib, log, module_of(lib, lambda m, a, b: (a * 2, b * 3)))
        a, b = leaf(lib, 1.0, 2.0), leaf(lib, 5.0, 6.0)
        module(a, b)[0].sum().backward()
        log.append([a.grad.tolist(), b.grad.tolist()])


def test_arguments_that_are_no_tensors():
    @both
    def scenario(lib, log):
        module = dressed(lib, log, module_of(lib, lambda m, n, x, index, s, none: x[index] * n))
        module(3, leaf(lib, 1.0, 2.0), lib.tensor([1, 0]), "text", None).sum().backward()


def test_no_arguments_at_all():
    @both
    def scenario(lib, log):
        module = dressed(lib, log, module_of(lib, lambda m: m.weight * 2, weight=[1.0]))
        module().sum().backward()
        log.append(module.weight.grad.tolist())


def test_without_recording():
    @both
    def scenario(lib, log):
        module = dressed(lib, log, module_of(lib, lambda m, x: x * 2))
        with lib.no_grad():
            log.append(module(leaf(lib, 1.0)).requires_grad)
        plain_input = lib.ones(2)
        log.append(module(plain_input).requires_grad)


ANSWERS = {
    "None": lambda lib, g: None,
    "doubled": lambda lib, g: tuple(None if x is None else x * 2 for x in g),
    "a list": lambda lib, g: [None if x is None else x * 2 for x in g],
    "Nones": lambda lib, g: (None,) * len(g),
    "too many": lambda lib, g: (*g, None),
    "too few": lambda lib, g: g[:-1],
    "another shape": lambda lib, g: tuple(lib.ones(7, dtype=lib.float64) for x in g),
    "numbers": lambda lib, g: (5,) * len(g),
    "another type": lambda lib, g: tuple(None if x is None else x.float() for x in g),
}


REFUSED_AT_ONCE = ("another shape", "numbers", "another type")  # in PyTorch by the engine, later


@pytest.mark.parametrize("kind", ["full_backward_hook", "full_backward_pre_hook"])
@pytest.mark.parametrize("case", ANSWERS, ids=str)
def test_what_a_backward_hook_may_answer(case, kind):
    @both
    def scenario(lib, log):
        def forward(m, a, b):
            return a * b, b * 2

        module = module_of(lib, forward)
        getattr(module, f"register_{kind}")(lambda m, g, *rest: ANSWERS[case](lib, g))
        if case not in REFUSED_AT_ONCE:
            getattr(module, f"register_{kind}")(note(log, "next"))
        a, b = leaf(lib, 1.0, 2.0), leaf(lib, 5.0, 6.0)
        one, two = module(a, b)
        (one + two).sum().backward()
        log.append(gradients(a, b))


def cut(lib, x):
    """The same values, whose backward answers no gradient."""

    class Cut(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return None

    return Cut.apply(x)


NO_GRADIENT = {
    "of either": lambda lib, one, two: cut(lib, one) + cut(lib, two),
    "of the second": lambda lib, one, two: one + cut(lib, two),
    "of the second, unused": lambda lib, one, two: one,
}


@pytest.mark.parametrize("kind", ["full_backward_hook", "full_backward_pre_hook"])
@pytest.mark.parametrize("answer", ["None", "Nones", "ones"])
@pytest.mark.parametrize("case", NO_GRADIENT, ids=str)
def test_outputs_without_gradient(case, answer, kind):
    @both
    def scenario(lib, log):
        answers = {**ANSWERS, "ones": lambda lib, g: tuple(lib.ones(2).double() for _ in g)}
        module = dressed(lib, log, module_of(lib, lambda m, a, b: (a * 2, b * 3)))
        getattr(module, f"register_{kind}")(lambda m, g, *rest: answers[answer](lib, g))
        a, b = leaf(lib, 1.0, 2.0), leaf(lib, 5.0, 6.0)
        NO_GRADIENT[case](lib, *module(a * 1, b * 1)).sum().backward()
        log.append(gradients(a, b))


NOTHING_TO_CHANGE = {
    "None": lambda lib: None,
    "a tuple of None": lambda lib: (None,),
    "a gradient": lambda lib: (lib.ones(1),),
    "a tensor": lambda lib: lib.ones(1),
    "a list of None": lambda lib: [None],
}


@pytest.mark.parametrize("case", NOTHING_TO_CHANGE, ids=str)
def test_answers_where_no_input_needs_a_gradient(case):
    @both
    def scenario(lib, log):
        module = module_of(lib, lambda m, x: x * m.weight, weight=[2.0])
        module.register_full_backward_hook(
            note(log, "called", lambda *a: NOTHING_TO_CHANGE[case](lib))
        )
        module(lib.ones(1, dtype=lib.float64)).sum().backward()
        log.append(module.weight.grad.tolist())


def test_warns_where_no_input_needs_a_gradient():
    for lib in LIBRARIES.values():
        module = module_of(lib, lambda m, x: x * m.weight, weight=[2.0])
        module.register_full_backward_hook(lambda *a: None)
        out = module(lib.ones(1, dtype=lib.float64)).sum()
        with pytest.warns(UserWarning, match="(?i)full backward hook"):
            out.backward()


def test_second_derivatives():
    @both
    def scenario(lib, log):
        module = module_of(lib, lambda m, x: x**3 * m.weight, weight=[2.0])
        module.register_full_backward_hook(note(log, "backward"))
        module.register_full_backward_pre_hook(note(log, "pre"))
        x = leaf(lib, 1.0, 2.0)
        y = module(x)
        (g,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        log.append("second")
        (y.sum() + (g**2).sum()).backward()
        log.append([x.grad.tolist(), module.weight.grad.tolist()])
        log.append("only the second")
        (g,) = lib.autograd.grad(module(x).sum(), x, create_graph=True)
        log.clear()
        (g**2).sum().backward()
        log.append(x.grad.tolist())


def test_hooks_that_change_gradients_are_recorded():
    @both
    def scenario(lib, log):
        module = module_of(lib, lambda m, x: x**2)
        module.register_full_backward_hook(lambda m, gi, go: (gi[0] * gi[0],))
        module.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
        x = leaf(lib, 1.0, 2.0)
        (g,) = lib.autograd.grad(module(x).sum(), x, create_graph=True)
        (h,) = lib.autograd.grad(g.sum(), x)
        log.append([g.tolist(), h.tolist(), g.requires_grad])


def test_restricted_passes():
    @both
    def scenario(lib, log):
        module = dressed(lib, log, module_of(lib, lambda m, a, b: a * b * m.weight, weight=[2.0]))
        a, b = leaf(lib, 3.0), leaf(lib, 5.0)
        out = module(a, b).sum()
        for wanted in ([a], [b], [module.weight], [a, b]):
            log.append("pass")
            grads = lib.autograd.grad(out, wanted, retain_graph=True)
            log.append([g.tolist() for g in grads])
        out.backward(inputs=[a], retain_graph=True)
        out.backward()


def test_several_passes_over_one_call():
    @both
    def scenario(lib, log):
        module = dressed(lib, log, module_of(lib, lambda m, x: (x * 2, x * 3)))
        x = leaf(lib, 1.0)
        one, two = module(x)
        one.sum().backward(retain_graph=True)
        two.sum().backward(retain_graph=True)
        (one * two).sum().backward()


def test_tensor_hooks_inside_and_outside():
    @both
    def scenario(lib, log):
        def forward(m, x):
            x.register_hook(lambda g: log.append(("input inside", plain(g))))
            y = x * 2
            y.register_hook(lambda g: log.append(("output inside", plain(g))))
            return y

        module = dressed(lib, log, module_of(lib, forward))
        x = leaf(lib, 1.0)
        x.register_hook(lambda g: log.append(("input outside", plain(g))))
        h = x * 5
        h.register_hook(lambda g: log.append(("made outside", plain(g))))
        h.retain_grad()
        out = module(h)
        out.register_hook(lambda g: log.append(("output outside", plain(g))))
        out.retain_grad()
        (out.sum() + h.sum()).backward()
        log.append([h.grad.tolist(), out.grad.tolist(), x.grad.tolist()])


def test_hook_that_raises():
    @both
    def scenario(lib, log):
        for kind in ("full_backward_hook", "full_backward_pre_hook"):
            module = module_of(lib, lambda m, x: x * 2)

            def raises(*args):
                raise KeyError("hook")

            handle = getattr(module, f"register_{kind}")(raises)
            x = leaf(lib, 1.0)
            try:
                module(x).sum().backward()
            except KeyError as error:
                log.append(str(error))
            log.append(x.grad)
            handle.remove()
            dressed(lib, log, module)
            module(x).sum().backward()


VIEWS = {
    "of the input, inside": lambda m, x: x.relu_(),
    "of the input": lambda m, x: x.view(-1),
    "of what it made": lambda m, x: (x * 2).view(-1),
}


@pytest.mark.parametrize("case", VIEWS, ids=str)
def test_views_that_are_changed_in_place_are_refused(case):
    @both
    def scenario(lib, log):
        module = module_of(lib, VIEWS[case])
        module.register_full_backward_hook(note(log, "backward"))
        module((leaf(lib, 1.0, 2.0) * 2).view(2, 1)).relu_()


def test_leaf_changed_in_place_is_refused():
    @both
    def scenario(lib, log):
        module = module_of(lib, lambda m, x: x.relu_())
        module.register_full_backward_hook(note(log, "backward"))
        module(leaf(lib, 1.0))


def test_nothing_is_kept_alive():
    for lib in LIBRARIES.values():
        module = dressed(lib, [], module_of(lib, lambda m, x, y: (x * y, x)))
        x, y = leaf(lib, 1.0), leaf(lib, 2.0)
        out = module(x, y)
        made = weakref.ref(out[0])
        gc.disable()
        try:
            (out[0] + out[1]).sum().backward()
            del out
            assert made() is None
        finally:
            gc.enable()
