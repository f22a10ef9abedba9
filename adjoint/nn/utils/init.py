"""Modules without initial values."""

import inspect
from typing import Any

from adjoint.nn.module import Module
from adjoint.random import get_rng_state, set_rng_state


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """module_cls(*args, **kwargs) with parameters and buffers of any values, to be overwritten.

    The random numbers that their first values take are not counted.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init: expected a class of modules, got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(
            f"skip_init: {module_cls.__name__} must support a 'device' argument to skip its "
            "initialization"
        )
    place = kwargs.pop("device", "cpu")
    state = get_rng_state()
    try:
        made = module_cls(*args, **kwargs, device="cpu")
    finally:
        set_rng_state(state)
    return made.to_empty(device=place)
