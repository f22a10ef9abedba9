"""Operations that torch.ops.aten has, and no public name."""

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.compat import aten

GEOMETRIES = [
    (False, (1, 1), (0, 0), (1, 1), (0, 0), 1),
    (False, (2, 1), (1, 2), (1, 2), (0, 0), 2),
    (True, (1, 1), (0, 0), (1, 1), (0, 0), 1),
    (True, (2, 2), (1, 0), (1, 1), (1, 0), 2),
]


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_gradients_of_convolutions(geometry: Any, torch: Any) -> None:
    transposed, stride, padding, dilation, extra, groups = geometry
    rng = np.random.default_rng(0)
    images, weight = rng.standard_normal((2, 4, 6, 7)), rng.standard_normal((4, 4 // groups, 3, 2))
    function = torch.conv_transpose2d if transposed else torch.conv2d
    more = (extra, groups, dilation) if transposed else (dilation, groups)
    shape = function(torch.tensor(images), torch.tensor(weight), None, stride, padding, *more).shape
    grad = rng.standard_normal(tuple(shape))
    found, expected = (
        call(
            *[
                library.tensor(each.tolist(), dtype=library.float64)
                for each in (grad, images, weight)
            ],
            (shape[1],),
            stride,
            padding,
            dilation,
            transposed,
            extra,
            groups,
            (True, True, True),
        )
        for library, call in (
            (adjoint, aten.convolution_backward),
            (torch, torch.ops.aten.convolution_backward),
        )
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-10, atol=1e-10)


def test_gradients_that_nobody_wants() -> None:
    images, weight = adjoint.ones(1, 1, 4, 4), adjoint.ones(2, 1, 3, 3)
    rest = ((2,), (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
    found = aten.convolution_backward(
        adjoint.ones(1, 2, 2, 2), images, weight, *rest, (False, False, True)
    )
    assert found[:2] == (None, None)
    assert found[2].tolist() == [4.0, 4.0]


def _lstm_arguments(library: Any, shape: tuple[int, ...], reverse: bool, biases: bool) -> list[Any]:
    sizes = [(4, 5, 3), (8, 3), (8, 2), (8,), (8,), shape, shape]
    tensors = [
        library.linspace(-1, 1 + 0.2 * n, int(np.prod(size))).reshape(size).requires_grad_()
        for n, size in enumerate(sizes)
    ]
    return [*tensors, reverse, [], 2, 2, 1, biases, False, False, True]


@pytest.mark.parametrize("shape", [(5, 2), (1, 5, 2)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("biases", [False, True])
def test_layers_of_lstms_in_one(
    shape: tuple[int, ...], reverse: bool, biases: bool, torch: Any
) -> None:
    found = []
    for library, call in (
        (adjoint, aten.PRIVATE["mkldnn_rnn_layer"]),
        (torch, torch.ops.aten.mkldnn_rnn_layer),
    ):
        args = _lstm_arguments(library, shape, reverse, biases)
        output, state, cell, _ = call(*args)
        loss = (output**2).sum() + state.sum() * 2 + (cell**2).sum()
        wanted = [*args[:3], *args[5:7], *(args[3:5] if biases else ())]
        grads = library.autograd.grad(loss, wanted)
        found.append([each.detach().numpy() for each in (output, state, cell, *grads)])
    for one, other in zip(*found, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_other_layers_than_those_of_lstms_are_refused() -> None:
    layer = aten.PRIVATE["mkldnn_rnn_layer"]
    args = _lstm_arguments(adjoint, (5, 2), False, True)
    with pytest.raises(RuntimeError, match="mode is 2, got 3"):
        layer(*args[:9], 3, *args[10:])
    with pytest.raises(RuntimeError, match="one length"):
        layer(*args[:8], [5, 5, 5, 3], *args[9:])
