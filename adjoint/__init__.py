"""PyTorch's autograd in Python you can read, on NumPy, CuPy or JAX."""

import importlib
from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

# Tensors, their types and places.
from adjoint.device import device as device
from adjoint.dtypes import (
    bfloat16 as bfloat16,
    bool_ as bool_,
    complex64 as complex64,
    complex128 as complex128,
    can_cast as can_cast,
    dtype as dtype,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    get_default_dtype as get_default_dtype,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    promote_types as promote_types,
    set_default_dtype as set_default_dtype,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from adjoint.tensors.size import Size as Size
from adjoint.tensors.tensor import Tensor as Tensor

# The op tables, in the order data flows through them.
from adjoint.ops.elementwise.arithmetic import (
    abs as abs,
    abs_ as abs_,
    add as add,
    addcdiv as addcdiv,
    addcmul as addcmul,
    copysign as copysign,
    div as div,
    floor_divide as floor_divide,
    fmod as fmod,
    lerp as lerp,
    mul as mul,
    neg as neg,
    positive as positive,
    reciprocal as reciprocal,
    remainder as remainder,
    rsub as rsub,
    sgn as sgn,
    sign as sign,
    sub as sub,
    true_divide as true_divide,
)
from adjoint.ops.elementwise.powers import (
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    float_power as float_power,
    ldexp as ldexp,
    ldexp_ as ldexp_,
    log as log,
    log10 as log10,
    log1p as log1p,
    log2 as log2,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    pow as pow,
    rsqrt as rsqrt,
    sqrt as sqrt,
    square as square,
)
from adjoint.ops.elementwise.rounding import (
    ceil as ceil,
    floor as floor,
    frac as frac,
    round as round,
    trunc as trunc,
)
from adjoint.ops.elementwise.selection import (
    clamp as clamp,
    clamp_max as clamp_max,
    clamp_min as clamp_min,
    fmax as fmax,
    fmin as fmin,
    heaviside as heaviside,
    maximum as maximum,
    minimum as minimum,
    nan_to_num as nan_to_num,
    where as where,
)
from adjoint.ops.elementwise.comparison import (
    allclose as allclose,
    bitwise_and as bitwise_and,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not,
    bitwise_or as bitwise_or,
    bitwise_right_shift as bitwise_right_shift,
    bitwise_xor as bitwise_xor,
    eq as eq,
    equal as equal,
    gcd as gcd,
    ge as ge,
    gt as gt,
    isclose as isclose,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    isneginf as isneginf,
    isposinf as isposinf,
    isreal as isreal,
    lcm as lcm,
    le as le,
    lt as lt,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    logical_xor as logical_xor,
    ne as ne,
    signbit as signbit,
)
from adjoint.ops.elementwise.trigonometry import (
    acos as acos,
    acosh as acosh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    deg2rad as deg2rad,
    hypot as hypot,
    rad2deg as rad2deg,
    sin as sin,
    sinh as sinh,
    tan as tan,
    tanh as tanh,
)
from adjoint.call.dispatch import conj as conj
from adjoint.ops.elementwise.complex_numbers import (
    angle as angle,
    complex_ as complex_,
    conj_physical as conj_physical,
    imag as imag,
    polar as polar,
    real as real,
    resolve_conj as resolve_conj,
    resolve_neg as resolve_neg,
    view_as_complex as view_as_complex,
    view_as_real as view_as_real,
)
from adjoint.ops.arranging.shape import (
    adjoint as adjoint,
    broadcast_tensors as broadcast_tensors,
    broadcast_to as broadcast_to,
    cat as cat,
    chunk as chunk,
    dsplit as dsplit,
    flatten as flatten,
    flip as flip,
    hsplit as hsplit,
    movedim as movedim,
    narrow as narrow,
    permute as permute,
    reshape as reshape,
    select as select,
    split as split,
    split_with_sizes as split_with_sizes,
    squeeze as squeeze,
    stack as stack,
    transpose as transpose,
    t as t,
    tensor_split as tensor_split,
    unbind as unbind,
    unflatten as unflatten,
    unsqueeze as unsqueeze,
    vsplit as vsplit,
)
from adjoint.ops.arranging.strided import (
    as_strided as as_strided,
    as_strided_ as as_strided_,
    as_strided_scatter as as_strided_scatter,
    diag as diag,
    diag_embed as diag_embed,
    diagonal as diagonal,
    diagonal_copy as diagonal_copy,
)
from adjoint.ops.arranging.arrange import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    block_diag as block_diag,
    cartesian_prod as cartesian_prod,
    column_stack as column_stack,
    combinations as combinations,
    constant_pad_nd as constant_pad_nd,
    diagflat as diagflat,
    dstack as dstack,
    fliplr as fliplr,
    flipud as flipud,
    hstack as hstack,
    meshgrid as meshgrid,
    repeat_interleave as repeat_interleave,
    roll as roll,
    rot90 as rot90,
    vstack as vstack,
    tile as tile,
    tril as tril,
    triu as triu,
    vander as vander,
)
from adjoint.ops.reducing.reduction import (
    all as all,
    any as any,
    count_nonzero as count_nonzero,
    log_softmax as log_softmax,
    logsumexp as logsumexp,
    mean as mean,
    nanmean as nanmean,
    nansum as nansum,
    prod as prod,
    softmax as softmax,
    std as std,
    std_mean as std_mean,
    sum as sum,
    trace as trace,
    var as var,
    var_mean as var_mean,
)
from adjoint.ops.reducing.extremes import (
    amax as amax,
    amin as amin,
    aminmax as aminmax,
    argmax as argmax,
    argmin as argmin,
    max as max,
    min as min,
)
from adjoint.ops.reducing.cumulative import (
    cummax as cummax,
    cummin as cummin,
    cumprod as cumprod,
    cumsum as cumsum,
    logcumsumexp as logcumsumexp,
)
from adjoint.ops.reducing.statistics import (
    bincount as bincount,
    corrcoef as corrcoef,
    cov as cov,
    cumulative_trapezoid as cumulative_trapezoid,
    diff as diff,
    gradient as gradient,
    histc as histc,
    trapezoid as trapezoid,
)
from adjoint.ops.reducing.norms import (
    dist as dist,
    norm as norm,
    norm_except_dim as norm_except_dim,
    renorm as renorm,
)
from adjoint.ops.arranging.indexing import (
    gather as gather,
    index_put as index_put,
    index_select as index_select,
    masked_fill as masked_fill,
    masked_select as masked_select,
    scatter_add as scatter_add,
    take as take,
    take_along_dim as take_along_dim,
)
from adjoint.ops.arranging.positions import (
    argwhere as argwhere,
    nonzero as nonzero,
    nonzero_static as nonzero_static,
    unravel_index as unravel_index,
)
from adjoint.ops.arranging.writing import (
    diagonal_scatter as diagonal_scatter,
    fill as fill,
    index_add as index_add,
    index_copy as index_copy,
    index_fill as index_fill,
    index_reduce as index_reduce,
    masked_scatter as masked_scatter,
    put as put,
    scatter as scatter,
    scatter_reduce as scatter_reduce,
    select_scatter as select_scatter,
    slice_scatter as slice_scatter,
)
from adjoint.ops.arranging.conversion import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    finfo as finfo,
    iinfo as iinfo,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    strided as strided,
    clone as clone,
    get_device as get_device,
    is_complex as is_complex,
    is_floating_point as is_floating_point,
    is_same_size as is_same_size,
    is_signed as is_signed,
    is_tensor as is_tensor,
    numel as numel,
    ravel as ravel,
    result_type as result_type,
    typename as typename,
)
from adjoint.ops.arranging.copies import (
    alias_copy as alias_copy,
    as_strided_copy as as_strided_copy,
    detach_copy as detach_copy,
    expand_copy as expand_copy,
    narrow_copy as narrow_copy,
    permute_copy as permute_copy,
    select_copy as select_copy,
    slice_copy as slice_copy,
    split_copy as split_copy,
    split_with_sizes_copy as split_with_sizes_copy,
    squeeze_copy as squeeze_copy,
    t_copy as t_copy,
    transpose_copy as transpose_copy,
    unbind_copy as unbind_copy,
    unfold_copy as unfold_copy,
    unsqueeze_copy as unsqueeze_copy,
    view_as_complex_copy as view_as_complex_copy,
    view_as_real_copy as view_as_real_copy,
    view_copy as view_copy,
)
from adjoint.ops.arranging.questions import (
    broadcast_shapes as broadcast_shapes,
    detach as detach,
    detach_ as detach_,
    is_conj as is_conj,
    is_inference as is_inference,
    is_neg as is_neg,
    is_nonzero as is_nonzero,
)
from adjoint.ops.elementwise.floating import frexp as frexp, nextafter as nextafter
from adjoint.ops.reducing.histograms import histogram as histogram, histogramdd as histogramdd
from adjoint.ops.matrices.factorizations import (
    geqrf as geqrf,
    lobpcg as lobpcg,
    lu as lu,
    lu_solve as lu_solve,
    ormqr as ormqr,
    pca_lowrank as pca_lowrank,
    svd_lowrank as svd_lowrank,
    triangular_solve as triangular_solve,
)
from adjoint.ops.reducing.segments import segment_reduce as segment_reduce
from adjoint.ops.matrices.matmul import (
    addbmm as addbmm,
    addmm as addmm,
    addmv as addmv,
    addr as addr,
    baddbmm as baddbmm,
    bmm as bmm,
    chain_matmul as chain_matmul,
    cross as cross,
    dot as dot,
    einsum as einsum,
    outer as outer,
    inner as inner,
    kron as kron,
    matmul as matmul,
    mm as mm,
    mv as mv,
    tensordot as tensordot,
    vdot as vdot,
)
from adjoint.ops.elementwise.special import (
    digamma as digamma,
    erf as erf,
    erfc as erfc,
    erfinv as erfinv,
    i0 as i0,
    igamma as igamma,
    igammac as igammac,
    lgamma as lgamma,
    logit as logit,
    mvlgamma as mvlgamma,
    polygamma as polygamma,
    sinc as sinc,
    xlogy as xlogy,
)
from adjoint.ops.elementwise.activation import (
    celu as celu,
    hardshrink as hardshrink,
    prelu as prelu,
    relu as relu,
    rrelu as rrelu,
    selu as selu,
    sigmoid as sigmoid,
    threshold as threshold,
)
from adjoint.ops.reducing.sorting import (
    argsort as argsort,
    bucketize as bucketize,
    isin as isin,
    kthvalue as kthvalue,
    median as median,
    mode as mode,
    msort as msort,
    nanmedian as nanmedian,
    nanquantile as nanquantile,
    quantile as quantile,
    searchsorted as searchsorted,
    sort as sort,
    topk as topk,
    unique as unique,
    unique_consecutive as unique_consecutive,
)
from adjoint.ops.matrices.linalg import (
    cholesky_inverse as cholesky_inverse,
    cholesky_solve as cholesky_solve,
    det as det,
    inverse as inverse,
    logdet as logdet,
    matrix_exp as matrix_exp,
    matrix_power as matrix_power,
    pinverse as pinverse,
    slogdet as slogdet,
)
from adjoint.ops.matrices.decompositions import (
    cholesky as cholesky,
    lu_unpack as lu_unpack,
    orgqr as orgqr,
    qr as qr,
    svd as svd,
)
from adjoint.ops.matrices.matrix_norms import cdist as cdist
from adjoint.ops.signals.spectral import istft as istft, stft as stft
from adjoint.ops.neural.normalization import (
    group_norm as group_norm,
    layer_norm as layer_norm,
    rms_norm as rms_norm,
)
from adjoint.ops.matrices.distances import (
    cosine_similarity as cosine_similarity,
    pairwise_distance as pairwise_distance,
    pdist as pdist,
)
from adjoint.ops.neural.convolution import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_tbc as conv_tbc,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from adjoint.ops.neural.pooling import (
    avg_pool1d as avg_pool1d,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
)
from adjoint.ops.neural.adaptive_pooling import adaptive_avg_pool1d as adaptive_avg_pool1d
from adjoint.ops.neural.linear import bilinear as bilinear
from adjoint.ops.neural.resampling import (
    channel_shuffle as channel_shuffle,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
)
from adjoint.ops.neural.recurrent import (
    gru_cell as gru_cell,
    lstm_cell as lstm_cell,
    rnn_relu_cell as rnn_relu_cell,
    rnn_tanh_cell as rnn_tanh_cell,
)
from adjoint.ops.neural.dropout import (
    alpha_dropout as alpha_dropout,
    feature_alpha_dropout as feature_alpha_dropout,
    feature_dropout as feature_dropout,
)
from adjoint.ops.sampling.random import (
    bernoulli as bernoulli,
    binomial as binomial,
    dropout as dropout,
    dropout_ as dropout_,
    multinomial as multinomial,
    poisson as poisson,
)
from adjoint.ops.neural.native_functions import (
    adaptive_max_pool1d as adaptive_max_pool1d,
    alpha_dropout_ as alpha_dropout_,
    batch_norm as batch_norm,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    cosine_embedding_loss as cosine_embedding_loss,
    ctc_loss as ctc_loss,
    embedding as embedding,
    embedding_renorm_ as embedding_renorm_,
    feature_alpha_dropout_ as feature_alpha_dropout_,
    feature_dropout_ as feature_dropout_,
    hinge_embedding_loss as hinge_embedding_loss,
    instance_norm as instance_norm,
    kl_div as kl_div,
    margin_ranking_loss as margin_ranking_loss,
    max_pool1d_with_indices as max_pool1d_with_indices,
    poisson_nll_loss as poisson_nll_loss,
    rrelu_ as rrelu_,
    triplet_margin_loss as triplet_margin_loss,
)

