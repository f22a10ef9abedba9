"""Sparse tensors: what they are made of, and what calls on them answer, as in PyTorch."""

from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.compat.torch as compat
from tests.sparse.comparing import MAKERS, coalesced, compared, doubled

pytestmark = pytest.mark.filterwarnings("ignore:.*[Ss]parse.*")

every_maker = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)

CASES: dict[str, Any] = {
    "twice": lambda t, s: s + s,
    "difference": lambda t, s: s.coalesce() - (2 * s).coalesce() if s.is_sparse else s,
    "product": lambda t, s: s * s,
    "by a number": lambda t, s: [s * 2, 3 * s, -s],
    "by one element": lambda t, s: s * t.tensor(2.0),
    "by a float64 element": lambda t, s: s * t.tensor(2.0, dtype=t.float64),
    "dense plus sparse": lambda t, s: t.ones(s.shape) + s,
    "dense times sparse": lambda t, s: t.arange(6.0).reshape(s.shape) * s,
    "sparse times dense": lambda t, s: s * t.arange(6.0).reshape(s.shape),
    "transpose": lambda t, s: s.transpose(0, 1).transpose(0, 1),
    "sum": lambda t, s: s.sum(),
    "sum kept": lambda t, s: s.sum(1, keepdim=True).to_dense(),
    "abs": lambda t, s: s.abs(),
    "sin": lambda t, s: s.sin(),
    "sqrt": lambda t, s: s.sqrt(),
    "relu": lambda t, s: s.relu(),
    "round": lambda t, s: (s / 4).round() if s.is_sparse else s.round(),
    "frac": lambda t, s: s.frac(),
    "one by one": lambda t, s: [row.to_dense() for row in s],
    "isnan": lambda t, s: s.isnan(),
    "exp": lambda t, s: s.exp(),
    "double": lambda t, s: s.double(),
    "to int": lambda t, s: s.to(t.int32),
    "clone": lambda t, s: s.clone(),
    "detach": lambda t, s: s.detach(),
    "to_dense": lambda t, s: s.to_dense(),
    "to_dense with a type": lambda t, s: s.to_dense(t.float64),
    "coalesce": lambda t, s: s.coalesce(),
    "values": lambda t, s: s.values(),
    "indices": lambda t, s: s.indices(),
    "crow_indices": lambda t, s: [s.crow_indices(), s.col_indices()],
    "to_sparse_csr": lambda t, s: s.to_sparse_csr(),
    "to_sparse_csc": lambda t, s: s.to_sparse_csc(),
    "to_sparse_coo": lambda t, s: s.to_sparse_coo(),
    "to_sparse": lambda t, s: s.to_sparse(),
    "to_sparse(1)": lambda t, s: s.to_sparse(1),
    "to_sparse(layout)": lambda t, s: s.to_sparse(layout=t.sparse_csr),
    "numbers": lambda t, s: [s._nnz(), s.sparse_dim(), s.dense_dim(), s.numel(), s.ndim, len(s)],
    "kinds": lambda t, s: [s.is_sparse, s.is_sparse_csr, s.requires_grad, s.is_leaf],
    "row": lambda t, s: s[0],
    "element": lambda t, s: s[0, 1],
    "no such row": lambda t, s: s[7],
    "rows": lambda t, s: s[:1],
    "item": lambda t, s: s.item(),
    "tolist": lambda t, s: s.tolist(),
    "bool": lambda t, s: bool(s),
    "numpy": lambda t, s: s.numpy(),
    "reshape": lambda t, s: s.reshape(-1),
    "view": lambda t, s: s.view(-1),
    "zeros_like": lambda t, s: t.zeros_like(s),
    "mask": lambda t, s: t.arange(6.0).reshape(s.shape).sparse_mask(s),
    "mask of another shape": lambda t, s: t.ones(5, 5).sparse_mask(s),
    "equal": lambda t, s: s == s,
    "zero_": lambda t, s: s.clone().zero_(),
    "mul_": lambda t, s: s.clone().mul_(2).to_dense(),
    "add_": lambda t, s: s.clone().add_(s),
    "add_ to a dense one": lambda t, s: t.ones(s.shape).add_(s, alpha=2),
    "neg_": lambda t, s: s.clone().neg_(),
    "copy_": lambda t, s: s.clone().copy_(s * 2),
    "copy_ to a dense one": lambda t, s: t.ones(s.shape).copy_(s),
    "other shapes": lambda t, s: s + t.eye(5).to_sparse(),
    "plus a number": lambda t, s: s + 1,
    "divided by another": lambda t, s: s / s,
}
COORDINATES: dict[str, Any] = {
    "half": lambda t, s: s / 2,
    "other types": lambda t, s: [s + s.double(), s * s.double()],
    "half of integers": lambda t, s: s.to(t.int64) / 2,
    "by one element": lambda t, s: s / t.tensor(2.0),
    "square": lambda t, s: [s**2, s.square()],
    "sum of rows": lambda t, s: [s.sum(0), s.sum(1)],
    "sum of integers": lambda t, s: s.to(t.int32).sum(1),
    "turned": lambda t, s: [s.t(), s.T, s.permute(1, 0)],
    "another dimension": lambda t, s: [s.unsqueeze(0), s.unsqueeze(1)],
    "joined": lambda t, s: [t.cat([s, s]), t.cat([s, s], 1), t.stack([s, s])],
    "joined with a dense one": lambda t, s: t.cat([s, t.ones(2, 3)]),
    "selected rows": lambda t, s: t.index_select(s, 0, t.tensor([1, 0, 1])),
    "any": lambda t, s: s.any(),
    "t_": lambda t, s: s.clone().t_(),
    "broadcast": lambda t, s: s * t.arange(3.0),
    "sparse.sum": lambda t, s: [t.sparse.sum(s, 0), t.sparse.sum(s, 1), t.sparse.sum(s, (0, 1))],
    "sparse.sum of all": lambda t, s: [t.sparse.sum(s), t.sparse.sum(s, dtype=t.float64)],
    "no such dimension": lambda t, s: t.sparse.sum(s, 5),
    "softmax": lambda t, s: [t.sparse.softmax(s, 0), t.sparse.softmax(s, 1, dtype=t.float64)],
    "log_softmax": lambda t, s: t.sparse.log_softmax(s, -1),
    "softmax of no dimension": lambda t, s: t.sparse.softmax(s, 2),
    "nan_to_num": lambda t, s: (s / 0).nan_to_num(1.0, 2.0),
    "norm": lambda t, s: [s.norm(), t.norm(s, p=1), s.norm(p=3), s.norm(p=float("inf"))],
    "norm of rows": lambda t, s: s.norm(dim=0),
    "columns": lambda t, s: [column.to_dense() for column in s.unbind(1)],
    "shares of nothing": lambda t, s: [
        t.sparse.softmax(t.zeros_like(s), 1),
        t.sparse.log_softmax(t.zeros_like(s), 0),
    ],
    "masked by itself": lambda t, s: s.sparse_mask(s.coalesce()),
}
MATRICES: dict[str, Any] = {
    "matmul": lambda t, s: s @ t.arange(6.0).reshape(3, 2),
    "mm": lambda t, s: t.mm(s, t.arange(6.0).reshape(3, 2)),
    "sparse.mm": lambda t, s: t.sparse.mm(s, t.arange(6.0).reshape(3, 2)),
    "vector": lambda t, s: [s @ t.arange(3.0), t.mv(s, t.arange(3.0))],
    "dense first": lambda t, s: t.arange(6.0).reshape(3, 2) @ s,
    "dense first in sparse.mm": lambda t, s: t.sparse.mm(t.arange(6.0).reshape(3, 2), s),
    "addmm": lambda t, s: t.addmm(t.ones(2, 2), s, t.arange(6.0).reshape(3, 2), beta=2, alpha=3),
    "sparse.addmm": lambda t, s: t.sparse.addmm(t.ones(2, 2), s, t.ones(3, 2), beta=2.0, alpha=3.0),
    "other shapes": lambda t, s: t.sparse.mm(s, t.ones(2, 2)),
    "other types": lambda t, s: t.sparse.mm(s, t.ones(3, 2, dtype=t.float64)),
    "linear": lambda t, s: t.nn.functional.linear(t.ones(4, 3), s),
}
DENSE: dict[str, Any] = {
    "to_sparse": lambda t, d: [d.to_sparse(), d.to_sparse(1), d.to_sparse_coo()],
    "to_sparse(5)": lambda t, d: d.to_sparse(5),
    "compressed": lambda t, d: [d.to_sparse_csr(), d.to_sparse_csc()],
    "a vector compressed": lambda t, d: d[0].to_sparse_csr(),
    "to_dense": lambda t, d: [d.to_dense(), d.to_dense(t.float64)],
    "indices": lambda t, d: d.indices(),
    "values": lambda t, d: d.values(),
    "_values": lambda t, d: d._values(),
    "_nnz": lambda t, d: d._nnz(),
    "coalesce": lambda t, d: d.coalesce(),
    "is_coalesced": lambda t, d: d.is_coalesced(),
    "crow_indices": lambda t, d: d.crow_indices(),
    "dims": lambda t, d: [d.sparse_dim(), d.dense_dim(), d.is_sparse],
    "sparse.sum": lambda t, d: t.sparse.sum(d),
    "sparse.softmax": lambda t, d: t.sparse.softmax(d, 1),
    "sparse.mm": lambda t, d: t.sparse.mm(d, d.t()),
    "masked by a dense one": lambda t, d: d.sparse_mask(d),
    "zeros": lambda t, d: [t.zeros(2, 3, layout=t.sparse_coo), t.zeros(2, 3, layout=t.sparse_csr)],
    "ones": lambda t, d: t.ones(2, 3, layout=t.sparse_coo),
}
MADE: dict[str, Any] = {
    "of lists": lambda t: t.sparse_coo_tensor([[0, 1], [1, 1]], [1, 2]),
    "with a type": lambda t: t.sparse_coo_tensor([[0, 1], [1, 1]], [1, 2], dtype=t.float32),
    "said to be coalesced": lambda t: t.sparse_coo_tensor(
        [[0, 1], [1, 1]], [1, 2], is_coalesced=True
    ),
    "of a size": lambda t: [t.sparse_coo_tensor((2, 3)), t.sparse_coo_tensor(size=(2, 3))],
    "of floating indices": lambda t: t.sparse_coo_tensor(t.tensor([[0.0, 1]]), t.ones(2), (2,)),
    "without values": lambda t: t.sparse_coo_tensor(
        t.zeros(2, 0, dtype=t.int64), t.ones(0), (2, 2)
    ),
    "without dimensions": lambda t: t.sparse_coo_tensor(
        t.zeros(0, 1, dtype=t.int64), t.ones(1), ()
    ),
    "outside, unchecked": lambda t: t.sparse_coo_tensor([[0, 5]], t.ones(2), (2,))._nnz(),
    "outside": lambda t: t.sparse_coo_tensor([[0, 5]], t.ones(2), (2,), check_invariants=True),
    "negative": lambda t: t.sparse_coo_tensor([[0, -1]], t.ones(2)),
    "other counts": lambda t: t.sparse_coo_tensor([[0, 1]], t.ones(3), (2,)),
    "other dimensions": lambda t: t.sparse_coo_tensor([[0, 1]], t.ones(2), (2, 2)),
    "indices in one row": lambda t: t.sparse_coo_tensor(t.tensor([0, 1]), t.ones(2), (2,)),
    "integers with grad": lambda t: t.sparse_coo_tensor([[0]], [1], requires_grad=True),
    "with grad": lambda t: t.sparse_coo_tensor([[0]], [1.0], requires_grad=True).is_leaf,
    "rows": lambda t: t.sparse_csr_tensor([0, 1, 2], [0, 4], [1.0, 2.0]),
    "columns": lambda t: t.sparse_csc_tensor([0, 1, 2], [0, 4], [1.0, 2.0]),
    "by layout": lambda t: t.sparse_compressed_tensor(
        [0, 1, 2], [0, 4], [1.0, 2.0], (2, 5), layout=t.sparse_csr
    ),
    "a column outside": lambda t: t.sparse_csr_tensor(
        [0, 1, 2], [0, 5], [1.0, 2], (2, 2), check_invariants=True
    ),
    "a wrong end": lambda t: t.sparse_csr_tensor(
        [0, 1, 3], [0, 1], [1.0, 2], (2, 2), check_invariants=True
    ),
    "columns out of order": lambda t: t.sparse_csr_tensor(
        [0, 2, 2], [1, 0], [1.0, 2], (2, 2), check_invariants=True
    ),
    "old name": lambda t: t.sparse.FloatTensor(t.tensor([[0, 1]]), t.tensor([1.0, 2.0])),
    "old product": lambda t: t.spmm(doubled(t), t.ones(3, 2)),
}


