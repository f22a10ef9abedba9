"""Bounds of a network's results by intervals and by linear functions, and training on them."""

import torch
from beginnings import filled, normal, report
from bound_propagation import BoundModelFactory, HyperRectangle
from torch import nn

network = filled(
    nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))
)
bounded = BoundModelFactory().build(network)
region = HyperRectangle.from_eps(normal(3, 4, seed=1), 0.1)
optimizer = torch.optim.SGD(network.parameters(), 0.01)
losses = []
for _ in range(3):
    optimizer.zero_grad()
    loss = bounded.ibp(region).upper.pow(2).sum()
    loss.backward()
    optimizer.step()
    losses.append(loss)
intervals, lines = bounded.ibp(region), bounded.crown(region).concretize()
report(
    losses=losses,
    intervals=[intervals.lower, intervals.upper],
    lines=[lines.lower, lines.upper],
    gradients=[parameter.grad for parameter in network.parameters()],
)
