"""The types of nn/functional.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint.nn.multihead import multi_head_attention_forward as multi_head_attention_forward
from adjoint.ops.neural import dropout as whole_dropout
from adjoint.ops.neural.resampling import unfold as unfold
from adjoint.tensors.tensor import Tensor
from typing import Any
from typing import overload

def adaptive_avg_pool1d(
    input: Tensor, output_size: Any, *, out: Tensor | None = None
) -> Tensor:
    """Means of windows that are chosen so that the result is of output_size."""
def adaptive_avg_pool2d(
    input: Tensor, output_size: Any, *, out: Tensor | None = None
) -> Tensor:
    """Means of windows that are chosen so that the result is of output_size."""
def adaptive_avg_pool3d(
    input: Tensor, output_size: Any, *, out: Tensor | None = None
) -> Tensor:
    """Means of windows that are chosen so that the result is of output_size."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: Any, *, out: Any = None) -> Tensor:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: bool = False, *, out: Any = None
) -> Any:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False, *, out: Any = None
) -> tuple[Tensor, Tensor]:
    """adaptive_max_pool1d with return_indices=True."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: Any, *, out: Any = None) -> Tensor:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Any, return_indices: bool = False, *, out: Any = None
) -> Any:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False, *, out: Any = None
) -> tuple[Tensor, Tensor]:
    """adaptive_max_pool2d with return_indices=True."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: Any, *, out: Any = None) -> Tensor:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: bool = False, *, out: Any = None
) -> Any:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False, *, out: Any = None
) -> tuple[Tensor, Tensor]:
    """adaptive_max_pool3d with return_indices=True."""
def affine_grid(
    theta: Tensor, size: Any, align_corners: bool | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The grid, for grid_sample, of an affine map of each image of a batch."""
def alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """Dropout for selu: mean 0 and variance 1 stay."""
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window."""
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window."""
def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window."""
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each channel of a batch with mean 0 and variance 1, scaled and shifted."""
def bilinear(
    input1: Tensor,
    input2: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """For each matrix of weight the product input1 @ matrix @ input2, plus bias."""
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The cross entropy of probabilities against targets between 0 and 1."""
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The cross entropy of sigmoid(input) against targets between 0 and 1, without overflow."""
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, else alpha * (exp(input / alpha) - 1). With inplace=True the result overwrites input."""
def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place form of celu."""
def channel_shuffle(input: Tensor, groups: int, *, out: Tensor | None = None) -> Tensor:
    """Channels of all groups by turns."""
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The cross-correlation of sequences with a bank of filters."""
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The cross-correlation of images with a bank of filters."""
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The cross-correlation of volumes with a bank of filters."""
def conv_tbc(
    input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0, *, out: Tensor | None = None
) -> Tensor:
    """conv1d of (time, batch, channels) with filters of (width, channels, filters)."""
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The transposed convolution of sequences, the gradient of a convolution."""
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The transposed convolution of images, the gradient of a convolution."""
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The transposed convolution of volumes, the gradient of a convolution."""
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """1 - cos for pairs that belong together; for others, cos above the margin."""
def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08, *, out: Tensor | None = None
) -> Tensor:
    """The cosine of the angle between vectors along dim."""
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The cross entropy of softmax(input) against class numbers or class probabilities."""
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """-log of the probability of label sequences; log_probs is (frames, batch, classes)."""
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each element with probability p and scale the others so that the mean stays."""
def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel of sequences with probability p."""
def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel of a batch of images with probability p."""
def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero each channel of volumes with probability p."""
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, else alpha * (exp(input) - 1). With inplace=True the result overwrites input."""
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place form of elu."""
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The row of weight for each index of input."""
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of weight that the indices of each bag name."""
def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Any:
    """Dropout of channels for selu: mean 0 and variance 1 stay."""
def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Images of output_size, columns of windows added up at their places."""
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    *,
    _random_samples: Tensor | None = None,
    out: Any = None,
) -> Tensor:
    """Maxima of windows at distances drawn by chance."""
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
    *,
    out: Any = None,
) -> Any:
    """Maxima of windows at distances drawn by chance."""
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
    *,
    out: Any = None,
) -> tuple[Tensor, Tensor]:
    """fractional_max_pool2d with return_indices=True."""
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    *,
    _random_samples: Tensor | None = None,
    out: Any = None,
) -> Tensor:
    """Maxima of windows at distances drawn by chance."""
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
    *,
    out: Any = None,
) -> Any:
    """Maxima of windows at distances drawn by chance."""
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
    *,
    out: Any = None,
) -> tuple[Tensor, Tensor]:
    """fractional_max_pool3d with return_indices=True."""
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | complex,
    full: bool = False,
    eps: float = 1e-06,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The negative log likelihood of targets, given their expectations and variances."""
def gelu(input: Tensor, *, approximate: str = "none", out: Tensor | None = None) -> Tensor:
    """input times the part of a standard normal distribution below it."""
def glu(input: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
    """The first half along dim times the sigmoid of the second."""
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Images read at the places of a grid, from (-1, -1), one corner, to (1, 1), the other."""
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Any:
    """Each group of channels of a sample with mean 0 and variance 1, scaled and shifted."""
def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """A sample of the classes, softened by tau; with hard=True one-hot, its gradient the soft's."""
def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """input, and 0 where it is at most lambd away from 0."""
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """input / 6 + 1/2, but at least 0 and at most 1. With inplace=True the result overwrites input."""
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input). With inplace=True the result overwrites input."""
def hardtanh(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Any:
    """input, but at least min_val and at most max_val."""
def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place form of hardtanh."""
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input where target is 1; where it is -1, what input lacks to the margin."""
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Half the squared difference up to delta, from there on linear."""
def instance_norm(
    input: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1, scaled and shifted."""
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Images of (batch, channels, *sizes) in other sizes."""
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The divergence of a distribution, given by logarithms, from a target distribution."""
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The absolute difference."""
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input with mean 0 and variance 1 over its last dimensions, scaled and shifted."""
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where it is positive, else negative_slope * input. With inplace=True the result overwrites input."""
def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place form of leaky_relu."""
def linear(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
) -> Tensor:
    """input @ weight.T + bias."""
def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """cross_entropy of linear(input, linear_weight, linear_bias)."""
def local_response_norm(
    input: Tensor,
    size: int,
    alpha: Tensor | complex = 0.0001,
    beta: Tensor | complex = 0.75,
    k: Tensor | complex = 1.0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input divided by a power of the mean square over neighbouring channels."""
def log_softmax(
    input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Any:
    """The logarithm of softmax, exact where softmax is near 0."""
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(input)), without overflow."""
def lp_pool1d(
    input: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of exponent norm_type of each window."""
def lp_pool2d(
    input: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of exponent norm_type of each window."""
def lp_pool3d(
    input: Tensor,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of exponent norm_type of each window."""
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """What input1 lacks to be above input2, or below it where target is -1, by a margin."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The greatest element of each window, and with return_indices its place in the input."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Any = None,
) -> Any:
    """The greatest element of each window, and with return_indices its place in the input."""
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Any = None,
) -> tuple[Tensor, Tensor]:
    """max_pool1d with return_indices=True."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The greatest element of each window, and with return_indices its place in the input."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Any = None,
) -> Any:
    """The greatest element of each window, and with return_indices its place in the input."""
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Any = None,
) -> tuple[Tensor, Tensor]:
    """max_pool2d with return_indices=True."""
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The greatest element of each window, and with return_indices its place in the input."""
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Any = None,
) -> Any:
    """The greatest element of each window, and with return_indices its place in the input."""
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Any = None,
) -> tuple[Tensor, Tensor]:
    """max_pool3d with return_indices=True."""
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Zeros with the elements of input where indices of a max_pool say."""
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Zeros with the elements of input where indices of a max_pool say."""
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Zeros with the elements of input where indices of a max_pool say."""
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input)). With inplace=True the result overwrites input."""
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The squared difference."""
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: float = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """What the score of the target class lacks to exceed each other by a margin."""
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """What the scores of the target classes lack to exceed all others by 1."""
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean over classes of the cross entropy of sigmoid(input) against targets 0 and 1."""
def native_channel_shuffle(input: Tensor, groups: int, *, out: Tensor | None = None) -> Tensor:
    """Channels of all groups by turns."""
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The negative log likelihood of the target classes, given log-probabilities."""
def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: Tensor | complex = 1e-12, out: Any = None
) -> Tensor:
    """input divided by its norm of exponent p along dim, or by eps where that is greater."""
