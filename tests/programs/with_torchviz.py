"""The drawing of a graph by torchviz: its leaves, and how much is joined to what."""

import re

import torch
from beginnings import normal, report
from torchviz import make_dot

x, weight, bias = normal(2, 3), normal(3, 4, seed=1), normal(4, seed=2)
parameters = {"weight": weight.requires_grad_(), "bias": bias.requires_grad_()}
hidden = torch.tanh(x @ weight + bias)
output = hidden.exp().mean() * hidden.sum()
source = make_dot(output, params=parameters, show_attrs=True, show_saved=True).source
edges = re.findall(r"(\d+) -> (\d+)", source)
labels = dict(re.findall(r"\t(\d+) \[label=\"?([^\"\]]*)\"?[ \]]", source))
leaves = sorted(label for label in labels.values() if label.strip().startswith(("weight", "bias")))
report(nodes=len(labels), edges=len(edges), leaves=leaves)
