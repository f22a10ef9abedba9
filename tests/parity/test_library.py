"""Custom operators against PyTorch: schemas, calls, versions, gradients and refusals."""

import functools
import typing

import pytest

import adjoint
import adjoint.library

torch = pytest.importorskip("torch")

LIBRARIES = {"adjoint": adjoint, "torch": torch}


def plain(value):
    """A value of either library that can be compared."""
    if isinstance(value, (adjoint.Tensor, torch.Tensor)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
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
        with adjoint.library.scoped():
            attempt(log, functools.partial(scenario, lib, log))
    assert logs["adjoint"] == logs["torch"]


def leaf(lib, *values):
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=True)


def operator(lib, schema, kernel, name="parity::op", mutates=()):
    return lib.library.custom_op(name, kernel, mutates_args=mutates, schema=schema)


HINTS = [
    lambda lib: lib.Tensor,
    lambda lib: typing.Optional[lib.Tensor],  # noqa: UP045  # both spellings
    lambda lib: lib.Tensor | None,
    lambda lib: typing.List[lib.Tensor],  # noqa: UP006
    lambda lib: list[lib.Tensor],
    lambda lib: typing.Sequence[lib.Tensor],
    lambda lib: list[lib.Tensor | None],
    lambda lib: typing.Optional[list[lib.Tensor]],  # noqa: UP045
    lambda lib: int,
    lambda lib: int | None,
    lambda lib: list[int],
    lambda lib: typing.Sequence[int],
    lambda lib: typing.Optional[typing.List[int]],  # noqa: UP006, UP045
    lambda lib: list[int | None],
    lambda lib: float,
    lambda lib: list[float],
    lambda lib: bool,
    lambda lib: list[bool],
    lambda lib: str,
    lambda lib: str | None,
    lambda lib: list[str],
    lambda lib: int | float | bool,
    lambda lib: lib.dtype,
    lambda lib: lib.device,
    lambda lib: lib.device | None,
    lambda lib: dict,
    lambda lib: tuple[int, int],
    lambda lib: tuple[lib.Tensor, ...],
    lambda lib: typing.Any,
    lambda lib: complex,
    lambda lib: "Tensor",
    lambda lib: "NoSuchType",
    lambda lib: list[list[int]],
]


@pytest.mark.parametrize("hint", HINTS, ids=range(len(HINTS)))
@pytest.mark.parametrize("place", ["argument", "return", "returns", "mutated"])
def test_hints(hint, place):
    def scenario(lib, log):
        def function(x, *, k=None): ...

        function.__globals__["Tensor"] = lib.Tensor
        kind = hint(lib)
        result = {"return": kind, "returns": tuple[lib.Tensor, kind]}.get(place, lib.Tensor)
        first = kind if place in ("argument", "mutated") else int
        function.__annotations__ = {"x": first, "k": int | None, "return": result}
        changed = ("x",) if place == "mutated" else ()
        infer = lib.library.infer_schema
        attempt(log, lambda: infer(function, mutates_args=changed, op_name="f"))
        attempt(log, lambda: infer(function, mutates_args="unknown"))

    both(scenario)


def test_defaults():
    def scenario(lib, log):
        values = [1, 2.5, True, None, "text", lib.float32, lib.device("cpu"), (1, 2), [1], object()]
        for value in values:

            def function(x=value) -> None: ...

            kind = {lib.dtype: lib.dtype, lib.device: lib.device, str: str}
            function.__annotations__["x"] = kind.get(type(value), float)
            attempt(log, lambda f=function: lib.library.infer_schema(f, mutates_args=()))

    both(scenario)


