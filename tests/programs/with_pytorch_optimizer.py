"""Every optimiser of the package that needs nothing but a rate, a few steps each."""

import torch
from beginnings import filled, normal, report
from pytorch_optimizer import get_supported_optimizers, load_optimizer

# They ask for a closure, a second pass, matrices alone, or what PyTorch's optimisers keep private.
OTHERS = "adago adahessian adamuon alig bsam distributedmuon magma muon ranger21 spectralsphere"
OTHERS += " lbfgs sophiah adalomo lomo"

x = normal(16, 4)
y = x.prod(1, keepdim=True)
results = {}
for name in sorted(get_supported_optimizers()):
    if name in OTHERS.split():
        continue
    layers = torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    model = filled(torch.nn.Sequential(*layers))
    try:
        optimizer = load_optimizer(name)(model.parameters(), lr=1e-2)
    except (AttributeError, TypeError, ValueError, RuntimeError):
        continue
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    results[name] = losses
report(**results)
