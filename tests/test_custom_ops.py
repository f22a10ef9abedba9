"""Custom ops are ops: all that is done with those of the table can be done with them."""

import functools
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, library
from adjoint.autograd import Function, gradcheck, gradgradcheck
from adjoint.autograd.forward_rules import jvp
from adjoint.autograd.graph import saved_tensors_hooks
from adjoint.ops.op import Op
from adjoint.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    checkpoint_scope,
    create_selective_checkpoint_contexts,
)


@pytest.fixture(autouse=True)
def undone():
    with library.scoped():
        yield


def leaf(*values: float) -> Tensor:
    return adjoint.tensor(list(values), dtype=adjoint.float64, requires_grad=True)


def made(kernel: Callable[..., Any], save: Any, backward: Any, fake: Any) -> library.CustomOpDef:
    """A custom op; `save` gives what backward gets, besides the gradients, from the inputs."""
    op = library.custom_op(f"mine::{kernel.__name__}", kernel, mutates_args=())

    def setup_context(ctx, inputs, keyword_only_inputs=None, output=None):
        ctx.numbers, tensors = save(*inputs, **(keyword_only_inputs or {}))
        ctx.save_for_backward(*tensors)

    if not any(a.keyword_only for a in op.schema.arguments):
        original = setup_context
        setup_context = lambda ctx, inputs, output: original(ctx, inputs, None, output)
    op.register_autograd(
        lambda ctx, *grads: backward(grads, ctx.numbers, ctx.saved_tensors),
        setup_context=setup_context,
    )
    op.register_fake(fake)
    return op


def raw(tensor: Tensor) -> Any:
    return tensor.detach().numpy()


# Kernels see arrays only, so that their derivatives are those of the formulas.


def single() -> tuple[Any, Any]:
    def cube(x: Tensor) -> Tensor:
        return adjoint.from_numpy(raw(x) ** 3)

    op = made(
        cube,
        lambda x: (None, (x,)),
        lambda grads, _, saved: 3 * grads[0] * saved[0] ** 2,
        adjoint.empty_like,
    )
    return op, lambda: ((leaf(1.0, -2.0),), {})


def several() -> tuple[Any, Any]:
    def product_and_sum(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return adjoint.from_numpy(raw(x) * raw(y)), adjoint.from_numpy(raw(x) + raw(y))

    op = made(
        product_and_sum,
        lambda x, y: (None, (x, y)),
        lambda grads, _, saved: (grads[0] * saved[1] + grads[1], grads[0] * saved[0] + grads[1]),
        lambda x, y: (adjoint.empty_like(x), adjoint.empty_like(x)),
    )
    return op, lambda: ((leaf(1.0, 2.0), leaf(3.0, 4.0)), {})


def lists() -> tuple[Any, Any]:
    def scaled(xs: list[Tensor], by: list[float]) -> list[Tensor]:
        return [adjoint.from_numpy(raw(x) * factor) for x, factor in zip(xs, by)]

    op = made(
        scaled,
        lambda xs, by: (by, ()),
        lambda grads, by, _: ([g * factor for g, factor in zip(grads[0], by)], None),
        lambda xs, by: [adjoint.empty_like(x) for x in xs],
    )
    return op, lambda: (([leaf(1.0), leaf(2.0, 3.0)], [2.0, -1.0]), {})


def keyword_only() -> tuple[Any, Any]:
    def shifted(x: Tensor, *, by: float, times: int = 2) -> Tensor:
        return adjoint.from_numpy((raw(x) + by) * times)

    op = made(
        shifted,
        lambda x, by, times: (times, ()),
        lambda grads, times, _: grads[0] * times,
        lambda x, *, by, times=2: adjoint.empty_like(x),
    )
    return op, lambda: ((leaf(1.0, 2.0),), {"by": 0.5})


def defaults() -> tuple[Any, Any]:
    def power(x: Tensor, exponent: int = 2, bias: Tensor | None = None) -> Tensor:
        return adjoint.from_numpy(raw(x) ** exponent + (0.0 if bias is None else raw(bias)))

    op = made(
        power,
        lambda x, exponent, bias: ((exponent, bias is not None), (x,)),
        lambda grads, kept, saved: (
            grads[0] * kept[0] * saved[0] ** (kept[0] - 1),
            None,
            grads[0] if kept[1] else None,
        ),
        lambda x, exponent=2, bias=None: adjoint.empty_like(x),
    )
    return op, lambda: ((leaf(1.5, 2.0),), {"bias": leaf(0.5, 1.0)})


def plain_arguments() -> tuple[Any, Any]:
    def reduced(x: Tensor, how: str, dim: int, keep: bool) -> Tensor:
        return adjoint.from_numpy(getattr(np, how)(raw(x), axis=dim, keepdims=keep))

    def backward(grads, kept, _):
        how, dim, keep, shape = kept
        grad = grads[0] if keep else grads[0].unsqueeze(dim)
        return grad.expand(shape) / (shape[dim] if how == "mean" else 1), None, None, None

    op = made(
        reduced,
        lambda x, how, dim, keep: ((how, dim, keep, tuple(x.shape)), ()),
        backward,
        lambda x, how, dim, keep: adjoint.empty_like(x.sum(dim, keepdim=keep)),
    )
    matrix = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    return op, lambda: (
        (adjoint.tensor(matrix, dtype=adjoint.float64, requires_grad=True), "mean", 1, False),
        {},
    )


KINDS = [single, several, lists, keyword_only, defaults, plain_arguments]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])


