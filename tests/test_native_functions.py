"""Functions of networks at the top level, and in-place forms as functions, against PyTorch's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.testing import map_arrays

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(size=(3, 2, 4))
POSITIVE = np.abs(X) + 0.1
SIGNS = np.array([1.0, -1.0])
IMAGES, BATCH = RNG.normal(size=(2, 2, 3)), RNG.normal(size=2)

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("batch_norm", (IMAGES, BATCH, BATCH, BATCH, BATCH**2, True, 0.1, 1e-5, True), {}),
    ("batch_norm", (IMAGES, None, None, BATCH, BATCH**2, False, 0.1, 1e-5, True), {}),
    ("instance_norm", (IMAGES, BATCH, BATCH, None, None, True, 0.1, 1e-5, False), {}),
    ("binary_cross_entropy_with_logits", (X, POSITIVE), {}),
    ("binary_cross_entropy_with_logits", (X, POSITIVE, POSITIVE, POSITIVE, 2), {}),
    ("cosine_embedding_loss", (X, Y, SIGNS), {}),
    ("cosine_embedding_loss", (X, Y, SIGNS, 0.1, 0), {}),
    ("hinge_embedding_loss", (X, np.sign(Y), 0.5, 2), {}),
    ("kl_div", (X, POSITIVE), {}),
    ("kl_div", (X, POSITIVE, 0), {}),
    ("kl_div", (X, Y, 2), {"log_target": True}),
    ("margin_ranking_loss", (X, Y, np.sign(Z)), {"margin": 0.5, "reduction": 2}),
    ("poisson_nll_loss", (X, POSITIVE, True, False, 1e-8, 1), {}),
    ("triplet_margin_loss", (X, Y, Z, 1.0, 2.0, 1e-6, True, 0), {}),
    ("embedding", (X, np.array([[0, 1], [1, 1]]), 1), {}),
    ("embedding", (X, np.array([0, 1, 1])), {"scale_grad_by_freq": True}),
    ("adaptive_max_pool1d", (IMAGES, 2), {}),
    ("max_pool1d_with_indices", (IMAGES, 2), {}),
    ("max_pool1d_with_indices", (IMAGES, 2, 1, 1), {}),
    ("rrelu", (X,), {}),
    ("bilinear", (X, Y, RNG.normal(size=(2, 4, 4))), {}),
    ("pixel_shuffle", (RNG.normal(size=(1, 4, 2, 2)), 2), {}),
    ("channel_shuffle", (RNG.normal(size=(1, 4, 2, 2)), 2), {}),
    (
        "conv_tbc",
        (RNG.normal(size=(4, 1, 2)), RNG.normal(size=(2, 2, 3)), RNG.normal(size=3), 1),
        {},
    ),
]

# Places of arguments that have no gradient.
FIXED = {
    "batch_norm": (3, 4),
    "instance_norm": (3, 4),
    "binary_cross_entropy_with_logits": (1, 2, 3),
}


def made(make: Callable[..., Any], leaves: list[Any]) -> Callable[[Any], Any]:
    """What makes a leaf of a floating array and a plain tensor of another."""

    def convert(array: Any) -> Any:
        tensor = make(array.copy())
        if array.dtype.kind != "f":
            return tensor
        leaves.append(tensor.requires_grad_())
        return leaves[-1]

    return convert


def outcome(library: Any, name: str, args: Any, options: Any) -> list[Any]:
    """The first result of a call and the gradients of its sum of squares."""
    leaves: list[Any] = []
    convert = made(library.tensor, leaves)
    plain = FIXED.get(name, ())
    given = [
        map_arrays(library.tensor if place in plain else convert, value)
        for place, value in enumerate(args)
    ]
    result = getattr(library, name)(*given, **options)
    first = result[0] if isinstance(result, tuple) else result
    found = library.autograd.grad((first * first).sum(), leaves, allow_unused=True)
    results = list(result) if isinstance(result, tuple) else [result]
    return [*results, *[g for g in found if g is not None]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "args", "options"), CALLS)
def test_functions(name: str, args: Any, options: Any) -> None:
    """Values and gradients are PyTorch's."""
    ours = outcome(adjoint, name, args, options)
    theirs = outcome(torch, name, args, options)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-7, atol=1e-10)


