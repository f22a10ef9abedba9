"""Graphs in parts, without a GPU and without JAX: run by test_graphs.py."""

import sys
from collections.abc import Callable
from typing import Any

sys.modules["jax"] = None  # type: ignore[assignment]  # which can't be imported from here on

import numpy as np

import adjoint
from adjoint import nn, optim
from adjoint.autograd import graph
from adjoint.compiling import CompileError
from tests.compile import recorded_graphs

recorded_graphs.install()
CUDA = "cuda"
Note = Callable[[Any], None]


def captured(function: Any) -> Any:
    """A function whose work is captured."""
    return adjoint.compile(function, backend="cudagraph")


def shown(tensor: Any) -> Any:
    """A tensor as it stands in a log."""
    return None if tensor is None else [round(v, 4) for v in tensor.detach().flatten().tolist()]


def numbers(result: Any) -> list[Any]:
    """The values of tensors."""
    return [np.asarray(each.detach().cpu()) for each in result]


def ran(make: Callable[[Note], Any], wrap: Any, steps: int) -> tuple[list[Any], list[Any], Any]:
    """What some steps answer, their log, and what was run."""
    log: list[Any] = []
    adjoint.manual_seed(1)
    step = wrap(make(log.append))
    adjoint.manual_seed(2)
    return [numbers(step()) for _ in range(steps)], log, step


def assert_alike(make: Callable[[Note], Any], parted: bool, steps: int = 5) -> None:
    """Eagerly and as a graph, in parts or not, a step comes to the same, and hooks see the same."""
    expected, log, _ = ran(make, lambda step: step, steps)
    found, other, step = ran(make, captured, steps)
    assert other == log, f"{other}\n{log}"
    for mine, theirs in zip(found, expected, strict=True):
        for one, another in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, another, 1e-5, 1e-6)
    (signature,) = step.signatures.values()
    assert step.count == 1
    assert (len(signature.programs[0].parts) > 1) is parted


def plain_training(note: Note) -> Any:
    """Chance, buffers, an optimizer and a scheduler, and no hook."""
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.4), nn.Linear(6, 3))
    net = net.to(CUDA)
    optimizer = optim.Adam(net.parameters(), lr=0.05, foreach=False)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
    x, y = adjoint.randn(8, 4).to(CUDA), adjoint.randint(0, 3, (8,)).to(CUDA)

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        return [loss.detach(), *net.parameters(), *net.buffers()]

    return step


def each_kind(note: Note) -> Any:
    """A training step with hooks of all kinds, most of which answer something."""
    net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3), nn.Dropout(0.5)).to(CUDA)
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, foreach=False)
    schedule = optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=0.5)
    x, first = adjoint.randn(5, 4).to(CUDA), net[0].weight
    rates = optimizer.param_groups[0]
    optimizer.register_step_post_hook(lambda *_: note((rates["lr"], shown(first))))
    net[0].register_forward_hook(lambda _, args, out: note(("out", shown(args[0]), shown(out))))
    net[0].register_forward_pre_hook(lambda _, args: (args[0] * 1.5,))
    net[1].register_forward_hook(lambda _, args, out: out * 2 + args[0])
    net[2].register_full_backward_hook(lambda _, ins, outs: note((shown(*ins), shown(*outs))))
    net[2].register_full_backward_pre_hook(lambda _, outs: (outs[0] * 0.5,))
    first.register_hook(lambda grad: note(("leaf", shown(grad))) or grad * 0.3)
    first.register_post_accumulate_grad_hook(lambda leaf: note((shown(leaf), shown(leaf.grad))))

    def pack(tensor: Any) -> Any:
        note(("pack", shown(tensor)))
        return tensor.cpu().numpy().copy()

    def unpack(array: Any) -> Any:
        note(("unpack", array.shape))
        return adjoint.tensor(array).to(CUDA)

    def step() -> Any:
        optimizer.zero_grad()
        hidden = net[0](x)
        hidden.register_hook(lambda grad: note(("tensor", shown(grad))))
        hidden.grad_fn.register_hook(lambda ins, outs: note([shown(each) for each in outs]))
        hidden.grad_fn.register_prehook(lambda outs: note("pre") or (outs[0] * 2,))
        bent = net[1](hidden)
        graph.register_multi_grad_hook([hidden, bent], lambda grads: note(len(grads)))
        bent.register_hook(lambda _: graph.queue_callback(lambda: note("end of pass")))
        with graph.saved_tensors_hooks(pack, unpack):
            out = net[2](bent)
        loss = (net[3](out) ** 2).mean()
        loss.backward()
        optimizer.step()
        schedule.step(loss)
        return [loss.detach(), *net.parameters(), *[p.grad for p in net.parameters()]]

    return step


