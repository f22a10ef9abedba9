"""A neural ODE: the solution, its gradients by backpropagation and by the adjoint method."""

import torch
from beginnings import filled, normal, report
from torchdiffeq import odeint, odeint_adjoint, odeint_event


class Field(torch.nn.Module):
    """The derivative of the state."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
        )

    def forward(self, t, y):
        return self.net(y**3) * torch.cos(t)


field = filled(Field()).double()
times = torch.linspace(0.0, 1.5, 6, dtype=torch.float64)
start = normal(3, 2, seed=1).double().requires_grad_()
results = {}
for method in ("rk4", "dopri5", "adaptive_heun", "euler"):
    solution = odeint(field, start, times, method=method, rtol=1e-4, atol=1e-5)
    loss = solution[-1].pow(2).sum()
    gradients = torch.autograd.grad(loss, [start, *field.parameters()])
    results[method] = [solution, *gradients]
solution = odeint_adjoint(field, start, times, method="dopri5", rtol=1e-6, atol=1e-7)
gradients = torch.autograd.grad(solution[-1].pow(2).sum(), [start, *field.parameters()])
results["adjoint"] = [solution, *gradients]
hit_time, hit = odeint_event(
    lambda t, y: torch.stack([y[1], torch.full_like(y[1], -9.8)]),
    torch.tensor([1.0, 0.0], dtype=torch.float64),
    torch.tensor(0.0, dtype=torch.float64),
    event_fn=lambda t, y: y[0],
    method="dopri5",
)
report(**results, event=[hit_time, hit])
