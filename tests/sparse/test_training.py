"""Embeddings with sparse gradients, and the optimizers that take them, as in PyTorch."""

from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.compat.torch as compat
from tests.sparse.comparing import compared, same

pytestmark = pytest.mark.filterwarnings("ignore:.*[Ss]parse.*")

INDICES = [[1, 2, 4], [4, 3, 2]]
LOOKUPS: dict[str, Any] = {
    "plain": lambda t, w, i: t.nn.functional.embedding(i, w, sparse=True),
    "int32": lambda t, w, i: t.nn.functional.embedding(i.int(), w, sparse=True),
    "padding": lambda t, w, i: t.nn.functional.embedding(i, w, padding_idx=4, sparse=True),
    "by frequency": lambda t, w, i: t.nn.functional.embedding(
        i, w, scale_grad_by_freq=True, sparse=True
    ),
    "twice": lambda t, w, i: (
        t.nn.functional.embedding(i, w, sparse=True)
        + t.nn.functional.embedding(i[:, :1], w, sparse=True)
    ),
    "tied": lambda t, w, i: t.nn.functional.embedding(i, w, sparse=True) @ w[:2].t(),
    "of a product": lambda t, w, i: t.nn.functional.embedding(i, w * 2, sparse=True),
    "sum of bags": lambda t, w, i: t.nn.functional.embedding_bag(i, w, mode="sum", sparse=True),
    "mean of bags": lambda t, w, i: t.nn.functional.embedding_bag(i, w, sparse=True),
    "largest of bags": lambda t, w, i: t.nn.functional.embedding_bag(i, w, mode="max", sparse=True),
    "padded bags": lambda t, w, i: t.nn.functional.embedding_bag(i, w, sparse=True, padding_idx=4),
    "bags by offsets": lambda t, w, i: t.nn.functional.embedding_bag(
        i.reshape(-1), w, t.tensor([0, 2, 2]), mode="sum", sparse=True
    ),
    "weighted bags": lambda t, w, i: t.nn.functional.embedding_bag(
        i, w, mode="sum", sparse=True, per_sample_weights=t.arange(6.0).reshape(2, 3)
    ),
}


def table(t: Any) -> Any:
    """A table of six rows."""
    return (t.arange(12.0).reshape(6, 2) / 7).requires_grad_()


@pytest.mark.parametrize("name", LOOKUPS)
def test_gradients_of_tables(torch: Any, name: str) -> None:
    """Sparse where PyTorch's are, and of the same rows."""

    def case(t: Any) -> Any:
        weight = table(t)
        rows = LOOKUPS[name](t, weight, t.tensor(INDICES))
        (rows * t.arange(1.0, rows.numel() + 1).reshape(rows.shape)).sum().backward()
        return [rows, weight.grad]

    compared(torch, case)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_accumulation(torch: Any, first: bool, second: bool) -> None:
    """A gradient is sparse as long as all that was added is."""

    def case(t: Any) -> Any:
        weight = table(t)
        for sparse in (first, second):
            t.nn.functional.embedding(t.tensor(INDICES), weight, sparse=sparse).sum().backward()
        return weight.grad

    compared(torch, case)


def test_hooks_of_tables(torch: Any) -> None:
    """Tensor hooks, retain_grad and post-accumulate hooks see sparse gradients."""

    def case(t: Any) -> Any:
        weight = table(t)
        seen: list[Any] = []
        weight.register_hook(lambda g: seen.append(g.is_sparse))
        weight.register_post_accumulate_grad_hook(lambda w: seen.append(w.grad.is_sparse))
        copy = weight * 1
        copy.retain_grad()
        t.nn.functional.embedding(t.tensor(INDICES), copy, sparse=True).sum().backward()
        return [seen, copy.grad, weight.grad]

    compared(torch, case)


def test_second_derivatives(torch: Any) -> None:
    """A sparse gradient can be differentiated again."""

    def case(t: Any) -> Any:
        weight = table(t)
        rows = t.nn.functional.embedding(t.tensor(INDICES), weight, sparse=True)
        (found,) = t.autograd.grad((rows**3).sum(), weight, create_graph=True)
        return [found.requires_grad, found.detach()]

    compared(torch, case)
    weight = table(compat)
    rows = compat.nn.functional.embedding(compat.tensor(INDICES), weight, sparse=True)
    (found,) = compat.autograd.grad((rows**3).sum(), weight, create_graph=True)
    compat.sparse.sum(found).backward()
    counts = np.bincount(np.ravel(INDICES), minlength=6)[:, None]
    same(weight.grad.to_dense().tolist(), (6 * counts * weight.detach().numpy()).tolist())


