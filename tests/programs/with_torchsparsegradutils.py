"""Products and solutions with sparse matrices whose gradients stay sparse, by Functions."""

import torch
from beginnings import normal, report
from torchsparsegradutils import sparse_generic_solve, sparse_mm
from torchsparsegradutils.utils import linear_cg

places = torch.tensor([[0, 1, 2, 2, 0], [0, 1, 2, 0, 2]])
numbers = torch.tensor([3.0, 2.0, 4.0, 0.5, 0.5])


def matrix(values):
    return torch.sparse_coo_tensor(places, values, (3, 3)).coalesce()


def product():
    values, right = numbers.clone().requires_grad_(), normal(3, 2).requires_grad_()
    answer = sparse_mm(matrix(values), right)
    answer.pow(2).sum().backward()
    return [answer, values.grad, right.grad]


def solution():
    values, right = numbers.clone().requires_grad_(), normal(3, 2).requires_grad_()
    answer = sparse_generic_solve(matrix(values), right, solve=linear_cg)
    answer.pow(2).sum().backward()
    return [answer, values.grad, right.grad]


report(product=product(), solution=solution())
