"""torchdeq: fixed points by three solvers, and gradients through hooks on them."""

import torch
from beginnings import filled, normal, report
from torch import nn
from torchdeq import get_deq

layer = filled(nn.Linear(5, 5))
with torch.no_grad():
    layer.weight.mul_(0.3)
x = normal(3, 5).requires_grad_()
WAYS = {
    "iteration": {"f_solver": "fixed_point_iter", "b_solver": "fixed_point_iter"},
    "anderson": {"f_solver": "anderson", "b_solver": "anderson"},
    "broyden": {"f_solver": "broyden", "b_solver": "broyden"},
    "phantom": {"ift": False, "grad": 3},
    "implicit": {"ift": True},
}
results = {}
for name, options in WAYS.items():
    layer.zero_grad()
    x.grad = None
    limits = {"f_max_iter": 40, "b_max_iter": 40, "f_tol": 1e-6, "b_tol": 1e-6}
    equilibrium = get_deq(**limits, **options)
    found, _ = equilibrium(lambda z: torch.tanh(layer(z) + x), torch.zeros(3, 5))
    found[-1].pow(2).sum().backward()
    results[name] = [found[-1], x.grad, layer.weight.grad]
report(**results)
