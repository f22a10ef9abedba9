"""A step that fails or is interrupted leaves parameters, versions and state as before or after."""

import contextvars
import gc
import signal
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import amp, optim
from adjoint.backends.numpy import numpy_backend
from adjoint.optim import lbfgs, lr_scheduler, programs, writes
from adjoint.optim.plans import SMALL
from adjoint.tensors.upper import upper
from tests.optim.test_optimizers import MOMENTUM, NAMES
from tests.signals import is_heard

PACKAGE = adjoint.__path__[0]


class Stopped(BaseException):
    """What is injected: nothing catches it by accident."""


def make(name: str, forms: dict[str, Any]) -> tuple[Any, list[Any]]:
    """An optimizer over small and large parameters in two groups."""
    generator = np.random.default_rng(0)
    settings = MOMENTUM.get(name, {}) | forms
    kinds = settings.pop("kinds", ("float32",))
    device = settings.pop("device", "cpu")
    params = []
    for number, size in enumerate([(3,), (2, 2), (SMALL + 1,), (5,)]):
        dtype = getattr(adjoint, kinds[number % len(kinds)])
        param = adjoint.tensor(generator.normal(size=size), dtype=dtype).to(device)
        params.append(param.requires_grad_())
    if settings.get("differentiable"):
        params = [param.clone() for param in params]
        for param in params:
            param.retain_grad()
    groups = [{"params": params[:3]}, {"params": params[3:], "lr": 0.5}]
    return getattr(optim, name)(groups, **settings), params


def give_grads(params: list[Any], seed: int) -> None:
    generator = np.random.default_rng(seed)
    for param in params:
        values = adjoint.tensor(generator.normal(size=param.shape), dtype=param.dtype)
        param.grad = values.to(param.device)


