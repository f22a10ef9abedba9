"""Schedules set the learning rates and momenta that PyTorch's set, and warn where they warn."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import adjoint
from adjoint import optim

relaxed = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])

part = st.sampled_from([0.1, 0.5, 1.0])
count = st.integers(1, 12)
two_rates = st.sampled_from([0.5, [0.5, 0.2]])


class Halving:
    """A function with state, which a state dict keeps."""

    def __init__(self, base: float = 0.5) -> None:
        self.base = base

    def __call__(self, epoch: float) -> float:
        return self.base ** (epoch / 4)


ARGUMENTS: dict[str, dict[str, Any]] = {
    "LambdaLR": {
        "lr_lambda": st.sampled_from([Halving(), [Halving(), lambda epoch: 1 / (epoch + 1)]])
    },
    "MultiplicativeLR": {
        "lr_lambda": st.sampled_from([Halving(0.9), [Halving(), lambda epoch: 0.9]])
    },
    "StepLR": {"step_size": count, "gamma": part},
    "MultiStepLR": {"milestones": st.lists(count, max_size=4), "gamma": part},
    "ConstantLR": {"factor": part, "total_iters": count},
    "LinearLR": {"start_factor": part, "end_factor": part, "total_iters": count},
    "ExponentialLR": {"gamma": part},
    "PolynomialLR": {"total_iters": count, "power": st.sampled_from([1.0, 2.5])},
    "CosineAnnealingLR": {"T_max": count, "eta_min": st.sampled_from([0.0, 0.01])},
    "CosineAnnealingWarmRestarts": {
        "T_0": count,
        "T_mult": st.integers(1, 3),
        "eta_min": st.sampled_from([0.0, 0.01]),
    },
    "CyclicLR": {
        "base_lr": st.sampled_from([0.01, [0.01, 0.02]]),
        "max_lr": two_rates,
        "step_size_up": count,
        "step_size_down": st.none() | count,
        "mode": st.sampled_from(["triangular", "triangular2", "exp_range"]),
        "gamma": st.sampled_from([1.0, 0.9]),
        "scale_fn": st.none() | st.just(Halving()),
        "scale_mode": st.sampled_from(["cycle", "iterations"]),
    },
    "OneCycleLR": {
        "max_lr": two_rates,
        "total_steps": st.integers(31, 40),
        "pct_start": st.sampled_from([0.3, 0.5]),
        "anneal_strategy": st.sampled_from(["cos", "linear"]),
        "cycle_momentum": st.booleans(),
        "three_phase": st.booleans(),
        "base_momentum": st.sampled_from([0.85, [0.7, 0.8]]),
    },
}
# One choice of the arguments that must be given.
PLAIN: dict[str, dict[str, Any]] = {
    "LambdaLR": {"lr_lambda": Halving()},
    "MultiplicativeLR": {"lr_lambda": Halving()},
    "StepLR": {"step_size": 2},
    "MultiStepLR": {"milestones": [2, 4]},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 5},
    "CosineAnnealingWarmRestarts": {"T_0": 3, "T_mult": 2},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3},
    "OneCycleLR": {"max_lr": 0.5, "total_steps": 12},
}
every_schedule = pytest.mark.parametrize("name", ARGUMENTS)

OPTIMIZERS = [("SGD", {"momentum": 0.9}), ("Adam", {})]


def optimizer_of(library: Any, package: Any, kind: Any, tensor: bool = False) -> Any:
    """Two groups with rates of their own."""
    name, kwargs = kind
    groups = []
    for rate in (0.1, 0.05):
        param = library.ones(2, requires_grad=True)
        param.grad = library.ones(2)
        groups.append({"params": [param], "lr": library.tensor(rate) if tensor else rate})
    return getattr(package, name)(groups, lr=0.1, **kwargs)


def seen(optimizer: Any) -> list[float]:
    """The numbers that a schedule may set."""
    found = []
    for group in optimizer.param_groups:
        values = [group["lr"], *group.get("betas", ()), group.get("momentum", 0.0)]
        found += [float(value) for value in values]
    return found


def trace(library: Any, package: Any, name: str, kind: Any, kwargs: Any, steps: int = 30) -> Any:
    optimizer = optimizer_of(library, package, kind)
    scheduler = getattr(package.lr_scheduler, name)(optimizer, **kwargs)
    rows = [seen(optimizer)]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        rows.append(seen(optimizer) + scheduler.get_last_lr())
    return rows, scheduler


def assert_rows(ours: Any, theirs: Any) -> None:
    for row, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(row, wanted, rtol=1e-12, atol=1e-15)


def arguments(data: Any, name: str) -> dict[str, Any]:
    required = {"LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "CyclicLR", "OneCycleLR"}
    required |= {"ExponentialLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts"}
    strategies = ARGUMENTS[name]
    if name in required:
        return data.draw(st.fixed_dictionaries(strategies))
    return data.draw(st.fixed_dictionaries({}, optional=strategies))


@every_schedule
@relaxed
@given(data=st.data())
def test_thirty_steps(torch: Any, name: str, data: Any) -> None:
    kwargs = arguments(data, name)
    kind = data.draw(st.sampled_from(OPTIMIZERS))
    ours, scheduler = trace(adjoint, optim, name, kind, kwargs)
    theirs, expected = trace(torch, torch.optim, name, kind, kwargs)
    assert_rows(ours, theirs)
    assert scheduler.last_epoch == expected.last_epoch
    assert scheduler.state_dict().keys() == expected.state_dict().keys()


@every_schedule
@relaxed
@given(data=st.data())
def test_going_on_from_a_state_dict(torch: Any, name: str, data: Any) -> None:
    """A schedule of PyTorch's, saved after 7 steps, goes on here as it would have there."""
    kwargs = arguments(data, name)
    optimizer = optimizer_of(torch, torch.optim, OPTIMIZERS[0])
    expected = getattr(torch.optim.lr_scheduler, name)(optimizer, **kwargs)
    for _ in range(7):
        optimizer.step()
        expected.step()
    own = optimizer_of(adjoint, optim, OPTIMIZERS[0])
    scheduler = getattr(optim.lr_scheduler, name)(own, **kwargs)
    own.load_state_dict(optimizer.state_dict())
    scheduler.load_state_dict(expected.state_dict())
    for _ in range(5):
        for pair in ((optimizer, expected), (own, scheduler)):
            pair[0].step()
            pair[1].step()
        assert_rows([seen(own)], [seen(optimizer)])


