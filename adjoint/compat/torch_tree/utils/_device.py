"""torch.utils._device: the device of new tensors, as a context."""

import functools
from collections.abc import Callable
from typing import Any

from adjoint.device import device as as_device


class DeviceContext:
    """As a context: new tensors are made on a device; torch.device is one by itself."""

    def __init__(self, device: Any) -> None:
        self.device = as_device(device)

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self.device.__exit__(*exc)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose new tensors are made on a device, or what a function answers."""

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with device() if callable(device) else DeviceContext(device):
            return func(*args, **kwargs)

    return wrapped


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The same as a decorator."""
    return functools.partial(device_decorator, as_device(device))
