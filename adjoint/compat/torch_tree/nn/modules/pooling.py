"""torch.nn.modules.pooling: the bases of layers that pool."""

from adjoint.nn.layers.pooling import (
    AdaptiveAvgPool,
    AdaptiveMaxPool,
    AvgPool,
    LPPool,
    MaxPool,
    MaxUnpool,
)

_AdaptiveAvgPoolNd = AdaptiveAvgPool
_AdaptiveMaxPoolNd = AdaptiveMaxPool
_AvgPoolNd = AvgPool
_LPPoolNd = LPPool
_MaxPoolNd = MaxPool
_MaxUnpoolNd = MaxUnpool
