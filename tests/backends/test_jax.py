"""The JAX backend: the same programs on XLA, and the unchanged engine under `jax.jit`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor
from adjoint.autograd import backward, grad, no_grad
from adjoint.backends import backend_for, backend_of
from adjoint.device import device
from adjoint.tensors.tensor import AS_IS
from tests.backends import (
    PROGRAMS,
    assert_alike,
    mlp_arrays,
    mlp_loss,
    mlp_step,
    run,
)
from tests.interpreter import fresh_python

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
jax.config.update("jax_default_matmul_precision", "float32")  # a GPU would take TF32


@pytest.fixture
def wide() -> Iterator[None]:
    """JAX with its 64-bit types, for one test."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


# ---- the backend itself ----


@pytest.mark.parametrize("kind", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (2, 3)])
def test_values_are_read_into_memory_of_their_own(kind: str, shape: tuple[int, ...]) -> None:
    expected = np.arange(np.prod(shape)).reshape(shape[::-1]).T.astype(jnp.dtype(kind))
    array = jnp.asarray(expected)
    found = backend_of(array).to_numpy(array)
    assert (found.dtype, found.shape) == (expected.dtype, shape)
    assert np.array_equal(found, expected)
    found[...] = 1
    assert np.array_equal(backend_of(array).to_numpy(array), expected)


def test_a_backend_first_met_while_jax_traces_knows_what_has_values(tmp_path: Path) -> None:
    program = """
import jax, jax.numpy as jnp, adjoint

def slope(array):
    leaf = adjoint.Tensor(array).requires_grad_()
    adjoint.tanh(leaf).sum().backward()
    return leaf.grad.array

found = jax.jit(slope)(jnp.ones(3))
assert isinstance(found, adjoint.backends.backend_of(found).array_type)
"""
    fresh_python("-c", program, cwd=tmp_path)


def test_what_failed_in_the_device_is_not_read_as_values() -> None:
    calls: list[int] = []

    def host(value: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("the second call fails")
        return np.asarray(value)

    @jax.jit
    def program(value: Any) -> Any:
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), value) + 1

    assert Tensor(program(jnp.float32(1))).item() == 2
    with pytest.raises(Exception, match="the second call fails"):
        Tensor(program(jnp.float32(1))).item()


def test_arrays_and_tracers_belong_to_it() -> None:
    found = backend_of(jnp.ones(2))
    assert found.name == "jax"
    assert found is backend_for(device("xla"))
    seen = []
    jax.jit(lambda x: seen.append(backend_of(x)) or x)(jnp.ones(2))
    jax.vmap(lambda x: seen.append(backend_of(x)) or x)(jnp.ones(2))
    assert seen == [found, found]


def test_device() -> None:
    x = Tensor(jnp.ones(2), AS_IS)
    assert x.device == device("xla:0")
    seen = []
    jax.jit(lambda a: seen.append(Tensor(a, AS_IS).device) or a)(jnp.ones(2))
    assert seen == [device("xla")]
    with pytest.raises(RuntimeError, match="xla:99"):
        backend_for(device("xla")).from_numpy(np.ones(2, np.float32), device("xla:99"))


def test_conversion_follows_jax_and_says_so() -> None:
    backend = backend_for(device("xla"))
    single = backend.from_numpy(np.arange(3, dtype=np.float32), device("xla"))
    assert isinstance(single, jax.Array)
    np.testing.assert_array_equal(backend.to_numpy(single), [0, 1, 2])
    backend.to_numpy(single)[0] = 7.0  # a copy that can be written to
    with pytest.warns(UserWarning, match="float64"):
        double = backend.from_numpy(np.ones(2), device("xla"))
    assert double.dtype == np.float32


def test_conversion_copies() -> None:
    backend = backend_for(device("xla"))
    for size in range(4096, 4106):
        ours = np.zeros(size, np.float32)
        there = backend.from_numpy(ours, device("xla"))
        ours[0] = 1.0
        assert float(there[0]) == 0.0


def test_tensors_are_made_and_moved() -> None:
    x = adjoint.tensor([1.0, 2.0], device="xla", requires_grad=True)
    assert x.device == device("xla:0")
    assert adjoint.zeros(2, 3, device="xla").device == x.device
    here = x.to("cpu")
    assert type(here.array) is np.ndarray
    backward((here * here).sum())
    assert isinstance(x.grad.array, jax.Array)
    np.testing.assert_array_equal(x.grad.numpy_array(), [2.0, 4.0])
    assert here.to("xla").device == x.device


def test_conversion_keeps_wide_types(wide: None) -> None:
    backend = backend_for(device("xla"))
    for dtype in (np.float64, np.int64, np.complex128, np.bool_):
        assert backend.from_numpy(np.ones(2, dtype), device("xla")).dtype == dtype


