"""Training without a schedule: the parameters of training and of evaluation."""

import schedulefree
import torch
from beginnings import filled, normal, report

x, y = normal(16, 3), normal(16, 1, seed=1)
results = {}
for kind in ("AdamWScheduleFree", "SGDScheduleFree", "RAdamScheduleFree"):
    model = filled(
        torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    )
    optimizer = getattr(schedulefree, kind)(model.parameters(), lr=0.05, foreach=False)
    optimizer.train()
    losses = []
    for _ in range(10):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    optimizer.eval()
    results[kind] = [losses, model(x)]
report(**results)
