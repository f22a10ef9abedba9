"""Derivatives of recorded work, under PyTorch's names.

The modules below Tensor live in this package too, so its public names are looked up on first use.
"""

import importlib
from typing import Any

_HOMES = {
    "backward": "differentiate",
    "grad": "differentiate",
    "no_grad": "grad_mode",
    "enable_grad": "grad_mode",
    "set_grad_enabled": "grad_mode",
    "inference_mode": "grad_mode",
    "enforce_grad_layout_policy": "grad_mode",
    "Function": "function",
    "detect_anomaly": "anomaly_mode",
    "set_detect_anomaly": "anomaly_mode",
    "gradgradcheck": "gradcheck",
}
_MODULES = {"anomaly_mode", "function", "functional", "gradcheck", "graph", "profiler"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
