"""torch.autograd.grad_mode: settings that have nothing to switch in adjoint, but are remembered."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar

from adjoint.autograd.grad_mode import ContextDecorator
from adjoint.call.context import is_inference_mode_enabled as is_inference_mode_enabled
from adjoint.tensors.tensor import Tensor

_VIEWS = """How a view that was changed finds its history: adjoint always replays the view."""
_THREADS = """Whether backward may use threads: adjoint uses one for each device that needs it."""


class RememberedSetting(ContextDecorator):
    """Called, it sets the setting; in a `with` or on a function, it also restores it."""

    setting: ClassVar[ContextVar[bool]]

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.previous = self.setting.get()
        self.setting.set(mode)

    def clone(self) -> Any:
        """See ContextDecorator."""
        return type(self)(self.mode)

    def __call__(self, function: Any) -> Any:
        self.setting.set(self.previous)
        return super().__call__(function)

    def __enter__(self) -> None:
        self.setting.set(self.mode)

    def __exit__(self, *exc: object) -> None:
        self.setting.set(self.previous)


def _remembered(
    name: str, default: bool, doc: str
) -> tuple[type[RememberedSetting], Callable[[], bool]]:
    """The context manager that sets a setting, and the function that asks for it."""
    setting = ContextVar(name, default=default)
    manager = type(name, (RememberedSetting,), {"setting": setting, "__doc__": doc})

    def is_enabled() -> bool:
        return setting.get()

    is_enabled.__doc__ = f"What {name} was last set to."
    return manager, is_enabled


_force_original_view_tracking, is_view_replay_enabled = _remembered(
    "_force_original_view_tracking", default=False, doc=_VIEWS
)
set_multithreading_enabled, is_multithreading_enabled = _remembered(
    "set_multithreading_enabled", default=True, doc=_THREADS
)


class _unsafe_preserve_version_counter:
    """Changes inside are not counted."""

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        self.versions = [tensor.version() for tensor in self.tensors]

    def __enter__(self) -> None:
        """Nothing to do yet."""

    def __exit__(self, *exc: object) -> None:
        for tensor, version in zip(self.tensors, self.versions, strict=True):
            tensor.counter().value = version
