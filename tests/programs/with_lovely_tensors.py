"""Tensors that print what their values are like."""

import lovely_tensors
import torch
from beginnings import normal, report

lovely_tensors.monkey_patch()
x = normal(3, 4)
shown = [
    x,
    x.p,
    x.v,
    x.deeper,
    x.double(),
    normal(2, 2).requires_grad_(),
    torch.nn.Parameter(x),
    torch.tensor([1.0, float("nan"), float("inf")]),
    torch.arange(5),
    torch.zeros(2, 3, dtype=torch.bool),
    torch.zeros(0),
    torch.tensor(3.0),
]
report(texts=[str(each) for each in shown])
