"""Optimizers change parameters, keep state and refuse arguments as PyTorch's do."""

import copy
import importlib
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import adjoint
import adjoint.compat.torch as compat
from adjoint import optim

relaxed = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])

SHAPES = [(3, 4), (5,), (), (2, 1, 2)]
TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "complex64": 2e-5, "complex128": 1e-12}

flag = st.booleans()
decay = st.sampled_from([0, 0.1])
rate = st.sampled_from([1e-3, 0.1])
beta = st.sampled_from([0.0, 0.5, 0.9])
common = {"maximize": flag, "foreach": st.sampled_from([None, True, False]), "lr": rate}
moments = {**common, "betas": st.tuples(beta, beta), "eps": st.sampled_from([1e-8, 1e-3])}
decoupled = {**moments, "weight_decay": decay, "decoupled_weight_decay": flag}

# Each optimizer with the arguments that it is tried with.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "SGD": {
        **common,
        "momentum": st.sampled_from([0, 0.9]),
        "dampening": st.sampled_from([0, 0.3]),
        "weight_decay": decay,
    },
    "Adam": {**decoupled, "amsgrad": flag},
    "AdamW": {**moments, "weight_decay": decay, "amsgrad": flag},
    "NAdam": {**decoupled, "momentum_decay": st.sampled_from([0, 4e-3, 0.5])},
    "RAdam": decoupled,
    "Adamax": {**moments, "weight_decay": decay},
    "Adagrad": {
        **common,
        "lr_decay": decay,
        "weight_decay": decay,
        "initial_accumulator_value": decay,
    },
    "Adadelta": {**common, "rho": st.sampled_from([0.0, 0.9]), "weight_decay": decay},
    "RMSprop": {
        **common,
        "alpha": st.sampled_from([0.5, 0.99]),
        "weight_decay": decay,
        "momentum": st.sampled_from([0, 0.9]),
        "centered": flag,
        "eps": st.sampled_from([1e-8, 1e-2]),
    },
    "Rprop": {**common, "etas": st.sampled_from([(0.5, 1.2), (0.2, 3.0)])},
    "ASGD": {**common, "t0": st.sampled_from([2, 1e6]), "weight_decay": decay},
}
every_optimizer = pytest.mark.parametrize("name", ARGUMENTS)


def numbers(generator: Any, shape: tuple[int, ...], dtype: str) -> Any:
    values = generator.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * generator.normal(size=shape)
    return np.asarray(values, dtype)


def parameters(library: Any, dtype: str, shapes: Any = SHAPES) -> list[Any]:
    generator = np.random.default_rng(0)
    return [
        library.tensor(numbers(generator, shape, dtype), requires_grad=True) for shape in shapes
    ]


def give_grads(library: Any, params: list[Any], dtype: str, seed: int) -> None:
    """Gradients at random; now and then a parameter has none."""
    generator = np.random.default_rng(seed)
    for place, param in enumerate(params):
        values = numbers(generator, tuple(param.shape), dtype)
        param.grad = None if (place + seed) % 7 == 3 else library.tensor(values)


def trained(library: Any, package: Any, name: str, dtype: str, kwargs: Any, steps: int = 10) -> Any:
    params = parameters(library, dtype)
    optimizer = getattr(package, name)(params, **kwargs)
    for seed in range(steps):
        give_grads(library, params, dtype, seed)
        optimizer.step()
    return params, optimizer


def array(tensor: Any) -> Any:
    return tensor.detach().numpy()


def assert_same(ours: Any, theirs: Any, tolerance: float) -> None:
    """Equal parameters, state dicts and layouts."""
    params, optimizer = ours
    expected_params, expected = theirs
    for param, wanted in zip(params, expected_params, strict=True):
        np.testing.assert_allclose(array(param), array(wanted), rtol=tolerance, atol=tolerance)
    state, wanted_state = optimizer.state_dict(), expected.state_dict()
    assert list(state) == list(wanted_state)
    assert state["state"].keys() == wanted_state["state"].keys()
    for number, entries in wanted_state["state"].items():
        assert list(state["state"][number]) == list(entries)
        for key, value in entries.items():
            mine = state["state"][number][key]
            assert mine.numpy().dtype == value.numpy().dtype, key
            np.testing.assert_allclose(array(mine), array(value), rtol=tolerance, atol=tolerance)
    for group, wanted in zip(state["param_groups"], wanted_state["param_groups"], strict=True):
        assert list(group) == list(wanted)


