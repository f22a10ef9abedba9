"""torch.nn.modules.conv: the bases of convolutions."""

from adjoint.compat.torch_tree.nn.modules.utils import (
    _pair as _pair,
    _reverse_repeat_tuple as _reverse_repeat_tuple,
    _single as _single,
    _triple as _triple,
)
from adjoint.nn.layers.convolution import Convolution, TransposedConvolution

_ConvNd = Convolution
_ConvTransposeNd = TransposedConvolution
