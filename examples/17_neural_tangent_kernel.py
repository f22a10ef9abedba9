"""The neural tangent kernel of a network, and a regression with it.

The kernel of two inputs is the product of the network's derivatives by its parameters at both. A
network that is wide learns as a regression with this kernel does, without being trained.
"""

import adjoint
from adjoint import func, nn

adjoint.manual_seed(0)
adjoint.set_default_dtype(adjoint.float64)
model = nn.Sequential(nn.Linear(1, 256), nn.Tanh(), nn.Linear(256, 1))
parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}


def network(parameters, x):
    """The output for one input, as a function of the parameters."""
    return func.functional_call(model, parameters, x)[0]


def kernel(left, right):
    """The kernel of every pair: Jacobians of both, contracted over all parameters."""
    jacobians = func.vmap(func.jacrev(network), in_dims=(None, 0))
    first, second = jacobians(parameters, left), jacobians(parameters, right)
    return sum(first[name].flatten(1) @ second[name].flatten(1).T for name in parameters)


def kernel_without_jacobians(left, right):
    """The same, an entry at a time by vjp and jvp: slower here, but it keeps no Jacobian."""

    def entry(x, y):
        output, pullback = func.vjp(lambda p: network(p, x), parameters)
        (direction,) = pullback(adjoint.ones_like(output))
        return func.jvp(lambda p: network(p, y), (parameters,), (direction,))[1]

    return func.vmap(func.vmap(entry, (None, 0)), (0, None))(left, right)


points = adjoint.linspace(-2, 2, 12).unsqueeze(1)
values = points.sin()[:, 0]
matrix = kernel(points, points)
difference = (matrix - kernel_without_jacobians(points, points)).abs().max()
print(f"both ways differ by at most {difference.item():.1e}")

start = func.vmap(network, (None, 0))(parameters, points)
ridge = 1e-6 * adjoint.eye(len(points))
weights = adjoint.linalg.solve(matrix + ridge, values - start)
others = adjoint.linspace(-1.9, 1.9, 50).unsqueeze(1)
found = func.vmap(network, (None, 0))(parameters, others) + kernel(others, points) @ weights
print(f"largest error between the points {(found - others.sin()[:, 0]).abs().max().item():.1e}")
