"""A network that satisfies Poisson's equation, by `func.laplacian`.

On the unit square the Laplacian of u is given, and u is 0 on the edges. The network is multiplied
by a function that is 0 there, so that only the equation must be learned; u is known, and only used
to measure the error.
"""

import sys
from math import pi

import adjoint
from adjoint import func, nn, optim

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20

adjoint.manual_seed(0)
adjoint.set_default_dtype(adjoint.float64)
model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
points = adjoint.rand(64, 2)


def u(point):
    """The network's answer at one point, a number."""
    return (point * (1 - point)).prod() * model(point)[0]


def exact(points):
    """The solution at all points."""
    return (pi * points).sin().prod(-1)


laplacians = func.vmap(func.laplacian(u))  # of one point, and so of many
given = -2 * pi**2 * exact(points)


def closure():
    """The loss, with the gradients of the parameters: backward as ever, outside the transforms."""
    optimizer.zero_grad()
    loss = (laplacians(points) - given).square().mean()
    loss.backward()
    return loss


optimizer = optim.LBFGS(model.parameters(), max_iter=10, line_search_fn="strong_wolfe")
for _ in range(STEPS):
    loss = optimizer.step(closure)
print(f"squared error of the equation {loss.item():.2e}")

others = adjoint.rand(200, 2)
with adjoint.no_grad():
    found = func.vmap(u)(others)
error = (found - exact(others)).norm() / exact(others).norm()
print(f"relative error {error.item():.2e}")
