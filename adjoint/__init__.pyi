"""The types of __init__.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint import amp as amp
from adjoint import autograd as autograd
from adjoint import compat as compat
from adjoint import distributions as distributions
from adjoint import fft as fft
from adjoint import func as func
from adjoint import library as library
from adjoint import linalg as linalg
from adjoint import nn as nn
from adjoint import optim as optim
from adjoint import profiler as profiler
from adjoint import random as random
from adjoint import signal as signal
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
from adjoint.creation.factories import arange as arange
from adjoint.creation.factories import empty as empty
from adjoint.creation.factories import empty_like as empty_like
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
from adjoint.creation.from_memory import from_numpy as from_numpy
from adjoint.creation.from_memory import frombuffer as frombuffer
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
from adjoint.ops.arranging.conversion import channels_last as channels_last
from adjoint.ops.arranging.conversion import channels_last_3d as channels_last_3d
from adjoint.ops.arranging.conversion import contiguous_format as contiguous_format
from adjoint.ops.arranging.conversion import finfo as finfo
from adjoint.ops.arranging.conversion import get_device as get_device
from adjoint.ops.arranging.conversion import iinfo as iinfo
from adjoint.ops.arranging.conversion import is_complex as is_complex
from adjoint.ops.arranging.conversion import is_floating_point as is_floating_point
from adjoint.ops.arranging.conversion import is_same_size as is_same_size
from adjoint.ops.arranging.conversion import is_signed as is_signed
from adjoint.ops.arranging.conversion import is_tensor as is_tensor
from adjoint.ops.arranging.conversion import layout as layout
from adjoint.ops.arranging.conversion import memory_format as memory_format
from adjoint.ops.arranging.conversion import numel as numel
from adjoint.ops.arranging.conversion import preserve_format as preserve_format
from adjoint.ops.arranging.conversion import result_type as result_type
from adjoint.ops.arranging.conversion import strided as strided
from adjoint.ops.arranging.conversion import typename as typename
from adjoint.ops.arranging.questions import broadcast_shapes as broadcast_shapes
from adjoint.ops.arranging.questions import detach as detach
from adjoint.ops.arranging.questions import detach_ as detach_
from adjoint.ops.arranging.questions import is_conj as is_conj
from adjoint.ops.arranging.questions import is_inference as is_inference
from adjoint.ops.arranging.questions import is_neg as is_neg
from adjoint.ops.arranging.questions import is_nonzero as is_nonzero
from adjoint.ops.elementwise.comparison import allclose as allclose
from adjoint.ops.elementwise.comparison import equal as equal
from adjoint.ops.matrices.decompositions import lu_unpack as lu_unpack
from adjoint.ops.matrices.factorizations import triangular_solve as triangular_solve
from adjoint.ops.neural.recurrent import lstm_cell as lstm_cell
from adjoint.ops.reducing.histograms import histogram as histogram
from adjoint.ops.reducing.histograms import histogramdd as histogramdd
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
from adjoint.return_types import kthvalue as _kthvalue
from adjoint.return_types import mode as _mode
from adjoint.return_types import sort as _sort
from adjoint.return_types import topk as _topk
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
from adjoint.tensors.tensor import Tensor as Tensor
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import Any
from typing import overload

def abs(input: Any, *, out: Any = None) -> Tensor:
    """Absolute value, or modulus."""
def abs_(input: Any) -> Tensor:
    """In-place form of abs, for real tensors."""
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """input + alpha * other."""
def addcdiv(
    input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None
) -> Tensor:
    """input + value * tensor1 / tensor2."""
def addcmul(
    input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1, out: Any = None
) -> Tensor:
    """input + value * tensor1 * tensor2."""
def copysign(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """|input| with the sign of other."""
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """input / other; with rounding_mode "trunc" or "floor", the quotient as a whole number."""
def floor_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input / other, rounded downwards."""
def fmod(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """What division leaves over, with the sign of input."""
def lerp(input: Any, end: Any, weight: Any, *, out: Any = None) -> Tensor:
    """input + weight * (end - input)."""
def mul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input * other."""
def neg(input: Any, *, out: Any = None) -> Tensor:
    """-input."""
def positive(input: Any, *, out: Any = None) -> Tensor:
    """+input."""
def reciprocal(input: Any, *, out: Any = None) -> Tensor:
    """1 / input."""
def remainder(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """What division leaves over, with the sign of other."""
def rsub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """other - alpha * input."""
def sgn(input: Any, *, out: Any = None) -> Tensor:
    """The sign of a real number, z / |z| of a complex one; 0 at 0."""
def sign(input: Any, *, out: Any = None) -> Tensor:
    """-1, 0 or 1."""
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """input - alpha * other."""
def true_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input / other."""
def exp(input: Any, *, out: Any = None) -> Tensor:
    """e to the power of each element."""
def exp2(input: Any, *, out: Any = None) -> Tensor:
    """2 to the power of each element."""
def expm1(input: Any, *, out: Any = None) -> Tensor:
    """exp(input) - 1, exact for small elements."""
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """input to the power of exponent, in double precision."""
def ldexp(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input * 2 ** other."""
def ldexp_(input: Any, other: Any) -> Tensor:
    """In-place form of ldexp."""
def log(input: Any, *, out: Any = None) -> Tensor:
    """Natural logarithm."""
def log10(input: Any, *, out: Any = None) -> Tensor:
    """Logarithm to base 10."""
def log1p(input: Any, *, out: Any = None) -> Tensor:
    """log(1 + input), exact for small elements."""
def log2(input: Any, *, out: Any = None) -> Tensor:
    """Logarithm to base 2."""
def logaddexp(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """log(exp(input) + exp(other)), without overflow."""
def logaddexp2(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """log2(2 ** input + 2 ** other), without overflow."""
def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """input to the power of exponent."""
def rsqrt(input: Any, *, out: Any = None) -> Tensor:
    """1 / sqrt(input)."""
def sqrt(input: Any, *, out: Any = None) -> Tensor:
    """Square root."""
def square(input: Any, *, out: Any = None) -> Tensor:
    """input * input."""
def ceil(input: Any, *, out: Any = None) -> Tensor:
    """The smallest whole number that is not below the element."""
def floor(input: Any, *, out: Any = None) -> Tensor:
    """The largest whole number that is not above the element."""
def frac(input: Any, *, out: Any = None) -> Tensor:
    """The fraction, with the sign of the element."""
def round(input: Any, *, decimals: _int = 0, out: Any = None) -> Tensor:
    """The nearest number with `decimals` decimals; halves go to the even one."""
def trunc(input: Any, *, out: Any = None) -> Tensor:
    """The whole number without the fraction."""
def clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    """input, but at least min and at most max."""
def clamp_max(input: Any, max: Any, *, out: Any = None) -> Tensor:
    """input, but at most max."""
def clamp_min(input: Any, min: Any, *, out: Any = None) -> Tensor:
    """input, but at least min."""
def fmax(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The larger element; a nan gives way to a number."""
def fmin(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The smaller element; a nan gives way to a number."""
def heaviside(input: Any, values: Any, *, out: Any = None) -> Tensor:
    """0 below 0, 1 above, values at 0."""
def maximum(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The larger element, nan if either is nan; equal ones share the gradient."""
def minimum(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The smaller element, nan if either is nan; equal ones share the gradient."""
def nan_to_num(
    input: Any,
    nan: _float | None = None,
    posinf: Any = None,
    neginf: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """input with nan replaced by a number, infinities by numbers or the largest finite ones."""
@overload
def where(condition: Any) -> tuple[Tensor, ...]:
    """input where condition holds, other elsewhere; alone, the indices where condition holds."""
@overload
def where(condition: Any, input: Any, other: Any) -> Tensor:
    """input where condition holds, other elsewhere; alone, the indices where condition holds."""
def bitwise_and(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The bits set in both."""
def bitwise_left_shift(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The bits moved up by other places."""
def bitwise_not(input: Any, *, out: Any = None) -> Tensor:
    """Every bit turned over."""
def bitwise_or(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The bits set in at least one."""
def bitwise_right_shift(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The bits moved down by other places; the sign stays."""
def bitwise_xor(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The bits set in exactly one."""
def eq(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input == other."""
def gcd(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Greatest common divisor."""
def ge(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input >= other."""
def gt(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input > other."""
def isclose(
    input: Any,
    other: Any,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """Whether the elements differ by at most atol + rtol * |other|."""
def isfinite(input: Any, *, out: Any = None) -> Tensor:
    """Whether the element is neither infinite nor nan."""
def isinf(input: Any, *, out: Any = None) -> Tensor:
    """Whether the element is infinite."""
def isnan(input: Any, *, out: Any = None) -> Tensor:
    """Whether the element is not a number."""
def isneginf(input: Any, *, out: Any = None) -> Tensor:
    """Whether the element is negative infinity."""
def isposinf(input: Any, *, out: Any = None) -> Tensor:
    """Whether the element is positive infinity."""
def isreal(input: Any, *, out: Any = None) -> Tensor:
    """Whether the imaginary part is zero."""
def lcm(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Least common multiple."""
def le(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input <= other."""
def lt(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input < other."""
def logical_and(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Whether both elements are nonzero."""
def logical_not(input: Any, *, out: Any = None) -> Tensor:
    """Whether the element is zero."""
def logical_or(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Whether at least one element is nonzero."""
def logical_xor(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Whether exactly one element is nonzero."""
def ne(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input != other."""
def signbit(input: Any, *, out: Any = None) -> Tensor:
    """Whether the sign is set; true of -0.0."""
def acos(input: Any, *, out: Any = None) -> Tensor:
    """Inverse cosine."""
def acosh(input: Any, *, out: Any = None) -> Tensor:
    """Inverse hyperbolic cosine."""
def asin(input: Any, *, out: Any = None) -> Tensor:
    """Inverse sine."""
def asinh(input: Any, *, out: Any = None) -> Tensor:
    """Inverse hyperbolic sine."""
def atan(input: Any, *, out: Any = None) -> Tensor:
    """Inverse tangent."""
def atan2(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The angle of the point (other, input), from -π to π."""
def atanh(input: Any, *, out: Any = None) -> Tensor:
    """Inverse hyperbolic tangent."""
def cos(input: Any, *, out: Any = None) -> Tensor:
    """Cosine."""
def cosh(input: Any, *, out: Any = None) -> Tensor:
    """Hyperbolic cosine."""
def deg2rad(input: Any, *, out: Any = None) -> Tensor:
    """Degrees as radians."""
def hypot(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """sqrt(input² + other²), without overflow."""
def rad2deg(input: Any, *, out: Any = None) -> Tensor:
    """Radians as degrees."""
def sin(input: Any, *, out: Any = None) -> Tensor:
    """Sine."""
def sinh(input: Any, *, out: Any = None) -> Tensor:
    """Hyperbolic sine."""
def tan(input: Any, *, out: Any = None) -> Tensor:
    """Tangent."""
def tanh(input: Any, *, out: Any = None) -> Tensor:
    """Hyperbolic tangent."""
def conj(value: Any) -> Tensor:
    """Complex conjugate of a Tensor, an array or a number; what is real is returned as it is."""
def angle(input: Any, *, out: Any = None) -> Tensor:
    """The argument of complex numbers; of real ones π if negative, else 0."""
def complex_(real: Any, imag: Any, *, out: Any = None) -> Tensor:
    """Complex numbers from real and imaginary parts."""
def conj_physical(input: Any, *, out: Any = None) -> Tensor:
    """Complex conjugate of each element."""
def imag(input: Any, *, out: Any = None) -> Tensor:
    """The imaginary parts, as a view."""
def polar(abs: Any, angle: Any, *, out: Any = None) -> Tensor:
    """Complex numbers from modulus and angle."""
def real(input: Any, *, out: Any = None) -> Tensor:
    """The real parts, as a view."""
def resolve_conj(input: Any, *, out: Any = None) -> Tensor:
    """The input itself: conjugation is never postponed."""
def resolve_neg(input: Any, *, out: Any = None) -> Tensor:
    """The input itself: negation is never postponed."""
def view_as_complex(input: Any, *, out: Any = None) -> Tensor:
    """A view of pairs of reals in the last dimension as complex numbers."""
def view_as_real(input: Any, *, out: Any = None) -> Tensor:
    """A view of complex numbers as pairs of reals in a new last dimension."""
def adjoint(input: Any, *, out: Any = None) -> Tensor:
    """The conjugate transpose of a matrix, or of each matrix of a batch."""
def broadcast_tensors(*tensors: Any, out: Any = None) -> tuple[Tensor, ...]:
    """The tensors as views of the one shape they broadcast to."""
def broadcast_to(input: Any, size: Any, *, out: Any = None) -> Tensor:
    """A view that repeats to a shape."""
def cat(tensors: Any, dim: _int = 0, *, out: Any = None) -> Tensor:
    """The tensors one after the other along dim; 1-d empty tensors fit anywhere."""
def chunk(input: Any, chunks: _int, dim: _int = 0, *, out: Any = None) -> tuple[Tensor, ...]:
    """A tuple of at most `chunks` views along dim, all of one length but the last."""
def dsplit(input: Any, indices_or_sections: Any, *, out: Any = None) -> tuple[Tensor, ...]:
    """tensor_split by depth: along dimension 2."""
def flatten(input: Any, start_dim: _int = 0, end_dim: _int = -1, *, out: Any = None) -> Tensor:
    """Dimensions start_dim to end_dim as one."""
@overload
def flip(input: Any, *dims: Any, out: Any = None) -> Tensor:
    """A copy with the order of elements reversed along dims."""
@overload
def flip(input: Any, *, dims: Any, out: Any = None) -> Tensor:
    """A copy with the order of elements reversed along dims."""
def hsplit(input: Any, indices_or_sections: Any, *, out: Any = None) -> tuple[Tensor, ...]:
    """tensor_split by columns: along dimension 1, or 0 of a vector."""
def movedim(input: Any, source: Any, destination: Any, *, out: Any = None) -> Tensor:
    """A view with the dimensions of source moved to those of destination, the others in order."""
def narrow(input: Any, dim: _int, start: Any, length: _int, *, out: Any = None) -> Tensor:
    """A view of `length` elements of dimension dim from start on."""
@overload
def permute(input: Any, *dims: Any, out: Any = None) -> Tensor:
    """A view with the dimensions in another order."""
@overload
def permute(input: Any, *, dims: Any, out: Any = None) -> Tensor:
    """A view with the dimensions in another order."""
@overload
def reshape(input: Any, *shape: Any, out: Any = None) -> Tensor:
    """The same elements in another shape: a view where memory allows it, else a copy."""
@overload
def reshape(input: Any, *, shape: Any, out: Any = None) -> Tensor:
    """The same elements in another shape: a view where memory allows it, else a copy."""
def select(input: Any, dim: _int, index: _int, *, out: Any = None) -> Tensor:
    """A view of one index along dim, without that dimension."""
def split(
    tensor: Any, split_size_or_sections: Any, dim: _int = 0, *, out: Any = None
) -> tuple[Tensor, ...]:
    """A tuple of views of one length, or of the given lengths, along dim."""
def split_with_sizes(
    input: Any, split_sizes: Any, dim: _int = 0, *, out: Any = None
) -> tuple[Tensor, ...]:
    """A tuple of views of the given lengths, one after the other along dim."""
def squeeze(input: Any, dim: Any = None, *, out: Any = None) -> Tensor:
    """A view without dimensions of size 1: all of them, or those of dim that are."""
def stack(tensors: Any, dim: _int = 0, *, out: Any = None) -> Tensor:
    """The tensors side by side along a new dimension."""
def transpose(input: Any, dim0: _int, dim1: _int, *, out: Any = None) -> Tensor:
    """A view with two dimensions exchanged."""
def t(input: Any, *, out: Any = None) -> Tensor:
    """A view of a matrix with its two dimensions exchanged; vectors stay as they are."""
def tensor_split(
    input: Any, indices_or_sections: Any, dim: _int = 0, *, out: Any = None
) -> tuple[Tensor, ...]:
    """A tuple of views along dim: as many as said, of nearly one length, or cut at indices."""
def unbind(input: Any, dim: _int = 0, *, out: Any = None) -> tuple[Tensor, ...]:
    """A tuple of views, one for each index along dim."""
def unflatten(input: Any, dim: _int, sizes: Any, *, out: Any = None) -> Tensor:
    """Dimension dim split into several of the given sizes, one of which may be -1."""
def unsqueeze(input: Any, dim: _int, *, out: Any = None) -> Tensor:
    """A view with a new dimension of size 1 at dim."""
def vsplit(input: Any, indices_or_sections: Any, *, out: Any = None) -> tuple[Tensor, ...]:
    """tensor_split by rows: along dimension 0."""
def as_strided(
    input: Any, size: Any, stride: Any, storage_offset: _int | None = None, *, out: Any = None
) -> Tensor:
    """A view of the tensor's memory by sizes, strides and offset, all counted in elements."""
def as_strided_(
    input: Any, size: Any, stride: Any, storage_offset: _int | None = None
) -> Tensor:
    """In-place form of as_strided: the tensor shows its memory in another pattern."""
def as_strided_scatter(
    input: Any,
    src: Any,
    size: Any,
    stride: Any,
    storage_offset: _int | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """A copy of input with src written where as_strided of these arguments looks."""
def diag(input: Any, diagonal: _int = 0, *, out: Any = None) -> Tensor:
    """The diagonal of a matrix, or the matrix of a diagonal."""
def diag_embed(
    input: Any, offset: _int = 0, dim1: _int = -2, dim2: _int = -1, *, out: Any = None
) -> Tensor:
    """Matrices, in dim1 and dim2, with the last dimension of input as their diagonals."""
def diagonal(
    input: Any, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Any = None
) -> Tensor:
    """A view of a diagonal of dim1 and dim2, as the last dimension."""
def diagonal_copy(
    input: Any, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Any = None
) -> Tensor:
    """A copy of a diagonal of dim1 and dim2, as the last dimension."""
def atleast_1d(*tensors: Any, out: Any = None) -> Any:
    """The tensors with at least one dimension, as views."""
def atleast_2d(*tensors: Any, out: Any = None) -> Any:
    """The tensors with at least two dimensions, as views."""
def atleast_3d(*tensors: Any, out: Any = None) -> Any:
    """The tensors with at least three dimensions, as views."""
def block_diag(*tensors: Any, out: Any = None) -> Tensor:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
def cartesian_prod(*tensors: Any, out: Any = None) -> Tensor:
    """All combinations of one element of each vector, a row each."""
def column_stack(tensors: Any, *, out: Any = None) -> Tensor:
    """The tensors joined by columns; a vector is one column."""
def combinations(
    input: Any, r: _int = 2, with_replacement: _bool = False, *, out: Any = None
) -> Tensor:
    """All choices of r elements of a vector, a row each, in the order of the vector."""
def constant_pad_nd(input: Any, pad: Any, value: Any = 0, *, out: Any = None) -> Tensor:
    """input with value around it; pad goes from the last dimension on, and may be negative."""
def diagflat(input: Any, offset: _int = 0, *, out: Any = None) -> Tensor:
    """A matrix with all elements of input on a diagonal."""
def dstack(tensors: Any, *, out: Any = None) -> Tensor:
    """The tensors joined along a third dimension."""
def fliplr(input: Any, *, out: Any = None) -> Tensor:
    """A copy with the order of columns reversed."""
def flipud(input: Any, *, out: Any = None) -> Tensor:
    """A copy with the order of rows reversed."""
def hstack(tensors: Any, *, out: Any = None) -> Tensor:
    """The tensors joined by columns: along dimension 1, or 0 for vectors."""
def meshgrid(*tensors: Any, indexing: str | None = None, out: Any = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid: each vector, expanded along the dimensions of the others."""
def repeat_interleave(
    input: Any,
    repeats: Any = None,
    dim: _int | None = None,
    *,
    output_size: _int | None = None,
    out: Any = None,
) -> Tensor:
    """Each element, or slice along dim, several times in a row."""
def roll(input: Any, shifts: Any, dims: Any = (), *, out: Any = None) -> Tensor:
    """A copy in which elements move along dims, or as if flattened, and come back at the start."""
def rot90(input: Any, k: _int = 1, dims: Any = (0, 1), *, out: Any = None) -> Tensor:
    """A copy turned k times by a right angle, from the first of dims towards the second."""
def vstack(tensors: Any, *, out: Any = None) -> Tensor:
    """The tensors joined by rows; a vector is one row."""
def tile(input: Any, *dims: Any, out: Any = None) -> Tensor:
    """repeat, with ones for the dimensions in front that dims does not name."""
def tril(input: Any, diagonal: _int = 0, *, out: Any = None) -> Tensor:
    """A copy with zeros above a diagonal."""
def triu(input: Any, diagonal: _int = 0, *, out: Any = None) -> Tensor:
    """A copy with zeros below a diagonal."""
def vander(x: Any, N: Any = None, increasing: _bool = False, *, out: Any = None) -> Tensor:
    """A matrix of the powers of a vector's elements, the highest first unless increasing."""
def all(input: Any, dim: Any = None, keepdim: _bool = False, *, out: Any = None) -> Tensor:
    """Whether all elements along dim are true (not zero)."""
def any(input: Any, dim: Any = None, keepdim: _bool = False, *, out: Any = None) -> Tensor:
    """Whether an element along dim is true (not zero)."""
def count_nonzero(input: Any, dim: Any = None, *, out: Any = None) -> Tensor:
    """How many elements are not zero."""
def log_softmax(input: Any, dim: _int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """The logarithm of softmax, without its underflow."""
def logsumexp(input: Any, dim: Any, keepdim: _bool = False, *, out: Any = None) -> Tensor:
    """Logarithm of the sum of exponentials over dim."""
def mean(
    input: Any, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """Mean over dim, or over everything."""
def nanmean(
    input: Any, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """Mean over dim of the elements that are not NaN."""
def nansum(
    input: Any, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """Sum over dim, NaN counted as 0."""
def prod(
    input: Any,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Tensor:
    """Product over dim, or over everything."""
def softmax(input: Any, dim: _int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """Exponentials along dim, scaled to sum 1."""
def std(
    input: Any,
    dim: Any = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: Any = None,
    out: Any = None,
) -> Tensor:
    """Standard deviation over dim: the square root of var."""
def std_mean(
    input: Any,
    dim: Any = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: Any = None,
    out: Any = None,
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean over dim."""
def sum(
    input: Any, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """Sum over dim, or over everything."""
def trace(input: Any, *, out: Any = None) -> Tensor:
    """Sum of the diagonal of a matrix."""
def var(
    input: Any,
    dim: Any = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: Any = None,
    out: Any = None,
) -> Tensor:
    """Variance over dim: squared distances from the mean, divided by count - correction."""
def var_mean(
    input: Any,
    dim: Any = None,
    unbiased: _bool | None = None,
    keepdim: _bool = False,
    *,
    correction: Any = None,
    out: Any = None,
) -> tuple[Tensor, Tensor]:
    """Variance and mean over dim."""
def amax(input: Any, dim: Any = (), keepdim: _bool = False, *, out: Any = None) -> Tensor:
    """The largest element over dim; equal ones share the gradient."""
def amin(input: Any, dim: Any = (), keepdim: _bool = False, *, out: Any = None) -> Tensor:
    """The smallest element over dim; equal ones share the gradient."""
def aminmax(
    input: Any, *, dim: _int | None = None, keepdim: _bool = False, out: Any = None
) -> _aminmax:
    """The smallest and the largest element over dim."""
def argmax(
    input: Any, dim: _int | None = None, keepdim: _bool = False, *, out: Any = None
) -> Tensor:
    """Where the largest element is: along dim, or in the flattened tensor."""
def argmin(
    input: Any, dim: _int | None = None, keepdim: _bool = False, *, out: Any = None
) -> Tensor:
    """Where the smallest element is: along dim, or in the flattened tensor."""
@overload
def max(input: Any, *, out: Any = None) -> Tensor:
    """The largest of all; along dim, with indices; or of two tensors at each place."""
@overload
def max(
    input: Any,
    dim: Any = None,
    keepdim: _bool | None = None,
    *,
    other: Any = None,
    out: Any = None,
) -> Any:
    """The largest of all; along dim, with indices; or of two tensors at each place."""
@overload
def min(input: Any, *, out: Any = None) -> Tensor:
    """The smallest of all; along dim, with indices; or of two tensors at each place."""
@overload
def min(
    input: Any,
    dim: Any = None,
    keepdim: _bool | None = None,
    *,
    other: Any = None,
    out: Any = None,
) -> Any:
    """The smallest of all; along dim, with indices; or of two tensors at each place."""
def cummax(input: Any, dim: _int, *, out: Any = None) -> _cummax:
    """The largest element so far along dim, and its index."""
def cummin(input: Any, dim: _int, *, out: Any = None) -> _cummin:
    """The smallest element so far along dim, and its index."""
def cumprod(input: Any, dim: _int, *, dtype: Any = None, out: Any = None) -> Tensor:
    """Products of all prefixes along dim."""
def cumsum(input: Any, dim: _int, *, dtype: Any = None, out: Any = None) -> Tensor:
    """Sums of all prefixes along dim."""
def logcumsumexp(input: Any, dim: _int, *, out: Any = None) -> Tensor:
    """Logarithms of the sums of the exponentials of all prefixes along dim."""
def bincount(
    input: Any, weights: Any = None, minlength: _int = 0, *, out: Any = None
) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of its weights."""
def corrcoef(input: Any, *, out: Any = None) -> Tensor:
    """Correlation coefficients of the variables in the rows."""
def cov(
    input: Any,
    *,
    correction: _int = 1,
    fweights: Any = None,
    aweights: Any = None,
    out: Any = None,
) -> Tensor:
    """Covariances of the variables in the rows, whose samples are in the columns."""
def cumulative_trapezoid(
    y: Any, x: Any = None, *, dx: Any = None, dim: _int = -1, out: Any = None
) -> Tensor:
    """The integrals of samples y up to each place along dim by the trapezoid rule."""
def diff(
    input: Any,
    n: _int = 1,
    dim: _int = -1,
    prepend: Any = None,
    append: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """Differences of neighbours along dim, taken n times."""
def gradient(
    input: Any, *, spacing: Any = None, dim: Any = None, edge_order: _int = 1, out: Any = None
) -> tuple[Tensor, ...]:
    """The slope of samples along each of the dims, `spacing` apart or at the places it lists."""
def histc(
    input: Any, bins: _int = 100, min: Any = 0, max: Any = 0, *, out: Any = None
) -> Tensor:
    """How many elements lie in each of `bins` equal parts of min … max."""
def trapezoid(
    y: Any, x: Any = None, *, dx: Any = None, dim: _int = -1, out: Any = None
) -> Tensor:
    """The integral of samples y along dim by the trapezoid rule, at places x or dx apart."""
def dist(input: Any, other: Any, p: Any = 2, *, out: Any = None) -> Tensor:
    """The norm of exponent p of input - other."""
def norm(
    input: Any,
    p: Any = "fro",
    dim: Any = None,
    keepdim: _bool = False,
    out: Any = None,
    dtype: Any = None,
) -> Tensor:
    """The norm of exponent p over dim: a number, 'fro' (the same as 2) or 'nuc'."""
def norm_except_dim(v: Any, pow: _int = 2, dim: _int = 0, *, out: Any = None) -> Tensor:
    """The norm of each slice along dim, with all dimensions kept; of everything if dim is -1."""
def renorm(input: Any, p: Any, dim: _int, maxnorm: Any, *, out: Any = None) -> Tensor:
    """The slices along dim, those whose norm exceeds maxnorm scaled down to it."""
def gather(
    input: Any, dim: _int, index: Any, *, sparse_grad: _bool = False, out: Any = None
) -> Tensor:
    """The elements that index names along dim, one for each of its elements."""
def index_put(
    input: Any, indices: Any, values: Any, accumulate: _bool = False, *, out: Any = None
) -> Tensor:
    """input with values written, or added, where the tensors of indices name."""
def index_select(input: Any, dim: _int, index: Any, *, out: Any = None) -> Tensor:
    """The slices of dimension dim that the 1-d tensor index names."""
def masked_fill(input: Any, mask: Any, value: Any, *, out: Any = None) -> Tensor:
    """input with value where mask is True."""
def masked_select(input: Any, mask: Any, *, out: Any = None) -> Tensor:
    """The elements where mask is True, in one dimension."""
def scatter_add(input: Any, dim: _int, index: Any, src: Any, *, out: Any = None) -> Tensor:
    """input with the elements of src added where index names along dim."""
def take(input: Any, index: Any, *, out: Any = None) -> Tensor:
    """The elements of the flattened tensor that index names."""
def take_along_dim(
    input: Any, indices: Any, dim: _int | None = None, *, out: Any = None
) -> Tensor:
    """The elements that indices names along dim, the other dimensions broadcast."""
def argwhere(input: Any, *, out: Any = None) -> Tensor:
    """A row of indices for each element that is not zero."""
@overload
def nonzero(input: Any, *, out: Any = None) -> Tensor:
    """Where elements are not zero: a row of indices each, or a tuple of index tensors."""
@overload
def nonzero(input: Any, *, as_tuple: _bool = False, out: Any = None) -> Any:
    """Where elements are not zero: a row of indices each, or a tuple of index tensors."""
def nonzero_static(input: Any, *, size: _int, fill_value: _int = -1, out: Any = None) -> Tensor:
    """The first `size` rows of nonzero; where there are fewer, rows of fill_value follow."""
def unravel_index(indices: Any, shape: Any, *, out: Any = None) -> tuple[Tensor, ...]:
    """For each dimension of a shape the positions of elements counted from the start."""
def diagonal_scatter(
    input: Any, src: Any, offset: _int = 0, dim1: _int = 0, dim2: _int = 1, *, out: Any = None
) -> Tensor:
    """A copy of input with src on a diagonal."""
def fill(input: Any, value: Any, *, out: Any = None) -> Tensor:
    """A tensor like input with value everywhere."""
def index_add(
    input: Any, dim: _int, index: Any, source: Any, *, alpha: Any = 1, out: Any = None
) -> Tensor:
    """input with alpha times the slices of source added where index names along dim."""
def index_copy(input: Any, dim: _int, index: Any, source: Any, *, out: Any = None) -> Tensor:
    """input with the slices of source where index names along dim."""
def index_fill(input: Any, dim: _int, index: Any, value: Any, *, out: Any = None) -> Tensor:
    """input with value in the slices that index names along dim."""
def index_reduce(
    input: Any,
    dim: _int,
    index: Any,
    source: Any,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Any = None,
) -> Tensor:
    """input with the slices of source taken in by prod, mean, amax or amin where index names."""
def masked_scatter(input: Any, mask: Any, source: Any, *, out: Any = None) -> Tensor:
    """input with the elements of source, in order, where mask is True."""
def put(
    input: Any, index: Any, source: Any, accumulate: _bool = False, *, out: Any = None
) -> Tensor:
    """input with source written, or added, where index names in the flattened tensor."""
def scatter(
    input: Any,
    dim: _int,
    index: Any,
    src: Any = None,
    *,
    value: Any = None,
    reduce: Any = None,
    out: Any = None,
) -> Tensor:
    """input with src, a tensor or a number, written where index names along dim."""
def scatter_reduce(
    input: Any,
    dim: _int,
    index: Any,
    src: Any,
    reduce: str,
    *,
    include_self: _bool = True,
    out: Any = None,
) -> Tensor:
    """input with src taken in by sum, prod, mean, amax or amin where index names along dim."""
def select_scatter(input: Any, src: Any, dim: _int, index: _int, *, out: Any = None) -> Tensor:
    """A copy of input with src at one index along dim."""
def slice_scatter(
    input: Any,
    src: Any,
    dim: _int = 0,
    start: Any = None,
    end: Any = None,
    step: _int = 1,
    *,
    out: Any = None,
) -> Tensor:
    """A copy of input with src in a slice along dim."""
def clone(input: Any, *, memory_format: Any = None, out: Any = None) -> Tensor:
    """A copy, in the same order in memory unless memory_format asks for another."""
def ravel(input: Any, *, out: Any = None) -> Tensor:
    """All elements in one dimension, next to one another in memory."""
def alias_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what alias shows."""
def as_strided_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what as_strided shows."""
def detach_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what detach shows."""
def expand_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what expand shows."""
def narrow_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what narrow shows."""
def permute_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what permute shows."""
def select_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what select shows."""
def slice_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what slice shows."""
def split_copy(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """A copy of what split shows."""
def split_with_sizes_copy(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """A copy of what split_with_sizes shows."""
def squeeze_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what squeeze shows."""
def t_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what t shows."""
def transpose_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what transpose shows."""
def unbind_copy(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """A copy of what unbind shows."""
def unfold_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what unfold shows."""
def unsqueeze_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what unsqueeze shows."""
def view_as_complex_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what view_as_complex shows."""
def view_as_real_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what view_as_real shows."""
def view_copy(*args: Any, **kwargs: Any) -> Tensor:
    """A copy of what view shows."""
def frexp(input: Any, *, out: Any = None) -> _frexp:
    """The mantissa, at least 1/2 and below 1, and the power of 2 that makes each element of it."""
def nextafter(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The next floating number after each element in the direction of other."""
def geqrf(input: Any, *, out: Any = None) -> _geqrf:
    """R on and above the diagonal, and below it and in tau the reflections whose product is Q."""
def lobpcg(
    A: Any,
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
    out: Any = None,
) -> tuple[Tensor, Tensor]:
    """The k largest eigenvalues (or smallest) of A u = λ B u, A symmetric, with their vectors u."""
def lu(A: Any, pivot: _bool = True, get_infos: _bool = False, *, out: Any = None) -> Any:
    """L and U in one matrix and the exchanges of rows; see linalg.lu_factor."""
def lu_solve(input: Any, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Tensor:
    """The solution of A @ X = input with the LU factorization of A; see linalg.lu_solve."""
def ormqr(
    input: Any,
    tau: Any,
    other: Any,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """Q @ other, or other @ Q unless left, for the Q of reflections that geqrf answers."""
def pca_lowrank(
    A: Any, q: _int | None = None, center: _bool = True, niter: _int = 2, *, out: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """svd_lowrank of samples in rows, their mean taken off: V holds the principal directions."""
def svd_lowrank(
    A: Any, q: _int | None = 6, niter: _int | None = 2, M: Any = None, *, out: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V with about U @ diag(S) @ V^H = A - M, of rank q."""
def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: _int = 0,
    unsafe: _bool = False,
    initial: Any = None,
    out: Any = None,
) -> Tensor:
    """The sum, mean, prod, max or min of runs of rows, given by their lengths or by offsets."""
def addbmm(
    input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """beta * input + alpha * the sum of batch1 @ batch2 over the batches."""
def addmm(
    input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
def addmv(
    input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
def addr(
    input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """beta * input + alpha * the outer product of two vectors."""
def baddbmm(
    input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), one product for each batch."""
def bmm(input: Any, mat2: Any, *, out: Any = None) -> Tensor:
    """Products of two batches of matrices."""
def chain_matmul(*matrices: Any, out: Any = None) -> Tensor:
    """Product of several matrices in the cheapest order."""
def cross(input: Any, other: Any, dim: _int | None = None, *, out: Any = None) -> Tensor:
    """Cross product of the vectors along dim; without it, the first dimension of size 3."""
def dot(input: Any, tensor: Any, *, out: Any = None) -> Tensor:
    """Sum of the products of two vectors' elements."""
def einsum(*args: Any, out: Any = None) -> Tensor:
    """Sums of products of operands, as 'ij,jk->ik' or lists of ints name their dimensions."""
def outer(input: Any, vec2: Any, *, out: Any = None) -> Tensor:
    """The matrix of all products of two vectors' elements."""
def inner(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Sum of products over the last dimension of both; with a scalar, the plain product."""
def kron(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The Kronecker product: every element of input times all of other."""
def matmul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Matrix product of the last two dimensions, batches broadcast; 1-d operands are vectors."""
def mm(input: Any, mat2: Any, *, out: Any = None) -> Tensor:
    """Product of two matrices."""
def mv(input: Any, vec: Any, *, out: Any = None) -> Tensor:
    """Product of a matrix and a vector."""
def tensordot(a: Any, b: Any, dims: Any = 2, *, out: Any = None) -> Tensor:
    """Sums of products over some dimensions of a and of b; the others stay, a's first."""
def vdot(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """Dot product of two vectors, the first conjugated."""
def digamma(input: Any, *, out: Any = None) -> Tensor:
    """The derivative of lgamma."""
def erf(input: Any, *, out: Any = None) -> Tensor:
    """The error function."""
def erfc(input: Any, *, out: Any = None) -> Tensor:
    """1 - erf(input), exact for large elements."""
def erfinv(input: Any, *, out: Any = None) -> Tensor:
    """The inverse of erf."""
def i0(input: Any, *, out: Any = None) -> Tensor:
    """Modified Bessel function of order 0."""
def igamma(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The part of a gamma distribution of shape input below other."""
def igammac(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The part of a gamma distribution of shape input above other."""
def lgamma(input: Any, *, out: Any = None) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
def logit(input: Any, eps: _float | None = None, *, out: Any = None) -> Tensor:
    """log(p / (1 - p)), the inverse of sigmoid; with eps, p is kept in [eps, 1 - eps]."""
def mvlgamma(input: Any, p: _int, *, out: Any = None) -> Tensor:
    """Logarithm of the gamma function of p dimensions."""
def polygamma(n: _int, input: Any) -> Tensor:
    """The derivative of order n of digamma."""
def sinc(input: Any, *, out: Any = None) -> Tensor:
    """sin(πx) / (πx), and 1 at 0."""
def xlogy(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input * log(other), and 0 where input is 0."""
def celu(input: Any, alpha: _float = 1.0, *, out: Any = None) -> Tensor:
    """input where it is positive, else alpha * (exp(input / alpha) - 1)."""
def hardshrink(input: Any, lambd: _float = 0.5, *, out: Any = None) -> Tensor:
    """input, and 0 where it is at most lambd away from 0."""
def prelu(input: Any, weight: Any, *, out: Any = None) -> Tensor:
    """input where it is positive, else weight * input; one weight for all, or one a channel."""
def relu(input: Any, *, out: Any = None) -> Tensor:
    """input where it is positive, else 0."""
def rrelu(
    input: Any,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    generator: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """input where it is positive, else times a slope: in training drawn for each element."""
def selu(input: Any, *, out: Any = None) -> Tensor:
    """elu scaled so that deep networks keep mean 0 and variance 1."""
def sigmoid(input: Any, *, out: Any = None) -> Tensor:
    """1 / (1 + exp(-input)); an overflow of exp is the limit 0, as it should be."""
def threshold(input: Any, threshold: _float, value: _float, *, out: Any = None) -> Tensor:
    """input where it is above threshold, else value."""
def argsort(
    input: Any,
    dim: _int = -1,
    descending: _bool = False,
    *,
    stable: _bool = False,
    out: Any = None,
) -> Tensor:
    """The indices that put the elements in order along dim."""
def bucketize(
    input: Any,
    boundaries: Any,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Any = None,
) -> Tensor:
    """The bucket of each element, between ordered boundaries."""
def isin(
    elements: Any,
    test_elements: Any,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Any = None,
) -> Tensor:
    """Whether each element is among the test elements."""
def kthvalue(
    input: Any, k: _int, dim: _int = -1, keepdim: _bool = False, *, out: Any = None
) -> _kthvalue:
    """The k-th smallest element along dim, counted from 1, and its index."""
@overload
def median(input: Any, *, out: Any = None) -> Tensor:
    """The median: of all, or along dim with indices; of two in the middle the lower one."""
@overload
def median(
    input: Any, dim: _int | None = None, keepdim: _bool = False, *, out: Any = None
) -> Any:
    """The median: of all, or along dim with indices; of two in the middle the lower one."""
def mode(input: Any, dim: _int = -1, keepdim: _bool = False, *, out: Any = None) -> _mode:
    """The most frequent element along dim, of several the smallest, and its last index."""
def msort(input: Any, *, out: Any = None) -> Tensor:
    """The elements in order along the first dimension."""
@overload
def nanmedian(input: Any, *, out: Any = None) -> Tensor:
    """The median of the elements that are not NaN: of all, or along dim with indices."""
@overload
def nanmedian(
    input: Any, dim: _int | None = None, keepdim: _bool = False, *, out: Any = None
) -> Any:
    """The median of the elements that are not NaN: of all, or along dim with indices."""
def nanquantile(
    input: Any,
    q: Any,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Tensor:
    """The quantile of the elements that are not NaN."""
def quantile(
    input: Any,
    q: Any,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Any = None,
) -> Tensor:
    """The value below which a part q of the elements lies, of all or along dim."""
def searchsorted(
    sorted_sequence: Any,
    input: Any,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: str | None = None,
    sorter: Any = None,
    out: Any = None,
) -> Tensor:
    """Where each value would be inserted into the ordered last dimension of sorted_sequence."""
def sort(
    input: Any,
    dim: _int = -1,
    descending: _bool = False,
    *,
    stable: _bool | None = None,
    out: Any = None,
) -> _sort:
    """The elements in order along dim, and where they were; equal ones keep their order."""
def topk(
    input: Any,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: Any = None,
) -> _topk:
    """The k largest, or smallest, elements along dim in order, and where they are."""
@overload
def unique(
    input: Any, sorted: _bool = True, *, dim: _int | None = None, out: Any = None
) -> Tensor:
    """The distinct elements, or slices along dim, in order; if asked where each went, how many."""
@overload
def unique(
    input: Any,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
    *,
    out: Any = None,
) -> Any:
    """The distinct elements, or slices along dim, in order; if asked where each went, how many."""
@overload
def unique_consecutive(input: Any, *, dim: _int | None = None, out: Any = None) -> Tensor:
    """The first of each run of equals; if asked the run of each element, and the lengths."""
@overload
def unique_consecutive(
    input: Any,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
    *,
    out: Any = None,
) -> Any:
    """The first of each run of equals; if asked the run of each element, and the lengths."""
def cholesky_inverse(L: Any, upper: _bool = False, *, out: Any = None) -> Tensor:
    """The inverse of A, for the Cholesky factor L of A."""
def cholesky_solve(input: Any, L: Any, upper: _bool = False, *, out: Any = None) -> Tensor:
    """X with A @ X = input, for the Cholesky factor L of A."""
def det(input: Any, *, out: Any = None) -> Tensor:
    """The determinant of square matrices."""
def inverse(input: Any, *, out: Any = None) -> Tensor:
    """The inverse of square matrices."""
def logdet(input: Any, *, out: Any = None) -> Tensor:
    """The determinant's logarithm; NaN if it is negative."""
def matrix_exp(input: Any, *, out: Any = None) -> Tensor:
    """The exponential of square matrices."""
def matrix_power(input: Any, n: _int, *, out: Any = None) -> Tensor:
    """The n-th power of square matrices."""
def pinverse(input: Any, rcond: _float = 1e-15, *, out: Any = None) -> Tensor:
    """The Moore-Penrose inverse."""
def slogdet(input: Any, *, out: Any = None) -> Any:
    """Sign and logarithm of the absolute value of the determinant."""
def cholesky(input: Any, upper: _bool = False, *, out: Any = None) -> Tensor:
    """The lower triangular L with L @ L^H = input, or upper its conjugate transpose."""
def orgqr(input: Any, input2: Any, *, out: Any = None) -> Tensor:
    """See linalg.householder_product."""
def qr(input: Any, some: _bool = True, *, out: Any = None) -> Any:
    """input as Q @ R, reduced if `some`."""
def svd(input: Any, some: _bool = True, compute_uv: _bool = True, *, out: Any = None) -> Any:
    """input as U @ diag(S) @ V^H; without compute_uv, U and V are zeros."""
def cdist(
    x1: Any, x2: Any, p: _float = 2.0, compute_mode: str | None = None, *, out: Any = None
) -> Tensor:
    """Distances in the p-norm between all rows of x1 and all rows of x2."""
def istft(
    input: Any,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Any = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The signal whose pieces have these spectra, best in the sense of least squares."""
def stft(
    input: Any,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Any = None,
    center: _bool = True,
    pad_mode: str = "reflect",
    normalized: _bool = False,
    onesided: _bool | None = None,
    return_complex: _bool | None = None,
    align_to_window: _bool | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """The spectra of pieces of n_fft samples, hop_length apart: frequency by time."""
def group_norm(
    input: Any,
    num_groups: _int,
    weight: Any = None,
    bias: Any = None,
    eps: _float = 1e-05,
    *,
    out: Any = None,
) -> Tensor:
    """Each group of channels of a sample with mean 0 and variance 1, scaled and shifted."""
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: _float = 1e-05,
    *,
    out: Any = None,
) -> Tensor:
    """input with mean 0 and variance 1 over its last dimensions, scaled and shifted."""
def rms_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    eps: _float | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """input divided by the root of its mean square over its last dimensions, times weight."""
def cosine_similarity(
    x1: Any, x2: Any, dim: _int = 1, eps: _float = 1e-08, *, out: Any = None
) -> Tensor:
    """The cosine of the angle between vectors along dim."""
def pairwise_distance(
    x1: Any,
    x2: Any,
    p: _float = 2.0,
    eps: _float = 1e-06,
    keepdim: _bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """The norm of exponent p of x1 - x2 + eps over the last dimension."""
def pdist(input: Any, p: _float = 2.0, *, out: Any = None) -> Tensor:
    """The distances between all pairs of rows, each pair once."""
def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: _int = 1,
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
    groups: _int = 1,
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
    groups: _int = 1,
    *,
    out: Any = None,
) -> Tensor:
    """The cross-correlation of volumes with a bank of filters."""
def conv_tbc(input: Any, weight: Any, bias: Any, pad: _int = 0, *, out: Any = None) -> Tensor:
    """conv1d of (time, batch, channels) with filters of (width, channels, filters)."""
def conv_transpose1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: _int = 1,
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
    groups: _int = 1,
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
    groups: _int = 1,
    dilation: Any = 1,
    *,
    out: Any = None,
) -> Tensor:
    """The transposed convolution of volumes, the gradient of a convolution."""
def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
    *,
    out: Any = None,
) -> Tensor:
    """The mean of each window."""
@overload
def max_pool1d(
    input: Any,
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
    input: Any,
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
def max_pool2d(
    input: Any,
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
    input: Any,
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
    input: Any,
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
    input: Any,
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
def adaptive_avg_pool1d(input: Any, output_size: Any, *, out: Any = None) -> Tensor:
    """Means of windows that are chosen so that the result is of output_size."""
def bilinear(
    input1: Any, input2: Any, weight: Any, bias: Any = None, *, out: Any = None
) -> Tensor:
    """For each matrix of weight the product input1 @ matrix @ input2, plus bias."""
def channel_shuffle(input: Any, groups: _int, *, out: Any = None) -> Tensor:
    """Channels of all groups by turns."""
def pixel_shuffle(input: Any, upscale_factor: _int, *, out: Any = None) -> Tensor:
    """Channels as pixels: (*, C r², H, W) becomes (*, C, H r, W r)."""
def pixel_unshuffle(input: Any, downscale_factor: _int, *, out: Any = None) -> Tensor:
    """Pixels as channels: (*, C, H r, W r) becomes (*, C r², H, W)."""
def gru_cell(
    input: Any,
    hx: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any = None,
    b_hh: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """The next hidden state of a gated recurrent unit."""
def rnn_relu_cell(
    input: Any,
    hx: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any = None,
    b_hh: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """The next hidden state of a plain recurrent network with relu."""
def rnn_tanh_cell(
    input: Any,
    hx: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any = None,
    b_hh: Any = None,
    *,
    out: Any = None,
) -> Tensor:
    """The next hidden state of a plain recurrent network with tanh."""
def alpha_dropout(
    input: Any, p: _float = 0.5, train: _bool = False, *, out: Any = None
) -> Tensor:
    """Dropout for selu: mean 0 and variance 1 stay."""
def feature_alpha_dropout(
    input: Any, p: _float = 0.5, train: _bool = False, *, out: Any = None
) -> Tensor:
    """Dropout of channels for selu: mean 0 and variance 1 stay."""
def feature_dropout(
    input: Any, p: _float = 0.5, train: _bool = False, *, out: Any = None
) -> Tensor:
    """Zero each channel with probability p and scale the others so that the mean stays."""
def bernoulli(
    input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None
) -> Tensor:
    """0 or 1, where each element (or p) is the probability of 1."""
def binomial(count: Tensor, prob: Tensor, generator: Any = None, *, out: Any = None) -> Tensor:
    """How many of count trials succeed, each with probability prob."""
def dropout(input: Tensor, p: _float = 0.5, train: _bool = True, *, out: Any = None) -> Tensor:
    """Zero each element with probability p and scale the others so that the mean stays."""
def dropout_(input: Tensor, p: _float = 0.5, train: _bool = True) -> Tensor:
    """In-place form of dropout."""
def multinomial(
    input: Any,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Tensor:
    """Indices drawn with the weights in each row of input."""
def poisson(input: Any, generator: Any = None, *, out: Any = None) -> Tensor:
    """Counts of events, where each element is the expected count."""
def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """The largest elements of output_size windows that cover all, and where they are."""
def alpha_dropout_(input: Any, p: _float, train: _bool) -> Tensor:
    """In-place form of alpha_dropout."""
def batch_norm(*args: Any, **kwargs: Any) -> Tensor:
    """nn.functional.batch_norm of (input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)."""
def binary_cross_entropy_with_logits(*args: Any, **kwargs: Any) -> Tensor:
    """nn.functional.binary_cross_entropy_with_logits of (input, target, weight, pos_weight, reduction)."""
def cosine_embedding_loss(*args: Any, **kwargs: Any) -> Tensor:
    """nn.functional.cosine_embedding_loss of (input1, input2, target, margin, reduction)."""
def ctc_loss(*args: Any, **kwargs: Any) -> Tensor:
    """nn.functional.ctc_loss of (log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)."""
def embedding(
    weight: Any,
    indices: Any,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """The row of weight for each index; a padding_idx below 0 is none."""
def embedding_renorm_(weight: Any, indices: Any, max_norm: _float, norm_type: _float) -> Tensor:
    """Scale down, in place, the rows of weight that indices name and that exceed max_norm."""
def feature_alpha_dropout_(input: Any, p: _float, train: _bool) -> Tensor:
    """In-place form of feature_alpha_dropout."""
def feature_dropout_(input: Any, p: _float, train: _bool) -> Tensor:
    """In-place form of feature_dropout."""
def hinge_embedding_loss(*args: Any, **kwargs: Any) -> Tensor:
    """nn.functional.hinge_embedding_loss of (input, target, margin, reduction)."""
def instance_norm(*args: Any, **kwargs: Any) -> Tensor:
    """nn.functional.instance_norm of (input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled)."""
def kl_div(
    input: Any, target: Any, reduction: _int = 0, *, log_target: _bool = False
) -> Tensor:
    """The divergence of a distribution, given by logarithms, from a target distribution."""
def margin_ranking_loss(*args: Any, **kwargs: Any) -> Tensor:
    """nn.functional.margin_ranking_loss of (input1, input2, target, margin, reduction)."""
def max_pool1d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: _bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and where it is."""
def poisson_nll_loss(*args: Any, **kwargs: Any) -> Tensor:
    """nn.functional.poisson_nll_loss of (input, target, log_input, full, eps, reduction)."""
def rrelu_(
    input: Any,
    lower: _float = 0.125,
    upper: _float = 0.3333333333333333,
    training: _bool = False,
    generator: Any = None,
) -> Tensor:
    """In-place form of rrelu."""
def triplet_margin_loss(*args: Any, **kwargs: Any) -> Tensor:
    """nn.functional.triplet_margin_loss of (anchor, positive, negative, margin, p, eps, swap, reduction)."""
def acos_(input: Any) -> Tensor:
    """In-place form of acos."""
def acosh_(input: Any) -> Tensor:
    """In-place form of acosh."""
def addmv_(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """In-place form of addmv."""
def asin_(input: Any) -> Tensor:
    """In-place form of asin."""
def asinh_(input: Any) -> Tensor:
    """In-place form of asinh."""
def atan_(input: Any) -> Tensor:
    """In-place form of atan."""
def atanh_(input: Any) -> Tensor:
    """In-place form of atanh."""
def ceil_(input: Any) -> Tensor:
    """In-place form of ceil."""
def celu_(input: Any, alpha: _float = 1.0) -> Tensor:
    """In-place form of celu."""
def clamp_(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """In-place form of clamp."""
def clamp_max_(input: Any, max: Any) -> Tensor:
    """In-place form of clamp_max."""
def clamp_min_(input: Any, min: Any) -> Tensor:
    """In-place form of clamp_min."""
def conj_physical_(input: Any) -> Tensor:
    """In-place form of conj_physical."""
def cos_(input: Any) -> Tensor:
    """In-place form of cos."""
def cosh_(input: Any) -> Tensor:
    """In-place form of cosh."""
def deg2rad_(input: Any) -> Tensor:
    """In-place form of deg2rad."""
def erf_(input: Any) -> Tensor:
    """In-place form of erf."""
def erfc_(input: Any) -> Tensor:
    """In-place form of erfc."""
def exp2_(input: Any) -> Tensor:
    """In-place form of exp2."""
def exp_(input: Any) -> Tensor:
    """In-place form of exp."""
def expm1_(input: Any) -> Tensor:
    """In-place form of expm1."""
def fill_(input: Any, value: Any) -> Tensor:
    """In-place form of fill."""
def floor_(input: Any) -> Tensor:
    """In-place form of floor."""
def frac_(input: Any) -> Tensor:
    """In-place form of frac."""
def gcd_(input: Any, other: Any) -> Tensor:
    """In-place form of gcd."""
def i0_(input: Any) -> Tensor:
    """In-place form of i0."""
def index_put_(input: Any, indices: Any, values: Any, accumulate: _bool = False) -> Tensor:
    """In-place form of index_put."""
def lcm_(input: Any, other: Any) -> Tensor:
    """In-place form of lcm."""
def log10_(input: Any) -> Tensor:
    """In-place form of log10."""
def log1p_(input: Any) -> Tensor:
    """In-place form of log1p."""
def log2_(input: Any) -> Tensor:
    """In-place form of log2."""
def log_(input: Any) -> Tensor:
    """In-place form of log."""
def logit_(input: Any, eps: _float | None = None) -> Tensor:
    """In-place form of logit."""
def nan_to_num_(
    input: Any, nan: _float | None = None, posinf: Any = None, neginf: Any = None
) -> Tensor:
    """In-place form of nan_to_num."""
def neg_(input: Any) -> Tensor:
    """In-place form of neg."""
def rad2deg_(input: Any) -> Tensor:
    """In-place form of rad2deg."""
def reciprocal_(input: Any) -> Tensor:
    """In-place form of reciprocal."""
def relu_(input: Any) -> Tensor:
    """In-place form of relu."""
def round_(input: Any, *, decimals: _int = 0) -> Tensor:
    """In-place form of round."""
def rsqrt_(input: Any) -> Tensor:
    """In-place form of rsqrt."""
def selu_(input: Any) -> Tensor:
    """In-place form of selu."""
def sigmoid_(input: Any) -> Tensor:
    """In-place form of sigmoid."""
def sin_(input: Any) -> Tensor:
    """In-place form of sin."""
def sinc_(input: Any) -> Tensor:
    """In-place form of sinc."""
def sinh_(input: Any) -> Tensor:
    """In-place form of sinh."""
def sqrt_(input: Any) -> Tensor:
    """In-place form of sqrt."""
def square_(input: Any) -> Tensor:
    """In-place form of square."""
def tan_(input: Any) -> Tensor:
    """In-place form of tan."""
def tanh_(input: Any) -> Tensor:
    """In-place form of tanh."""
def threshold_(input: Any, threshold: _float, value: _float) -> Tensor:
    """In-place form of threshold."""
def trunc_(input: Any) -> Tensor:
    """In-place form of trunc."""
def xlogy_(input: Any, other: Any) -> Tensor:
    """In-place form of xlogy."""
def zero_(input: Any) -> Tensor:
    """In-place form of zero."""
newaxis: None
def absolute(input: Any, *, out: Any = None) -> Tensor:
    """Absolute value, or modulus."""
def arccos(input: Any, *, out: Any = None) -> Tensor:
    """Inverse cosine."""
def arccosh(input: Any, *, out: Any = None) -> Tensor:
    """Inverse hyperbolic cosine."""
def arcsin(input: Any, *, out: Any = None) -> Tensor:
    """Inverse sine."""
def arcsinh(input: Any, *, out: Any = None) -> Tensor:
    """Inverse hyperbolic sine."""
def arctan(input: Any, *, out: Any = None) -> Tensor:
    """Inverse tangent."""
def arctan2(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """The angle of the point (other, input), from -π to π."""
def arctanh(input: Any, *, out: Any = None) -> Tensor:
    """Inverse hyperbolic tangent."""
cdouble: _dtype
cfloat: _dtype
def clip(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    """input, but at least min and at most max."""
def concat(tensors: Any, dim: _int = 0, *, out: Any = None) -> Tensor:
    """The tensors one after the other along dim; 1-d empty tensors fit anywhere."""
def concatenate(tensors: Any, dim: _int = 0, *, out: Any = None) -> Tensor:
    """The tensors one after the other along dim; 1-d empty tensors fit anywhere."""
def divide(
    input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None
) -> Tensor:
    """input / other; with rounding_mode "trunc" or "floor", the quotient as a whole number."""
double: _dtype
def fix(input: Any, *, out: Any = None) -> Tensor:
    """The whole number without the fraction."""
def ger(input: Any, vec2: Any, *, out: Any = None) -> Tensor:
    """The matrix of all products of two vectors' elements."""
def greater(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input > other."""
def greater_equal(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input >= other."""
half: _dtype
def less(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input < other."""
def less_equal(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input <= other."""
long: _dtype
def moveaxis(input: Any, source: Any, destination: Any, *, out: Any = None) -> Tensor:
    """A view with the dimensions of source moved to those of destination, the others in order."""
def multiply(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input * other."""
def negative(input: Any, *, out: Any = None) -> Tensor:
    """-input."""
def not_equal(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """input != other."""
def row_stack(tensors: Any, *, out: Any = None) -> Tensor:
    """The tensors joined by rows; a vector is one row."""
short: _dtype
def subtract(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """input - alpha * other."""
def swapaxes(input: Any, dim0: _int, dim1: _int, *, out: Any = None) -> Tensor:
    """A view with two dimensions exchanged."""
def swapdims(input: Any, dim0: _int, dim1: _int, *, out: Any = None) -> Tensor:
    """A view with two dimensions exchanged."""
def trapz(y: Any, x: Any = None, *, dx: Any = None, dim: _int = -1, out: Any = None) -> Tensor:
    """The integral of samples y along dim by the trapezoid rule, at places x or dx apart."""
def arccos_(input: Any) -> Tensor:
    """In-place form of acos."""
def arccosh_(input: Any) -> Tensor:
    """In-place form of acosh."""
def arcsin_(input: Any) -> Tensor:
    """In-place form of asin."""
def arcsinh_(input: Any) -> Tensor:
    """In-place form of asinh."""
def arctan_(input: Any) -> Tensor:
    """In-place form of atan."""
def arctanh_(input: Any) -> Tensor:
    """In-place form of atanh."""
def clip_(input: Any, min: Any = None, max: Any = None) -> Tensor:
    """In-place form of clamp."""
def fix_(input: Any) -> Tensor:
    """In-place form of trunc."""
def negative_(input: Any) -> Tensor:
    """In-place form of neg."""
bool: _dtype
def complex(real: Any, imag: Any, *, out: Any = None) -> Tensor:
    """Complex numbers from real and imaginary parts."""
float: _dtype
int: _dtype
