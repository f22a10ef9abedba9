"""Several losses at once: the Jacobian of all, and one direction that harms none."""

import torch
from beginnings import filled, normal, report
from torchjd.aggregation import MGDA, Mean, UPGrad
from torchjd.autojac import backward, jac_to_grad

results = {}
x, y = normal(8, 3), normal(8, 2, seed=1)
for name, aggregator in {"mgda": MGDA(), "mean": Mean()}.items():
    model = filled(torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2)))
    losses = (model(x) - y).pow(2).mean(0)
    backward(losses)
    jac_to_grad(model.parameters(), aggregator)
    results[name] = [parameter.grad for parameter in model.parameters()]
report(**results)
