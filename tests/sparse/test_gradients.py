"""Gradients of sparse tensors and through them: PyTorch's, and those of differences."""

import copy
import weakref
from typing import Any

import pytest

import adjoint
import adjoint.compat.torch as compat
from tests.sparse.comparing import MAKERS, by_rows, coalesced, compared, doubled, hybrid, same

pytestmark = pytest.mark.filterwarnings("ignore:.*[Ss]parse.*")

THREE_TWO = lambda t: t.arange(6.0, dtype=t.float64).reshape(3, 2)  # a short name
TWO_THREE = lambda t: t.arange(6.0, dtype=t.float64).reshape(2, 3) - 2

# A function of a sparse matrix and a dense tensor, and what makes the dense one.
CASES: dict[str, tuple[Any, Any]] = {
    "mm": (lambda t, s, d: t.mm(s, d), THREE_TWO),
    "matmul": (lambda t, s, d: s @ d, THREE_TWO),
    "sparse.mm": (lambda t, s, d: t.sparse.mm(s, d), THREE_TWO),
    "vector": (lambda t, s, d: s @ d[:, 0], THREE_TWO),
    "dense first": (lambda t, s, d: d @ s, THREE_TWO),
    "addmm": (lambda t, s, d: t.addmm(d[:2], s, d, beta=2, alpha=3), THREE_TWO),
    "sparse.addmm": (lambda t, s, d: t.sparse.addmm(d[:2], s, d, beta=2.0, alpha=3.0), THREE_TWO),
    "dense plus sparse": (lambda t, s, d: d + s, TWO_THREE),
    "by one element": (lambda t, s, d: (s * d[1, 2]).to_dense(), TWO_THREE),
    "to_dense": (lambda t, s, d: s.to_dense() * d, TWO_THREE),
    "to_dense, unmasked": (lambda t, s, d: s.to_dense(masked_grad=False) * d, TWO_THREE),
    "sum": (lambda t, s, d: s.sum() * d, TWO_THREE),
    "to another layout": (lambda t, s, d: s.to_sparse_csr().to_dense() * d, TWO_THREE),
    "double": (lambda t, s, d: s.float().to_dense() * d, TWO_THREE),
}
COORDINATES: dict[str, tuple[Any, Any]] = {
    "product with dense": (lambda t, s, d: (s * d).to_dense(), TWO_THREE),
    "dense first in sparse.mm": (lambda t, s, d: t.sparse.mm(d, s), THREE_TWO),
    "sum of two": (lambda t, s, d: (s + 2 * s - s.coalesce() * 4).to_dense() * d, TWO_THREE),
    "square": (lambda t, s, d: ((s * s) / 3).to_dense() * d, TWO_THREE),
    "negated and turned": (lambda t, s, d: (-s).t().to_dense() @ d, TWO_THREE),
    "sparse.sum": (lambda t, s, d: t.sparse.sum(s) * d, TWO_THREE),
    "sparse.sum of rows": (lambda t, s, d: t.sparse.sum(s, 0).to_dense() * d, TWO_THREE),
    "sparse.sum of columns": (lambda t, s, d: t.sparse.sum(s, 1).to_dense() @ d, TWO_THREE),
    "values": (lambda t, s, d: s.coalesce().values() @ d[:, :].flatten()[:3], TWO_THREE),
    "softmax": (lambda t, s, d: t.sparse.softmax(s, 1).to_dense() * d, TWO_THREE),
    "log_softmax": (lambda t, s, d: t.sparse.log_softmax(s, 0).to_dense() * d, TWO_THREE),
    "abs": (lambda t, s, d: s.abs().to_dense() * d, TWO_THREE),
    "relu": (lambda t, s, d: s.relu().to_dense() * d, TWO_THREE),
    "pow": (lambda t, s, d: (s**3).to_dense() * d, TWO_THREE),
    "clone": (lambda t, s, d: s.clone().to_dense() * d, TWO_THREE),
    "masked": (lambda t, s, d: d.sparse_mask(s.detach().coalesce()).to_dense() * d, TWO_THREE),
    "two factors": (lambda t, s, d: t.sparse.mm(s, s.t()).to_dense() @ d, TWO_THREE),
    "two factors, matmul": (lambda t, s, d: (s @ s.t()).to_dense() @ d, TWO_THREE),
}


