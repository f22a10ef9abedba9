"""Products with matrices of curvature that are never made."""

import torch
from beginnings import filled, normal, report
from curvlinops import EFLinearOperator, GGNLinearOperator, HessianLinearOperator
from torch import nn

model = filled(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)))
data = [
    (normal(5, 3), torch.tensor([0, 1, 0, 1, 1])),
    (normal(3, 3, seed=1), torch.tensor([1, 0, 1])),
]
found = {}
for kind in (HessianLinearOperator, GGNLinearOperator, EFLinearOperator):
    matrix = kind(model, nn.CrossEntropyLoss(), list(model.parameters()), data)
    found[kind.__name__] = [matrix @ normal(26), matrix @ normal(26, 2, seed=1)]
report(**found)
