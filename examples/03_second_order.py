"""Derivatives of derivatives: Newton's method, and a Hessian-vector product."""

import adjoint
from adjoint.autograd import grad


def rosenbrock(x):
    """A curved valley whose lowest point is (1, 1, 1)."""
    a, b = x[:-1], x[1:]
    return (100 * (b - a**2) ** 2 + (1 - a) ** 2).sum()


def hessian(x):
    """The gradient and, row by row, the second derivatives."""
    (slope,) = grad(rosenbrock(x), [x], create_graph=True)
    rows = [grad(element, [x], retain_graph=True)[0] for element in slope]
    return slope.detach(), adjoint.stack(rows)


# Newton's method: solve for the step at which the quadratic model has its minimum.
x = adjoint.tensor([-1.0, 1.0, 0.5], dtype=adjoint.float64, requires_grad=True)
for step in range(30):
    slope, curvature = hessian(x)
    with adjoint.no_grad():
        x -= adjoint.linalg.solve(curvature, slope)
    print(f"step {step:2}  f = {rosenbrock(x).item():.3e}")
    if slope.abs().max() < 1e-8:
        break
assert (x - 1).abs().max() < 1e-6

# The product of the Hessian with one direction needs no Hessian: differentiate the slope along it.
direction = adjoint.tensor([1.0, 2.0, 3.0], dtype=adjoint.float64)
(slope,) = grad(rosenbrock(x), [x], create_graph=True)
(product,) = grad(slope, [x], direction)
print("product", product.tolist())
assert (product - hessian(x)[1] @ direction).abs().max() < 1e-6
