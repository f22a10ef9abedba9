"""Names of torch itself that adjoint leaves out: old ones, private ones, constants, settings."""

import math
import warnings
from typing import Any

from adjoint.compat.autocasting import (
    autocast as autocast,
    clear_autocast_cache as clear_autocast_cache,
    get_autocast_cpu_dtype as get_autocast_cpu_dtype,
    get_autocast_dtype as get_autocast_dtype,
    get_autocast_gpu_dtype as get_autocast_gpu_dtype,
    is_autocast_cache_enabled as is_autocast_cache_enabled,
    is_autocast_cpu_enabled as is_autocast_cpu_enabled,
    is_autocast_enabled as is_autocast_enabled,
)
from adjoint.compat.foreach import FOREACH
from adjoint.compat.legacy_types import (
    CPU_TYPES,
    set_default_tensor_type as set_default_tensor_type,
)
from adjoint.compat.storages import (
    TypedStorage as TypedStorage,
    UntypedStorage as UntypedStorage,
    is_storage as is_storage,
)
from adjoint.compat.uncompiled import compile as compile
from adjoint.tensor import Tensor

__version__ = "2.13.0"  # the PyTorch whose names and behaviour these are
inf = math.inf
nan = math.nan
pi = math.pi
e = math.e
newaxis = None

# Methods that torch has as functions too; adjoint has them as methods alone.
_METHODS = (
    "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ "
    "asin_ asinh_ atan_ atanh_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ "
    "cosh_ deg2rad_ detach detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ "
    "index_put_ is_conj is_inference is_neg is_nonzero lcm_ log10_ log1p_ log2_ log_ logit_ "
    "nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ resize_as_ round_ rsqrt_ selu_ "
    "sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ threshold_ trunc_ xlogy_ zero_"
)


class _Method:
    """A method of Tensor as a function; looked up when called, so that subclasses have theirs."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, self.__name__)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function torch.{self.__name__}>"


globals().update({name: _Method(name) for name in _METHODS.split()})
globals().update(CPU_TYPES)
globals().update(FOREACH)


# ---- settings that have nothing to set ----


class _Settings:
    """What was set, for the functions that ask."""

    def __init__(self) -> None:
        self.threads = 1
        self.interop_threads = 1
        self.deterministic = False
        self.warn_only = False
        self.matmul_precision = "highest"


_settings = _Settings()


def set_num_threads(num: int) -> None:
    """Remembered only: NumPy's BLAS has as many threads as its environment variable says."""
    _settings.threads = num


def get_num_threads() -> int:
    """What set_num_threads was given."""
    return _settings.threads


def set_num_interop_threads(num: int) -> None:
    """Remembered only: backward runs on the calling thread and one thread a device."""
    _settings.interop_threads = num


def get_num_interop_threads() -> int:
    """What set_num_interop_threads was given."""
    return _settings.interop_threads


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remembered only: on the CPU every operation is deterministic anyway."""
    _settings.deterministic, _settings.warn_only = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms was given."""
    return _settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What use_deterministic_algorithms was given."""
    return _settings.warn_only


def set_float32_matmul_precision(precision: str) -> None:
    """Remembered only: products are computed in the precision of their type."""
    if precision not in ("highest", "high", "medium"):
        known = "highest, high or medium"
        warnings.warn(f"float32_matmul_precision must be {known}, not {precision!r}", stacklevel=2)
        return
    _settings.matmul_precision = precision


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision was given."""
    return _settings.matmul_precision
