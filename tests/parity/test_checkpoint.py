"""Checkpointing against PyTorch: how often a region runs, what is raised, and the gradients."""

import contextlib
import functools
import importlib
import warnings

import pytest

import adjoint

torch = pytest.importorskip("torch")

LIBRARIES = {"adjoint": adjoint, "torch": torch}


class Case:
    """One library, its checkpoint module, and a log of what happened."""

    def __init__(self, lib):
        self.lib = lib
        self.checkpoints = importlib.import_module(f"{lib.__name__}.utils.checkpoint")
        self.log = []

    def leaf(self, *values):
        return self.lib.tensor(list(values), dtype=self.lib.float64, requires_grad=True)

    def checkpoint(self, function, *args, **kwargs):
        kwargs.setdefault("use_reentrant", False)
        return self.checkpoints.checkpoint(function, *args, **kwargs)

    def counted(self, function, label="runs"):
        def run(*args, **kwargs):
            self.log.append(label)
            return function(*args, **kwargs)

        return run

    def grad(self, outputs, inputs, **options):
        found = self.lib.autograd.grad(outputs, inputs, **options)
        self.note(*found)
        return found

    def note(self, *values):
        for value in values:
            self.log.append(value if value is None else _rounded(value.tolist()))


def _rounded(value):
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.9g}")


def outcome(scenario, lib, options):
    case = Case(lib)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            scenario(case, **options)
        except Exception as error:
            kinds = [kind.__name__ for kind in type(error).__mro__[:-3]]
            case.log.append(("raised", kinds))
    return [*case.log, *sorted({w.category.__name__ for w in seen})]


SCENARIOS = []


def scenario(**options):
    """Run a scenario in both libraries and compare their logs."""

    def register(function):
        SCENARIOS.append(pytest.param(function, options, id=f"{function.__name__}-{options}"))
        return function

    return register


def three_steps(x):
    return x.sin().exp().sin()


# ---- without nested passes ----


@scenario()
def once_and_again(case):
    x = case.leaf(0.5, -1.0)
    out = case.checkpoint(case.counted(three_steps), x)
    case.note(out)
    out.sum().backward(retain_graph=True)
    case.note(x.grad)
    out.sum().backward()
    case.note(x.grad)
    out.sum().backward()


@scenario()
def restricted_passes(case):
    x, y = case.leaf(0.5), case.leaf(2.0)
    out = case.checkpoint(case.counted(lambda x, y: (x * y).exp() * y), x, y)
    case.grad(out, [x], retain_graph=True)
    case.grad(out, [x, y], retain_graph=True)
    out.backward(inputs=[y], retain_graph=True)
    case.note(x.grad, y.grad)


@scenario()
def second_order(case):
    x = case.leaf(0.5, 1.5)
    out = case.checkpoint(case.counted(three_steps), x)
    (first,) = case.grad(out.sum(), [x], create_graph=True)
    (second,) = case.grad(first.sum(), [x], create_graph=True)
    case.grad(second.sum(), [x])


@scenario()
def edges(case):
    x = case.leaf(0.5)
    out = case.checkpoint(case.counted(three_steps), x)
    edge = case.lib.autograd.graph.GradientEdge(out.grad_fn.next_functions[0][0], 0)
    case.grad(out, [edge], retain_graph=True)
    case.grad(out, [x])


@scenario(early_stop=True)
@scenario(early_stop=False)
def early_stop(case, early_stop):
    def function(x):
        y = x.sin().cos()
        case.log.append("end")
        return y.clone()

    for manager in (None, True, False):
        context = (
            contextlib.nullcontext()
            if manager is None
            else case.checkpoints.set_checkpoint_early_stop(manager)
        )
        x = case.leaf(1.0)
        with context:
            out = case.checkpoint(function, x, early_stop=early_stop)
        out.sum().backward()
        case.note(x.grad)


@scenario()
def nothing_saved(case):
    x = case.leaf(1.0)
    case.checkpoint(case.counted(lambda x: x.clone()), x).sum().backward()
    case.note(x.grad)


@scenario()
def without_grad_mode(case):
    x = case.leaf(1.0)
    with case.lib.no_grad():
        out = case.checkpoint(case.counted(three_steps), x)
    case.log.append(out.requires_grad)


@scenario()
def grad_mode_inside(case):
    def function(x):
        with case.lib.no_grad():
            scale = x.exp()
        case.log.append(case.lib.is_grad_enabled())
        return (x * scale).sin()

    x = case.leaf(1.0)
    case.grad(case.checkpoint(function, x).sum(), [x])


