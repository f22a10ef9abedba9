"""Constructors and forwards have the parameters that PyTorch's have, by name."""

import inspect

import pytest

import adjoint
from adjoint import nn

# PyTorch's take anything, or are abstract.
OPEN = {"Buffer", "Parameter", "RNN", "UninitializedBuffer", "UninitializedParameter", "Container"}
OPEN_FORWARDS = {"Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "RNNBase"}
NAMES = sorted(
    name for name, kind in vars(nn).items() if isinstance(kind, type) and name[0].isupper()
)


def parameters(function):
    """What a function is called with."""
    return list(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", NAMES)
def test_parameters(name, torch):
    own, wanted = getattr(nn, name), getattr(torch.nn, name)
    if name not in OPEN and name != "Hardtanh":  # whose min_value and max_value are not there
        assert parameters(own.__init__) == parameters(wanted.__init__)
    if hasattr(wanted, "forward") and name not in OPEN_FORWARDS:
        assert parameters(own.forward) == parameters(wanted.forward)


def test_layers_take_tensors_by_name():
    x, y = adjoint.tensor([[1.0, -2.0]]), adjoint.tensor([[0.5, 1.0]])
    assert nn.MSELoss()(input=x, target=y).item() == nn.MSELoss()(x, y).item()
    assert nn.Tanh()(input=x).tolist() == x.tanh().tolist()
    assert nn.PoissonNLLLoss()(log_input=x, target=y).item() == nn.PoissonNLLLoss()(x, y).item()
    assert nn.CosineSimilarity()(x1=x, x2=y).tolist() == nn.CosineSimilarity()(x, y).tolist()
    with pytest.raises(TypeError, match="colour"):
        nn.MSELoss()(x, y, colour=1)
    with pytest.raises(TypeError, match="target"):
        nn.MSELoss()(input=x)
