"""Which attributes of layers PyTorch's compiler takes as constants: programs add to these lists."""

from typing import Any

from adjoint import nn
from adjoint.nn.layers import convolution, dropout, normalization, padding, pooling, recurrent

_HOMES = (nn, convolution, dropout, normalization, padding, pooling, recurrent)

# The names of classes, bases before what derives from them, and those of their constants.
_CONSTANTS = """
Convolution: stride padding dilation groups padding_mode output_padding \
in_channels out_channels kernel_size
RunningNorm: track_running_stats momentum eps num_features affine
MaxPool: kernel_size stride padding dilation return_indices ceil_mode
AvgPool: kernel_size stride padding ceil_mode count_include_pad
AvgPool2d AvgPool3d: kernel_size stride padding ceil_mode count_include_pad divisor_override
FractionalMaxPool2d FractionalMaxPool3d: kernel_size return_indices output_size output_ratio
LPPool: norm_type kernel_size stride ceil_mode
AdaptiveAvgPool: output_size
AdaptiveMaxPool: output_size return_indices
AnyDropout: p inplace
RNNBase: mode input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size
RNNCellBase: input_size hidden_size bias
RNNCell: input_size hidden_size bias nonlinearity
L1Loss KLDivLoss MSELoss BCELoss MultiLabelMarginLoss SmoothL1Loss SoftMarginLoss: reduction
MultiLabelSoftMarginLoss: reduction
NLLLoss: ignore_index reduction
PoissonNLLLoss: log_input full eps reduction
GaussianNLLLoss: full eps reduction
HingeEmbeddingLoss CosineEmbeddingLoss MarginRankingLoss: margin reduction
HuberLoss: reduction delta
CrossEntropyLoss: ignore_index reduction label_smoothing
LinearCrossEntropyLoss: num_classes out_features reduction ignore_index label_smoothing
MultiMarginLoss: p margin reduction
TripletMarginLoss: margin p eps swap reduction
TripletMarginWithDistanceLoss: margin swap reduction
CTCLoss: blank reduction
CircularPad ReflectionPad ReplicationPad: padding
ConstantPad: padding value
Threshold: threshold value inplace
ReLU Hardsigmoid SiLU Mish Hardswish SELU: inplace
RReLU: lower upper inplace
Hardtanh ReLU6: min_val max_val inplace
ELU CELU: alpha inplace
GLU Softmin Softmax LogSoftmax: dim
GELU: approximate
Hardshrink Softshrink: lambd
LeakyReLU: inplace negative_slope
Softplus: beta threshold
MultiheadAttention: batch_first
PReLU: num_parameters
Linear: in_features out_features
Bilinear: in1_features in2_features out_features
LocalResponseNorm: size alpha beta k
LayerNorm RMSNorm: normalized_shape eps elementwise_affine
GroupNorm: num_groups num_channels eps affine
Embedding: num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse
EmbeddingBag: num_embeddings embedding_dim max_norm norm_type scale_grad_by_freq \
mode sparse include_last_offset padding_idx
TransformerEncoder TransformerDecoder: norm
TransformerEncoderLayer TransformerDecoderLayer: norm_first
Fold: output_size kernel_size dilation padding stride
Unfold: kernel_size dilation padding stride
Flatten: start_dim end_dim
Unflatten: dim unflattened_size
PairwiseDistance: norm eps keepdim
CosineSimilarity: dim eps
ChannelShuffle: groups
PixelShuffle: upscale_factor
PixelUnshuffle: downscale_factor
Upsample: size scale_factor mode align_corners name recompute_scale_factor
"""


def attach_constants() -> None:
    """Give each class of layers its list."""
    for line in _CONSTANTS.strip().splitlines():
        names, _, constants = line.partition(": ")
        for name in names.split():
            found: Any = next(home for home in _HOMES if hasattr(home, name))
            getattr(found, name).__constants__ = constants.split()
