"""Modules without initial values."""

import inspect
from typing import Any

from adjoint.nn.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """module_cls(*args, **kwargs) with parameters and buffers of any values, to be overwritten."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init: expected a class of modules, got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(
            f"skip_init: {module_cls.__name__} must support a 'device' argument to skip its "
            "initialization"
        )
    place = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=place)
