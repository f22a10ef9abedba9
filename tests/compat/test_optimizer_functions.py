"""torch.optim's functions of parameters, gradients and state, compared with PyTorch's."""

import importlib
import inspect

import pytest

import adjoint.compat.torch as compat

MOMENTS = {"beta1": 0.9, "beta2": 0.99, "lr": 0.1, "weight_decay": 0.02, "eps": 1e-8}
CASES = {
    "adadelta": {"lr": 0.5, "rho": 0.9, "eps": 1e-6, "weight_decay": 0.1, "maximize": False},
    "adagrad": {"lr": 0.1, "weight_decay": 0.1, "lr_decay": 0.2, "eps": 1e-8, "maximize": True},
    "adam": {**MOMENTS, "amsgrad": True, "maximize": False, "decoupled_weight_decay": False},
    "adamw": {**MOMENTS, "amsgrad": False, "maximize": True},
    "adamax": MOMENTS,
    "asgd": {"lambd": 1e-2, "lr": 0.1, "t0": 1.0, "alpha": 0.75, "weight_decay": 0.1},
    "nadam": {**MOMENTS, "momentum_decay": 4e-3},
    "radam": {**MOMENTS, "decoupled_weight_decay": True},
    "rmsprop": {
        "lr": 0.1,
        "alpha": 0.9,
        "eps": 1e-8,
        "weight_decay": 0.1,
        "momentum": 0.5,
        "centered": True,
    },
    "rprop": {"step_size_min": 1e-6, "step_size_max": 5.0, "etaminus": 0.5, "etaplus": 1.2},
    "sgd": {
        "weight_decay": 0.1,
        "momentum": 0.9,
        "lr": 0.1,
        "dampening": 0.2,
        "nesterov": False,
        "maximize": False,
    },
    "adafactor": {
        "d": 1.0,
        "lr": 0.1,
        "beta2_decay": -0.8,
        "weight_decay": 0.1,
        "eps1": None,
        "eps2": 1e-3,
        "maximize": False,
    },
}
LISTS = {"momentum_buffer_list", "d_p_list"}


def function_of(library, name):
    home = "adjoint.compat.torch.optim." if library is compat else "torch.optim."
    module = importlib.import_module(home + ("_adafactor" if name == "adafactor" else name))
    return getattr(module, name)


def lists_of(function):
    """The names of the arguments that are lists."""
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
            found.append(name)
    return found


def first_values(library, name, shape, kind):
    """What a list has for a parameter before its first step."""
    dtype = getattr(library, kind)
    if name == "state_steps":
        return library.tensor(0.0)
    if name in ("mu_products", "mus"):
        return library.tensor(1.0)
    if name == "etas":
        return library.tensor(0.1)
    if name == "row_vars":
        return library.zeros(*shape[:-1], 1, dtype=dtype) if len(shape) > 1 else None
    if name == "col_vars":
        return library.zeros(*shape[:-2], 1, shape[-1], dtype=dtype) if len(shape) > 1 else None
    if name == "variances":
        return library.zeros(shape, dtype=dtype) if len(shape) < 2 else None
    if name == "momentum_buffer_list":
        return library.zeros(shape, dtype=dtype)
    if name == "step_sizes":
        return library.full(shape, 0.1 + 0.1j if "complex" in kind else 0.1, dtype=dtype)
    return library.zeros(shape, dtype=dtype)


def stepped(library, name, kind, **options):
    """The parameters and all state after three steps."""
    function = function_of(library, name)
    shapes = [(2, 3), (4,)]
    dtype = getattr(library, kind)
    given = {}
    for each in lists_of(function):
        given[each] = [first_values(library, each, shape, kind) for shape in shapes]
    if name == "sgd":
        given["momentum_buffer_list"] = [None, None]
    counts = [library.arange(6.0).reshape(2, 3), library.arange(4.0)]
    given["params"] = [
        (c / 5 - 0.3).to(dtype) * (1 + 0.5j if "complex" in kind else 1) for c in counts
    ]
    grads = "d_p_list" if name == "sgd" else "grads"
    with library.no_grad():
        for n in range(3):
            given[grads] = [
                ((c * (n + 1)).cos() * (1 - 2j if "complex" in kind else 1)).to(dtype)
                for c in counts
            ]
            extra = {"has_complex": True} if "complex" in kind and name != "sgd" else {}
            function(**given, **CASES[name], **extra, foreach=False, **options)
    given.pop(grads)
    return {
        key: [None if v is None else v.flatten().tolist() for v in values]
        for key, values in given.items()
    }


def flat(tree):
    return [x for values in tree.values() for each in values for x in (each or [])]


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", CASES)
def test_steps_are_pytorch_s(name, kind, torch):
    if kind == "complex64" and name == "adafactor":
        pytest.skip("Adafactor is for real numbers")
    first, second = stepped(compat, name, kind), stepped(torch, name, kind)
    assert first.keys() == second.keys()
    assert flat(first) == pytest.approx(flat(second), rel=2e-5, abs=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_arguments_are_pytorch_s(name, torch):
    def shown(library):
        signature = inspect.signature(function_of(library, name))
        return [(p.name, p.kind, p.default) for p in signature.parameters.values()]

    assert shown(compat) == shown(torch)
    assert function_of(compat, name).__name__ == name


def test_the_same_functions_are_private_ones(torch):
    wanted = {n for n in dir(torch.optim._functional) if n in CASES or n == "sparse_adam"}
    for name in sorted(wanted):
        assert callable(getattr(compat.optim._functional, name))
    assert compat.optim._functional.adam is compat.optim.adam.adam


def test_what_is_for_gpus_alone_is_refused():
    x = compat.ones(2)
    lists = [[x], [x], [x], [x], [], [compat.tensor(0.0)]]
    settings = CASES["adamw"]
    with pytest.raises(RuntimeError, match="capturable"):
        compat.optim.adamw.adamw(*lists, capturable=True, **settings)
    with pytest.raises(RuntimeError, match="found_inf"):
        compat.optim.adamw.adamw(*lists, found_inf=x, **settings)
    with pytest.raises(RuntimeError, match="state_steps"):
        compat.optim.adamw.adamw(*lists[:-1], [0], **settings)
    with pytest.raises(TypeError, match="eps"):
        compat.optim.adamw.adamw(*lists, **{k: v for k, v in settings.items() if k != "eps"})
    with pytest.raises(RuntimeError, match="sparse"):
        compat.optim.adamw.adamw([x, x], [x, x.to_sparse()], *lists[2:], **settings)
    with pytest.raises(RuntimeError, match="shape"):
        compat.optim.adamw.adamw([x, x], [x, compat.ones(3)], *lists[2:], **settings)
    assert x.tolist() == [1.0, 1.0]


def test_a_step_on_the_rows_of_sparse_gradients(torch):
    found = []
    for library in (compat, torch):
        param, mean, square = library.ones(3), library.zeros(3), library.zeros(3)
        grad = library.tensor([0.0, 2.0, 0.0]).to_sparse()
        step = library.optim._functional.sparse_adam
        settings = {"eps": 1e-8, "beta1": 0.9, "beta2": 0.99, "lr": 0.1, "maximize": False}
        for count in (1, 2):
            step([param], [grad], [mean], [square], [count], **settings)
        found.append([*param.tolist(), *mean.tolist(), *square.tolist()])
    assert found[0] == pytest.approx(found[1])
