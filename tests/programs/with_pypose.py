"""pypose: a subclass of Tensor for poses, and least squares over them by a vmap it changes."""

import pypose
from beginnings import normal, report
from torch import nn


class Inverse(nn.Module):
    """A pose that undoes another."""

    def __init__(self):
        super().__init__()
        self.pose = pypose.Parameter(pypose.se3(normal(2, 6, scale=0.3)).Exp())

    def forward(self, given):
        return (self.pose @ given).Log().tensor()


poses = pypose.se3(normal(3, 6)).Exp()
given = pypose.se3(normal(2, 6, seed=3, scale=0.3)).Exp()
module = Inverse()
damped = pypose.optim.LM(module, strategy=pypose.optim.strategy.Adaptive(damping=1e-4))
losses = [damped.step(given) for _ in range(3)]
report(
    poses=poses.tensor(),
    logarithms=poses.Log().tensor(),
    undone=(poses * poses.Inv()).tensor(),
    losses=losses,
    found=module.pose.tensor(),
)
