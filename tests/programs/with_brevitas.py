"""Layers with weights of 4 bits, trained: values that are no tensors but answer functions."""

import torch
from beginnings import normal, report
from brevitas import nn as quantised
from torch import nn


class Network(nn.Module):
    """A convolution and a layer of whole numbers."""

    def __init__(self):
        super().__init__()
        self.start = quantised.QuantIdentity(bit_width=8, return_quant_tensor=True)
        self.filters = quantised.QuantConv2d(1, 4, 3, weight_bit_width=4)
        self.active = quantised.QuantReLU(bit_width=4)
        self.last = quantised.QuantLinear(64, 3, bias=True, weight_bit_width=4)

    def forward(self, x):
        return self.last(self.active(self.filters(self.start(x))).flatten(1))


model = Network()
with torch.no_grad():
    for i, (name, parameter) in enumerate(model.named_parameters()):
        if parameter.ndim > 1:
            parameter.copy_(normal(*parameter.shape, seed=i) * 0.3)
        elif "bias" in name:
            parameter.zero_()
optimizer, losses = torch.optim.SGD(model.parameters(), 0.01), []
for seed in range(3):
    out = model(normal(2, 1, 6, 6, seed=seed))
    loss = nn.functional.cross_entropy(getattr(out, "value", out), torch.tensor([0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
report(losses=losses, weight=model.filters.quant_weight().value, gradients=gradients)