@every_optimizer
@relaxed
@given(data=st.data())
def test_ten_steps(torch: Any, name: str, data: Any) -> None:
    kwargs = data.draw(st.fixed_dictionaries({}, optional=ARGUMENTS[name]))
    dtype = data.draw(st.sampled_from(sorted(TOLERANCE)))
    ours = trained(adjoint, optim, name, dtype, kwargs)
    # PyTorch's own foreach rounds some numbers to 32 bits; its loop does not.
    theirs = trained(torch, torch.optim, name, dtype, {**kwargs, "foreach": False})
    assert_same(ours, theirs, TOLERANCE[dtype])


@every_optimizer
def test_repr(torch: Any, name: str) -> None:
    ours, theirs = (
        repr(
            getattr(package, name)([{"params": param} for param in parameters(library, "float32")])
        )
        for library, package in ((adjoint, optim), (torch, torch.optim))
    )
    assert ours == theirs


def test_nesterov(torch: Any) -> None:
    kwargs = {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}
    ours = trained(adjoint, optim, "SGD", "float64", kwargs)
    assert_same(ours, trained(torch, torch.optim, "SGD", "float64", kwargs), 1e-12)


@every_optimizer
def test_large_parameters(torch: Any, name: str) -> None:
    """What is larger than a block is stepped piece by piece, with the same result."""
    results = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        params = parameters(library, "float64", [(300, 700), (8,), (9,)])
        optimizer = getattr(package, name)(params, lr=0.01)
        for seed in range(2):
            give_grads(library, params, "float64", seed)
            optimizer.step()
        results.append([array(param) for param in params])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@every_optimizer
@pytest.mark.parametrize("shape", [(), (1,)])
def test_lr_as_a_tensor(torch: Any, name: str, shape: tuple[int, ...]) -> None:
    ours = trained(adjoint, optim, name, "float32", {"lr": adjoint.full(shape, 0.05)})
    theirs = trained(torch, torch.optim, name, "float32", {"lr": torch.full(shape, 0.05)})
    assert_same(ours, theirs, 2e-5)


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_betas_as_tensors(torch: Any, name: str) -> None:
    ours, theirs = (
        trained(library, package, name, "float32", {"betas": betas, "weight_decay": 0.1})
        for library, package, betas in (
            (adjoint, optim, (adjoint.tensor(0.8), adjoint.tensor([0.95]))),
            (torch, torch.optim, (torch.tensor(0.8), torch.tensor([0.95]))),
        )
    )
    assert_same(ours, theirs, 2e-5)


