"""The types of nn/functional.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint.nn.multihead import multi_head_attention_forward as multi_head_attention_forward
from adjoint.tensors.tensor import Tensor
from typing import Any
from typing import overload

def pad(
    input: Any, pad: Any, mode: str = "constant", value: Any = None, *, out: Any = None
) -> Tensor:
    """input with a border, from the last dimension on: constant, reflect, replicate or circular."""
def one_hot(tensor: Any, num_classes: int = -1, *, out: Any = None) -> Tensor:
    """For each class number a row of zeros with a one at that place."""
def gelu(input: Any, *, approximate: str = "none", out: Any = None) -> Tensor:
    """input times the part of a standard normal distribution below it."""
def glu(input: Any, dim: int = -1, *, out: Any = None) -> Tensor:
    """The first half along dim times the sigmoid of the second."""
def hardshrink(input: Any, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """input, and 0 where it is at most lambd away from 0."""
def logsigmoid(input: Any, *, out: Any = None) -> Tensor:
    """log(sigmoid(input)), without overflow."""
def prelu(input: Any, weight: Any, *, out: Any = None) -> Tensor:
    """input where it is positive, else weight * input; one weight for all, or one a channel."""
def sigmoid(input: Any, *, out: Any = None) -> Tensor:
    """1 / (1 + exp(-input)); an overflow of exp is the limit 0, as it should be."""
def softplus(
    input: Any, beta: float = 1.0, threshold: float = 20.0, *, out: Any = None
) -> Tensor:
    """log(1 + exp(beta * input)) / beta, and input itself where that is above threshold."""
def softshrink(input: Any, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """input moved by lambd towards 0, and 0 where it is nearer."""
def softsign(input: Any, *, out: Any = None) -> Tensor:
    """input / (1 + |input|)."""
def tanhshrink(input: Any, *, out: Any = None) -> Tensor:
    """input - tanh(input)."""
def tanh(input: Any, *, out: Any = None) -> Tensor:
    """Hyperbolic tangent."""
def cosine_similarity(
    x1: Any, x2: Any, dim: int = 1, eps: float = 1e-08, *, out: Any = None
) -> Tensor:
    """The cosine of the angle between vectors along dim."""
def normalize(
    input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Tensor:
    """input divided by its norm of exponent p along dim, or by eps where that is greater."""
def pairwise_distance(
    x1: Any,
    x2: Any,
    p: float = 2.0,
    eps: float = 1e-06,
    keepdim: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The norm of exponent p of x1 - x2 + eps over the last dimension."""
def pdist(input: Any, p: float = 2.0, *, out: Any = None) -> Tensor:
    """The distances between all pairs of rows, each pair once."""
def adaptive_avg_pool1d(input: Any, output_size: Any, *, out: Any = None) -> Tensor:
    """Means of windows that are chosen so that the result is of output_size."""
def adaptive_avg_pool2d(input: Any, output_size: Any, *, out: Any = None) -> Tensor:
    """Means of windows that are chosen so that the result is of output_size."""
def adaptive_avg_pool3d(input: Any, output_size: Any, *, out: Any = None) -> Tensor:
    """Means of windows that are chosen so that the result is of output_size."""
@overload
def adaptive_max_pool1d(input: Any, output_size: Any, *, out: Any = None) -> Tensor:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
@overload
def adaptive_max_pool1d(
    input: Any, output_size: Any, return_indices: bool = False, *, out: Any = None
) -> Any:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
@overload
def adaptive_max_pool2d(input: Any, output_size: Any, *, out: Any = None) -> Tensor:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
@overload
def adaptive_max_pool2d(
    input: Any, output_size: Any, return_indices: bool = False, *, out: Any = None
) -> Any:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
@overload
def adaptive_max_pool3d(input: Any, output_size: Any, *, out: Any = None) -> Tensor:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
@overload
def adaptive_max_pool3d(
    input: Any, output_size: Any, return_indices: bool = False, *, out: Any = None
) -> Any:
    """Maxima of windows that are chosen so that the result is of output_size, and with return_indices their places in the input."""
@overload
def fractional_max_pool2d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    *,
    _random_samples: Any = None,
    out: Any = None,
) -> Tensor:
    """Maxima of windows at distances drawn by chance."""
@overload
def fractional_max_pool2d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
    *,
    out: Any = None,
) -> Any:
    """Maxima of windows at distances drawn by chance."""
@overload
def fractional_max_pool3d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    *,
    _random_samples: Any = None,
    out: Any = None,
) -> Tensor:
    """Maxima of windows at distances drawn by chance."""
