"""Sparse softmaxes, their losses and gradients."""

import torch
from beginnings import normal, report
from entmax import (
    Entmax15Loss,
    SparsemaxBisectLoss,
    SparsemaxLoss,
    budget_bisect,
    entmax15,
    entmax_bisect,
    normmax_bisect,
    sparsemax,
)

x = normal(4, 6, scale=2.0).requires_grad_()
target = torch.tensor([0, 5, 2, 3])
results = {}
for name, function in {
    "sparsemax": lambda: sparsemax(x, dim=-1),
    "sparsemax_top": lambda: sparsemax(x, dim=-1, k=3),
    "entmax15": lambda: entmax15(x, dim=0),
    "bisect": lambda: entmax_bisect(x, alpha=1.3, dim=-1),
    "normmax": lambda: normmax_bisect(x, alpha=3, dim=-1),
    "budget": lambda: budget_bisect(x, budget=2, dim=-1),
    "sparsemax_loss": lambda: SparsemaxLoss(reduction="sum")(x, target),
    "entmax_loss": lambda: Entmax15Loss()(x, target),
    "bisect_loss": lambda: SparsemaxBisectLoss()(x, target),
}.items():
    value = function()
    (gradient,) = torch.autograd.grad(
        (value * torch.arange(value.numel()).view_as(value)).sum() + value.sum(), x
    )
    results[name] = [value, gradient]
alpha = torch.tensor([[1.2], [1.5], [1.7], [2.0]], requires_grad=True)
probabilities = entmax_bisect(x.detach(), alpha=alpha, dim=-1)
results["alpha"] = torch.autograd.grad(probabilities.pow(2).sum(), alpha)
report(**results)
