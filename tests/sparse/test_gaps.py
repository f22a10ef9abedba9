"""What was refused of sparse tensors though PyTorch has it: batches, parts, sizes, quotients."""

from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.compat.torch as compat
from adjoint import nn, optim
from tests.sparse.comparing import coalesced, compared, doubled, hybrid


def _batch(t: Any) -> Any:
    places = t.tensor([[0, 0, 1, 1], [2, 0, 1, 1], [1, 3, 0, 2]])
    return t.sparse_coo_tensor(places, t.tensor([1.0, -2.0, 3.0, 0.5]), (2, 3, 4))


def _batched(t: Any) -> Any:
    matrices = _batch(t).requires_grad_()
    other = t.arange(16.0).reshape(2, 4, 2).requires_grad_()
    product = t.bmm(matrices, other)
    (product**2).sum().backward()
    return product, matrices.grad, other.grad


def _added(t: Any, kind: str) -> Any:
    matrix = coalesced(t).to_sparse(layout=getattr(t, kind))
    vector, shift = t.arange(3.0).requires_grad_(), t.ones(2).requires_grad_()
    found = t.addmv(shift, matrix, vector, beta=0.5, alpha=2)
    (found**2).sum().backward()
    return found, vector.grad, shift.grad


def _no_slope(t: Any, name: str) -> Any:
    input = (coalesced(t) * 0.7).requires_grad_()
    found = getattr(t, name)(input)
    found.to_dense().sum().backward()
    return found, input.grad.to_dense()