CALLS = [
    ((1,), {}),
    ((1.5, 2), {}),
    (("x",), {}),
    ((True,), {"n": 3}),
    ((2.0,), {"n": True}),
    ((2.0,), {"n": 2.5}),
    ((2.0,), {"b": 1}),
    ((2.0,), {"dims": [1, 2]}),
    ((2.0,), {"dims": (1, 2)}),
    ((2.0,), {"dims": [1.5]}),
    ((2.0,), {"dims": None}),
    ((2.0, [1], 3), {}),
    ((), {"k": 2.0}),
    ((), {}),
    ((2.0,), {"z": 1}),
    ((2.0,), {"k": 1.0}),
    ((2.0,), {"how": 3}),
    ((None,), {}),
]


@pytest.mark.parametrize("args, kwargs", CALLS, ids=[str(call) for call in CALLS])
def test_arguments(args, kwargs):
    def scenario(lib, log):
        schema = (
            "(Tensor x, float k, int[]? dims=None, *, int n=2, bool b=False, str how='a') -> Tensor"
        ).replace("'", '"')

        def kernel(x, k, dims=None, *, n=2, b=False, how="a"):
            log.append((type(k).__name__, k, plain(dims), n, b, how))
            return x * k

        op = operator(lib, schema, kernel)
        attempt(log, lambda: op(lib.ones(1), *args, **kwargs))

    both(scenario)


RESULTS = {
    "new": ("Tensor", lambda lib, x: x * 2),
    "input": ("Tensor", lambda lib, x: x),
    "view": ("Tensor", lambda lib, x: x[:1]),
    "detached": ("Tensor", lambda lib, x: x.detach()),
    "one twice": ("(Tensor, Tensor)", lambda lib, x: (x * 2,) * 2),
    "two": ("(Tensor, Tensor)", lambda lib, x: (x * 2, x * 3)),
    "list": ("Tensor[]", lambda lib, x: [x * 2, x * 3]),
    "list with input": ("Tensor[]", lambda lib, x: [x * 2, x]),
    "mixed": ("(Tensor, int, Tensor[])", lambda lib, x: (x * 2, 3, [x * 4])),
    "number for tensor": ("Tensor", lambda lib, x: 3),
    "something for nothing": ("()", lambda lib, x: 3),
    "nothing": ("()", lambda lib, x: None),
    "int": ("int", lambda lib, x: 3),
    "float": ("float", lambda lib, x: 3.5),
}


