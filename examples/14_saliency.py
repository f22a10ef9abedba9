"""Which pixels made the network say so? Three saliency maps, each by a hook of another kind."""

import sys
from collections import OrderedDict
from functools import partial
from pathlib import Path

import digits
from matplotlib.figure import Figure
from tqdm import tqdm

import adjoint
from adjoint import nn, optim
from adjoint.autograd import graph
from adjoint.utils.data import DataLoader

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 10
OUTPUT = Path("demo_output")

adjoint.manual_seed(0)
train, test = digits.load()
layers = OrderedDict(
    conv1=nn.Conv2d(1, 16, 3, padding=1),
    relu1=nn.ReLU(),
    conv2=nn.Conv2d(16, 32, 3, padding=1),
    relu2=nn.ReLU(),
    flatten=nn.Flatten(),
    classifier=nn.Linear(32 * 8 * 8, 10),
)
model = nn.Sequential(layers)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=2e-3)
loader = DataLoader(train, batch_size=32, shuffle=True)
for _ in (progress := tqdm(range(EPOCHS), unit="epoch")):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    progress.set_postfix(loss=f"{loss.item():.4f}")

images, labels = test.tensors
images.requires_grad_()
maps = {}


def backward_from_scores():
    """One pass from the scores of the right classes to the pixels."""
    print("hooks:", [f"{hook.kind} {hook.name!r}" for hook in graph.hooks()])
    model(images).gather(1, labels[:, None]).sum().backward()


def watch(module, args, output):
    """A forward hook that asks for the gradient of what the layer gave, once."""
    output.register_hook(partial(class_activation, output.detach()), once=True)


def class_activation(output, grad):
    """A tensor hook: what each place of the layer has added to the score."""
    maps["activation"] = (output * grad).sum(1).relu()


def positive(module, grad_input, grad_output):
    """A backward hook: what speaks against the class is not followed further back."""
    return (grad_input[0].clamp(min=0),)


# Hooks that are once-only need no handle: after the pass they are gone.
images.register_hook(partial(maps.__setitem__, "gradient"), name="pixels", once=True)
model.relu2.register_forward_hook(watch, name="activation", once=True)
backward_from_scores()

for layer in (model.relu1, model.relu2):
    layer.register_full_backward_hook(positive, name="guided")
images.register_hook(partial(maps.__setitem__, "guided"), name="pixels", once=True)
backward_from_scores()
print("removed:", graph.remove_hooks())
assert not graph.hooks()


def accuracy_without(importance):
    """How often the network is right when the eight most important pixels are blank."""
    pixels = images.detach().flatten(1)
    blanked = pixels.scatter(1, (importance.flatten(1) * pixels).topk(8).indices, 0)
    return (model(blanked.reshape(-1, 1, 8, 8)).argmax(1) == labels).float().mean().item()


OUTPUT.mkdir(exist_ok=True)
figure = Figure(figsize=(10, 5), layout="constrained")
rows = {"image": images.detach(), **maps}
for line, (title, row) in zip(figure.subplots(4, 8), rows.items()):
    line[0].set_ylabel(title)
    for axes, picture in zip(line, row):
        axes.imshow(picture.reshape(8, 8).relu(), cmap="gray_r" if title == "image" else "inferno")
        axes.set(xticks=[], yticks=[])
figure.savefig(OUTPUT / "saliency.png", dpi=150)
print(f"accuracy without random pixels  {accuracy_without(adjoint.rand(images.shape)):.1%}")
for title, importance in maps.items():
    print(f"accuracy without {title:14} {accuracy_without(importance):.1%}")
print(f"picture {OUTPUT / 'saliency.png'}")
