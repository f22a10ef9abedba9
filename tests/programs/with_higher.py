"""Gradients through the steps of an optimiser: learning where to begin, and how fast to go."""

import higher
import torch
from beginnings import filled, normal, report

model = filled(torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)))
x, y = normal(10, 3), normal(10, 1, seed=1)
results = {}
for name, kind in {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
}.items():
    rate = torch.tensor(0.1, requires_grad=True)
    optimizer = kind(model.parameters())
    with higher.innerloop_ctx(
        model, optimizer, copy_initial_weights=False, override={"lr": [rate]}
    ) as (inner, steps):
        losses = []
        for _ in range(4):
            loss = torch.nn.functional.mse_loss(inner(x), y)
            steps.step(loss)
            losses.append(loss)
        final = torch.nn.functional.mse_loss(inner(x), y)
        gradients = torch.autograd.grad(final, [rate, *inner.parameters(time=0)])
    results[name] = [losses, final, gradients]
report(**results)