def seen(value: Any) -> Any:
    """A value such that two can be compared bit by bit."""
    if isinstance(value, adjoint.Tensor):
        history = type(value.grad_fn).__name__
        return (value.detach().numpy_array().tobytes(), value._version, history)
    if isinstance(value, dict):
        return {key: seen(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [seen(item) for item in value]
    return value


def state_of(optimizer: Any, params: list[Any]) -> Any:
    """Everything that a step may change."""
    own = [seen(optimizer.state.get(param)) for param in params]
    groups = [{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups]
    return [seen(params), own, len(optimizer.state), seen(groups)]


@contextmanager
def faults(monkeypatch: pytest.MonkeyPatch, allowed: int) -> Iterator[list[int]]:
    """Let all but the first calls that a step makes of NumPy fail, and count them."""
    count = [0]

    def failing(function: Any) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            count[0] += 1
            if count[0] > allowed:
                raise MemoryError
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name, function in list(vars(numpy_backend.xp).items()):
            if callable(function) and not isinstance(function, type | np.ufunc):
                patch.setattr(numpy_backend.xp, name, failing(function))
        for name in ("copy", "asarray"):
            patch.setattr(numpy_backend, name, failing(getattr(numpy_backend, name)))
        for name in ("places", "call"):
            patch.setattr(programs.Program, name, failing(getattr(programs.Program, name)))
        patch.setattr(writes, "counted", failing(writes.counted))
        patch.setattr(upper, "tensor", failing(upper.tensor))
        yield count


def signalled(run: Callable[[], Any], place: int, where: str = PACKAGE) -> int:
    """Run, with a signal at the n-th place of some files where one is heard; how many there were.

    The signal is a real one, whose handler raises. Compiled modules have no such places.
    """
    count = 0
    previous: dict[int, int] = {}  # the last instruction of a frame

    def handler(number: int, frame: Any) -> None:
        raise Stopped

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(where):
            return None
        frame.f_trace_opcodes = True
        if event == "call":
            previous.pop(id(frame), None)
        elif event == "opcode":
            before = previous.get(id(frame))
            previous[id(frame)] = frame.f_lasti
            if before is not None and is_heard(frame.f_code, before, frame.f_lasti):
                count += 1
                if count == place:
                    signal.raise_signal(signal.SIGUSR1)
        return trace

    before, tracing = signal.signal(signal.SIGUSR1, handler), sys.gettrace()
    sys.settrace(trace)
    try:
        contextvars.copy_context().run(run)  # modes end with it
    except Stopped:
        pass
    finally:
        sys.settrace(tracing)
        signal.signal(signal.SIGUSR1, before)
    return count


FORMS: dict[str, dict[str, Any]] = {
    "together": {},
    "each": {"foreach": False},
    "mixed": {"kinds": ("float16", "complex64", "float64", "bfloat16")},
    "on device": {"capturable": True},
    "recorded": {"differentiable": True},
    "immutable": {"device": "xla"},
}
CASES = [
    (name, form)
    for name in NAMES
    for form in FORMS
    if form in ("together", "each")
    or (form == "on device" and name == "Adam")
    or (form in ("mixed", "recorded") and name in ("SGD", "Adam", "Rprop"))
    or (form == "immutable" and name == "Adam")
]
every_case = pytest.mark.parametrize(("name", "form"), CASES, ids=map("-".join, CASES))
at_some_or_all = pytest.mark.parametrize(
    "density", [1, pytest.param(10, marks=pytest.mark.slow, id="dense")]
)


def spread(total: int, most: int) -> range:
    """Of so many places about so many, from the first on."""
    return range(1, total + 1, max(1, total // most))


class Trial:
    """A step that can be made again and again from the same start."""

    def __init__(self, name: str, form: str, steps_before: int) -> None:
        self.name, self.form, self.steps_before = name, form, steps_before
        self.before, self.after = None, None
        optimizer, params = self.ready()
        self.before = state_of(optimizer, params)
        optimizer.step()
        self.after = state_of(optimizer, params)

    def ready(self) -> tuple[Any, list[Any]]:
        optimizer, params = make(self.name, FORMS[self.form])
        for seed in range(self.steps_before + 1):
            give_grads(params, seed)
            if seed < self.steps_before:
                optimizer.step()
        return optimizer, params

    def judge(self, optimizer: Any, params: list[Any]) -> bool:
        """Whether the step was made; if not, it must be possible to make it now."""
        found = state_of(optimizer, params)
        if found == self.after:
            return True
        assert found == self.before
        optimizer.step()
        assert state_of(optimizer, params) == self.after
        return False


@every_case
@at_some_or_all
@pytest.mark.parametrize("steps_before", [0, 2])
def test_memory_that_ends(
    name: str, form: str, steps_before: int, density: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Trial(name, form, steps_before)
    optimizer, params = trial.ready()
    with faults(monkeypatch, 10**9) as count:
        optimizer.step()
    assert state_of(optimizer, params) == trial.after
    assert count[0] > 0
    for place in spread(count[0], 1000 if density > 1 else 4):
        optimizer, params = trial.ready()
        with faults(monkeypatch, place - 1), pytest.raises(MemoryError):
            optimizer.step()
        assert not trial.judge(optimizer, params)


@every_case
@at_some_or_all
@pytest.mark.parametrize("steps_before", [0, 2])
def test_signals(name: str, form: str, steps_before: int, density: int) -> None:
    """At bytecodes of the writes, and of all others."""
    trial = Trial(name, form, steps_before)
    for where, most in ((writes.__file__, 10), (PACKAGE, 4)):
        optimizer, params = trial.ready()
        total = signalled(optimizer.step, 0, where)
        results = set()
        for place in spread(total, most * density):
            optimizer, params = trial.ready()
            signalled(optimizer.step, place, where)
            results.add(trial.judge(optimizer, params))
        assert False in results


@pytest.mark.slow
def test_a_signal_at_every_bytecode_of_adam() -> None:
    trial = Trial("Adam", "together", 1)
    optimizer, _ = trial.ready()
    total = signalled(optimizer.step, 0)
    made = 0
    for place in range(1, total + 1):
        optimizer, params = trial.ready()
        signalled(optimizer.step, place)
        made += trial.judge(optimizer, params)
    assert 0 < made < total / 2


def closure_of(params: list[Any], calls: list[int], fail_at: int = 0) -> Callable[[], Any]:
    def closure() -> Any:
        calls[0] += 1
        if calls[0] == fail_at:
            raise Stopped
        for param in params:
            param.grad = None
        loss = sum((param**4).sum() + ((param - 1) ** 2).sum() for param in params)
        loss.backward()
        return loss

    return closure


@at_some_or_all
@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("steps_before", [0, 2])
def test_lbfgs(search: str | None, steps_before: int, density: int) -> None:
    def ready() -> tuple[Any, list[Any]]:
        params = [adjoint.tensor([1.5, -0.5]), adjoint.tensor(2.0)]
        for param in params:
            param.requires_grad_()
        optimizer = optim.LBFGS(params, max_iter=3, history_size=2, line_search_fn=search)
        for _ in range(steps_before):
            optimizer.step(closure_of(params, [0]))
        return optimizer, params

    optimizer, params = ready()
    before = state_of(optimizer, params)
    calls = [0]
    optimizer.step(closure_of(params, calls))
    after = state_of(optimizer, params)
    for fail_at in range(1, calls[0] + 1):
        optimizer, params = ready()
        with pytest.raises(Stopped):
            optimizer.step(closure_of(params, [0], fail_at))
        assert state_of(optimizer, params) == before
        optimizer.step(closure_of(params, [0]))
        assert state_of(optimizer, params) == after
    total = signalled(lambda: optimizer.step(closure_of(params, [0])), 0, lbfgs.__file__)
    for place in spread(total, 10 * density):
        optimizer, params = ready()
        run = partial(optimizer.step, closure_of(params, [0]))
        signalled(run, place, lbfgs.__file__)
        assert state_of(optimizer, params) in (before, after)


SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "step": lambda o: lr_scheduler.StepLR(o, 1),
    "cycle": lambda o: lr_scheduler.OneCycleLR(o, 0.5, total_steps=9),
    "restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 1),
    "chained": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ExponentialLR(o, 0.5), lr_scheduler.StepLR(o, 1)]
    ),
    "sequence": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o), lr_scheduler.ExponentialLR(o, 0.5)], [1]
    ),
}