@overload
def fractional_max_pool3d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
    *,
    out: Any = None,
) -> Any:
    """Maxima of windows at distances drawn by chance."""
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value."""
def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    out: Any = None,
) -> Tensor:
    """The cross entropy of softmax(input) against class numbers or class probabilities."""
def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """What the score of the target class lacks to exceed each other by a margin."""
def multilabel_margin_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """What the scores of the target classes lack to exceed all others by 1."""
def multilabel_soft_margin_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """The mean over classes of the cross entropy of sigmoid(input) against targets 0 and 1."""
def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """The negative log likelihood of the target classes, given log-probabilities."""
def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    out: Any = None,
) -> Tensor:
    """The cross-correlation of sequences with a bank of filters."""
def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    out: Any = None,
) -> Tensor:
    """The cross-correlation of images with a bank of filters."""
def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    out: Any = None,
) -> Tensor:
    """The cross-correlation of volumes with a bank of filters."""
def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0, *, out: Any = None) -> Tensor:
    """conv1d of (time, batch, channels) with filters of (width, channels, filters)."""
def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    out: Any = None,
) -> Tensor:
    """The transposed convolution of sequences, the gradient of a convolution."""
def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    out: Any = None,
) -> Tensor:
    """The transposed convolution of images, the gradient of a convolution."""
def conv_transpose3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    *,
    out: Any = None,
) -> Tensor:
    """The transposed convolution of volumes, the gradient of a convolution."""
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """-log of the probability of label sequences; log_probs is (frames, batch, classes)."""
def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The row of weight for each index of input."""
def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of weight that the indices of each bag name."""
def affine_grid(
    theta: Any, size: Any, align_corners: bool | None = None, *, out: Any = None
) -> Tensor:
    """The grid, for grid_sample, of an affine map of each image of a batch."""
def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """Images read at the places of a grid, from (-1, -1), one corner, to (1, 1), the other."""
def bilinear(
    input1: Any, input2: Any, weight: Any, bias: Any = None, *, out: Any = None
) -> Tensor:
    """For each matrix of weight the product input1 @ matrix @ input2, plus bias."""
def linear(input: Any, weight: Any, bias: Any = None, *, out: Any = None) -> Tensor:
    """input @ weight.T + bias."""
def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """The cross entropy of probabilities against targets between 0 and 1."""
def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """The cross entropy of sigmoid(input) against targets between 0 and 1, without overflow."""
def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """1 - cos for pairs that belong together; for others, cos above the margin."""
def gaussian_nll_loss(
    input: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-06,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """The negative log likelihood of targets, given their expectations and variances."""
def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """input where target is 1; where it is -1, what input lacks to the margin."""
def huber_loss(
    input: Any,
    target: Any,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """Half the squared difference up to delta, from there on linear."""
def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The divergence of a distribution, given by logarithms, from a target distribution."""
def l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """The absolute difference."""
def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """What input1 lacks to be above input2, or below it where target is -1, by a margin."""
def mse_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """The squared difference."""
def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: Any = None,
    eps: float = 1e-08,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """The negative log likelihood of counts, given their expectation or its logarithm."""
def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
    *,
    out: Any = None,
) -> Tensor:
    """The absolute difference less beta / 2, rounded off to a parabola below beta."""
def soft_margin_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    *,
    out: Any = None,
) -> Tensor:
    """What the negative lacks to be further from the anchor than the positive, by a margin."""
def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    out: Any = None,
) -> Tensor:
    """triplet_margin_loss with a distance of one's own."""
def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
    *,
    out: Any = None,
) -> Tensor:
    """Each channel of a batch with mean 0 and variance 1, scaled and shifted."""
def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
    *,
    out: Any = None,
) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1, scaled and shifted."""
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
    *,
    out: Any = None,
) -> Tensor:
    """input with mean 0 and variance 1 over its last dimensions, scaled and shifted."""
def local_response_norm(
    input: Any,
    size: int,
    alpha: float = 0.0001,
    beta: float = 0.75,
    k: float = 1.0,
    *,
    out: Any = None,
) -> Tensor:
    """input divided by a power of the mean square over neighbouring channels."""
def rms_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    eps: float | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """input divided by the root of its mean square over its last dimensions, times weight."""
def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    out: Any = None,
) -> Tensor:
    """The mean of each window."""
def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """The mean of each window."""
def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """The mean of each window."""
def lp_pool1d(
    input: Any,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The norm of exponent norm_type of each window."""
