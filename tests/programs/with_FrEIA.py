"""Invertible networks, as a sequence and as a graph, with their determinants and gradients."""

import torch
from beginnings import filled, normal, report
from FrEIA import framework, modules
from torch import nn


def inner(size_in, size_out):
    """The network within a coupling."""
    return nn.Sequential(nn.Linear(size_in, 16), nn.ReLU(), nn.Linear(16, size_out))


x = normal(6, 4)
nodes = [framework.InputNode(4, name="in")]
options = {"subnet_constructor": inner, "clamp": 2.0}
for kind in (modules.GLOWCouplingBlock, modules.RNVPCouplingBlock, modules.NICECouplingBlock):
    given = options if kind is not modules.NICECouplingBlock else {"subnet_constructor": inner}
    nodes.append(framework.Node(nodes[-1], kind, given))
nodes.append(framework.Node(nodes[-1], modules.ActNorm, {}))
nodes.append(framework.OutputNode(nodes[-1]))
network = filled(framework.GraphINN(nodes))
z, determinant = network(x)
loss = (0.5 * (z**2).sum(1) - determinant).mean()
loss.backward()
with torch.no_grad():
    back, _ = network(z, rev=True)
report(
    loss=loss,
    z=z,
    determinant=determinant,
    back=bool((back - x).abs().max() < 1e-3),
    gradients=[parameter.grad for parameter in network.parameters() if parameter.grad is not None],
)
