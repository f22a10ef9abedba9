"""Tangents of what is arbitrary in part: vectors up to a phase, draws, paths of labels.

No difference quotient meets these. Their tangents are held against the vjp differentiated twice,
for one and the same result, and against what does not depend on the choice.
"""

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor
from adjoint.autograd import forward_ad as fw
from adjoint.autograd.forward_rules import pushed, through_vjp
from adjoint.ops.op import TABLE, Op
from adjoint.ops.sampling.implicit import standard_dirichlet, standard_gamma
from adjoint.tensors.tensor import AS_IS
from adjoint.testing import assert_close, flatten

both_kinds = pytest.mark.parametrize("kind", ["real", "complex"])


def drawn(shape: tuple[int, ...], kind: str, seed: int = 0) -> Tensor:
    """Numbers of a floating or complex type."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    return Tensor(values + 1j * rng.standard_normal(shape) if kind == "complex" else values, AS_IS)


def agree(op: Op, tensor: Tensor, tangent: Tensor, *others: Any) -> None:
    """The rule of an op says what its vjp, differentiated, says."""
    args = op.bind((tensor, *others), {})
    tangents = [tangent, *[None] * (len(args) - 1)]
    found = pushed(op, args, tangents)[1]
    expected = through_vjp(op, args, tangents)[1]
    for one, other in zip(flatten(found), flatten(expected), strict=True):
        if other is not None:
            assert_close(one.numpy(), other.numpy(), 1e-9, 1e-9)


@both_kinds
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 2, 2)])
@pytest.mark.parametrize("name", ["linalg_svd", "linalg_qr", "linalg_lu_factor"])
def test_factorizations(name: str, shape: tuple[int, ...], kind: str) -> None:
    others = (False,) if name == "linalg_svd" else ()
    agree(TABLE[name], drawn(shape, kind), drawn(shape, kind, 1), *others)


@both_kinds
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4)])
@pytest.mark.parametrize("name", ["linalg_eig"])
def test_eigenvalues(name: str, shape: tuple[int, ...], kind: str) -> None:
    agree(TABLE[name], drawn(shape, kind), drawn(shape, kind, 1))


@both_kinds
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("full", [False, True])
def test_products_move_with_the_matrix(shape: tuple[int, ...], kind: str, full: bool) -> None:
    matrix, tangent = drawn(shape, kind), drawn(shape, kind, 1)
    rank = min(shape)
    with fw.dual_level():
        dual = fw.make_dual(matrix, tangent)
        U, S, Vh = adjoint.linalg.svd(dual, full)
        product = U[:, :rank] * S @ Vh[:rank]
        assert_close(fw.unpack_dual(product).tangent.numpy(), tangent.numpy(), 1e-9, 1e-9)
        P, L, R = adjoint.linalg.lu(dual)
        assert_close(fw.unpack_dual(P @ L @ R).tangent.numpy(), tangent.numpy(), 1e-9, 1e-9)
        Q, R = adjoint.linalg.qr(dual)
        assert_close(fw.unpack_dual(Q @ R).tangent.numpy(), tangent.numpy(), 1e-9, 1e-9)
        unit = fw.unpack_dual(adjoint.matmul(Q.mH, Q)).tangent.numpy()
        assert_close(unit, np.zeros_like(unit), 1e-9, 1e-9)


@both_kinds
def test_eigenvectors_keep_their_norm(kind: str) -> None:
    matrix, tangent = drawn((3, 3), kind), drawn((3, 3), kind, 1)
    with fw.dual_level():
        dual = fw.make_dual(matrix, tangent)
        values, vectors = adjoint.linalg.eig(dual)
        moved = dual.to(vectors.dtype) @ vectors - vectors * values
        left = fw.unpack_dual(moved).tangent.numpy()
        assert_close(left, np.zeros_like(left), 1e-9, 1e-9)
        norms = fw.unpack_dual((vectors * vectors.conj()).real.sum(0)).tangent.numpy()
        assert_close(norms, np.zeros(3), 1e-9, 1e-9)


def test_singular_values_beside_pytorch(torch: Any) -> None:
    matrix, tangent = drawn((4, 3), "real"), drawn((4, 3), "real", 1)
    found = []
    for library in (adjoint, torch):
        ad = library.autograd.forward_ad
        with ad.dual_level():
            pair = [
                library.tensor(each.tolist(), dtype=library.float64) for each in (matrix, tangent)
            ]
            U, S, _ = library.linalg.svd(ad.make_dual(*pair), full_matrices=True)
            found.append(
                [ad.unpack_dual(S).tangent.tolist(), abs(ad.unpack_dual(U).tangent).tolist()]
            )
    assert_close(np.array(found[0][0]), np.array(found[1][0]), 1e-9, 1e-9)
    assert_close(np.array(found[0][1]), np.array(found[1][1]), 1e-9, 1e-9)


@pytest.mark.parametrize("op", [standard_gamma, standard_dirichlet])
def test_draws_that_move_with_their_parameters(op: Op) -> None:
    shape, tangent = (
        Tensor(np.array([[0.7, 1.5, 3.0]]), AS_IS),
        Tensor(np.array([[1.0, -2.0, 0.5]]), AS_IS),
    )
    answers = []
    for push in (pushed, through_vjp):
        adjoint.manual_seed(3)
        answers.append(push(op, [shape, None], [tangent, None]))
    (first, moved), (second, expected) = answers
    assert first.tolist() == second.tolist()
    assert_close(moved.numpy(), expected.numpy(), 1e-9, 1e-9)


def test_other_draws_rest() -> None:
    with fw.dual_level():
        chances = fw.make_dual(adjoint.tensor([0.2, 0.7]), adjoint.ones(2))
        draws = [chances.bernoulli(), adjoint.poisson(chances), adjoint.normal(chances, 1.0)]
        draws += [chances.clone().uniform_(), chances.clone().normal_(), chances.clone().random_()]
        for draw in draws:
            assert fw.unpack_dual(draw).tangent.tolist() == [0.0, 0.0]


def test_paths_of_labels() -> None:
    scores, tangent = drawn((5, 2, 4), "real"), drawn((5, 2, 4), "real", 1)
    targets = adjoint.tensor([[1, 2], [3, 3]])

    def loss(scores: Any) -> Any:
        given = (targets, adjoint.tensor([5, 4]), adjoint.tensor([2, 1]))
        return adjoint.nn.functional.ctc_loss(scores.log_softmax(-1), *given, reduction="none")

    with fw.dual_level():
        found = fw.unpack_dual(loss(fw.make_dual(scores, tangent))).tangent
    step = 1e-5
    difference = (loss(scores + tangent * step) - loss(scores - tangent * step)) / (2 * step)
    assert_close(found.numpy(), difference.numpy(), 1e-6, 1e-7)
