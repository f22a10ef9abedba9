"""An LSTM learns to remember: the sum of those numbers of a sequence that have a mark."""

import sys
from pathlib import Path

from matplotlib.figure import Figure
from tqdm import tqdm

import adjoint
from adjoint import nn, optim

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 600
LENGTH, WIDTH = 20, 32
OUTPUT = Path("demo_output")


class Adder(nn.Module):
    """At each place of a sequence of pairs, the sum of the marked ones until then."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, WIDTH, batch_first=True)
        self.sum = nn.Linear(WIDTH, 1)

    def forward(self, x):
        h, _ = self.lstm(x)
        return self.sum(h).squeeze(2)


def sequences(count):
    """Numbers, two in each sequence marked, and the sums that should come out."""
    numbers = adjoint.rand(count, LENGTH)
    places = adjoint.rand(count, LENGTH).argsort(1)[:, :2]
    marks = adjoint.zeros(count, LENGTH).scatter_(1, places, 1.0)
    return adjoint.stack([numbers, marks], 2), (numbers * marks).cumsum(1)


adjoint.manual_seed(0)
model = Adder()
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=2e-2)
losses = []
for _ in (progress := tqdm(range(STEPS), unit="step")):
    x, y = sequences(64)
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    progress.set_postfix(loss=f"{losses[-1]:.1e}")

x, y = sequences(1000)
y = y[:, -1]
with adjoint.no_grad():
    guess = model(x)[:, -1]
error = criterion(guess, y).item()
constant = y.var().item()  # the error of one who always says the mean

OUTPUT.mkdir(exist_ok=True)
figure = Figure(figsize=(8, 4), layout="constrained")
left, right = figure.subplots(1, 2)
left.semilogy(losses, linewidth=0.5)
left.axhline(constant, color="tab:gray", linestyle=":", label="always the mean")
left.set(xlabel="step", ylabel="squared error of a batch")
left.legend()
right.plot(y, guess, ".", markersize=2)
right.set(xlabel="sum", ylabel="what the network says")
figure.savefig(OUTPUT / "lstm.png", dpi=150)

print(f"squared error of the mean {constant:.4f}")
print(f"squared error learned     {error:.4f}")
print(f"picture {OUTPUT / 'lstm.png'}")
