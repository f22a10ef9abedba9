"""Transforms on the arrays of other libraries: NumPy's answers, on the device."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, func, nn
from adjoint.nn import functional as F
from adjoint.pytree import tree_leaves
from adjoint.tensors.tensor import AS_IS
from tests.backends import PROGRAMS

SIZE = 3


@pytest.fixture(params=["xla", "cuda"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device whose arrays are another library's, with types of 64 bits."""
    if request.param == "cuda":
        cupy = pytest.importorskip("cupy")
        try:
            cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            pytest.skip("CuPy finds no GPU")
        yield "cuda"
        return
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield "xla"
    jax.config.update("jax_enable_x64", before)


def compare(function: Callable[..., Any], arrays: list[Any], device: str) -> None:
    """A function answers on the device what it does on the CPU, and on the device."""
    expected = tree_leaves(function(*[Tensor(array, AS_IS) for array in arrays]))
    found = tree_leaves(function(*[Tensor(array, AS_IS).to(device) for array in arrays]))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.device.type == device
        np.testing.assert_allclose(ours.numpy_array(), theirs.numpy_array(), rtol=1e-8, atol=1e-9)


def normal(*shape: int) -> Any:
    return np.random.default_rng(3).normal(size=shape)


def numbers(below: int, *shape: int) -> Any:
    return np.random.default_rng(4).integers(0, below, shape)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, device: str) -> None:
    """Values and gradients of each element, with one argument for all."""

    def of_one(x: Any, y: Any, w: Any) -> Any:
        return PROGRAMS[name](x, y, w).square().sum()

    each = func.vmap(func.grad_and_value(of_one, (0, 1, 2)), (0, 0, None))
    compare(each, [normal(SIZE, 3, 4), normal(SIZE, 3, 4) * 0.5, normal(4)], device)


def changed(x: Any, index: Any) -> Any:
    """Written to in place, by numbers for all elements and by those of each."""
    new = x.clone()
    new[0] = 2.0
    new[index] *= x[index]
    return new.add_(1)


OPS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "gather": (lambda x, i: x.gather(1, i), [normal(SIZE, 3, 4), numbers(4, SIZE, 3, 2)]),
    "index": (lambda x, i: x[i], [normal(SIZE, 3, 4), numbers(3, SIZE, 2)]),
    "in place": (changed, [normal(SIZE, 3, 4), numbers(3, SIZE, 1)]),
    "sort": (lambda x: x.sort(-1).values, [normal(SIZE, 3, 4)]),
    "solve": (lambda a, b: adjoint.linalg.solve(a, b), [normal(SIZE, 3, 3), normal(SIZE, 3, 2)]),
    "eigvalsh": (lambda a: adjoint.linalg.eigvalsh(a + a.mT), [normal(SIZE, 3, 3)]),
    "einsum": (
        lambda x, y: adjoint.einsum("ij,jk->k", x, y),
        [normal(SIZE, 3, 4), normal(SIZE, 4, 2)],
    ),
    "cumsum": (lambda x: x.cumsum(0), [normal(SIZE, 3, 4)]),
    "convolution": (
        lambda x, w: F.conv2d(x, w, padding=1),
        [normal(SIZE, 2, 2, 5, 5), normal(SIZE, 3, 2, 3, 3)],
    ),
    "pooling": (lambda x: F.max_pool2d(x, 2), [normal(SIZE, 2, 2, 4, 4)]),
    "layer_norm": (lambda x, w: F.layer_norm(x, (4,), w), [normal(SIZE, 3, 4), normal(SIZE, 4)]),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), [normal(SIZE, 3, 4)]),
    "embedding": (lambda i, w: F.embedding(i, w), [numbers(5, SIZE, 3), normal(SIZE, 5, 2)]),
    "cross_entropy": (F.cross_entropy, [normal(SIZE, 3, 4), numbers(4, SIZE, 3)]),
    "attention": (F.scaled_dot_product_attention, [normal(SIZE, 2, 3, 4)] * 3),
    "fft": (lambda x: adjoint.fft.fft(x).abs(), [normal(SIZE, 3, 4)]),
}


@pytest.mark.parametrize("name", OPS)
def test_ops(name: str, device: str) -> None:
    """Values, gradients inside vmap and tangents through it."""
    function, arrays = OPS[name]
    places = tuple(i for i, array in enumerate(arrays) if array.dtype.kind == "f")

    def loss(*args: Any) -> Any:
        return function(*args).square().sum()

    def pushed(*args: Any) -> Any:
        def of_floats(*floats: Any) -> Any:
            given = dict(zip(places, floats, strict=True))
            return func.vmap(function)(*[given.get(i, arg) for i, arg in enumerate(args)])

        floats = tuple(args[i] for i in places)
        return func.jvp(of_floats, floats, tuple(x * 0.5 + 1 for x in floats))

    compare(func.vmap(function), arrays, device)
    compare(func.vmap(func.grad(loss, places)), arrays, device)
    compare(pushed, arrays, device)


MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "linear": (
        lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)),
        normal(SIZE, 4),
    ),
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        normal(SIZE, 2, 6, 6),
    ),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True),
        normal(SIZE, 3, 4),
    ),
    "recurrent": (lambda: First(nn.LSTM(4, 3, batch_first=True)), normal(SIZE, 3, 4)),
}


class First(nn.Module):
    """The first of the results of a module."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return self.inner(x)[0]


@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_each_sample(name: str, device: str) -> None:
    make, batch = MODELS[name]

    def of_batch(x: Any) -> Any:
        adjoint.manual_seed(0)
        model = make().double().to(x.device)
        return func.per_sample_grad(model, lambda out: out.square().mean())(x)

    compare(of_batch, [batch], device)


def test_compiled_by_jax() -> None:
    """The transforms run on the tracers of jax.jit as well."""
    jax = pytest.importorskip("jax")

    def each(weight: Any, x: Any) -> Any:
        slope = func.grad(lambda w, row: F.linear(row, w).tanh().sum())
        return func.vmap(slope, (None, 0))(Tensor(weight, AS_IS), Tensor(x, AS_IS)).array

    arrays = [normal(2, 4).astype("float32"), normal(SIZE, 4).astype("float32")]
    np.testing.assert_allclose(jax.jit(each)(*arrays), each(*arrays), 1e-4, 1e-6)


def test_hessian(device: str) -> None:
    compare(func.hessian(lambda x: x.sin().prod() + (x @ x).exp()), [normal(4) * 0.5], device)
