"""Results that programs change in place under a mode: what is refused, and the gradients."""

import contextlib

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch_tree.utils._python_dispatch import TorchDispatchMode

LAYERS = {
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(
        x, t.zeros(2), t.ones(2), t.ones(2), t.zeros(2), True
    ),
    "instance_norm": lambda t, x: t.nn.functional.instance_norm(x),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 1),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (4,)),
    "linear": lambda t, x: t.nn.functional.linear(x, t.ones(3, 4), t.ones(3)),
    "matmul": lambda t, x: x @ t.ones(4, 3),
    "products": lambda t, x: x @ x,
    "einsum": lambda t, x: t.einsum("abcd,de->abce", x, t.ones(4, 4)),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "max_pool1d": lambda t, x: t.nn.functional.max_pool1d(x[0], 2),
    "adaptive": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2),
    "interpolate": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2),
    "pixel_shuffle": lambda t, x: t.nn.functional.pixel_shuffle(x.repeat(1, 2, 1, 1), 2),
    "bilinear": lambda t, x: t.nn.functional.bilinear(x, x, t.ones(2, 4, 4)),
    "grid_sample": lambda t, x: t.nn.functional.grid_sample(x, t.zeros(2, 2, 2, 2)),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, t.ones(2, 2, 4, 4), reduction="none"),
    "masked_select": lambda t, x: x.masked_select(x > 0.5),
    # What PyTorch's nodes keep of results must not change.
    "tanh": lambda t, x: x.tanh(),
    "sigmoid": lambda t, x: x.sigmoid(),
    "exp": lambda t, x: x.exp(),
    "relu": lambda t, x: x.relu(),
    "softmax": lambda t, x: x.softmax(1),
    "log_softmax": lambda t, x: x.log_softmax(1),
    "amax": lambda t, x: x.amax(-1),
    "norm": lambda t, x: x.norm(dim=0),
    "cumprod": lambda t, x: x.cumprod(0),
    "prod": lambda t, x: x.prod(0),
    "inv": lambda t, x: t.linalg.inv(x + 9 * t.eye(4)),
    "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(x, x, x),
}


def looking(kind):
    """A mode that answers as if there were none."""

    class Looking(kind):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    return Looking()


def changed(library, layer, mode):
    """The gradient through a changed result, or that it is refused."""
    values = np.random.default_rng(0).uniform(0.1, 2, size=(2, 2, 4, 4)).astype(np.float32)
    x = library.from_numpy(values).requires_grad_()
    with mode:
        result = LAYERS[layer](library, x * 1)
        result.mul_(3)
        try:
            (result * result).sum().backward()
        except RuntimeError as error:
            return str(error).partition(":")[0]
    return x.grad.tolist()


@pytest.mark.parametrize("layer", LAYERS)
def test_a_result_may_be_changed_under_a_mode_where_it_may_be_without(layer, torch):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    found = changed(compat, layer, looking(TorchDispatchMode))
    wanted = changed(torch, layer, looking(Theirs))
    without = changed(compat, layer, contextlib.nullcontext())
    if isinstance(wanted, str):
        assert "modified by an inplace operation" in wanted
        assert found == without == wanted
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(found, without, rtol=1e-3, atol=1e-3)


def test_a_network_that_changes_what_layers_answer_is_trained_under_a_mode():
    nn = compat.nn
    layers = [nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    network = nn.Sequential(*layers, nn.Dropout(0.0), nn.Flatten(), nn.Linear(2, 1))
    values = np.random.default_rng(0).normal(size=(4, 1, 5, 5)).astype(np.float32)
    images = compat.from_numpy(values)
    gradients = []
    for mode in (contextlib.nullcontext(), looking(TorchDispatchMode)):
        network.zero_grad()
        with mode:
            network(images).pow(2).sum().backward()
        gradients.append([p.grad.numpy().copy() for p in network.parameters()])
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
