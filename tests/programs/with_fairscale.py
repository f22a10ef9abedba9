"""Layers that run again in backward, parameters flattened into one, a scaled step."""

import torch
from beginnings import filled, normal, report
from fairscale.nn import FlattenParamsWrapper, checkpoint_wrapper
from fairscale.optim import AdaScale


def network():
    return filled(
        torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    )


inputs = normal(3, 4).requires_grad_()
checkpoint_wrapper(network())(inputs).sum().backward()

flat = FlattenParamsWrapper(network())
optimizer = torch.optim.SGD(flat.parameters(), lr=0.1)
flat(normal(3, 4)).pow(2).sum().backward()
optimizer.step()

scaled = network()
adaptive = AdaScale(
    torch.optim.SGD(scaled.parameters(), lr=0.1), world_size=1, num_gradients_to_accumulate=2
)
for step in range(4):
    scaled(normal(3, 4, seed=step)).pow(2).sum().backward()
    if step % 2:
        adaptive.step()
        adaptive.zero_grad()
report(
    gradient=inputs.grad,
    sizes=[parameter.numel() for parameter in flat.parameters()],
    flat=flat.flat_param,
    names=sorted(flat.state_dict()),
    gain=adaptive.gain(),
    scaled=list(scaled.parameters()),
)
