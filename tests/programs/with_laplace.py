"""laplace-torch: posteriors around a trained network, over all weights and over the last layer."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report
from torch.utils.data import DataLoader, TensorDataset

operators = name_torchvision_operators()

from laplace import Laplace  # noqa: E402  # which imports torchvision

model = filled(torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)))
x = normal(12, 2)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True).sin()), batch_size=6)
results = {}
for structure in ("full", "diag", "kron"):
    for weights in ("all", "last_layer"):
        posterior = Laplace(
            model, "regression", subset_of_weights=weights, hessian_structure=structure
        )
        posterior.fit(loader)
        mean, variance = posterior(normal(3, 2, seed=1))
        results[f"{structure} {weights}"] = [mean, variance, posterior.log_marginal_likelihood()]
report(**results)
