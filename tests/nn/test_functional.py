"""What samples can't say of nn.functional: refusals, in-place forms, old and left-out arguments."""

from typing import Any
from unittest import mock

import numpy as np
import pytest

import adjoint
import adjoint.nn.functional as F

LOGITS = np.random.default_rng(0).normal(size=(4, 3))
CLASSES = [0, 2, -100, 1]
WEIGHT = [0.5, 1.0, 2.0]


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_weighted_losses(torch: Any, name: str, reduction: str) -> None:
    """Class weights change the gradient of input as in PyTorch."""
    found = []
    for library, functional in ((adjoint, F), (torch, torch.nn.functional)):
        x = library.tensor(LOGITS.tolist(), dtype=library.float64, requires_grad=True)
        weight = library.tensor(WEIGHT, dtype=library.float64)
        loss = getattr(functional, name)(x, library.tensor(CLASSES), weight, reduction=reduction)
        loss.sum().backward()
        found.append((loss.tolist(), x.grad.tolist()))
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, 1e-12)


def test_weight_that_requires_grad() -> None:
    """A class weight has no derivative, which is said at once; unrecorded, it does no harm."""
    x, weight = adjoint.tensor(LOGITS), adjoint.ones(3, dtype=adjoint.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="no derivative by weight"):
        F.nll_loss(x, adjoint.tensor(CLASSES), weight)
    with adjoint.no_grad():
        F.nll_loss(x, adjoint.tensor(CLASSES), weight)


def refusals(library: Any, functional: Any) -> list[Any]:
    """Calls that PyTorch refuses."""
    ones, numbers = library.ones, library.tensor([0, 1, 2, 0])
    image, x = ones(1, 2, 4, 4), ones(4, 3)
    square = ones(2, 2)
    return [
        lambda: functional.max_pool2d(image, 3, padding=2),
        lambda: functional.max_pool2d(image, 3, padding=-1),
        lambda: functional.max_pool2d(image, 3, stride=0),
        lambda: functional.max_pool2d(image, 3, dilation=0),
        lambda: functional.max_pool2d(image, 5),
        lambda: functional.max_pool2d(square, 2),
        lambda: functional.conv2d(image, ones(3, 2, 5, 5)),
        lambda: functional.conv2d(image, ones(3, 2, 2, 2), padding="same", stride=2),
        lambda: functional.conv2d(image, ones(3, 1, 2, 2), groups=2),
        lambda: functional.conv2d(square, ones(3, 1, 2, 2)),
        lambda: functional.conv2d(image, ones(3, 2, 2, 2, dtype=library.float64)),
        lambda: functional.conv2d(image, ones(3, 2, 2, 2), padding="half"),
        lambda: functional.conv2d(image, ones(3, 1, 2, 2)),
        lambda: functional.scaled_dot_product_attention(
            square, square, square, library.zeros(2, 2, dtype=library.int32)
        ),
        lambda: functional.scaled_dot_product_attention(
            square, square, square, square > 0, is_causal=True
        ),
        lambda: functional.nll_loss(x, ones(4)),
        lambda: functional.nll_loss(x, library.tensor([0, 1, 2, 5])),
        lambda: functional.nll_loss(x, numbers[:3]),
        lambda: functional.nll_loss(x, numbers, ones(2)),
        lambda: functional.cross_entropy(x, numbers, reduction="most"),
        lambda: functional.cross_entropy(x, numbers, label_smoothing=2.0),
        lambda: functional.layer_norm(x, (4,)),
        lambda: functional.mse_loss(x, ones(5)),
        lambda: functional.linear(x, ones(2, 2)),
        lambda: functional.dropout(x, 1.5),
        lambda: functional.hardtanh(x, 1.0, -1.0),
    ]


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("number", range(len(refusals(adjoint, F))))
def test_refusals(torch: Any, number: int) -> None:
    """The exceptions are of PyTorch's types."""
    with pytest.raises((RuntimeError, ValueError, IndexError)) as theirs:
        refusals(torch, torch.nn.functional)[number]()
    with pytest.raises(theirs.type):
        refusals(adjoint, F)[number]()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"size_average": False}, "sum"),
        ({"size_average": True}, "mean"),
        ({"reduce": False}, "none"),
        ({"reduce": True}, "mean"),
    ],
)
def test_old_reduction_arguments(given: dict[str, bool], meant: str) -> None:
    """size_average and reduce still work, with a warning."""
    x, target = adjoint.tensor(LOGITS), adjoint.tensor(LOGITS * 2)
    with pytest.warns(UserWarning, match=f"reduction='{meant}'"):
        old = F.mse_loss(x, target, **given)
    assert old.tolist() == F.mse_loss(x, target, reduction=meant).tolist()