# Made from nothing.
from adjoint.creation.from_memory import (
    as_tensor as as_tensor,
    asarray as asarray,
    from_numpy as from_numpy,
    frombuffer as frombuffer,
)
from adjoint.creation.factories import (
    arange as arange,
    empty as empty,
    empty_like as empty_like,
    empty_strided as empty_strided,
    eye as eye,
    full as full,
    full_like as full_like,
    linspace as linspace,
    logspace as logspace,
    normal as normal,
    ones as ones,
    ones_like as ones_like,
    rand as rand,
    rand_like as rand_like,
    randint as randint,
    randint_like as randint_like,
    randn as randn,
    randn_like as randn_like,
    randperm as randperm,
    scalar_tensor as scalar_tensor,
    tensor as tensor,
    tril_indices as tril_indices,
    triu_indices as triu_indices,
    zeros as zeros,
    zeros_like as zeros_like,
)
from adjoint.device import (
    get_default_device as get_default_device,
    set_default_device as set_default_device,
)
from adjoint.creation.windows import (
    bartlett_window as bartlett_window,
    blackman_window as blackman_window,
    hamming_window as hamming_window,
    hann_window as hann_window,
    kaiser_window as kaiser_window,
    range as range,
)
from adjoint.random import (
    default_generator as default_generator,
    Generator as Generator,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)

