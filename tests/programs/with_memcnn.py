"""A layer whose gradient is computed from its result, by a Function that runs it again."""

import memcnn
from beginnings import filled, normal, report
from torch import nn


def inner(seed):
    """One of the functions of a coupling."""
    return filled(nn.Sequential(nn.Conv2d(2, 2, 3, padding=1), nn.ReLU()), seed)


coupling = memcnn.AdditiveCoupling(inner(0), inner(1))
layer = memcnn.InvertibleModuleWrapper(coupling, keep_input=True, keep_input_inverse=True)
x = normal(1, 4, 5, 5).requires_grad_()
y = layer(x)
y.pow(2).sum().backward()
gradients = [parameter.grad for parameter in layer.parameters()]
freeing = memcnn.InvertibleModuleWrapper(coupling, keep_input=False, keep_input_inverse=False)
freed = normal(1, 4, 5, 5).requires_grad_() * 1
z = freeing(freed)
size = freed.untyped_storage().size()
z.pow(2).sum().backward()
report(
    y=y,
    gradient=x.grad,
    gradients=gradients,
    inverse=layer.inverse(y.detach()),
    freed=[size, z, freed],
)
