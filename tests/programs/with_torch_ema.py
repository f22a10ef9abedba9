"""An average of the parameters that training passes through."""

import torch
from beginnings import filled, normal, report
from torch_ema import ExponentialMovingAverage

model = filled(torch.nn.Linear(4, 2))
x, y = normal(8, 4), normal(8, 2, seed=1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
average = ExponentialMovingAverage(model.parameters(), decay=0.9)
for _ in range(10):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update()
with average.average_parameters():
    averaged = model(x)
report(last=model(x), averaged=averaged, shadows=average.shadow_params)