@scenario()
def other_arguments(case):
    def function(count, x, *, scale=None, name="a"):
        case.log.append(name)
        return {"out": [(x * count * scale).exp()], "name": name}

    x, y = case.leaf(0.1), case.leaf(0.2)
    out = case.checkpoint(function, 3, x, scale=y, name="b")
    case.grad(out["out"][0].sum(), [x, y])


@scenario()
def hooks_run_once(case):
    w, x = case.leaf(2.0), case.leaf(3.0)
    w.register_hook(lambda grad: case.log.append("w"))
    out = case.checkpoint(lambda h: w * h, w * x)
    out.register_hook(lambda grad: case.log.append("out"))
    out.grad_fn.register_hook(lambda *args: case.log.append("node"))
    out.sum().backward()
    case.note(w.grad, x.grad)


@scenario()
def group_of_passes(case):
    def function(x):
        y = x.sin().cos()
        return y, y.sin().cos()

    for shared in (True, False):
        x = case.leaf(0.3)
        y, z = case.checkpoint(case.counted(function), x)
        group = case.checkpoints.GraphExecGroup() if shared else contextlib.nullcontext()
        with group:
            (first,) = case.grad(z, [y], grad_outputs=[case.lib.ones_like(z)])
            case.grad(y, [x], grad_outputs=[first])
    with case.checkpoints.GraphExecGroup(), case.checkpoints.GraphExecGroup():
        pass


@scenario()
def backward_within(case):
    def function(x):
        case.log.append("run")
        y = x.sin().exp()
        (inner,) = case.lib.autograd.grad(y.sum(), x, retain_graph=True)
        return (y * inner).sin()

    for stop in (True, False):
        x = case.leaf(0.3)
        case.grad(case.checkpoint(function, x, early_stop=stop).sum(), [x])


@scenario()
def backward_in_a_hook(case):
    x = case.leaf(0.4)
    inner, out = case.checkpoint(case.counted(lambda x: (x.sin().cos(), x.sin().cos().sin())), x)
    out.grad_fn.register_hook(lambda *args: inner.sum().backward(retain_graph=True))
    out.sum().backward(retain_graph=True)
    case.note(x.grad)


@scenario()
def changed_argument(case):
    x = case.leaf(0.4) * 1
    out = case.checkpoint(three_steps, x)
    x.add_(1)
    out.sum().backward()


@scenario(saves=[3, 2])
@scenario(saves=[2, 3])
@scenario(saves=[2, 3], early_stop=False)
@scenario(saves=[2, 2], shapes=[1, 2])
@scenario(saves=[2, 2], shapes=[1, 2], debug=True)
@scenario(saves=[2, 2], dtypes=["float64", "float32"])
@scenario(determinism_check="often")
def unlike_itself(case, saves=(2, 2), shapes=(1, 1), dtypes=("float64",) * 2, **options):
    runs = [0]

    def function(x):
        run = min(runs[0], 1)
        runs[0] += 1
        y = x * 1
        if dtypes[run] == "float32":
            y = y.float()
        for _ in range(saves[run]):
            y = y * case.lib.ones(shapes[run], dtype=y.dtype) * 1
        return y

    x = case.leaf(0.4)
    case.grad(case.checkpoint(function, x, **options).sum(), [x])


@scenario()
def contexts(case):
    @contextlib.contextmanager
    def noting(label):
        case.log.append(f"enter {label}")
        yield
        case.log.append(f"leave {label}")

    x = case.leaf(0.4)
    out = case.checkpoint(
        case.counted(three_steps),
        x,
        context_fn=lambda: (noting("first"), noting("again")),
        early_stop=False,
    )
    case.grad(out.sum(), [x])
    case.checkpoint(
        three_steps, x, context_fn=lambda: (noting("first"), noting("again")), debug=True
    )


@scenario()
def suppressing_context(case):
    def fails(x):
        raise KeyError("mine")

    x = case.leaf(0.4)
    with contextlib.suppress(KeyError):
        case.checkpoint(fails, x)
    case.checkpoint(
        fails, x, context_fn=lambda: (contextlib.suppress(KeyError), contextlib.nullcontext())
    )


# ---- nested ----


def nesting(case, function):
    """A function and its derivatives, and the same with checkpoints put in."""

    def c(f):
        return lambda x: case.checkpoint(f, x)

    def g(f):
        def derivative(x):
            with case.lib.enable_grad():
                (found,) = case.lib.autograd.grad(f(x).sum(), [x], create_graph=True)
            return found

        return derivative

    f = function
    yield from (f, c(f), c(c(f)), c(c(c(f))))
    yield from (g(f), g(c(f)), g(c(c(f))))
    yield from (g(g(f)), g(c(g(f))), c(g(g(c(f)))), g(c(g(c(f)))))
    yield from (g(g(g(f))), g(c(g(g(c(f))))), g(c(g(c(g(c(f)))))))


