"""Contractions whose order opt_einsum chooses."""

import opt_einsum
from beginnings import normal, report

a, b, c = (normal(*shape, seed=i) for i, shape in enumerate([(3, 4), (4, 5, 6), (6, 3, 2)]))
for operand in (a, b, c):
    operand.requires_grad_()
result = opt_einsum.contract("ij,jkl,lin->kn", a, b, c)
result.sin().sum().backward()
expression = opt_einsum.contract_expression("ij,jkl,lin->", a.shape, b.shape, c.shape)
path, facts = opt_einsum.contract_path("ij,jkl,lin->kn", a, b, c)
report(
    result=result,
    total=expression(a, b, c, backend="torch"),
    path=path,
    cost=int(facts.opt_cost),
    gradients=[a.grad, b.grad, c.grad],
)