def gradients(t: Any, case: tuple[Any, Any], maker: Any) -> Any:
    """The result, and the gradients of a sparse matrix and of a dense one."""
    function, other = case
    s, d = maker(t, t.float64).requires_grad_(), other(t).requires_grad_()
    result = function(t, s, d)
    weights = t.arange(1.0, result.numel() + 1, dtype=result.dtype).reshape(result.shape)
    (result * weights).sum().backward()
    return [result, s.grad if s.grad is None else s.grad.clone(), d.grad]


@pytest.mark.parametrize("maker", [doubled, coalesced, by_rows])
@pytest.mark.parametrize("name", CASES)
def test_gradients(torch: Any, name: str, maker: Any) -> None:
    """Values, and layouts: what is dense in PyTorch is dense here."""
    compared(torch, lambda t: gradients(t, CASES[name], maker), flag=False)


@pytest.mark.parametrize("maker", [doubled, coalesced])
@pytest.mark.parametrize("name", COORDINATES)
def test_gradients_of_coordinates(torch: Any, name: str, maker: Any) -> None:
    """The same of functions that matrices by rows do not have."""
    compared(torch, lambda t: dense_sums(gradients(t, COORDINATES[name], maker)), flag=False)


def dense_sums(found: list[Any]) -> list[Any]:
    """Gradients by their layouts and all elements: zeros may be kept or not."""
    return [
        [str(each.layout).rpartition(".")[2], each.detach().to_dense().tolist()]
        if hasattr(each, "layout")
        else each
        for each in found
    ]


def test_sampled_products(torch: Any) -> None:
    """Of all three arguments."""

    def case(t: Any) -> Any:
        s = by_rows(t, t.float64).requires_grad_()
        a = t.arange(4.0, dtype=t.float64).reshape(2, 2).requires_grad_()
        b = t.arange(6.0, dtype=t.float64).reshape(2, 3).requires_grad_()
        made = t.sparse.sampled_addmm(s, a, b, beta=0.5, alpha=2.0)
        (made.to_dense() * TWO_THREE(t)).sum().backward()
        return [s.grad, a.grad, b.grad]

    compared(torch, case)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_reduced_products(torch: Any, reduce: str) -> None:
    """sparse.mm with another sum."""

    def case(t: Any) -> Any:
        s = by_rows(t, t.float64).requires_grad_()
        d = (THREE_TWO(t) - 2).requires_grad_()
        (t.sparse.mm(s, d, reduce) * t.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        return [s.grad, d.grad]

    compared(torch, case)


@pytest.mark.parametrize("maker", [doubled, coalesced, hybrid])
def test_values_that_make_a_tensor(torch: Any, maker: Any) -> None:
    """A gradient goes on to the values, each as often as it was given."""

    def case(t: Any) -> Any:
        made = maker(t, t.float64)
        values = made._values().clone().requires_grad_()
        s = t.sparse_coo_tensor(made._indices(), values, made.shape)
        weights = t.arange(6.0, dtype=t.float64).reshape(s.shape)
        (s.to_dense() * weights).sum().backward()
        (t.sparse.sum(s) * 2).backward()
        return values.grad

    compared(torch, case)


def test_values_that_make_rows(torch: Any) -> None:
    """The same of a matrix by rows."""

    def case(t: Any) -> Any:
        values = t.tensor([3.0, 4.0, 5.0, 0.5], requires_grad=True)
        s = t.sparse_csr_tensor(t.tensor([0, 2, 4]), t.tensor([0, 2, 0, 2]), values, (2, 3))
        (s.to_dense() * t.arange(6.0).reshape(2, 3)).sum().backward()
        return values.grad

    compared(torch, case)


@pytest.mark.parametrize("way", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_dense_tensors_made_sparse(torch: Any, way: str) -> None:
    """The gradient of a dense tensor is dense."""

    def case(t: Any) -> Any:
        d = t.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]], requires_grad=True)
        (getattr(d, way)().to_dense() * t.arange(6.0).reshape(2, 3)).sum().backward()
        return d.grad

    compared(torch, case)