@every_schedule
def test_rates_as_tensors(torch: Any, name: str) -> None:
    kwargs = PLAIN.get(name, {})
    rows = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        optimizer = optimizer_of(library, package, OPTIMIZERS[0], tensor=True)
        held = optimizer.param_groups[0]["lr"]
        scheduler = getattr(package.lr_scheduler, name)(optimizer, **kwargs)
        found = []
        for _ in range(8):
            optimizer.step()
            scheduler.step()
            found.append(seen(optimizer))
        assert optimizer.param_groups[0]["lr"] is held
        rows.append(found)
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-5, atol=1e-7)


@every_schedule
@pytest.mark.parametrize("epoch", [0, 3, 11])
def test_steps_to_an_epoch(torch: Any, name: str, epoch: int) -> None:
    kwargs = PLAIN.get(name, {})
    rows = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        optimizer = optimizer_of(library, package, OPTIMIZERS[0])
        scheduler = getattr(package.lr_scheduler, name)(optimizer, **kwargs)
        optimizer.step()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler.step(epoch)
        rows.append([len(caught), scheduler.last_epoch, *seen(optimizer)])
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-12)


@relaxed
@given(
    mode=st.sampled_from(["min", "max"]),
    threshold_mode=st.sampled_from(["rel", "abs"]),
    patience=st.integers(0, 3),
    cooldown=st.integers(0, 2),
    min_lr=st.sampled_from([0, 0.01, [0.02, 0.0]]),
    metrics=st.lists(st.floats(-2, 2, width=16), min_size=5, max_size=30),
)
def test_reduce_on_plateau(torch: Any, metrics: list[float], **kwargs: Any) -> None:
    rows = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        optimizer = optimizer_of(library, package, OPTIMIZERS[0])
        scheduler = package.lr_scheduler.ReduceLROnPlateau(optimizer, threshold=0.05, **kwargs)
        found = []
        for metric in metrics:
            scheduler.step(metric)
            found.append([*seen(optimizer), *scheduler.get_last_lr(), scheduler.num_bad_epochs])
        rows.append((found, scheduler.state_dict().keys()))
    assert rows[0][1] == rows[1][1]
    assert_rows(rows[0][0], rows[1][0])


def combined(package: Any, optimizer: Any, kind: str) -> Any:
    schedules = package.lr_scheduler
    if kind == "chained":
        parts = [
            schedules.ConstantLR(optimizer, 0.1, 4),
            schedules.ExponentialLR(optimizer, 0.9),
            schedules.CosineAnnealingLR(optimizer, 6),
        ]
        return schedules.ChainedScheduler(parts)
    parts = [
        schedules.LinearLR(optimizer, 0.1, total_iters=4),
        schedules.ExponentialLR(optimizer, 0.5),
        schedules.CosineAnnealingWarmRestarts(optimizer, 4),
    ]
    return schedules.SequentialLR(optimizer, parts, [5, 9])


