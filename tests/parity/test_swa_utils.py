"""Averaged models and their schedule, compared with PyTorch's."""

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import optim
from adjoint.optim import swa_utils


def model_of(library: Any, integers: bool = True) -> Any:
    """Two parameters of different kinds and one or two buffers."""

    class Scale(library.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = library.nn.Parameter(library.tensor([1.0, 2.0]))
            self.wide = library.nn.Parameter(library.tensor([3.0], dtype=library.float64))
            self.register_buffer("shift", library.tensor([0.5]))
            if integers:
                self.register_buffer("count", library.tensor([3]))

        def forward(self, input: Any) -> Any:
            return input * self.weight + self.shift

    return Scale()


def changed(library: Any, model: Any, by: float) -> None:
    with library.no_grad():
        for each in [*model.parameters(), *model.buffers()]:
            each.add_(library.ones_like(each) * int(by * 4))


AVERAGES: dict[str, Any] = {
    "plain": lambda utils: {},
    "ema": lambda utils: {"avg_fn": utils.get_ema_avg_fn(0.5)},
    "swa": lambda utils: {"avg_fn": utils.get_swa_avg_fn()},
    "multi ema": lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
    "multi swa": lambda utils: {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
    "own": lambda utils: {"avg_fn": lambda mean, value, number: mean * 0.1 + value * number},
}


@pytest.mark.parametrize("kind", AVERAGES)
@pytest.mark.parametrize("use_buffers", [False, True])
def test_averaged_model(torch: Any, kind: str, use_buffers: bool) -> None:
    results = []
    for library, utils in ((adjoint, swa_utils), (torch, torch.optim.swa_utils)):
        model = model_of(library, integers=kind != "multi swa")  # PyTorch can't average those
        kwargs = AVERAGES[kind](utils)
        averaged = utils.AveragedModel(model, use_buffers=use_buffers, **kwargs)
        for by in (1.0, 0.25, -2.0):
            averaged.update_parameters(model)
            changed(library, model, by)
        averaged.update_parameters(model)
        state = averaged.state_dict()
        out = averaged(library.tensor([2.0, 3.0]))
        results.append(
            {**{key: value.numpy() for key, value in state.items()}, "out": out.detach().numpy()}
        )
    assert list(results[0]) == list(results[1])
    for key, value in results[1].items():
        np.testing.assert_allclose(results[0][key], value, rtol=1e-6, err_msg=key)


def test_refusals(torch: Any) -> None:
    for library, utils in ((adjoint, swa_utils), (torch, torch.optim.swa_utils)):
        average = utils.get_swa_avg_fn()
        with pytest.raises(AssertionError):
            utils.AveragedModel(model_of(library), avg_fn=average, multi_avg_fn=average)
        for make in (utils.get_ema_avg_fn, utils.get_ema_multi_avg_fn):
            with pytest.raises(ValueError):
                make(1.5)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 4, 50])
def test_swalr(torch: Any, strategy: str, epochs: int) -> None:
    rows = []
    for library, package, utils in (
        (adjoint, optim, swa_utils),
        (torch, torch.optim, torch.optim.swa_utils),
    ):
        params = [library.ones(1, requires_grad=True) for _ in range(2)]
        groups = [{"params": [params[0]]}, {"params": [params[1]], "lr": 0.5}]
        optimizer = package.SGD(groups, lr=0.1)
        scheduler = utils.SWALR(optimizer, [0.02, 0.9], epochs, strategy)
        found = []
        for step in range(30):
            optimizer.step()
            scheduler.step()
            found.append(scheduler.get_last_lr())
            if step == 5:
                state = scheduler.state_dict()
                scheduler.load_state_dict(state)
        rows.append((found, state.keys()))
    assert rows[0][1] == rows[1][1]
    np.testing.assert_allclose(rows[0][0], rows[1][0], rtol=1e-9)


def test_swalr_refuses(torch: Any) -> None:
    for library, package, utils in (
        (adjoint, optim, swa_utils),
        (torch, torch.optim, torch.optim.swa_utils),
    ):
        optimizer = package.SGD([library.ones(1, requires_grad=True)], lr=0.1)
        for kwargs in ({"anneal_strategy": "step"}, {"anneal_epochs": -1}, {"swa_lr": [0.1, 0.2]}):
            with pytest.raises(ValueError):
                utils.SWALR(optimizer, **{"swa_lr": 0.1, **kwargs})