# Recording and its modes.
from adjoint.call.context import is_grad_enabled as is_grad_enabled
from adjoint.call.context import is_inference_mode_enabled as is_inference_mode_enabled
from adjoint.autograd.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)

from adjoint.autograd.anomaly_mode import (
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
)

# Settings of the process.
from adjoint.settings import (
    are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode as get_deterministic_debug_mode,
    get_float32_matmul_precision as get_float32_matmul_precision,
    get_num_interop_threads as get_num_interop_threads,
    get_num_threads as get_num_threads,
    is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode as set_deterministic_debug_mode,
    set_float32_matmul_precision as set_float32_matmul_precision,
    set_flush_denormal as set_flush_denormal,
    set_num_interop_threads as set_num_interop_threads,
    set_num_threads as set_num_threads,
    use_deterministic_algorithms as use_deterministic_algorithms,
)

# To and from elsewhere.
from adjoint.tensors.interop import from_dlpack as from_dlpack, to_dlpack as to_dlpack
from adjoint.tensors.printing import set_printoptions as set_printoptions

from adjoint.ops.inplace import INPLACE as _INPLACE

# Packages.
from adjoint import autograd as autograd
from adjoint import fft as fft
from adjoint import linalg as linalg
from adjoint.tensors import methods as _methods  # noqa: F401  # gives Tensor its methods
from adjoint import random as random
from adjoint import signal as signal
from adjoint import special as special
from adjoint.version import __compiled__ as __compiled__
from adjoint.version import __version__ as __version__

