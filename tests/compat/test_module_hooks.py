"""Old backward hooks of modules: on the last node of a call."""

import warnings

import pytest

import adjoint.compat.torch as compat
from adjoint.compat import module_hooks


class Holder:
    """As much of a module as these hooks need."""

    def __init__(self, function):
        self.function = function
        self.hooks = []
        self._backward_hooks = {}

    register_backward_hook = module_hooks.register_backward_hook

    def register_forward_hook(self, hook):
        self.hooks.append(hook)
        return hook

    def __call__(self, *args):
        output = self.function(*args)
        for hook in self.hooks:
            assert hook(self, args, output) is None
        return output


def shapes(grads):
    return [None if grad is None else tuple(grad.shape) for grad in grads]


FUNCTIONS = [
    lambda x, y: x * y,
    lambda x, y: (x * y).exp(),
    lambda x, y: (x * 2, y * 3),
    lambda x, y: {"out": x * y},
    lambda x, y: [x * y],
    lambda x, y: x.detach(),
    lambda x, y: x.chunk(2),
]


def events(library, make, function):
    """What a hook sees, the gradients after it, and the warnings on the way."""
    module = make(function)
    seen = []

    def hook(owner, grad_input, grad_output):
        seen.append((owner is module, shapes(grad_input), shapes(grad_output)))
        return tuple(None if grad is None else grad * 10 for grad in grad_input)

    module.register_backward_hook(hook)
    x = library.tensor([1.0, 2.0], requires_grad=True)
    y = library.tensor([3.0, 4.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        output = module(x * 1, y * 1)
    values = output.values() if isinstance(output, dict) else output
    total = sum(value.sum() for value in values)
    if total.requires_grad:
        total.backward()
    grads = [None if leaf.grad is None else leaf.grad.tolist() for leaf in (x, y)]
    return seen, grads, [warning.category for warning in caught]


@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_as_pytorch(torch, function):
    def make(function):
        module = torch.nn.Module()
        module.forward = function
        return module

    assert events(compat, Holder, function) == events(torch, make, function)


def test_not_beside_full_hooks():
    module = Holder(lambda x: x)
    module._backward_hooks[0] = print
    with pytest.raises(RuntimeError, match="full"):
        module.register_backward_hook(print)
    assert module.hooks == []
