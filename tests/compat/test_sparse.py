"""Sparse tensors are dense ones, with PyTorch's products and gradients."""

import adjoint.compat.torch as compat

INDICES = [[0, 1, 1, 0], [2, 0, 2, 2]]
VALUES = [3.0, 4.0, 5.0, 0.5]


def graph(torch):
    """A product with a sparse matrix, and the gradients of both factors."""
    values = torch.tensor(VALUES, requires_grad=True)
    matrix = torch.sparse_coo_tensor(torch.tensor(INDICES), values, (2, 3))
    other = torch.arange(6.0).reshape(3, 2).requires_grad_()
    product = torch.sparse.mm(matrix, other)
    (product * product).sum().backward()
    coalesced = matrix.detach().coalesce()
    return (
        product.tolist(),
        values.grad.tolist(),
        other.grad.tolist(),
        matrix.to_dense().tolist(),
        coalesced.indices().tolist(),
        coalesced.values().tolist(),
        coalesced._nnz(),
        torch.spmm(matrix, other).tolist(),
        torch.sparse.FloatTensor(torch.tensor(INDICES), torch.tensor(VALUES)).to_dense().tolist(),
        torch.eye(2).to_sparse().to_dense().tolist(),
        torch.sparse_coo_tensor((2, 3)).to_dense().tolist(),
    )


def test_products_and_gradients(torch):
    assert graph(compat) == graph(torch)
