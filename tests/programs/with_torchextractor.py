"""Results inside a network, kept by hooks, and their gradients."""

import torchextractor
from beginnings import filled, normal, report
from torch import nn

network = filled(
    nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Sequential(nn.Flatten(), nn.Linear(8, 3), nn.Tanh())
    )
)
extractor = torchextractor.Extractor(network, ["0", "2.1"])
result, inside = extractor(normal(2, 1, 4, 4))
sum(each.pow(2).sum() for each in inside.values()).backward()
report(
    names=torchextractor.list_module_names(network),
    result=result,
    inside=inside,
    gradients=[parameter.grad for parameter in network.parameters()],
)
