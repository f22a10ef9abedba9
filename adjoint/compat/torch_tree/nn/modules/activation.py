"""torch.nn.modules.activation: what its attention is made of."""

from adjoint.nn.layers.linear import (
    NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear,
)
