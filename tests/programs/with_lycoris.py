"""Adapters of three kinds put around layers by their forwards, trained, and merged."""

import torch
from beginnings import filled, normal, report
from lycoris import LycorisNetwork, create_lycoris

torch.manual_seed(0)
network = filled(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)))
LycorisNetwork.apply_preset({"target_name": [".*"]})
results = {}
for kind in ("lora", "loha", "lokr"):
    adapter = create_lycoris(network, 1.0, linear_dim=2, linear_alpha=1.0, algo=kind)
    adapter.apply_to()
    filled(adapter)
    answer = network(normal(3, 8))
    answer.sum().backward()
    lengths = [each.grad.norm() for each in adapter.parameters() if each.grad is not None]
    names = sorted(name for name, _ in adapter.named_parameters())
    results[kind] = [answer, lengths, names]
    adapter.restore()
report(**results, alone=network(normal(3, 8)))