def test_namespace_reads_and_writes_as_numpy_does() -> None:
    xp = backend_for(device("xla")).xp
    ours = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    x = jnp.asarray(ours)
    for index in (1, (slice(None), [0, 2]), [1, 0], (Ellipsis, None), [], (0, -1)):
        np.testing.assert_array_equal(xp.indexed(x, index), ours[index])
        expected = ours.copy()
        expected[index] = 9
        np.testing.assert_array_equal(xp.updated(x, index, 9), expected)
    for wrong in (2, -3, (0, 3), (0, 0, 0)):
        with pytest.raises(IndexError):
            xp.indexed(x, wrong)
        with pytest.raises(IndexError):
            xp.updated(x, wrong, 1.0)
    summed = xp.added_at(x, ([0, 0, 1], [1, 1, 2]), np.asarray([1.0, 2.0, 4.0]))
    np.testing.assert_array_equal(summed, [[0, 4, 2], [3, 4, 9]])
    assert summed.dtype == np.float32


def test_strided() -> None:
    xp = backend_for(device("xla")).xp
    x = jnp.arange(12.0)
    expected = np.lib.stride_tricks.as_strided(np.arange(1.0, 12.0), (3, 2), (32, 8))
    np.testing.assert_array_equal(xp.strided(x, (3, 2), (4, 1), 1), expected)
    np.testing.assert_array_equal(xp.strided(x, (), (), 5), 5.0)
    assert xp.strided(x, (0, 5), (1, 100), 0).shape == (0, 5)
    with pytest.raises(RuntimeError, match="reach element 12"):
        xp.strided(x, (3, 2), (5, 1), 1)


def test_special_functions_of_jax_and_of_scipy() -> None:
    scipy_special = pytest.importorskip("scipy.special")
    xp = backend_for(device("xla")).xp
    x = np.linspace(0.5, 2.0, 5, dtype=np.float32)
    for name in ("gammaln", "digamma", "psi", "k0", "expm1"):
        function = xp.special(name)
        expected = getattr(scipy_special, name)(x)
        np.testing.assert_allclose(function(jnp.asarray(x)), expected, rtol=2e-5, atol=1e-6)
        compiled = jax.jit(function)(jnp.asarray(x))
        np.testing.assert_allclose(compiled, expected, rtol=2e-5, atol=1e-6)
        assert compiled.dtype == np.float32


# ---- programs ----


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_numpy(name: str, wide: None) -> None:
    assert_alike(run(name, jnp.asarray), run(name, np.array))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_numpy_when_compiled(name: str, wide: None) -> None:
    rng = np.random.default_rng(5)
    arrays = [rng.normal(size=shape) for shape in ((3, 4), (3, 4), (4,))]

    def gradients(*raw: Any) -> Any:
        leaves = [Tensor(array, AS_IS).requires_grad_() for array in raw]
        output = PROGRAMS[name](*leaves)
        found = grad(output.sum(), leaves, allow_unused=True)
        return output.array, [None if g is None else g.array for g in found]

    output, grads = jax.jit(gradients)(*arrays)
    expected_output, expected_grads = gradients(*arrays)
    np.testing.assert_allclose(output, expected_output, rtol=1e-10, atol=1e-10)
    for got, expected in zip(grads, expected_grads, strict=True):
        assert (got is None) == (expected is None)
        if got is not None:
            np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_second_order(wide: None) -> None:
    found = []
    for make in (np.array, jnp.asarray):
        x = Tensor(make(np.asarray([0.5, -1.0, 2.0])), AS_IS).requires_grad_()
        (first,) = grad((x * x * x).sum(), x, create_graph=True)
        (second,) = grad((first * first).sum(), x)
        found.append(second.numpy_array())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


# ---- arrays that never change ----


def test_in_place_changes_leave_the_array_itself_alone() -> None:
    array = jnp.ones(3)
    x = Tensor(array, AS_IS)
    x.mul_(3.0)
    np.testing.assert_array_equal(array, np.ones(3))
    np.testing.assert_array_equal(x.numpy_array(), np.full(3, 3.0))
    assert x._version == 1


def test_writing_a_view_is_exact() -> None:
    base = Tensor(jnp.asarray([1e30, np.inf, np.nan, -2.0], dtype=jnp.float32), AS_IS)
    base[:2].clamp_(max=5.0)
    np.testing.assert_array_equal(base.numpy_array(), [5.0, 5.0, np.nan, -2.0])


def test_gradients_that_show_one_tensor_are_gathered_there() -> None:
    flat = adjoint.zeros(6, device="xla")
    first = adjoint.ones(2, 2, device="xla", requires_grad=True)
    second = adjoint.ones(2, device="xla", requires_grad=True)
    first.grad, second.grad = flat[:4].view(2, 2), flat[4:]
    for count in (1, 2):
        (first * second * 3).sum().backward()
        assert flat.tolist() == [3.0 * count] * 4 + [6.0 * count] * 2
        assert first.grad.tolist() == [[3.0 * count] * 2] * 2
    assert str(second.grad).startswith("tensor([12., 12.]")
    flat.zero_()
    assert str(second.grad).startswith("tensor([0., 0.]")


