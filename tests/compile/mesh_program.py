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


def of_halves(*shape, seed=0):
    """Numbers of halves between -1 and 1: sums of their products are exact in any order."""
    return np.random.default_rng(seed).integers(-2, 3, shape) / 2


class Exact(nn.Module):
    """A network whose values and gradients are short binary fractions, with a buffer of sums."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.drop = nn.Dropout(0.5)
        self.second = nn.Linear(16, 8, bias=False)
        self.register_buffer("total", adjoint.zeros(16))
        for number, parameter in enumerate(self.parameters()):
            with adjoint.no_grad():
                parameter.copy_(adjoint.tensor(of_halves(*parameter.shape, seed=number)))

    def forward(self, x):
        hidden = self.drop(self.first(x).relu())
        self.total.add_(hidden.detach().sum(0))
        return self.second(hidden)


def bits(device, kind, steps=3, **options):
    """All that a training on such numbers comes to, as bytes; the devices of a weight, too."""
    adjoint.manual_seed(0)
    # In double precision: each step adds some ten bits to the numbers.
    model = Exact().double().to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.125, momentum=0.5 if kind == "momentum" else 0)
    schedule = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    seen = []
    model.second.weight.register_hook(lambda grad: seen.append(grad.cpu().numpy().tobytes()))

    @adjoint.compile(**options)
    def step(x):
        optimizer.zero_grad()
        out = model(x)
        noise = adjoint.bernoulli(adjoint.full(out.shape, 0.5, dtype=out.dtype, device=out.device))
        loss = (out * noise).sum() / 8
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.detach(), out.detach()

    found = []
    for number in range(steps):
        x = adjoint.tensor(of_halves(32, 8, seed=number)).to(device)
        found += [part.cpu().numpy().tobytes() for part in step(x)]
    assert step.count == 1
    assert schedule.last_epoch == steps
    state = [*model.parameters(), *model.buffers(), *[p.grad for p in model.parameters()]]
    state += [v for p in model.parameters() for v in optimizer.state[p].values() if v is not None]
    found += [each.detach().cpu().numpy().tobytes() for each in state]
    found += [adjoint.get_rng_state().numpy().tobytes(), *seen]
    return found, model.first.weight


def same_bits():
    """Of each kind of training and way to spread it, whether it is that of one device."""
    meshes = {
        "data": {"mesh": 8},
        "data, two axes": {"mesh": (4, 2)},
        "parameters": {"mesh": (4, 2), "shard": halves},
        "parameters over all": {"mesh": (1, 8), "shard": halves},
    }
    import jax

    jax.config.update("jax_enable_x64", True)  # for doubles on "xla"
    answers = {}
    for device in ("cpu", "xla"):
        for kind in ("sgd", "momentum"):
            one, _ = bits(device, kind)
            for name, options in meshes.items():
                spread, weight = bits(device, kind, **options)
                devices = 1
                if device == "xla":
                    devices = len(weight.array.sharding.device_set)
                same = [a == b for a, b in zip(one, spread, strict=True)]
                answers[f"{device}, {kind}, {name}"] = [len(same), sum(same), devices]
    return answers


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
    seen["bits"] = same_bits()
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
