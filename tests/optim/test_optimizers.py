"""What optimizers promise beyond PyTorch's numbers: backends, batches of parameters, copies."""

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import optim
from adjoint.backends.numpy import numpy_backend
from adjoint.optim.optimizer import required
from adjoint.optim.plans import SMALL
from adjoint.optim.programs import Program

NAMES = [
    *("SGD", "ASGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax"),
    *("Adagrad", "Adadelta", "RMSprop", "Rprop"),
]
every_optimizer = pytest.mark.parametrize("name", NAMES)
MOMENTUM = {"SGD": {"momentum": 0.9}, "RMSprop": {"momentum": 0.9, "centered": True}}


def parameters(count: int = 3, size: int = 4, dtype: str = "float32") -> list[Any]:
    generator = np.random.default_rng(0)
    return [
        adjoint.tensor(generator.normal(size=size).astype(dtype), requires_grad=True)
        for _ in range(count)
    ]


def give_grads(params: list[Any], seed: int = 0) -> None:
    generator = np.random.default_rng(seed)
    for param in params:
        values = generator.normal(size=param.shape).astype(param.numpy_array().dtype)
        param.grad = adjoint.tensor(values).to(param.device)


def steps(optimizer: Any, params: list[Any], count: int, first: int = 0) -> None:
    for seed in range(first, first + count):
        give_grads(params, seed)
        optimizer.step()


def values(params: list[Any]) -> list[Any]:
    return [np.array(param.detach().numpy_array()) for param in params]


