"""Products of a sparse matrix with many dense ones at once."""

import math

import pytest

import adjoint


@pytest.mark.parametrize("convert", ["to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize(
    ("shape", "product"),
    [
        ((4, 3, 2), lambda matrix, many: matrix @ many),
        ((2, 4, 3, 2), lambda matrix, many: matrix @ many),
        ((4, 5, 2), lambda matrix, many: many @ matrix),
        ((2, 2, 5, 2), lambda matrix, many: many @ matrix),
    ],
)
def test_a_sparse_matrix_times_many_dense_ones(convert, shape, product):
    kept = adjoint.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], dtype=adjoint.float64)
    first = adjoint.linspace(-1, 1, math.prod(shape), dtype=adjoint.float64).reshape(shape)
    gradients = []
    for matrix in (getattr(kept, convert)().requires_grad_(), kept.clone().requires_grad_()):
        many = first.clone().requires_grad_()
        result = product(matrix, many)
        result.square().sum().backward()
        gradients.append((result, many.grad, matrix.grad.to_dense() * (kept != 0)))
    for ours, wanted in zip(*gradients, strict=True):
        assert adjoint.allclose(ours, wanted)


def test_a_sparse_matrix_meets_a_batch():
    matrix = adjoint.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    kept = matrix.to_sparse()
    many = adjoint.arange(12.0).reshape(2, 3, 2)
    assert adjoint.allclose(adjoint.vmap(lambda x: kept @ x)(many), matrix @ many)
    rows = many.transpose(1, 2)
    assert adjoint.allclose(adjoint.vmap(lambda x: x @ kept.t())(rows), rows @ matrix.t())
