"""Layers whose weights are factorised tensors, which answer functions as tensors do."""

import tltorch
import torch
from beginnings import filled, normal, report

torch.manual_seed(0)
results = {}
for kind in ("cp", "tucker", "blocktt"):
    layer = filled(tltorch.FactorizedLinear((2, 4), (4, 2), rank=2, factorization=kind))
    inputs = normal(3, 8).requires_grad_()
    answer = layer(inputs)
    answer.pow(2).sum().backward()
    names = sorted(name for name, _ in layer.named_parameters())
    results[kind] = [answer, inputs.grad, names]
whole = filled(tltorch.FactorizedTensor.new((3, 4, 5), rank=2, factorization="tucker"))
report(
    **results,
    whole=whole.to_tensor(),
    kind=type(whole).__name__,
)
