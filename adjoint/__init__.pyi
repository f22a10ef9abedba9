"""The types of __init__.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint import amp as amp
from adjoint import autograd as autograd
from adjoint import compat as compat
from adjoint import distributions as distributions
from adjoint import fft as fft
from adjoint import func as func
from adjoint import functorch as functorch
from adjoint import library as library
from adjoint import linalg as linalg
from adjoint import masked as masked
from adjoint import nn as nn
from adjoint import optim as optim
from adjoint import profiler as profiler
from adjoint import random as random
from adjoint import return_types as return_types
from adjoint import signal as signal
from adjoint import sparse as sparse
from adjoint import special as special
from adjoint import testing as testing
from adjoint import utils as utils
from adjoint import viz as viz
from adjoint.amp.autocast_mode import autocast as autocast
from adjoint.amp.autocast_mode import get_autocast_dtype as get_autocast_dtype
from adjoint.amp.autocast_mode import is_autocast_enabled as is_autocast_enabled
from adjoint.amp.grad_scaler import GradScaler as GradScaler
from adjoint.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from adjoint.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from adjoint.autograd.explaining import explain as explain
from adjoint.autograd.grad_mode import enable_grad as enable_grad
from adjoint.autograd.grad_mode import inference_mode as inference_mode
from adjoint.autograd.grad_mode import no_grad as no_grad
from adjoint.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from adjoint.call.context import is_grad_enabled as is_grad_enabled
from adjoint.call.context import is_inference_mode_enabled as is_inference_mode_enabled
from adjoint.compiling.public import compile as compile
from adjoint.control_flow import cond as cond
from adjoint.control_flow import scan as scan
from adjoint.control_flow import while_loop as while_loop
from adjoint.creation.factories import arange as arange
from adjoint.creation.factories import empty as empty
from adjoint.creation.factories import empty_like as empty_like
from adjoint.creation.factories import empty_permuted as empty_permuted
from adjoint.creation.factories import empty_strided as empty_strided
from adjoint.creation.factories import eye as eye
from adjoint.creation.factories import full as full
from adjoint.creation.factories import full_like as full_like
from adjoint.creation.factories import linspace as linspace
from adjoint.creation.factories import logspace as logspace
from adjoint.creation.factories import normal as normal
from adjoint.creation.factories import ones as ones
from adjoint.creation.factories import ones_like as ones_like
from adjoint.creation.factories import rand as rand
from adjoint.creation.factories import rand_like as rand_like
from adjoint.creation.factories import randint as randint
from adjoint.creation.factories import randint_like as randint_like
from adjoint.creation.factories import randn as randn
from adjoint.creation.factories import randn_like as randn_like
from adjoint.creation.factories import randperm as randperm
from adjoint.creation.factories import scalar_tensor as scalar_tensor
from adjoint.creation.factories import tensor as tensor
from adjoint.creation.factories import tril_indices as tril_indices
from adjoint.creation.factories import triu_indices as triu_indices
from adjoint.creation.factories import zeros as zeros
from adjoint.creation.factories import zeros_like as zeros_like
from adjoint.creation.from_memory import as_tensor as as_tensor
from adjoint.creation.from_memory import asarray as asarray
from adjoint.creation.from_memory import frombuffer as frombuffer
from adjoint.creation.sparse import sparse_compressed_tensor as sparse_compressed_tensor
from adjoint.creation.sparse import sparse_coo_tensor as sparse_coo_tensor
from adjoint.creation.sparse import sparse_csc_tensor as sparse_csc_tensor
from adjoint.creation.sparse import sparse_csr_tensor as sparse_csr_tensor
from adjoint.creation.windows import bartlett_window as bartlett_window
from adjoint.creation.windows import blackman_window as blackman_window
from adjoint.creation.windows import hamming_window as hamming_window
from adjoint.creation.windows import hann_window as hann_window
from adjoint.creation.windows import kaiser_window as kaiser_window
from adjoint.creation.windows import range as range
from adjoint.device import device as device
from adjoint.device import get_default_device as get_default_device
from adjoint.device import set_default_device as set_default_device
from adjoint.dtypes import bfloat16 as bfloat16
from adjoint.dtypes import bool_ as bool_
from adjoint.dtypes import can_cast as can_cast
from adjoint.dtypes import complex128 as complex128
from adjoint.dtypes import complex32 as complex32
from adjoint.dtypes import complex64 as complex64
from adjoint.dtypes import dtype as _dtype
from adjoint.dtypes import dtype as dtype
from adjoint.dtypes import float16 as float16
from adjoint.dtypes import float32 as float32
from adjoint.dtypes import float64 as float64
from adjoint.dtypes import get_default_dtype as get_default_dtype
from adjoint.dtypes import int16 as int16
from adjoint.dtypes import int32 as int32
from adjoint.dtypes import int64 as int64
from adjoint.dtypes import int8 as int8
from adjoint.dtypes import promote_types as promote_types
from adjoint.dtypes import set_default_dtype as set_default_dtype
from adjoint.dtypes import uint16 as uint16
from adjoint.dtypes import uint32 as uint32
from adjoint.dtypes import uint64 as uint64
from adjoint.dtypes import uint8 as uint8
from adjoint.func.batching import vmap as vmap
from adjoint.ops.arranging.conversion import channels_last as channels_last
from adjoint.ops.arranging.conversion import channels_last_3d as channels_last_3d
from adjoint.ops.arranging.conversion import contiguous_format as contiguous_format
from adjoint.ops.arranging.conversion import finfo as finfo
from adjoint.ops.arranging.conversion import get_device as get_device
from adjoint.ops.arranging.conversion import iinfo as iinfo
from adjoint.ops.arranging.conversion import is_tensor as is_tensor
from adjoint.ops.arranging.conversion import layout as layout
from adjoint.ops.arranging.conversion import memory_format as memory_format
from adjoint.ops.arranging.conversion import preserve_format as preserve_format
from adjoint.ops.arranging.conversion import result_type as result_type
from adjoint.ops.arranging.conversion import sparse_bsc as sparse_bsc
from adjoint.ops.arranging.conversion import sparse_bsr as sparse_bsr
from adjoint.ops.arranging.conversion import sparse_coo as sparse_coo
from adjoint.ops.arranging.conversion import sparse_csc as sparse_csc
from adjoint.ops.arranging.conversion import sparse_csr as sparse_csr
from adjoint.ops.arranging.conversion import strided as strided
from adjoint.ops.arranging.conversion import typename as typename
from adjoint.random import Generator as Generator
from adjoint.random import default_generator as default_generator
from adjoint.random import get_rng_state as get_rng_state
from adjoint.random import initial_seed as initial_seed
from adjoint.random import manual_seed as manual_seed
from adjoint.random import seed as seed
from adjoint.random import set_rng_state as set_rng_state
from adjoint.return_types import aminmax as _aminmax
from adjoint.return_types import cummax as _cummax
from adjoint.return_types import cummin as _cummin
from adjoint.return_types import frexp as _frexp
from adjoint.return_types import geqrf as _geqrf
from adjoint.return_types import histogram as _histogram
from adjoint.return_types import histogramdd as _histogramdd
from adjoint.return_types import kthvalue as _kthvalue
from adjoint.return_types import lu_unpack as _lu_unpack
from adjoint.return_types import mode as _mode
from adjoint.return_types import sort as _sort
from adjoint.return_types import topk as _topk
from adjoint.return_types import triangular_solve as _triangular_solve
from adjoint.saving.serialization import load as load
from adjoint.saving.serialization import save as save
from adjoint.settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from adjoint.settings import get_deterministic_debug_mode as get_deterministic_debug_mode
from adjoint.settings import get_float32_matmul_precision as get_float32_matmul_precision
from adjoint.settings import get_num_interop_threads as get_num_interop_threads
from adjoint.settings import get_num_threads as get_num_threads
from adjoint.settings import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from adjoint.settings import set_deterministic_debug_mode as set_deterministic_debug_mode
from adjoint.settings import set_float32_matmul_precision as set_float32_matmul_precision
from adjoint.settings import set_flush_denormal as set_flush_denormal
from adjoint.settings import set_num_interop_threads as set_num_interop_threads
from adjoint.settings import set_num_threads as set_num_threads
from adjoint.settings import use_deterministic_algorithms as use_deterministic_algorithms
from adjoint.tensors.interop import from_dlpack as from_dlpack
from adjoint.tensors.interop import to_dlpack as to_dlpack
from adjoint.tensors.printing import set_printoptions as set_printoptions
from adjoint.tensors.size import Size as Size
from adjoint.tensors.size import Size as _Size
from adjoint.tensors.tensor import Tensor as Tensor
from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import Any
from typing import overload

def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value, or modulus."""
def abs_(input: Tensor) -> Tensor:
    """In-place form of abs, for real tensors."""
