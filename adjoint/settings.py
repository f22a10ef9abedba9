"""Settings of the process: threads, determinism, precision.

Arithmetic is the array library's. What it lets us set is set; the rest is remembered, for programs
that set it on one machine and ask for it on another.
"""

import importlib
import os
import warnings
from typing import Any

from adjoint.backends import threads

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "use_deterministic_algorithms",
]

_PRECISIONS = ("highest", "high", "medium")
_DEBUG_MODES = ("default", "warn", "error")


class _Settings:
    """What was set."""

    def __init__(self) -> None:
        self.threads = os.cpu_count() or 1
        self.interop_threads = os.cpu_count() or 1
        self.deterministic = False
        self.warn_only = False
        self.precision = "highest"


_settings = _Settings()


# ---- threads ----


def _thread_pools() -> Any:
    """The library that reaches the threads of BLAS, or None where it is not installed."""
    try:
        return importlib.import_module("threadpoolctl")
    except ImportError:
        return None


_MOST = 2**31 - 1


def _check_count(name: str, count: Any) -> None:
    if isinstance(count, bool) or not isinstance(count, int):
        raise RuntimeError(f"{name}() expects an int, but got {type(count).__name__}")
    if count < 1:
        raise RuntimeError(f"{name}() expects a positive integer, but got {count}")
    if count > _MOST:
        raise ValueError(f"{name}() expects at most {_MOST}, but got {count}")


def set_num_threads(num: int) -> None:
    """How many threads share the elements of a large array, and a product of matrices.

    Products are BLAS's. Without threadpoolctl it keeps the threads it was started with, which an
    environment variable such as OPENBLAS_NUM_THREADS decides.
    """
    _check_count("set_num_threads", num)
    threads.allow(num)
    pools = _thread_pools()
    if pools is not None:
        pools.threadpool_limits(num, user_api="blas")
    _settings.threads = num


def get_num_threads() -> int:
    """How many threads BLAS uses; without threadpoolctl what set_num_threads was given."""
    pools = _thread_pools()
    if pools is None:
        return _settings.threads
    found = [pool["num_threads"] for pool in pools.threadpool_info() if pool["user_api"] == "blas"]
    return max(found, default=_settings.threads)


def set_num_interop_threads(num: int) -> None:
    """Remembered only: backward runs on the calling thread and one thread a device."""
    _check_count("set_num_interop_threads", num)
    _settings.interop_threads = num


def get_num_interop_threads() -> int:
    """What set_num_interop_threads was given."""
    return _settings.interop_threads


# ---- determinism ----


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Remembered only: on the CPU every operation is deterministic anyway."""
    for name, value in (("mode", mode), ("warn_only", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"use_deterministic_algorithms(): {name} must be bool, not {type(value).__name__}"
            )
    _settings.deterministic, _settings.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms was given."""
    return _settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What use_deterministic_algorithms was given as warn_only."""
    return _settings.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """use_deterministic_algorithms by a word or a number: 0 default, 1 warn, 2 error."""
    if not isinstance(debug_mode, int | str):
        kind = type(debug_mode).__name__
        raise TypeError(f"set_deterministic_debug_mode(): expected a str or an int, got {kind}")
    known: Any = _DEBUG_MODES if isinstance(debug_mode, str) else range(len(_DEBUG_MODES))
    if debug_mode not in known:
        raise RuntimeError(
            f"set_deterministic_debug_mode(): {debug_mode!r} is none of {list(known)}"
        )
    number = known.index(debug_mode)
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    """0 default, 1 warn, 2 error."""
    if not _settings.deterministic:
        return 0
    return 1 if _settings.warn_only else 2


# ---- precision ----


def set_float32_matmul_precision(precision: str) -> None:
    """Remembered only: products are computed in the precision of their type."""
    if precision not in _PRECISIONS:
        known = ", ".join(_PRECISIONS)
        warnings.warn(
            f"set_float32_matmul_precision(): {precision!r} is none of {known}: nothing is set",
            stacklevel=2,
        )
        return
    _settings.precision = precision


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision was given."""
    return _settings.precision


def set_flush_denormal(mode: bool) -> bool:
    """Whether numbers too small for full precision could be made to count as zero: only off."""
    if not isinstance(mode, bool):
        raise RuntimeError(f"set_flush_denormal() expects a bool, but got {type(mode).__name__}")
    return not mode
