"""Paths between distributions: fields trained on them, and samples, likelihoods and jumps."""

import numpy as np
import torch
from beginnings import filled, normal, report
from flow_matching.loss import MixturePathGeneralizedKL
from flow_matching.path import AffineProbPath, GeodesicProbPath, MixtureDiscreteProbPath
from flow_matching.path.scheduler import (
    CondOTScheduler,
    CosineScheduler,
    PolynomialConvexScheduler,
    VPScheduler,
)
from flow_matching.solver import ODESolver
from flow_matching.utils.manifolds import Sphere
from torch import nn

times = torch.linspace(0.1, 0.9, 8)
found = {}


class Field(nn.Module):
    """Where points go at a time."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 16), nn.ELU(), nn.Linear(16, 2))

    def forward(self, x, t, **extras):
        """The velocity of points."""
        return self.layers(torch.cat([x, t.reshape(-1, 1).expand(len(x), 1)], 1))


for kind in (CondOTScheduler, CosineScheduler, VPScheduler):
    path, field, losses = AffineProbPath(kind()), filled(Field()), []
    optimizer = torch.optim.Adam(field.parameters(), 1e-2)
    for seed in range(3):
        sample = path.sample(t=times, x_0=normal(8, 2, seed=seed), x_1=normal(8, 2, seed=seed + 3))
        loss = (field(sample.x_t, sample.t) - sample.dx_t).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    solver = ODESolver(field)
    grown = solver.sample(x_init=normal(4, 2), step_size=0.2, method="midpoint")
    likely = solver.compute_likelihood(
        normal(4, 2), lambda x: -x.pow(2).sum(1) / 2, step_size=0.25, exact_divergence=True
    )
    found[kind.__name__] = [losses, grown, *likely]

ends = [nn.functional.normalize(normal(8, 3, seed=seed), dim=-1) for seed in (1, 2)]
sample = GeodesicProbPath(CondOTScheduler(), Sphere()).sample(t=times, x_0=ends[0], x_1=ends[1])
found["sphere"] = [sample.x_t, sample.dx_t]

tokens = [torch.from_numpy(np.random.default_rng(seed).integers(0, 5, (8, 4))) for seed in (0, 1)]
mixture = MixtureDiscreteProbPath(PolynomialConvexScheduler(2.0))
logits = normal(8, 4, 5, seed=4).requires_grad_()
loss = MixturePathGeneralizedKL(mixture)(logits, x_1=tokens[0], x_t=tokens[1], t=times)
loss.backward()
report(**found, discrete=[loss, logits.grad])
