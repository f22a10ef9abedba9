"""A neural spline flow and a masked autoregressive flow: densities, samples' shapes, training."""

import torch
import zuko
from beginnings import filled, normal, report

results = {}
x, context = normal(16, 3), normal(16, 2, seed=1)
for name, flow in {
    "maf": zuko.flows.MAF(3, 2, transforms=2, hidden_features=(16,)),
    "nsf": zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16,)),
    "nice": zuko.flows.NICE(3, 2, transforms=2, hidden_features=(16,)),
}.items():
    filled(flow)
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        loss = -flow(context).log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    transform = flow(context).transform
    results[name] = [losses, transform.inv(transform(x)), list(flow(context).sample((2,)).shape)]
mixture = zuko.mixtures.GMM(2, components=3)
filled(mixture)
results["mixture"] = mixture().log_prob(normal(5, 2))
report(**results)
