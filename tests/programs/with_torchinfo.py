"""torchinfo's table of a model."""

import torch
from beginnings import filled, report
from torchinfo import summary


class Residual(torch.nn.Module):
    """Convolution with a way round it."""

    def __init__(self, channels):
        super().__init__()
        self.conv = torch.nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(channels)

    def forward(self, x):
        return x + torch.relu(self.norm(self.conv(x)))


model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3),
    torch.nn.ModuleDict({"a": Residual(8)})["a"],
    torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(),
    torch.nn.Linear(8, 10),
)
found = summary(
    filled(model),
    input_size=(2, 3, 10, 10),
    verbose=0,
    col_names=("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable"),
)
report(text=str(found).splitlines(), parameters=found.total_params, work=found.total_mult_adds)