@every_optimizer
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_differentiable(torch: Any, name: str, dtype: str) -> None:
    """Gradients through three steps, with respect to the start and to the gradients used."""
    results = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        (start,) = parameters(library, dtype, [(3, 2)])
        generator = np.random.default_rng(1)
        slopes = library.tensor(numbers(generator, (3, 2), dtype), requires_grad=True)
        param = start.clone()
        kwargs = {} if name == "Rprop" else {"weight_decay": 0.1}
        optimizer = getattr(package, name)([param], lr=0.1, differentiable=True, **kwargs)
        for step in range(1 if name in ("Adamax", "Rprop") else 3):  # PyTorch fails at a second
            param.grad = slopes * (step + 1)
            optimizer.step()
        (param * param.conj()).real.sum().backward()
        results.append([array(param), array(start.grad), array(slopes.grad)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_hyperparameters_get_gradients(torch: Any, name: str) -> None:
    results = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        (start,) = parameters(library, "float64", [(4,)])
        lr = library.tensor(0.1, dtype=library.float64, requires_grad=True)
        param = start.clone()
        optimizer = getattr(package, name)([param], lr=lr, differentiable=True)
        for step in range(2):
            param.grad = start.detach() * (step + 1)
            optimizer.step()
        (param**2).sum().backward()
        results.append((array(lr.grad), array(start.grad)))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)  # PyTorch counts in 32 bits here


def rosenbrock(library: Any, package: Any, dtype: str, kwargs: Any) -> Any:
    start = library.tensor(np.array([-1.2, 1.0, 0.3, 2.0], dtype), requires_grad=True)
    unused = library.tensor(np.ones((2, 1), dtype), requires_grad=True)
    optimizer = package.LBFGS([start, unused], **kwargs)
    calls = []

    def closure() -> Any:
        calls.append(1)
        optimizer.zero_grad()
        loss = (100 * (start[1:] - start[:-1] ** 2) ** 2 + (1 - start[:-1]) ** 2).sum()
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(2)]
    return array(start), losses, len(calls), optimizer.state_dict()["state"][0]


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"lr": 0.5, "max_iter": 7},
        {"lr": 1e-3, "history_size": 3},
        {"line_search_fn": "strong_wolfe", "max_iter": 9},
        {"line_search_fn": "strong_wolfe", "max_eval": 4},
        {"line_search_fn": "strong_wolfe", "lr": 10.0, "max_iter": 9},
        {"tolerance_grad": 1e3},
    ],
    ids=str,
)
def test_lbfgs(torch: Any, kwargs: Any) -> None:
    ours = rosenbrock(adjoint, optim, "float64", kwargs)
    theirs = rosenbrock(torch, torch.optim, "float64", kwargs)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-9)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9)
    assert ours[2] == theirs[2]
    assert ours[3].keys() == theirs[3].keys()
    assert ours[3]["func_evals"] == theirs[3]["func_evals"]
    assert ours[3]["n_iter"] == theirs[3]["n_iter"]


def test_lbfgs_of_complex_parameters(torch: Any) -> None:
    results = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        param = library.tensor([1 + 2j, -1j], dtype=library.complex128, requires_grad=True)
        optimizer = package.LBFGS([param], line_search_fn="strong_wolfe")

        def closure(param: Any = param, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            gap = param - (3 - 1j)
            loss = (gap * gap.conj()).real.sum() + (param.imag**4).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        results.append(array(param))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-9)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    *((name, {"lr": -1.0}) for name in [*ARGUMENTS, "LBFGS"]),
    *((name, {"eps": -1.0}) for name in ARGUMENTS if "eps" in ARGUMENTS[name]),
    *((name, {"betas": (1.0, 0.9)}) for name in ARGUMENTS if "betas" in ARGUMENTS[name]),
    *((name, {"betas": (0.9, -0.1)}) for name in ARGUMENTS if "betas" in ARGUMENTS[name]),
    *((name, {"weight_decay": -1}) for name in ARGUMENTS if "weight_decay" in ARGUMENTS[name]),
    ("Adam", {"betas": (0, 0.9)}),
    ("Adam", {"fused": True, "differentiable": True}),
    ("Adam", {"fused": True, "foreach": True}),
    ("Adagrad", {"fused": True, "foreach": True}),
    ("Adagrad", {"lr_decay": -1}),
    ("Adagrad", {"initial_accumulator_value": -1}),
    ("Adadelta", {"rho": 1.5}),
    ("NAdam", {"momentum_decay": -1}),
    ("RMSprop", {"alpha": -1}),
    ("RMSprop", {"momentum": -1}),
    ("Rprop", {"etas": (1.2, 0.5)}),
    ("SGD", {"momentum": -1}),
    ("SGD", {"nesterov": True}),
    ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
    ("SGD", {"fused": True, "differentiable": True}),
    ("SGD", {"lr": [1, 2]}),
]


@pytest.mark.parametrize(("name", "kwargs"), REFUSED, ids=str)
def test_bad_arguments(torch: Any, name: str, kwargs: Any) -> None:
    errors = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        given = {
            key: library.tensor(value) if isinstance(value, list) else value
            for key, value in kwargs.items()
        }
        with pytest.raises(Exception) as caught:
            getattr(package, name)(parameters(library, "float32"), **given)
        errors.append(caught.type)
    assert errors[0] is errors[1]