def scaled(note: Note) -> Any:
    """A scaler that skips the steps of some calls."""
    weight, count = adjoint.ones(3, device=CUDA, requires_grad=True), adjoint.zeros((), device=CUDA)
    optimizer = optim.Adam([weight], lr=0.1, foreach=False)
    optimizer.register_step_post_hook(lambda *_: note(shown(weight)))
    scaler = adjoint.GradScaler(CUDA, init_scale=8.0, growth_interval=2)

    def step() -> Any:
        count.add_(1)
        optimizer.zero_grad()
        bad = (count == 2) | (count == 4)
        loss = (weight**2).sum() * adjoint.where(bad, np.inf, 1.0)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return [weight, weight.grad]

    return step


def accumulated(wrap: Any) -> Any:
    """Gradients of two calls, one after the other, of which every second makes a step."""
    net = nn.Linear(3, 2).to(CUDA)
    optimizer, calls = optim.SGD(net.parameters(), lr=0.1, foreach=False), [0]

    def part(x: Any, last: bool) -> Any:
        loss = net(x).square().mean()
        loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    def step() -> Any:
        calls[0] += 1
        return [accumulate(adjoint.randn(4, 3).to(CUDA), calls[0] % 2 == 0), *net.parameters()]

    accumulate = wrap(part)
    return step


def assert_gradients_accumulate() -> None:
    """A gradient that is another at each call is not the one that was captured."""
    rows = []
    for wrap in (lambda function: function, captured):
        adjoint.manual_seed(1)
        step = accumulated(wrap)
        rows.append([numbers(step()) for _ in range(9)])
    for mine, theirs in zip(*rows, strict=True):
        for one, another in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(one, another, 1e-5, 1e-6)


def assert_kept_gradients_count_once() -> None:
    """One that the graph clears and adds to is counted as in eager code."""
    counts = []
    for wrap in (lambda function: function, captured):
        weight = adjoint.ones(3, device=CUDA, requires_grad=True)
        weight.grad = adjoint.ones(3, device=CUDA)

        @wrap
        def step(weight: Any = weight) -> None:
            weight.grad.zero_()
            (weight * 2).sum().backward()

        for _ in range(4):
            step()
        counts.append(weight.grad._version)
    assert counts[0] == counts[1], counts


def assert_views_of_arguments_are_views() -> None:
    """What a function answers of an argument shares its memory; two that share one are refused."""

    @captured
    def step(x: Any, y: Any) -> Any:
        x.add_(1)
        return x[0], x.detach(), x.detach()[1:], y * 2

    for _ in range(4):
        x = adjoint.zeros(2, 2, device=CUDA)
        for each in step(x, adjoint.ones(2, device=CUDA))[:3]:
            each.mul_(3)
        assert x.tolist() == [[9.0, 9.0], [9.0, 9.0]]
    x = adjoint.zeros(2, 2, device=CUDA)
    for number in range(2):
        try:
            step(x, x[0])
        except CompileError as error:
            assert number
            assert "argument 0, which is changed in place, shares its memory" in str(error), error
            assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
        else:
            assert not number


class _Stop(Exception):
    pass


