"""torch.nn.modules.loss: the bases of losses."""

from adjoint.nn.layers.loss import Loss, WeightedLoss

_Loss = Loss
_WeightedLoss = WeightedLoss
