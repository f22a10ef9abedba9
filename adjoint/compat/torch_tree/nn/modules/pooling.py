"""torch.nn.modules.pooling: the bases of layers that pool."""

from adjoint.nn.layers.pooling import AdaptiveMaxPool, AdaptivePool, AvgPool, MaxPool

_AdaptiveAvgPoolNd = AdaptivePool
_AdaptiveMaxPoolNd = AdaptiveMaxPool
_AvgPoolNd = AvgPool
_MaxPoolNd = MaxPool
