"""torch.nn.modules.linear: the last layer of attention."""

from adjoint.nn.layers.linear import (
    NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear,
)
