"""The loss curves of torch-optimizer's optimisers on a small regression."""

import torch
import torch_optimizer
from beginnings import filled, normal, report

NAMES = [
    "A2GradExp",
    "A2GradInc",
    "A2GradUni",
    "AccSGD",
    "AdaBelief",
    "AdaBound",
    "AdaMod",
    "Adafactor",
    "AdamP",
    "AggMo",
    "Apollo",
    "DiffGrad",
    "LARS",
    "Lamb",
    "MADGRAD",
    "NovoGrad",
    "PID",
    "QHAdam",
    "QHM",
    "RAdam",
    "SGDP",
    "SGDW",
    "SWATS",
    "Shampoo",
    "Yogi",
]
x, y = normal(16, 3), normal(16, 1, seed=1)
curves = {}
for name in NAMES:
    model = filled(
        torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
    )
    kind = getattr(torch_optimizer, name)
    options = {} if name.startswith(("A2", "Adafactor")) else {"lr": 0.01}
    optimizer = kind(model.parameters(), **options)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    curves[name] = losses
report(**curves)
