"""torch.nn.modules.loss: the bases of losses."""

from adjoint.nn.layers.base import taking
from adjoint.nn.layers.loss import Loss

_Loss = Loss


class _WeightedLoss(Loss):
    """A loss with a weight for each class."""

    fields = taking(weight=None, **Loss.fields)