def test_ctc_loss() -> None:
    """Lengths as tuples, and the reduction as a number."""
    scores = RNG.normal(size=(5, 2, 3))
    targets = np.array([[1, 2], [2, 1]])
    for reduction in (0, 1, 2):
        ours, theirs = (
            library.ctc_loss(
                library.tensor(scores).log_softmax(2),
                library.tensor(targets),
                (5, 4),
                (2, 1),
                0,
                reduction,
                False,
            )
            for library in (adjoint, torch)
        )
        np.testing.assert_allclose(ours.numpy(), theirs.numpy())


def test_running_statistics_move() -> None:
    """Those of the batch are noted in training."""
    seen = []
    for library in (adjoint, torch):
        means, spreads = library.zeros(2).double(), library.ones(2).double()
        library.batch_norm(
            library.tensor(IMAGES), None, None, means, spreads, True, 0.1, 1e-5, False
        )
        seen.append([*means.tolist(), *spreads.tolist()])
    np.testing.assert_allclose(*seen)


def test_embedding_renorm() -> None:
    """The rows that are named and too long are scaled, the others are not."""
    rows = np.array([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    ours, theirs = (
        library.embedding_renorm_(library.tensor(rows), library.tensor([0, 1]), 1.0, 2.0)
        for library in (adjoint, torch)
    )
    np.testing.assert_allclose(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("word", ["mean", None, True])
def test_reductions_are_numbers(word: Any) -> None:
    """Words are for nn.functional."""
    with pytest.raises(TypeError, match="reduction"):
        adjoint.kl_div(adjoint.tensor(X), adjoint.tensor(POSITIVE), word)


def test_wrong_arguments() -> None:
    """A call that torch's signature does not allow is a TypeError."""
    x = adjoint.tensor(X)
    for call in (
        lambda: adjoint.batch_norm(x),
        lambda: adjoint.hinge_embedding_loss(x, x, 1.0, 1, 1),
        lambda: adjoint.hinge_embedding_loss(x, target=x, size_average=True),
        lambda: adjoint.hinge_embedding_loss(x, x, input=x),
    ):
        with pytest.raises(TypeError):
            call()


INPLACE = [
    name
    for name in dir(torch)
    if name.endswith("_") and name[0] != "_" and hasattr(torch.Tensor, name)
]
LATER = {"resize_as_", "resize_as_sparse_"}  # in adjoint.compat, and of sparse tensors
EXTRA: dict[str, tuple[Any, ...]] = {
    "addmv_": (np.ones((2, 2)), np.ones(2)),
    "as_strided_": ((2,), (2,)),
    "clamp_": (0.4, 0.6),
    "clip_": (0.4, 0.6),
    "clamp_max_": (0.5,),
    "clamp_min_": (0.5,),
    "fill_": (3.0,),
    "index_put_": ((np.array([0]),), np.array([5.0, 6.0])),
    "ldexp_": (np.array([1, 2]),),
    "threshold_": (0.5, 7.0),
    "xlogy_": (np.array([0.5, 2.0]),),
}


@pytest.mark.parametrize("name", [name for name in INPLACE if name not in LATER])
def test_inplace_functions(name: str) -> None:
    """Each changes its argument as PyTorch's does, and answers it."""
    values = np.array([0.3, 0.7]) if name == "addmv_" else np.array([[0.3, 0.7], [0.5, 0.9]])
    if name in ("gcd_", "lcm_"):
        values, more = np.array([4, 6]), (np.array([6, 4]),)
    else:
        more = EXTRA.get(name, ())
    if name.endswith("acosh_") or name == "arccosh_":
        values = values + 1
    answers = []
    for library in (adjoint, torch):
        target = library.tensor(values.copy())
        rest = [map_arrays(library.tensor, value) for value in more]
        assert getattr(library, name)(target, *rest) is target
        answers.append(target.numpy())
    np.testing.assert_allclose(*answers, rtol=1e-6)


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_dropout", "feature_alpha_dropout"])
def test_inplace_dropout(name: str) -> None:
    """What is dropped is dropped in place, as the function that answers another tensor does."""
    adjoint.manual_seed(0)
    expected = getattr(adjoint, name)(adjoint.tensor(IMAGES), 0.5, True)
    adjoint.manual_seed(0)
    target = adjoint.tensor(IMAGES)
    assert getattr(adjoint, f"{name}_")(target, 0.5, True) is target
    np.testing.assert_array_equal(target.numpy(), expected.numpy())


def test_inplace_rrelu() -> None:
    """The slopes come from the generator that is given."""
    drawn = [
        adjoint.rrelu_(adjoint.tensor(X), 0.1, 0.3, True, adjoint.Generator().manual_seed(7))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(drawn[0].numpy(), drawn[1].numpy())
    assert not np.array_equal(drawn[0].numpy(), X)
