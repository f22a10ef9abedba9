"""A model that follows another one."""

import torch
from beginnings import filled, normal, report
from ema_pytorch import EMA

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
filled(model)
follower = EMA(model, beta=0.9, update_after_step=2, update_every=2)
x, y = normal(8, 3), normal(8, 1, seed=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follower.update()
model.eval(), follower.eval()
report(model=model(x), follower=follower(x), state=list(follower.state_dict()))
