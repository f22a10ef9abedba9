"""Minimisers of pytorch-minimize, first and second order."""

import torch
import torchmin
from beginnings import report


def rosenbrock(x):
    """A narrow curved valley."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


start = torch.tensor([-1.2, 1.0, 0.8], dtype=torch.float64)
results = {}
for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "trust-ncg"):
    found = torchmin.minimize(rosenbrock, start, method=method, max_iter=15)
    results[method] = [found.x, found.fun, found.grad, int(found.nit)]
report(**results)
