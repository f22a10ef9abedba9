"""The drawing of a graph by torchviz; names of nodes, without their numbers."""

import re

import torch
from beginnings import filled, normal, report
from torchviz import make_dot

model = filled(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)))
output = model(normal(2, 3)).exp().mean()
source = make_dot(output, params=dict(model.named_parameters()), show_attrs=False).source
edges = re.findall(r"(\d+) -> (\d+)", source)
labels = dict(re.findall(r"\t(\d+) \[label=\"?([^\"\]]*)\"?[ \]]", source))
joined = sorted(f"{labels[a].strip()} -> {labels[b].strip()}" for a, b in edges)
report(nodes=sorted(label.strip() for label in labels.values()), edges=joined)
