"""Branches and loops, eagerly, compiled, and by PyTorch."""

import warnings

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from adjoint import autograd, nn, optim
from adjoint.compiling import CompileError
from adjoint.utils.checkpoint import checkpoint
from tests.compile import assert_alike

F = nn.functional
RANDOM = np.random.default_rng(0)
W = RANDOM.standard_normal((3, 3))
X = RANDOM.standard_normal((6, 3))
H = RANDOM.standard_normal(3)


# Each takes a library and its scan, cond or while_loop, and answers what is differentiated.


def along(m, scan, w, x, h):
    scaled = w * 1.5

    def combine(carry, x):
        new = m.tanh(carry @ scaled + x)
        return new, new * 2 + x

    last, ys = scan(combine, h, x)
    return (last**2).sum() + (ys**3).sum()


def backward_in_nests(m, scan, w, x, h, kind="float64"):
    def combine(carry, each):
        new = carry["h"] * each["x"] + (w @ carry["h"])
        return {"h": new, "count": carry["count"] + 1}, (new.sum(), each["y"] * carry["count"])

    init = {"h": h, "count": m.zeros((), dtype=getattr(m, kind))}
    last, (sums, others) = scan(combine, init, {"x": x, "y": x.sin()}, reverse=True)
    return last["h"].sum() * last["count"] + (sums**2).sum() + (others * x).sum()


def with_integers(m, scan, w, x, h):  # PyTorch's own scan has no gradients beside integers
    return backward_in_nests(m, scan, w, x, h, "int64")


def along_another_dim(m, scan, w, x, h):
    def combine(carry, x):
        return carry * 0.5 + x, (carry * x).clone()

    last, ys = scan(combine, h, (w @ x.T), dim=1)
    return (last * ys[:, 0]).sum() + (ys[:, 1:] ** 2).sum()


def one_of_two(m, cond, w, x, h):
    twice = w * 2

    def left(a, b):
        return (a @ twice).sum(), b * 2

    def right(a, b):
        return (a * b).sum(), m.tanh(b) @ w

    first = cond((x.sum() > 0), left, right, (x, h))
    second = cond((x.sum() <= 0), left, right, (x, h))
    return first[0] + (first[1] ** 2).sum() + second[0] * (second[1] ** 3).sum()


PROGRAMS = [
    (along, "scan"),
    (backward_in_nests, "scan"),
    (along_another_dim, "scan"),
    (one_of_two, "cond"),
]


def gradients(m, program, function):
    """A step that answers the value of a program and its gradients."""
    tensors = [m.tensor(a, requires_grad=True) for a in (W, X, H)]

    def step():
        value = program(m, function, *tensors)
        return value.detach(), *m.autograd.grad(value, tensors, allow_unused=True)

    return step


def numbers(results):
    return [None if r is None else np.asarray(r.detach()) for r in results]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, 1e-9, 1e-9)


