"""Gradients through the steps of an optimiser, and optimisers as functions."""

import torch
import torchopt
from beginnings import filled, normal, report
from torch import nn

x, y = normal(8, 3), normal(8, 1, seed=1)
model = filled(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)))
inner, scale = torchopt.MetaAdam(model, lr=1e-2), nn.Parameter(torch.tensor(1.5))
for _ in range(3):
    inner.step(((model(x) - y) ** 2 * scale).mean())
outer = ((model(x) - y) ** 2).mean()
outer.backward()

plain = filled(nn.Linear(3, 1))
optimizer = torchopt.RMSProp(plain.parameters(), lr=1e-2)
for _ in range(3):
    optimizer.zero_grad()
    (plain(x) - y).pow(2).mean().backward()
    optimizer.step()

adam = torchopt.adam(lr=0.1)
weights = {"weight": normal(3, 1).requires_grad_()}
state = adam.init(weights)
for _ in range(3):
    loss = ((x @ weights["weight"] - y) ** 2).mean()
    gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values()))))
    updates, state = adam.update(gradients, state, inplace=False)
    changed = torchopt.apply_updates(weights, updates, inplace=False)
    weights = {name: value.detach().requires_grad_() for name, value in changed.items()}
report(outer=outer, scale=scale.grad, plain=list(plain.parameters()), weights=weights)
