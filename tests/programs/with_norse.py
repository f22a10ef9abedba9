"""norse: spiking cells with their states, trained through surrogate gradients."""

import norse.torch as norse
import torch
from beginnings import filled, normal, report

network = norse.SequentialState(
    torch.nn.Linear(5, 8),
    norse.LIFCell(p=norse.LIFParameters(alpha=torch.tensor(100.0))),
    torch.nn.Linear(8, 3),
    norse.LICell(),
)
filled(network)
x = normal(6, 2, 5, scale=4.0)
optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
losses = []
for _ in range(3):
    optimizer.zero_grad()
    state, outputs = None, []
    for step in x:
        out, state = network(step, state)
        outputs.append(out)
    loss = torch.nn.functional.cross_entropy(torch.stack(outputs).amax(0), torch.tensor([0, 2]))
    loss.backward()
    optimizer.step()
    losses.append(loss)
recurrent = filled(norse.LSNNRecurrent(5, 4))
spikes, last = recurrent(x)
report(
    losses=losses,
    outputs=outputs[-1],
    grads=[each.grad.norm() for each in network.parameters()],
    spikes=spikes.sum((0, 1)),
    voltage=last.v,
)
