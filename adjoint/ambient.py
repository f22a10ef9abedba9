"""The settings of a context: grad mode, inference mode, hooks on saving.

They live in one context variable, so a thread starts with the defaults and a coroutine never
sees another's. `switchboard.unusual` counts the settings away from their default anywhere in the
process: while it is zero, a call need not look at its context at all.
"""

from contextvars import ContextVar
from typing import Any, Final


class Ambient:
    """All settings of one context; never changed, only replaced."""

    def __init__(
        self,
        grad_enabled: bool,
        inference: bool,
        saved_hooks: tuple[Any, ...],
        hooks_refusal: str | None,
        overrides: bool,
    ) -> None:
        self.grad_enabled = grad_enabled
        self.inference = inference
        self.saved_hooks = saved_hooks
        self.hooks_refusal = hooks_refusal
        self.overrides = overrides  # whether subclasses see calls

    def only_grad_mode(self) -> bool:
        """Whether nothing but grad mode is away from its default."""
        return (
            not self.inference
            and not self.saved_hooks
            and self.hooks_refusal is None
            and self.overrides
        )

    def with_grad(self, enabled: bool) -> "Ambient":
        """The same settings but for grad mode."""
        return Ambient(
            enabled, self.inference, self.saved_hooks, self.hooks_refusal, self.overrides
        )

    def with_inference(self, inference: bool) -> "Ambient":
        """The same settings in or out of inference mode, which sets grad mode too."""
        return Ambient(
            not inference, inference, self.saved_hooks, self.hooks_refusal, self.overrides
        )

    def with_saved_hooks(self, hooks: tuple[Any, ...], refusal: str | None) -> "Ambient":
        """The same settings with other hooks on saved tensors."""
        return Ambient(self.grad_enabled, self.inference, hooks, refusal, self.overrides)

    def with_overrides(self, overrides: bool) -> "Ambient":
        """The same settings with subclasses seeing calls or not."""
        return Ambient(
            self.grad_enabled, self.inference, self.saved_hooks, self.hooks_refusal, overrides
        )


class Switchboard:
    """How many settings are away from their default, over all contexts."""

    def __init__(self) -> None:
        self.unusual = 0


DEFAULT: Final[Ambient] = Ambient(True, False, (), None, True)
switchboard: Final[Switchboard] = Switchboard()
_ambient: Final[ContextVar[Ambient]] = ContextVar("adjoint_ambient", default=DEFAULT)


def ambient() -> Ambient:
    """The settings of the calling context."""
    return _ambient.get()


def set_ambient(settings: Ambient) -> None:
    """Replace the settings of the calling context, keeping the process-wide count."""
    old = _ambient.get()
    switchboard.unusual += (settings is not DEFAULT) - (old is not DEFAULT)
    _ambient.set(settings)


def _normal(settings: Ambient) -> Ambient:
    """DEFAULT itself if these settings are the default ones."""
    return DEFAULT if settings.grad_enabled and settings.only_grad_mode() else settings


def is_grad_enabled() -> bool:
    """Whether operations are recorded in the calling context."""
    return switchboard.unusual == 0 or _ambient.get().grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether the calling context is in inference mode."""
    return switchboard.unusual != 0 and _ambient.get().inference


def change_grad_enabled(enabled: bool) -> bool:
    """Set grad mode of the calling context; the mode there was is returned."""
    old = _ambient.get()
    if old.grad_enabled != enabled:
        set_ambient(_normal(old.with_grad(enabled)))
    return old.grad_enabled


def change_inference(inference: bool) -> tuple[bool, bool]:
    """Enter or leave inference mode; what grad and inference mode were is returned."""
    old = _ambient.get()
    set_ambient(_normal(old.with_inference(inference)))
    return old.grad_enabled, old.inference


def change_saved_hooks(
    hooks: tuple[Any, ...], refusal: str | None
) -> tuple[tuple[Any, ...], str | None]:
    """Set the hooks on saving of the calling context; those there were are returned."""
    old = _ambient.get()
    set_ambient(_normal(old.with_saved_hooks(hooks, refusal)))
    return old.saved_hooks, old.hooks_refusal


def change_overrides(overrides: bool) -> bool:
    """Let subclasses see calls or not; what it was is returned."""
    old = _ambient.get()
    if old.overrides != overrides:
        set_ambient(_normal(old.with_overrides(overrides)))
    return old.overrides


def overrides_enabled() -> bool:
    """Whether subclasses see calls in the calling context."""
    return switchboard.unusual == 0 or _ambient.get().overrides
