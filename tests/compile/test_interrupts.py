"""A compiled call that is interrupted has changed everything, or nothing."""

import itertools
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from adjoint import nn, optim
from adjoint.autograd.graph_task import current_task
from tests.signals import PACKAGE, heard_at

F = nn.functional
TRACED = tuple(
    str(Path(PACKAGE, *parts))
    for parts in (("compiling",), ("optim", "writes.py"), ("backends", "xla.py"))
)


class Training:
    """A step with parameters, gradients, a buffer, state, a schedule and chance."""

    def __init__(self, hook):
        adjoint.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
        self.optimizer = optim.Adam(self.model.parameters(), lr=0.1)
        self.schedule = optim.lr_scheduler.StepLR(self.optimizer, 1, 0.9)
        self.x = adjoint.randn(5, 3)
        if hook:
            self.model[0].register_forward_hook(lambda module, args, out: out * 2)
        self.call = adjoint.compile(self.step)
        for _ in range(3):
            self.call()
        assert self.call.count == 1

    def step(self):
        self.optimizer.zero_grad()
        (self.model(self.x) ** 2).sum().backward()
        self.optimizer.step()
        self.schedule.step()

    def tensors(self):
        kept = [t for state in self.optimizer.state.values() for t in state.values()]
        return [*self.model.parameters(), *self.model.buffers(), *kept]

    def seen(self):
        """All that a call changes."""
        return [
            [tensor.detach().numpy().copy() for tensor in self.tensors()],
            [tensor._version for tensor in (*self.model.parameters(), *self.model.buffers())],
            [id(parameter.grad) for parameter in self.model.parameters()],  # which others hold
            [self.schedule.last_epoch, self.optimizer.param_groups[0]["lr"]],
            adjoint.get_rng_state().numpy().copy(),
        ]


def differs(one, other):
    """Whether two parts of what is seen differ: in all that they have, or in nothing."""
    if isinstance(one, np.ndarray):
        return not np.array_equal(one, other)
    found = {not np.array_equal(a, b) for a, b in zip(one, other, strict=True)}
    assert len(found) == 1, "some have changed, and others not"
    return found.pop()


def heard_everywhere(training, looking_on=True):
    """Hear a signal at every place of a call; how often nothing, and how often all, has changed."""
    befores, afters = 0, 0
    for number in itertools.count():
        grads = [parameter.grad for parameter in training.model.parameters() if looking_on]
        before = training.seen()
        if not heard_at(number, training.call, folder=TRACED):
            break
        changes = {differs(a, b) for a, b in zip(before, training.seen(), strict=True)}
        assert len(changes) == 1, f"at place {number}"
        assert adjoint.is_grad_enabled(), f"at place {number}"
        assert current_task() is None, f"at place {number}"
        assert changes == {True} or training.call.count == 1
        befores, afters = (befores, afters + 1) if changes.pop() else (befores + 1, afters)
        del grads
    assert training.call.count == 1
    return befores, afters


@pytest.mark.parametrize("hook", [False, True])
def test_wherever_a_signal_is_heard_all_or_nothing(hook):
    befores, afters = heard_everywhere(Training(hook))
    assert befores > 50
    assert afters > 1
