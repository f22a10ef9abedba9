"""spikingjelly: networks of spiking neurons, trained through surrogate gradients."""

import torch
from beginnings import filled, normal, report
from spikingjelly.activation_based import functional, layer, neuron, surrogate

network = filled(
    torch.nn.Sequential(
        layer.Conv2d(1, 4, 3, padding=1),
        neuron.IFNode(surrogate_function=surrogate.ATan()),
        layer.MaxPool2d(2),
        layer.Flatten(),
        layer.Linear(16, 8),
        neuron.LIFNode(tau=2.0, surrogate_function=surrogate.Sigmoid()),
        layer.Linear(8, 3),
        neuron.ParametricLIFNode(surrogate_function=surrogate.ATan()),
    )
)
functional.set_step_mode(network, "m")
images = normal(4, 2, 1, 4, 4, scale=3.0)
optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
losses, rates = [], []
for _ in range(3):
    optimizer.zero_grad()
    spikes = network(images)
    rate = spikes.mean(0)
    loss = torch.nn.functional.mse_loss(rate, torch.eye(3)[:2])
    loss.backward()
    optimizer.step()
    functional.reset_net(network)
    losses.append(loss)
    rates.append(rate)
report(losses=losses, rates=rates, parameters=[each.norm() for each in network.parameters()])