def one_hot(tensor: Tensor, num_classes: int = -1, *, out: Tensor | None = None) -> Tensor:
    """For each class number a row of zeros with a one at that place."""
def pad(
    input: Tensor,
    pad: Any,
    mode: str = "constant",
    value: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input with a border, from the last dimension on: constant, reflect, replicate or circular."""
def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    eps: float = 1e-06,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of exponent p of x1 - x2 + eps over the last dimension."""
def pdist(input: Tensor, p: float = 2.0, *, out: Tensor | None = None) -> Tensor:
    """The distances between all pairs of rows, each pair once."""
def pixel_shuffle(input: Tensor, upscale_factor: int, *, out: Tensor | None = None) -> Tensor:
    """Channels as pixels: (*, C r², H, W) becomes (*, C, H r, W r)."""
def pixel_unshuffle(
    input: Tensor, downscale_factor: int, *, out: Tensor | None = None
) -> Tensor:
    """Pixels as channels: (*, C, H r, W r) becomes (*, C r², H, W)."""
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-08,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The negative log likelihood of counts, given their expectation or its logarithm."""
def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input where it is positive, else weight * input; one weight for all, or one a channel."""
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """input where it is positive, else 0. With inplace=True the result overwrites input."""
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """input, but at least 0 and at most 6. With inplace=True the result overwrites input."""
def relu_(input: Tensor) -> Tensor:
    """In-place form of relu."""
def rms_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    eps: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input divided by the root of its mean square over its last dimensions, times weight."""
def rrelu(
    input: Any,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    """input where it is positive, else times a slope: in training drawn for each element."""
def rrelu_(
    input: Any, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False
) -> Any:
    """In-place form of rrelu."""
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value."""
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu scaled so that deep networks keep mean 0 and variance 1. With inplace=True the result overwrites input."""
def selu_(input: Tensor) -> Tensor:
    """In-place form of selu."""
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input)); an overflow of exp is the limit 0, as it should be."""
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input). With inplace=True the result overwrites input."""
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The absolute difference less beta / 2, rounded off to a parabola below beta."""
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(input), scaled to sum to 1 along dim."""
def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax of -input."""
def softplus(
    input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Tensor | None = None
) -> Tensor:
    """log(1 + exp(beta * input)) / beta, and input itself where that is above threshold."""
def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """input moved by lambd towards 0, and 0 where it is nearer."""
def softsign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input / (1 + |input|)."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent."""
def tanhshrink(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input - tanh(input)."""
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where it is above threshold, else value. With inplace=True the result overwrites input."""
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place form of threshold."""
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """What the negative lacks to be further from the anchor than the positive, by a margin."""
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: Tensor | complex = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    out: Tensor | None = None,
) -> Tensor:
    """triplet_margin_loss with a distance of one's own."""
def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Any:
    """The old name of interpolate."""
def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """Bilinear interpolate with aligned corners, under its old name."""
def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate by the nearest neighbour, under its old name."""