@every_maker
@pytest.mark.parametrize("name", CASES)
def test_calls(torch: Any, name: str, maker: Any) -> None:
    """Layouts, elements, types, flags and kinds of exceptions."""
    compared(torch, lambda t: CASES[name](t, maker(t)))


@pytest.mark.parametrize("maker", [doubled, coalesced])
@pytest.mark.parametrize("name", COORDINATES)
def test_calls_on_coordinates(torch: Any, name: str, maker: Any) -> None:
    """The same of what matrices by rows do not have in PyTorch."""
    compared(torch, lambda t: COORDINATES[name](t, maker(t)))


@every_maker
@pytest.mark.parametrize("name", MATRICES)
def test_products(torch: Any, name: str, maker: Any) -> None:
    """The same of products of matrices."""
    compared(torch, lambda t: MATRICES[name](t, maker(t)))


@pytest.mark.parametrize("maker", [doubled, coalesced])
def test_products_of_two(torch: Any, maker: Any) -> None:
    """Two sparse factors have a sparse product."""
    compared(torch, lambda t: [maker(t) @ maker(t).t(), t.sparse.mm(maker(t).t(), maker(t))])


@pytest.mark.parametrize("name", DENSE)
def test_calls_on_dense_tensors(torch: Any, name: str) -> None:
    """Dense tensors are converted, and have no indices."""
    compared(torch, lambda t: DENSE[name](t, t.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])))


