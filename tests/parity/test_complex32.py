"""Complex numbers of two 16-bit floats: PyTorch's, and what it has on GPUs alone."""

import io
import operator
import pickle

import numpy as np
import pytest

import adjoint
import adjoint.compat.torch as compat

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(adjoint.complex32 is None, reason="ml_dtypes is older than complex32"),
    pytest.mark.filterwarnings("ignore:ComplexHalf support"),
    pytest.mark.filterwarnings("ignore:Casting complex values"),
]
VALUES = [1 + 2j, 3.14159 - 1j, -0.3 + 0j, 0.1j]


def numbers(module, requires_grad=False):
    """The same numbers of either library."""
    return module.tensor(VALUES, dtype=module.complex32, requires_grad=requires_grad)


def same(ours, theirs):
    """The same type, and the same numbers to the last bit."""
    assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2]
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: x + x * x - 2,
        lambda m, x: x * (0.3 - 1.7j),
        lambda m, x: m.ones(4, dtype=m.half) * 1j + x,
        lambda m, x: x + m.ones(4),
        lambda m, x: x.abs(),
        lambda m, x: x.sgn(),
        lambda m, x: x.conj() * x.real + x.imag,
        lambda m, x: m.view_as_real(x),
        lambda m, x: m.view_as_complex(m.view_as_real(x) + 1),
        lambda m, x: m.complex(x.real, x.imag),
        lambda m, x: m.add(x, x, alpha=0.5),
        lambda m, x: m.cat([x, x.to(m.complex64)]),
        lambda m, x: m.where(x.real > 0, x, 0),
        lambda m, x: x.norm(),
        lambda m, x: x.to(m.float64),
        lambda m, x: x.bool(),
        lambda m, x: x[[2, 0]].roll(1).to(m.complex128),
        lambda m, x: x == x.flatten(),
        lambda m, x: x.masked_fill(x.imag == 0, 1j),
        lambda m, x: m.arange(3).chalf(),
        lambda m, x: x.clone().mul_(x).add_(1j),
        lambda m, x: x.view(m.float16),
    ],
)
def test_what_pytorch_computes(function):
    with np.errstate(all="ignore"):
        same(function(adjoint, numbers(adjoint)), function(torch, numbers(torch)))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * x).abs(),
        lambda x: (x * (2 - 1j)).real,
        lambda x: x.conj() * x.imag,
    ],
)
def test_gradients(function):
    found = []
    for module in (adjoint, torch):
        x = numbers(module, requires_grad=True)
        answer = function(x)
        answer.backward(module.ones_like(answer))
        found.append(x.grad)
    assert found[0].dtype is adjoint.complex32
    np.testing.assert_allclose(found[0].tolist(), found[1].tolist(), 2e-3, 1e-3)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / (x + 1),
        lambda x: x.exp(),
        lambda x: x.sum(),
        lambda x: x.cumsum(0),
        lambda x: x @ x,
        lambda x: x.angle(),
        lambda x: x.var(),
        lambda x: x.tanh() * 0.5,
    ],
)
def test_what_it_has_on_gpus_is_computed_in_complex64(function):
    x = numbers(adjoint)
    found, wanted = function(x), function(x.to(adjoint.complex64))
    assert found.dtype in (adjoint.complex32, adjoint.float16)
    np.testing.assert_allclose(found.tolist(), wanted.tolist(), 2e-3)


def test_sums_are_rounded_once():
    x = adjoint.full((4096,), 1 + 1e-3j, dtype=adjoint.complex32)
    assert x.sum().item().real == 4096.0
    assert adjoint.ones(1, dtype=adjoint.half).mul(0.1j).dtype is adjoint.complex32


def test_parts_are_views():
    x = numbers(adjoint)
    x.real.add_(1)
    x.imag[0] = 5
    assert x[0].item() == 2 + 5j
    x.real = 0
    assert x.real.tolist() == [0.0] * 4


@pytest.mark.parametrize("operation", [operator.lt, lambda a, b: a.sort(), lambda a, b: a.max()])
def test_there_is_no_order(operation):
    with pytest.raises((RuntimeError, NotImplementedError), match="complex"):
        operation(numbers(adjoint), numbers(adjoint))


def test_it_prints_as_pytorch_does():
    x = torch.tensor(VALUES, dtype=torch.complex32)
    assert repr(numbers(adjoint)).replace("adjoint", "torch") == repr(x)
    assert compat.Tensor.type(numbers(adjoint)) == x.type()


def test_files():
    x = numbers(adjoint)
    for save, load in ((compat.save, torch.load), (adjoint.save, adjoint.load)):
        file = io.BytesIO()
        save({"x": x, "part": x[1:]}, file)
        file.seek(0)
        assert load(file)["part"].tolist() == x[1:].tolist()
    file = io.BytesIO()
    torch.save(numbers(torch), file)
    file.seek(0)
    same(compat.load(file), numbers(torch))
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_limits_and_types():
    assert adjoint.finfo(adjoint.chalf).max == torch.finfo(torch.chalf).max
    assert adjoint.half.to_complex() is adjoint.complex32
    assert adjoint.complex32.to_real() is adjoint.half
    assert adjoint.bfloat16.to_complex() is adjoint.complex64


def test_without_values():
    x = compat.empty(2, 3, dtype=compat.complex32, device="meta")
    assert (x * 2).dtype is compat.complex32
    assert x.abs().dtype is x.real.dtype is x.imag.dtype is compat.float16


def test_a_batch_and_a_tangent():
    x = numbers(adjoint)
    assert adjoint.vmap(lambda z: z * z)(x).tolist() == (x * x).tolist()
    out, tangent = adjoint.func.jvp(lambda z: z * z, (x,), (x,))
    assert tangent.dtype is adjoint.complex32
    assert tangent.tolist() == (2 * x * x).tolist() and out.tolist() == (x * x).tolist()


def test_a_modulus_of_16_bits_has_no_angle():
    half = [module.ones(2, dtype=module.half) for module in (adjoint, torch)]
    with pytest.raises(NotImplementedError):
        torch.polar(half[1], half[1])
    with pytest.raises(NotImplementedError, match="float16"):
        adjoint.polar(half[0], half[0])


def test_a_multiple_is_added_in_place():
    for name in ("add_", "sub_"):
        ours, theirs = (
            getattr(numbers(module), name)(numbers(module), alpha=2.5)
            for module in (adjoint, torch)
        )
        np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=2e-3)
