"""compile(backend="cudagraph"), where there is a GPU: what eager code does, as one graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import nn, optim
from adjoint.compiling.errors import CompileError

cupy = pytest.importorskip("cupy")
if not cupy.cuda.is_available():
    pytest.skip("CuPy finds no GPU", allow_module_level=True)

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda params: optim.SGD(params, lr=0.05),
    "momentum": lambda params: optim.SGD(params, lr=0.05, momentum=0.9, nesterov=True),
    "adam": lambda params: optim.Adam(params, lr=0.01),
    "adamw": lambda params: optim.AdamW(params, lr=0.01, amsgrad=True),
    "rmsprop": lambda params: optim.RMSprop(params, lr=0.01, centered=True),
    "adagrad": lambda params: optim.Adagrad(params, lr=0.05),
}


def network(*more: Any) -> Any:
    """A small network on the GPU, the same at every call."""
    adjoint.manual_seed(3)
    return nn.Sequential(nn.Linear(7, 16), nn.Tanh(), *more, nn.Linear(16, 4)).to("cuda")


def batches() -> list[tuple[Any, Any]]:
    """Some batches on the GPU."""
    rng = np.random.default_rng(5)
    return [
        (
            adjoint.tensor(rng.standard_normal((12, 7)).astype("f4"), device="cuda"),
            adjoint.tensor(rng.integers(0, 4, 12), device="cuda"),
        )
        for _ in range(10)
    ]


def trained(model: Any, make: Any, wrap: Callable[[Any], Any]) -> tuple[list[float], list[Any]]:
    """Losses and parameters of ten steps."""
    optimizer = make(model.parameters())
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach()

    run = wrap(step)
    losses = [run(x, y) for x, y in batches()]
    assert schedule.last_epoch == 10
    values = [*model.parameters(), *model.buffers(), *[p.grad for p in model.parameters()]]
    return [float(loss) for loss in losses], [v.detach().cpu().numpy() for v in values]


def captured(function: Any) -> Any:
    """A function whose work is captured."""
    return adjoint.compile(function, backend="cudagraph")


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_is_that_of_eager_code(name: str) -> None:
    make = OPTIMIZERS[name]
    losses, values = trained(network(), make, lambda step: step)
    got, shown = trained(network(), make, captured)
    np.testing.assert_allclose(got, losses, rtol=1e-5)
    for ours, expected in zip(shown, values, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-6)
    assert losses[0] != losses[-1]


def test_chance_and_buffers_are_those_of_eager_code() -> None:
    found = []
    for wrap in (lambda step: step, captured):
        model = network(nn.BatchNorm1d(16), nn.Dropout(0.3))
        adjoint.manual_seed(11)
        found.append(trained(model, OPTIMIZERS["sgd"], wrap))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    for ours, expected in zip(found[1][1], found[0][1], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-6)


def test_results_keep_their_values() -> None:
    weight = adjoint.ones(3, device="cuda", requires_grad=True)

    @captured
    def run(x: Any) -> Any:
        (weight * x).sum().backward()
        return (weight * x).detach()

    found = [run(adjoint.full((3,), float(i), device="cuda")) for i in range(5)]
    assert [each.tolist() for each in found] == [[float(i)] * 3 for i in range(5)]
    assert weight.grad.tolist() == [10.0] * 3  # added to, at each call
    assert run.count >= 1


def test_what_is_changed_in_place_is_changed_at_every_launch() -> None:
    total = adjoint.zeros(2, device="cuda")

    @captured
    def run(x: Any) -> None:
        total.add_(x)
        x.mul_(2.0)

    given = adjoint.ones(2, device="cuda")
    for _ in range(4):
        run(given)
    assert total.tolist() == [15.0, 15.0]
    assert given.tolist() == [16.0, 16.0]
    assert total._version == 4


def test_another_array_is_captured_anew() -> None:
    weight = adjoint.ones(2, device="cuda")
    run = captured(lambda: weight * 2)
    for _ in range(3):
        assert run().tolist() == [2.0, 2.0]
    weight.data = adjoint.full((2,), 5.0, device="cuda")
    assert run().tolist() == [10.0, 10.0]
    assert run.count == 2


def test_hooks_of_the_host_part_the_graph() -> None:
    found = []
    for wrap in (lambda step: step, captured):
        model, log = network(nn.BatchNorm1d(16)), []
        model[0].register_forward_hook(lambda _, args, out, note=log.append: note(out.sum().item()))
        model[3].register_full_backward_pre_hook(lambda _, grads: (grads[0] * 0.5,))
        model[0].weight.register_hook(lambda grad, note=log.append: note(grad.sum().item()))
        found.append((*trained(model, OPTIMIZERS["adam"], wrap), log))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    np.testing.assert_allclose(found[1][2], found[0][2], rtol=1e-3, atol=1e-4)
    for ours, expected in zip(found[1][1], found[0][1], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-5)
    assert len(found[1][2]) == 20


def test_a_hook_that_fails_changes_nothing() -> None:
    weight, fails = adjoint.ones(3, device="cuda", requires_grad=True), [False]
    total = adjoint.zeros(3, device="cuda")
    weight.register_hook(lambda grad: 1 / 0 if fails[0] else None)

    @captured
    def run() -> None:
        total.add_(1)
        (weight * 2).sum().backward()
        with adjoint.no_grad():
            weight.sub_(1)

    for _ in range(3):
        run()
    fails[0] = True
    with pytest.raises(ZeroDivisionError):
        run()
    assert total.tolist() == [3.0] * 3
    assert weight.tolist() == [-2.0] * 3
    assert weight.grad.tolist() == [6.0] * 3


@pytest.mark.parametrize("kind", ["value", "cpu", "result"])
def test_what_cannot_be_captured_says_why(kind: str) -> None:
    x = adjoint.ones(2, device="cuda", requires_grad=True)
    other = adjoint.ones(2)

    def run() -> Any:
        y = x * 2
        if kind == "value":
            return float(y.sum())
        if kind == "cpu":
            return other + 1
        return y

    step = captured(run)
    step()
    match = {"value": "value of a tensor", "cpu": "on cpu", "result": "detach"}
    with pytest.raises(CompileError, match=match[kind]):
        step()
    assert adjoint.compile(run, backend="cudagraph", fallback=True) is not None
    assert (x * 3).tolist() == [3.0, 3.0]


def test_a_tensor_kept_elsewhere_refuses_to_be_used() -> None:
    kept: list[Any] = []
    x = adjoint.ones(2, device="cuda")

    @captured
    def run() -> Any:
        kept.append(x * 2)
        return kept[-1] + 1

    run()
    assert run().tolist() == [3.0, 3.0]
    with pytest.raises(CompileError, match="kept elsewhere"):
        kept[-1] + 1
