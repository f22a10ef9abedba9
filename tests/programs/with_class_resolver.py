"""Classes by their names: those that PyTorch has, found among subclasses and in modules."""

import torch
from beginnings import filled, normal, report
from class_resolver.contrib import torch as resolvers

names = {
    name: sorted(getattr(resolvers, f"{name}_resolver").options)
    for name in ("activation", "aggregation", "initializer", "lr_scheduler", "optimizer")
}
found = {}
for name in ("adam", "radam", "rmsprop", "sgd"):
    network = filled(
        torch.nn.Sequential(torch.nn.Linear(3, 4), resolvers.activation_resolver.make("leaky_relu"))
    )
    options = {"params": network.parameters(), "lr": 0.1}
    optimizer = resolvers.optimizer_resolver.make(name, options)
    schedule = resolvers.lr_scheduler_resolver.make("exponential", optimizer=optimizer, gamma=0.5)
    for seed in range(3):
        optimizer.zero_grad()
        network(normal(5, 3, seed=seed)).pow(2).sum().backward()
        optimizer.step()
        schedule.step()
    found[name] = [schedule.get_last_lr(), list(network.parameters())]
report(names=names, **found)