@pytest.mark.parametrize("tensor", [False, True])
@at_some_or_all
@pytest.mark.parametrize("kind", SCHEDULES)
def test_schedules(kind: str, tensor: bool, density: int) -> None:
    def ready() -> tuple[Any, list[Any], Any]:
        params = [adjoint.ones(2, requires_grad=True), adjoint.ones(3, requires_grad=True)]
        lr = adjoint.tensor(0.1) if tensor else 0.1
        groups = [{"params": [param], "lr": lr} for param in params]
        optimizer = optim.SGD(groups, momentum=0.9)
        return optimizer, params, SCHEDULES[kind](optimizer)

    def state(optimizer: Any, params: list[Any], scheduler: Any) -> Any:
        inner = getattr(scheduler, "_schedulers", [])
        own = [{k: v for k, v in vars(s).items() if k != "optimizer"} for s in (scheduler, *inner)]
        return [state_of(optimizer, params), seen([{**o, "_schedulers": 0} for o in own])]

    optimizer, params, scheduler = ready()
    optimizer.step()
    before = state(optimizer, params, scheduler)
    total = signalled(scheduler.step, 0)
    after = state(optimizer, params, scheduler)
    results = []
    for place in spread(total, 8 * density):
        optimizer, params, scheduler = ready()
        optimizer.step()
        signalled(scheduler.step, place)
        results.append(state(optimizer, params, scheduler))
    assert all(found in (before, after) for found in results)
    assert before in results


@at_some_or_all
@pytest.mark.parametrize("kinds", [("float32",), ("float16", "float64")])
def test_scaler(kinds: tuple[str, ...], density: int) -> None:
    """Gradients are divided all, and known to be, or none; so are a step and an update."""

    def ready() -> tuple[Any, list[Any], Any]:
        optimizer, params = make("Adam", {"kinds": kinds})
        give_grads(params, 1)
        return optimizer, params, amp.GradScaler("cpu", init_scale=4.0, growth_interval=1)

    def state(optimizer: Any, params: list[Any], scaler: Any) -> Any:
        own = {**vars(scaler), "_overflowed": list(scaler._overflowed.values())}
        return [state_of(optimizer, params), seen([param.grad for param in params]), own]

    optimizer, params, scaler = ready()
    allowed = [state(optimizer, params, scaler)]
    for run in (lambda: scaler.unscale_(optimizer), lambda: scaler.step(optimizer), scaler.update):
        run()
        allowed.append(state(optimizer, params, scaler))

    def whole(optimizer: Any, scaler: Any) -> None:
        scaler.step(optimizer)
        scaler.update()

    optimizer, params, scaler = ready()
    total = signalled(lambda: whole(optimizer, scaler), 0)
    reached = set()
    for place in spread(total, 30 * density):
        optimizer, params, scaler = ready()
        signalled(partial(whole, optimizer, scaler), place)
        reached.add(allowed.index(state(optimizer, params, scaler)))
    assert reached >= {0, 1}


def test_what_can_not_be_written_is_found_before_anything_is() -> None:
    for spoil in ("read-only", "shape"):
        optimizer, params = make("Adam", {})
        give_grads(params, 0)
        optimizer.step()
        give_grads(params, 1)
        if spoil == "shape":
            params[3].grad.data = adjoint.ones(2)
        else:
            params[3].detach().numpy_array().setflags(write=False)
        before = state_of(optimizer, params)
        with pytest.raises(RuntimeError, match=spoil):
            optimizer.step()
        assert state_of(optimizer, params) == before


@pytest.mark.parametrize("name", NAMES)
def test_memory_stays_where_it_is(name: str) -> None:
    """Who holds a view of a parameter, or of its state, sees every step."""
    optimizer, params = make(name, {})
    give_grads(params, 0)
    optimizer.step()
    arrays = [param.detach().numpy() for param in params]
    states = [optimizer.state[param] for param in params if param in optimizer.state]
    held = [(state, key, value.numpy()) for state in states for key, value in state.items()]
    give_grads(params, 1)
    optimizer.step()
    for param, array in zip(params, arrays):
        assert np.shares_memory(param.detach().numpy(), array)
        assert (param.detach().numpy() == array).all()
    for state, key, array in held:
        assert np.shares_memory(state[key].numpy(), array)


def test_a_step_needs_little_memory() -> None:
    size = 4_000_000
    params = [adjoint.zeros(size, requires_grad=True) for _ in range(2)]
    optimizer = optim.Adam(params)
    give_grads(params, 0)
    optimizer.step()
    gc.collect()
    tracemalloc.start()
    try:
        optimizer.step()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < params[0].nbytes / 4
