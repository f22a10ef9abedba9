"""torchsummary's table of a model."""

import contextlib
import io

import torch
from beginnings import filled, report
from torchsummary import summary

model = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3),
    torch.nn.BatchNorm2d(4),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(4 * 3 * 3, 10),
    torch.nn.LogSoftmax(dim=1),
)
text = io.StringIO()
with contextlib.redirect_stdout(text):
    summary(filled(model), (1, 8, 8), device="cpu")
report(text=text.getvalue().splitlines())