@pytest.mark.parametrize("name", MADE)
def test_making(torch: Any, name: str) -> None:
    """Tensors from indices and values, and what is refused of these."""
    compared(torch, MADE[name])


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_reduced_products(torch: Any, reduce: str) -> None:
    """sparse.mm with another sum, an empty row among the rows."""

    def case(t: Any) -> Any:
        matrix = t.tensor([[0.0, 2.0, -3.0], [0.0, 0.0, 0.0], [4.0, 5.0, 6.0]]).to_sparse_csr()
        return t.sparse.mm(matrix, t.arange(6.0).reshape(3, 2) - 2, reduce)

    compared(torch, case)


def test_sampled_products(torch: Any) -> None:
    """A product is computed where it is asked for."""

    def case(t: Any, layout: str = "sparse_csr") -> Any:
        pattern = coalesced(t).to_sparse(layout=getattr(t, layout))
        first, second = t.arange(4.0).reshape(2, 2), t.arange(6.0).reshape(2, 3)
        return t.sparse.sampled_addmm(pattern, first, second, beta=0.5, alpha=2.0)

    compared(torch, case)
    compared(torch, lambda t: case(t, "sparse_coo"))


@every_maker
def test_text(torch: Any, maker: Any) -> None:
    """Indices and values are shown, with what else there is to say."""
    for case in (
        lambda t: maker(t),
        lambda t: maker(t).requires_grad_(),
        lambda t: maker(t).requires_grad_() * 2,
        lambda t: maker(t, t.float64),
        lambda t: t.zeros_like(maker(t)),
    ):
        assert repr(case(compat)).replace("adjoint.", "torch.") == repr(case(torch))


