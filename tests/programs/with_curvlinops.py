"""Products of a network's curvature matrices with vectors."""

import torch
from beginnings import filled, normal, report
from curvlinops import EFLinearOperator, GGNLinearOperator, HessianLinearOperator

model = filled(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)))
parameters = list(model.parameters())
data = [(normal(5, 3), torch.tensor([0, 1, 1, 0, 1])), (normal(4, 3, seed=1), torch.tensor([1, 0, 0, 1]))]
loss = torch.nn.CrossEntropyLoss()
vector = normal(sum(p.numel() for p in model.parameters()), seed=2)
results = {}
for kind in (HessianLinearOperator, GGNLinearOperator, EFLinearOperator):
    operator = kind(model, loss, parameters, data, check_deterministic=False)
    results[kind.__name__] = operator @ vector
report(**results)
