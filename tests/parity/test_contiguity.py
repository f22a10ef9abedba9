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
    "bmm": lambda t, x: t.bmm(x[:, :1].transpose(1, 2), x[:, :1]),
    "cat": lambda t, x: t.cat([x, x], -1),
    "cross": lambda t, x: t.linalg.cross(
        x[:, :1].expand(-1, 3, -1), t.ones(1, 3, 1).double(), dim=1
    ),
    "cummax": lambda t, x: x.cummax(0).values,
    "cumprod": lambda t, x: x.cumprod(1),
    "cumsum": lambda t, x: x.cumsum(0),
    "diag_embed": lambda t, x: x.diag_embed(dim1=0, dim2=1),
    "diagonal_copy": lambda t, x: t.diagonal_copy(x, 0, 0, 1),
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
    "renorm": lambda t, x: x.renorm(2, 0, 1.0),
    "replicate": lambda t, x: t.nn.functional.pad(x, (1, 1), mode="replicate"),
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


# What a tensor of any numbers is given to, and what takes numbers other than whole ones.
OF_REPEATED: dict[str, Callable[[Any, Any], Any]] = {
    "ceil": lambda t, x: x.ceil(),
    "complex": lambda t, x: t.complex(x, x) if x.is_floating_point() else x.cfloat(),
    "exp": lambda t, x: x.exp(),
    "flip": lambda t, x: x.flip(0),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x.float()),
    "nan_to_num": lambda t, x: x.nan_to_num(),
    "sign": lambda t, x: x.sign(),
    "to": lambda t, x: x.to(t.complex64),
    "true_divide": lambda t, x: x / 2,
    "where": lambda t, x: t.where(x == 1, x, 0),
    "xlogy": lambda t, x: t.xlogy(x, x),
}
FORMS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x[0].expand(x.shape),
    "columns": lambda x: x[:, :1].expand(x.shape),
    "turned": lambda x: x.t().expand(2, *x.shape[::-1]),
    "many, turned": lambda x: x.repeat(40, 40).t(),
    "many, repeated": lambda x: x.repeat(40, 40)[0].expand(160, 200),
}


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("kind", ["float32", "int64"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OF_REPEATED)
def test_results_of_what_is_repeated(
    torch: Any, name: str, form: str, kind: str, device: str
) -> None:
    """A dimension of stride 0 says nothing of the order, which others decide."""
    strides = []
    for library in (torch, adjoint):
        x = library.arange(20, dtype=getattr(library, kind)).reshape(4, 5).to(device)
        strides.append(OF_REPEATED[name](library, FORMS[form](x)).stride())
    assert strides[1] == strides[0]


def test_what_is_repeated_and_written_lies_in_order(torch: Any) -> None:
    for library in (torch, adjoint):
        x = library.arange(5.0).expand(4, 5)
        assert x.index_fill(0, library.tensor([0]), 3).is_contiguous()
        assert x.index_put((library.tensor([0]),), x[0]).is_contiguous()
