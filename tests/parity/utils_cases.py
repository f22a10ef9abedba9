"""Small layers of both libraries, and programs that run in both and must log the same."""

import importlib

import numpy as np
import pytest

import adjoint
import adjoint.func
import adjoint.nn.utils

torch = pytest.importorskip("torch")
importlib.import_module("torch.nn.utils.prune")  # an attribute of nn.utils only then

LIBRARIES = {"adjoint": adjoint, "torch": torch}


def plain(value):
    """A value that can be compared across libraries."""
    if isinstance(value, (adjoint.Tensor, torch.Tensor)):
        kind = str(value.dtype).rpartition(".")[2]
        return (kind, list(value.shape), np.array(value.detach().tolist()))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def same(ours, theirs):
    """Whether two plain values agree, numbers up to rounding."""
    if isinstance(theirs, np.ndarray | float):
        return np.allclose(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True)
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


def both(scenario):
    """Run a scenario in both libraries and compare what it logged, entry by entry."""
    logs = {}
    for name, lib in LIBRARIES.items():
        log = logs[name] = []
        scenario(lib, log)
    ours, theirs = (plain(logs[name]) for name in LIBRARIES)
    assert theirs, "the scenario logged nothing"
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert same(one, other), f"entry {place}: {one} against {other}"


def attempt(log, action):
    """Log what an action answers, or the type of what it raises."""
    try:
        log.append(action())
    except Exception as error:
        log.append(type(error).__name__)


def numbers(lib, *shape, seed=0, dtype="float32"):
    values = np.random.default_rng(seed).standard_normal(shape)
    return lib.tensor(values.tolist(), dtype=getattr(lib, dtype)).reshape(shape)


MADE: dict = {}


def classes(lib):
    """Small layers, of the same names and members in both libraries."""
    if lib in MADE:
        return MADE[lib]
    nn = lib.nn

    class Linear(nn.Module):
        def __init__(self, n_in=3, n_out=4, seed=0, device=None):
            super().__init__()
            self.out_features = n_out
            self.weight = nn.Parameter(numbers(lib, n_out, n_in, seed=seed))
            self.bias = nn.Parameter(numbers(lib, n_out, seed=seed + 1))

        def forward(self, x):
            return x @ self.weight.T + self.bias

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Linear(3, 4)
            self.second = Linear(4, 3, seed=5)
            self.register_buffer("calls", lib.zeros(()))

        def forward(self, x, scale=1.0):
            self.calls = self.calls + 1
            return self.second(self.first(x).tanh()) * scale

    class Norm(nn.Module):
        def __init__(self, size, affine=True):
            super().__init__()
            self.num_features, self.eps = size, 1e-5
            self.running_mean = numbers(lib, size, seed=8)
            self.running_var = numbers(lib, size, seed=9) ** 2
            self.weight = nn.Parameter(numbers(lib, size, seed=10)) if affine else None
            self.bias = nn.Parameter(numbers(lib, size, seed=11)) if affine else None

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x):
            return x.triu()

    class Doubled(nn.Module):
        def forward(self, x):
            return 2 * x

    class Product(nn.Module):
        def forward(self, x, y):
            return x * y

        def right_inverse(self, z):
            return z.abs().sqrt(), z.sign() * z.abs().sqrt()

    class Cut(nn.Module):
        def forward(self, x):
            return x[:-1]

    MADE[lib] = {
        kind.__name__: kind for kind in (Linear, Net, Norm, Symmetric, Doubled, Product, Cut)
    }
    return MADE[lib]


def make(lib, kind, *args, **kwargs):
    return classes(lib)[kind](*args, **kwargs)