# ---- what surrounds a gradient ----


def test_hooks_see_sparse_gradients(torch: Any) -> None:
    """Hooks on leaves and others, retain_grad, post-accumulate hooks, autograd.grad."""

    def case(t: Any) -> Any:
        s = doubled(t).requires_grad_()
        seen: list[Any] = []
        middle = s * 2
        middle.retain_grad()
        middle.register_hook(lambda g: seen.append(g.is_sparse))
        s.register_hook(lambda g: g * 3)
        s.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.is_sparse))
        t.sparse.sum(middle).backward()
        found = t.autograd.grad(t.sparse.sum(s * s), s)[0]
        return [seen, middle.grad, s.grad, found]

    compared(torch, case, flag=False)


def test_accumulation(torch: Any) -> None:
    """Sparse and sparse, sparse and dense, dense and sparse."""

    def case(t: Any, first: Any, second: Any) -> Any:
        s = coalesced(t).requires_grad_()
        for add in (first, second):
            add(t, s).backward()
        return s.grad

    ways = [lambda t, s: t.sparse.sum(s), lambda t, s: s.sum()]
    for first in ways:
        for second in ways:
            compared(torch, lambda t, one=first, two=second: case(t, one, two), flag=False)


def test_a_pass_that_fails_changes_nothing() -> None:
    """What was accumulated before stays, also where a hook waited to see it."""
    s = coalesced(compat).requires_grad_()
    compat.sparse.sum(s).backward()
    before = s.grad
    x = compat.ones(1, requires_grad=True)

    def refuse(grad: Any) -> Any:
        raise ValueError("refused")

    x.register_hook(refuse)
    s.register_hook(lambda g: g * 2)
    loss = (compat.sparse.sum(s * s) * x).sum()
    with pytest.raises(ValueError, match="refused"):
        loss.backward()
    assert s.grad is before
    same(s.grad.values().tolist(), [1.0, 1.0, 1.0])
    assert x.grad is None


def test_a_pass_within_a_pass_that_fails() -> None:
    """A sparse gradient written by an inner pass is taken back with the outer one."""
    s = coalesced(compat).requires_grad_()
    compat.sparse.sum(s).backward()
    x = compat.ones(1, requires_grad=True)

    def inner(grad: Any) -> None:
        with compat.enable_grad():
            compat.sparse.sum(s * 5).backward()
        raise ValueError("refused")

    y = x * 2
    y.register_hook(inner)
    with pytest.raises(ValueError, match="refused"):
        y.sum().backward()
    same(s.grad.values().tolist(), [1.0, 1.0, 1.0])


def test_hooks_keep_the_layout(torch: Any) -> None:
    """A hook can't make a dense gradient sparse, as little as another shape."""

    def case(t: Any) -> Any:
        x = t.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: g.to_sparse())
        y.sum().backward()

    compared(torch, case)


def test_functions_with_sparse_gradients(torch: Any) -> None:
    """autograd.Function may answer a sparse gradient for a dense input, and pass them on."""

    def case(t: Any) -> Any:
        class Rows(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, weight: Any) -> Any:
                return weight[1]

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return t.sparse_coo_tensor(t.tensor([[1]]), grad.unsqueeze(0), (3, 2))

        w = t.ones(3, 2, requires_grad=True)
        v = t.ones(3, 2, requires_grad=True)
        Rows.apply(w).sum().backward()
        Rows.apply(v * 2).sum().backward()
        return [w.grad, v.grad]

    compared(torch, case)


