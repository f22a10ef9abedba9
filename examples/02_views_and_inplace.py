"""Views share memory and history; in-place changes are followed, or refused with a reason."""

import adjoint

x = adjoint.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)

# A slice is a view: no copy is made, and a change of the view is a change of its base.
y = x * 10
left = y[:2]
left *= 2
print("y          ", y.tolist())
assert left._base is y

# The base's history knows of the change: the first two elements count double.
y.sum().backward()
print("x.grad     ", x.grad.tolist())
assert x.grad.tolist() == [20.0, 20.0, 10.0, 10.0]

# It goes the other way round too: changing the base gives its views a new history.
x.grad = None
y = x * 10
right = y[2:]
y.mul_(3)
right.sum().backward()
print("x.grad     ", x.grad.tolist())
assert x.grad.tolist() == [0.0, 0.0, 30.0, 30.0]

# Assignment is an in-place change like any other; what was overwritten gets no gradient.
x.grad = None
y = x.clone()
y[1] = x[3] * 5
y.sum().backward()
print("x.grad     ", x.grad.tolist())
assert x.grad.tolist() == [1.0, 0.0, 1.0, 6.0]

# A leaf that requires grad can't be changed while recording, only under no_grad.
try:
    x += 1
except RuntimeError as error:
    print("refused    ", error)
with adjoint.no_grad():
    x += 1

# exp keeps its result for backward; changing that result is noticed when it's needed.
y = x.exp()
total = y.sum()
y += 1
try:
    total.backward()
except RuntimeError as error:
    print("noticed    ", error)
