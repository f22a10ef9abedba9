"""A neural ODE learns the law of a pendulum; the adjoint method is an autograd.Function."""

import sys
from pathlib import Path

from matplotlib.figure import Figure
from tqdm import tqdm

import adjoint
from adjoint import nn, optim
from adjoint.autograd import Function, grad

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 500
H, SPAN = 0.1, 20  # the step in time, and how many of them are in each piece to learn from
OUTPUT = Path("demo_output")


def runge_kutta(rates, state, h):
    """A tuple of tensors a time h later, or earlier if h is negative."""
    slopes = [rates(*state)]
    for part in (h / 2, h / 2, h):
        slopes.append(rates(*(s + part * slope for s, slope in zip(state, slopes[-1]))))
    return [s + h / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, *slopes)]


def solve(field, z, steps):
    """The states at the times 0, H, 2H, and so on."""
    states = [z]
    for _ in range(steps):
        states += runge_kutta(lambda z: (field(z),), states[-1:], H)
    return adjoint.stack(states)


class Solve(Function):
    """As solve, but forward keeps only the states, and backward solves an equation back in time."""

    @staticmethod
    def forward(ctx, field, z, steps, *parameters):
        states = solve(field, z, steps)
        ctx.field = field
        ctx.save_for_backward(states, *parameters)
        return states

    @staticmethod
    def backward(ctx, grads):
        states, *parameters = ctx.saved_tensors

        def rates(z, a, *_):
            with adjoint.enable_grad():
                slope = ctx.field(z.requires_grad_())
            products = grad(slope, (z, *parameters), -a)
            return slope.detach(), *products

        a, totals = grads[-1], [adjoint.zeros_like(p) for p in parameters]
        for z, here in zip(states[1:].flip(0), grads[:-1].flip(0)):
            _, a, *totals = runge_kutta(rates, (z, a, *totals), -H)
            a = a + here
        return None, a, None, *totals


def pendulum(z):
    """How an angle and its speed change, with a little friction."""
    angle, speed = z.unbind(-1)
    return adjoint.stack([speed, -angle.sin() - 0.1 * speed], -1)


adjoint.manual_seed(0)
first = adjoint.tensor([2.5, 0.0])
truth = solve(pendulum, first, 250)
field = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
parameters = list(field.parameters())
optimizer = optim.Adam(parameters, lr=3e-2)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
for _ in (progress := tqdm(range(STEPS), unit="step")):
    starts = adjoint.randint(len(truth) - SPAN, (64,))
    pieces = Solve.apply(field, truth[starts], SPAN, *parameters)
    loss = (pieces - truth[starts + adjoint.arange(SPAN + 1)[:, None]]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    progress.set_postfix(loss=f"{loss.item():.1e}")

learned = solve(field, first, 250)
both = (Solve.apply(field, first, 250, *parameters), learned)
found, recorded = (grad(states.square().mean(), parameters) for states in both)
difference = max(((a - b).norm() / b.norm()).item() for a, b in zip(found, recorded))
error = ((learned - truth).norm() / truth.norm()).item()

OUTPUT.mkdir(exist_ok=True)
figure = Figure(figsize=(8, 4), layout="constrained")
axes = figure.subplots()
axes.plot(truth.numpy(), "k:")
axes.plot(learned.detach().numpy())
axes.set(xlabel="step", title="angle and speed: exact (dotted), and learned (lines)")
figure.savefig(OUTPUT / "neural_ode.png", dpi=150)

print(f"the adjoint method differs from recorded steps by {difference:.1e}")
print(f"relative error {error:.2e}")
print(f"picture {OUTPUT / 'neural_ode.png'}")
