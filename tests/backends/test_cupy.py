"""The CuPy backend, where there is a GPU: NumPy's values and gradients."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor
from adjoint.autograd import backward, grad, no_grad
from adjoint.backends import backend_for, backend_of
from adjoint.device import device
from adjoint.tensors.tensor import AS_IS
from adjoint.testing import all_functions, assert_close, function_of, open_call, samples_of
from tests.backends import (
    PROGRAMS,
    assert_alike,
    import_samples,
    mlp_arrays,
    mlp_step,
    run,
    sample_outcomes,
)

cupy = pytest.importorskip("cupy")


def gpu_count() -> int:
    """How many GPUs can be used; none where the driver is missing."""
    try:
        count: int = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0
    return count


pytestmark = pytest.mark.skipif(gpu_count() == 0, reason="CuPy finds no GPU")
FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint64", "bool")
second_gpu = pytest.mark.skipif(gpu_count() < 2, reason="needs two GPUs")


def leaf(*values: float) -> Tensor:
    """A leaf on the GPU."""
    return Tensor(cupy.asarray(values, dtype=np.float32), AS_IS).requires_grad_()


def on_gpu(array: Any) -> Tensor:
    """A NumPy array as a tensor on the GPU."""
    return Tensor(cupy.asarray(array), AS_IS)


# ---- the backend itself ----


def test_arrays_belong_to_it() -> None:
    x = leaf(1.0, 2.0)
    assert backend_of(x.array) is backend_for(device("cuda"))
    assert x.device == device("cuda", 0)
    there = backend_for(device("cuda")).from_numpy(np.arange(3.0), device("cuda:0"))
    assert there.dtype == np.float64
    np.testing.assert_array_equal(backend_of(there).to_numpy(there), [0, 1, 2])
    with pytest.raises(RuntimeError, match="cuda:99"):
        backend_for(device("cuda")).from_numpy(np.ones(2), device("cuda:99"))


def test_tensors_are_made_and_moved() -> None:
    x = adjoint.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    assert x.device == device("cuda:0")
    assert adjoint.zeros(2, 3, device="cuda").device == x.device
    here = x.to("cpu")
    assert type(here.array) is np.ndarray
    backward((here * here).sum())
    assert isinstance(x.grad.array, cupy.ndarray)
    np.testing.assert_array_equal(x.grad.numpy_array(), [2.0, 4.0])
    assert here.to("cuda").device == x.device


@pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16", "complex64", "complex128"])
def test_gradients_keep_the_data_type(dtype: str) -> None:
    kind = getattr(adjoint, dtype)
    if kind is None:
        pytest.skip("ml_dtypes is not installed")
    x = adjoint.ones(3, 4, dtype=kind, device="cuda", requires_grad=True)
    backward(((x @ x.transpose(0, 1)) * 2.0 + 1).sum().abs())
    assert x.grad.dtype is kind
    np.testing.assert_array_equal(x.grad.to("cpu").to(adjoint.complex64).array, np.full((3, 4), 12))


def test_views_are_known_by_their_memory() -> None:
    backend = backend_for(device("cuda"))
    x = cupy.arange(12.0).reshape(3, 4)
    for view in (x[1], x.T, x[::2, 1:], x.reshape(4, 3), cupy.broadcast_to(x, (2, 3, 4)), x):
        assert backend.shares_memory(view, x)
    for other in (x + 0, x.copy(), x[cupy.asarray([0, 1])], x.T.reshape(2, 6), x.sum()):
        assert not backend.shares_memory(other, x)
    assert backend.xp.reshaped_view(x, (2, 6)).shape == (2, 6)
    with pytest.raises(ValueError, match="without a copy"):
        backend.xp.reshaped_view(x.T, (2, 6))
    strided = backend.xp.strided(x[1], (2, 3), (1, 4), 1)
    assert backend.shares_memory(strided, x)
    np.testing.assert_array_equal(cupy.asnumpy(strided), [[1, 5, 9], [2, 6, 10]])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "complex64", "complex128"])
def test_repeated_places_are_counted(dtype: str) -> None:
    xp = backend_for(device("cuda")).xp
    ours = np.zeros(4, dtype)
    values = np.asarray([1, 1, 0, 1]).astype(dtype)
    index = np.asarray([0, 0, 1, 3])
    got = xp.added_at(cupy.asarray(ours), cupy.asarray(index), cupy.asarray(values))
    np.add.at(ours, index, values)
    assert got.dtype == ours.dtype
    np.testing.assert_array_equal(cupy.asnumpy(got), ours)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_at_repeated_places_are_exact(name: str, dtype: str) -> None:
    xp = backend_for(device("cuda")).xp
    numbers = np.asarray([0.1, -0.2, 7.3, 0.0, -5.1, 0.1000000001, 99.9, -np.inf, np.nan, -1.0])
    if dtype in INTEGERS:
        numbers = np.arange(10) * 37 - (0 if dtype.startswith("u") else 100)
    ours, values = np.zeros(5, dtype), numbers.astype(dtype)
    index = np.asarray([0, 1, 0, 1, 2, 0, 3, 4, 3, 2])
    got = xp._combined_at(name, cupy.asarray(ours), cupy.asarray(index), cupy.asarray(values))
    getattr(np, name).at(ours, index, values)
    assert got.dtype == ours.dtype
    np.testing.assert_array_equal(cupy.asnumpy(got), ours)


def test_max_from_a_number_on() -> None:
    xp = backend_for(device("cuda")).xp
    for ours in (np.zeros((2, 0)), np.asarray([[-1.0, -2.0], [3.0, 1.0]])):
        for keepdims in (False, True):
            got = xp.max(cupy.asarray(ours), axis=-1, keepdims=keepdims, initial=-1.5)
            expected = ours.max(axis=-1, keepdims=keepdims, initial=-1.5)
            np.testing.assert_array_equal(cupy.asnumpy(got), expected)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor", "logical_not"])
def test_complex_numbers_have_a_truth_value(name: str) -> None:
    xp = backend_for(device("cuda")).xp
    ours = [np.asarray([0, 1j, 0, 2.0]), np.asarray([0, 0, 1j, 1.0])][: 1 + (name[-3:] != "not")]
    got = getattr(xp, name)(*[cupy.asarray(a) for a in ours])
    np.testing.assert_array_equal(cupy.asnumpy(got), getattr(np, name)(*ours))


def test_what_cupy_lacks_runs_in_numpy() -> None:
    special = pytest.importorskip("scipy.special")
    xp = backend_for(device("cuda")).xp
    x = np.linspace(0.5, 2.0, 5)
    for name in ("gammaln", "k0", "hyp0f1"):
        arguments = (1.5, x) if name == "hyp0f1" else (x,)
        there = [cupy.asarray(a) for a in arguments]
        got = xp.special(name)(*there)
        assert isinstance(got, cupy.ndarray)
        np.testing.assert_allclose(cupy.asnumpy(got), getattr(special, name)(*arguments))
    matrix = np.asarray([[2.0, 1.0], [0.5, 3.0]])
    values, vectors = xp.linalg.eig(cupy.asarray(matrix))
    rebuilt = (
        cupy.asnumpy(vectors) @ np.diag(cupy.asnumpy(values)) @ np.linalg.inv(cupy.asnumpy(vectors))
    )
    np.testing.assert_allclose(rebuilt, matrix, atol=1e-12)


# ---- programs ----


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_numpy(name: str) -> None:
    assert_alike(run(name, cupy.asarray), run(name, np.array))


@pytest.mark.parametrize("name", all_functions())
def test_ops_agree_with_numpy(name: str) -> None:
    for got, expected in sample_outcomes(name, "cupy", cupy.asarray):
        assert_close(got, expected, msg=name)


@pytest.mark.parametrize("name", all_functions())
def test_tensors_stay_on_the_gpu_and_other_results_are_pythons(name: str) -> None:
    import_samples()
    for sample in samples_of(name):
        if "cupy" in sample.without:
            continue
        call, arrays = open_call(function_of(name), sample, on_gpu)
        plain, _ = open_call(function_of(name), sample)
        if not arrays:
            continue
        expected = plain(*[Tensor(array.copy(), AS_IS) for array in arrays])
        results = call(*[on_gpu(array) for array in arrays])
        for ours, theirs in zip(results, expected, strict=True):
            if isinstance(theirs, Tensor):
                assert type(ours.array) is cupy.ndarray
            else:
                assert type(ours) is type(theirs)
                assert ours == theirs


def invariant(name: str, parts: Any) -> Tensor:
    """A number made of a decomposition's parts that the signs of vectors don't change."""
    if name == "linalg_svd":
        u, values, vh = parts
        return (u.abs() ** 4).sum() + (values**3).sum() + (vh.abs() ** 4).sum()
    if name == "linalg_eigvals":
        return (parts**3).sum().real
    values, vectors = parts
    return (vectors.abs() ** 4).sum() + (values**3).sum().real


@pytest.mark.parametrize("complex_too", [False, True])
@pytest.mark.parametrize("name", ["linalg_eigh", "linalg_eig", "linalg_eigvals", "linalg_svd"])
def test_decompositions_agree_with_numpy_but_for_signs(name: str, complex_too: bool) -> None:
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=(4, 4)) + (1j * rng.normal(size=(4, 4)) if complex_too else 0)
    if name == "linalg_eigh":
        matrix = matrix + matrix.conj().T
    found = []
    for make in (np.array, cupy.asarray):
        x = Tensor(make(matrix), AS_IS).requires_grad_()
        number = invariant(name, function_of(name)(x))
        backward(number)
        found.append((number, x.grad))
    for expected, got in zip(*found, strict=True):
        assert_close(got, expected, msg=name)


def test_a_saved_tensor_that_was_changed_is_refused() -> None:
    y = leaf(1.0, 2.0) * 1.0
    z = y * y
    y.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        backward(z.sum())


def test_in_place_changes_reach_the_array_itself() -> None:
    array = cupy.zeros((2, 3))
    x = Tensor(array, AS_IS)
    with no_grad():
        x[1].add_(2.0)
    np.testing.assert_array_equal(cupy.asnumpy(array), [[0, 0, 0], [2, 2, 2]])


def test_training_agrees_with_numpy() -> None:
    plain, batch, targets = mlp_arrays(dtype=np.float64)
    there = [cupy.asarray(p) for p in plain]
    x, y = cupy.asarray(batch), cupy.asarray(targets)
    losses = []
    for _ in range(6):
        plain, plain_loss = mlp_step(plain, batch, targets)
        there, loss = mlp_step(there, x, y)
        np.testing.assert_allclose(float(loss), float(plain_loss), rtol=1e-9)
        losses.append(float(loss))
    for got, expected in zip(there, plain):
        np.testing.assert_allclose(cupy.asnumpy(got), expected, rtol=1e-8, atol=1e-10)
    assert losses[-1] < losses[0] * 0.9


# ---- threads and errors ----


def test_backward_on_one_gpu_stays_on_the_calling_thread() -> None:
    seen: list[Any] = []
    y = leaf(1.0, 2.0) * 3.0
    y.register_hook(lambda _: seen.append((threading.current_thread(), cupy.cuda.Device().id)))
    backward(y.sum())
    assert seen == [(threading.current_thread(), 0)]


def failing(error: Exception) -> Callable[[Any], None]:
    """A hook that raises."""

    def hook(_: Any) -> None:
        raise error

    return hook


def test_an_exception_of_a_hook_reaches_the_caller() -> None:
    error = ValueError("no")
    x = leaf(1.0, 2.0)
    y = x * 3.0
    y.register_hook(failing(error))
    with pytest.raises(ValueError, match="no") as caught:
        backward(y.sum())
    assert caught.value is error
    assert any("MulBackward0" in note for note in error.__notes__)
    assert x.grad is None


def test_devices_do_not_mix() -> None:
    x, y = leaf(1.0, 2.0), Tensor(np.ones(2, np.float32), AS_IS)
    for left, right in ((x, y), (y, x)):
        with pytest.raises(RuntimeError, match="same device"):
            left * right


def test_an_index_on_the_cpu_goes_along() -> None:
    x = adjoint.arange(5.0, device="cuda", requires_grad=True)
    picked = x[adjoint.tensor([0, 2, 2])]
    picked.sum().backward()
    assert picked.device.type == "cuda"
    assert x.grad.tolist() == [1, 0, 2, 0, 0]
    y = adjoint.zeros(3, device="cuda")
    y[adjoint.tensor([True, False, True])] = 4
    assert y.tolist() == [4, 0, 4]


def test_a_single_number_on_the_cpu_goes_along() -> None:
    x = leaf(1.0, 2.0)
    backward((x * Tensor(np.asarray(2.0, np.float32), AS_IS)).sum())
    np.testing.assert_array_equal(x.grad.numpy_array(), [2.0, 2.0])


@second_gpu
def test_work_stays_on_the_second_gpu() -> None:
    seen: list[int] = []
    with cupy.cuda.Device(1):
        x = leaf(1.0, 2.0)
        y = x * x
        loss = y.sum()
    y.register_hook(lambda _: seen.append(cupy.cuda.Device().id))
    (found,) = grad(loss, x)
    assert seen == [1]
    assert found.device == device("cuda:1")


def test_sparse_tensors() -> None:
    """Products, sums, gradients and steps of sparse tensors on the GPU are those of the CPU."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, 9, (2, 30))
    found = []
    for where in ("cpu", "cuda"):
        values = adjoint.tensor(np.arange(30.0) / 7).to(where).requires_grad_()
        matrix = adjoint.sparse_coo_tensor(places, values, (9, 9), device=where)
        other = adjoint.arange(18.0, dtype=values.dtype).reshape(9, 2).to(where).requires_grad_()
        product = adjoint.sparse.mm(matrix, other)
        squares = adjoint.sparse.mm(matrix, matrix.t()).to_dense()
        shares = adjoint.sparse.softmax(matrix + matrix.t() * 2, 1).to_dense()
        rows = matrix.to_sparse_csr() @ other.detach()
        ((product**2).sum() + squares.sum() + (shares * squares.detach()).sum()).backward()
        weight = adjoint.ones(9, 2, device=where, requires_grad=True)
        for optimizer in (
            adjoint.optim.SGD([weight], lr=0.1, momentum=0.9),
            adjoint.optim.Adagrad([weight]),
            adjoint.optim.SparseAdam([weight]),
        ):
            weight.grad = None
            index = adjoint.tensor([1, 4, 4]).to(where)
            lookup = adjoint.nn.functional.embedding(index, weight, sparse=True)
            (lookup**2).sum().backward()
            assert weight.grad.is_sparse
            assert weight.grad.device.type == where
            optimizer.step()
        results = (product, squares, shares, rows, values.grad, other.grad, weight)
        found.append([each.detach().cpu().numpy() for each in results])
    for ours, expected in zip(*reversed(found)):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
