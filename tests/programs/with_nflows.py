"""A normalising flow of autoregressive layers and splines: densities and their gradients."""

import torch
from beginnings import filled, normal, report
from nflows import distributions, flows, transforms
from nflows.nn.nets import ResidualNet

spline = transforms.PiecewiseRationalQuadraticCouplingTransform(
    torch.tensor([1, 0]),
    lambda size_in, size_out: ResidualNet(size_in, size_out, 8),
    tails="linear",
    num_bins=4,
)
layers = [
    transforms.MaskedAffineAutoregressiveTransform(2, 8),
    transforms.ReversePermutation(2),
    spline,
    transforms.LULinear(2),
]
flow = filled(flows.Flow(transforms.CompositeTransform(layers), distributions.StandardNormal([2])))
optimizer, losses = torch.optim.Adam(flow.parameters(), 1e-2), []
for _ in range(3):
    loss = -flow.log_prob(normal(6, 2)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses=losses, noise=flow.transform_to_noise(normal(4, 2, seed=1)))
