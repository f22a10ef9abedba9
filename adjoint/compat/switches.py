"""Settings of PyTorch's that have nothing to switch in adjoint, but are remembered."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar

from adjoint.autograd.grad_mode import ContextDecorator


class Switch(ContextDecorator):
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


def switch(name: str, default: bool, doc: str) -> tuple[type[Switch], Callable[[], bool]]:
    """The context manager that sets a setting, and the function that asks for it."""
    setting = ContextVar(name, default=default)
    manager = type(name, (Switch,), {"setting": setting, "__doc__": doc})

    def is_enabled() -> bool:
        return setting.get()

    is_enabled.__doc__ = f"What {name} was last set to."
    return manager, is_enabled