def test_shared_memory(torch: Any) -> None:
    """detach() and _values() show the same memory, clone() its own."""

    def case(t: Any) -> Any:
        s = coalesced(t)
        other, copy = s.detach(), s.clone()
        s._values().mul_(2)
        other.mul_(3)
        return [s, other, copy]

    compared(torch, case, flag=False)


def test_checks_in_a_block(torch: Any) -> None:
    """Indices are checked in a block, or from now on."""

    def case(t: Any) -> Any:
        checks = t.sparse.check_sparse_tensor_invariants
        seen = [checks.is_enabled()]
        with checks():
            seen.append(checks.is_enabled())
            with checks(enable=False):
                t.sparse_coo_tensor([[7]], [1.0], (2,))
            try:
                t.sparse_coo_tensor([[7]], [1.0], (2,))
            except RuntimeError:
                seen.append("refused")
        checks.enable()
        seen.append(checks.is_enabled())
        checks.disable()
        return [*seen, checks.is_enabled()]

    compared(torch, case)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_unknown_calls_name_the_way_out(maker: Any) -> None:
    """What a sparse tensor does not know is refused, and never made dense in silence."""
    for call in (compat.exp, compat.cumsum, compat.argmax):
        with pytest.raises(NotImplementedError, match="to_dense"):
            call(maker(compat), *([0] if call is compat.cumsum else []))