def flat(value: Any) -> list[Tensor]:
    """The tensors of arguments or results."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for element in value for tensor in flat(element)]
    return [value] if isinstance(value, Tensor) else []


def total(output: Any) -> Tensor:
    """One number of all results, that depends on each in another way."""
    parts = [((i + 2.0) * tensor).sum() for i, tensor in enumerate(flat(output))]
    return functools.reduce(adjoint.add, parts)


def gradients(output: Any, arguments: Any) -> list[Any]:
    return [g.tolist() for g in adjoint.autograd.grad(total(output), flat(arguments))]


# ---- what an op is ----


@every_kind
def test_it_is_an_op(kind):
    op, arguments = kind()
    assert isinstance(op, Op)
    assert repr(op) == f"<CustomOpDef({op.name})>"
    assert pickle.loads(pickle.dumps(op)) is op
    args, kwargs = arguments()
    values = op.bind(args, kwargs)
    assert len(values) == len(op.parameters)
    assert dict(zip(op.parameters, values)).items() >= kwargs.items()
    spelled = op.spelled(values)
    assert spelled[1].keys() <= set(op.parameters[op.positional :])
    again = op.bind(*spelled)
    assert all(a is b or a == b for a, b in zip(again, values, strict=True) if not flat([a]))
    assert [id(t) for t in flat(again)] == [id(t) for t in flat(values)]
    assert gradients(op.run(values), (args, kwargs)) == gradients(
        op(*args, **kwargs), (args, kwargs)
    )


def test_wrong_arguments_name_the_op():
    op, _ = keyword_only()
    cases = {
        "misses 'x', 'by'": lambda: op(),
        "misses 'by'": lambda: op(leaf(1.0), times=3),
        "takes 1 positional arguments, got 2": lambda: op(leaf(1.0), 2.0),
        "unexpected argument 'z'": lambda: op(leaf(1.0), by=1.0, z=1),
        "several values for 'x'": lambda: op(leaf(1.0), x=leaf(1.0), by=1.0),
        "type 'SymInt' for argument 'times', got a str": lambda: op(leaf(1.0), by=1.0, times="2"),
    }
    for message, call in cases.items():
        with pytest.raises(RuntimeError, match=rf"mine::shifted\(.*{message}.*Tensor x"):
            call()


def test_out_is_an_argument_like_any_other():
    @library.custom_op("mine::into", mutates_args=("out",))
    def into(x: Tensor, n: int, out: Tensor) -> None:
        raw(out)[...] = raw(x) * n

    out = adjoint.zeros(1, dtype=adjoint.float64)
    assert into(leaf(3.0).detach(), 1, out=out) is None
    assert (out.tolist(), out._version) == ([3.0], 1)


def test_in_a_class_it_takes_no_self():
    op, _ = single()

    class Model:
        cube = op

    assert Model().cube is op
    assert Model().cube(leaf(2.0)).tolist() == [8.0]


# ---- the generated checks ----


@every_kind
def test_opcheck(kind):
    op, arguments = kind()
    outcomes = library.opcheck(op, *arguments())
    assert set(outcomes.values()) == {"SUCCESS"}
    assert {"test_schema", "test_gradients", "test_faketensor"} <= outcomes.keys()


@every_kind
def test_gradcheck(kind):
    op, arguments = kind()
    args, kwargs = arguments()
    inputs = flat((args, kwargs))

    def function(*tensors):
        left = iter(tensors)
        filled = adjoint.pytree.tree_map(
            lambda v: next(left) if isinstance(v, Tensor) else v, (args, kwargs)
        )
        return tuple(flat(op(*filled[0], **filled[1])))

    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not lists])
def test_forward_derivative(kind):
    """The one derived from the formula of any op, if it answers tensors and no lists."""
    op, arguments = kind()
    values = op.bind(*arguments())
    is_input = [i in op.inputs and bool(flat([v])) for i, v in enumerate(values)]
    tangents = [
        adjoint.pytree.tree_map(adjoint.ones_like, v) if needed else None
        for v, needed in zip(values, is_input)
    ]

    def moved(by):
        steps = [
            adjoint.pytree.tree_map(lambda t: t.detach() + by, v) if needed else v
            for v, needed in zip(values, is_input)
        ]
        return flat(op.run(steps))

    measured = [(a - b) / 2e-6 for a, b in zip(moved(1e-6), moved(-1e-6), strict=True)]
    for found, expected in zip(flat(jvp(op, values, tangents)), measured, strict=True):
        np.testing.assert_allclose(raw(found), raw(expected), rtol=1e-6)


# ---- hooks, provenance, explanations ----


@every_kind
def test_hooks(kind):
    op, arguments = kind()
    args, kwargs = arguments()
    plain = gradients(op(*args, **kwargs), (args, kwargs))
    output = op(*args, **kwargs)
    seen = []
    first = flat(output)[0]
    first.register_hook(lambda grad: seen.append("tensor"))
    first.grad_fn.register_prehook(lambda grads: seen.append("before"))
    first.grad_fn.register_hook(
        lambda found, given: seen.append("after") or tuple(g if g is None else g * 2 for g in found)
    )
    doubled = adjoint.pytree.tree_map(lambda x: x * 2, plain)
    assert gradients(output, (args, kwargs)) == doubled
    assert seen == ["tensor", "before", "after"]


@every_kind
def test_saved_tensors_hooks(kind):
    op, arguments = kind()
    args, kwargs = arguments()
    expected = gradients(op(*args, **kwargs), (args, kwargs))
    packed, unpacked = [], []

    def pack(tensor):
        packed.append(tensor.tolist())
        return tensor.numpy_array()

    def unpack(array):
        unpacked.append(array.tolist())
        return adjoint.from_numpy(array)

    with saved_tensors_hooks(pack, unpack):
        output = op(*args, **kwargs)
    saved = len(flat(output)[0].grad_fn._raw_saved_tensors)
    assert (len(packed), unpacked) == (saved, [])
    assert gradients(output, (args, kwargs)) == expected
    assert unpacked == packed


@every_kind
def test_provenance_and_explain(kind):
    op, arguments = kind()
    args, kwargs = arguments()
    output = op(*args, **kwargs)  # the line
    node = flat(output)[0].grad_fn
    assert node.name() == op.node_name == f"{op.name}Backward"
    assert node.source().filename == __file__
    assert "# the line" in node.source().text
    found = adjoint.explain(total(output))
    steps = {step.name: step for step in found.steps}
    assert "# the line" in str(steps[op.node_name])
    assert found.leaves == len(flat((args, kwargs)))


def test_why_a_result_does_not_require_grad():
    op, _ = single()
    with adjoint.no_grad():
        y = op(leaf(1.0))
    assert "under no_grad()" in adjoint.explain(y).requires_grad
    assert "tensors of which none does" in adjoint.explain(op(adjoint.ones(1))).requires_grad

    flags = library.custom_op("mine::constant", lambda x: x * 0, mutates_args=(), schema="(Tensor x) -> Tensor")  # fmt: skip  # noqa: E501
    flags.register_autograd(
        lambda ctx, grad: None,
        setup_context=lambda ctx, inputs, output: ctx.mark_non_differentiable(output),
    )
    assert "no derivative" in adjoint.explain(flags(leaf(1.0))).requires_grad


def test_what_a_forward_computes_by_it_is_known_to_have_no_history():
    op, _ = single()

    class Uses(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(op(x))
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    x = leaf(2.0)
    (g,) = adjoint.autograd.grad(Uses.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"saved_tensors\[0\].*silently wrong"):
        g.backward()


# ---- what watches calls ----


@every_kind
def test_profiler(kind):
    op, arguments = kind()
    args, kwargs = arguments()
    with adjoint.profiler.profile() as seen:
        total(op(*args, **kwargs)).backward()
    names = [event.name for event in seen.function_events]
    assert names.count(op.name) == 1
    assert any(op.node_name in name for name in names)


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_anomalies():
    @library.custom_op("mine::root", mutates_args=())
    def root(x: Tensor) -> Tensor:
        with np.errstate(invalid="ignore"):
            return adjoint.from_numpy(np.sqrt(raw(x)))

    root.register_autograd(lambda ctx, grad: grad * float("nan"))
    with adjoint.autograd.detect_anomaly():
        y = root(leaf(1.0))
        with (
            pytest.raises(RuntimeError, match="mine::rootBackward.*returned nan"),
            pytest.warns(UserWarning, match=r"y = root\(leaf\(1.0\)\)"),
        ):
            y.backward()
    with (
        adjoint.autograd.set_detect_anomaly(True, forward=True),
        pytest.raises(RuntimeError, match=r"mine::root\(float64\[1\]\) returned .*in the forward"),
    ):
        root(leaf(-1.0))


def test_watchers_see_calls_without_tensors():
    @library.custom_op("mine::count", mutates_args=())
    def count(n: int, device: adjoint.device) -> Tensor:
        return adjoint.arange(n, device=device)

    with adjoint.profiler.profile() as seen:
        assert count(2, "cpu").tolist() == [0, 1]
    assert "mine::count" in [event.name for event in seen.function_events]


@every_kind
def test_a_subclass_sees_the_call_as_it_was_made(kind):
    seen = []

    class Watching(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func, types, func.spelled(func.bind(args, kwargs or {}))))
            return super().__torch_function__(func, types, args, kwargs or {})

    op, arguments = kind()
    args, kwargs = adjoint.pytree.tree_map(
        lambda v: v.detach().as_subclass(Watching) if isinstance(v, Tensor) else v, arguments()
    )
    spelled = op.spelled(op.bind(args, kwargs))
    result = op(*args, **kwargs)
    assert [(func, types) for func, types, _ in seen] == [(op, (Watching,))]
    assert [id(t) for t in flat(seen[0][2])] == [id(t) for t in flat(spelled)]
    assert [type(t) for t in flat(result)] == [Watching] * len(flat(result))


# ---- checkpointing ----


def counting(op: library.CustomOpDef) -> list[str | None]:
    """Notes each run of an op's kernel."""
    runs: list[str | None] = []
    kernel = op.registered.kernels[None]

    def counted(*args, **kwargs):
        runs.append(op.name)
        return kernel(*args, **kwargs)

    op.register_kernel(None, counted)
    return runs


