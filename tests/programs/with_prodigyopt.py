"""An optimiser that finds its own rate."""

import torch
from beginnings import filled, normal, report
from prodigyopt import Prodigy

model = filled(torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)))
x, y = normal(16, 3), normal(16, 1, seed=1)
optimizer = Prodigy(model.parameters(), lr=1.0, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
losses, distances = [], []
for _ in range(20):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
    distances.append(float(optimizer.param_groups[0]["d"]))
report(losses=losses, distances=distances)
