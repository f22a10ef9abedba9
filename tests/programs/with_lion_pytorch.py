"""A regression trained with Lion."""

import torch
from beginnings import filled, normal, report
from lion_pytorch import Lion

model = filled(torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.GELU(), torch.nn.Linear(8, 1)))
x, y = normal(16, 3), normal(16, 1, seed=1)
optimizer = Lion(model.parameters(), lr=1e-2, weight_decay=0.1)
losses = []
for _ in range(12):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses=losses, parameters=list(model.parameters()))
