"""Optimisers, one of them stepping inside the backward pass by hooks on parameters."""

import optimi
import torch
from beginnings import filled, normal, report


def network():
    return filled(
        torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    )


results = {}
for name in ("AdamW", "Adam", "Adan", "Lion", "RAdam", "Ranger", "SGD", "StableAdamW"):
    model = network()
    optimizer = getattr(optimi, name)(model.parameters(), lr=1e-2, decouple_lr=True)
    for step in range(3):
        optimizer.zero_grad()
        model(normal(5, 4, seed=step)).pow(2).sum().backward()
        optimizer.step()
    results[name] = [parameter.flatten()[:5] for parameter in model.parameters()]

model = network()
optimizer = optimi.AdamW(model.parameters(), lr=1e-2, gradient_release=True)
optimi.prepare_for_gradient_release(model, optimizer)
for step in range(2):
    model(normal(5, 4, seed=step)).pow(2).sum().backward()
report(
    **results,
    released=list(model.parameters()),
    kept=[parameter.grad is not None for parameter in model.parameters()],
)
