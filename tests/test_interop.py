"""NumPy's protocols and DLPack."""

import numpy as np
import pytest

import adjoint


@pytest.fixture
def x():
    return adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)


@pytest.fixture
def z():
    return adjoint.arange(6.0).reshape(2, 3)


def test_numpy_shares_memory(z):
    array = z.numpy()
    array[0, 0] = 9
    assert z[0, 0].item() == 9
    assert np.asarray(z) is array


def test_numpy_refuses_what_requires_grad(x):
    for call in (x.numpy, lambda: np.asarray(x), lambda: np.asarray(x * 2)):
        with pytest.raises(RuntimeError, match=r"detach\(\)\.numpy\(\)"):
            call()
    assert x.numpy(force=True).tolist() == [1, 2, 3]


def test_array_conversion(z):
    assert np.asarray(z, dtype=np.int32).dtype == np.int32
    assert np.array(z, copy=True) is not z.numpy()
    with pytest.raises(ValueError, match="copy"):
        np.asarray(z, dtype=np.float64, copy=False)
    assert np.asarray(z.permute(1, 0)).shape == (3, 2)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("sin", 1),
        ("exp", 1),
        ("absolute", 1),
        ("negative", 1),
        ("arctan", 1),
        ("sqrt", 1),
        ("isnan", 1),
        ("add", 2),
        ("subtract", 2),
        ("multiply", 2),
        ("divide", 2),
        ("true_divide", 2),
        ("power", 2),
        ("arctan2", 2),
        ("maximum", 2),
        ("greater", 2),
        ("less_equal", 2),
        ("equal", 2),
    ],
)
def test_ufuncs(z, name, count):
    ufunc = getattr(np, name)
    array = z.numpy() + 1
    result = ufunc(*[z + 1] * count)
    assert isinstance(result, adjoint.Tensor)
    np.testing.assert_allclose(result.numpy(), ufunc(*[array] * count), rtol=1e-6)


def test_ufuncs_are_differentiable(x):
    np.multiply(np.sin(x), np.array([1.0, 0.0, 2.0], np.float32)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([1, 2, 3]) * [1, 0, 2], rtol=1e-6)


def test_operators_with_arrays(x):
    array = np.array([1.0, 2.0, 3.0], np.float32)
    for result in (array * x, x * array, array + x, array - x, array / x):
        assert isinstance(result, adjoint.Tensor)
        assert result.requires_grad
    assert (array - x).tolist() == [0, 0, 0]
    assert isinstance(array < x, adjoint.Tensor)
    wide = np.ones(3)
    assert (wide * x).dtype is adjoint.float64
    assert (np.float64(2) * x).dtype is adjoint.float32
    assert (x * np.float64(2)).dtype is adjoint.float32


def test_ufunc_out(z, x):
    array = np.zeros((2, 3), np.float32)
    assert np.exp(z, out=array) is array
    np.testing.assert_allclose(array, np.exp(z.numpy()), rtol=1e-6)
    out = adjoint.zeros(2, 3)
    assert np.exp(z, out=out) is out
    with pytest.raises(RuntimeError, match="requires grad"):
        np.exp(x, out=np.zeros(3))
    with pytest.raises(RuntimeError, match="out="):
        np.exp(x, out=adjoint.zeros(3))


def test_unsupported_ufuncs(z):
    for call in (
        lambda: np.add.reduce(z),
        lambda: np.spacing(z),
        lambda: np.sin(z, where=np.ones((2, 3), bool)),
        lambda: np.modf(z),
        lambda: np.add(z, "a"),
    ):
        with pytest.raises(TypeError):
            call()
    assert np.sin(z, dtype=np.float64).dtype is adjoint.float64