def assert_equal(ours: list[Any], others: list[Any], rtol: float = 1e-6) -> None:
    for one, other in zip(ours, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


def reference(name: str, count: int, dtype: str = "float32") -> list[Any]:
    """Parameters after some steps, one parameter at a time."""
    params = parameters(dtype=dtype)
    steps(getattr(optim, name)(params, foreach=False, **MOMENTUM.get(name, {})), params, count)
    return values(params)


@every_optimizer
def test_batches_give_what_single_steps_give(name: str) -> None:
    params = parameters()
    optimizer = getattr(optim, name)(params, **MOMENTUM.get(name, {}))
    steps(optimizer, params, 4)
    assert_equal(values(params), reference(name, 4))


@every_optimizer
def test_a_step_of_many_parameters_takes_few_calls(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule runs once for all small parameters, however many they are."""
    calls = []
    run = Program.places

    def counted(program: Any, operands: list[Any], *rest: Any) -> Any:
        calls.append(operands[0].size)
        return run(program, operands, *rest)

    monkeypatch.setattr(Program, "places", counted)
    params = [*parameters(40, 8), *parameters(1, SMALL + 1)]
    steps(getattr(optim, name)(params), params, 1)
    assert sorted(calls) == [40 * 8, SMALL + 1]


@every_optimizer
def test_replaced_state_counts(name: str) -> None:
    """What a user puts into the state between steps is used, in a batch as elsewhere."""
    results = []
    for foreach in (None, False):
        params = parameters()
        optimizer = getattr(optim, name)(params, foreach=foreach, **MOMENTUM.get(name, {}))
        steps(optimizer, params, 2)
        for key, value in list(optimizer.state[params[1]].items()):
            if key != "step":
                optimizer.state[params[1]][key] = value * 0.5 + 0.25
        steps(optimizer, params, 1, 2)
        for key, value in optimizer.state[params[2]].items():
            value.fill_(7.0 if key == "step" else 0.5)
        steps(optimizer, params, 2, 3)
        del optimizer.state[params[0]]
        steps(optimizer, params, 2, 5)
        results.append(values(params))
    assert_equal(*results)


def test_parameters_may_move_and_come_and_go() -> None:
    results = []
    for foreach in (None, False):
        params = parameters(4)
        optimizer = optim.Adam(params, lr=0.1, foreach=foreach)
        steps(optimizer, params, 2)
        params[1].data = params[1].data + 1.0
        steps(optimizer, params, 1, 2)
        give_grads(params, 3)
        params[2].grad = None
        optimizer.step()
        steps(optimizer, params, 1, 4)
        extra = parameters(2, 3)
        optimizer.add_param_group({"params": extra, "lr": 0.5})
        steps(optimizer, params + extra, 2, 5)
        results.append(values(params + extra))
        assert optimizer.state[params[2]]["step"].item() == 6
        assert optimizer.state[params[0]]["step"].item() == 7
    assert_equal(*results)


def test_settings_may_change_what_is_kept() -> None:
    results = []
    for foreach in (None, False):
        params = parameters(20)
        optimizer = optim.SGD(params, lr=0.1, foreach=foreach)
        for momentum in (0, 0.9, 0.5, 0):
            optimizer.param_groups[0]["momentum"] = momentum
            steps(optimizer, params, 2)
        results.append(values(params))
    assert_equal(*results)


@every_optimizer
@pytest.mark.parametrize("foreach", [None, False])
def test_state_stays_in_its_place_from_step_to_step(name: str, foreach: Any) -> None:
    params = parameters()
    optimizer = getattr(optim, name)(params, foreach=foreach, **MOMENTUM.get(name, {}))
    steps(optimizer, params, 1)
    held = dict(optimizer.state[params[0]])
    arrays = {key: tensor.array for key, tensor in held.items()}
    before = {key: tensor.clone() for key, tensor in held.items()}
    steps(optimizer, params, 1, 1)
    for key, tensor in optimizer.state[params[0]].items():
        assert tensor is held[key] and tensor.array is arrays[key]
    assert any(not adjoint.equal(held[key], before[key]) for key in held)


@every_optimizer
@pytest.mark.parametrize("foreach", [None, False])
def test_a_step_is_noticed_by_the_graph(name: str, foreach: Any) -> None:
    params = parameters(2)
    optimizer = getattr(optim, name)(params, foreach=foreach)
    loss = sum((param * param).sum() for param in params)
    give_grads(params)
    before = [param._version for param in params]
    optimizer.step()
    assert [param._version for param in params] == [version + 1 for version in before]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_step_writes_into_the_memory_of_the_parameter() -> None:
    base = adjoint.ones(2, 3)
    param = base.t().detach().requires_grad_()
    array = param.array
    optimizer = optim.Adam([param], lr=0.5)
    param.grad = adjoint.ones(3, 2)
    optimizer.step()
    assert param.array is array
    np.testing.assert_allclose(base.numpy_array(), 0.5, rtol=1e-6)


@every_optimizer
@pytest.mark.parametrize("dtype", [adjoint.float16, adjoint.bfloat16])
def test_sixteen_bits(name: str, dtype: Any) -> None:
    params = [param.detach().to(dtype).requires_grad_() for param in parameters()]
    optimizer = getattr(optim, name)(params, **MOMENTUM.get(name, {}))
    for seed in range(3):
        generator = np.random.default_rng(seed)
        for param in params:
            param.grad = adjoint.tensor(generator.normal(size=4).astype("float32")).to(dtype)
        optimizer.step()
    assert all(param.dtype is dtype for param in params)
    found = [param.detach().to(adjoint.float32).numpy_array() for param in params]
    assert_equal(found, reference(name, 3), rtol=0.03)


@pytest.mark.parametrize("dtype", [adjoint.float16, adjoint.bfloat16, adjoint.complex64])
def test_plain_descent_keeps_the_data_type(dtype: Any) -> None:
    param = adjoint.ones(3, dtype=dtype).requires_grad_()
    param.grad = adjoint.ones(3, dtype=dtype)
    optim.SGD([param], lr=0.25).step()
    assert param.dtype is dtype and param.tolist() == [0.75] * 3


def test_infinities_are_no_warnings() -> None:
    params = parameters(2)
    optimizer = optim.Adam(params, eps=0.0)
    params[0].grad = adjoint.full((4,), float("inf"))
    params[1].grad = adjoint.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step()
    assert bool(params[0].isnan().all()) and bool(params[1].isnan().all())


# ---- other backends ----


@every_optimizer
@pytest.mark.parametrize("capturable", [False, True])
def test_jax(name: str, capturable: bool) -> None:
    pytest.importorskip("jax")
    params = [param.detach().to("xla").requires_grad_() for param in parameters()]
    kwargs = dict(MOMENTUM.get(name, {}))
    if capturable and name not in ("SGD", "Adagrad"):
        kwargs["capturable"] = True
    optimizer = getattr(optim, name)(params, **kwargs)
    steps(optimizer, params, 3)
    assert all(param.device.type == "xla" for param in params)
    assert all(param._version == 3 for param in params)
    assert_equal(values(params), reference(name, 3), rtol=1e-5)


@every_optimizer
def test_a_state_dict_moves_to_jax(name: str) -> None:
    pytest.importorskip("jax")
    params = parameters()
    optimizer = getattr(optim, name)(params, **MOMENTUM.get(name, {}))
    steps(optimizer, params, 2)
    moved = [param.detach().to("xla").requires_grad_() for param in params]
    twin = getattr(optim, name)(moved)
    twin.load_state_dict(optimizer.state_dict())
    steps(twin, moved, 2, 2)
    steps(optimizer, params, 2, 2)
    assert_equal(values(moved), values(params), rtol=1e-5)


def test_a_view_as_parameter_on_jax_changes_its_base() -> None:
    pytest.importorskip("jax")
    base = adjoint.ones(4).to("xla")
    param = base[:2].requires_grad_()
    param.grad = adjoint.ones(2).to("xla")
    optim.SGD([param], lr=0.25, weight_decay=1.0).step()
    assert base.tolist() == [0.5, 0.5, 1.0, 1.0]


def test_a_compiled_training_step() -> None:
    """With capturable=True a step can be traced: the counter is part of what goes in and out."""
    jax = pytest.importorskip("jax")

    def train(arrays: Any) -> Any:
        weight, step, mean, square = (adjoint.asarray(array) for array in arrays)
        weight.requires_grad_()
        optimizer = optim.Adam([weight], lr=0.1, capturable=True)
        optimizer.state[weight] = {"step": step, "exp_avg": mean, "exp_avg_sq": square}
        ((weight - 3.0) ** 2).sum().backward()
        optimizer.step()
        state = optimizer.state[weight]
        return [weight.array, *(state[key].array for key in ("step", "exp_avg", "exp_avg_sq"))]

    numpy = jax.numpy
    start = [numpy.ones(3), numpy.zeros(()), numpy.zeros(3), numpy.zeros(3)]
    compiled, plain = start, start
    jitted = jax.jit(train)
    for _ in range(3):
        compiled, plain = jitted(compiled), train(plain)
    assert float(compiled[1]) == 3.0
    np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-5)


# ---- copies ----


@every_optimizer
def test_pickles_and_copies_go_on(name: str) -> None:
    params = parameters()
    optimizer = getattr(optim, name)(params, **MOMENTUM.get(name, {}))
    steps(optimizer, params, 2)
    twins = [pickle.loads(pickle.dumps(optimizer)), copy.deepcopy(optimizer)]
    steps(optimizer, params, 2, 2)
    for twin in twins:
        own = twin.param_groups[0]["params"]
        steps(twin, own, 2, 2)
        assert_equal(values(own), values(params))
        twin.register_step_pre_hook(lambda *args: None)


def test_states_of_old_versions() -> None:
    """Counters that are plain numbers, and settings that were not yet there."""
    params = parameters()
    optimizer = optim.Adam(params)
    steps(optimizer, params, 2)
    saved = optimizer.state_dict()
    for state in saved["state"].values():
        state["step"] = 2
    for key in ("maximize", "foreach", "capturable", "differentiable", "fused", "amsgrad"):
        del saved["param_groups"][0][key]
    fresh = optim.Adam(params)
    fresh.load_state_dict(saved)
    assert fresh.state[params[0]]["step"].item() == 2
    assert fresh.param_groups[0]["maximize"] is False
    steps(fresh, params, 1)


def test_a_state_dict_that_does_not_fit_changes_nothing() -> None:
    params = parameters()
    optimizer = optim.Adam(params)
    steps(optimizer, params, 1)
    before = optimizer.state_dict()
    other = optim.Adam(params[:2]).state_dict()
    with pytest.raises(ValueError, match="doesn't match the size"):
        optimizer.load_state_dict(other)
    with pytest.raises(ValueError, match="number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    after = optimizer.state_dict()
    assert after["state"].keys() == before["state"].keys()
    assert after["state"][0]["exp_avg"] is before["state"][0]["exp_avg"]


# ---- hooks and subclasses ----


class Halver(optim.Optimizer):
    """A user's optimizer."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": required})

    def step(self, closure: Any = None) -> str:
        return "stepped"


class Twice(Halver):
    """Calls its parent's step."""

    def step(self, closure: Any = None) -> str:
        return super().step() + super().step()


def test_hooks_of_a_users_optimizer_run_once_a_step() -> None:
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Halver(parameters(1))
    optimizer = Twice([{"params": parameters(1), "lr": 1}])
    seen: list[Any] = []
    optimizer.register_step_pre_hook(lambda own, args, kwargs: seen.append((args, kwargs)))
    optimizer.register_step_post_hook(lambda *args: seen.append("post"))
    assert optimizer.step(closure=None) == "steppedstepped"
    assert seen == [((optimizer,), {"closure": None}), "post"]


def test_a_pre_hook_may_replace_arguments() -> None:
    (param,) = params = parameters(1)
    give_grads(params)
    optimizer = optim.SGD(params, lr=0.1)
    handle = optimizer.register_step_pre_hook(lambda own, args, kwargs: ((own, lambda: 7), {}))
    assert optimizer.step() == 7
    handle.remove()
    optimizer.register_step_pre_hook(lambda own, args, kwargs: "nonsense")
    with pytest.raises(RuntimeError, match="new_args, new_kwargs"):
        optimizer.step()
    assert param._version == 1


def test_a_step_that_fails_leaves_hooks_usable() -> None:
    params = parameters(1)
    optimizer = optim.SGD(params, lr=0.1)
    seen: list[int] = []
    optimizer.register_step_pre_hook(lambda *args: seen.append(1))

    def fail() -> None:
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            optimizer.step(fail)
    assert seen == [1, 1]


def test_closures_are_recorded_whatever_the_mode() -> None:
    (param,) = params = parameters(1)
    optimizer = optim.SGD(params, lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    with adjoint.no_grad():
        loss = optimizer.step(closure)
    assert loss.requires_grad
    assert param.requires_grad and param.is_leaf


def test_zero_grad() -> None:
    params = parameters(2)
    give_grads(params)
    optimizer = optim.SGD(params, lr=0.1)
    first = params[0].grad
    optimizer.zero_grad(set_to_none=False)
    assert params[0].grad is first and first.tolist() == [0.0] * 4
    (grad,) = adjoint.autograd.grad((params[0] ** 3).sum(), [params[0]], create_graph=True)
    params[0].grad = grad
    optimizer.zero_grad(set_to_none=False)
    assert params[0].grad.grad_fn is None and params[0].grad.tolist() == [0.0] * 4
    optimizer.zero_grad()
    assert params[0].grad is None


def test_state_dict_hooks_may_replace() -> None:
    params = parameters(1)
    optimizer = optim.SGD(params, lr=0.1)
    optimizer.register_state_dict_post_hook(lambda own, state: {**state, "extra": 1})
    saved = optimizer.state_dict()
    assert saved["extra"] == 1
    optimizer.register_load_state_dict_pre_hook(
        lambda own, state: {**state, "param_groups": [{**state["param_groups"][0], "lr": 0.9}]}
    )
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["lr"] == 0.9


def test_lbfgs_of_a_pickle() -> None:
    (param,) = params = parameters(1)
    optimizer = pickle.loads(pickle.dumps(optim.LBFGS(params)))
    (own,) = optimizer.param_groups[0]["params"]

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((own - 2) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(own.detach().numpy_array(), 2.0, rtol=1e-5)
    with pytest.raises(RuntimeError, match="strong_wolfe"):
        optim.LBFGS(params, line_search_fn="golden").step(closure)
    with pytest.raises(ValueError, match="parameter groups"):
        optim.LBFGS([{"params": params}, {"params": parameters(1)}])


def test_counters_lie_in_main_memory() -> None:
    """Reading them never waits for a device."""
    pytest.importorskip("jax")
    params = [param.detach().to("xla").requires_grad_() for param in parameters(1)]
    optimizer = optim.Adam(params)
    steps(optimizer, params, 1)
    assert type(optimizer.state[params[0]]["step"].array) is numpy_backend.array_type


def test_an_optimizer_around_another_needs_no_init():
    class Around(optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        def step(self, closure=None):
            return self.inner.step(closure)

    weight = adjoint.ones(2, requires_grad=True)
    weight.grad = adjoint.ones(2)
    Around(optim.SGD([weight], lr=0.5)).step()
    assert weight.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "Adagrad"])
@pytest.mark.parametrize("options", [{"device": "meta"}, {"dtype": adjoint.complex64}])
def test_fused_refuses_params_when_it_steps(name, options):
    param = adjoint.ones(2, requires_grad=True, **options)
    param.grad = adjoint.ones_like(param)
    optimizer = getattr(optim, name)([param], fused=True)
    with pytest.raises(RuntimeError, match="fused=True"):
        optimizer.step()


def test_a_parameter_in_two_groups_has_its_first_number():
    params = parameters()
    optimizer = optim.SGD(params, lr=0.1)
    optimizer.param_groups.extend(optimizer.param_groups)
    assert [group["params"] for group in optimizer.state_dict()["param_groups"]] == [[0, 1, 2]] * 2


@every_optimizer
def test_a_copy_has_all_public_attributes(name):
    params = parameters()
    optimizer = getattr(optim, name)(params)
    steps(optimizer, params, 1)
    public = [
        {key for key in vars(each) if key[0] != "_"}
        for each in (optimizer, copy.deepcopy(optimizer))
    ]
    assert public[0] == public[1]
