"""Tangents on JAX: what NumPy gives, also where the program is traced."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, func
from adjoint.autograd import forward_ad as fw
from adjoint.nn import functional as F
from adjoint.tensors.tensor import AS_IS

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def _changed(x: Any, y: Any) -> Any:
    """Written in place, through a view."""
    whole = x * 1
    whole[0].mul_(y[1])
    whole[1:].add_(x[1:])
    return whole


PROGRAMS: dict[str, Callable[..., Any]] = {
    "sin": lambda x, y: adjoint.sin(x),
    "tanh": lambda x, y: adjoint.tanh(x * y),
    "quotient": lambda x, y: x / (y * y + 1),
    "difference": lambda x, y: x - y,
    "power": lambda x, y: x.abs() ** y,
    "maximum": lambda x, y: adjoint.maximum(x, y),
    "clamp": lambda x, y: x.clamp(min=-0.5) + x.clamp_min(y),
    "where": lambda x, y: adjoint.where(x > y, x, y * 2),
    "atan2": lambda x, y: adjoint.atan2(x, y),
    "logaddexp": lambda x, y: adjoint.logaddexp(x, y),
    "floor": lambda x, y: x.floor() + y,
    "matmul": lambda x, y: x @ y,
    "softmax": lambda x, y: F.softmax(x, -1) * y,
    "gelu": lambda x, y: F.gelu(x),
    "sums": lambda x, y: x.sum(0) * y.mean(),
    "joined": lambda x, y: adjoint.cat([x, y], 1)[:, 1:-1].T,
    "sorted": lambda x, y: x.sort(-1).values.cumsum(0),
    "inverse": lambda x, y: adjoint.linalg.inv(x @ x.T + 3 * adjoint.eye(4, device=x.device)),
    "cross entropy": lambda x, y: F.cross_entropy(
        x, adjoint.tensor([0, 3, 1, 2], dtype=adjoint.uint8, device=x.device)
    ),
    "attention": lambda x, y: F.scaled_dot_product_attention(x[None], y[None], x[None]),
    "changed": _changed,
    "batched": lambda x, y: func.vmap(lambda row: row.sin() * row.sum())(x) + y,
}


def arrays() -> list[Any]:
    """Two matrices, and a tangent of each."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal((4, 4)).astype(np.float32) for _ in range(4)]


def pushed(program: Callable[..., Any], given: list[Any]) -> tuple[Any, Any]:
    """The result of a program and its tangent, as arrays."""
    x, y, *tangents = [Tensor(array, AS_IS) for array in given]
    with fw.dual_level():
        result = program(fw.make_dual(x, tangents[0]), fw.make_dual(y, tangents[1]))
        primal, tangent = fw.unpack_dual(result)
    return primal.array, tangent.array


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("traced", [False, True])
def test_tangents_as_on_numpy(name: str, traced: bool) -> None:
    program, given = PROGRAMS[name], arrays()
    wanted = pushed(program, given)

    def on_jax(*given: Any) -> tuple[Any, Any]:
        return pushed(program, list(given))

    found = (jax.jit(on_jax) if traced else on_jax)(*[jnp.asarray(array) for array in given])
    for one, other in zip(found, wanted, strict=True):
        assert isinstance(one, jax.Array)
        np.testing.assert_allclose(np.asarray(one), other, rtol=2e-4, atol=2e-5)


def test_func_jvp() -> None:
    given = arrays()
    x, _, tangent, _ = [Tensor(jnp.asarray(array), AS_IS) for array in given]
    outer = func.jvp(
        lambda x: func.jvp(lambda x: (x * x).sin().sum(), (x,), (tangent,))[1], (x,), (tangent,)
    )[1]
    values, direction = given[0].astype("float64"), given[2].astype("float64")
    bent = 2 * np.cos(values**2) - 4 * values**2 * np.sin(values**2)
    np.testing.assert_allclose(np.asarray(outer.array), (bent * direction**2).sum(), rtol=1e-4)
