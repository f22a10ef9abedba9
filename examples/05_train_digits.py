"""Train a classifier of handwritten digits; leave a learning curve and a picture of its graph."""

import sys
from pathlib import Path

import digits
from matplotlib.figure import Figure
from tqdm import tqdm

import adjoint
from adjoint import nn, optim
from adjoint.utils.data import DataLoader
from adjoint.viz import draw_graph

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
OUTPUT = Path("demo_output")

adjoint.manual_seed(0)
train, test = digits.load()
x_test, y_test = test.tensors
loader = DataLoader(train, batch_size=32, shuffle=True)

# Sizes and weight decay were chosen on a part of the training data, not on the test data.
model = nn.Sequential(
    nn.Flatten(),
    nn.Linear(64, 256),
    nn.ReLU(),
    nn.Linear(256, 128),
    nn.ReLU(),
    nn.Linear(128, 10),
)
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
scheduler = optim.lr_scheduler.LinearLR(optimizer, 1.0, 1 / EPOCHS, total_iters=EPOCHS - 1)

losses, accuracies = [], []
for _ in (progress := tqdm(range(EPOCHS), unit="epoch")):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    with adjoint.no_grad():
        accuracies.append((model(x_test).argmax(1) == y_test).float().mean().item())
    progress.set_postfix(loss=f"{losses[-1]:.4f}", test=f"{accuracies[-1]:.1%}")

OUTPUT.mkdir(exist_ok=True)
figure = Figure(figsize=(8, 4), layout="constrained")
left, right = figure.subplots(1, 2)
left.semilogy(losses, linewidth=0.5)
left.set(xlabel="step", ylabel="loss of a batch")
right.plot(range(1, EPOCHS + 1), accuracies)
right.set(xlabel="epoch", ylabel="test accuracy", ylim=(0.8, 1))
figure.savefig(OUTPUT / "learning_curve.png", dpi=150)
loss = criterion(model(x_test), y_test)
for suffix in ("svg", "png"):
    path = OUTPUT / f"backward_graph.{suffix}"
    draw_graph(loss, path, names=dict(model.named_parameters()))

print(f"test accuracy  {accuracies[-1]:.2%}")
print(f"learning curve {OUTPUT / 'learning_curve.png'}")
print(f"backward graph {OUTPUT / 'backward_graph.svg'} (and .png)")