def test_modules(torch: Any) -> None:
    """nn.Embedding and nn.EmbeddingBag; zero_grad empties a sparse gradient."""

    def case(t: Any) -> Any:
        found = []
        for kind in (t.nn.Embedding, t.nn.EmbeddingBag):
            module = kind(6, 2, sparse=True)
            module.weight.data.copy_(table(t).detach())
            module(t.tensor(INDICES)).sum().backward()
            found.append(module.weight.grad.clone())
            module.zero_grad(set_to_none=False)
            found.append(module.weight.grad)
        return found

    compared(torch, case)


# ---- steps ----

STEPS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {"lr": 0.1}),
    "SGD, many at once": ("SGD", {"lr": 0.1, "foreach": True}),
    "SGD with momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "SGD by Nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "SGD with dampening": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}),
    "SGD upwards": ("SGD", {"lr": 0.01, "momentum": 0.5, "maximize": True}),
    "SGD with decay": ("SGD", {"lr": 0.1, "weight_decay": 0.1}),
    "Adagrad": ("Adagrad", {"lr": 0.1}),
    "Adagrad with a decay of steps": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    "Adagrad upwards": ("Adagrad", {"lr": 0.1, "maximize": True}),
    "Adagrad with decay": ("Adagrad", {"weight_decay": 0.1}),
    "SparseAdam": ("SparseAdam", {"lr": 0.1}),
    "SparseAdam upwards": ("SparseAdam", {"lr": 0.1, "maximize": True, "betas": (0.8, 0.9)}),
    **{name: (name, {}) for name in ("Adam", "AdamW", "Adamax", "Adadelta", "ASGD")},
    **{name: (name, {}) for name in ("NAdam", "RAdam", "RMSprop", "Rprop")},
}


def trained(t: Any, name: str, dtype: Any) -> Any:
    """A table after ten steps, and the state of the optimizer."""
    kind, settings = STEPS[name]
    rng = np.random.default_rng(0)
    model = t.nn.Embedding(8, 3, sparse=True, dtype=dtype)
    model.weight.data.copy_(t.tensor(rng.normal(size=(8, 3)).tolist(), dtype=dtype))
    optimizer = getattr(t.optim, kind)(model.parameters(), **settings)
    for _ in range(10):
        optimizer.zero_grad()
        (model(t.tensor(rng.integers(0, 8, (3, 2)).tolist())) ** 2).sum().backward()
        optimizer.step()
    state = optimizer.state_dict()
    found = [[key, value] for key, value in sorted(state["state"].get(0, {}).items())]
    return [model.weight.detach(), found, sorted(state["param_groups"][0])]


@pytest.mark.parametrize("name", STEPS)
def test_ten_steps(torch: Any, name: str) -> None:
    """The same parameters, state and settings; Adam and others refuse, by the same kind."""
    compared(torch, lambda t: trained(t, name, t.float64), flag=False)


@pytest.mark.parametrize(
    "settings", [{"lr": -1.0}, {"lr": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.9)}, {"betas": (0, 2)}]
)
def test_settings_of_sparse_adam(torch: Any, settings: dict[str, Any]) -> None:
    """Refused as PyTorch does."""
    compared(torch, lambda t: t.optim.SparseAdam([t.ones(2)], **settings))


def test_sparse_adam_and_dense_tensors(torch: Any) -> None:
    """It takes dense parameters, and sparse gradients."""

    def dense_gradient(t: Any) -> Any:
        weight = t.ones(2, requires_grad=True)
        weight.sum().backward()
        t.optim.SparseAdam([weight]).step()

    compared(torch, dense_gradient)
    compared(torch, lambda t: t.optim.SparseAdam([t.eye(2).to_sparse()]))