@scenario(early_stop=True)
@scenario(early_stop=False)
def nested(case, early_stop):
    def plain(x):
        return x.sin().exp().sin()

    def two(x):
        inner = case.checkpoint(plain, x)
        return case.checkpoint(lambda y: y.cos().sin().exp(), inner)

    def with_grad(x):
        a = x.sin().exp()
        (found,) = case.lib.autograd.grad(a.sum(), x)
        return (x * found).sin()

    with case.checkpoints.set_checkpoint_early_stop(early_stop):
        for function in (plain, two, with_grad):
            for wrapped in nesting(case, function):
                x = case.leaf(0.4, 0.2)
                out = wrapped(x)
                case.note(out)
                case.grad(out.sum(), [x])


@scenario(early_stop=True)
@scenario(early_stop=False)
def nested_runs(case, early_stop):
    inner = case.counted(lambda x: x.exp().sin(), "inner")
    outer = case.counted(lambda x: case.checkpoint(inner, x.cos()).exp(), "outer")
    with case.checkpoints.set_checkpoint_early_stop(early_stop):
        x = case.leaf(0.4)
        case.grad(case.checkpoint(outer, x).sum(), [x])


# ---- reentrant ----


def reentrant(case, function, *args, **options):
    return case.checkpoint(function, *args, use_reentrant=True, **options)


@scenario()
def reentrant_runs(case):
    w, x = case.leaf(2.0, 3.0), case.leaf(0.5, 1.0)
    out = reentrant(case, case.counted(lambda x: (x * w).sin()), x)
    case.log.append(out.grad_fn.name())
    out.sum().backward(retain_graph=True)
    case.note(x.grad, w.grad)
    out.sum().backward()
    case.note(x.grad, w.grad)
    out.sum().backward()


@scenario()
def reentrant_several(case):
    x, y = case.leaf(0.5), case.leaf(0.7)
    a, b, c, d = reentrant(
        case, lambda x, k, y: (x * k, x * y, (x > 0).double() * 2, "text"), x, 3, y
    )
    case.log.append((a.requires_grad, b.requires_grad, c.requires_grad, d))
    (b * 2).sum().backward()
    case.note(x.grad, y.grad)


@scenario()
def reentrant_refuses_grad(case):
    x = case.leaf(0.5)
    reentrant(case, three_steps, x).sum().backward()
    case.note(x.grad)
    case.grad(reentrant(case, three_steps, x).sum(), [x])


@scenario()
def reentrant_refuses_inputs(case):
    x = case.leaf(0.5)
    reentrant(case, three_steps, x).sum().backward(inputs=[x])


@scenario()
def reentrant_without_need(case):
    x = case.lib.ones(2)
    w = case.leaf(1.0, 2.0)
    case.log.append(reentrant(case, lambda x: x * w, x).requires_grad)


@scenario()
def reentrant_without_recording(case):
    def function(x):
        with case.lib.no_grad():
            return x * 2

    x = case.leaf(0.5)
    (reentrant(case, function, x) + x).sum().backward()


@scenario()
def reentrant_keywords(case):
    reentrant(case, three_steps, x=case.leaf(1.0))


@scenario()
def reentrant_contexts(case):
    reentrant(case, three_steps, case.leaf(1.0), context_fn=lambda: (None, None))


@scenario()
def reentrant_nested(case):
    x = case.leaf(0.5)
    for kinds in ((True, True), (True, False), (False, True)):
        outer, inner = kinds
        out = case.checkpoint(
            lambda x, inner=inner: case.checkpoint(three_steps, x.exp(), use_reentrant=inner).exp(),
            x,
            use_reentrant=outer,
        )
        out.sum().backward()
        case.note(x.grad)


@scenario()
def default_form(case):
    x = case.leaf(0.5)
    out = case.checkpoints.checkpoint(three_steps, x)
    case.log.append(out.grad_fn.name())


@scenario(segments=2, use_reentrant=False)
@scenario(segments=3, use_reentrant=False)
@scenario(segments=2, use_reentrant=True)
@scenario(segments=1, use_reentrant=None)
@scenario(segments=2, use_reentrant=False, other=1)
def sequential(case, **options):
    steps = [
        case.counted(step, label)
        for label, step in enumerate(
            [
                lambda x: x.sin(),
                lambda x: x.exp(),
                lambda x: x.cos(),
                lambda x: x * x,
                lambda x: x + 1,
            ]
        )
    ]
    x = case.leaf(0.5)
    case.checkpoints.checkpoint_sequential(steps, input=x, **options).sum().backward()
    case.note(x.grad)


