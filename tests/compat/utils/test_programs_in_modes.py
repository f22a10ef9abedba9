"""Programs in a mode that makes every call as it is: values, gradients and statistics stay."""

import pytest

import adjoint.compat.torch as torch
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode
from adjoint.compat.torch.utils.checkpoint import checkpoint

nn = torch.nn


class Passing(TorchDispatchMode):
    seen = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += 1
        return func(*args, **(kwargs or {}))


def gradients(module):
    return [parameter.grad for parameter in module.parameters()]


def sparse():
    places, values = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0])
    values.requires_grad_()
    dense = torch.ones(3, 2, requires_grad=True)
    out = torch.sparse.mm(torch.sparse_coo_tensor(places, values, (2, 3)), dense)
    out.sum().backward()
    return [out, values.grad, dense.grad]


def encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    out = layer(torch.randn(2, 5, 8))
    out.sum().backward()
    return [out, *gradients(layer)]


def convolutions():
    layers = [nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
    layers += [nn.MaxPool2d(2), nn.ConvTranspose2d(8, 4, 2, stride=2), nn.GroupNorm(2, 4)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3), nn.Dropout(0.3)]
    network = nn.Sequential(*layers)
    out = network(torch.randn(2, 3, 16, 16))
    loss = nn.functional.cross_entropy(out, torch.tensor([0, 2]))
    loss.backward()
    return [loss, *gradients(network), *network.buffers()]


def recurrence():
    network = nn.LSTM(4, 5, 2, bidirectional=True)
    out, _ = network(torch.randn(3, 2, 4))
    out.sum().backward()
    return [out, *gradients(network)]


def checkpoints():
    network = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    x = torch.randn(3, 4, requires_grad=True)
    checkpoint(network, x, use_reentrant=False).sum().backward()
    return [x.grad, *gradients(network)]


def training():
    network = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(network.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        network(torch.randn(3, 4)).pow(2).mean().backward()
        optimizer.step()
    return list(network.parameters())


def transforms():
    function = lambda x: (x.sin() @ x.cos()).sum()
    x = torch.randn(3, 3)
    hessian = torch.func.hessian(function)(x)
    return [hessian, torch.vmap(torch.func.grad(function))(torch.randn(2, 3, 3))]


def changes():
    x = torch.randn(4, 4, requires_grad=True)
    y = x.clone()
    y[1:3, 0] = 5.0
    y[:, 1] *= 2
    y[y > 1] = 0
    z = torch.einsum("ij,kj->ik", y, x) + torch.linalg.inv(x.detach() + 5 * torch.eye(4))
    z.sum().backward()
    return [z, x.grad]


PROGRAMS = [sparse, encoder, convolutions, recurrence, checkpoints, training, transforms, changes]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_mode_changes_nothing(program):
    torch.manual_seed(0)
    expected = program()
    torch.manual_seed(0)
    with Passing() as mode:
        found = program()
    assert mode.seen
    for got, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(got, wanted)