def test_state_goes_on(torch: Any) -> None:
    """A state that was saved is taken up where it was."""

    def case(t: Any) -> Any:
        weight = table(t)
        first = t.optim.SparseAdam([weight], lr=0.1)

        def step(optimizer: Any) -> None:
            optimizer.zero_grad()
            rows = t.nn.functional.embedding(t.tensor(INDICES), weight, sparse=True)
            (rows**2).sum().backward()
            optimizer.step()

        step(first)
        second = t.optim.SparseAdam([weight], lr=0.1)
        second.load_state_dict(first.state_dict())
        step(second)
        return [weight.detach(), second.state_dict()["state"][0]["step"]]

    compared(torch, case)


def test_a_step_that_fails_changes_nothing() -> None:
    """One parameter in a group with a gradient that is refused: the others stay as they are."""
    first, second = table(adjoint), adjoint.ones(2, requires_grad=True)
    adjoint.nn.functional.embedding(adjoint.tensor([1]), first, sparse=True).sum().backward()
    second.sum().backward()
    before = first.detach().clone()
    optimizer = adjoint.optim.SparseAdam([first, second])
    with pytest.raises(RuntimeError, match="dense"):
        optimizer.step()
    assert first.tolist() == before.tolist()
    assert not optimizer.state


def test_a_dense_gradient_after_a_sparse_momentum() -> None:
    """The two can't be added, and nothing is lost in silence."""
    weight = table(adjoint)
    optimizer = adjoint.optim.SGD([weight], lr=0.1, momentum=0.9)
    adjoint.nn.functional.embedding(adjoint.tensor([1]), weight, sparse=True).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    weight.sum().backward()
    with pytest.raises(RuntimeError, match="momentum_buffer"):
        optimizer.step()


def test_scaled_gradients(torch: Any) -> None:
    """GradScaler unscales sparse gradients, and skips a step that overflowed."""

    def case(t: Any, factor: float) -> Any:
        weight = table(t)
        scaler = t.amp.GradScaler("cpu", init_scale=4.0)
        optimizer = t.optim.SGD([weight], lr=0.1)
        rows = t.nn.functional.embedding(t.tensor(INDICES), weight, sparse=True)
        scaler.scale(rows.sum() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        return [weight.detach(), weight.grad.coalesce().values().isfinite().all().item()]

    compared(torch, lambda t: case(t, 1.0))
    compared(torch, lambda t: case(t, float("inf")))


def test_lbfgs_makes_gradients_dense(torch: Any) -> None:
    """It works on one vector of all gradients."""

    def case(t: Any) -> Any:
        weight = table(t).detach().double().requires_grad_()
        optimizer = t.optim.LBFGS([weight], max_iter=3)

        def loss() -> Any:
            optimizer.zero_grad()
            rows = t.nn.functional.embedding(t.tensor(INDICES), weight, sparse=True)
            found = (rows**2).sum()
            found.backward()
            return found

        optimizer.step(loss)
        return weight.detach()

    compared(torch, case)


def test_rows_alone_are_touched() -> None:
    """A step on a table of many rows changes those that were used."""
    weight = adjoint.zeros(1 << 20, 4, requires_grad=True)
    optimizer = adjoint.optim.Adagrad([weight], lr=1.0)
    adjoint.nn.functional.embedding(adjoint.tensor([5, 9]), weight, sparse=True).sum().backward()
    assert weight.grad._nnz() == 2
    optimizer.step()
    assert weight.detach().nonzero()[:, 0].unique().tolist() == [5, 9]


def test_a_sparse_parameter_is_refused_by_its_layout() -> None:
    weight = adjoint.eye(2).to_sparse_csr().requires_grad_()
    with pytest.raises(RuntimeError, match="of layout sparse_csr .*optimize its values"):
        adjoint.optim.SGD([weight], lr=1.0)


def test_products_under_autocast() -> None:
    """Those with dense matrices are narrow, as in PyTorch, whose backward then fails."""
    matrix = adjoint.eye(2).to_sparse().requires_grad_()
    other = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with adjoint.autocast("cpu"):
        product = adjoint.sparse.mm(matrix, other)
        added = adjoint.sparse.addmm(other, matrix, other)
        both = adjoint.sparse.mm(matrix, matrix)
    assert product.dtype is added.dtype is adjoint.bfloat16
    assert both.dtype is adjoint.float32
    product.sum().backward()
    assert matrix.grad.dtype is other.grad.dtype is adjoint.float32
    assert matrix.grad.to_dense().tolist() == [[3.0, 0.0], [0.0, 7.0]]
    assert other.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
