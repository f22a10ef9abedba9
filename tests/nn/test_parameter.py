"""Parameters and buffers."""

import copy
import pickle

import pytest

import adjoint
from adjoint import nn, ones, tensor
from adjoint.nn.parameter import is_lazy


class Own(adjoint.Tensor):
    """A class of a user's that sees calls."""

    def detach(self):
        return super().detach()


def test_parameter_shares_memory():
    data = ones(2)
    parameter = nn.Parameter(data)
    data.add_(1)
    assert parameter.tolist() == [2.0, 2.0]
    assert parameter._version == 1
    assert parameter.is_leaf
    assert nn.Parameter(data * parameter).is_leaf


def test_results_are_plain():
    parameter = nn.Parameter(ones(2))
    for made in (parameter + 1, parameter.detach(), parameter.data, parameter.view(1, 2)):
        assert type(made) is adjoint.Tensor


def test_repr():
    assert repr(nn.Parameter(ones(1))) == "Parameter containing:\ntensor([1.], requires_grad=True)"
    frozen = nn.Parameter(ones(1), requires_grad=False)
    assert str(frozen) == "Parameter containing:\ntensor([1.])"


def test_a_class_says_how_its_parameters_print():
    class Named(nn.Parameter):
        def __repr__(self):
            return "named"

    assert str(Named(ones(1))) == f"{Named(ones(1))}" == "named"


def test_classes_of_users_stay_what_they_are():
    parameter = nn.Parameter(ones(2).as_subclass(Own))
    assert type(parameter) is Own
    assert isinstance(parameter, nn.Parameter)
    assert not isinstance(ones(2).as_subclass(Own), nn.Parameter)
    module = nn.Module()
    module.weight = parameter
    assert list(module.parameters()) == [parameter]


def test_what_can_not_be_a_parameter():
    with pytest.raises(TypeError, match=r"expected a Tensor, got list"):
        nn.Parameter([1.0])
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(tensor([1]))
    assert nn.Parameter(tensor([1]), requires_grad=False).dtype is adjoint.int64


def test_subclasses_of_parameter():
    class Special(nn.Parameter):
        pass

    special = Special(ones(1))
    assert type(special) is Special
    assert not isinstance(nn.Parameter(ones(1)), Special)
    assert type(copy.deepcopy(special)) is Special


def test_copies_and_pickles():
    parameter = nn.Parameter(ones(2), requires_grad=False)
    parameter.tag = "kept"
    twin = copy.deepcopy(parameter)
    assert type(twin) is nn.Parameter
    assert not twin.requires_grad
    again = pickle.loads(pickle.dumps(parameter))
    assert type(again) is nn.Parameter
    assert (again.tag, again.requires_grad) == ("kept", False)
    hooked = nn.Parameter(ones(1))
    hooked.register_hook(print)
    pickle.dumps(hooked)
    assert hooked.extras.hooks


def test_buffers():
    data = ones(2, requires_grad=True)
    buffer = nn.Buffer(data, persistent=False)
    assert isinstance(buffer, nn.Buffer)
    assert not isinstance(data, nn.Buffer)
    assert type(buffer) is adjoint.Tensor
    assert buffer.requires_grad
    assert not buffer.persistent
    assert nn.Buffer().shape == (0,)
    assert not isinstance(nn.Parameter(ones(1)), nn.Buffer)


@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_uninitialized(kind):
    lazy = kind(dtype=adjoint.float64)
    assert is_lazy(lazy)
    assert repr(lazy) == f"<{kind.__name__}>"
    for use in (lambda: lazy + 1, lambda: adjoint.exp(lazy)):
        with pytest.raises(ValueError, match="uninitialized"):
            use()
    with pytest.raises(RuntimeError, match="shape"):
        _ = lazy.shape
    for twin in (copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))):
        assert type(twin) is kind
        assert (twin.dtype, twin.requires_grad) == (lazy.dtype, lazy.requires_grad)
    module = nn.Module()
    if kind is nn.UninitializedParameter:
        module.lazy = lazy
    else:
        module.register_buffer("lazy", lazy)
    module.float()
    module.lazy.materialize((2, 3))
    assert type(module.lazy) is kind.becomes
    assert not is_lazy(module.lazy)
    assert module.lazy.dtype is adjoint.float32
    assert (module.lazy.fill_(1) if kind is nn.UninitializedBuffer else module.lazy * 0).shape == (
        2,
        3,
    )
