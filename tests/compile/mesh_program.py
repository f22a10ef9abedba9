"""Steps of a training on one device and over a mesh of eight, for test_mesh: it prints what it saw.

XLA makes eight devices of a CPU where XLA_FLAGS says so, which is read once for a process.
"""

import json
import sys

import numpy as np

import adjoint
from adjoint import nn, optim

F = nn.functional


def trained(device, hook=False, steps=5, **options):
    """Losses and parameters of a training; the network, too."""
    adjoint.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.2), nn.Linear(16, 4)).to(device)
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    seen = []
    if hook:
        model[3].weight.register_hook(lambda grad: seen.append(float(grad.sum())))

    @adjoint.compile(**options)
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    batches = np.random.default_rng(0)
    losses = []
    for _ in range(steps):
        x = adjoint.tensor(batches.standard_normal((32, 8)).astype("float32")).to(device)
        y = adjoint.tensor(batches.integers(0, 4, 32)).to(device)
        losses.append(float(step(x, y)))
    assert step.count == 1
    values = [parameter.detach().cpu().numpy() for parameter in model.parameters()]
    return losses, values, model, seen


def furthest(one, other):
    """The largest difference of two trainings."""
    pairs = zip([one[0], *one[1]], [other[0], *other[1]], strict=True)
    return max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in pairs)


def halves(tensor):
    """Weights, and their states, shared out by rows over the second axis."""
    return ("model", None) if tensor.ndim == 2 else None


def refusal(**options):
    try:
        adjoint.compile(lambda x: WEIGHT * x, warm_up=0, **options)(adjoint.ones(3))
    except ValueError as error:
        return str(error)
    return ""


WEIGHT = adjoint.ones(3)


def gradient_afterwards():
    """The gradient of a result that a compiled call over a mesh answers."""
    weight = adjoint.ones(8, 3, requires_grad=True)
    product = adjoint.compile(lambda x: x @ weight, warm_up=0, mesh=8)
    product(adjoint.ones(16, 8)).sum().backward()
    return float(weight.grad.sum())


def rows():
    """How far the rows of a network and an elementwise function are from those of one device."""
    adjoint.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    x = adjoint.randn(32, 8)
    found = []
    for function in (model, lambda x: adjoint.tanh(x * 3).exp() - x):
        with adjoint.no_grad():
            one = adjoint.compile(function, warm_up=0)(x)
            spread = adjoint.compile(function, warm_up=0, mesh=8)(x)
        found.append(float((one - spread).abs().max()))
    return found


def main():
    import jax

    one, spread = trained("cpu"), trained("cpu", mesh=8)
    one_xla = trained("xla")
    on_xla = trained("xla", mesh=jax.make_mesh((4, 2), ("data", "model")), shard=halves)
    hooked_one, hooked = trained("cpu", hook=True), trained("cpu", hook=True, mesh={"data": 8})
    weight = on_xla[2][0].weight.array
    seen = {
        "devices": len(jax.devices()),
        "numpy": furthest(one, spread),
        "xla": furthest(one_xla, on_xla),
        "hooked": furthest(hooked_one, hooked),
        "hooks": [len(hooked_one[3]), len(hooked[3])],
        "kind": type(spread[2][0].weight.array).__name__,
        "weight": [list(weight.shape), list(weight.addressable_shards[0].data.shape)],
        "bias": list(on_xla[2][0].bias.array.addressable_shards[0].data.shape),
        "rows": rows(),
        "afterwards": gradient_afterwards(),
        "refusals": [
            refusal(mesh=9),
            refusal(mesh="all"),
            refusal(shard=halves),
            refusal(mesh=8, shard=lambda tensor: ("model",)),
            refusal(mesh=8, shard=lambda tensor: ("data",)),
            refusal(mesh=8, shard=lambda tensor: ("data", None)),
        ],
    }
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