def absolute(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Absolute value, or modulus."""
def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse cosine."""
def acos_(input: Tensor) -> Tensor:
    """In-place form of acos."""
def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine."""
def acosh_(input: Tensor) -> Tensor:
    """In-place form of acosh."""
def adaptive_avg_pool1d(
    input: Tensor, output_size: Any, *, out: Tensor | None = None
) -> Tensor:
    """Means of windows that are chosen so that the result is of output_size."""
def adaptive_max_pool1d(
    input: Tensor, output_size: Any, *, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """The largest elements of output_size windows that cover all, and where they are."""
def add(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input + alpha * other."""
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * the sum of batch1 @ batch2 over the batches."""
def addcdiv(
    input: Tensor | _complex,
    tensor1: Tensor | _complex,
    tensor2: Tensor | _complex,
    *,
    value: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input + value * tensor1 / tensor2."""
def addcmul(
    input: Tensor | _complex,
    tensor1: Tensor | _complex,
    tensor2: Tensor | _complex,
    *,
    value: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input + value * tensor1 * tensor2."""
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """In-place form of addmv."""
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * the outer product of two vectors."""
def adjoint(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The conjugate transpose of a matrix, or of each matrix of a batch."""
def alias_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of what alias shows."""
def all(
    input: Tensor, dim: Any = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Whether all elements along dim are true (not zero)."""
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> _bool:
    """Whether every element is close to its counterpart."""
def alpha_dropout(
    input: Tensor, p: _float = 0.5, train: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Dropout for selu: mean 0 and variance 1 stay."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place form of alpha_dropout."""
def amax(
    input: Tensor, dim: Any = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The largest element over dim; equal ones share the gradient."""
def amin(
    input: Tensor, dim: Any = (), keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The smallest element over dim; equal ones share the gradient."""
def aminmax(
    input: Tensor,
    *,
    dim: _int | None = None,
    keepdim: _bool = False,
    out: tuple[Tensor, ...] | None = None,
) -> _aminmax:
    """The smallest and the largest element over dim."""
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The argument of complex numbers; of real ones π if negative, else 0."""
def any(
    input: Tensor, dim: Any = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Whether an element along dim is true (not zero)."""
def arccos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse cosine."""
def arccos_(input: Tensor) -> Tensor:
    """In-place form of acos."""
def arccosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic cosine."""
def arccosh_(input: Tensor) -> Tensor:
    """In-place form of acosh."""
def arcsin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse sine."""
def arcsin_(input: Tensor) -> Tensor:
    """In-place form of asin."""
def arcsinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine."""
def arcsinh_(input: Tensor) -> Tensor:
    """In-place form of asinh."""
def arctan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse tangent."""
def arctan2(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The angle of the point (other, input), from -π to π."""
def arctan_(input: Tensor) -> Tensor:
    """In-place form of atan."""
def arctanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent."""
def arctanh_(input: Tensor) -> Tensor:
    """In-place form of atanh."""
def argmax(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Where the largest element is: along dim, or in the flattened tensor."""
def argmin(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Where the smallest element is: along dim, or in the flattened tensor."""
def argsort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    *,
    stable: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The indices that put the elements in order along dim."""
def argwhere(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A row of indices for each element that is not zero."""
def as_strided(
    input: Tensor,
    size: Any,
    stride: Any,
    storage_offset: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A view of the tensor's memory by sizes, strides and offset, all counted in elements."""
def as_strided_(
    input: Tensor, size: Any, stride: Any, storage_offset: _int | None = None
) -> Tensor:
    """In-place form of as_strided: the tensor shows its memory in another pattern."""
def as_strided_copy(
    input: Tensor,
    size: Any,
    stride: Any,
    storage_offset: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of what as_strided shows."""
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Any,
    stride: Any,
    storage_offset: _int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with src written where as_strided of these arguments looks."""
def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse sine."""
def asin_(input: Tensor) -> Tensor:
    """In-place form of asin."""
def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic sine."""
def asinh_(input: Tensor) -> Tensor:
    """In-place form of asinh."""
def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse tangent."""
def atan2(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The angle of the point (other, input), from -π to π."""
def atan_(input: Tensor) -> Tensor:
    """In-place form of atan."""
def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Inverse hyperbolic tangent."""
def atanh_(input: Tensor) -> Tensor:
    """In-place form of atanh."""
def atleast_1d(*tensors: Tensor, out: Any = None) -> Any:
    """The tensors with at least one dimension, as views."""
def atleast_2d(*tensors: Tensor, out: Any = None) -> Any:
    """The tensors with at least two dimensions, as views."""
def atleast_3d(*tensors: Tensor, out: Any = None) -> Any:
    """The tensors with at least three dimensions, as views."""
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean of each window."""
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), one product for each batch."""
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool,
) -> Tensor:
    """nn.functional.batch_norm of (input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)."""
def bernoulli(
    input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None
) -> Tensor:
    """0 or 1, where each element (or p) is the probability of 1."""
def bilinear(
    input1: Tensor,
    input2: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """For each matrix of weight the product input1 @ matrix @ input2, plus bias."""
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: _int = 0,
) -> Tensor:
    """nn.functional.binary_cross_entropy_with_logits of (input, target, weight, pos_weight, reduction)."""
def bincount(
    input: Tensor,
    weights: Tensor | None = None,
    minlength: _int = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of its weights."""
def binomial(
    count: Tensor, prob: Tensor, generator: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """How many of count trials succeed, each with probability prob."""
def bitwise_and(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The bits set in both."""
def bitwise_left_shift(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The bits moved up by other places."""
def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Every bit turned over."""
def bitwise_or(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The bits set in at least one."""
def bitwise_right_shift(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The bits moved down by other places; the sign stays."""
def bitwise_xor(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The bits set in exactly one."""
def block_diag(*tensors: Tensor, out: Tensor | None = None) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
def bmm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """Products of two batches of matrices."""
bool: _dtype
def broadcast_shapes(*shapes: Any) -> _Size:
    """The shape that tensors of these shapes have together; a number is a shape of one size."""
def broadcast_tensors(
    *tensors: Tensor, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """The tensors as views of the one shape they broadcast to."""
def broadcast_to(input: Tensor, size: Any, *more: Any, out: Tensor | None = None) -> Tensor:
    """A view that repeats to a shape."""
def bucketize(
    input: Tensor | _complex,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The bucket of each element, between ordered boundaries."""
def cartesian_prod(*tensors: Tensor, out: Tensor | None = None) -> Tensor:
    """All combinations of one element of each vector, a row each."""
def cat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after the other along dim; 1-d empty tensors fit anywhere."""
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    compute_mode: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Distances in the p-norm between all rows of x1 and all rows of x2."""
cdouble: _dtype
def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The smallest whole number that is not below the element."""
def ceil_(input: Tensor) -> Tensor:
    """In-place form of ceil."""
def celu(input: Tensor, alpha: _float = 1.0, *, out: Tensor | None = None) -> Tensor:
    """input where it is positive, else alpha * (exp(input / alpha) - 1)."""
def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """In-place form of celu."""
cfloat: _dtype
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Product of several matrices in the cheapest order."""
chalf: _dtype
def channel_shuffle(input: Tensor, groups: _int, *, out: Tensor | None = None) -> Tensor:
    """Channels of all groups by turns."""
def cholesky(input: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with L @ L^H = input, or upper its conjugate transpose."""
def cholesky_inverse(L: Tensor, upper: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, for the Cholesky factor L of A."""
def cholesky_solve(
    input: Tensor, L: Tensor, upper: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """X with A @ X = input, for the Cholesky factor L of A."""
def chunk(
    input: Tensor, chunks: _int, dim: _int = 0, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """A tuple of at most `chunks` views along dim, all of one length but the last."""
def clamp(
    input: Tensor | _complex,
    min: Tensor | _complex | None = None,
    max: Tensor | _complex | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input, but at least min and at most max."""
def clamp_(
    input: Tensor, min: Tensor | _complex | None = None, max: Tensor | _complex | None = None
) -> Tensor:
    """In-place form of clamp."""
def clamp_max(
    input: Tensor | _complex, max: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input, but at most max."""
def clamp_max_(input: Tensor, max: Tensor | _complex) -> Tensor:
    """In-place form of clamp_max."""
def clamp_min(
    input: Tensor | _complex, min: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input, but at least min."""
def clamp_min_(input: Tensor, min: Tensor | _complex) -> Tensor:
    """In-place form of clamp_min."""
def clip(
    input: Tensor | _complex,
    min: Tensor | _complex | None = None,
    max: Tensor | _complex | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input, but at least min and at most max."""
def clip_(
    input: Tensor, min: Tensor | _complex | None = None, max: Tensor | _complex | None = None
) -> Tensor:
    """In-place form of clamp."""
def clone(input: Tensor, *, memory_format: Any = None, out: Tensor | None = None) -> Tensor:
    """A copy, in the same order in memory unless memory_format asks for another."""
def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors joined by columns; a vector is one column."""
def combinations(
    input: Tensor, r: _int = 2, with_replacement: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """All choices of r elements of a vector, a row each, in the order of the vector."""
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from real and imaginary parts."""
def concat(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors one after the other along dim; 1-d empty tensors fit anywhere."""
def concatenate(
    tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None
) -> Tensor:
    """The tensors one after the other along dim; 1-d empty tensors fit anywhere."""
def conj(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex conjugate of each element; real input is returned as it is."""
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex conjugate of each element; real input is returned as it is."""
def conj_physical_(input: Tensor) -> Tensor:
    """In-place form of conj_physical."""
def constant_pad_nd(
    input: Tensor, pad: Any, value: Any = 0, *, out: Tensor | None = None
) -> Tensor:
    """input with value around it; pad goes from the last dimension on, and may be negative."""
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: _int = 1,
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
    groups: _int = 1,
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
    groups: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The cross-correlation of volumes with a bank of filters."""
def conv_tbc(
    input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0, *, out: Tensor | None = None
) -> Tensor:
    """conv1d of (time, batch, channels) with filters of (width, channels, filters)."""
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: _int = 1,
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
    groups: _int = 1,
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
    groups: _int = 1,
    dilation: Any = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The transposed convolution of volumes, the gradient of a convolution."""
def copysign(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """|input| with the sign of other."""
def corrcoef(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Correlation coefficients of the variables in the rows."""
def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Cosine."""
def cos_(input: Tensor) -> Tensor:
    """In-place form of cos."""
def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic cosine."""
def cosh_(input: Tensor) -> Tensor:
    """In-place form of cosh."""
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, reduction: _int = 0
) -> Tensor:
    """nn.functional.cosine_embedding_loss of (input1, input2, target, margin, reduction)."""
def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08, *, out: Tensor | None = None
) -> Tensor:
    """The cosine of the angle between vectors along dim."""
def count_nonzero(input: Tensor, dim: Any = None, *, out: Tensor | None = None) -> Tensor:
    """How many elements are not zero."""
def cov(
    input: Tensor,
    *,
    correction: _int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Covariances of the variables in the rows, whose samples are in the columns."""
def cross(
    input: Tensor, other: Tensor, dim: _int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Cross product of the vectors along dim; without it, the first dimension of size 3."""
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: _int = 0,
    reduction: _int = 0,
    zero_infinity: _bool = False,
) -> Tensor:
    """nn.functional.ctc_loss of (log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)."""
def cummax(input: Tensor, dim: _int, *, out: tuple[Tensor, ...] | None = None) -> _cummax:
    """The largest element so far along dim, and its index."""
def cummin(input: Tensor, dim: _int, *, out: tuple[Tensor, ...] | None = None) -> _cummin:
    """The smallest element so far along dim, and its index."""
def cumprod(
    input: Tensor, dim: _int, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Products of all prefixes along dim."""
def cumsum(input: Tensor, dim: _int, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Sums of all prefixes along dim."""
def cumulative_trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: _float | None = None,
    dim: _int = -1,
    out: Tensor | None = None,
) -> Tensor:
    """The integrals of samples y up to each place along dim by the trapezoid rule."""
def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Degrees as radians."""
def deg2rad_(input: Tensor) -> Tensor:
    """In-place form of deg2rad."""
def det(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of square matrices."""
def detach(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same values without history; in-place changes to either are seen by both."""
def detach_(input: Tensor) -> Tensor:
    """Forget how it was made; it becomes a leaf."""
def detach_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of what detach shows."""
def diag(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The diagonal of a matrix, or the matrix of a diagonal."""
def diag_embed(
    input: Tensor,
    offset: _int = 0,
    dim1: _int = -2,
    dim2: _int = -1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Matrices, in dim1 and dim2, with the last dimension of input as their diagonals."""
def diagflat(input: Tensor, offset: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A matrix with all elements of input on a diagonal."""
def diagonal(
    input: Tensor,
    offset: _int = 0,
    dim1: _int = 0,
    dim2: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A view of a diagonal of dim1 and dim2, as the last dimension."""
def diagonal_copy(
    input: Tensor,
    offset: _int = 0,
    dim1: _int = 0,
    dim2: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of a diagonal of dim1 and dim2, as the last dimension."""
def diagonal_scatter(
    input: Tensor,
    src: Tensor,
    offset: _int = 0,
    dim1: _int = 0,
    dim2: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with src on a diagonal."""
def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours along dim, taken n times."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def dist(input: Tensor, other: Tensor, p: _float = 2, *, out: Tensor | None = None) -> Tensor:
    """The norm of exponent p of input - other."""
def div(
    input: Tensor,
    other: Tensor | _complex,
    *,
    rounding_mode: str | None = None,
    out: Any = None,
) -> Tensor:
    """input / other; with rounding_mode "trunc" or "floor", the quotient as a whole number."""
def divide(
    input: Tensor,
    other: Tensor | _complex,
    *,
    rounding_mode: str | None = None,
    out: Any = None,
) -> Tensor:
    """input / other; with rounding_mode "trunc" or "floor", the quotient as a whole number."""
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sum of the products of two vectors' elements."""
double: _dtype
def dropout(
    input: Tensor, p: _float = 0.5, train: _bool = True, *, out: Tensor | None = None
) -> Tensor:
    """Zero each element with probability p and scale the others so that the mean stays."""
def dropout_(input: Tensor, p: _float = 0.5, train: _bool = True) -> Tensor:
    """In-place form of dropout."""
def dsplit(
    input: Tensor, indices_or_sections: Any, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """tensor_split by depth: along dimension 2."""
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors joined along a third dimension."""
def einsum(*args: Any, out: Tensor | None = None) -> Tensor:
    """Sums of products of operands, as 'ij,jk->ik' or lists of ints name their dimensions."""
def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The row of weight for each index; a padding_idx below 0 is none."""
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: _bool = False,
    mode: _int = 0,
    sparse: _bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: _bool = False,
    padding_idx: _int | None = None,
    *,
    out: tuple[Tensor, Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """embedding_bag, the bag of each index, the sizes of bags, and those or the largest rows."""
def embedding_renorm_(
    weight: Tensor, indices: Tensor, max_norm: _float, norm_type: _float
) -> Tensor:
    """Scale down, in place, the rows of weight that indices name and that exceed max_norm."""
def eq(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input == other."""
def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape and the same elements."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""
def erf_(input: Tensor) -> Tensor:
    """In-place form of erf."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(input), exact for large elements."""
def erfc_(input: Tensor) -> Tensor:
    """In-place form of erfc."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf."""
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of each element."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""
def exp2_(input: Tensor) -> Tensor:
    """In-place form of exp2."""
def exp_(input: Tensor) -> Tensor:
    """In-place form of exp."""
def expand_copy(
    input: Tensor, *size: Any, implicit: _bool = False, out: Tensor | None = None
) -> Tensor:
    """A copy of what expand shows."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(input) - 1, exact for small elements."""
def expm1_(input: Tensor) -> Tensor:
    """In-place form of expm1."""
def feature_alpha_dropout(
    input: Tensor, p: _float = 0.5, train: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Dropout of channels for selu: mean 0 and variance 1 stay."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place form of feature_alpha_dropout."""
def feature_dropout(
    input: Tensor, p: _float = 0.5, train: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Zero each channel with probability p and scale the others so that the mean stays."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """In-place form of feature_dropout."""
def fill(input: Tensor, value: Tensor | _complex, *, out: Tensor | None = None) -> Tensor:
    """A tensor like input with value everywhere."""
def fill_(input: Tensor, value: Tensor | _complex) -> Tensor:
    """In-place form of fill."""
def fix(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The whole number without the fraction."""
def fix_(input: Tensor) -> Tensor:
    """In-place form of trunc."""
def flatten(
    input: Tensor, start_dim: _int = 0, end_dim: _int = -1, *, out: Tensor | None = None
) -> Tensor:
    """Dimensions start_dim to end_dim as one."""
@overload
def flip(input: Tensor, *dims: Any, out: Tensor | None = None) -> Tensor:
    """A copy with the order of elements reversed along dims."""
@overload
def flip(input: Tensor, *, dims: Any, out: Tensor | None = None) -> Tensor:
    """A copy with the order of elements reversed along dims."""
def fliplr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy with the order of columns reversed."""
def flipud(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy with the order of rows reversed."""
float: _dtype
def float_power(
    input: Tensor | _complex, exponent: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input to the power of exponent, in double precision."""
def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The largest whole number that is not above the element."""
def floor_(input: Tensor) -> Tensor:
    """In-place form of floor."""
def floor_divide(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input / other, rounded downwards."""
def fmax(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The larger element; a nan gives way to a number."""
def fmin(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The smaller element; a nan gives way to a number."""
def fmod(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """What division leaves over, with the sign of input."""
def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The fraction, with the sign of the element."""
def frac_(input: Tensor) -> Tensor:
    """In-place form of frac."""
def frexp(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> _frexp:
    """The mantissa, at least 1/2 and below 1, and the power of 2 that makes each element of it."""
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array: changes to one are seen in the other."""
def gather(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    sparse_grad: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The elements that index names along dim, one for each of its elements."""
def gcd(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """Greatest common divisor."""
def gcd_(input: Tensor, other: Tensor | _complex) -> Tensor:
    """In-place form of gcd."""
def ge(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input >= other."""
def geqrf(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> _geqrf:
    """R on and above the diagonal, and below it and in tau the reflections whose product is Q."""
def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix of all products of two vectors' elements."""
def gradient(
    input: Tensor,
    *,
    spacing: Any = None,
    dim: Any = None,
    edge_order: _int = 1,
    out: tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """The slope of samples along each of the dims, `spacing` apart or at the places it lists."""
def greater(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input > other."""
def greater_equal(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input >= other."""
def grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """grid_sample with its modes as numbers, from bilinear and zeros on."""
def grid_sampler_2d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Images read at the places of a grid; modes are numbers, from bilinear and zeros on."""
def grid_sampler_3d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Volumes read at the places of a grid; modes are numbers, from bilinear and zeros on."""
def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Each group of channels of a sample with mean 0 and variance 1, scaled and shifted."""
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The next hidden state of a gated recurrent unit."""
def gt(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input > other."""
half: _dtype
def hardshrink(input: Tensor, lambd: _float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """input, and 0 where it is at most lambd away from 0."""
def hash_tensor(
    input: Tensor,
    dim: Any = (),
    *,
    keepdim: _bool = False,
    mode: _int = 0,
    out: Tensor | None = None,
) -> Tensor:
    """The exclusive or of all elements' bits, those of fractions as doubles, as one number."""
def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """0 below 0, 1 above, values at 0."""
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: _float = 1.0, reduction: _int = 0
) -> Tensor:
    """nn.functional.hinge_embedding_loss of (input, target, margin, reduction)."""
def histc(
    input: Tensor,
    bins: _int = 100,
    min: _float = 0,
    max: _float = 0,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """How many elements lie in each of `bins` equal parts of min … max."""
def histogram(
    input: Tensor,
    bins: Tensor | _complex = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: _bool = False,
    out: tuple[Tensor, ...] | None = None,
) -> _histogram:
    """How many elements lie in each bin, and the edges of the bins."""
def histogramdd(
    input: Tensor,
    bins: Any,
    range: Any = None,
    weight: Tensor | None = None,
    density: _bool = False,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> _histogramdd:
    """How many points lie in each cell, and the edges of the bins of each variable."""
def hsplit(
    input: Tensor, indices_or_sections: Any, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """tensor_split by columns: along dimension 1, or 0 of a vector."""
def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors joined by columns: along dimension 1, or 0 for vectors."""
def hypot(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """sqrt(input² + other²), without overflow."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of order 0."""
def i0_(input: Tensor) -> Tensor:
    """In-place form of i0."""
def igamma(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The part of a gamma distribution of shape input below other."""
def igammac(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The part of a gamma distribution of shape input above other."""
def imag(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The imaginary parts, as a view."""
def index_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input with alpha times the slices of source added where index names along dim."""
def index_copy(
    input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """input with the slices of source where index names along dim."""
def index_fill(
    input: Tensor,
    dim: _int,
    index: Tensor,
    value: Tensor | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input with value in the slices that index names along dim."""
def index_put(
    input: Tensor,
    indices: Sequence[Tensor],
    values: Tensor,
    accumulate: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input with values written, or added, where the tensors of indices name."""
def index_put_(
    input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False
) -> Tensor:
    """In-place form of index_put."""
def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """input with the slices of source taken in by prod, mean, amax or amin where index names."""
def index_select(
    input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The slices of dimension dim that the 1-d tensor index names."""
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sum of products over the last dimension of both; with a scalar, the plain product."""
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Any,
    running_var: Any,
    use_input_stats: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool,
) -> Tensor:
    """nn.functional.instance_norm of (input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled)."""
int: _dtype
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices."""
def is_complex(input: Tensor) -> _bool:
    """Whether the elements are complex numbers."""
def is_conj(input: Tensor) -> _bool:
    """Whether elements wait to be conjugated: never, they are conjugated at once."""
def is_floating_point(input: Tensor) -> _bool:
    """Whether the elements are real floating-point numbers."""
def is_inference(input: Tensor) -> _bool:
    """Whether it was made in inference mode."""
def is_neg(input: Tensor) -> _bool:
    """Whether elements wait to be negated: never, they are negated at once."""
def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not zero."""
def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether both have one shape."""
def is_signed(input: Tensor) -> _bool:
    """Whether the elements can be negative."""
def isclose(
    input: Tensor | _complex,
    other: Tensor | _complex,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Whether the elements differ by at most atol + rtol * |other|."""
def isfinite(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element is neither infinite nor nan."""
def isin(
    elements: Tensor | _complex,
    test_elements: Tensor | _complex,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Whether each element is among the test elements."""
def isinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element is infinite."""
def isnan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element is not a number."""
def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element is negative infinity."""
def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element is positive infinity."""
def isreal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the imaginary part is zero."""
def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The signal whose pieces have these spectra, best in the sense of least squares."""
def kl_div(
    input: Tensor,
    target: Tensor,
    reduction: _int = 0,
    *,
    log_target: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The divergence of a distribution, given by logarithms, from a target distribution."""
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: every element of input times all of other."""
def kthvalue(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> _kthvalue:
    """The k-th smallest element along dim, counted from 1, and its index."""
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input with mean 0 and variance 1 over its last dimensions, scaled and shifted."""
def lcm(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """Least common multiple."""
def lcm_(input: Tensor, other: Tensor | _complex) -> Tensor:
    """In-place form of lcm."""
def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * 2 ** other."""
def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """In-place form of ldexp."""
def le(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input <= other."""
def lerp(
    input: Tensor, end: Tensor, weight: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input + weight * (end - input)."""
def less(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input < other."""
def less_equal(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input <= other."""
def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
def lobpcg(
    A: Tensor,
    k: _int | None = None,
    B: Any = None,
    X: Any = None,
    n: _int | None = None,
    iK: Any = None,
    niter: _int | None = None,
    tol: _float | None = None,
    largest: _bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest eigenvalues (or smallest) of A u = λ B u, A symmetric, with their vectors u."""
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Natural logarithm."""
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 10."""
def log10_(input: Tensor) -> Tensor:
    """In-place form of log10."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + input), exact for small elements."""
def log1p_(input: Tensor) -> Tensor:
    """In-place form of log1p."""
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithm to base 2."""
def log2_(input: Tensor) -> Tensor:
    """In-place form of log2."""
def log_(input: Tensor) -> Tensor:
    """In-place form of log."""
def log_softmax(
    input: Tensor, dim: _int, dtype: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """The logarithm of softmax, without its underflow."""
def logaddexp(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """log(exp(input) + exp(other)), without overflow."""
def logaddexp2(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """log2(2 ** input + 2 ** other), without overflow."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """Logarithms of the sums of the exponentials of all prefixes along dim."""
def logdet(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant's logarithm; NaN if it is negative."""
def logical_and(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """Whether both elements are nonzero."""
def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the element is zero."""
def logical_or(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """Whether at least one element is nonzero."""
def logical_xor(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """Whether exactly one element is nonzero."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(p / (1 - p)), the inverse of sigmoid; with eps, p is kept in [eps, 1 - eps]."""
def logit_(input: Tensor, eps: _float | None = None) -> Tensor:
    """In-place form of logit."""
def logsumexp(
    input: Tensor, dim: Any, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Logarithm of the sum of exponentials over dim."""
long: _dtype
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The next hidden state and cell of a long short-term memory."""
def lt(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input < other."""
def lu(A: Tensor, pivot: _bool = True, get_infos: _bool = False, out: Any = None) -> Any:
    """L and U in one matrix and the exchanges of rows; see linalg.lu_factor."""
def lu_solve(
    input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The solution of A @ X = input with the LU factorization of A; see linalg.lu_solve."""
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> _lu_unpack:
    """The matrices P, L and U of an LU factorization; empty those that are not wanted."""
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: _float = 0, reduction: _int = 0
) -> Tensor:
    """nn.functional.margin_ranking_loss of (input1, input2, target, margin, reduction)."""
def masked_fill(
    input: Tensor, mask: Tensor, value: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input with value where mask is True."""
def masked_scatter(
    input: Tensor, mask: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """input with the elements of source, in order, where mask is True."""
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where mask is True, in one dimension."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Matrix product of the last two dimensions, batches broadcast; 1-d operands are vectors."""
def matrix_exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of square matrices."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of square matrices."""
@overload
def max(input: Tensor, *, out: Any = None) -> Tensor:
    """The largest of all; along dim, with indices; or of two tensors at each place."""
@overload
def max(
    input: Tensor,
    dim: Any = None,
    keepdim: _bool | None = None,
    *,
    other: Tensor | None = None,
    out: Any = None,
) -> Any:
    """The largest of all; along dim, with indices; or of two tensors at each place."""
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: _bool = False,
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
    ceil_mode: _bool = False,
    return_indices: _bool = False,
    *,
    out: Any = None,
) -> Any:
    """The greatest element of each window, and with return_indices its place in the input."""
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and where it is."""
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: _bool = False,
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
    ceil_mode: _bool = False,
    return_indices: _bool = False,
    *,
    out: Any = None,
) -> Any:
    """The greatest element of each window, and with return_indices its place in the input."""
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: _bool = False,
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
    ceil_mode: _bool = False,
    return_indices: _bool = False,
    *,
    out: Any = None,
) -> Any:
    """The greatest element of each window, and with return_indices its place in the input."""
def maximum(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The larger element, nan if either is nan; equal ones share the gradient."""
def mean(
    input: Tensor,
    dim: Any = None,
    keepdim: _bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Mean over dim, or over everything."""
@overload
def median(input: Tensor, *, out: Any = None) -> Tensor:
    """The median: of all, or along dim with indices; of two in the middle the lower one."""
@overload
def median(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Any = None
) -> Any:
    """The median: of all, or along dim with indices; of two in the middle the lower one."""
def meshgrid(
    *tensors: Any, indexing: str | None = None, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """The coordinates of a grid: each vector, expanded along the dimensions of the others."""
@overload
def min(input: Tensor, *, out: Any = None) -> Tensor:
    """The smallest of all; along dim, with indices; or of two tensors at each place."""
@overload
def min(
    input: Tensor,
    dim: Any = None,
    keepdim: _bool | None = None,
    *,
    other: Tensor | None = None,
    out: Any = None,
) -> Any:
    """The smallest of all; along dim, with indices; or of two tensors at each place."""
def minimum(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The smaller element, nan if either is nan; equal ones share the gradient."""
def mm(input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """Product of two matrices."""
def mode(
    input: Tensor,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> _mode:
    """The most frequent element along dim, of several the smallest, and its last index."""
def moveaxis(
    input: Tensor, source: Any, destination: Any, *, out: Tensor | None = None
) -> Tensor:
    """A view with the dimensions of source moved to those of destination, the others in order."""
def movedim(
    input: Tensor, source: Any, destination: Any, *, out: Tensor | None = None
) -> Tensor:
    """A view with the dimensions of source moved to those of destination, the others in order."""
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements in order along the first dimension."""
def mul(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input * other."""
def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Indices drawn with the weights in each row of input."""
def multiply(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input * other."""
def mv(input: Tensor, vec: Tensor, *, out: Any = None) -> Tensor:
    """Product of a matrix and a vector."""
def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """Logarithm of the gamma function of p dimensions."""
def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input with nan replaced by a number, infinities by numbers or the largest finite ones."""
def nan_to_num_(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
) -> Tensor:
    """In-place form of nan_to_num."""
def nanmean(
    input: Tensor,
    dim: Any = None,
    keepdim: _bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Mean over dim of the elements that are not NaN."""
@overload
def nanmedian(input: Tensor, *, out: Any = None) -> Tensor:
    """The median of the elements that are not NaN: of all, or along dim with indices."""
@overload
def nanmedian(
    input: Tensor, dim: _int | None = None, keepdim: _bool = False, *, out: Any = None
) -> Any:
    """The median of the elements that are not NaN: of all, or along dim with indices."""
def nanquantile(
    input: Tensor,
    q: Tensor | _complex,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The quantile of the elements that are not NaN."""
def nansum(
    input: Tensor,
    dim: Any = None,
    keepdim: _bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Sum over dim, NaN counted as 0."""
def narrow(
    input: Tensor, dim: _int, start: Any, length: _int, *, out: Tensor | None = None
) -> Tensor:
    """A view of `length` elements of dimension dim from start on."""
def narrow_copy(
    input: Tensor, dim: _int, start: Any, length: _int, *, out: Tensor | None = None
) -> Tensor:
    """A copy of what narrow shows."""
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
    *,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """batch_norm, and in training the mean of each channel and 1 over its deviation."""
def native_dropout(
    input: Tensor, p: _float, train: _bool | None, *, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """What dropout makes of input, and where it has kept it."""
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: _int,
    C: _int,
    HxW: _int,
    group: _int,
    eps: _float,
    *,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """group_norm, the mean of each group, and 1 over its deviation."""
def native_layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None,
    bias: Tensor | None,
    eps: _float,
    *,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """layer_norm, the mean, and 1 over the deviation."""
def ne(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input != other."""
def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input."""
def neg_(input: Tensor) -> Tensor:
    """In-place form of neg."""
def negative(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-input."""
def negative_(input: Tensor) -> Tensor:
    """In-place form of neg."""
newaxis: None
def nextafter(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """The next floating number after each element in the direction of other."""
@overload
def nonzero(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Where elements are not zero: a row of indices each, or a tuple of index tensors."""
@overload
def nonzero(input: Tensor, *, as_tuple: _bool = False, out: Tensor | None = None) -> Any:
    """Where elements are not zero: a row of indices each, or a tuple of index tensors."""
def nonzero_static(
    input: Tensor, *, size: _int, fill_value: _int = -1, out: Tensor | None = None
) -> Tensor:
    """The first `size` rows of nonzero; where there are fewer, rows of fill_value follow."""
def norm(
    input: Tensor,
    p: _float | str | None = "fro",
    dim: Any = None,
    keepdim: _bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """The norm of exponent p over dim: a number, 'fro' (the same as 2) or 'nuc'."""
def norm_except_dim(
    v: Tensor, pow: _int = 2, dim: _int = 0, *, out: Tensor | None = None
) -> Tensor:
    """The norm of each slice along dim, with all dimensions kept; of everything if dim is -1."""
def not_equal(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input != other."""
def numel(input: Tensor) -> _int:
    """How many elements it has."""
def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """See linalg.householder_product."""
def ormqr(
    input: Tensor,
    tau: Tensor,
    other: Tensor,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Q @ other, or other @ Q unless left, for the Q of reflections that geqrf answers."""
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix of all products of two vectors' elements."""
def pairwise_distance(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    eps: _float = 1e-06,
    keepdim: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of exponent p of x1 - x2 + eps over the last dimension."""
def pca_lowrank(
    A: Tensor,
    q: _int | None = None,
    center: _bool = True,
    niter: _int = 2,
    *,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """svd_lowrank of samples in rows, their mean taken off: V holds the principal directions."""
def pdist(input: Tensor, p: _float = 2.0, *, out: Tensor | None = None) -> Tensor:
    """The distances between all pairs of rows, each pair once."""
@overload
def permute(input: Tensor, *dims: Any, out: Tensor | None = None) -> Tensor:
    """A view with the dimensions in another order."""
@overload
def permute(input: Tensor, *, dims: Any, out: Tensor | None = None) -> Tensor:
    """A view with the dimensions in another order."""
def permute_copy(input: Tensor, *dims: Any, out: Tensor | None = None) -> Tensor:
    """A copy of what permute shows."""
def pinverse(input: Tensor, rcond: _float = 1e-15, *, out: Tensor | None = None) -> Tensor:
    """The Moore-Penrose inverse."""
def pixel_shuffle(input: Tensor, upscale_factor: _int, *, out: Tensor | None = None) -> Tensor:
    """Channels as pixels: (*, C r², H, W) becomes (*, C, H r, W r)."""
def pixel_unshuffle(
    input: Tensor, downscale_factor: _int, *, out: Tensor | None = None
) -> Tensor:
    """Pixels as channels: (*, C, H r, W r) becomes (*, C r², H, W)."""
def poisson(input: Tensor, generator: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Counts of events, where each element is the expected count."""
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: _bool, full: _bool, eps: _float, reduction: _int
) -> Tensor:
    """nn.functional.poisson_nll_loss of (input, target, log_input, full, eps, reduction)."""
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex numbers from modulus and angle."""
def polygamma(n: _int, input: Tensor, *, out: Any = None) -> Tensor:
    """The derivative of order n of digamma."""
def positive(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """+input, which is the input itself."""
def pow(
    input: Tensor | _complex, exponent: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input to the power of exponent."""
def prelu(input: Tensor, weight: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input where it is positive, else weight * input; one weight for all, or one a channel."""
def prod(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Product over dim, or over everything."""
def put(
    input: Tensor,
    index: Tensor,
    source: Tensor,
    accumulate: _bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input with source written, or added, where index names in the flattened tensor."""
def qr(input: Tensor, some: _bool = True, *, out: Any = None) -> Any:
    """input as Q @ R, reduced if `some`."""
def quantile(
    input: Tensor,
    q: Tensor | _complex,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | None = None,
) -> Tensor:
    """The value below which a part q of the elements lies, of all or along dim."""
def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Radians as degrees."""
def rad2deg_(input: Tensor) -> Tensor:
    """In-place form of rad2deg."""
def ravel(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All elements in one dimension, next to one another in memory."""
def real(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The real parts, as a view; real input is returned as it is."""
def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / input."""
def reciprocal_(input: Tensor) -> Tensor:
    """In-place form of reciprocal."""
def relu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input where it is positive, else 0."""
def relu_(input: Tensor) -> Tensor:
    """In-place form of relu."""
def remainder(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """What division leaves over, with the sign of other."""
def renorm(
    input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Tensor | None = None
) -> Tensor:
    """The slices along dim, those whose norm exceeds maxnorm scaled down to it."""
def repeat_interleave(
    input: Tensor | None = None,
    repeats: Tensor | _complex | None = None,
    dim: _int | None = None,
    *,
    output_size: _int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Each element, or slice along dim, several times in a row."""
@overload
def reshape(input: Tensor, *shape: Any, out: Tensor | None = None) -> Tensor:
    """The same elements in another shape: a view where memory allows it, else a copy."""
@overload
def reshape(input: Tensor, *, shape: Any, out: Tensor | None = None) -> Tensor:
    """The same elements in another shape: a view where memory allows it, else a copy."""
def resolve_conj(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input itself: conjugation is never postponed."""
def resolve_neg(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The input itself: negation is never postponed."""
def rms_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    eps: _float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input divided by the root of its mean square over its last dimensions, times weight."""
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The next hidden state of a plain recurrent network with relu."""
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The next hidden state of a plain recurrent network with tanh."""
def roll(input: Tensor, shifts: Any, dims: Any = (), *, out: Tensor | None = None) -> Tensor:
    """A copy in which elements move along dims, or as if flattened, and come back at the start."""
def rot90(
    input: Tensor, k: _int = 1, dims: Any = (0, 1), *, out: Tensor | None = None
) -> Tensor:
    """A copy turned k times by a right angle, from the first of dims towards the second."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with `decimals` decimals; halves go to the even one."""
def round_(input: Tensor, *, decimals: _int = 0) -> Tensor:
    """In-place form of round."""
def row_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors joined by rows; a vector is one row."""
def rrelu(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    generator: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """input where it is positive, else times a slope: in training drawn for each element."""
def rrelu_(
    input: Tensor,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    generator: Any = None,
) -> Tensor:
    """In-place form of rrelu."""
def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / sqrt(input)."""
def rsqrt_(input: Tensor) -> Tensor:
    """In-place form of rsqrt."""
def rsub(
    input: Tensor, other: Tensor | _complex, *, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """other - alpha * input."""
def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor | _complex | None = None,
    *,
    value: Any = None,
    reduce: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """input with src, a tensor or a number, written where index names along dim."""
def scatter_add(
    input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """input with the elements of src added where index names along dim."""
def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """input with src taken in by sum, prod, mean, amax or amin where index names along dim."""
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | _complex,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where each value would be inserted into the ordered last dimension of sorted_sequence."""
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Any = None,
    offsets: Tensor | None = None,
    axis: _int = 0,
    unsafe: _bool = False,
    initial: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The sum, mean, prod, max or min of runs of rows, given by their lengths or by offsets."""
def select(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """A view of one index along dim, without that dimension."""
def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of what select shows."""
def select_scatter(
    input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = None
) -> Tensor:
    """A copy of input with src at one index along dim."""
def selu(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """elu scaled so that deep networks keep mean 0 and variance 1."""
def selu_(input: Tensor) -> Tensor:
    """In-place form of selu."""
def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sign of a real number, z / |z| of a complex one; 0 at 0."""
short: _dtype
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-input)); an overflow of exp is the limit 0, as it should be."""
def sigmoid_(input: Tensor) -> Tensor:
    """In-place form of sigmoid."""
def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-1, 0 or 1."""
def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Whether the sign is set; true of -0.0."""
def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sine."""
def sin_(input: Tensor) -> Tensor:
    """In-place form of sin."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
def sinc_(input: Tensor) -> Tensor:
    """In-place form of sinc."""
def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic sine."""
def sinh_(input: Tensor) -> Tensor:
    """In-place form of sinh."""
def slice_copy(
    input: Any,
    dim: _int = 0,
    start: Any = None,
    end: Any = None,
    step: _int = 1,
    *,
    out: Any = None,
) -> Any:
    """A copy of what slice shows."""
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: Any = None,
    end: Any = None,
    step: _int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of input with src in a slice along dim."""
def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """Sign and logarithm of the absolute value of the determinant."""
def softmax(
    input: Tensor, dim: _int, dtype: Any = None, *, out: Tensor | None = None
) -> Tensor:
    """Exponentials along dim, scaled to sum 1."""
def sort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    *,
    stable: _bool | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> _sort:
    """The elements in order along dim, and where they were; equal ones keep their order."""
def split(
    tensor: Tensor,
    split_size_or_sections: Any,
    dim: _int = 0,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """A tuple of views of one length, or of the given lengths, along dim."""
def split_copy(
    tensor: Tensor,
    split_size_or_sections: Any,
    dim: _int = 0,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """A copy of what split shows."""
def split_with_sizes(
    input: Tensor, split_sizes: Any, dim: _int = 0, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """A tuple of views of the given lengths, one after the other along dim."""
def split_with_sizes_copy(
    input: Tensor, split_sizes: Any, dim: _int = 0, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """A copy of what split_with_sizes shows."""
def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Square root."""
def sqrt_(input: Tensor) -> Tensor:
    """In-place form of sqrt."""
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """input * input."""
def square_(input: Tensor) -> Tensor:
    """In-place form of square."""
def squeeze(input: Tensor, dim: Any = None, *, out: Tensor | None = None) -> Tensor:
    """A view without dimensions of size 1: all of them, or those of dim that are."""
def squeeze_copy(input: Tensor, dim: Any = None, *, out: Tensor | None = None) -> Tensor:
    """A copy of what squeeze shows."""
def stack(tensors: Sequence[Tensor], dim: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """The tensors side by side along a new dimension."""
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Standard deviation over dim: the square root of var."""
def std_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over dim."""
def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    pad_mode: str = "reflect",
    normalized: _bool = False,
    onesided: _bool | None = None,
    return_complex: _bool | None = None,
    align_to_window: _bool | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The spectra of pieces of n_fft samples, hop_length apart: frequency by time."""
def sub(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input - alpha * other."""
def subtract(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:
    """input - alpha * other."""
def sum(
    input: Tensor,
    dim: Any = None,
    keepdim: _bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """Sum over dim, or over everything."""
def svd(input: Tensor, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> Any:
    """input as U @ diag(S) @ V^H; without compute_uv, U and V are zeros."""
def svd_lowrank(
    A: Tensor,
    q: _int | None = 6,
    niter: _int | None = 2,
    M: Tensor | None = None,
    *,
    out: tuple[Tensor, Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V with about U @ diag(S) @ V^H = A - M, of rank q."""
def swapaxes(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """A view with two dimensions exchanged."""
def swapdims(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """A view with two dimensions exchanged."""
def t(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A view of a matrix with its two dimensions exchanged; vectors stay as they are."""
def t_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of what t shows."""
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the flattened tensor that index names."""
def take_along_dim(
    input: Tensor, indices: Tensor, dim: _int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The elements that indices names along dim, the other dimensions broadcast."""
def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Tangent."""
def tan_(input: Tensor) -> Tensor:
    """In-place form of tan."""
def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hyperbolic tangent."""
def tanh_(input: Tensor) -> Tensor:
    """In-place form of tanh."""
def tensor_split(
    input: Tensor,
    indices_or_sections: Any,
    dim: _int = 0,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """A tuple of views along dim: as many as said, of nearly one length, or cut at indices."""
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over some dimensions of a and of b; the others stay, a's first."""
def threshold(
    input: Tensor, threshold: _float, value: _float, *, out: Tensor | None = None
) -> Tensor:
    """input where it is above threshold, else value."""
def threshold_(input: Tensor, threshold: _float, value: _float) -> Tensor:
    """In-place form of threshold."""
def tile(input: Tensor, *dims: Any, out: Tensor | None = None) -> Tensor:
    """repeat, with ones for the dimensions in front that dims does not name."""
def topk(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> _topk:
    """The k largest, or smallest, elements along dim in order, and where they are."""
def trace(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sum of the diagonal of a matrix."""
def transpose(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor:
    """A view with two dimensions exchanged."""
def transpose_copy(
    input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None
) -> Tensor:
    """A copy of what transpose shows."""
def trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: _float | None = None,
    dim: _int = -1,
    out: Tensor | None = None,
) -> Tensor:
    """The integral of samples y along dim by the trapezoid rule, at places x or dx apart."""
def trapz(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: _float | None = None,
    dim: _int = -1,
    out: Tensor | None = None,
) -> Tensor:
    """The integral of samples y along dim by the trapezoid rule, at places x or dx apart."""
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> _triangular_solve:
    """The solution of A @ X = input, and A, of which one triangle is read."""
def tril(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A copy with zeros above a diagonal."""
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: _float = 1.0,
    p: _float = 2,
    eps: _float = 1e-06,
    swap: _bool = False,
    reduction: _int = 0,
) -> Tensor:
    """nn.functional.triplet_margin_loss of (anchor, positive, negative, margin, p, eps, swap, reduction)."""
def triu(input: Tensor, diagonal: _int = 0, *, out: Tensor | None = None) -> Tensor:
    """A copy with zeros below a diagonal."""
def true_divide(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input / other."""
def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The whole number without the fraction."""
def trunc_(input: Tensor) -> Tensor:
    """In-place form of trunc."""
def unbind(
    input: Tensor, dim: _int = 0, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """A tuple of views, one for each index along dim."""
def unbind_copy(
    input: Tensor, dim: _int = 0, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """A copy of what unbind shows."""
def unflatten(input: Tensor, dim: _int, sizes: Any, *, out: Tensor | None = None) -> Tensor:
    """Dimension dim split into several of the given sizes, one of which may be -1."""
def unfold_copy(
    input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = None
) -> Tensor:
    """A copy of what unfold shows."""
@overload
def unique(
    input: Tensor, sorted: _bool = True, *, dim: _int | None = None, out: Any = None
) -> Tensor:
    """The distinct elements, or slices along dim, in order; if asked where each went, how many."""
@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
    *,
    out: Any = None,
) -> Any:
    """The distinct elements, or slices along dim, in order; if asked where each went, how many."""
@overload
def unique_consecutive(input: Tensor, *, dim: _int | None = None, out: Any = None) -> Tensor:
    """The first of each run of equals; if asked the run of each element, and the lengths."""
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
    *,
    out: Any = None,
) -> Any:
    """The first of each run of equals; if asked the run of each element, and the lengths."""
def unravel_index(
    indices: Tensor, shape: Any, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """For each dimension of a shape the positions of elements counted from the start."""
def unsafe_chunk(
    input: Tensor, chunks: _int, dim: _int = 0, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """A copy of what chunk shows."""
def unsafe_split(
    tensor: Tensor,
    split_size_or_sections: Any,
    dim: _int = 0,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, ...]:
    """A copy of what split shows."""
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Any, dim: _int = 0, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """A copy of what split_with_sizes shows."""
def unsqueeze(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """A view with a new dimension of size 1 at dim."""
def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = None) -> Tensor:
    """A copy of what unsqueeze shows."""
def vander(
    x: Tensor, N: Any = None, increasing: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """A matrix of the powers of a vector's elements, the highest first unless increasing."""
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Variance over dim: squared distances from the mean, divided by count - correction."""
def var_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: _float | None = None,
    out: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Variance and mean over dim."""
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Dot product of two vectors, the first conjugated."""
def view_as_complex(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A view of pairs of reals in the last dimension as complex numbers."""
def view_as_complex_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of what view_as_complex shows."""
def view_as_real(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A view of complex numbers as pairs of reals in a new last dimension."""
def view_as_real_copy(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy of what view_as_real shows."""
def view_copy(input: Any, size: Any, *, out: Any = None) -> Any:
    """A copy of what view shows."""
def vsplit(
    input: Tensor, indices_or_sections: Any, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """tensor_split by rows: along dimension 0."""
def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The tensors joined by rows; a vector is one row."""
@overload
def where(condition: Tensor, *, out: Any = None) -> tuple[Tensor, ...]:
    """input where condition holds, other elsewhere; alone, the indices where condition holds."""
@overload
def where(
    condition: Tensor,
    input: Tensor | _complex | None,
    other: Tensor | _complex | None,
    *,
    out: Any = None,
) -> Tensor:
    """input where condition holds, other elsewhere; alone, the indices where condition holds."""
def xlogy(
    input: Tensor | _complex, other: Tensor | _complex, *, out: Tensor | None = None
) -> Tensor:
    """input * log(other), and 0 where input is 0."""
def xlogy_(input: Tensor, other: Tensor | _complex) -> Tensor:
    """In-place form of xlogy."""
def zero_(input: Tensor) -> Tensor:
    """In-place form of zero."""
