"""linear_cross_entropy and its layer, and CrossMapLRN2d, against PyTorch's."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import gradcheck

RNG = np.random.default_rng(3)
CLASSES = np.array([1, 4, 0])
CHANCES = RNG.uniform(size=(3, 5))
CASES: list[tuple[dict[str, Any], Any, Any]] = [
    ({}, RNG.normal(size=(3, 4)), CLASSES),
    ({"bias": True, "reduction": "sum"}, RNG.normal(size=(3, 4)), CLASSES),
    ({"ignore_index": 4, "reduction": "none"}, RNG.normal(size=(3, 4)), CLASSES),
    ({"label_smoothing": 0.2}, RNG.normal(size=(3, 4)), CLASSES),
    ({"weight": RNG.uniform(size=5)}, RNG.normal(size=(3, 4)), CLASSES),
    ({}, RNG.normal(size=(3, 4)), CHANCES),
    ({"ignore_index": 1}, RNG.normal(size=(3, 4)), CHANCES),
    ({}, RNG.normal(size=4), np.array(2)),
    ({"out_features": (2,), "bias": True}, RNG.normal(size=(3, 4)), np.array([[0, 1]] * 3)),
    ({"out_features": (2,)}, RNG.normal(size=4), np.array([0, 1])),
    ({}, RNG.normal(size=(3, 2, 4)), CLASSES),
    ({}, RNG.normal(size=(3, 5)), CLASSES),
    ({"label_smoothing": 2.0}, RNG.normal(size=(3, 4)), CLASSES),
    ({"weight": RNG.uniform(size=4)}, RNG.normal(size=(3, 4)), CLASSES),
]


def outcome(library: Any, options: dict[str, Any], input: Any, target: Any) -> Any:
    """The loss and all gradients, as arrays, or the type of the error."""
    given = {k: library.tensor(v) if k == "weight" else v for k, v in options.items()}
    x = library.tensor(input, requires_grad=True)
    try:
        layer = library.nn.LinearCrossEntropyLoss(4, 5, dtype=library.float64, **given)
        for number, parameter in enumerate(layer.parameters()):
            values = np.random.default_rng(number).normal(size=tuple(parameter.shape))
            parameter.data = library.tensor(values)
        loss = layer(x, library.tensor(target))
        loss.sum().backward()
    except RuntimeError as error:
        return type(error)
    return [loss.detach().numpy(), x.grad.numpy(), *[p.grad.numpy() for p in layer.parameters()]]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_loss(torch: Any, number: int) -> None:
    """Losses and gradients of inputs and weights, or the error."""
    ours, theirs = (outcome(library, *CASES[number]) for library in (adjoint, torch))
    if isinstance(theirs, type):
        assert ours is theirs
    else:
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, 1e-9, 1e-12)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"batch_chunk_size": 2, "chunking_method": None, "allow_retain_graph": True},
    {"chunking_method": "aspect_ratio"},
    {"chunking_method": "aspect_ratio:2", "acc_policy": "compact"},
    {"chunking_method": "aspect_ratio:0"},
    {"chunking_method": "rows"},
    {"acc_policy": "hasty"},
    {"batch_chunk_size": 0},
    {"acc_dtype": "int64"},
    {"acc_dtype": "float32"},
]


@pytest.mark.parametrize("given", OPTIONS)
def test_options(torch: Any, given: dict[str, Any]) -> None:
    """They are checked alike, and change no result."""
    found = []
    for library in (adjoint, torch):
        named = {k: getattr(library, v) if k == "acc_dtype" else v for k, v in given.items()}
        try:
            options = library.nn.LinearCrossEntropyOptions(**named)
        except ValueError:
            found.append(None)
            continue
        weight, x = library.eye(5, 4), library.ones(3, 4)
        call = library.nn.functional.linear_cross_entropy
        assert "acc_dtype" in given or call(
            x, weight, library.tensor(CLASSES), options=options
        ) == pytest.approx(call(x, weight, library.tensor(CLASSES)).item())
        found.append([field.name for field in fields(options)])
    assert found[0] == found[1]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("channels", [1, 4, 7])
def test_cross_map_normalisation(torch: Any, size: int, channels: int) -> None:
    """Results are PyTorch's; the gradient is that of the result."""
    values = RNG.normal(size=(2, channels, 2, 3))
    ours, theirs = (
        library.nn.CrossMapLRN2d(size, alpha=0.5, beta=0.6, k=2) for library in (adjoint, torch)
    )
    found = ours(adjoint.tensor(values))
    np.testing.assert_allclose(found.numpy(), theirs(torch.tensor(values)).numpy(), 1e-10)
    assert repr(ours) == repr(theirs)
    assert gradcheck(ours, adjoint.tensor(values, requires_grad=True))


def test_cross_map_normalisation_refuses(torch: Any) -> None:
    """Anything but images."""
    for library in (adjoint, torch):
        with pytest.raises(ValueError, match="4D"):
            library.nn.CrossMapLRN2d(3)(library.ones(2, 3))