def test_sizes_beyond_memory() -> None:
    """A tensor takes the memory of its values, not of its shape."""
    count = 1 << 20
    places = np.arange(1000) * 1009 % count
    values = adjoint.ones(1000, requires_grad=True)
    matrix = adjoint.sparse_coo_tensor(np.stack([places, places[::-1]]), values, (count, count))
    vector = adjoint.ones(count, 1, requires_grad=True)
    adjoint.sparse.mm(matrix, vector).sum().backward()
    assert vector.grad.sum().item() == 1000 == values.grad.sum().item()
    twice = (matrix + matrix * 2).coalesce()
    assert twice.layout is adjoint.sparse_coo
    assert adjoint.sparse.sum(twice).item() == 3000
    assert adjoint.sparse.mm(twice, twice).shape == (count, count)


def test_products_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy is faster, and not needed."""
    from adjoint.backends import row_kernels as backend

    matrix = compat.randn(30, 20).relu().to_sparse()
    other = compat.randn(20, 7)
    expected = (matrix @ other).numpy()
    monkeypatch.setattr(backend, "_sparse_library", lambda: None)
    np.testing.assert_allclose((matrix @ other).numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["int64", "int32", "float16", "bfloat16", "bool", "complex64"])
def test_types(torch: Any, name: str) -> None:
    """Sums of values of one place, and products, in every kind of number."""

    def case(t: Any) -> Any:
        s = t.sparse_coo_tensor([[0, 1, 0]], t.tensor([1, 0, 1]).to(getattr(t, name)), (3,))
        found = [s.coalesce().to_dense().to(t.complex64).real, s._nnz()]
        return [*found, (s * s).to_dense().to(t.complex64).real]

    compared(torch, case)


def test_jax_is_refused_by_name() -> None:
    """Arrays of JAX have no memory that a layer could leave out."""
    jax = pytest.importorskip("jax")
    dense = adjoint.tensor([1.0, 0.0]).to(adjoint.as_tensor(jax.numpy.ones(1)).device)
    with pytest.raises(NotImplementedError, match="jax"):
        dense.to_sparse()


@pytest.mark.parametrize("method", ["to_sparse_bsr", "to_sparse_bsc"])
def test_blocks_are_refused(method):
    with pytest.raises(NotImplementedError, match="there are no blocks"):
        getattr(adjoint.eye(4), method)((2, 2))
