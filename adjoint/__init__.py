"""PyTorch's autograd in Python you can read, on NumPy, CuPy or JAX."""

import importlib
import sys
from math import e as e, inf as inf, nan as nan, pi as pi
from typing import TYPE_CHECKING, Any

# Tensors, their types and places.
from adjoint.device import device as device
from adjoint.dtypes import (
    bfloat16 as bfloat16,
    bool_ as bool_,
    complex32 as complex32,
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

# What the op tables declare; type checkers read it from __init__.pyi.
from adjoint.ops import PUBLIC as _PUBLIC
from adjoint.ops.arranging.conversion import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    finfo as finfo,
    get_device as get_device,
    iinfo as iinfo,
    is_tensor as is_tensor,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    result_type as result_type,
    sparse_bsc as sparse_bsc,
    sparse_bsr as sparse_bsr,
    sparse_coo as sparse_coo,
    sparse_csc as sparse_csc,
    sparse_csr as sparse_csr,
    strided as strided,
    typename as typename,
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
    empty_permuted as empty_permuted,
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
from adjoint.creation.sparse import (
    sparse_compressed_tensor as sparse_compressed_tensor,
    sparse_coo_tensor as sparse_coo_tensor,
    sparse_csc_tensor as sparse_csc_tensor,
    sparse_csr_tensor as sparse_csr_tensor,
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

# Packages.
from adjoint import autograd as autograd
from adjoint import fft as fft
from adjoint import linalg as linalg
from adjoint.tensors import methods as _methods  # noqa: F401  # gives Tensor its methods
from adjoint import random as random
from adjoint import signal as signal
from adjoint import sparse as sparse
from adjoint import special as special
from adjoint.transforms import batches as _batches  # noqa: F401  # autograd.grad finds it
from adjoint.version import __compiled__ as __compiled__
from adjoint.version import __version__ as __version__

# Packages that are loaded when they are first used, so that importing adjoint stays quick.
_LATER = (
    "amp",
    "compat",
    "distributions",
    "func",
    "functorch",
    "library",
    "masked",
    "nn",
    "optim",
    "profiler",
    "return_types",
    "testing",
    "utils",
    "viz",
)
_HOMES = {
    "GradScaler": "amp.grad_scaler",
    "autocast": "amp.autocast_mode",
    "compile": "compiling.public",
    "cond": "control_flow",
    "get_autocast_dtype": "amp.autocast_mode",
    "is_autocast_enabled": "amp.autocast_mode",
    "explain": "autograd.explaining",
    "load": "saving.serialization",
    "save": "saving.serialization",
    "scan": "control_flow",
    "vmap": "func.batching",
    "while_loop": "control_flow",
}

# What programs ask for before they begin; compat has the rest.
_OF_COMPAT = {"cuda": "compat.torch_tree.cuda", "jit": "compat.torch_tree.jit"}

if TYPE_CHECKING:
    from adjoint import amp as amp
    from adjoint import compat as compat
    from adjoint import distributions as distributions
    from adjoint import func as func
    from adjoint import functorch as functorch
    from adjoint import library as library
    from adjoint import masked as masked
    from adjoint import nn as nn
    from adjoint import optim as optim
    from adjoint import profiler as profiler
    from adjoint import return_types as return_types
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
    from adjoint.compiling.public import compile as compile
    from adjoint.control_flow import cond as cond, scan as scan, while_loop as while_loop
    from adjoint.func.batching import vmap as vmap
    from adjoint.saving.serialization import load as load, save as save


def _loaded(name: str) -> Any:
    """A package, with what an interrupted import of it has loaded already as its attributes."""
    package = importlib.import_module(name)
    for loaded in [key for key in sys.modules if key.startswith(f"{name}.")]:
        above, _, child = loaded.rpartition(".")
        parent = sys.modules.get(above)
        if parent is not None and not hasattr(parent, child):
            setattr(parent, child, sys.modules[loaded])
    return package


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return _loaded(f"adjoint.{name}")
    if name in _OF_COMPAT:
        return _loaded(f"adjoint.{_OF_COMPAT[name]}")
    if name in _HOMES:
        return getattr(importlib.import_module(f"adjoint.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'adjoint' has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted([*globals(), *_LATER, *_HOMES])


# Constants.
newaxis: None = None


# Second names of data types. The last ones hide Python's own, in this namespace alone.
cdouble = complex128
cfloat = complex64
chalf = complex32
double = float64
half = float16
long = int64
short = int16
bool = bool_
float = float32
int = int32

globals().update(_PUBLIC["adjoint"])
