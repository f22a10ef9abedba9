"""Tensors, backward, gradients, and a look at what was recorded."""

import adjoint

# A tensor that requires grad is a leaf: what is computed from it is recorded.
x = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = adjoint.tensor([0.5, -1.0, 2.0], requires_grad=True)

y = adjoint.tanh(x * w)
loss = (y * y).sum()
print("loss     ", loss.item())
print("made by  ", loss.grad_fn.name())

# backward walks the recording from the loss to the leaves and fills in their .grad.
loss.backward()
print("x.grad   ", x.grad.tolist())
print("by hand  ", (2 * y * (1 - y * y) * w).tolist())

# A second backward adds to .grad; that is what makes gradients of batches sum up.
((x * w) ** 2).sum().backward()
x.grad = None  # so an optimiser begins each step by clearing it

# grad answers gradients without touching any .grad.
(along_x,) = adjoint.autograd.grad((x * x * w).sum(), [x])
print("2xw      ", along_x.tolist())
assert x.grad is None

# A hook sees a gradient as it passes, and may replace it.
h = x * w
h.register_hook(lambda grad: grad.clamp(-1, 1))
(100 * h).sum().backward()
print("clipped  ", x.grad.tolist())
assert x.grad.tolist() == w.tolist()

# Under no_grad nothing is recorded.
with adjoint.no_grad():
    print("recorded?", (x * w).requires_grad)
