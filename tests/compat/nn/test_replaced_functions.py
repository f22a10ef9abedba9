"""Assigning to torch.nn.functional.relu is seen by layers, and can be taken back."""

from unittest import mock

import pytest

import adjoint.compat.torch as torch
from adjoint.nn import functional

CASES = {
    "relu": lambda: torch.nn.ReLU()(torch.ones(2)),
    "gelu": lambda: torch.nn.GELU()(torch.ones(2)),
    "linear": lambda: torch.nn.Linear(2, 2)(torch.ones(1, 2)),
    "conv2d": lambda: torch.nn.Conv2d(1, 1, 1)(torch.ones(1, 1, 2, 2)),
    "max_pool2d": lambda: torch.nn.MaxPool2d(2)(torch.ones(1, 1, 2, 2)),
    "batch_norm": lambda: torch.nn.BatchNorm1d(2)(torch.ones(3, 2)),
    "layer_norm": lambda: torch.nn.LayerNorm(2)(torch.ones(3, 2)),
    "dropout": lambda: torch.nn.Dropout()(torch.ones(3)),
    "embedding": lambda: torch.nn.Embedding(3, 2)(torch.tensor([0])),
    "softmax": lambda: torch.nn.Softmax(0)(torch.ones(2)),
    "cross_entropy": lambda: torch.nn.CrossEntropyLoss()(torch.ones(1, 2), torch.tensor([0])),
}


@pytest.mark.parametrize("name", CASES)
def test_layers_call_what_was_assigned(name):
    original = getattr(functional, name)
    setattr(torch.nn.functional, name, lambda *args, **kwargs: "mine")
    try:
        assert CASES[name]() == "mine"
        assert getattr(torch.nn.functional, name)() == "mine"
    finally:
        setattr(torch.nn.functional, name, original)
    assert isinstance(CASES[name](), torch.Tensor)
    assert getattr(torch.nn.functional, name) is original


def test_a_patch_is_undone():
    with mock.patch.object(torch.nn.functional, "relu", return_value=7):
        assert torch.nn.ReLU()(torch.ones(1)) == 7
    assert torch.nn.ReLU()(torch.ones(1)).item() == 1
    assert torch.nn.functional.relu(torch.ones(1)).item() == 1


def test_a_name_that_is_new_stays_the_program_s():
    torch.nn.functional.of_the_program = 3
    assert torch.nn.functional.of_the_program == 3 and not hasattr(functional, "of_the_program")
    del torch.nn.functional.of_the_program
    with pytest.raises(AttributeError):
        del torch.nn.functional.of_the_program


def test_layers_begin_by_a_function_that_was_replaced():
    """As programs do that load weights later, and want none drawn before."""
    init, called = torch.nn.init, []
    own = init.kaiming_uniform_
    try:
        init.kaiming_uniform_ = lambda tensor, *args, **kwargs: called.append(tuple(tensor.shape))
        torch.nn.Linear(3, 2)
        torch.nn.Conv1d(1, 4, 2)
    finally:
        init.kaiming_uniform_ = own
    assert called == [(2, 3), (4, 1, 2)]
    assert init.kaiming_uniform_ is own is vars(init)["kaiming_uniform_"]
    with mock.patch.object(init, "normal_", lambda tensor: tensor.data.fill_(7)):
        assert torch.nn.Embedding(1, 2).weight.tolist() == [[7.0, 7.0]]
    assert torch.nn.Embedding(1, 2).weight.tolist() != [[7.0, 7.0]]