def test_changes_in_place_are_noticed(torch: Any) -> None:
    """A sparse tensor that backward needs and that was changed is refused."""

    def case(t: Any) -> Any:
        s = coalesced(t)
        d = t.ones(3, 2, requires_grad=True)
        product = t.mm(s, d)
        s.mul_(2)
        product.sum().backward()

    compared(torch, case)


def test_recorded_changes_in_place(torch: Any) -> None:
    """mul_ of a tensor with a history."""

    def case(t: Any) -> Any:
        s = coalesced(t).requires_grad_()
        made = s * 2
        made.mul_(3)
        t.sparse.sum(made).backward()
        return s.grad

    compared(torch, case, flag=False)


def test_saved_tensor_hooks() -> None:
    """Hooks on saving get sparse tensors, and give them back."""
    s, d = coalesced(compat).requires_grad_(), compat.ones(3, 2, requires_grad=True)
    seen: list[Any] = []

    def pack(tensor: Any) -> Any:
        seen.append(tensor.layout.name)
        return tensor

    with compat.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        product = s @ d
    product.sum().backward()
    assert "sparse_coo" in seen
    same(d.grad.tolist(), [[4.0, 4.0], [0.0, 0.0], [8.5, 8.5]])


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints(torch: Any, reentrant: bool) -> None:
    """Sparse arguments of a function that is computed again, and gradients of a table in one."""

    def case(t: Any) -> Any:
        s, d = coalesced(t).requires_grad_(), t.arange(6.0).reshape(3, 2).requires_grad_()
        weight = t.ones(3, 2, requires_grad=True)

        def function(s: Any, d: Any, weight: Any) -> Any:
            rows = t.nn.functional.embedding(t.tensor([1, 2]), weight, sparse=True)
            return t.sparse.mm(s, d) * rows

        checkpoint = t.utils.checkpoint.checkpoint
        checkpoint(function, s, d, weight, use_reentrant=reentrant).sum().backward()
        return [s.grad, d.grad, weight.grad]

    compared(torch, case, flag=False)


