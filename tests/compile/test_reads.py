"""What compiled functions read and bind by name is that of each call, not that of the trace."""

import functools
import warnings
from argparse import Namespace
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from adjoint import nn, optim
from adjoint.compiling import CompileError
from adjoint.nn.utils import prune, spectral_norm, weight_norm
from tests.compile import assert_alike

SCALE = 1.0
STATE = adjoint.zeros(2)


def scaled(x):
    return x * SCALE


class Scaled(nn.Module):
    """A module with a plain value, an object and a list of its own."""

    def __init__(self):
        super().__init__()
        self.factor = 1.0
        self.config = SimpleNamespace(shift=0.0)
        self.powers = [1, {"last": 1}]
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        return self.shifted(x * self.factor) ** self.powers[0] ** self.powers[1]["last"]

    def shifted(self, x):
        return x + self.config.shift


def set_global(holder, number):
    global SCALE  # noqa: PLW0603  # what is tested here
    SCALE = number


def set_factor(holder, number):
    holder.factor = number


def set_config(holder, number):
    holder.config.shift = number


def set_config_anew(holder, number):
    holder.config = SimpleNamespace(shift=number)


def set_power(holder, number):
    holder.powers[1]["last"] = int(number)


@pytest.mark.parametrize("change", [set_global, set_factor, set_config, set_config_anew, set_power])
def test_plain_values_are_those_of_the_call(change, monkeypatch):
    monkeypatch.setitem(globals(), "SCALE", 1.0)

    def run(compile):
        module = Scaled()
        step = compile(lambda x: scaled(module(x)))
        found = []
        for number in (1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 1.0):
            change(module, number)
            found.append(step(adjoint.full((2,), 2.0)).tolist())
        set_global(None, 1.0)
        return found, step

    expected, _ = run(lambda function: function)
    found, step = run(adjoint.compile)
    assert found == expected
    assert step.count == (6 if change is set_config_anew else 3)  # an object is known by itself


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (lambda: [1.0], lambda held, number: held.__setitem__(0, number)),
        (lambda: deque([1.0]), lambda held, number: held.appendleft(number)),
        (lambda: {1.0}, lambda held, number: (held.clear(), held.add(number))),
        (lambda: np.ones(1), lambda held, number: held.fill(number)),
    ],
    ids=["list", "deque", "set", "array"],
)
def test_what_containers_hold_is_that_of_the_call(make, change):
    held = make()
    step = adjoint.compile(lambda x: x * float(next(iter(held))))
    for number in (1.0, 1.0, 1.0, 2.0, 2.0, 1.0):
        change(held, number)
        assert step(adjoint.ones(1)).tolist() == [number]


def test_containers_that_hold_themselves_wrappers_and_methods_of_classes():
    held, factor = [adjoint.ones(2)], [1.0]
    held.append(held)

    def wrap(function):
        @functools.wraps(function)
        def wrapper(x):
            return function(x) * factor[0]

        return wrapper

    class Owner:
        @classmethod
        def step(cls, x):
            return x * held[0] * factor[0]

    steps = [adjoint.compile(wrap(lambda x: x * held[0])), adjoint.compile(Owner.step)]
    for number in (1.0, 1.0, 1.0, 2.0, 3.0):
        factor[0] = number
        assert [step(adjoint.ones(2)).tolist() for step in steps] == [[number] * 2] * 2


def test_a_forward_that_a_module_is_given():
    layer = nn.Identity()
    step = adjoint.compile(lambda x: layer(x))
    for _ in range(3):
        assert step(adjoint.ones(1)).tolist() == [1.0]
    layer.forward = lambda x: x * 5
    assert step(adjoint.ones(1)).tolist() == [5.0]


def test_settings_of_a_layer_are_those_of_the_call():
    layer = nn.Dropout(0.5)
    step = adjoint.compile(lambda x: layer(x))
    for _ in range(3):
        assert 0.0 in step(adjoint.ones(100)).tolist()
    layer.p = 0.0
    assert step(adjoint.ones(100)).tolist() == [1.0] * 100