# ---- policies ----


def ops(case):
    """The same op in both libraries: ours, and the overload PyTorch's policies see."""
    if case.lib is adjoint:
        return {name: getattr(adjoint, name) for name in ("sin", "cos", "exp", "matmul")}
    aten = torch.ops.aten
    return {
        "sin": aten.sin.default,
        "cos": aten.cos.default,
        "exp": aten.exp.default,
        "matmul": aten.mm.default,
    }


def selective(case, function, x, policy, **options):
    contexts = functools.partial(
        case.checkpoints.create_selective_checkpoint_contexts, policy, **options
    )
    return case.checkpoint(function, x, context_fn=contexts)


@scenario(kept=["sin"])
@scenario(kept=["exp", "cos"])
@scenario(kept=[])
@scenario(kept=["matmul"])
def list_of_ops(case, kept):
    x = case.lib.tensor([[0.5, 1.0], [0.1, 0.2]], dtype=case.lib.float64, requires_grad=True)
    out = selective(
        case, lambda x: (x.sin().exp() @ x).cos().exp(), x, [ops(case)[name] for name in kept]
    )
    case.note(out)
    case.grad(out.sum(), [x])


@scenario()
def policy_function(case):
    names = {op: name for name, op in ops(case).items()}
    policies = case.checkpoints.CheckpointPolicy
    answers = {"sin": policies.MUST_SAVE, "exp": policies.PREFER_SAVE, "cos": False}

    def policy(context, op, *args, **kwargs):
        case.log.append((names[op], context.is_recompute, len(args), len(kwargs)))
        case.note(args[0], context.op_output)
        return answers[names[op]]

    x = case.leaf(0.5)
    case.grad(selective(case, lambda x: x.sin().exp().cos().sin(), x, policy).sum(), [x])


def with_custom_op(case, use):
    """Let `use` have an op of both libraries, and its name there; its kernel notes each run."""
    library = case.lib.library

    def kernel(x, k=3, *, shift=0.0):
        case.log.append("kernel")
        return x**k + shift

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]

    def backward(ctx, grad):
        return ctx.k * grad * ctx.saved_tensors[0] ** (ctx.k - 1), None

    schema = "(Tensor x, int k=3, *, float shift=0.0) -> Tensor"
    op = library.custom_op("checkpoints::power", kernel, mutates_args=(), schema=schema)
    op.register_autograd(backward, setup_context=setup_context)
    try:
        use(op, op if case.lib is adjoint else torch.ops.checkpoints.power.default)
    finally:
        if case.lib is adjoint:
            adjoint.library.legacy.undefine("checkpoints::power")


@scenario(kept=True)
@scenario(kept=False)
def list_with_custom_op(case, kept):
    def use(op, named):
        x = case.leaf(0.5)
        out = selective(case, lambda x: op(x.sin(), 2).cos(), x, [named] if kept else [])
        case.note(out)
        case.grad(out.sum(), [x])

    with_custom_op(case, use)


@scenario(policy="MUST_SAVE")
@scenario(policy="PREFER_SAVE")
@scenario(policy="MUST_RECOMPUTE")
def policy_on_custom_op(case, policy):
    answer = getattr(case.checkpoints.CheckpointPolicy, policy)

    def use(op, named):
        def decide(context, called, *args, **kwargs):
            if called is named:
                case.log.append((context.is_recompute, args[1:], kwargs))
                case.note(args[0], context.op_output)
            return answer

        x = case.leaf(0.5)
        for call in (op, lambda x: op(x, 2), lambda x: op(x, 3, shift=1.0)):
            case.grad(selective(case, lambda x, c=call: c(x.sin()).cos(), x, decide).sum(), [x])

    with_custom_op(case, use)


@scenario(allow_cache_entry_mutation=True)
@scenario(allow_cache_entry_mutation=False)
def changed_result(case, **options):
    x = case.leaf(0.5)
    out = selective(case, lambda x: x.sin().mul_(2).cos().exp(), x, [ops(case)["sin"]], **options)
    case.grad(out.sum(), [x])


@scenario(policy=2)
@scenario(policy=[2])
def bad_policy(case, policy):
    case.checkpoints.create_selective_checkpoint_contexts(policy)


@pytest.mark.parametrize("function, options", SCENARIOS)
def test_same_as_torch(function, options):
    found = {name: outcome(function, lib, dict(options)) for name, lib in LIBRARIES.items()}
    assert found["adjoint"] == found["torch"]
    assert found["torch"], "the scenario logged nothing"