def region(op: Any, kwargs: Any, args: Any) -> Any:
    """The op between two others, the last of which saves its result: it must be there again."""
    return functools.reduce(adjoint.add, [t.exp().sum() for t in flat(op(*args, **kwargs))])


@every_kind
@pytest.mark.parametrize("policy", list(CheckpointPolicy))
def test_selective_checkpoint(kind, policy):
    op, arguments = kind()
    args, kwargs = arguments()
    inputs = flat((args, kwargs))
    expected = adjoint.autograd.grad(region(op, kwargs, args), inputs)
    asked = []

    def decide(context, called, *given, **named):
        if called is op:
            asked.append((len(given), sorted(named)))
        return policy if called is op else CheckpointPolicy.PREFER_RECOMPUTE

    runs = counting(op)
    out = checkpoint(
        functools.partial(region, op, kwargs),
        args,
        use_reentrant=False,
        context_fn=functools.partial(create_selective_checkpoint_contexts, decide),
    )
    found = adjoint.autograd.grad(out, inputs)
    assert [g.tolist() for g in found] == [g.tolist() for g in expected]
    assert len(runs) == (2 if "RECOMPUTE" in policy.name else 1)
    spelled = op.spelled(op.bind(args, kwargs))
    assert asked == [(len(spelled[0]), sorted(spelled[1]))]


