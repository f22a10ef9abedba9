"""Optimizers of parameters whose shape is not known yet: who refuses them, and when."""

import pytest

import adjoint

NAMES = "SGD Adam AdamW Adagrad Adadelta Adamax NAdam RAdam ASGD Rprop RMSprop Adafactor LBFGS"


def outcome(library, name):
    """The error of a constructor, or how many states there are after a step without gradients."""
    layer = library.nn.LazyLinear(3)
    try:
        optimizer = getattr(library.optim, name)(layer.parameters())
    except ValueError:
        return "refused"
    if name != "LBFGS":
        optimizer.step()
    return len(optimizer.state)


@pytest.mark.filterwarnings("ignore:Lazy")
@pytest.mark.parametrize("name", NAMES.split())
def test_who_refuses_an_uninitialized_parameter(torch, name):
    assert outcome(adjoint, name) == outcome(torch, name)


@pytest.mark.filterwarnings("ignore:Lazy")
def test_a_group_of_uninitialized_parameters_takes_steps_once_they_have_a_shape(torch):
    found = []
    for library in (torch, adjoint):
        layer = library.nn.LazyLinear(3)
        optimizer = library.optim.SGD([library.nn.Parameter(library.ones(2))], 0.1, momentum=0.9)
        optimizer.add_param_group({"params": layer.parameters()})
        optimizer.step()
        layer(library.ones(2, 4)).sum().backward()
        before = layer.weight.detach().clone()
        optimizer.step()
        found.append((before - layer.weight.detach()).tolist())
        assert optimizer.param_groups[1]["params"][0] is layer.weight
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other, abs=1e-6)
