"""An in-place activation may follow every layer whose backward does not need its own result."""

import pytest

import adjoint
from adjoint import nn

LAYERS = [
    (nn.Linear(5, 4), (3, 5)),
    (nn.Conv2d(2, 3, 3), (2, 2, 5, 5)),
    (nn.BatchNorm1d(3), (4, 3)),
    (nn.BatchNorm2d(3), (4, 3, 5, 5)),
    (nn.InstanceNorm2d(3), (2, 3, 4, 4)),
    (nn.GroupNorm(3, 3), (4, 3, 5)),
    (nn.LayerNorm(5), (4, 5)),
    (nn.RMSNorm(5), (4, 5)),
    (nn.MaxPool2d(2), (2, 3, 4, 4)),
    (nn.AvgPool2d(2), (2, 3, 4, 4)),
    (nn.AdaptiveMaxPool2d(2), (2, 3, 5, 5)),
]


@pytest.mark.parametrize(("layer", "shape"), LAYERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("training", [True, False])
def test_relu_in_place_gives_the_gradients_of_relu(layer, shape, training):
    layer.double().train(training)
    x = adjoint.randn(*shape).double()

    def gradients(activation):
        leaf = x.clone().requires_grad_()
        out = activation(layer(leaf))
        return adjoint.autograd.grad((out * out).sum(), [leaf, *layer.parameters()])

    for ours, plain in zip(gradients(lambda x: x.relu_()), gradients(adjoint.relu), strict=True):
        assert adjoint.allclose(ours, plain)
    chain = nn.Sequential(layer, nn.ReLU(inplace=True))
    chain(x.clone().requires_grad_()).sum().backward()
