"""Results lie in memory in order where PyTorch's do, whatever the order of the arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "all": lambda t, x: (x > 0).all(0),
    "amax": lambda t, x: x.amax(0),
    "any": lambda t, x: (x > 0).any(0),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(
        x, x.mean((0, 2)).float().double(), t.ones(x.shape[1], dtype=x.dtype)
    ),
    "cat": lambda t, x: t.cat([x, x], -1),
    "cross": lambda t, x: t.linalg.cross(
        x[:, :1].expand(-1, 3, -1), t.ones(1, 3, 1).double(), dim=1
    ),
    "cummax": lambda t, x: x.cummax(0).values,
    "cumprod": lambda t, x: x.cumprod(1),
    "cumsum": lambda t, x: x.cumsum(0),
    "einsum": lambda t, x: t.einsum("abc,abd->adc", x, x),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 1),
    "index_copy": lambda t, x: x.index_copy(0, t.tensor([0]), x[:1]),
    "logcumsumexp": lambda t, x: x.logcumsumexp(0),
    "logsigmoid": lambda t, x: t.nn.functional.logsigmoid(x),
    "matmul": lambda t, x: x[None].expand(2, *x.shape).transpose(0, 1) @ x.transpose(1, 2)[:, None],
    "columns by rows": lambda t, x: t.bmm(x[:, :, :1], x[:, :1]),
    "solve": lambda t, x: t.linalg.solve(t.eye(x.shape[1]).double().expand(x.shape[0], -1, -1), x),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x[None].expand(2, *x.shape), 1),
    "nansum": lambda t, x: x.nansum(0),
    "unfold": lambda t, x: t.nn.functional.unfold(x[None], 1),
    "index": lambda t, x: x[:, t.tensor([0, 1])],
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, x.shape[-1:]),
    "log_softmax": lambda t, x: x.log_softmax(0),
    "logsumexp": lambda t, x: x.logsumexp(0),
    "masked_fill": lambda t, x: x.masked_fill(x > 0, 0),
    "max_pool1d": lambda t, x: t.nn.functional.max_pool1d(x, 2),
    "mean": lambda t, x: x.mean(1),
    "norm": lambda t, x: x.norm(dim=0),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 1)),
    "replicate": lambda t, x: t.nn.functional.pad(x, (1, 1), mode="replicate"),
    "renorm": lambda t, x: x.renorm(2, 0, 1.0),
    "mvlgamma": lambda t, x: (x.abs() + 2).mvlgamma(2),
    "interpolate": lambda t, x: t.nn.functional.interpolate(x, x.shape[-1:], mode="linear"),
    "images": lambda t, x: t.nn.functional.interpolate(x[None], x.shape[-2:], mode="bilinear"),
    "roll": lambda t, x: x.roll(1, 0),
    "softmax": lambda t, x: x.softmax(1),
    "stack": lambda t, x: t.stack([x, x], -1),
    "sum": lambda t, x: x.sum(0),
    "tril": lambda t, x: x.tril(),
    "var": lambda t, x: x.var(0),
}


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 2, 0), (1, 0, 2)])
@pytest.mark.parametrize("name", CALLS)
def test_results_in_order(torch: Any, name: str, order: tuple[int, ...]) -> None:
    """view(-1) works on the result where it does in PyTorch."""
    array = np.random.default_rng(0).normal(size=(2, 3, 4))
    theirs, ours = (
        CALLS[name](library, library.tensor(array).permute(*order)) for library in (torch, adjoint)
    )
    assert ours.is_contiguous() or not theirs.is_contiguous()
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-6)
