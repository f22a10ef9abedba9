"""Layers and nodes of a network looked at, and networks cut out of it, by fx."""

import torch
from beginnings import filled, normal, report
from surgeon_pytorch import Extract, Inspect, get_layers, get_nodes
from torch import nn


class Network(nn.Module):
    """Two layers, and steps between them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        return torch.sigmoid(hidden + self.second(hidden))


network = filled(Network())
x = normal(2, 3).requires_grad_()
whole, layers = Inspect(network, layer=["first", "second"])(x)
part = Extract(network, node_in="relu", node_out="sigmoid")(x)
part.pow(2).sum().backward()
report(
    layers=get_layers(network),
    nodes=get_nodes(network),
    whole=whole,
    inside=list(layers),
    sum=Extract(network, node_out="add")(x),
    part=part,
    gradient=x.grad,
)
