"""Structured matrices: products, solutions and determinants, with gradients."""

import linear_operator
import torch
from beginnings import normal, report
from linear_operator.operators import (
    DiagLinearOperator,
    KroneckerProductLinearOperator,
    ToeplitzLinearOperator,
    to_linear_operator,
)

base = normal(4, 4).double()
matrix = (base @ base.mT + torch.eye(4, dtype=torch.float64)).requires_grad_()
diagonal = torch.arange(1.0, 5.0, dtype=torch.float64).requires_grad_()
right = normal(4, 2, seed=1).double()
operator = to_linear_operator(matrix) + DiagLinearOperator(diagonal)
with linear_operator.settings.fast_computations(False, False, False):
    solution = operator.solve(right)
    determinant = operator.logdet()
gradients = torch.autograd.grad(solution.sum() + determinant, [matrix, diagonal])
kronecker = KroneckerProductLinearOperator(to_linear_operator(matrix), to_linear_operator(base))
toeplitz = ToeplitzLinearOperator(torch.tensor([4.0, 1.0, 0.5, 0.1], dtype=torch.float64))
report(
    solution=solution,
    determinant=determinant,
    gradients=gradients,
    kronecker=kronecker @ normal(16, 1, seed=3).double(),
    toeplitz=toeplitz @ right,
    dense=operator.to_dense(),
    cholesky=operator.cholesky().to_dense(),
)
