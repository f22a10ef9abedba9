"""betty: two levels of optimization, gradients of the upper one in three ways."""

import torch
from beginnings import normal, report
from betty.configs import Config, EngineConfig
from betty.engine import Engine
from betty.problems import ImplicitProblem
from torch import nn


class Weights(nn.Module):
    """Four numbers, times what it is given."""

    def __init__(self, values):
        super().__init__()
        self.weights = nn.Parameter(values)

    def forward(self, x=None):
        return self.weights if x is None else x @ self.weights


class Outer(ImplicitProblem):
    """How the inner one does on other data."""

    def training_step(self, batch):
        x, y = batch
        return ((self.inner(x) - y) ** 2).mean()


class Inner(ImplicitProblem):
    """A regression whose penalties the outer one chooses."""

    def training_step(self, batch):
        x, y = batch
        penalty = (self.outer() * self.module.weights**2).sum()
        return ((self.module(x) - y) ** 2).mean() + penalty


results = {}
for kind in ("darts", "cg", "neumann"):
    modules = Weights(torch.ones(4, 1) * 0.1), Weights(normal(4, 1, seed=5, scale=0.1))
    configs = Config(retain_graph=True), Config(type=kind, unroll_steps=2)
    outer, inner = (
        problem(
            name,
            config=config,
            module=module,
            optimizer=torch.optim.SGD(module.parameters(), lr=0.1),
            train_data_loader=[(normal(16, 4, seed=seed), normal(16, 1, seed=seed + 1))],
        )
        for problem, name, config, module, seed in zip(
            (Outer, Inner), ("outer", "inner"), configs, modules, (2, 0), strict=True
        )
    )
    dependencies = {"u2l": {outer: [inner]}, "l2u": {inner: [outer]}}
    Engine(
        config=EngineConfig(train_iters=6), problems=[outer, inner], dependencies=dependencies
    ).run()
    results[kind] = [module.weights for module in modules]
report(**results)
