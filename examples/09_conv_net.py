"""A convolutional network on handwritten digits; leave its filters and its mistakes."""

import sys
from pathlib import Path

import digits
from matplotlib.figure import Figure
from tqdm import tqdm

import adjoint
from adjoint import nn, optim
from adjoint.nn import functional as F  # noqa: N812  # as everybody calls it
from adjoint.utils.data import DataLoader

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
OUTPUT = Path("demo_output")


class ConvNet(nn.Module):
    """Two convolutions, each normalised; then a classifier that forgets half of what it sees."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.5)
        self.classifier = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.classifier(self.dropout(x.flatten(1)))


adjoint.manual_seed(0)
train, test = digits.load()
x_test, y_test = test.tensors
loader = DataLoader(train, batch_size=32, shuffle=True, drop_last=True)
model = ConvNet()
optimizer = optim.AdamW(model.parameters(), lr=1e-3)
scheduler = optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=EPOCHS * len(loader))
print(f"{sum(p.numel() for p in model.parameters())} parameters")

for _ in (progress := tqdm(range(EPOCHS), unit="epoch")):
    model.train()
    for x, y in loader:
        shift = int(adjoint.randint(-1, 2, ()))  # a digit moved sideways by a pixel is that digit
        loss = F.cross_entropy(model(x.roll(shift, 3)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    model.eval()
    with adjoint.no_grad():
        guess = model(x_test).argmax(1)
    accuracy = (guess == y_test).float().mean().item()
    progress.set_postfix(loss=f"{loss.item():.4f}", test=f"{accuracy:.1%}")

OUTPUT.mkdir(exist_ok=True)
figure = Figure(figsize=(8, 4.5), layout="constrained")
filters, mistakes = figure.subfigures(2, 1, hspace=0.05)
filters.suptitle("filters of the first layer")
for axes, kernel in zip(filters.subplots(2, 8).flat, model.conv1.weight.detach()):
    axes.imshow(kernel[0], cmap="RdBu")
    axes.set_axis_off()
mistakes.suptitle("mistakes: what it is, and what the network says")
wrong = (guess != y_test).nonzero().flatten().tolist()
for axes, i in zip(mistakes.subplots(1, 8).flat, wrong + [None] * 8):
    axes.set_axis_off()
    if i is not None:
        axes.imshow(x_test[i, 0], cmap="gray_r")
        axes.set_title(f"{y_test[i]}, {guess[i]}")
figure.savefig(OUTPUT / "conv_net.png", dpi=150)

print(f"test accuracy {accuracy:.2%}")
print(f"picture {OUTPUT / 'conv_net.png'}")