def groups(library: Any, kind: str) -> Any:
    """Parameters that an optimizer accepts or refuses."""
    first, second = parameters(library, "float32", [(2,), (3,)])
    return {
        "a tensor": lambda: first,
        "nothing": list,
        "a set": lambda: [{"params": {first, second}}],
        "numbers": lambda: [1.0],
        "no leaf": lambda: [first * 2],
        "one group twice": lambda: [{"params": [first]}, {"params": [first, second]}],
        "half named": lambda: [("one", first), second],
        "groups half named": lambda: [{"params": [("one", first)]}, {"params": [second]}],
        "named": lambda: [("one", first), ("two", second)],
        "settings": lambda: [{"params": first, "lr": 0.5}, {"params": [second], "momentum": 0.9}],
        "one parameter twice": lambda: [first, first],
    }[kind]()


@pytest.mark.parametrize(
    "kind",
    [
        *("a tensor", "nothing", "a set", "numbers", "no leaf", "one group twice", "half named"),
        *("groups half named", "named", "settings", "one parameter twice"),
    ],
)
def test_parameter_groups(torch: Any, kind: str) -> None:
    outcomes = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                optimizer = package.SGD(groups(library, kind), lr=0.1)
            outcomes.append((len(caught), optimizer.state_dict(), repr(optimizer)))
        except Exception as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]