CASES = {
    "bmm": _batched,
    "bmm of other batches": lambda t: t.bmm(_batch(t), t.ones(3, 4, 2)),
    "bmm of other sizes": lambda t: t.bmm(_batch(t), t.ones(2, 5, 2)),
    "tensor of one": lambda t: [t.tensor(coalesced(t)), t.tensor(hybrid(t), dtype=t.float64)],
    "tensor of one, to learn": lambda t: t.tensor(coalesced(t), requires_grad=True).requires_grad,
    "zeros like a dense one": lambda t: t.zeros_like(t.ones(2, 3), layout=t.sparse_coo),
    "zeros like a dense one, by rows": lambda t: t.zeros_like(t.ones(2, 3), layout=t.sparse_csr),
    "room like rows": lambda t: t.empty_like(coalesced(t).to_sparse_csr())._nnz(),
    "a dense one times": lambda t: t.arange(6.0).reshape(2, 3).mul_(doubled(t)),
    "low rank": lambda t: t.svd_lowrank(coalesced(t), q=2)[1].round(decimals=3),
    "low rank, by rows": lambda t: t.svd_lowrank(coalesced(t).to_sparse_csr(), 2)[1].round(
        decimals=3
    ),
    "low rank, shifted": lambda t: t.svd_lowrank(coalesced(t), q=2, M=t.ones(2, 3))[1].round(
        decimals=3
    ),
    "principal": lambda t: t.pca_lowrank(coalesced(t), q=2)[1].round(decimals=3),
    "largest of all": lambda t: t.lobpcg(t.diag(t.arange(1.0, 12.0)).to_sparse(), k=1, niter=200)[
        0
    ].round(decimals=2),
    "an element written": lambda t: coalesced(t).__setitem__(0, 1.0),
    "an element written, dense": lambda t: hybrid(t).__setitem__(0, 1.0),
    "an element written, by rows": lambda t: coalesced(t).to_sparse_csr().__setitem__((0, 1), 1.0),
    "data_ptr": lambda t: coalesced(t).data_ptr(),
    "degrees": lambda t: [t.deg2rad(doubled(t)), t.rad2deg(doubled(t))],
    "one number": lambda t: [bool(t.eye(1).to_sparse()), t.zeros(1, 1).to_sparse().item()],
    "many numbers": lambda t: bool(t.eye(2).to_sparse()),
    "a column": lambda t: coalesced(t)[:, 1],
    "a column, dense": lambda t: hybrid(t)[:, 1],
    "a new dimension": lambda t: coalesced(t)[:, None, 1],
    "slices": lambda t: coalesced(t)[:, 0:1],
    "too many indices": lambda t: coalesced(t)[:, 0, 0, 0, 0],
    "view_as_real": lambda t: t.view_as_real(coalesced(t) * (1 + 2j)),
    "view_as_complex": lambda t: t.view_as_complex(t.view_as_real(coalesced(t) * (1 + 2j))),
    "view_as_complex, real": lambda t: t.view_as_complex(coalesced(t)),
    "new": lambda t: coalesced(t).new(t.tensor([[0, 1]]), t.tensor([1.0, 2.0])),
    "new of sizes": lambda t: [coalesced(t).new(2, 3), coalesced(t).new(t.Size([4]))],
    "new of nothing": lambda t: coalesced(t).new(),
    "new of a list": lambda t: coalesced(t).new([2, 3]),
    "FloatTensor of sizes": lambda t: t.sparse.FloatTensor(2, 3),
    "FloatTensor of nothing": lambda t: t.sparse.FloatTensor(),
    "spdiags of none": lambda t: t.sparse.spdiags(t.ones(0, 3), t.ones(0).long(), (3, 2)),
    "out": lambda t: t.sqrt(coalesced(t).abs(), out=t.zeros(1, 1).to_sparse()),
    "out of another type": lambda t: t.mul(doubled(t), 2, out=t.eye(2).double().to_sparse()),
    "out of whole numbers": lambda t: t.sqrt(doubled(t).abs(), out=t.eye(2).long().to_sparse()),
    "out that is dense": lambda t: t.sqrt(coalesced(t).abs(), out=t.ones(2, 3)),
    "out of a gradient": lambda t: t.sqrt(
        coalesced(t).abs().requires_grad_(), out=t.zeros(1, 1).to_sparse()
    ),
    "narrow_copy": lambda t: coalesced(t).narrow_copy(1, 1, 2),
    "narrow_copy, twice": lambda t: doubled(t).narrow_copy(0, 0, 1),
    "narrow_copy, dense": lambda t: hybrid(t).narrow_copy(1, 1, 1),
    "narrow_copy, too long": lambda t: coalesced(t).narrow_copy(1, 1, 9),
    "cat, dense": lambda t: t.cat([hybrid(t), hybrid(t)], 1),
    "floor_divide": lambda t: coalesced(t) // 2,
    "floor_divide of integers": lambda t: coalesced(t).to(t.int64) // 2,
    "floor": lambda t: t.div(coalesced(t), -2, rounding_mode="floor"),
    "trunc": lambda t: t.div(coalesced(t), -2, rounding_mode="trunc"),
    "divided by many": lambda t: coalesced(t) // t.ones(2, 3),
    "addmv by rows": lambda t: _added(t, "sparse_csr"),
    "addmv by columns": lambda t: _added(t, "sparse_csc"),
    "dense zeros": lambda t: t.zeros_like(coalesced(t), layout=t.strided),
    "angle by rows": lambda t: (-coalesced(t).to_sparse_csr()).angle(),
    "floor slope": lambda t: _no_slope(t, "floor"),
    "sign slope": lambda t: _no_slope(t, "sign"),
    "round slope": lambda t: _no_slope(t, "round"),
    "resize": lambda t: coalesced(t).sparse_resize_((4, 5), 2, 0),
    "resize smaller": lambda t: coalesced(t).sparse_resize_((1, 3), 2, 0),
    "resize otherwise": lambda t: coalesced(t).sparse_resize_((2, 3, 1), 2, 1),
    "resize blank": lambda t: t.sparse_coo_tensor((2, 3)).sparse_resize_((1, 4, 2), 1, 2),
    "clear": lambda t: coalesced(t).sparse_resize_and_clear_((5, 6, 2), 2, 1),
    "clear wrongly": lambda t: coalesced(t).sparse_resize_and_clear_((5, 6, 2), 2, 0),
}


def test_the_order_of_what_narrow_copy_picks(torch: Any) -> None:
    """That of its indices, if it was before."""
    for t in (compat, torch):
        picked = t.ones(2, 3, 2).to_sparse().narrow_copy(1, 1, 2)
        assert picked.is_coalesced() and picked.indices()[0].tolist() == [0] * 4 + [1] * 4


