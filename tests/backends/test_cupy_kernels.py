"""Kernels made of declarations, where there is a GPU: each against the same expression in NumPy."""

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import nn, optim
from adjoint.ops.op import TABLE
from adjoint.ops.tracing import Traced, traced
from tests.test_cuda_text import evaluated, printed

cupy = pytest.importorskip("cupy")
if not cupy.cuda.is_available():
    pytest.skip("CuPy finds no GPU", allow_module_level=True)

from adjoint.backends.cupy_kernels import Kernel

OPS = sorted(name for name, op in TABLE.items() if op.family == "elementwise")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0, np.inf, -np.inf, np.nan, 1e-30]


def elements(seed: int, kind: str) -> Any:
    """Numbers of all sizes, in another order for each seed."""
    rng = np.random.default_rng(0)
    every = np.concatenate([rng.standard_normal(300), rng.uniform(0.01, 0.99, 201), SPECIAL])
    return np.random.default_rng(seed).permutation(every).astype(kind)


@pytest.mark.parametrize("name", OPS)
def test_kernels_compute_what_their_expressions_say(name: str) -> None:
    for each in traced(TABLE[name]):
        texts = printed(each) if isinstance(each, Traced) else None
        if texts is None:
            continue
        kernel = Kernel(texts)
        for result in each.results:
            kind = str(result.graph.kind)
            given = {each.names[i]: elements(n, kind) for n, i in enumerate(each.arrays)}
            numbers = {each.names[i]: 0.75 for i in each.numbers}
            expected = np.broadcast_to(evaluated(result, {**given, **numbers}), (512,))
            got = kernel(*map(cupy.asarray, given.values()), *numbers.values())
            close = 1e-12 if kind == "float64" else 2e-5
            np.testing.assert_allclose(
                cupy.asnumpy(got).astype(float), expected.astype(float), rtol=close, atol=close
            )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_arrays_may_lie_in_any_way(dtype: str) -> None:
    kind = getattr(adjoint, dtype)
    rng = np.random.default_rng(1)
    plain = adjoint.tensor(rng.standard_normal((6, 8, 16))).to(kind)
    there = plain.to("cuda")
    row = adjoint.tensor(rng.standard_normal(16)).to(kind)
    matrix = adjoint.tensor(rng.standard_normal((8, 16))).to(kind)
    column = adjoint.tensor(rng.standard_normal((6, 8, 1))).to(kind)

    def answers(x: Any, where: str) -> list[Any]:
        r, m, c = (each.to(where) for each in (row, matrix, column))
        return [
            *(x + 1.5, 2 - x, x * x, x / 3, x[1:] * x[:-1], x[:, :, 1:] + 1, x[0, 0, 1:] * 2),
            *(x.transpose(0, 2) + x.transpose(0, 2), x + x.transpose(0, 2).transpose(0, 2)),
            *(x + r, r - x, x * m, x * c, c / x, x[:, :, :15] * r[:15], x + x[0, 0, 0]),
            *(x.expand(2, 6, 8, 16) * 2, x[:0] + 1, x > 0.5, x.sigmoid(), nn.functional.gelu(x)),
            *(x.sum(), x.mean(), x.reshape(48, 16).sum(0), (x[0] @ m.T)),
        ]

    close = {"float16": 4e-3, "bfloat16": 4e-2}.get(dtype, 1e-5)
    for got, expected in zip(answers(there, "cuda"), answers(plain, "cpu"), strict=True):
        assert got.dtype is expected.dtype
        assert got.shape == expected.shape
        ours = got.cpu().to(adjoint.float64).numpy()
        np.testing.assert_allclose(
            ours, expected.to(adjoint.float64).numpy(), rtol=close, atol=close
        )


