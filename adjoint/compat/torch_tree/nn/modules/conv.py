"""torch.nn.modules.conv: the bases of convolutions."""

from adjoint.nn.layers.convolution import Convolution, TransposedConvolution

_ConvNd = Convolution
_ConvTransposeNd = TransposedConvolution
