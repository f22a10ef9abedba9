"""Which modules are running: in forward, in backward, and as in PyTorch."""

import importlib

import pytest

import adjoint


def trace(lib):
    """What a tracker says at points of a forward and a backward."""
    tracker = importlib.import_module(f"{lib.__name__}.utils.module_tracker").ModuleTracker()
    nn = lib.nn
    log = []

    def say(label):
        log.append((label, sorted(tracker.parents), tracker.is_bw))

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x):
            say("forward of Inner")
            y = self.linear(x)
            y.register_hook(lambda grad: say("within Inner"))
            return y.relu()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Inner()
            self.rest = nn.Sequential(Inner())

        def forward(self, x):
            say("forward of Net")
            return self.rest(self.first(x))

    net = Net()
    leaf = lib.ones(2, 2, requires_grad=True)
    with tracker as entered:
        assert entered is tracker
        x = leaf * 1
        x.register_hook(lambda grad: say("before Net"))
        net(x).sum().backward()
        say("after both")
        net(lib.ones(2, 2)).sum().backward()
        say("after one whose input needs no gradient")
    with lib.no_grad():
        net.first.linear(leaf)
    say("left")
    return log


def test_names_in_forward_and_backward():
    log = trace(adjoint)
    inner = ["Global", "Net", "Net.first"]
    assert log[1] == ("forward of Inner", inner, False)
    assert ("within Inner", [*inner, "Net.first.linear"], True) in log
    assert ("after both", ["Global"], False) in log
    assert log[-1] == ("left", ["Global"], False)


def test_as_in_pytorch():
    assert trace(adjoint) == trace(pytest.importorskip("torch"))
