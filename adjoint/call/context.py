"""The settings of a context: grad mode, inference mode, hooks on saving and on new nodes.

They live in one context variable, so a thread starts with the defaults and a coroutine never
sees another's. `switchboard.unusual` counts the settings away from their default anywhere in the
process: while it is zero, a call need not look at its context at all.
"""

from contextvars import ContextVar
from typing import Any, Final


class Ambient:
    """All settings of one context; never changed once it is set, only replaced."""

    def __init__(self) -> None:
        self.grad_enabled = True
        self.inference = False
        self.saved_hooks: tuple[Any, ...] = ()  # pairs of pack and unpack, the innermost last
        self.hooks_refusal: str | None = None  # why hooks on saving are not allowed here
        self.overrides = True  # whether subclasses see calls
        self.node_hooks: tuple[Any, ...] = ()  # which each node made here is born with
        self.guards: tuple[Any, ...] = ()  # told of a tensor just before it is changed in place
        self.watchers: tuple[Any, ...] = ()  # make the calls of ops, the innermost last
        self.observers: tuple[Any, ...] = ()  # told before and after each step of a backward
        self.anomaly: Any = None  # looks at what each step of a backward answers
        self.any_layout = False  # a gradient handed to a leaf may keep its own

    def only_grad_mode(self) -> bool:
        """Whether nothing but grad mode is away from its default."""
        return (
            not self.inference
            and not self.saved_hooks
            and self.hooks_refusal is None
            and self.overrides
            and not self.node_hooks
            and not self.guards
            and not self.watchers
            and not self.observers
            and self.anomaly is None
            and not self.any_layout
        )

    def copy(self) -> "Ambient":
        """The same settings, to be changed before they are set."""
        made = Ambient()
        made.grad_enabled = self.grad_enabled
        made.inference = self.inference
        made.saved_hooks = self.saved_hooks
        made.hooks_refusal = self.hooks_refusal
        made.overrides = self.overrides
        made.node_hooks = self.node_hooks
        made.guards = self.guards
        made.watchers = self.watchers
        made.observers = self.observers
        made.anomaly = self.anomaly
        made.any_layout = self.any_layout
        return made


class Switchboard:
    """How many settings are away from their default, over all contexts."""

    def __init__(self) -> None:
        self.unusual = 0


DEFAULT: Final[Ambient] = Ambient()
NO_GRAD: Final[Ambient] = Ambient()  # what no_grad sets most of the time, made once
NO_GRAD.grad_enabled = False
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
    """DEFAULT or NO_GRAD itself, if these settings are the same."""
    if settings.only_grad_mode():
        return DEFAULT if settings.grad_enabled else NO_GRAD
    return settings


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
        if old is DEFAULT:
            set_ambient(NO_GRAD)
        elif old is NO_GRAD:
            set_ambient(DEFAULT)
        else:
            new = old.copy()
            new.grad_enabled = enabled
            set_ambient(_normal(new))
    return old.grad_enabled


def change_inference(inference: bool) -> tuple[bool, bool]:
    """Enter or leave inference mode; what grad and inference mode were is returned."""
    old = _ambient.get()
    new = old.copy()
    new.grad_enabled = not inference
    new.inference = inference
    set_ambient(_normal(new))
    return old.grad_enabled, old.inference


def change_saved_hooks(
    hooks: tuple[Any, ...], refusal: str | None
) -> tuple[tuple[Any, ...], str | None]:
    """Set the hooks on saving of the calling context; those there were are returned."""
    old = _ambient.get()
    new = old.copy()
    new.saved_hooks = hooks
    new.hooks_refusal = refusal
    set_ambient(_normal(new))
    return old.saved_hooks, old.hooks_refusal


def change_node_hooks(hooks: tuple[Any, ...]) -> tuple[Any, ...]:
    """Set the hooks that nodes of the calling context are made with; those there were."""
    old = _ambient.get()
    new = old.copy()
    new.node_hooks = hooks
    set_ambient(_normal(new))
    return old.node_hooks


def change_guards(guards: tuple[Any, ...]) -> tuple[Any, ...]:
    """Set who is told before a tensor is changed in place; those there were are returned."""
    old = _ambient.get()
    new = old.copy()
    new.guards = guards
    set_ambient(_normal(new))
    return old.guards


def change_watchers(watchers: tuple[Any, ...]) -> tuple[Any, ...]:
    """Set who makes the calls of the calling context: `watcher(op, values)`, by `op.run`."""
    old = _ambient.get()
    new = old.copy()
    new.watchers = watchers
    set_ambient(_normal(new))
    return old.watchers


def change_observers(observers: tuple[Any, ...]) -> tuple[Any, ...]:
    """Set who is told of the steps of passes begun here: `enter_node`, `leave_node`."""
    old = _ambient.get()
    new = old.copy()
    new.observers = observers
    set_ambient(_normal(new))
    return old.observers


def change_anomaly(anomaly: Any) -> Any:
    """Set what looks at the answers of each step of passes begun here; what there was."""
    old = _ambient.get()
    new = old.copy()
    new.anomaly = anomaly
    set_ambient(_normal(new))
    return old.anomaly


def change_any_layout(allowed: bool) -> bool:
    """Let gradients handed to leaves keep their layout or not; what it was is returned."""
    old = _ambient.get()
    new = old.copy()
    new.any_layout = allowed
    set_ambient(_normal(new))
    return old.any_layout


def is_any_layout_allowed() -> bool:
    """Whether a gradient handed to a leaf may keep its layout, in the calling context."""
    return switchboard.unusual != 0 and _ambient.get().any_layout


def change_overrides(overrides: bool) -> bool:
    """Let subclasses see calls or not; what it was is returned."""
    old = _ambient.get()
    if old.overrides != overrides:
        new = old.copy()
        new.overrides = overrides
        set_ambient(_normal(new))
    return old.overrides


def overrides_enabled() -> bool:
    """Whether subclasses see calls in the calling context."""
    return switchboard.unusual == 0 or _ambient.get().overrides