CALLS = [
    lambda t: np.sum(t),
    lambda t: np.sum(t, axis=0, keepdims=True),
    lambda t: np.mean(t, axis=1),
    lambda t: np.max(t, axis=0),
    lambda t: np.prod(t, axis=1),
    lambda t: np.std(t),
    lambda t: np.var(t, axis=0, ddof=1),
    lambda t: np.cumsum(t),
    lambda t: np.cumsum(t, axis=1),
    lambda t: np.reshape(t, (3, 2)),
    lambda t: np.transpose(t),
    lambda t: np.swapaxes(t, 0, 1),
    lambda t: np.moveaxis(t, 0, 1),
    lambda t: np.expand_dims(t, 0),
    lambda t: np.squeeze(t),
    lambda t: np.ravel(t),
    lambda t: np.broadcast_to(t, (4, 2, 3)),
    lambda t: np.concatenate([t, t], axis=1),
    lambda t: np.stack([t, np.ones((2, 3), np.float32)]),
    lambda t: np.vstack([t, t]),
    lambda t: np.where(t > 2, t, 0),
    lambda t: np.dot(t, np.transpose(t)),
    lambda t: np.matmul(t, np.transpose(t)),
    lambda t: np.tensordot(t, t, axes=2),
    lambda t: np.outer(t[0], t[1]),
    lambda t: np.clip(t, 1, 4),
    lambda t: np.flip(t, 0),
    lambda t: np.flip(t),
    lambda t: np.roll(t, 1, axis=1),
    lambda t: np.tile(t, (2, 1)),
    lambda t: np.repeat(t, 2, axis=0),
    lambda t: np.sort(t, axis=0),
    lambda t: np.diagonal(t),
    lambda t: np.trace(t),
    lambda t: np.tril(t),
    lambda t: np.split(t, 3, axis=1)[1],
    lambda t: np.zeros_like(t),
    lambda t: np.ones_like(t),
    lambda t: np.argmax(t, axis=1),
    lambda t: np.einsum("ij,kj->ik", t, t),
]


@pytest.mark.parametrize("call", CALLS)
def test_functions(z, call):
    result = call(z)
    assert isinstance(result, adjoint.Tensor)
    expected = call(z.numpy())
    assert tuple(result.shape) == np.shape(expected)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)


def test_functions_are_differentiable(x):
    np.sum(np.stack([x, x * 2])).backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_questions(z):
    assert np.shape(z) == (2, 3)
    assert (np.ndim(z), np.size(z)) == (2, 6)
    assert np.allclose(z, z.numpy())
    np.testing.assert_allclose(z, z.numpy())


def test_functions_without_a_counterpart_get_arrays(z, x):
    counts, _ = np.histogram(z, bins=2)
    assert counts.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="detach"):
        np.histogram(x)


def test_dlpack(z, x):
    assert np.shares_memory(np.from_dlpack(z), z.numpy())
    array = np.arange(3.0)
    tensor = adjoint.from_dlpack(array)
    array[0] = 7
    assert tensor[0].item() == 7
    assert adjoint.from_dlpack(z).data_ptr() == z.data_ptr()
    assert adjoint.from_dlpack(adjoint.tensors.interop.to_dlpack(z)).tolist() == z.tolist()
    assert z.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="detach"):
        np.from_dlpack(x)


def test_data_that_speaks_dlpack_alone(z):
    class Exporting:
        def __dlpack__(self, **options):
            return z.__dlpack__(**options)

        def __dlpack_device__(self):
            return z.__dlpack_device__()

    assert adjoint.tensor(Exporting()).tolist() == z.tolist()
    assert adjoint.tensor(Exporting(), dtype=adjoint.float16).dtype is adjoint.float16
    assert adjoint.tensor(Exporting()).data_ptr() != z.data_ptr()
    assert adjoint.as_tensor(Exporting()).data_ptr() == z.data_ptr()


def test_dlpack_with_torch(z):
    torch = pytest.importorskip("torch")
    theirs = torch.from_dlpack(z)
    theirs[0, 0] = 5.0
    assert z[0, 0].item() == 5
    ours = adjoint.from_dlpack(torch.arange(3.0))
    assert ours.tolist() == [0, 1, 2]


def test_no_cuda_interface_on_the_cpu(z):
    assert not hasattr(z, "__cuda_array_interface__")