@every_kind
def test_checkpoint(kind):
    op, arguments = kind()
    args, kwargs = arguments()
    inputs = flat((args, kwargs))
    expected = [g.tolist() for g in adjoint.autograd.grad(region(op, kwargs, args), inputs)]
    function = functools.partial(region, op, kwargs)
    runs = counting(op)
    out = checkpoint(function, args, use_reentrant=False)
    assert [g.tolist() for g in adjoint.autograd.grad(out, inputs)] == expected
    assert len(runs) == 2
    with checkpoint_scope():
        out = function(args)
    assert [g.tolist() for g in adjoint.autograd.grad(out, inputs)] == expected
    assert len(runs) == 3  # whether it gives the same each time is not known: it is kept


def keeping(function: Any, x: Tensor, op: Any) -> Tensor:
    contexts = functools.partial(create_selective_checkpoint_contexts, [op])
    return checkpoint(function, x, use_reentrant=False, context_fn=contexts)


def test_what_is_not_kept():
    """Ops that change something, and those whose kernel is what is recorded."""

    @library.custom_op("mine::bump", mutates_args=("x",))
    def bump(x: Tensor) -> None:
        raw(x)[...] += 1

    def bumped(x):
        copy = x.detach() * 1
        bump(copy)
        return (x * copy).exp()

    runs = counting(bump)
    x = leaf(1.0)
    (g,) = adjoint.autograd.grad(keeping(bumped, x, bump), x)
    assert (len(runs), g.tolist()) == (2, adjoint.autograd.grad(bumped(x), x)[0].tolist())

    library.define("mine::loose", "(Tensor x) -> Tensor")
    library.impl("mine::loose", "default", lambda x: x * x)
    loose = library.lookup("mine::loose")
    runs = counting(loose)
    (g,) = adjoint.autograd.grad(keeping(lambda x: loose(x).exp().exp(), x, loose), x)
    assert len(runs) == 2
    assert g.tolist() == adjoint.autograd.grad((x * x).exp().exp(), x)[0].tolist()


def test_kept_results_go_with_the_pass():
    op, _ = single()
    arrays = []

    def decide(context, called, *args, **kwargs):
        if called is op:
            arrays.append(weakref.ref(context.op_output.array))
        return called is op

    x = leaf(1.0)
    out = checkpoint(
        lambda x: op(x).sin() * 1,
        x,
        use_reentrant=False,
        context_fn=functools.partial(create_selective_checkpoint_contexts, decide),
    )
    assert arrays[0]() is not None
    out.sum().backward()
    assert arrays[0]() is None
