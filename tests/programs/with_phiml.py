"""Tensors with named dimensions on PyTorch's functions, which its backend has as attributes."""

import numpy as np
from beginnings import normal, report
from phiml import math, nn
from phiml.math import batch, channel, extrapolation, spatial, tensor

math.use("torch")
x = tensor(normal(4, 3), batch("samples"), channel("values"))
field = tensor(normal(8, 8), spatial("x,y"))
gradient = math.gradient(lambda x: math.l2_loss(math.sin(x) * 2), "x", get_output=True)
loss, slope = gradient(x)


def shifted(v):
    """A linear function of a field."""
    return v * 3 - math.laplace(v, padding=extrapolation.ZERO)


solution = math.solve_linear(
    math.jit_compile_linear(shifted), field, math.Solve("CG", 1e-6, 1e-6, x0=field * 0)
)
network = nn.mlp(3, 2, [8])
for seed, parameter in enumerate(network.parameters()):
    parameter.data = normal(*parameter.shape, seed=seed, scale=0.5)
optimizer = nn.adam(network, 1e-2)


def objective(x):
    """What the network learns."""
    return math.l2_loss(math.native_call(network, x))


losses = [nn.update_weights(network, optimizer, objective, x) for _ in range(3)]
report(
    loss=loss.native("samples"),
    slope=slope.native("samples,values"),
    laplace=math.laplace(field, padding=extrapolation.PERIODIC).native("x,y"),
    solution=solution.native("x,y"),
    losses=[np.asarray(value.numpy("samples")).tolist() for value in losses],
)
