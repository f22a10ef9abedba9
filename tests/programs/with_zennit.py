"""Relevance of the parts of an image by hooks that change gradients, and gradients along paths."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report
from torch import nn

operators = name_torchvision_operators()

from zennit.attribution import Gradient, IntegratedGradients
from zennit.canonizers import SequentialMergeBatchNorm
from zennit.composites import EpsilonAlpha2Beta1, EpsilonGammaBox, EpsilonPlusFlat, GuidedBackprop

model = filled(
    nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16, 5),
    )
).eval()
images, classes = normal(2, 3, 8, 8), torch.eye(5)[[0, 3]]
canonizers = [SequentialMergeBatchNorm()]
composites = {
    "box": EpsilonGammaBox(low=-3.0, high=3.0, canonizers=canonizers),
    "flat": EpsilonPlusFlat(),
    "two": EpsilonAlpha2Beta1(),
    "guided": GuidedBackprop(),
}
found = {}
for name, composite in composites.items():
    with Gradient(model=model, composite=composite) as attributor:
        found[name] = attributor(images, classes)
with IntegratedGradients(model=model, n_iter=4) as attributor:
    found["path"] = attributor(images, classes)
report(**found)
