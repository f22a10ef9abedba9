"""POT: distances between distributions, and their gradients, by the library of its arguments."""

import ot
import torch
from beginnings import normal, report

x, y = normal(6, 2).double().requires_grad_(), normal(7, 2, seed=1).double()
a, b = (torch.full((count,), 1 / count, dtype=torch.float64) for count in (6, 7))
costs = ot.dist(x, y)
distances = {
    "exact": ot.emd2(a, b, costs),
    "sinkhorn": ot.sinkhorn2(a, b, costs, 1.0).sum(),
    "sliced": ot.sliced_wasserstein_distance(x, y, projections=normal(2, 5, seed=3).double()),
    "gromov": ot.gromov_wasserstein2(ot.dist(x, x), ot.dist(y, y), a, b),
    "unbalanced": ot.unbalanced.sinkhorn_unbalanced2(a, b, costs, 1.0, 1.0).sum(),
}
report(
    **{
        name: [distance, torch.autograd.grad(distance, x, retain_graph=True)[0]]
        for name, distance in distances.items()
    }
)
