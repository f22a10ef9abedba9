"""A stochastic differential equation with a noise that both libraries share."""

import numpy as np
import torch
import torchsde
from beginnings import filled, normal, report


class Path(torchsde.BaseBrownian):
    """A Brownian path interpolated between fixed points."""

    def __init__(self, size, steps):
        rng = np.random.default_rng(0)
        jumps = rng.normal(size=(steps, *size)) / np.sqrt(steps)
        self.points = torch.from_numpy(np.concatenate([np.zeros((1, *size)), jumps.cumsum(0)]))
        self.steps = steps

    def _at(self, t):
        place = min(float(t) * self.steps, self.steps - 1e-9)
        low = int(place)
        return self.points[low] + (place - low) * (self.points[low + 1] - self.points[low])

    def __call__(self, ta, tb=None, return_U=False, return_A=False):
        return self._at(tb) - self._at(ta)

    dtype, device = torch.float64, torch.device("cpu")
    shape = property(lambda self: self.points.shape[1:])
    levy_area_approximation = "none"

    def __repr__(self):
        return "Path"


class Equation(torch.nn.Module):
    """Drift and diffusion, each a small network."""

    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift, self.diffusion = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

    def f(self, t, y):
        return torch.tanh(self.drift(y))

    def g(self, t, y):
        return torch.sigmoid(self.diffusion(y))


equation = filled(Equation()).double()
start, times = normal(3, 2, seed=1).double(), torch.linspace(0, 1, 5, dtype=torch.float64)
results = {}
for method in ("euler", "milstein"):
    path = Path((3, 2), 64)
    solution = torchsde.sdeint(equation, start, times, bm=path, dt=1 / 64, method=method)
    gradients = torch.autograd.grad(solution[-1].pow(2).sum(), list(equation.parameters()))
    results[method] = [solution, gradients]
report(**results)