@pytest.mark.parametrize("returns, kernel", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("needs", [True, False])
def test_results(returns, kernel, needs):
    def scenario(lib, log):
        op = operator(lib, f"(Tensor x) -> {returns}", lambda x: kernel(lib, x))
        x = leaf(lib, 1.0, 2.0)
        got = op(x if needs else x.detach())
        log.append((type(got).__name__, plain(got)))
        for value in got if isinstance(got, (tuple, list)) else (got,):
            log.append(getattr(value, "requires_grad", None))

    both(scenario)


def test_versions():
    def scenario(lib, log):
        def kernel(x, outs, other):
            other.add_(1)
            for out in outs:
                out.detach().numpy()[...] = 7

        op = operator(
            lib,
            "(Tensor x, Tensor(a!)[] outs, Tensor(b!)? other) -> ()",
            kernel,
            mutates=("outs", "other"),
        )
        tensors = [lib.ones(2) for _ in range(4)]
        x, a, b, other = tensors
        log.append(op(x, [a, b], other))
        log.append([(plain(t), t._version) for t in tensors])
        y = leaf(lib, 1.0)
        op(x, [], y)
        log.append((plain(y), y._version, y.is_leaf))
        attempt(log, lambda: op.register_autograd(lambda ctx, g: g))

    both(scenario)


def test_autograd():
    def scenario(lib, log):
        def setup_context(ctx, inputs, keyword_only_inputs, output):
            log.append((plain(inputs), keyword_only_inputs, plain(output), lib.is_grad_enabled()))
            ctx.save_for_backward(inputs[0], output[0])
            ctx.k = keyword_only_inputs["k"]

        def backward(ctx, grad, number):
            x, out = ctx.saved_tensors
            log.append((ctx.needs_input_grad, number, out.requires_grad, lib.is_grad_enabled()))
            return grad * 2 * ctx.k * x, None, None

        schema = "(Tensor x, Tensor? y=None, int n=1, *, float k=3.0) -> (Tensor, int)"
        op = operator(lib, schema, lambda x, y=None, n=1, k=3.0: (x * x * k, 5))
        op.register_autograd(backward, setup_context=setup_context)
        x = leaf(lib, 2.0)
        y, number = op(x, None, 2)
        (g,) = lib.autograd.grad(y, x, create_graph=True)
        log.append((number, plain(g), plain(lib.autograd.grad(g, x))))
        with lib.no_grad():
            log.append(op(x)[0].requires_grad)
        op.register_autograd(lambda ctx, *grads: grads[0] * 3)
        for args in ((), (None,), (None, 1), (None, 2)):
            attempt(log, lambda a=args: lib.autograd.grad(op(x, *a)[0], x))

    both(scenario)


@pytest.mark.parametrize("answer", ["right", "none", "short", "long", "no list", "wrong kind"])
def test_gradients_of_lists(answer):
    def scenario(lib, log):
        def backward(ctx, grads):
            log.append((ctx.needs_input_grad, plain(grads)))
            return {
                "right": [g * 10 for g in grads],
                "none": [None, grads[1]],
                "short": grads[:1],
                "long": [*grads, None],
                "no list": grads[0],
                "wrong kind": [3, 4],
            }[answer]

        op = operator(lib, "(Tensor[] xs) -> Tensor[]", lambda xs: [x * 2 for x in xs])
        op.register_autograd(backward)
        a, b = leaf(lib, 1.0), leaf(lib, 2.0)
        attempt(log, lambda: op([a, b])[0].backward())
        log.append(plain([a.grad, b.grad]))

    both(scenario)


def test_without_a_formula():
    def scenario(lib, log):
        op = operator(lib, "(Tensor x) -> Tensor", lambda x: x * 2)
        y = op(leaf(lib, 1.0))
        log.append(y.requires_grad)
        attempt(log, y.backward)

    both(scenario)


def test_definitions_that_are_refused():
    def scenario(lib, log):
        def kernel(x):
            return x * 1

        for name in ("op", "a::b::c"):
            attempt(log, lambda n=name: bool(operator(lib, "(Tensor x) -> Tensor", kernel, n)))
        for schema in ("(Tensor x -> Tensor", "(Foo x) -> Tensor", "(*, Tensor x) -> Tensor"):
            attempt(log, lambda s=schema: bool(operator(lib, s, kernel)))
        attempt(log, lambda: operator(lib, "(Tensor x) -> Tensor", kernel, mutates=("x",)))
        attempt(log, lambda: operator(lib, "(Tensor(a!) x) -> Tensor", kernel))
        define = functools.partial(lib.library.custom_op, "parity::cpu", device_types="cpu")
        attempt(log, lambda: define(kernel, mutates_args=(), schema="(int n) -> Tensor"))

    both(scenario)


def test_opcheck():
    def scenario(lib, log):
        def check(op, test, *args):
            attempt(log, lambda: lib.library.opcheck(op, args, test_utils=test))

        def sly(x):
            x.add_(1)
            return x * 1

        op = operator(lib, "(Tensor x) -> Tensor", sly)
        check(op, "test_schema", lib.ones(2))
        check(op, "test_nothing", lib.ones(2))
        op = operator(lib, "(Tensor x) -> Tensor", lambda x: x * 2)
        check(op, "test_schema", lib.ones(2))
        check(op, "test_faketensor", lib.ones(2))
        op.register_fake(lambda x: lib.empty_like(x))
        check(op, "test_faketensor", lib.ones(2))
        op.register_fake(lambda x: x.new_empty(3))
        check(op, "test_faketensor", lib.ones(2))
        op.register_autograd(lambda ctx, g: g * 2)
        check(op, "test_autograd_registration", leaf(lib, 1.0))

    both(scenario)
