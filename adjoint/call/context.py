"""The settings of a context: grad mode, inference mode, hooks on saving, who watches calls.

They are one record in one context variable, and nothing else: a thread starts with the defaults,
and a task never sees what another has set. Every call reads the record, which costs 20 ns.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final


class Settings:
    """All settings of one context; never changed once they are current, only replaced."""

    def __init__(self) -> None:
        self.grad_enabled = True
        self.inference = False
        self.plain = True  # all that follows has its default, so that calls may be cut short
        self.saved_hooks: tuple[Any, ...] = ()  # pairs of pack and unpack, the innermost last
        self.hooks_refusal: str | None = None  # why hooks on saving are not allowed here
        self.overrides = True  # whether subclasses see calls
        self.node_hooks: tuple[Any, ...] = ()  # which each node made here is born with
        self.guards: tuple[Any, ...] = ()  # told of a tensor just before it is changed in place
        self.watchers: tuple[Any, ...] = ()  # make the calls of ops, the innermost last
        self.observers: tuple[Any, ...] = ()  # told before and after each step of a backward
        self.anomaly: Any = None  # looks at what each step of a backward answers
        self.any_layout = False  # a gradient handed to a leaf may keep its own
        self.intermediates: Any = None  # notes what the forward of a Function makes of its inputs
        self.unwatched: Settings | None = None  # the same without the innermost watcher, once made


# Grad and inference mode are half of all calls' business, and no reason to take the long way.
_MODES: Final = ("grad_enabled", "inference")
_RARE: Final = (
    "saved_hooks",
    "hooks_refusal",
    "overrides",
    "node_hooks",
    "guards",
    "watchers",
    "observers",
    "anomaly",
    "any_layout",
    "intermediates",
)


def _with_modes(grad_enabled: bool, inference: bool) -> Settings:
    made = Settings()
    made.grad_enabled = grad_enabled
    made.inference = inference
    return made


DEFAULT: Final[Settings] = Settings()
NO_GRAD: Final[Settings] = _with_modes(grad_enabled=False, inference=False)
INFERENCE: Final[Settings] = _with_modes(grad_enabled=False, inference=True)
_ENABLED_INFERENCE: Final[Settings] = _with_modes(grad_enabled=True, inference=True)

_current: Final[ContextVar[Settings]] = ContextVar("adjoint_settings", default=DEFAULT)

# The settings of the calling context, and a function that replaces them all: the variable's own
# methods, so that the interpreter makes no call for them.
current: Final[Callable[[], Settings]] = _current.get
set_current: Final[Callable[[Settings], object]] = _current.set


def _plain(grad_enabled: bool, inference: bool) -> Settings:
    """The one record of these modes with nothing else set."""
    if grad_enabled:
        return _ENABLED_INFERENCE if inference else DEFAULT
    return INFERENCE if inference else NO_GRAD


def change(**values: Any) -> Settings:
    """Set some settings of the calling context; all there were are returned."""
    old = current()
    set_current(_replaced(old, values))
    return old


def _replaced(old: Settings, values: dict[str, Any]) -> Settings:
    """The same settings but for some."""
    new = Settings()
    for name in (*_MODES, *_RARE):
        value = values.pop(name) if name in values else getattr(old, name)
        setattr(new, name, value)
        if name in _RARE and value != getattr(DEFAULT, name):
            new.plain = False
    if values:
        raise TypeError(f"no settings of a context: {', '.join(values)}")
    return _plain(new.grad_enabled, new.inference) if new.plain else new


def without_innermost_watcher(settings: Settings) -> Settings:
    """The settings under which a watcher makes the call that it was shown."""
    if settings.unwatched is None:
        settings.unwatched = _replaced(settings, {"watchers": settings.watchers[:-1]})
    return settings.unwatched


def change_grad_enabled(enabled: bool) -> bool:
    """Set grad mode of the calling context; the mode there was is returned."""
    old = current()
    before = old.grad_enabled
    if before != enabled:
        if old.plain:
            set_current(_plain(enabled, old.inference))
        else:
            change(grad_enabled=enabled)
    return before


def change_inference(inference: bool) -> tuple[bool, bool]:
    """Enter or leave inference mode; what grad and inference mode were is returned."""
    old = current()
    if old.plain:
        set_current(_plain(not inference, inference))
    else:
        change(grad_enabled=not inference, inference=inference)
    return old.grad_enabled, old.inference


def is_grad_enabled() -> bool:
    """Whether operations are recorded in the calling context."""
    return current().grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether the calling context is in inference mode."""
    return current().inference