def test_a_pass_that_fails_takes_back_what_it_wrote_through_a_view() -> None:
    flat = adjoint.zeros(2, device="xla")
    first = adjoint.ones(2, device="xla", requires_grad=True)
    second = adjoint.ones(2, device="xla", requires_grad=True)
    first.grad = flat.view(2)
    seen: list[list[float]] = []

    def fail(grad: Tensor) -> None:
        raise ValueError(grad)

    node = (first * 1).grad_fn.next_functions[0][0]
    node.register_hook(lambda *_: seen.append(first.grad.tolist()))
    early = second * 1
    early.register_hook(fail)
    with pytest.raises(ValueError):
        (early + first * 2).sum().backward()
    assert seen == [[2.0, 2.0]]
    assert flat.tolist() == [0.0, 0.0] == first.grad.tolist()


def test_the_gradient_of_a_changed_view_is_exact() -> None:
    x = Tensor(jnp.ones(2), AS_IS).requires_grad_()
    base = x * 1.0
    base[0].mul_(2.0)
    slope = Tensor(jnp.asarray([np.inf, np.inf]), AS_IS)
    (found,) = grad((base * slope).sum(), x)
    np.testing.assert_array_equal(found.numpy_array(), [np.inf, np.inf])


def test_a_view_that_repeats_elements_is_not_written_to() -> None:
    repeated = Tensor(jnp.ones((1, 3)), AS_IS).expand(2, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        repeated.add_(1.0)


def test_writing_a_view_of_integers() -> None:
    base = Tensor(jnp.arange(6).reshape(2, 3), AS_IS)
    column = base.transpose(0, 1)[1]
    column.add_(10)
    np.testing.assert_array_equal(base.numpy_array(), [[0, 11, 2], [3, 14, 5]])
    base.mul_(2)
    np.testing.assert_array_equal(column.numpy_array(), [22, 28])


def test_what_an_index_array_picks_is_a_copy() -> None:
    base = Tensor(jnp.arange(4.0), AS_IS)
    picked = base[Tensor(jnp.asarray([0, 2]), AS_IS)]
    picked.add_(10.0)
    np.testing.assert_array_equal(base.numpy_array(), [0, 1, 2, 3])
    np.testing.assert_array_equal(picked.numpy_array(), [10, 12])


def test_a_saved_tensor_that_was_changed_is_refused() -> None:
    x = Tensor(jnp.ones(3), AS_IS).requires_grad_()
    y = x * 1.0
    z = y * y
    y.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        backward(z.sum())


def test_parameters_are_updated_in_place_under_no_grad() -> None:
    x = Tensor(jnp.ones(3), AS_IS).requires_grad_()
    for _ in range(2):
        backward((x * 2.0).sum())
    with no_grad():
        x.add_(x.grad * -0.25)
    np.testing.assert_array_equal(x.numpy_array(), np.zeros(3))
    assert x.is_leaf


# ---- two backends ----


def test_devices_do_not_mix() -> None:
    x, y = Tensor(jnp.ones(3), AS_IS), Tensor(np.ones(3, np.float32), AS_IS)
    for left, right in ((x, y), (y, x)):
        with pytest.raises(RuntimeError, match="same device"):
            left * right


def test_an_index_on_the_cpu_goes_along() -> None:
    x = Tensor(jnp.arange(5.0), AS_IS).requires_grad_()
    picked = x[Tensor(np.array([0, 2, 2]), AS_IS)]
    backward(picked.sum())
    assert isinstance(picked.array, jax.Array)
    np.testing.assert_array_equal(x.grad.numpy_array(), [1, 0, 2, 0, 0])
    y = Tensor(jnp.zeros(3), AS_IS)
    y[Tensor(np.array([True, False, True]), AS_IS)] = 4
    np.testing.assert_array_equal(y.numpy_array(), [4, 0, 4])


def test_a_single_number_on_the_cpu_goes_along() -> None:
    x = Tensor(jnp.ones(3), AS_IS).requires_grad_()
    y = x * Tensor(np.asarray(2.0, np.float32), AS_IS)
    backward((Tensor(np.asarray(3.0, np.float32), AS_IS) * y).sum())
    assert isinstance(x.grad.array, jax.Array)
    np.testing.assert_array_equal(x.grad.numpy_array(), np.full(3, 6.0))


def test_a_single_number_on_the_cpu_gets_its_gradient_there() -> None:
    number = Tensor(np.asarray(2.0, np.float32), AS_IS).requires_grad_()
    backward((Tensor(jnp.arange(3.0), AS_IS) * number).sum())
    assert type(number.grad.array) is np.ndarray
    assert number.grad.item() == 3.0


def test_shapes_that_do_not_fit_are_refused_as_on_numpy() -> None:
    for make in (np.ones, jnp.ones):
        with pytest.raises(RuntimeError, match="can't be broadcast together"):
            Tensor(make(2), AS_IS) + Tensor(make(3), AS_IS)
        with pytest.raises(RuntimeError, match="matmul"):
            Tensor(make((2, 3)), AS_IS) @ Tensor(make((2, 3)), AS_IS)


# ---- training, compiled ----


def pure_loss(parameters: list[Any], batch: Any, targets: Any) -> Any:
    """What mlp_loss computes, in JAX's own words."""
    w1, b1, w2, b2 = parameters
    logits = jnp.maximum(batch @ w1 + b1, 0.0) @ w2 + b2
    normalizer = jnp.log(jnp.exp(logits).sum(1))
    return (normalizer - (logits * targets).sum(1)).sum() / targets.shape[0]


def test_training_under_jit() -> None:
    start, batch, targets = mlp_arrays()
    traced = []

    def step(parameters: list[Any], x: Any, y: Any) -> Any:
        traced.append(type(x))
        return mlp_step(parameters, x, y)

    compiled = jax.jit(step)
    ours, plain = [jnp.asarray(p) for p in start], start
    pure = ours
    x, y = jnp.asarray(batch), jnp.asarray(targets)
    losses = []
    for _ in range(6):
        slopes = jax.grad(pure_loss)(pure, x, y)
        pure = [p - 0.5 * g for p, g in zip(pure, slopes)]
        plain, plain_loss = mlp_step(plain, batch, targets)
        ours, loss = compiled(ours, x, y)
        np.testing.assert_allclose(loss, plain_loss, rtol=1e-5)
        losses.append(float(loss))
    for got, by_numpy, by_jax in zip(ours, plain, pure):
        np.testing.assert_allclose(got, by_numpy, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(got, by_jax, rtol=1e-4, atol=1e-5)
    assert len(traced) == 1
    assert losses[-1] < losses[0] * 0.9


def test_no_tracer_outlives_a_compiled_step() -> None:
    start, batch, targets = mlp_arrays()
    with jax.checking_leaks():
        jax.jit(mlp_step)([jnp.asarray(p) for p in start], batch, targets)


def test_jaxs_transformations_go_through() -> None:
    parameters, batch, targets = mlp_arrays()
    raw = [jnp.asarray(p) for p in parameters]

    def loss(w: Any) -> Any:
        tensors = [Tensor(p, AS_IS) for p in [w, *raw[1:]]]
        return mlp_loss(
            tensors, Tensor(jnp.asarray(batch), AS_IS), Tensor(jnp.asarray(targets), AS_IS)
        ).array

    by_jax = jax.grad(loss)(raw[0])
    expected = jax.grad(lambda w: pure_loss([w, *raw[1:]], batch, targets))(raw[0])
    np.testing.assert_allclose(by_jax, expected, rtol=1e-4, atol=1e-6)

    def squared(a: Any) -> Any:
        x = Tensor(a, AS_IS).requires_grad_()
        backward((x * x).sum())
        return x.grad.array

    many = jnp.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(jax.vmap(squared)(many), 2 * many)


def test_class_numbers_of_the_widest_type() -> None:
    """JAX has no 64-bit numbers unless it is told to; its own are indices as they are."""
    scores, classes = (
        Tensor(jnp.ones((3, 4)), AS_IS).requires_grad_(),
        Tensor(jnp.asarray([0, 2, 1]), AS_IS),
    )
    assert classes.dtype is adjoint.int32
    adjoint.nn.functional.cross_entropy(scores, classes).backward()
    expected = np.full((3, 4), 1 / 12) - np.eye(4)[[0, 2, 1]] / 3
    np.testing.assert_allclose(scores.grad.numpy_array(), expected, rtol=1e-6)
    chosen = adjoint.take_along_dim(scores, classes.reshape(3, 1), 1)
    assert chosen.shape == (3, 1)
    with pytest.raises(RuntimeError, match="class numbers must be int64"):
        adjoint.nn.functional.cross_entropy(scores, classes.to(adjoint.int16))


def test_an_array_that_could_not_be_computed_says_so_when_it_is_read() -> None:
    def fail(x: Any) -> Any:
        raise ValueError("no numbers today")

    answer = jax.ShapeDtypeStruct((), np.float32)
    failing = jax.jit(lambda x: jax.pure_callback(fail, answer, x) + 1)
    with pytest.raises(Exception, match="no numbers today"):  # JAX's own class, by its release
        adjoint.as_tensor(failing(jnp.ones(()))).item()
