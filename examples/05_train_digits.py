"""Train a classifier of handwritten digits; leave a learning curve and a picture of its graph."""

import sys
from itertools import pairwise
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

import adjoint
from adjoint.nn.functional import cross_entropy, linear
from adjoint.viz import draw_graph

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
OUTPUT = Path("demo_output")

images, labels = load_digits(return_X_y=True)
parts = train_test_split(images / 16, labels, test_size=0.2, random_state=0, stratify=labels)
x, x_test = (adjoint.tensor(part, dtype=adjoint.float32) for part in parts[:2])
y, y_test = (adjoint.tensor(part) for part in parts[2:])

# Sizes and weight decay were chosen on a part of the training data, not on the test data.
adjoint.manual_seed(0)
layers = []
for inputs, outputs in pairwise((64, 256, 128, 10)):
    weight = adjoint.randn(outputs, inputs) * (2 / inputs) ** 0.5
    layers.append((weight.requires_grad_(), adjoint.zeros(outputs, requires_grad=True)))
parameters = [parameter for layer in layers for parameter in layer]
momenta = [adjoint.zeros_like(parameter) for parameter in parameters]


def logits(x):
    """The network: linear layers with relu between them."""
    for weight, bias in layers[:-1]:
        x = linear(x, weight, bias).relu()
    return linear(x, *layers[-1])


losses, accuracies = [], []
for epoch in (progress := tqdm(range(EPOCHS), unit="epoch")):
    for batch in adjoint.randperm(len(x)).split(32):
        loss = cross_entropy(logits(x[batch]), y[batch])
        loss.backward()
        with adjoint.no_grad():
            for parameter, momentum in zip(parameters, momenta, strict=True):
                momentum.mul_(0.9).add_(parameter.grad).add_(parameter, alpha=1e-3)
                parameter.sub_(momentum, alpha=0.1 * (1 - epoch / EPOCHS))
                parameter.grad = None
        losses.append(loss.item())
    with adjoint.no_grad():
        accuracies.append((logits(x_test).argmax(1) == y_test).float().mean().item())
    progress.set_postfix(loss=f"{losses[-1]:.4f}", test=f"{accuracies[-1]:.1%}")

OUTPUT.mkdir(exist_ok=True)
figure = Figure(figsize=(8, 4), layout="constrained")
left, right = figure.subplots(1, 2)
left.semilogy(losses, linewidth=0.5)
left.set(xlabel="step", ylabel="loss of a batch")
right.plot(range(1, EPOCHS + 1), accuracies)
right.set(xlabel="epoch", ylabel="test accuracy", ylim=(0.8, 1))
figure.savefig(OUTPUT / "learning_curve.png", dpi=150)
names = {f"{kind} {i}": t for i, layer in enumerate(layers, 1) for kind, t in zip("wb", layer)}
for suffix in ("svg", "png"):
    draw_graph(cross_entropy(logits(x), y), OUTPUT / f"backward_graph.{suffix}", names=names)

print(f"test accuracy  {accuracies[-1]:.2%}")
print(f"learning curve {OUTPUT / 'learning_curve.png'}")
print(f"backward graph {OUTPUT / 'backward_graph.svg'} (and .png)")