INPLACE = {
    "celu": (), "elu": (0.5,), "hardsigmoid": (), "hardswish": (), "hardtanh": (-0.5, 0.5),
    "leaky_relu": (0.2,), "mish": (), "relu": (), "relu6": (), "selu": (), "silu": (),
    "threshold": (0.1, -1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", INPLACE)
def test_inplace_argument(torch: Any, name: str) -> None:
    """inplace=True overwrites the input, by keyword and by position."""
    function, options = getattr(F, name), INPLACE[name]
    expected = getattr(torch.nn.functional, name)(torch.tensor(LOGITS), *options)
    x = adjoint.tensor(LOGITS)
    np.testing.assert_allclose(function(x, *options).tolist(), expected.tolist(), 1e-12)
    assert x.tolist() == LOGITS.tolist()
    assert function(x, *options, inplace=True) is x
    np.testing.assert_allclose(x.tolist(), expected.tolist(), 1e-12)
    if name in ("relu", "relu6", "celu"):
        given = options or ((1.0,) if name == "celu" else ())
        y = adjoint.tensor(LOGITS)
        assert function(y, *given, True) is y


def test_dropout_in_place() -> None:
    """dropout(training=False) changes nothing; with inplace=True it overwrites the input."""
    x = adjoint.ones(100)
    assert F.dropout(x, training=False) is x
    assert F.dropout(x, 0.5, True, True) is x
    assert set(x.tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2)])
def test_softmax_without_dim(torch: Any, name: str, shape: tuple[int, ...]) -> None:
    """The dimension is PyTorch's choice, with a warning."""
    x = np.random.default_rng(0).normal(size=shape)
    with pytest.warns(UserWarning, match="dim"):
        ours = getattr(F, name)(adjoint.tensor(x))
    with pytest.warns(UserWarning, match="dim"):
        theirs = getattr(torch.nn.functional, name)(torch.tensor(x))
    np.testing.assert_allclose(ours.tolist(), theirs.tolist(), 1e-12)


def test_a_grid_of_affine_maps_keeps_nothing() -> None:
    """It is linear in theta, so that one can go back through it as often as one likes."""
    theta = adjoint.ones(1, 2, 3, requires_grad=True)
    grid = adjoint.nn.functional.affine_grid(theta, (1, 1, 2, 2), align_corners=False)
    assert grid.grad_fn.name() == "AffineGridGeneratorBackward0"
    grid.sum().backward()
    grid.sum().backward()
    assert theta.grad.tolist() == [[[0.0, 0.0, 8.0], [0.0, 0.0, 8.0]]]


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "RNNCell", "LSTM", "GRU"])
@pytest.mark.filterwarnings("ignore:complex modules")
def test_recurrent_layers_of_complex_numbers(name):
    """Gradients are conjugated, as finite differences want them."""
    layer = getattr(adjoint.nn, name)(2, 3).to(adjoint.complex128)
    x = adjoint.randn(4, 2, dtype=adjoint.complex128, requires_grad=True)

    def run(x):
        found = layer(x)
        return found[0] if isinstance(found, tuple) else found

    assert adjoint.autograd.gradcheck(run, (x,))
    assert adjoint.autograd.gradgradcheck(run, (x,))


def test_layers_call_what_a_program_puts_in_the_place_of_a_function(monkeypatch):
    """The same names under compat are tested in tests/compat/nn."""
    x = adjoint.ones(2, 2)
    layers = {
        "relu": adjoint.nn.ReLU(),
        "linear": adjoint.nn.Linear(2, 2),
        "gelu": adjoint.nn.GELU(),
    }
    with monkeypatch.context() as patched:
        for name in layers:
            patched.setattr(adjoint.nn.functional, name, lambda *args, **kwargs: "mine")
        assert [layer(x) for layer in layers.values()] == ["mine"] * 3
    assert layers["relu"](-x).tolist() == [[0.0, 0.0]] * 2
    with mock.patch.object(adjoint.nn.functional, "relu", return_value="mocked"):
        assert layers["relu"](x) == "mocked"
    assert layers["relu"](x).tolist() == [[1.0, 1.0]] * 2
    adjoint.nn.functional.my_own = 3
    assert adjoint.nn.functional.my_own == 3
    del adjoint.nn.functional.my_own
