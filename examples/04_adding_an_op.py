"""A new operation is one declaration: what it computes, and its derivatives beside it."""

import adjoint
from adjoint.ops.arranging.shape import expand
from adjoint.ops.op import elementwise, general


# The forward gets the array library as `xp`. Each keyword of the decorator names an input that
# has a derivative. The rule's own parameters say what is kept for backward: here the result.
@elementwise(input=lambda grad, result: grad * result * (1 - result), floats=True)
def squash(xp, input):
    """1 / (1 + e^-input), elementwise."""
    return 1 / (1 + xp.exp(-input))


# Two inputs, two rules. Broadcasting and data types are repaired outside, never in a rule.
@elementwise(
    input=lambda grad, input, other: 2 * grad * (input - other),
    other=lambda grad, input, other: 2 * grad * (other - input),
)
def squared_distance(xp, input, other):
    """(input - other)^2, elementwise."""
    return (input - other) ** 2


# Rules may use any op. This one asks only for the input's shape, so the input is not kept.
@general(input=lambda grad, input_shape: expand(grad, input_shape))
def total(xp, input):
    """The sum of all elements."""
    return xp.sum(input)


x = adjoint.tensor([[0.0, 1.0, -2.0]], requires_grad=True)
y = adjoint.tensor([[0.5], [1.0]], requires_grad=True)

loss = total(squared_distance(squash(x), y))
loss.backward()
print("loss  ", loss.item(), loss.grad_fn.name())
print("x.grad", x.grad.tolist())
print("y.grad", y.grad.tolist())

# The rules are made of ops, so that their results can be differentiated again.
(slope,) = adjoint.autograd.grad(squash(x).sum(), [x], create_graph=True)
(curvature,) = adjoint.autograd.grad(slope.sum(), [x])
s = squash(x)
assert ((s * (1 - s) * (1 - 2 * s)) - curvature).abs().max() < 1e-6
print("second derivative", curvature.tolist())
