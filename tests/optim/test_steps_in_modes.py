"""Steps where a mode sees calls: the same numbers, made by PyTorch's calls, all or nothing."""

import importlib

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode

NAMES = [
    "SGD",
    "Adam",
    "AdamW",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "Rprop",
    "ASGD",
]


class Log(TorchDispatchMode):
    """Notes the calls; one of them may fail."""

    def __init__(self, fails_at=None):
        super().__init__()
        self.calls, self.fails_at = [], fails_at

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(str(func))
        if len(self.calls) == self.fails_at:
            raise KeyError("seen enough")
        return func(*args, **(kwargs or {}))


class Training:
    """Two parameters and an optimizer, after two steps that nobody sees."""

    def __init__(self, name, dtype=compat.float32, is_sparse=False, **options):
        if name == "SGD" and not options:
            options = {"momentum": 0.9, "weight_decay": 0.1}
        self.is_sparse = is_sparse
        self.params = [
            compat.nn.Parameter(compat.linspace(-1, 2, 6).reshape(2, 3).to(dtype)),
            compat.nn.Parameter(compat.linspace(1, 2, 4).to(dtype)),
        ]
        self.optimizer = getattr(compat.optim, name)(self.params, lr=0.01, **options)
        for _ in range(2):
            self.step()

    def step(self):
        """One step, with gradients of the present parameters."""
        for number, param in enumerate(self.params):
            param.grad = param.detach() * (0.1 + number)
            if self.is_sparse:
                places = compat.tensor([[1, 0, 1]])
                values = param.grad[places[0]].clone()
                param.grad = compat.sparse_coo_tensor(places, values, param.shape)
        self.optimizer.step()

    def seen(self):
        """The values of all tensors."""
        state = [each for values in self.optimizer.state.values() for each in values.values()]
        tensors = [*self.params, *(each for each in state if isinstance(each, compat.Tensor))]
        dense = [each.to_dense() if each.is_sparse else each for each in tensors]
        return [each.detach().to(compat.complex128).numpy() for each in dense]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", NAMES)
def test_a_step_in_a_mode_is_the_same(name, dtype):
    compare(*(Training(name, getattr(compat, dtype)) for _ in range(2)))


@pytest.mark.parametrize("name", ["Adam", "AdamW", "RMSprop", "NAdam", "RAdam", "Rprop"])
def test_a_step_whose_counts_are_not_looked_at_is_seen(name):
    compare(*(Training(name, capturable=True) for _ in range(2)))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"momentum": 0}),
        ("SGD", {"momentum": 0.9}),
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("SGD", {"momentum": 0.9, "maximize": True}),
        ("Adagrad", {}),
        ("Adagrad", {"maximize": True}),
        ("SparseAdam", {}),
        ("SparseAdam", {"maximize": True}),
    ],
)
def test_a_step_with_sparse_gradients_is_seen(name, options):
    compare(*(Training(name, is_sparse=True, **options) for _ in range(2)))
    break_off(Training(name, is_sparse=True, **options))


def compare(plain, watched):
    """Three steps of one, and three of the other that a mode sees."""
    dtype = str(watched.params[0].dtype).rpartition(".")[2]
    held = [*watched.optimizer.state[watched.params[0]].values()]
    for _ in range(3):
        plain.step()
        with Log() as log:
            watched.step()
        assert any(name.split(".")[1].endswith("_") for name in log.calls)
    for one, other in zip(plain.seen(), watched.seen(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2 if dtype == "bfloat16" else 2e-6)
    now = [*watched.optimizer.state[watched.params[0]].values()]
    both = zip(held, now, strict=True)
    # A count that is a plain number, and a sparse buffer, are others after each step.
    assert all(one is other or not is_dense(one) for one, other in both)


def is_dense(value):
    """Whether a value is a tensor with memory of its own."""
    return isinstance(value, compat.Tensor) and value.layout is compat.strided


@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_a_mode_breaks_off_changes_nothing(name):
    break_off(Training(name))


def break_off(training):
    """Steps that fail at one call or another, in a mode."""
    with Log() as log:
        training.optimizer.step()
    before = training.seen()
    calls = len(log.calls)
    for place in {1, 2, calls // 2, calls - 2, calls - 1}:  # the last tells that it is over
        with pytest.raises(KeyError), Log(place):
            training.optimizer.step()
        for one, now in zip(before, training.seen(), strict=True):
            np.testing.assert_array_equal(one, now)


SETTINGS = [
    *((name, {}) for name in [*NAMES, "AdamW"]),
    *((name, {"maximize": True}) for name in NAMES),
    *((name, {"maximize": True, "weight_decay": 0.1}) for name in NAMES if name != "Rprop"),
    *((name, {"lr": None}) for name in NAMES if name not in ("ASGD", "Rprop")),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "dampening": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("Adam", {"amsgrad": True}),
    ("RMSprop", {"momentum": 0.9}),
    ("RMSprop", {"centered": True}),
    ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RAdam", {"betas": (0.9, 0.9)}),
    ("Adagrad", {"lr_decay": 0.1}),
    ("ASGD", {"t0": 1}),
]


def shown(library, value):
    """An argument as text: of a tensor its shape, of a number six digits."""
    if isinstance(value, library.Tensor):
        return f"T{list(value.shape)}"
    if isinstance(value, (int, float)):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(shown(library, each) for each in value)}]"
    known = value is None or str(value).startswith(("torch.", "adjoint.", "cpu", "Optimizer."))
    return str(value).replace("adjoint.", "torch.") if known else "a range"


def steps_of(library, name, options):
    """The calls that a mode sees of eight steps and of a clearing, and the parameters then."""
    log = []

    class Seen(
        importlib.import_module(f"{library.__name__}.utils._python_dispatch").TorchDispatchMode
    ):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            given = [shown(library, value) for value in args]
            given += [f"{key}={shown(library, value)}" for key, value in (kwargs or {}).items()]
            log.append(f"{func}({', '.join(given)})")
            return func(*args, **(kwargs or {}))

    if "lr" in options:
        options = {"lr": library.tensor(0.01)}
    params = [library.nn.Parameter(library.linspace(-1, 2, size)) for size in (6, 4)]
    groups = [{"params": [param]} for param in params] if "momentum" in options else params
    optimizer = getattr(library.optim, name)(groups, **{"lr": 0.01, **options})
    for number in range(8):
        for param in params:
            param.grad = param.detach() * (0.2 + number) * (-1) ** (number // 2)
        with Seen():
            optimizer.step()
    with Seen():
        optimizer.zero_grad()
    return log, [param.detach().numpy() for param in params]


@pytest.mark.parametrize(("name", "options"), SETTINGS)
def test_a_mode_sees_pytorchs_steps(torch, name, options):
    ours, values = steps_of(compat, name, options)
    theirs, wanted = steps_of(torch, name, options)
    assert ours == theirs
    for one, other in zip(values, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_first_step_that_is_broken_off_leaves_no_state(name):
    param = compat.nn.Parameter(compat.ones(3))
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizer = getattr(compat.optim, name)([param], lr=0.1, **options)
    param.grad = compat.ones(3)
    with pytest.raises(KeyError), Log(4):
        optimizer.step()
    assert param.tolist() == [1, 1, 1] and not optimizer.state_dict()["state"]
    with Log() as log:
        optimizer.step()
    assert "aten.add_.Tensor" in log.calls and optimizer.state[param]