# Packages that are loaded when they are first used, so that importing adjoint stays quick.
_LATER = (
    "amp",
    "compat",
    "distributions",
    "func",
    "library",
    "nn",
    "optim",
    "profiler",
    "testing",
    "utils",
    "viz",
)
_HOMES = {
    "GradScaler": "amp.grad_scaler",
    "autocast": "amp.autocast_mode",
    "get_autocast_dtype": "amp.autocast_mode",
    "is_autocast_enabled": "amp.autocast_mode",
    "explain": "autograd.explaining",
    "load": "saving.serialization",
    "save": "saving.serialization",
}

if TYPE_CHECKING:
    from adjoint import amp as amp
    from adjoint import compat as compat
    from adjoint import distributions as distributions
    from adjoint import func as func
    from adjoint import library as library
    from adjoint import nn as nn
    from adjoint import optim as optim
    from adjoint import profiler as profiler
    from adjoint import testing as testing
    from adjoint import utils as utils
    from adjoint import viz as viz
    from adjoint.amp.autocast_mode import (
        autocast as autocast,
        get_autocast_dtype as get_autocast_dtype,
        is_autocast_enabled as is_autocast_enabled,
    )
    from adjoint.amp.grad_scaler import GradScaler as GradScaler
    from adjoint.autograd.explaining import explain as explain
    from adjoint.saving.serialization import load as load, save as save


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return importlib.import_module(f"adjoint.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"adjoint.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'adjoint' has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted([*globals(), *_LATER, *_HOMES])


# In-place forms as functions.
acos_ = _INPLACE["acos_"]
acosh_ = _INPLACE["acosh_"]
addmv_ = _INPLACE["addmv_"]
asin_ = _INPLACE["asin_"]
asinh_ = _INPLACE["asinh_"]
atan_ = _INPLACE["atan_"]
atanh_ = _INPLACE["atanh_"]
ceil_ = _INPLACE["ceil_"]
celu_ = _INPLACE["celu_"]
clamp_ = _INPLACE["clamp_"]
clamp_max_ = _INPLACE["clamp_max_"]
clamp_min_ = _INPLACE["clamp_min_"]
conj_physical_ = _INPLACE["conj_physical_"]
cos_ = _INPLACE["cos_"]
cosh_ = _INPLACE["cosh_"]
deg2rad_ = _INPLACE["deg2rad_"]
erf_ = _INPLACE["erf_"]
erfc_ = _INPLACE["erfc_"]
exp2_ = _INPLACE["exp2_"]
exp_ = _INPLACE["exp_"]
expm1_ = _INPLACE["expm1_"]
fill_ = _INPLACE["fill_"]
floor_ = _INPLACE["floor_"]
frac_ = _INPLACE["frac_"]
gcd_ = _INPLACE["gcd_"]
i0_ = _INPLACE["i0_"]
index_put_ = _INPLACE["index_put_"]
lcm_ = _INPLACE["lcm_"]
log10_ = _INPLACE["log10_"]
log1p_ = _INPLACE["log1p_"]
log2_ = _INPLACE["log2_"]
log_ = _INPLACE["log_"]
logit_ = _INPLACE["logit_"]
nan_to_num_ = _INPLACE["nan_to_num_"]
neg_ = _INPLACE["neg_"]
rad2deg_ = _INPLACE["rad2deg_"]
reciprocal_ = _INPLACE["reciprocal_"]
relu_ = _INPLACE["relu_"]
round_ = _INPLACE["round_"]
rsqrt_ = _INPLACE["rsqrt_"]
selu_ = _INPLACE["selu_"]
sigmoid_ = _INPLACE["sigmoid_"]
sin_ = _INPLACE["sin_"]
sinc_ = _INPLACE["sinc_"]
sinh_ = _INPLACE["sinh_"]
sqrt_ = _INPLACE["sqrt_"]
square_ = _INPLACE["square_"]
tan_ = _INPLACE["tan_"]
tanh_ = _INPLACE["tanh_"]
threshold_ = _INPLACE["threshold_"]
trunc_ = _INPLACE["trunc_"]
xlogy_ = _INPLACE["xlogy_"]
zero_ = _INPLACE["zero_"]


# Constants.
newaxis: None = None


# Second names. The last ones hide Python's own, in this namespace alone.
absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
cdouble = complex128
cfloat = complex64
clip = clamp
concat = cat
concatenate = cat
divide = div
double = float64
fix = trunc
ger = outer
greater = gt
greater_equal = ge
half = float16
less = lt
less_equal = le
long = int64
moveaxis = movedim
multiply = mul
negative = neg
not_equal = ne
row_stack = vstack
short = int16
subtract = sub
swapaxes = transpose
swapdims = transpose
trapz = trapezoid
arccos_ = acos_
arccosh_ = acosh_
arcsin_ = asin_
arcsinh_ = asinh_
arctan_ = atan_
arctanh_ = atanh_
clip_ = clamp_
fix_ = trunc_
negative_ = neg_
bool = bool_
complex = complex_
float = float32
int = int32
