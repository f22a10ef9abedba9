"""Equivariant products and maps of e3nn, whose code is written as graphs of torch.fx."""

import torch
from beginnings import filled, normal, report
from e3nn import o3

scalars_and_vectors = o3.Irreps("2x0e + 1x1o")
product = filled(o3.FullyConnectedTensorProduct("2x0e + 1x1o", "1x0e + 1x1o", "2x0e + 1x1o"))
linear = filled(o3.Linear(scalars_and_vectors, "1x0e + 2x1o"))
points = normal(4, 3)
features = normal(4, scalars_and_vectors.dim).requires_grad_()
directions = o3.spherical_harmonics("1x0e + 1x1o", points, normalize=True)
mixed = product(features, directions)
output = linear(mixed)
output.pow(2).sum().backward()
turned = o3.Irreps("1x0e + 1x1o").D_from_angles(*torch.tensor([0.1, 0.2, 0.3]))
report(
    directions=directions,
    mixed=mixed,
    output=output,
    gradient=features.grad,
    weights=[parameter.grad for parameter in product.parameters()],
    turned=turned,
)
