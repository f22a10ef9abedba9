"""PyTorch's tree: a module here answers the path of its name, this one `torch` itself.

Only names that adjoint leaves out are here: old ones, private ones, and those of what it has not.
"""

import importlib
import math
import operator
from collections.abc import Callable
from typing import Any

from adjoint.autograd.anomaly_mode import set_detect_anomaly
from adjoint.compat import options_by_name
from adjoint.compat.absent_devices import is_available
from adjoint.compat.aten import AT_THE_TOP, PRIVATE
from adjoint.compat.fake_quantization import FAKE_QUANTIZATION
from adjoint.compat.no_compiler import compile as compile, unchanged
from adjoint.compat.odd_products import AT_THE_TOP as ODD_PRODUCTS
from adjoint.compat.private_functions import FUNCTIONS
from adjoint.compat.tensor_types import (
    CPU_TYPES,
    set_default_tensor_type as set_default_tensor_type,
)
from adjoint.compat.torch_tree.cuda import OutOfMemoryError as OutOfMemoryError
from adjoint.compat.torch_tree.storage import (
    CLASSES as STORAGES,
    TypedStorage as TypedStorage,
    UntypedStorage as UntypedStorage,
    from_file as from_file,
    is_storage as is_storage,
)
from adjoint.compat.torch_tree.torch_version import __version__ as __version__
from adjoint.compat.torch_tree.version import (
    has_lapack as has_lapack,
    has_mkl as has_mkl,
    has_openmp as has_openmp,
    has_spectral as has_spectral,
)
from adjoint.compat.unheld_types import SCHEMES, UNHELD_TYPES, qscheme as qscheme
from adjoint.device import device as as_device
from adjoint.library.streams import Stream as Stream
from adjoint.ops.arranging.conversion import contiguous_format, layout
from adjoint.ops.composites import overridable
from adjoint.ops.foreach import FOREACH
from adjoint.ops.matrices.matmul import mm
from adjoint.ops.reducing.segments import segment_reduce
from adjoint.ops.sampling import implicit
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper

# Names whose modules are loaded when they are first used, so that importing torch stays quick.
_AUTOCAST = "adjoint.amp.autocast_mode"
_SET_BY_HAND = f"{__name__}.amp.autocast_mode"
_OF_AUTOCAST = """
    autocast_decrement_nesting autocast_increment_nesting get_autocast_cpu_dtype
    get_autocast_gpu_dtype get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_cpu_enabled
    is_autocast_ipu_enabled is_autocast_xla_enabled set_autocast_cache_enabled
    set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled
    set_autocast_gpu_dtype set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype
    set_autocast_xla_enabled
"""
_LATER = {
    "Argument": f"{__name__}._C",
    "DispatchKey": "adjoint.compat.dispatch_keys",
    "FunctionSchema": f"{__name__}._C",
    "Future": f"{__name__}.futures",
    "Tag": f"{__name__}.library",
    "clear_autocast_cache": _AUTOCAST,
    "cond": f"{__name__}._higher_order_ops",
    "while_loop": f"{__name__}._higher_order_ops",
    "is_autocast_cache_enabled": _AUTOCAST,
    "fork": f"{__name__}.jit",
    "load": f"{__name__}.serialization",
    "parse_schema": f"{__name__}._C",
    "save": f"{__name__}.serialization",
    "wait": f"{__name__}.jit",
    **dict.fromkeys(_OF_AUTOCAST.split(), _SET_BY_HAND),
}

Storage = STORAGES["FloatStorage"]
spmm = mm
_segment_reduce = segment_reduce
_nnpack_available = is_available
_disable_dynamo = unchanged
legacy_contiguous_format = contiguous_format
jagged = layout("jagged")  # no tensor has it

# The samples that distributions are made of, and their slopes.
_dirichlet_grad = implicit.dirichlet_slope
_sample_dirichlet = implicit.standard_dirichlet
_standard_gamma = implicit.standard_gamma
_standard_gamma_grad = implicit.gamma_slope

# A method of Tensor, attached by this package, that torch has as a function too.
_METHODS = ("resize_as_",)


class _Method:
    """A method of Tensor as a function; looked up when called, so that subclasses have theirs."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, self.__name__)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function torch.{self.__name__}>"


globals().update({name: _Method(name) for name in _METHODS})
globals().update(CPU_TYPES)
globals().update(STORAGES)
globals().update(FAKE_QUANTIZATION)
globals().update(FOREACH)
globals().update(FUNCTIONS)
globals().update(ODD_PRODUCTS)
globals().update(UNHELD_TYPES)
globals().update(SCHEMES)
globals().update({name: PRIVATE[name] for name in AT_THE_TOP})


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_LATER]


upper.shown = options_by_name.shown
upper.recurrent = lambda name: getattr(importlib.import_module(f"{__name__}._VF"), name)


def _has_compatible_shallow_copy_type(input: Any, from_: Any) -> bool:
    """Whether a tensor may take the place of another's memory: of one device and layout."""
    return bool(input.device.type == from_.device.type and input.layout is from_.layout)


# ---- numbers that a compiler may know as symbols only: here all are known ----

sym_int, sym_float, sym_sum = int, float, sum
sym_not, sym_sqrt = operator.not_, math.sqrt


def _as_one_type(a: Any, b: Any) -> tuple[Any, Any]:
    return (float(a), float(b)) if float in (type(a), type(b)) else (a, b)


@overridable
def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers, as a float if one is."""
    return max(_as_one_type(a, b))


@overridable
def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, as a float if one is."""
    return min(_as_one_type(a, b))


@overridable
def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """One of two values."""
    return t if b else f


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device, such as torch.cuda."""
    kind = as_device(device if device is not None else "cpu").type
    if kind not in ("cpu", "cuda"):
        raise RuntimeError(f"there is no module for the device {kind}; there are cpu and cuda")
    return importlib.import_module(f"adjoint.compat.torch.{kind}")


# ---- conditions that a program states ----


@overridable
def _assert(condition: Any, message: str) -> None:
    """Fail with the message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


assertion = _assert  # for this package


def is_vulkan_available() -> bool:
    """There is no such device."""
    return False


def init_num_threads() -> None:
    """Nothing to begin with: threads are started when they are needed."""


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off."""
    for argument in (enabled, check_nan):
        if not isinstance(argument, bool):
            raise TypeError(f"set_anomaly_enabled: expected a bool, got {argument!r:.60}")
    set_detect_anomaly(enabled, check_nan)


def set_warn_always(b: bool, /) -> None:
    """Whether PyTorch repeats warnings that it gives once; adjoint's are Python's own."""
    _warnings.always = b


def is_warn_always_enabled() -> bool:
    """What set_warn_always was given."""
    return _warnings.always


class _Warnings:
    always = False


_warnings = _Warnings()


def _checking(name: str, kind: type[Exception]) -> Any:
    def check(cond: bool, message: Callable[[], Any] | None = None) -> None:
        if not isinstance(cond, bool):
            raise TypeError(f"{name}: cond must be a bool, but got {type(cond)}")
        if not cond:
            text = "Expected cond to be True, but got False." if message is None else message()
            raise kind(str(text))

    check.__name__ = check.__qualname__ = name
    check.__doc__ = (
        f"Raise {kind.__name__}, with what the message says, unless the condition holds."
    )
    return check


_CHECKS = {
    "_check": RuntimeError,
    "_check_index": IndexError,
    "_check_not_implemented": NotImplementedError,
    "_check_type": TypeError,
    "_check_value": ValueError,
}
globals().update({name: _checking(name, kind) for name, kind in _CHECKS.items()})
