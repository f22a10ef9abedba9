"""Channels that belong together, found by the graph of a forward and taken out."""

import torch
import torch_pruning
from beginnings import filled, normal, report
from torch import nn


class Residual(nn.Module):
    """A sum of two ways, whose channels must stay as many."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.last = nn.Linear(8, 4)

    def forward(self, x):
        hidden = torch.relu(self.norm(self.first(x)))
        return self.last((hidden + self.second(hidden)).mean((2, 3)))


model, x = filled(Residual()).eval(), normal(2, 3, 8, 8)
counted = torch_pruning.utils.count_ops_and_params(model, x)
pruner = torch_pruning.pruner.MagnitudePruner(
    model,
    x,
    importance=torch_pruning.importance.MagnitudeImportance(p=2),
    pruning_ratio=0.5,
    ignored_layers=[model.last],
)
pruner.step()
out = model(x)
out.sum().backward()
report(
    counted=list(counted),
    shapes=[list(parameter.shape) for parameter in model.parameters()],
    out=out,
    gradients=[parameter.grad for parameter in model.parameters()],
)
