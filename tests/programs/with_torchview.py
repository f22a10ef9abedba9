"""Drawings of networks, by tensors of a class that notes the functions they are given to."""

import torch
from beginnings import report
from torch import nn
from torchview import draw_graph


class Net(nn.Module):
    """Two branches that meet."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Conv1d(2, 2, 1)

    def forward(self, x):
        return torch.cat([self.first(x) + x, self.second(x).relu()], -1).sum(1) * 2


stack = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2))
drawings = {
    "stack": draw_graph(stack, input_size=(2, 3), expand_nested=True, device="cpu"),
    "meta": draw_graph(stack, input_size=(2, 3), device="meta"),
    "branches": draw_graph(Net(), input_size=(1, 2, 3), device="cpu"),
}
report(**{name: drawing.visual_graph.source for name, drawing in drawings.items()})