def lp_pool2d(
    input: Any,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The norm of exponent norm_type of each window."""
def lp_pool3d(
    input: Any,
    norm_type: Any,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The norm of exponent norm_type of each window."""
@overload
def max_pool1d(
    input: Any,
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
    input: Any,
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
@overload
def max_pool2d(
    input: Any,
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
    input: Any,
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
@overload
def max_pool3d(
    input: Any,
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
    input: Any,
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
def max_unpool1d(
    input: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """Zeros with the elements of input where indices of a max_pool say."""
def max_unpool2d(
    input: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """Zeros with the elements of input where indices of a max_pool say."""
def max_unpool3d(
    input: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """Zeros with the elements of input where indices of a max_pool say."""
def channel_shuffle(input: Any, groups: int, *, out: Any = None) -> Tensor:
    """Channels of all groups by turns."""
def fold(
    input: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
    *,
    out: Any = None,
) -> Tensor:
    """Images of output_size, columns of windows added up at their places."""
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """Images of (batch, channels, *sizes) in other sizes."""
def pixel_shuffle(input: Any, upscale_factor: int, *, out: Any = None) -> Tensor:
    """Channels as pixels: (*, C r², H, W) becomes (*, C, H r, W r)."""
def pixel_unshuffle(input: Any, downscale_factor: int, *, out: Any = None) -> Tensor:
    """Pixels as channels: (*, C, H r, W r) becomes (*, C r², H, W)."""
def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """The windows of images, a column each; see fold."""
def native_channel_shuffle(input: Any, groups: int, *, out: Any = None) -> Tensor:
    """Channels of all groups by turns."""
def celu_(input: Any, alpha: float = 1.0) -> Tensor:
    """In-place form of celu."""
def elu_(input: Any, alpha: float = 1.0) -> Tensor:
    """In-place form of elu."""
def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place form of hardtanh."""
def leaky_relu_(input: Any, negative_slope: float = 0.01) -> Tensor:
    """In-place form of leaky_relu."""
def relu_(input: Any) -> Tensor:
    """In-place form of relu."""
def selu_(input: Any) -> Tensor:
    """In-place form of selu."""
def threshold_(input: Any, threshold: float, value: float) -> Tensor:
    """In-place form of threshold."""
def celu(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input where it is positive, else alpha * (exp(input / alpha) - 1). With inplace=True the result overwrites input."""
def elu(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input where it is positive, else alpha * (exp(input) - 1). With inplace=True the result overwrites input."""
def hardsigmoid(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input / 6 + 1/2, but at least 0 and at most 1. With inplace=True the result overwrites input."""
def hardswish(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input * hardsigmoid(input). With inplace=True the result overwrites input."""
def leaky_relu(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input where it is positive, else negative_slope * input. With inplace=True the result overwrites input."""
def mish(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input * tanh(softplus(input)). With inplace=True the result overwrites input."""
def relu(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input where it is positive, else 0. With inplace=True the result overwrites input."""
def relu6(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input, but at least 0 and at most 6. With inplace=True the result overwrites input."""
def selu(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """elu scaled so that deep networks keep mean 0 and variance 1. With inplace=True the result overwrites input."""
def silu(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input * sigmoid(input). With inplace=True the result overwrites input."""
def threshold(*args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
    """input where it is above threshold, else value. With inplace=True the result overwrites input."""
def hardtanh(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """input, but at least min_val and at most max_val."""
def rrelu(
    input: Any,
    lower: float = 0.125,
    upper: float = 0.3333333333333333,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """input where it is positive, else times a slope: in training drawn for each element."""
def rrelu_(
    input: Any, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False
) -> Tensor:
    """In-place form of rrelu."""
def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Tensor:
    """Each group of channels of a sample with mean 0 and variance 1, scaled and shifted."""
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability p and scale the others so that the mean stays."""
def dropout1d(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each channel of sequences with probability p."""
def dropout2d(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each channel of a batch of images with probability p."""
def dropout3d(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each channel of volumes with probability p."""
def alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout for selu: mean 0 and variance 1 stay."""
def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout of channels for selu: mean 0 and variance 1 stay."""
def softmax(
    input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """exp(input), scaled to sum to 1 along dim."""
def log_softmax(
    input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """The logarithm of softmax, exact where softmax is near 0."""
def softmin(
    input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """softmax of -input."""
def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A sample of the classes, softened by tau; with hard=True one-hot, its gradient the soft's."""
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
) -> Tensor:
    """cross_entropy of linear(input, linear_weight, linear_bias)."""
def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The old name of interpolate."""
def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate by the nearest neighbour, under its old name."""
def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Bilinear interpolate with aligned corners, under its old name."""
def adaptive_max_pool1d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """adaptive_max_pool1d with return_indices=True."""
def adaptive_max_pool2d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """adaptive_max_pool2d with return_indices=True."""
def adaptive_max_pool3d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """adaptive_max_pool3d with return_indices=True."""
def fractional_max_pool2d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """fractional_max_pool2d with return_indices=True."""
def fractional_max_pool3d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """fractional_max_pool3d with return_indices=True."""
def max_pool1d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """max_pool1d with return_indices=True."""
def max_pool2d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """max_pool2d with return_indices=True."""
def max_pool3d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """max_pool3d with return_indices=True."""
