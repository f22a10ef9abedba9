"""The private bases of PyTorch's layers, which programs derive from or ask for."""

from typing import Any

from adjoint.nn.layers.base import taking
from adjoint.nn.layers.convolution import (
    Convolution as _ConvNd,
    TransposedConvolution as _ConvTransposeNd,
)
from adjoint.nn.layers.dropout import AnyDropout as _DropoutNd
from adjoint.nn.layers.loss import Loss as _Loss
from adjoint.nn.layers.normalization import (
    BatchNorm as _BatchNorm,
    InstanceNorm as _InstanceNorm,
    RunningNorm as _NormBase,
)
from adjoint.nn.layers.pooling import (
    AdaptiveMaxPool as _AdaptiveMaxPoolNd,
    AdaptivePool as _AdaptiveAvgPoolNd,
    AvgPool as _AvgPoolNd,
    MaxPool as _MaxPoolNd,
)

__all__ = [
    "_AdaptiveAvgPoolNd",
    "_AdaptiveMaxPoolNd",
    "_AvgPoolNd",
    "_BatchNorm",
    "_ConvNd",
    "_ConvTransposeNd",
    "_DropoutNd",
    "_InstanceNorm",
    "_Loss",
    "_MaxPoolNd",
    "_NormBase",
    "_WeightedLoss",
]


class _WeightedLoss(_Loss):
    """A loss with a weight for each class."""

    fields = taking(weight=None, **_Loss.fields)


def _get_no_batch_dim(self: Any) -> int:
    """How many dimensions a single sample has."""
    ranks: tuple[int, int] = self.ranks
    return ranks[0]


INSTANCE_NORM_METHODS: dict[str, Any] = {"_get_no_batch_dim": _get_no_batch_dim}