@pytest.mark.parametrize("ignored", [-100, 2])
def test_cross_entropy(ignored: int) -> None:
    rng = np.random.default_rng(2)
    values = rng.standard_normal((37, 65)).astype("f4")
    classes = rng.integers(0, 65, 37)
    classes[::5] = ignored
    found = []
    for where in ("cpu", "cuda"):
        x = adjoint.tensor(values, device=where, requires_grad=True)
        target = adjoint.tensor(classes, device=where)
        loss = nn.functional.cross_entropy(x, target, ignore_index=ignored)
        loss.backward()
        found.append((float(loss), x.grad.cpu().numpy()))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-6)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-5, atol=1e-8)
    wrong = adjoint.full((37,), 65, dtype=adjoint.int64, device="cuda")
    assert bool(nn.functional.cross_entropy(x, wrong).isnan())


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Rprop", "NAdam"])
def test_steps_of_optimizers(name: str, dtype: str) -> None:
    kind = getattr(adjoint, dtype)
    found = []
    for where in ("cpu", "cuda"):
        rng = np.random.default_rng(3)
        params = [
            adjoint.tensor(rng.standard_normal(shape)).to(kind).to(where).requires_grad_()
            for shape in [(3,), (40, 5), (), *[(2, 2)] * 30]
        ]
        optimizer = getattr(optim, name)(params, lr=0.01)
        for _ in range(4):
            for param in params:
                param.grad = adjoint.tensor(rng.standard_normal(param.shape)).to(kind).to(where)
            optimizer.step()
        found.append([param.detach().cpu().to(adjoint.float64).numpy() for param in params])
    close = 2e-2 if dtype == "bfloat16" else 1e-5
    for ours, expected in zip(*reversed(found)):
        np.testing.assert_allclose(ours, expected, rtol=close, atol=close)


def test_a_capturable_step() -> None:
    found = []
    for where in ("cpu", "cuda"):
        weight = adjoint.ones(5, device=where, requires_grad=True)
        optimizer = optim.Adam([weight], lr=0.1, capturable=where == "cuda")
        for number in range(3):
            weight.grad = adjoint.full((5,), 1.0 + number, device=where)
            optimizer.step()
        found.append(weight.detach().cpu().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_coin_flips_are_those_of_the_host() -> None:
    found = []
    for where in ("cpu", "cuda"):
        adjoint.manual_seed(7)
        adjoint.rand(3)  # leaves half of a number behind
        x = adjoint.ones(37, 41, device=where)
        masks = [nn.functional.dropout(x, 0.3), adjoint.bernoulli(x, 0.6), adjoint.rand(5)]
        found.append([each.cpu().numpy() for each in masks])
    for ours, expected in zip(*reversed(found), strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_random_numbers_are_those_of_the_host(kind: str) -> None:
    dtype = getattr(adjoint, kind)
    found = []
    for where in ("cpu", "cuda"):
        adjoint.manual_seed(7)
        drawn = [adjoint.rand(37, 41, device=where, dtype=dtype) for _ in range(2)]
        drawn += [adjoint.randn(size, device=where, dtype=dtype) for size in (3, 1025, 4096)]
        drawn.append(adjoint.rand(5, device=where))  # the generator stands where it should
        if not dtype.is_complex:
            drawn.append(adjoint.empty(100, device=where, dtype=dtype).uniform_(-2, 3))
        found.append([each.cpu() for each in drawn])
    for ours, expected in zip(*reversed(found), strict=True):
        adjoint.testing.assert_close(ours.numpy_array(), expected.numpy_array())


def test_streams_and_events() -> None:
    from adjoint.compat.torch_tree import cuda

    x = adjoint.ones(1000, device="cuda")
    before, after = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        assert cuda.current_stream() == side
        before.record()
        y = x * 2
        after.record()
    cuda.current_stream().wait_event(after)
    assert float((y + 1).sum()) == 3000.0
    after.synchronize()
    assert after.query()
    assert side.query()
    assert before.elapsed_time(after) >= 0
    assert cuda.current_stream() == cuda.default_stream()