@pytest.mark.parametrize("factor", [1j, 2 + 0j, 2.5])
def test_complex_factors_of_real_products(torch: Any, factor: Any) -> None:
    for call in (
        lambda t: t.sparse.addmm(t.ones(2, 2), t.eye(2).to_sparse(), t.ones(2, 2), alpha=factor),
        lambda t: t.addmm(t.ones(2, 2), t.eye(2).to_sparse(), t.ones(2, 2), alpha=factor),
        lambda t: t.sparse.sampled_addmm(
            t.eye(2).to_sparse_csr(), t.ones(2, 3), t.ones(3, 2), alpha=factor
        ),
    ):
        compared(torch, call, flag=False)


@pytest.mark.parametrize("name", CASES)
def test_as_in_torch(torch: Any, name: str) -> None:
    compared(torch, CASES[name], flag=False)


def test_batched_product() -> None:
    product, grad, _ = _batched(compat)
    dense, other = _batch(adjoint).to_dense(), adjoint.arange(16.0).reshape(2, 4, 2)
    np.testing.assert_allclose(product.tolist(), (dense @ other).tolist())
    expected = 2 * (dense @ other) @ other.transpose(1, 2)
    np.testing.assert_allclose(grad.to_dense().tolist(), expected.tolist())


def test_wide_dense_dimensions() -> None:
    grown = hybrid(adjoint).sparse_resize_((4, 3), 1, 1).to_dense()
    assert grown.shape == (4, 3)
    assert grown[:3, :2].tolist() == hybrid(adjoint).to_dense().tolist()
    assert grown[:, 2].tolist() == [0.0] * 4


def test_a_million_rows_and_columns() -> None:
    """A dense array of that size would have 4,000 GB: each step would fail at once."""
    size = 1_000_000
    generator = np.random.default_rng(0)
    places = adjoint.tensor(generator.integers(0, size, (2, size)))
    values = adjoint.ones(size, requires_grad=True)
    matrix = adjoint.sparse_coo_tensor(places, values, (size, size))
    other = adjoint.ones(size, 4, requires_grad=True)
    adjoint.sparse.mm(matrix, other).sum().backward()
    assert values.grad.sum().item() == 4 * size
    assert other.grad.sum().item() == 4 * size
    leaf = matrix.detach().coalesce().requires_grad_()
    adjoint.sparse.mm(leaf, other.detach()).sum().backward()
    assert leaf.grad.is_sparse and leaf.grad._nnz() == leaf._nnz()
    adjoint.sparse.sum(leaf.grad, 0)
    table = nn.Embedding(size, 4, sparse=True)
    optimizer = optim.SparseAdam(table.parameters(), lr=0.1)
    before = table.weight.detach()[5].tolist()
    table(adjoint.tensor([7, 7, 9])).sum().backward()
    assert table.weight.grad._nnz() == 3
    optimizer.step()
    assert table.weight.detach()[5].tolist() == before


def test_names_of_types(torch: Any) -> None:
    for library in (torch, compat):
        matrix = library.eye(2).to_sparse()
        assert matrix.type() == "torch.sparse.FloatTensor"
        assert matrix.type("torch.sparse.DoubleTensor").type() == "torch.sparse.DoubleTensor"
        with pytest.raises(RuntimeError):
            library.eye(2).to_sparse_csr().type()


@pytest.mark.parametrize("name", ["smm", "sspaddmm"])
def test_products_that_stay_sparse_have_gradients(name: str) -> None:
    """PyTorch's say that they require grad, and refuse backward."""

    def product(matrix: Any, other: Any, added: Any) -> Any:
        if name == "smm":
            return compat.smm(matrix, other)
        return compat.sspaddmm(added, matrix, other, beta=2, alpha=3)

    matrix, added = doubled(compat).requires_grad_(), doubled(compat).t().t()
    other = adjoint.arange(9.0).reshape(3, 3).requires_grad_()
    product(matrix, other, added.requires_grad_()).to_dense().square().sum().backward()
    wholes = [each.detach().to_dense().requires_grad_() for each in (matrix, other, added)]
    same = wholes[0] @ wholes[1]
    (same if name == "smm" else 2 * wholes[2] + 3 * same).square().sum().backward()
    kept = [grad.to_dense() for grad in (matrix.grad, other.grad)]
    expected = [wholes[0].grad * (wholes[0] != 0), wholes[1].grad]
    if name == "sspaddmm":
        kept.append(added.grad.to_dense())
        expected.append(wholes[2].grad * (wholes[2] != 0))
    for one, wanted in zip(kept, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), wanted.numpy(), rtol=1e-5)
