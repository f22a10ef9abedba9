"""torchdyn: differential equations of networks, solved and trained."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report

operators = name_torchvision_operators()

from torchdyn.core import NeuralODE  # noqa: E402  # which imports torchvision
from torchdyn.numerics import odeint  # noqa: E402

field = filled(torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)))
x, span = normal(4, 2), torch.linspace(0, 1, 5)
results = {}
for solver in ("euler", "rk4", "dopri5"):
    for sensitivity in ("autograd", "adjoint"):
        field.zero_grad()
        model = NeuralODE(field, sensitivity=sensitivity, solver=solver, atol=1e-5, rtol=1e-5)
        times, path = model(x, span)
        loss = path[-1].square().mean()
        loss.backward()
        results[f"{solver} {sensitivity}"] = [loss, [each.grad for each in field.parameters()]]
times, path = odeint(lambda t, y: -t * y, x, span, solver="tsit5", atol=1e-6, rtol=1e-6)
report(**results, path=path)
