"""Work grows with the size of the graph, not with its square: lines run, counted at n and at 2n."""

import sys
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint import explain, nn

try:
    import torch
except ImportError:
    torch = None

PACKAGE = str(Path(adjoint.__file__).parent)


def lines_run(work):
    """How many lines of the package a call runs; compiled modules show none of theirs."""
    count = 0

    def on_line(frame, event, argument):
        nonlocal count
        count += event == "line"
        return on_line

    def on_call(frame, event, argument):
        return on_line if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def backward_of(join):
    def at(size):
        parts = [adjoint.ones(2, requires_grad=True) for _ in range(size)]
        return join(parts).sum().backward

    return at


def changed_views(size):
    def work():
        view = adjoint.ones(4, requires_grad=True) * 1
        for _ in range(size):
            view = view.view(4)
            view.add_(1)
        view.sum().backward()

    return work


def views_shown_otherwise(size):
    def work():
        view = (adjoint.ones(4, requires_grad=True) * 1).view(4)
        for _ in range(size):
            view.unsqueeze_(0).squeeze_(0)
            view.add_(1)
        view.sum().backward()

    return work


def explained(size):
    """Steps of one long function."""
    names = {"x": adjoint.ones(4, requires_grad=True)}
    exec("y = x\n" + "y = y.sin()\n" * size, names)
    return lambda: str(explain(names["y"]))


def explained_module(size):
    """Steps of a module of many parts."""
    module = nn.Sequential(*[nn.Tanh() for _ in range(size)])
    result = module(adjoint.ones(4, requires_grad=True))
    return lambda: str((explain(result), module)[0])


@pytest.mark.parametrize(
    ("at", "size"),
    [
        (backward_of(adjoint.cat), 400),
        (backward_of(adjoint.stack), 400),
        (changed_views, 40),
        (views_shown_otherwise, 40),
        (explained, 200),
        (explained_module, 200),
    ],
    ids=["cat", "stack", "views", "shown otherwise", "explain", "explain a module"],
)
def test_twice_the_size_is_twice_the_work(at, size):
    at(size)()  # what happens once only is done
    assert lines_run(at(2 * size)) <= 2.3 * lines_run(at(size))


def test_a_view_of_many_views_has_few_steps_to_replay():
    view = adjoint.ones(4, requires_grad=True) * 1
    for _ in range(100):
        view = view.view(4)
    assert len(view.extras.steps) <= 8


MOVES = {
    "t": lambda v, other: v.t(),
    "slice": lambda v, other: v[1:] if v.shape[0] > 2 else v,
    "every second": lambda v, other: v[..., ::2] if v.shape[-1] > 3 else v,
    "and back": lambda v, other: v.unsqueeze(0).squeeze(0),
    "shown": lambda v, other: v.unsqueeze_(0).squeeze_(0),
    "add": lambda v, other: v.add_(other),
    "mul": lambda v, other: v.mul_(other),
}


@pytest.mark.skipif(torch is None, reason="PyTorch, the oracle, is not installed")
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_a_view_of_many_views_has_the_gradients_of_torch(seed, turned):
    chance = np.random.default_rng(seed)
    data = chance.standard_normal((6, 7))
    moves = [MOVES[name] for name in chance.choice(list(MOVES), 40)]
    found = []
    for library in (torch, adjoint):
        x = library.tensor(data, requires_grad=True)
        other = library.tensor(1.3, dtype=library.float64, requires_grad=True)
        base = (x.t() if turned else x) * 1
        view = base.view_as(base)
        for move in moves:
            view = move(view, other)
        loss = (base**2).sum() + (view**3).sum()
        grads = library.autograd.grad(loss, (x, other), create_graph=True, allow_unused=True)
        (second,) = library.autograd.grad((grads[0] ** 2).sum(), (x,), retain_graph=True)
        loss.backward()
        found.append([view.detach(), grads[0].detach(), second, x.grad, other.grad])
    for theirs, ours in zip(*found, strict=True):
        assert (theirs is None) == (ours is None)
        if theirs is not None:
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9)


@pytest.mark.skipif(torch is None, reason="PyTorch, the oracle, is not installed")
def test_a_pattern_of_memory_in_columns_can_be_changed():
    found = []
    for library in (torch, adjoint):
        x = library.arange(6.0).reshape(2, 3).requires_grad_()
        base = x.t() * 1
        base.as_strided((2,), (1,), 1).mul_(3)
        (base**2).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]
