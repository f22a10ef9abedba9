"""torch.amp.autocast_mode: autocast set by hand, as checkpoints of programs' own do it."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from adjoint.amp.autocast_mode import get_autocast_dtype, is_autocast_enabled, set_autocast
from adjoint.dtypes import dtype as Dtype  # noqa: N812  # PyTorch's parameter is called dtype

_nesting: ContextVar[int] = ContextVar("adjoint_autocast_nesting", default=0)


def autocast_decorator(autocast_instance: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs under an autocast."""
    return autocast_instance(func)  # type: ignore[no-any-return]  # it decorates


def _checked(name: str, argument: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {argument} must be a {kind.__name__}, got {value!r:.60}")
    return value


def set_autocast_enabled(*arguments: Any) -> None:
    """Switch autocast on or off for a kind of device; without one named, for GPUs."""
    if not 1 <= len(arguments) <= 2:
        raise TypeError(f"set_autocast_enabled: expected a device and a bool, got {arguments}")
    device_type, enabled = ("cuda", *arguments)[-2:]
    _checked("set_autocast_enabled", "enabled", enabled, bool)
    set_autocast(device_type, get_autocast_dtype(device_type), enabled)


def set_autocast_dtype(device_type: str, dtype: Dtype) -> None:
    """Set the narrow type of a kind of device."""
    _checked("set_autocast_dtype", "dtype", dtype, Dtype)
    set_autocast(device_type, dtype, is_autocast_enabled(device_type))


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether casts are to be kept for the next op; none is kept either way."""
    _checked("set_autocast_cache_enabled", "enabled", enabled, bool)


def autocast_increment_nesting() -> int:
    """One more block is entered by hand; how many there are now."""
    _nesting.set(_nesting.get() + 1)
    return _nesting.get()


def autocast_decrement_nesting() -> int:
    """A block is left by hand; how many are left."""
    _nesting.set(_nesting.get() - 1)
    return _nesting.get()


def _of_device(name: str, kind: str) -> dict[str, Callable[..., Any]]:
    """The old forms of the functions above, which name a device."""

    def set_enabled(enabled: bool) -> None:
        set_autocast_enabled(kind, enabled)

    def set_dtype(dtype: Dtype) -> None:
        set_autocast_dtype(kind, dtype)

    def is_enabled() -> bool:
        return is_autocast_enabled(kind)

    def get_dtype() -> Dtype:
        return get_autocast_dtype(kind)

    forms: dict[str, Callable[..., Any]] = {
        f"set_autocast_{name}_enabled": set_enabled,
        f"set_autocast_{name}_dtype": set_dtype,
        f"is_autocast_{name}_enabled": is_enabled,
        f"get_autocast_{name}_dtype": get_dtype,
    }
    for form, function in forms.items():
        function.__name__ = function.__qualname__ = form
    return forms


OLD_FORMS: dict[str, Callable[..., Any]] = {
    form: function
    for name, kind in (("cpu", "cpu"), ("gpu", "cuda"), ("xla", "xla"), ("ipu", "ipu"))
    for form, function in _of_device(name, kind).items()
}
del OLD_FORMS["set_autocast_gpu_enabled"], OLD_FORMS["is_autocast_gpu_enabled"]
globals().update(OLD_FORMS)