def assert_a_failing_hook_changes_nothing() -> None:
    """What a part before the hook has changed is put back, also in a gradient that is added to."""
    weight = adjoint.ones(3, device=CUDA, requires_grad=True)
    count, fails = adjoint.zeros(3, device=CUDA), [False]
    optimizer = optim.Adam([weight], lr=0.1)

    def look(grad: Any) -> None:
        if fails[0]:
            raise _Stop("now")

    @captured
    def step() -> Any:
        count.add_(1)
        (weight * adjoint.rand(3, device=CUDA)).sum().backward()
        y = weight * 2
        y.register_hook(look)
        y.sum().backward()
        optimizer.step()
        return count.clone()

    for _ in range(3):
        step()
    state = optimizer.state[weight]
    tensors = [weight, weight.grad, count, *state.values()]
    before, chance = numbers(tensors), adjoint.get_rng_state().tolist()
    versions = [tensor._version for tensor in tensors]
    fails[0] = True
    try:
        step()
    except _Stop as error:
        assert any("look" in each for each in error.__notes__), error.__notes__
    else:
        raise AssertionError("the hook was not called")
    for mine, theirs in zip(numbers(tensors), before, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert adjoint.get_rng_state().tolist() == chance
    assert [tensor._version for tensor in tensors] == versions
    fails[0] = False
    assert step().tolist() == [4.0] * 3


def assert_versions_are_those_of_eager(failing: int) -> None:
    """Views count with their base, gradients that are added to count; a hook that fails, nothing.

    The second call captures: its hook is called by the first launch.
    """
    counts: list[Any] = []
    for compile in (lambda function: function, captured):
        weight = adjoint.ones(3, device=CUDA, requires_grad=True)
        count, calls, optimizer = adjoint.zeros(3, device=CUDA), [0], optim.Adam([weight], lr=0.1)
        norm = nn.BatchNorm1d(3).to(CUDA)

        def look(grad: Any, calls: Any = calls, count: Any = count) -> None:
            calls[0] += 1
            if calls[0] == failing:
                count.mul_(7)

        @compile
        def step(
            weight: Any = weight, count: Any = count, norm: Any = norm, look: Any = look
        ) -> None:
            count.add_(1)
            count[:1].mul_(2)
            norm(adjoint.ones(4, 3, device=CUDA))
            y = weight * 2
            y.register_hook(look)
            y.sum().backward()

        @compile
        def update(optimizer: Any = optimizer) -> None:
            optimizer.step()

        rows: list[Any] = []
        for number in range(1, 5):
            state = [each for home in optimizer.state.values() for each in home.values()]
            gradient = [] if weight.grad is None else [weight.grad]
            tensors = [weight, count, *norm.buffers(), *gradient, *state]
            before = [(each.tolist(), each._version) for each in tensors]
            try:
                step()
            except CompileError as error:
                assert "changes a tensor from outside" in str(error)
                assert number == failing
                assert [(each.tolist(), each._version) for each in tensors] == before
                step()  # which the hook lets pass
            update()
            rows.append([each._version for each in (weight, count, *norm.buffers(), weight.grad)])
        counts.append(rows)
    if not failing:
        assert counts[0] == counts[1], counts


def assert_arguments_are_shown_as_they_are_by_then() -> None:
    """A hook that looks at an argument sees what the graph has made of it."""
    given, seen = adjoint.ones(2, device=CUDA), []
    weight = adjoint.ones(2, device=CUDA, requires_grad=True)
    weight.register_hook(lambda grad: seen.append((given.tolist(), grad.tolist())))

    @captured
    def step(x: Any) -> None:
        weight.grad = None
        x.mul_(2)
        (weight * x.detach()).sum().backward()

    for _ in range(4):
        step(given)
    assert seen == [([2.0**n] * 2, [2.0**n] * 2) for n in range(1, 5)], seen


def assert_what_is_refused_says_why() -> None:
    """What needs values, and what a graph has no place for."""
    x = adjoint.ones(2, device=CUDA, requires_grad=True)
    graded = adjoint.ones(2, device=CUDA, requires_grad=True)
    graded.grad = adjoint.ones(2, device=CUDA)
    rate = adjoint.tensor(0.1, device=CUDA)
    schedule = optim.lr_scheduler.ExponentialLR(optim.Adam([x], lr=rate, capturable=True), 0.5)
    cases: dict[str, Any] = {
        "learning rate on the GPU": lambda _: schedule.step(),
        "value of a tensor": lambda _: float(x.sum()),
        "on cpu": lambda _: adjoint.ones(2, device="cpu") + host,
        "detach": lambda _: x * 2,
        "cond": lambda _: adjoint.cond(x.sum() > 0, lambda: x, lambda: x),
        "while_loop": lambda _: adjoint.while_loop(lambda v: v.sum() < 9, lambda v: v * 2, (x,)),
    }
    host = adjoint.ones(2)
    for match, function in cases.items():
        try:
            adjoint.compile(function, backend="cudagraph", warm_up=0)(None)
        except CompileError as error:
            assert match in str(error), error
        else:
            raise AssertionError(match)
    try:
        adjoint.compile(lambda t: t.sum().backward(), backend="cudagraph", warm_up=0)(graded)
    except CompileError as error:
        assert "has a grad" in str(error), error
    else:
        raise AssertionError("grad")


def scanned(note: Note) -> Any:
    """A loop by scan, step by step."""
    start = adjoint.ones(2, device=CUDA)
    xs = adjoint.randn(4, 2).to(CUDA)
    return lambda: adjoint.scan(lambda c, x: (c * 0.5 + x, c.sin()), start, xs)


assert_alike(plain_training, parted=False)
assert_alike(scanned, parted=False)
assert_alike(each_kind, parted=True)
assert_alike(scaled, parted=True, steps=7)
assert_gradients_accumulate()
assert_kept_gradients_count_once()
assert_views_of_arguments_are_views()
assert_a_failing_hook_changes_nothing()
for number in (0, 2, 3):
    assert_versions_are_those_of_eager(number)
assert_arguments_are_shown_as_they_are_by_then()
assert_what_is_refused_says_why()
assert not any(name.startswith("jax") and module for name, module in sys.modules.items())
print("as eager")
