"""torch.nn.modules.conv: the bases of convolutions."""

from adjoint.compat.torch_tree.nn.modules import utils
from adjoint.nn.layers.convolution import Convolution, TransposedConvolution

_ConvNd = Convolution
_ConvTransposeNd = TransposedConvolution
_single, _pair, _triple = utils.single, utils.pair, utils.triple
_reverse_repeat_tuple = utils.reverse_repeat_tuple
