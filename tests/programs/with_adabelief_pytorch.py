"""A regression trained with AdaBelief."""

import torch
from adabelief_pytorch import AdaBelief
from beginnings import filled, normal, report

model = filled(torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.SiLU(), torch.nn.Linear(8, 1)))
x, y = normal(16, 3), normal(16, 1, seed=1)
curves = []
for options in ({"rectify": True}, {"rectify": False, "amsgrad": True}, {"weight_decouple": False}):
    filled(model)
    optimizer = AdaBelief(
        model.parameters(), lr=1e-2, eps=1e-8, weight_decay=1e-2, print_change_log=False, **options
    )
    losses = []
    for _ in range(10):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    curves.append(losses)
report(curves=curves, parameters=list(model.parameters()))
