"""Derivatives of recorded work, under PyTorch's names.

The modules below Tensor live in this package too, so its public names are looked up on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "backward": "entry_points",
    "grad": "entry_points",
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
_MODULES = {
    "anomaly_mode",
    "forward_ad",
    "function",
    "functional",
    "gradcheck",
    "graph",
    "profiler",
}

if TYPE_CHECKING:
    from adjoint.autograd import (
        anomaly_mode as anomaly_mode,
        forward_ad as forward_ad,
        function as function,
        functional as functional,
        graph as graph,
        profiler as profiler,
    )
    from adjoint.autograd.anomaly_mode import (
        detect_anomaly as detect_anomaly,
        set_detect_anomaly as set_detect_anomaly,
    )
    from adjoint.autograd.entry_points import backward as backward, grad as grad
    from adjoint.autograd.function import Function as Function
    from adjoint.autograd.grad_mode import (
        enable_grad as enable_grad,
        enforce_grad_layout_policy as enforce_grad_layout_policy,
        inference_mode as inference_mode,
        no_grad as no_grad,
        set_grad_enabled as set_grad_enabled,
    )
    from adjoint.autograd.gradcheck import gradcheck as gradcheck, gradgradcheck as gradgradcheck
else:  # a type checker that saw this would take any name

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
