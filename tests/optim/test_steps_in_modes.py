"""Steps where a mode sees calls: the same numbers, made by calls, all or nothing."""

import numpy as np
import pytest

import adjoint.compat.torch as torch
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

    def __init__(self, name, dtype=torch.float32, is_sparse=False, **options):
        if name == "SGD" and not options:
            options = {"momentum": 0.9, "weight_decay": 0.1}
        self.is_sparse = is_sparse
        self.params = [
            torch.nn.Parameter(torch.linspace(-1, 2, 6).reshape(2, 3).to(dtype)),
            torch.nn.Parameter(torch.linspace(1, 2, 4).to(dtype)),
        ]
        self.optimizer = getattr(torch.optim, name)(self.params, lr=0.01, **options)
        for _ in range(2):
            self.step()

    def step(self):
        """One step, with gradients of the present parameters."""
        for number, param in enumerate(self.params):
            param.grad = param.detach() * (0.1 + number)
            if self.is_sparse:
                places = torch.tensor([[1, 0, 1]])
                values = param.grad[places[0]].clone()
                param.grad = torch.sparse_coo_tensor(places, values, param.shape)
        self.optimizer.step()

    def seen(self):
        """The values of all tensors."""
        state = [each for values in self.optimizer.state.values() for each in values.values()]
        tensors = [*self.params, *(each for each in state if isinstance(each, torch.Tensor))]
        dense = [each.to_dense() if each.is_sparse else each for each in tensors]
        return [each.detach().to(torch.complex128).numpy() for each in dense]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
@pytest.mark.parametrize("name", NAMES)
def test_a_step_in_a_mode_is_the_same(name, dtype):
    compare(*(Training(name, getattr(torch, dtype)) for _ in range(2)))


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
        assert log.calls.count("aten.copy_.default") >= 2
    for one, other in zip(plain.seen(), watched.seen(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2 if dtype == "bfloat16" else 2e-6)
    now = [*watched.optimizer.state[watched.params[0]].values()]
    both = zip(held, now, strict=True)
    # A count that is a plain number, and a sparse buffer, are others after each step.
    assert all(one is other or not is_dense(one) for one, other in both)


def is_dense(value):
    """Whether a value is a tensor with memory of its own."""
    return isinstance(value, torch.Tensor) and value.layout is torch.strided


@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_a_mode_breaks_off_changes_nothing(name):
    break_off(Training(name))


def break_off(training):
    """Steps that fail at one call or another, in a mode."""
    with Log() as log:
        training.optimizer.step()
    before = training.seen()
    calls = len(log.calls)
    for place in {1, calls // 2, calls - 2, calls}:
        with pytest.raises(KeyError), Log(place):
            training.optimizer.step()
        for one, now in zip(before, training.seen(), strict=True):
            np.testing.assert_array_equal(one, now)
