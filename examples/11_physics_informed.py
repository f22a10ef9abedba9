"""A network is trained to satisfy the heat equation, and so becomes its solution.

A rod of length 1 has the temperature sin(pi x) at first and 0 at its ends, and inside it holds that
du/dt = d2u/dx2 / 10. The exact solution is known, and only used to measure the error in the end.
"""

import sys
from math import pi
from pathlib import Path

from matplotlib.figure import Figure
from tqdm import tqdm

import adjoint
from adjoint import nn, optim
from adjoint.autograd import grad

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
CONDUCTIVITY = 0.1
OUTPUT = Path("demo_output")

adjoint.manual_seed(0)
adjoint.set_default_dtype(adjoint.float64)
model = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
inside = adjoint.rand(500, 2, requires_grad=True)  # pairs of x and t
edge = adjoint.rand(100)
zeros = adjoint.zeros_like(edge)
start = adjoint.stack([edge, zeros], 1)
ends = adjoint.cat([adjoint.stack([zeros, edge], 1), adjoint.stack([zeros + 1, edge], 1)])


def residual(xt):
    """By how much the network fails to satisfy the equation at each point."""
    u = model(xt)
    (slope,) = grad(u.sum(), xt, create_graph=True)
    (curvature,) = grad(slope[:, 0].sum(), xt, create_graph=True)
    return slope[:, 1] - CONDUCTIVITY * curvature[:, 0]


def closure():
    """The loss, with the gradients of the parameters."""
    optimizer.zero_grad()
    equation = residual(inside).square().mean()
    initial = (model(start)[:, 0] - (pi * edge).sin()).square().mean()
    boundary = model(ends).square().mean()
    loss = equation + 10 * (initial + boundary)
    loss.backward()
    return loss


optimizer = optim.LBFGS(model.parameters(), max_iter=20, line_search_fn="strong_wolfe")
losses = []
for _ in (progress := tqdm(range(STEPS), unit="step")):
    losses.append(optimizer.step(closure).item())
    progress.set_postfix(loss=f"{losses[-1]:.1e}")

x, t = adjoint.meshgrid(*[adjoint.linspace(0, 1, 61)] * 2, indexing="xy")
exact = (-CONDUCTIVITY * pi**2 * t).exp() * (pi * x).sin()
with adjoint.no_grad():
    found = model(adjoint.stack([x, t], -1))[..., 0]
error = ((found - exact).norm() / exact.norm()).item()

OUTPUT.mkdir(exist_ok=True)
figure = Figure(figsize=(11, 3), layout="constrained")
panels = {"learned": found, "exact": exact, "difference": found - exact}
for axes, (title, values) in zip(figure.subplots(1, 3), panels.items()):
    image = axes.imshow(values, origin="lower", extent=(0, 1, 0, 1), cmap="inferno")
    axes.set(title=title, xlabel="x", ylabel="t")
    figure.colorbar(image, ax=axes)
figure.savefig(OUTPUT / "physics_informed.png", dpi=150)

print(f"relative error {error:.2e}")
print(f"picture {OUTPUT / 'physics_informed.png'}")
