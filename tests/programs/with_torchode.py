"""Differential equations of a batch, each with steps of its own, and their gradients."""

import torch
import torchode
from beginnings import filled, normal, report

layer = filled(torch.nn.Linear(2, 2))
term = torchode.ODETerm(lambda t, y: torch.tanh(layer(y)) * (1 + t[:, None]))
found = {}
for name, method in {"dopri5": torchode.Dopri5, "tsit5": torchode.Tsit5}.items():
    controller = torchode.IntegralController(atol=1e-6, rtol=1e-3, term=term)
    solver = torchode.AutoDiffAdjoint(method(term=term), controller)
    start, times = normal(3, 2).requires_grad_(), torch.linspace(0, 1, 5).repeat(3, 1)
    solved = solver.solve(torchode.InitialValueProblem(y0=start, t_eval=times))
    layer.zero_grad()
    solved.ys.sum().backward()
    found[name] = [solved.ys, start.grad, layer.weight.grad, solved.stats["n_steps"]]
report(**found)
