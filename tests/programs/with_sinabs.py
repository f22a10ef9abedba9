"""Spiking neurons by Functions of their own, and a network turned into one of them."""

import sinabs.layers
from beginnings import filled, normal, report
from sinabs.from_torch import from_model
from torch import nn

first, second = filled(nn.Linear(4, 8)), filled(nn.Linear(8, 2))
neurons = (sinabs.layers.LIF(tau_mem=10.0), sinabs.layers.IAF(), sinabs.layers.ExpLeak(tau_mem=5.0))
model = nn.Sequential(first, neurons[0], second, neurons[1], neurons[2])
x = (normal(2, 10, 4) * 2).requires_grad_()
y = model(x)
y.sum().backward()
plain = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
spiking = from_model(filled(plain), input_shape=(1, 6, 6), batch_size=1)
report(y=y, gradient=x.grad, spiking=spiking.spiking_model(normal(3, 1, 6, 6).relu()))
