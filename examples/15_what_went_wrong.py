"""A map is drawn from distances, after four mistakes: what adjoint says of each."""

import sys
from pathlib import Path

from matplotlib.figure import Figure
from tqdm import tqdm

import adjoint
from adjoint import explain, linalg, optim

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 300
OUTPUT = Path("demo_output")

adjoint.manual_seed(0)
angle = adjoint.arange(24) * 0.5
towns = adjoint.stack([angle.cos(), angle.sin()], 1) * angle[:, None]  # along a spiral
wanted = adjoint.cdist(towns, towns)


def distances(places, least=0.0):
    """Between each two places."""
    return ((places[:, None] - places).square().sum(-1) + least).sqrt()


def stress(found):
    """How far distances are from those wanted."""
    return (found - wanted).square().mean()


def fails(action):
    """Do what can't be done, and print the error with the notes that it carries."""
    try:
        action()
    except RuntimeError as error:
        print(error, *error.__notes__, sep="\n")


places = adjoint.randn(24, 2, requires_grad=True)

print("1. Why does no gradient come?")
fixed = places.detach()
print(explain(fixed), explain(places), sep="\n")

print("\n2. A result that backward needs was changed in place: where?")
found = distances(places)
loss = stress(found)
found += 1e-6
fails(loss.backward)
print(explain(loss))

print("\n3. The loss is fine, and its gradient is NaN: since which step?")
loss = stress(distances(places))
with adjoint.autograd.set_detect_anomaly(True):
    fails(loss.backward)
assert places.grad is None  # a backward that fails changes nothing

print("\n4. A second backward: what has freed the graph?")
loss = stress(distances(places, 1e-12))  # now the root of 0 on the diagonal is avoided
loss.backward()
fails(loss.backward)

optimizer = optim.Adam([places], lr=0.3)
losses = []
for _ in (progress := tqdm(range(STEPS), unit="step")):
    optimizer.zero_grad()
    loss = stress(distances(places, 1e-12))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    progress.set_postfix(stress=f"{losses[-1]:.1e}")

# Distances say nothing of position and rotation: those of the towns are taken for the picture.
drawn = (places - places.mean(0)).detach()
u, _, vh = linalg.svd(drawn.T @ towns)
drawn = drawn @ u @ vh + towns.mean(0)
OUTPUT.mkdir(exist_ok=True)
figure = Figure(figsize=(8, 4), layout="constrained")
left, right = figure.subplots(1, 2)
left.semilogy(losses)
left.set(xlabel="step", ylabel="stress")
right.plot(*towns.T, "o", fillstyle="none")
right.plot(*drawn.T, ".-")
right.set(aspect="equal", title="circles: the towns; line: drawn from distances")
figure.savefig(OUTPUT / "what_went_wrong.png", dpi=150)

print(f"relative stress {(losses[-1] / wanted.square().mean().item()) ** 0.5:.2e}")
print(f"picture {OUTPUT / 'what_went_wrong.png'}")