@pytest.mark.parametrize(("program", "name"), PROGRAMS)
def test_eager_compiled_and_pytorch_agree(program, name):
    torch = pytest.importorskip("torch")
    from torch import _higher_order_ops as theirs

    eager = gradients(adjoint, program, getattr(adjoint, name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's own compiler
        expected = numbers(gradients(torch, program, getattr(theirs, name))())
    assert_same(numbers(eager()), expected)
    compiled = adjoint.compile(eager)
    for _ in range(3):
        assert_same(numbers(compiled()), expected)
    assert compiled.count == 1


@pytest.mark.parametrize(("program", "name"), [*PROGRAMS, (with_integers, "scan")])
def test_first_and_second_derivatives(program, name):
    tensors = [adjoint.tensor(a, requires_grad=True) for a in (W, X, H)]

    def step():
        value = program(adjoint, getattr(adjoint, name), *tensors)
        first = autograd.grad(value, tensors, create_graph=True, allow_unused=True)
        total = sum((each**2).sum() for each in first if each is not None)
        return *first, *autograd.grad(total, tensors, allow_unused=True)

    expected = numbers(step())
    compiled = adjoint.compile(step)
    for _ in range(3):
        assert_same(numbers(compiled()), expected)


def test_a_loop_in_a_loop_with_modules_trains():
    def make():
        cell, head = nn.GRUCell(3, 4), nn.Linear(4, 1)
        optimizer = optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
        x = adjoint.randn(5, 2, 3)

        def inner(h, number):
            return h * 0.9 + number, h.sum()

        def outer(h, x):
            h = cell(x, h)
            h, sums = adjoint.scan(inner, h, adjoint.arange(3.0) * 0.1)
            return h, head(h) + sums.mean()

        def step():
            optimizer.zero_grad()
            _, ys = adjoint.scan(outer, adjoint.zeros(2, 4), x)
            loss = (ys**2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach(), cell.weight_hh, head.bias

        return step

    assert_alike(make, 6)


def test_hooks_of_what_a_loop_reads_run_once():
    weight = adjoint.tensor(H, requires_grad=True)
    x = adjoint.tensor(X)
    seen = []
    weight.register_hook(lambda grad: seen.append(grad.numpy().copy()))

    def step():
        weight.grad = None
        last, _ = adjoint.scan(lambda c, x: (c * weight + x, x), adjoint.zeros(3).double(), x)
        last.sum().backward()

    step()
    compiled = adjoint.compile(step)
    for _ in range(3):
        compiled()
    assert len(seen) == 4
    assert_same(seen[1:], seen[:1] * 3)


def test_constants_inside_a_loop():
    @adjoint.compile
    def step(x):
        return adjoint.scan(lambda c, x: (c + adjoint.tensor([1.0, 2.0]) * x, x), ones(2), x)[0]

    for _ in range(3):
        assert step(ones(3)).tolist() == [4.0, 7.0]
    outside = adjoint.compile(lambda: step.function(ones(3)))
    for _ in range(3):
        assert outside().tolist() == [4.0, 7.0]


def temporary_memory(function):
    """The bytes that XLA needs for a program besides what goes in and comes out."""
    compiled = adjoint.compile(function)
    for _ in range(2):
        compiled()
    (signature,) = compiled.signatures.values()
    (program,) = signature.programs
    assert not program.host_calls
    ready = program.xla.only.lower(*program.inputs.arrays).compile()
    return ready.memory_analysis().temp_size_in_bytes


def test_a_scan_keeps_its_carries_alone():
    weights = adjoint.randn(8, 16, 256, requires_grad=True)
    x = adjoint.randn(256, 16)

    def block(h, w):
        return F.gelu(h @ w) @ w.T

    def unrolled():
        h = x
        for w in weights:
            h = block(h, w)
        return autograd.grad(h.sum(), weights)

    def scanned():
        return autograd.grad(
            adjoint.scan(lambda h, w: (block(h, w), x), x, weights)[0].sum(), weights
        )

    def checkpointed():
        h = x
        for w in weights:
            h = checkpoint(block, h, w, use_reentrant=False)
        return autograd.grad(h.sum(), weights)

    assert temporary_memory(scanned) < temporary_memory(unrolled) / 2
    assert temporary_memory(checkpointed) > 0  # how much is XLA's affair, but in one piece


def collatz(number, steps):
    return adjoint.where(number % 2 == 0, number // 2, number * 3 + 1), steps + 1


def test_while_loops_end_by_values():
    def count(number):
        return adjoint.while_loop(lambda n, steps: n != 1, collatz, (number, 0))[1]

    compiled = adjoint.compile(count)
    for number in (1, 6, 6, 7, 27, 97):
        steps = count(adjoint.tensor(number))
        assert int(compiled(adjoint.tensor(number))) == int(steps)
    assert int(steps) == 118
    assert compiled.count == 1


def test_while_loops_differentiate_eagerly_and_say_so_compiled():
    def grown(x):
        return adjoint.while_loop(lambda x: x.sum() < 100, lambda x: (x * 2,), (x,))[0]

    x = adjoint.ones(2, requires_grad=True)
    grown(x).sum().backward()
    assert x.grad.tolist() == [64.0, 64.0]

    @adjoint.compile
    def step():
        return autograd.grad(grown(x).sum(), x)

    step()
    with pytest.raises(CompileError, match=r"while_loop has no backward .*use scan"):
        step()
    with adjoint.no_grad():
        values = adjoint.compile(lambda: grown(x))
        for _ in range(3):
            assert values().tolist() == [64.0, 64.0]


def test_eager_loops_take_numbers():
    found = adjoint.while_loop(
        lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (0, adjoint.ones(2))
    )
    assert found[0] == 5
    assert found[1].tolist() == [32.0, 32.0]
    assert adjoint.cond(True, lambda: 1, lambda: 2) == 1


ones = adjoint.ones


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: adjoint.scan(lambda c, x: ({"a": c["a"][:1]}, x), {"a": ones(2)}, ones(3)),
            r"scan: carry\['a'\] has come back as .*float32\[1\]; it went in as .*float32\[2\]",
        ),
        (
            lambda: adjoint.scan(lambda c, x: (c.double(), x), ones(2), ones(3)),
            r"scan: carry has come back as .*float64\[2\]",
        ),
        (
            lambda: adjoint.scan(lambda c, x: ((c, c), x), ones(2), ones(3)),
            r"scan: what is carried is .* was answered",
        ),
        (lambda: adjoint.scan(lambda c, x: c, ones(()), ones(3)), r"must answer a carry and a"),
        (lambda: adjoint.scan(lambda c, x: (c, 1.0), ones(2), ones(3)), r"result must be a tensor"),
        (lambda: adjoint.scan(lambda c, x: (c, x), 1.0, ones(3)), r"scan: carry must be a tensor"),
        (lambda: adjoint.scan(lambda c, x: (c, x), (), ones(3)), r"init has no tensor"),
        (
            lambda: adjoint.scan(lambda c, x: (c, c), ones(2), [ones(3), ones(4)]),
            r"xs\[1\] has shape \[4\]",
        ),
        (lambda: adjoint.scan(lambda c, x: (c, x), ones(2), ones(3), dim=1), r"dim 1 is none of"),
        (
            lambda: adjoint.while_loop(lambda a: a.sum() < 9, lambda a: (a[:1],), (ones(2),)),
            r"while_loop: carried_inputs\[0\] has come back as .*\[1\]; it went in as .*\[2\]",
        ),
        (
            lambda: adjoint.while_loop(lambda a: a < 9, lambda a: (a,), (ones(2),)),
            r"cond_fn must answer a bool .* got .*bool.*\[2\]",
        ),
        (lambda: adjoint.while_loop(lambda a: True, lambda a: a, ones(2)), r"must be a tuple"),
        (lambda: adjoint.cond(ones(2) > 0, lambda: 1, lambda: 2), r"pred must have one element"),
        (lambda: adjoint.cond("yes", lambda: 1, lambda: 2), r"pred must be a bool"),
    ],
)
@pytest.mark.parametrize("compiled", [False, True])
def test_bad_input_is_named(call, message, compiled):
    run = adjoint.compile(call, warm_up=0) if compiled else call
    with pytest.raises(RuntimeError, match=message):
        run()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda c, x: (c + adjoint.randn(2), x), "random numbers are drawn"),
        (lambda c, x: (c + COUNT.add_(1), x), "changed in place"),
        (lambda c, x: (c.add_(1), x), "changed in place"),
    ],
)
def test_what_the_body_of_a_compiled_loop_cannot_do(body, message):
    step = adjoint.compile(lambda: adjoint.scan(body, ones(2), ones(3)), warm_up=0)
    before = COUNT.tolist()
    with pytest.raises(CompileError, match=message):
        step()
    assert COUNT.tolist() == before


COUNT = adjoint.zeros(2)


def test_branches_that_differ_are_refused_when_compiled():
    step = adjoint.compile(lambda x: adjoint.cond(x.sum() > 0, lambda: x, lambda: x[:1]), warm_up=0)
    with pytest.raises(CompileError, match=r"true_fn answers .*\[2\], and false_fn .*\[1\]"):
        step(ones(2))
