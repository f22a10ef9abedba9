"""Learning rates that warm up."""

import pytorch_warmup
import torch
from beginnings import filled, report

results = {}
for name in ("LinearWarmup", "ExponentialWarmup"):
    optimizer = torch.optim.AdamW(filled(torch.nn.Linear(2, 1)).parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    warmup = getattr(pytorch_warmup, name)(optimizer, warmup_period=5)
    rates = []
    for _ in range(12):
        optimizer.step()
        rates.append(optimizer.param_groups[0]["lr"])
        with warmup.dampening():
            schedule.step()
    results[name] = rates
report(**results)
