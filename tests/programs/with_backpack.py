"""More than the gradient in one backward: gradients of each sample, variances, curvature."""

import torch
from backpack import backpack, extend
from backpack.extensions import (
    BatchGrad,
    BatchL2Grad,
    DiagGGNExact,
    DiagHessian,
    SumGradSquared,
    Variance,
)
from beginnings import filled, normal, report

model = extend(
    filled(
        torch.nn.Sequential(
            torch.nn.Conv2d(1, 2, 3),
            torch.nn.Sigmoid(),
            torch.nn.Flatten(),
            torch.nn.Linear(18, 5),
            torch.nn.ReLU(),
            torch.nn.Linear(5, 3),
        )
    )
)
loss_function = extend(torch.nn.CrossEntropyLoss())
x, y = normal(4, 1, 5, 5), torch.tensor([0, 2, 1, 1])
loss = loss_function(model(x), y)
with backpack(
    BatchGrad(), BatchL2Grad(), SumGradSquared(), Variance(), DiagGGNExact(), DiagHessian()
):
    loss.backward()
names = (
    "grad",
    "grad_batch",
    "batch_l2",
    "sum_grad_squared",
    "variance",
    "diag_ggn_exact",
    "diag_h",
)
report(
    loss=loss,
    **{name: [getattr(parameter, name) for parameter in model.parameters()] for name in names},
)
