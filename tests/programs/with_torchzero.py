"""torchzero: optimizers made of modules, on lists of tensors that are given values by place."""

import torchzero
from beginnings import filled, normal, report
from torch import nn
from torchzero import m

CHAINS = {
    "adam": lambda: [m.Adam(), m.LR(0.01)],
    "lbfgs": lambda: [m.LBFGS(), m.Backtracking()],
    "bfgs": lambda: [m.BFGS(), m.Backtracking()],
    "shampoo": lambda: [m.Shampoo(), m.LR(0.01)],
    "conjugate": lambda: [m.PolakRibiere(), m.StrongWolfe()],
    "rprop": lambda: [m.Rprop()],
    "sharpness": lambda: [m.SAM(), m.LR(0.01)],
    "lion": lambda: [m.Lion(), m.LR(0.001)],
    "clipped": lambda: [m.ClipNorm(1), m.HeavyBall(0.9), m.WeightDecay(1e-3), m.LR(0.05)],
}


def losses(chain):
    """The losses of four steps."""
    network = filled(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    x, y = normal(16, 4), normal(16, 1, seed=1)
    optimizer = torchzero.Optimizer(network.parameters(), *chain)

    def closure(backward=True):
        loss = ((network(x) - y) ** 2).mean()
        if backward:
            optimizer.zero_grad()
            loss.backward()
        return loss

    return [float(optimizer.step(closure)) for _ in range(4)]


report(**{name: losses(chain()) for name, chain in CHAINS.items()})