def test_a_parameter_listed_twice_is_stepped_twice(torch: Any) -> None:
    results = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        (param,) = parameters(library, "float64", [(3,)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optimizer = package.Adam([param, param], lr=0.1)
        for seed in range(2):
            give_grads(library, [param], "float64", seed)
            optimizer.step()
        results.append(array(param))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-12)


def converted(value: Any, torch: Any) -> Any:
    """Our state dict with PyTorch's tensors in it."""
    if isinstance(value, dict):
        return {key: converted(item, torch) for key, item in value.items()}
    if isinstance(value, list):
        return [converted(item, torch) for item in value]
    return torch.tensor(array(value)) if isinstance(value, adjoint.Tensor) else value


@every_optimizer
def test_state_dicts_go_both_ways(torch: Any, name: str) -> None:
    """Four steps here and six there are ten, in whichever order."""
    whole = trained(torch, torch.optim, name, "float64", {"lr": 0.05}, 10)[0]
    params, optimizer = trained(torch, torch.optim, name, "float64", {"lr": 0.05}, 4)
    ours = [adjoint.tensor(array(param), requires_grad=True) for param in params]
    here = getattr(optim, name)(ours)
    here.load_state_dict(optimizer.state_dict())
    for seed in range(4, 7):
        give_grads(adjoint, ours, "float64", seed)
        here.step()
    theirs = [torch.tensor(array(param), requires_grad=True) for param in ours]
    there = getattr(torch.optim, name)(theirs)
    there.load_state_dict(converted(here.state_dict(), torch))
    for seed in range(7, 10):
        give_grads(torch, theirs, "float64", seed)
        there.step()
    for param, wanted in zip(theirs, whole, strict=True):
        np.testing.assert_allclose(array(param), array(wanted), rtol=1e-6, atol=1e-7)


def test_order_of_hooks(torch: Any) -> None:
    logs = []
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        log: list[Any] = []
        (param,) = parameters(library, "float32", [(2,)])
        optimizer = package.SGD([param], lr=0.1)

        def note(what: str, log: list[Any] = log) -> Any:
            return lambda *args: log.append((what, len(args)))

        module = importlib.import_module(f"{package.__name__}.optimizer")
        handles = [
            module.register_optimizer_step_pre_hook(note("global pre")),
            module.register_optimizer_step_post_hook(note("global post")),
            optimizer.register_step_pre_hook(note("pre")),
            optimizer.register_step_post_hook(note("post")),
            optimizer.register_state_dict_pre_hook(note("state")),
            optimizer.register_state_dict_pre_hook(note("state first"), prepend=True),
            optimizer.register_state_dict_post_hook(note("state after")),
            optimizer.register_load_state_dict_pre_hook(note("load")),
            optimizer.register_load_state_dict_post_hook(note("loaded")),
        ]
        optimizer.step()
        optimizer.step(lambda log=log: log.append("closure"))
        optimizer.load_state_dict(optimizer.state_dict())
        for handle in handles:
            handle.remove()
        optimizer.step()
        logs.append(log)
    assert logs[0] == logs[1]


def test_deep_copies_go_on_alike(torch: Any) -> None:
    for library, package in ((adjoint, optim), (torch, torch.optim)):
        params, optimizer = trained(library, package, "Adam", "float32", {}, 3)
        twin = copy.deepcopy(optimizer)
        assert twin.param_groups[0]["params"][0] is not params[0]
        for seed in range(2):
            give_grads(library, params, "float32", seed)
            give_grads(library, twin.param_groups[0]["params"], "float32", seed)
            optimizer.step()
            twin.step()
        for param, other in zip(params, twin.param_groups[0]["params"], strict=True):
            np.testing.assert_array_equal(array(param), array(other))


def test_nadam_is_differentiable_by_its_products(torch: Any) -> None:
    """A product of momenta that requires grad is part of the graph of a step."""
    found = []
    for package in (torch, adjoint):
        leaf = package.tensor([1.0, 2.0], dtype=package.float64, requires_grad=True)
        product = package.tensor([0.9], dtype=package.float64, requires_grad=True)
        param = leaf.clone()
        param.grad = package.tensor([0.3, 0.4], dtype=package.float64)
        optimizer = package.optim.NAdam([param], lr=0.1, differentiable=True)
        optimizer.state[param].update(
            step=package.tensor(10.0),
            mu_product=product.clone(),
            exp_avg=package.full((2,), 0.1, dtype=package.float64),
            exp_avg_sq=package.full((2,), 0.2, dtype=package.float64),
        )
        optimizer.step()
        grads = package.autograd.grad(param.sum(), [leaf, product])
        found.append([*param.tolist(), *[g.tolist() for g in grads]])
    np.testing.assert_allclose(np.hstack(found[1]), np.hstack(found[0]), 1e-10)


def test_an_optimizer_around_another(torch):
    """One that skips __init__ and makes hook tables under PyTorch's names has working hooks."""

    def outcome(library):
        class Around(library.optim.Optimizer):
            def __init__(self, inner):
                self._optimizer_step_pre_hooks = OrderedDict()
                self._optimizer_step_post_hooks = OrderedDict()
                self._patch_step_function()
                self.inner = inner

            def step(self, closure=None):
                return self.inner.step(closure)

        parameter = library.nn.Parameter(library.ones(2))
        around, log = Around(library.optim.SGD([parameter], lr=0.5)), []
        around.register_step_pre_hook(lambda *given: log.append("before"))
        around.register_step_post_hook(lambda *given: log.append("after"))
        parameter.grad = library.ones(2)
        around.step()
        plain = library.optim.SGD([parameter], lr=0.5)
        tables = [name for name in vars(plain) if name.endswith("_hooks")]
        return log, parameter.tolist(), around._zero_grad_profile_name, tables

    assert outcome(compat) == outcome(torch)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        *[(name, "weight_decay") for name in ("Adam", "Adamax", "RAdam", "NAdam", "RMSprop")],
        *[(name, "weight_decay") for name in ("Adagrad", "Adadelta", "ASGD")],
        ("Rprop", "lr"),
        ("Adagrad", "initial_accumulator_value"),
    ],
)
def test_a_setting_whose_gradient_would_be_lost(torch, name, setting):
    for library in (compat, torch):
        for needs in (True, False):
            param = library.ones(2, requires_grad=True)
            param.grad = library.ones(2)
            value = library.tensor(0.1, requires_grad=needs)
            if not needs:
                getattr(library.optim, name)([param], **{setting: value}).step()
                continue
            with pytest.raises(TypeError):
                getattr(library.optim, name)([param], **{setting: value}).step()
            assert param.tolist() == [1.0, 1.0]