def test_modules_with_sparse_buffers(torch: Any) -> None:
    """State dicts, copies, conversions and full backward hooks."""

    def case(t: Any) -> Any:
        class Graph(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("edges", coalesced(t))

            def forward(self, x: Any) -> Any:
                return t.sparse.mm(self.edges, x)

        made, other = Graph(), Graph()
        other.load_state_dict({"edges": made.edges * 2})
        other = copy.deepcopy(other).double()
        seen: list[Any] = []
        other.register_full_backward_hook(lambda module, given, got: seen.append(len(given)))
        x = t.ones(3, 1, dtype=t.float64, requires_grad=True)
        other(x).sum().backward()
        return [seen, x.grad, other.edges]

    compared(torch, case, flag=False)


def test_sparse_matrices_outside_transforms(torch: Any) -> None:
    """A transform may use a sparse matrix that takes no part in it."""

    def case(t: Any) -> Any:
        s = coalesced(t)
        return t.func.grad(lambda x: t.sparse.mm(s, x).sum())(t.ones(3, 2))

    compared(torch, case)
    s = coalesced(compat)
    same(compat.func.vmap(lambda row: s @ row)(compat.ones(2, 3)).tolist(), [[3.5, 9.0]] * 2)
    moved = compat.func.jvp(lambda x: s @ x, (compat.ones(3),), (compat.ones(3),))[1]
    same(moved.tolist(), [3.5, 9.0])


def test_anomaly_mode_looks_at_values() -> None:
    """A value that is not a number is found in a sparse gradient."""
    weight = compat.ones(3, 2, requires_grad=True)
    refused = pytest.raises(RuntimeError, match="nan")
    with pytest.warns(UserWarning), refused, compat.autograd.detect_anomaly():
        rows = compat.nn.functional.embedding(compat.tensor([1]), weight, sparse=True)
        (rows * float("nan")).sum().backward()


# ---- differences ----

CHECKED: dict[str, Any] = {
    "mm": lambda s, d: adjoint.sparse.mm(s, d),
    "addmm": lambda s, d: adjoint.sparse.addmm(adjoint.ones(2, 2, dtype=adjoint.float64), s, d),
    "to_dense": lambda s, d: s.to_dense() @ d,
    "square": lambda s, d: (s * s).to_dense() @ d,
    "sparse result": lambda s, d: s * 2,
}


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("maker", [doubled, coalesced, by_rows])
@pytest.mark.parametrize("name", CHECKED)
def test_differences(name: str, maker: Any, masked: bool) -> None:
    """Gradients of the first and second order against differences of values."""
    s = maker(adjoint, adjoint.float64).requires_grad_()
    d = adjoint.randn(3, 2, dtype=adjoint.float64, requires_grad=True)
    assert adjoint.autograd.gradcheck(CHECKED[name], (s, d), masked=masked)
    assert adjoint.autograd.gradgradcheck(CHECKED[name], (s, d), masked=masked)


def test_differences_of_a_wrong_gradient() -> None:
    """gradcheck finds what is wrong in a function of a sparse tensor."""

    class Wrong(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx: Any, values: Any) -> Any:
            return values * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    s = coalesced(adjoint, adjoint.float64).requires_grad_()
    with pytest.raises(adjoint.autograd.gradcheck.GradcheckError):
        adjoint.autograd.gradcheck(lambda s: Wrong.apply(s.values()), (s,), masked=True)


CHECKED_COORDINATES: dict[str, Any] = {
    "sum": lambda s: adjoint.sparse.sum(s, 0).to_dense(),
    "softmax": lambda s: adjoint.sparse.softmax(s, 1).to_dense(),
    "log_softmax": lambda s: adjoint.sparse.log_softmax(s, 0).to_dense(),
    "two factors": lambda s: adjoint.sparse.mm(s, s.t()).to_dense(),
}


@pytest.mark.parametrize("name", CHECKED_COORDINATES)
def test_differences_of_coordinates(name: str) -> None:
    """The same of functions of one matrix."""
    s = doubled(adjoint, adjoint.float64).requires_grad_()
    assert adjoint.autograd.gradcheck(CHECKED_COORDINATES[name], (s,), masked=True)
    assert adjoint.autograd.gradgradcheck(CHECKED_COORDINATES[name], (s,), masked=True)


def test_transforms_refuse_by_name() -> None:
    """vmap and forward mode have no sparse tensors, and say so."""
    s = coalesced(adjoint)
    with pytest.raises(NotImplementedError, match="vmap"):
        adjoint.func.vmap(lambda row: row.to_sparse().to_dense())(adjoint.ones(2, 3))
    with pytest.raises(NotImplementedError, match="forward mode"):
        adjoint.func.jvp(lambda x: x.to_sparse().to_dense(), (s.to_dense(),), (s.to_dense(),))


def test_passes_of_other_graphs_are_undisturbed() -> None:
    """What a pass hands to user code is the same while a sparse tensor lives elsewhere."""
    alive = []

    class Boxed(adjoint.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grads: Any) -> Any:
            kept = weakref.ref(grads[0])
            answer = grads[0] * 2
            grads.clear()
            alive.append(kept())  # it was the user's alone
            return answer

    elsewhere = MAKERS["doubled"](adjoint)
    x = adjoint.ones(2, requires_grad=True)
    Boxed.apply(x).sum().backward()
    assert (alive, x.grad.tolist()) == ([None], [2.0, 2.0])
    assert elsewhere.is_sparse


def test_a_pass_finds_sparse_tensors_deep_in_its_graph() -> None:
    """Neither the root nor the leaf need be sparse for the rules between to see one."""
    weight = adjoint.ones(3, 2, requires_grad=True)
    matrix = adjoint.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]).to_sparse()
    loss = ((matrix @ (weight * 3)).tanh() * 0.5).sum()
    del matrix
    loss.backward()
    dense = adjoint.ones(3, 2, requires_grad=True)
    whole = adjoint.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    ((whole @ (dense * 3)).tanh() * 0.5).sum().backward()
    assert adjoint.equal(weight.grad, dense.grad)
