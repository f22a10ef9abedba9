"""Two optimisers that find their rate from distances, and the average of their steps."""

import torch
from beginnings import filled, normal, report
from dog import DoG, LDoG, PolynomialDecayAverager
from torch import nn

found = {}
for kind in (DoG, LDoG):
    network = filled(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)))
    optimizer, average = kind(network.parameters()), PolynomialDecayAverager(network)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(normal(6, 4, seed=1)), torch.arange(6) % 3)
        loss.backward()
        optimizer.step()
        average.step()
        losses.append(loss)
    parameters = [each.parameters() for each in (network, average.averaged_model)]
    found[kind.__name__] = [losses, [list(each) for each in parameters]]
report(**found)
