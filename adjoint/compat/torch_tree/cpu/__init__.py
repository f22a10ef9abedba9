"""torch.cpu: mixed precision on the CPU, and what programs ask of every device."""

from typing import Any


def is_available() -> bool:
    """There always is one."""
    return True


is_initialized = is_available


def device_count() -> int:
    """One, whatever its cores."""
    return 1


def current_device() -> str:
    """Its name."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Nothing waits: calls on the CPU are done when they return."""


set_device = synchronize