def test_what_a_partial_a_method_and_an_object_among_the_arguments_refer_to():
    holder = SimpleNamespace(weight=adjoint.ones(2), factor=2.0)

    class Owner:
        factor = 3.0

        def __init__(self):
            self.weight = adjoint.ones(2)

        def step(self, x):
            return self.weight * self.factor * x

        compiled = adjoint.compile(step)

    owner = Owner()

    def step(held, x):
        return held.weight * held.factor * x

    given_an_object = adjoint.compile(step)
    calls = [
        adjoint.compile(functools.partial(step, holder)),
        adjoint.compile(owner.step),
        owner.compiled,
        lambda x: given_an_object(holder, x),
    ]
    x = adjoint.ones(2)
    for _ in range(3):
        assert [call(x)[0].item() for call in calls] == [2.0, 3.0, 3.0, 2.0]
    holder.weight, owner.weight = adjoint.full((2,), 2.0), adjoint.full((2,), 2.0)
    holder.factor = 5.0
    owner.factor = 7.0
    assert [call(x)[0].item() for call in calls] == [10.0, 14.0, 14.0, 10.0]


def test_what_hooks_and_the_function_change_themselves_makes_no_program_anew():
    log = []
    owner = SimpleNamespace(calls=0)
    weight = adjoint.ones(2, requires_grad=True)

    def note(grad):
        log.append(grad.tolist())
        owner.calls += 1

    @adjoint.compile
    def step(x):
        weight.grad = None
        product = weight * x
        product.register_hook(note)
        product.register_hook(lambda grad: log.append(len(log)))
        product.sum().backward()

    for _ in range(6):
        step(adjoint.ones(2))
    assert step.count == 1
    assert owner.calls == 6
    assert log == [each for n in range(6) for each in ([1.0, 1.0], 2 * n + 1)]


def test_other_parameters_of_a_module_that_is_not_called():
    layer = nn.Linear(2, 2)
    step = adjoint.compile(lambda x: nn.functional.linear(x, layer.weight).detach())
    for _ in range(3):
        step(adjoint.ones(1, 2))
    layer.weight = nn.Parameter(adjoint.ones(2, 2))
    assert step(adjoint.ones(1, 2)).tolist() == [[2.0, 2.0]]


def test_groups_that_are_added_to_an_optimizer():
    def make():
        one, other = (adjoint.ones(2, requires_grad=True) for _ in range(2))
        optimizer = optim.SGD([one], lr=0.1)

        def step():
            optimizer.zero_grad()
            (one.sum() * 2 + other.sum() * 3).backward()
            optimizer.step()
            return one, other, other.grad

        return step, lambda: optimizer.add_param_group({"params": [other], "lr": 0.5})

    found = []
    for compile in (lambda function: function, adjoint.compile):
        step, add = make()
        step = compile(step)
        rows = []
        for number in range(6):
            if number == 3:
                add()
            rows.append([each.detach().tolist() for each in step()])
        found.append(rows)
    assert found[0] == found[1]


def test_hooks_of_all_optimizers_are_looked_for():
    weight, log = adjoint.ones(2, requires_grad=True), []
    optimizer = optim.SGD([weight], lr=0.1)

    @adjoint.compile
    def step():
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()

    for _ in range(3):
        step()
    hook = adjoint.optim.optimizer.register_optimizer_step_post_hook(lambda *_: log.append(1))
    step()
    hook.remove()
    step()
    assert log == [1]


# ---- arguments that are read by name, too ----


def test_an_argument_that_the_function_reads_by_name_too():
    weight = adjoint.ones(2)
    add = adjoint.compile(lambda x: x + weight)
    for _ in range(3):
        assert add(weight).tolist() == [2.0, 2.0]
    for _ in range(3):
        assert add(adjoint.full((2,), 5.0)).tolist() == [6.0, 6.0]


def test_a_tensor_of_the_program_that_becomes_an_argument():
    weight = adjoint.ones(2, requires_grad=True)

    @adjoint.compile
    def step(x):
        (x * weight).sum().backward()

    for _ in range(3):
        weight.grad = None
        step(adjoint.full((2,), 5.0, requires_grad=True))
        assert weight.grad.tolist() == [5.0, 5.0]
    for _ in range(3):
        weight.grad = None
        step(weight)
        assert weight.grad.tolist() == [2.0, 2.0]
    weight.grad = None
    step(adjoint.full((2,), 5.0, requires_grad=True))
    assert weight.grad.tolist() == [5.0, 5.0]


# ---- tensors that a function binds anew ----


