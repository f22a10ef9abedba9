"""What goes on inside a network: looked at, changed, and its gradients."""

from collections import OrderedDict

from beginnings import filled, normal, report
from nnsight import NNsight
from torch import nn

layers = OrderedDict(first=nn.Linear(5, 10), second=nn.Linear(10, 2))
model = NNsight(filled(nn.Sequential(layers)))
x = normal(1, 5)
with model.trace(x):
    hidden = model.first.output.save()
    plain = model.output.save()
with model.trace(x):
    model.first.output[:, 0] = 0
    changed = model.output.save()
with model.trace(x):
    inner = model.first.output
    inner.requires_grad_(True)
    loss = model.output.sum()
    with loss.backward():
        gradient = inner.grad.save()
report(hidden=hidden, plain=plain, changed=changed, gradient=gradient)