@pytest.mark.parametrize("kind", ["chained", "sequential"])
def test_combined(torch: Any, kind: str) -> None:
    rows = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        optimizer = optimizer_of(library, package, OPTIMIZERS[0])
        scheduler = combined(package, optimizer, kind)
        found = [seen(optimizer)]
        for step in range(30):
            optimizer.step()
            scheduler.step()
            found.append(seen(optimizer) + scheduler.get_last_lr())
            if step == 6:  # a copy that was saved goes on in its place
                state = scheduler.state_dict()
                scheduler = combined(package, optimizer, kind)
                scheduler.load_state_dict(state)
                for group, rate in zip(optimizer.param_groups, scheduler.get_last_lr()):
                    group["lr"] = rate
        rows.append((found, scheduler.state_dict().keys()))
    assert rows[0][1] == rows[1][1]
    assert_rows(rows[0][0], rows[1][0])


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("LambdaLR", {"lr_lambda": [abs]}),
    ("MultiplicativeLR", {"lr_lambda": 0.5}),
    ("ConstantLR", {"factor": 1.5}),
    ("LinearLR", {"start_factor": 0}),
    ("LinearLR", {"end_factor": 2}),
    ("CosineAnnealingWarmRestarts", {"T_0": 0}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 0}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "eta_min": "0"}),
    ("CyclicLR", {"base_lr": [0.1], "max_lr": 1.0}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "mode": "square"}),
    ("OneCycleLR", {"max_lr": 1.0}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 0}),
    ("OneCycleLR", {"max_lr": 1.0, "epochs": 2, "steps_per_epoch": 1.5}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 5, "pct_start": 2.0}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 5, "anneal_strategy": "step"}),
    ("ReduceLROnPlateau", {"factor": 1.0}),
    ("ReduceLROnPlateau", {"mode": "mean"}),
    ("ReduceLROnPlateau", {"threshold_mode": "both"}),
    ("ReduceLROnPlateau", {"min_lr": [0.1]}),
    ("SequentialLR", {"schedulers": [], "milestones": []}),
    ("StepLR", {"step_size": 2, "last_epoch": 3}),
]


@pytest.mark.parametrize(("name", "kwargs"), REFUSED, ids=str)
def test_bad_arguments(torch: Any, name: str, kwargs: Any) -> None:
    errors = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        optimizer = optimizer_of(library, package, OPTIMIZERS[0])
        with pytest.raises(Exception) as caught:
            getattr(package.lr_scheduler, name)(optimizer, **kwargs)
        errors.append(caught.type)
    assert errors[0] is errors[1]


def test_cycles_need_momentum(torch: Any) -> None:
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        optimizer = optimizer_of(library, package, ("Adagrad", {}))
        with pytest.raises(ValueError, match="momentum"):
            package.lr_scheduler.CyclicLR(optimizer, 0.1, 1.0)


def test_one_cycle_ends(torch: Any) -> None:
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        optimizer = optimizer_of(library, package, OPTIMIZERS[0])
        scheduler = package.lr_scheduler.OneCycleLR(optimizer, 1.0, 3)
        optimizer.step()
        for _ in range(3):
            scheduler.step()
        with pytest.raises(ValueError, match="3"):
            scheduler.step()


def test_combined_schedules_must_agree(torch: Any) -> None:
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        schedules = package.lr_scheduler
        one, two = (optimizer_of(library, package, OPTIMIZERS[0]) for _ in range(2))
        mine, other = schedules.StepLR(one, 2), schedules.StepLR(two, 2)
        plateau = schedules.ReduceLROnPlateau(one)
        for refused in ([mine, other], [mine, plateau]):
            with pytest.raises(ValueError):
                schedules.ChainedScheduler(refused)
            with pytest.raises(ValueError):
                schedules.SequentialLR(one, refused, [3])
        with pytest.raises(ValueError):
            schedules.SequentialLR(one, [mine], [3])
        with pytest.raises(ValueError):
            schedules.ChainedScheduler([])
        with pytest.raises(TypeError):
            schedules.StepLR(mine, 2)


@pytest.mark.parametrize("story", ["in order", "too early", "replaced before", "replaced after"])
def test_warnings_of_order(torch: Any, story: str) -> None:
    counts = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        optimizer = optimizer_of(library, package, OPTIMIZERS[0])
        if story == "replaced before":
            bound = optimizer.step
            optimizer.step = bound
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler = package.lr_scheduler.StepLR(optimizer, 3)
            if story == "replaced after":
                optimizer.step = lambda: None
            if story != "too early":
                optimizer.step()
            scheduler.step()
            scheduler.step()
            scheduler.get_lr()
        counts.append([warning.category for warning in caught])
    assert counts[0] == counts[1]
