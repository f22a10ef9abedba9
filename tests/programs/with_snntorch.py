"""snntorch: leaky neurons with surrogate gradients, trained on rates and counts of spikes."""

import snntorch as snn
import torch
from beginnings import filled, normal, report
from snntorch import functional, spikegen, surrogate

slope = surrogate.fast_sigmoid(slope=25)


class Network(torch.nn.Module):
    """Two layers of neurons, run for some steps."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(6, 10), torch.nn.Linear(10, 3)
        self.leaky = snn.Leaky(beta=0.9, spike_grad=slope, learn_beta=True)
        self.synaptic = snn.Synaptic(alpha=0.8, beta=0.9, spike_grad=slope)

    def forward(self, x):
        membrane = self.leaky.init_leaky()
        current, inner = self.synaptic.init_synaptic()
        spikes, membranes = [], []
        for step in range(x.size(0)):
            spike, membrane = self.leaky(self.first(x[step]), membrane)
            spike, current, inner = self.synaptic(self.second(spike), current, inner)
            spikes.append(spike)
            membranes.append(inner)
        return torch.stack(spikes), torch.stack(membranes)


network = filled(Network())
x = normal(5, 4, 6, scale=3.0)
target = torch.tensor([0, 1, 2, 1])
optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
losses = []
for _ in range(3):
    optimizer.zero_grad()
    spikes, membranes = network(x)
    loss = functional.ce_rate_loss()(spikes, target) + functional.mse_membrane_loss()(
        membranes, target
    )
    loss.backward()
    optimizer.step()
    losses.append(loss)
report(
    losses=losses,
    accuracy=float(functional.accuracy_rate(spikes, target)),
    latency=spikegen.latency(torch.rand(2, 3) * 0 + 0.4, num_steps=4, tau=5, threshold=0.01),
    delta=spikegen.delta(x[:, 0, 0], threshold=0.5),
)