def test_tensors_that_are_bound_anew_are_kept_from_call_to_call(monkeypatch):
    monkeypatch.setitem(globals(), "STATE", adjoint.zeros(2))

    def run(compile):
        global STATE  # noqa: PLW0603  # what is tested here
        STATE = adjoint.zeros(2)
        local = adjoint.zeros(2)
        held = {"a": adjoint.zeros(2), "b": [adjoint.zeros(2)]}
        owner = SimpleNamespace(state=adjoint.zeros(2), seen=None)

        def step(x):
            global STATE  # noqa: PLW0603  # what is tested here
            nonlocal local
            STATE = STATE * 0.5 + x
            local = local * 0.25 + STATE
            held["a"] = held["a"] + local
            held["b"][0] = held["b"][0] - held["a"]
            owner.state = (owner.state + held["b"][0]).detach()
            owner.seen = x
            return owner.state * 2

        step = compile(step)
        found = []
        for number in range(8):
            x = adjoint.full((2,), float(number))
            found.append(step(x).tolist())
            if number == 5:
                owner.state = adjoint.ones(2)
            found += [t.tolist() for t in (STATE, local, held["a"], held["b"][0], owner.state)]
            assert owner.seen is x
        return found, step

    expected, _ = run(lambda function: function)
    found, step = run(adjoint.compile)
    assert found == expected
    assert step.count == 1


class Remembering(nn.Module):
    """A module whose buffer is another tensor after each call, and that keeps a loss."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", adjoint.zeros(3))
        self.layer = nn.Linear(3, 3)
        self.penalty = None

    def forward(self, x):
        self.mean = (self.mean * 0.5 + x.mean(0)).detach()
        made = self.layer(x - self.mean)
        self.penalty = made.square().sum()
        return made.sum()


def test_buffers_that_are_replaced_and_results_kept_in_a_module():
    found = []
    for compile in (lambda module: module, adjoint.compile):
        adjoint.manual_seed(0)
        module = Remembering()
        call = compile(module)
        rows = []
        for number in range(5):
            module.zero_grad()
            loss = call(adjoint.arange(6.0).reshape(2, 3) * number) + module.penalty
            loss.backward()
            rows.append([loss.item(), *module.mean.tolist(), *module.layer.bias.grad.tolist()])
        assert "mean" in module.state_dict()
        found.append(rows)
    assert adjoint.allclose(adjoint.tensor(found[0]), adjoint.tensor(found[1]))
    assert call.compiled.count == 1


@pytest.mark.filterwarnings("ignore:nn.utils.weight_norm is deprecated")
@pytest.mark.parametrize(
    "norm",
    [weight_norm, spectral_norm, lambda m: prune.l1_unstructured(m, "weight", 3) or m],
    ids=["weight_norm", "spectral_norm", "prune"],
)
def test_weights_that_hooks_of_adjoint_make(norm):
    def make():
        layer = nn.Linear(3, 4)
        norm(layer)
        optimizer = optim.SGD(layer.parameters(), lr=0.01)
        x = adjoint.randn(2, 3)

        def step():
            optimizer.zero_grad()
            loss = layer(x).square().sum()
            loss.backward()
            optimizer.step()
            return loss, *layer.parameters(), *layer.buffers()

        return step

    assert_alike(make)


def test_a_hook_that_binds_a_tensor_of_the_program_anew_is_refused():
    layer, original = nn.Linear(2, 2, bias=False), adjoint.ones(2, 2)
    del layer._parameters["weight"]
    layer.weight = original

    def double(module, args):
        module.weight = original * 2

    layer.register_forward_pre_hook(double)
    step = adjoint.compile(lambda x: layer(x))
    step(adjoint.ones(1, 2))
    layer.weight = original
    with pytest.raises(CompileError, match=r"'.*double' replaces a tensor.*graph.traceable"):
        step(adjoint.ones(1, 2))
    assert layer.weight is original


@pytest.mark.parametrize("change", ["list", "dict"])
def test_containers_among_the_arguments_that_are_changed_are_refused_and_put_back(change):
    def step(given):
        if change == "list":
            given.append(given[0] * 2)
        else:
            given["b"] = given["a"] * 2

    step = adjoint.compile(step)
    make = {"list": lambda: [adjoint.ones(2)], "dict": lambda: {"a": adjoint.ones(2)}}[change]
    step(make())
    given = make()
    with pytest.raises(CompileError, match="changes a list, dict or object among its arguments"):
        step(given)
    assert len(given) == 1


class Counting(nn.Module):
    """A layer that keeps Python's own objects in its forward."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.calls = 0
        self.seen = []

    def forward(self, x):
        self.calls += 1
        self.seen.append(x.shape)
        return self.layer(x)


