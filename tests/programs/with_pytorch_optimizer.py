"""Every optimiser of the package that needs nothing but a rate, a few steps each."""

import torch
from beginnings import filled, normal, report
from pytorch_optimizer import get_supported_optimizers, load_optimizer

# They ask for a closure, a second pass, matrices alone or processes, draw random numbers, or depend
# on the signs of eigenvectors.
OTHERS = (
    "adago adahessian adalomo adammini adamuon alig bsam demo distributedmuon gravity kron "
    "lbfgs lomo magma muon muonclip normuon ranger21 soap sophiah spectralsphere "
)

x = normal(16, 4)
y = x.prod(1, keepdim=True)
results = {}
for name in sorted(get_supported_optimizers()):
    if name in OTHERS.split():
        continue
    layers = torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    model = filled(torch.nn.Sequential(*layers))
    optimizer = load_optimizer(name)(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    results[name] = losses
report(**results)