def test_what_python_does_while_tracing_alone_is_said_once():
    module = Counting()
    made = []

    @adjoint.compile
    def step(x):
        made.append(x.shape)
        return module(x).sum()

    step(adjoint.ones(1, 2))  # eagerly
    with pytest.warns(UserWarning, match="step changes '") as found:
        step(adjoint.ones(1, 2))
    assert all(f"'{name}'" in str(found[0].message) for name in ("made", "calls", "seen"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1, 3, 3, 3):
            step(adjoint.ones(size, 2))
    assert (module.calls, len(made), len(module.seen)) == (4, 4, 4)  # two shapes, twice each


def test_nothing_is_said_of_what_each_call_carries():
    layer = nn.Linear(2, 2)
    state = {"mean": adjoint.zeros(2)}
    optimizer = optim.SGD(layer.parameters(), 0.1, momentum=0.9)
    schedule = optim.lr_scheduler.StepLR(optimizer, 2)

    @adjoint.compile
    def step(x):
        optimizer.zero_grad()
        loss = (layer(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        schedule.step()
        state["mean"] = state["mean"] * 0.9 + x.mean(0) * 0.1
        return loss.detach()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            step(adjoint.ones(1, 2))
    np.testing.assert_allclose(state["mean"].numpy(), 1 - 0.9**4, 1e-5)


CIRCLE = {"factor": 2.0}
CIRCLE["itself"] = CIRCLE
MANY = list(range(2000))


def test_containers_in_a_circle_and_large_ones_are_read():
    @adjoint.compile
    def step(x):
        return x * CIRCLE["factor"] + MANY[1] + len(MANY)

    x = adjoint.ones(2)
    assert [step(x).tolist() for _ in range(3)] == [[2003.0] * 2] * 3
    CIRCLE["factor"] = 3.0
    assert step(x).tolist() == [2004.0] * 2
    MANY.append(0)
    assert step(x).tolist() == [2005.0] * 2
    assert step.count == 3


def test_settings_in_name_spaces_are_read():
    options, given = SimpleNamespace(scale=2.0), Namespace(shift=1.0)
    step = adjoint.compile(lambda x: x * options.scale + given.shift)
    x = adjoint.ones(2)
    assert [step(x).tolist() for _ in range(3)] == [[3.0] * 2] * 3
    options.scale, given.shift = 3.0, 5.0
    assert [step(x).tolist() for _ in range(3)] == [[8.0] * 2] * 3


class Classed(nn.Module):
    """A module whose settings are its class's."""

    scale = 1.0
    shifts = [0.0]  # noqa: RUF012

    def forward(self, x):
        return x * self.scale + self.shifts[0]


def test_attributes_of_classes_are_read(monkeypatch):
    module = Classed()
    step = adjoint.compile(lambda x: module(x))
    x = adjoint.ones(2)
    assert [step(x).tolist() for _ in range(3)] == [[1.0] * 2] * 3
    monkeypatch.setattr(Classed, "scale", 2.0)
    assert [step(x).tolist() for _ in range(2)] == [[2.0] * 2] * 2
    monkeypatch.setattr(Classed, "shifts", [3.0])
    assert [step(x).tolist() for _ in range(2)] == [[5.0] * 2] * 2


class Filed(dict):
    """A dict with a slot, and an answer of its own for keys that it lacks."""

    __slots__ = ("factor",)

    def __missing__(self, key):
        raise AssertionError(key)


def test_a_slot_of_a_dict_is_read():
    filed = Filed(shift=1.0)
    filed.factor = 2.0
    step = adjoint.compile(lambda x: x * filed.factor + filed["shift"])
    x = adjoint.ones(2)
    assert step(x).tolist() == [3.0, 3.0]
    assert step(x).tolist() == [3.0, 3.0]
    filed.factor = 5.0
    assert step(x).tolist() == [6.0, 6.0]
    filed["shift"] = 2.0
    assert step(x).tolist() == [7.0, 7.0]


def test_a_function_that_reaches_too_much_runs_eagerly():
    nodes = [SimpleNamespace(scale=1.0, other=n) for n in range(30_000)]
    step = adjoint.compile(lambda x: x * nodes[0].scale * nodes[1].other)
    with pytest.warns(UserWarning, match="runs eagerly: it reaches more than 50,000 values"):
        for _ in range(3):
            assert step(adjoint.ones(2)).tolist() == [1.0, 1.0]
    nodes[0].scale = 3.0
    assert step(adjoint.ones(2)).tolist() == [3.0, 3.0]
