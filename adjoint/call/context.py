"""The settings of a context: grad mode, inference mode, hooks on saving, who watches calls.

They are one record in one context variable, and nothing else: a thread starts with the defaults,
and a task never sees what another has set. Every call reads the record, which costs 20 ns.
"""

from collections.abc import Callable
from contextvars import ContextVar
from threading import get_ident
from typing import Any, Final

from adjoint._base import exchange, mypyc_attr
from adjoint.autograd.provenance import INTERPRETED


class Settings:
    """All settings of one context; never changed once they are current, only replaced."""

    def __init__(self) -> None:
        self.grad_enabled = True
        self.inference = False
        self.beneath = False  # below autograd, where nothing is recorded, whatever grad mode says
        self.recording = True  # grad mode, but for that
        self.plain = True  # all that follows has its default, so that calls may be cut short
        self.saved_hooks: tuple[Any, ...] = ()  # pairs of pack and unpack, the innermost last
        self.hooks_refusal: str | None = None  # why hooks on saving are not allowed here
        self.overrides = True  # whether subclasses see calls
        self.node_hooks: tuple[Any, ...] = ()  # which each node made here is born with
        self.guards: tuple[Any, ...] = ()  # told of a tensor just before it is changed in place
        self.functions: tuple[Any, ...] = ()  # modes that answer public functions, innermost last
        self.watchers: tuple[Any, ...] = ()  # make the calls of ops, the innermost last
        self.modes: tuple[Any, ...] = ()  # answer calls below autograd, the innermost last
        self.observers: tuple[Any, ...] = ()  # told before and after each step of a backward
        self.anomaly: Any = None  # looks at what each step of a backward answers
        self.any_layout = False  # a gradient handed to a leaf may keep its own
        self.intermediates: Any = None  # notes what the forward of a Function makes of its inputs
        self.tracing: Any = None  # the run on tracers that is under way, to be compiled
        self.asking: Any = None  # told what hooks answer
        self.unwatched: Settings | None = None  # the same without the innermost watcher, once made
        self.below: Settings | None = None  # the same below autograd and the innermost mode


# Grad and inference mode are half of all calls' business, and no reason to take the long way.
_MODES: Final = ("grad_enabled", "inference", "beneath")
_RARE: Final = (
    "saved_hooks",
    "hooks_refusal",
    "overrides",
    "node_hooks",
    "guards",
    "functions",
    "watchers",
    "modes",
    "observers",
    "anomaly",
    "any_layout",
    "intermediates",
    "tracing",
    "asking",
)


def _with_modes(grad_enabled: bool, inference: bool, beneath: bool = False) -> Settings:
    made = Settings()
    made.grad_enabled = grad_enabled
    made.inference = inference
    made.beneath = beneath
    made.recording = grad_enabled and not beneath
    return made


DEFAULT: Final[Settings] = Settings()
NO_GRAD: Final[Settings] = _with_modes(grad_enabled=False, inference=False)
INFERENCE: Final[Settings] = _with_modes(grad_enabled=False, inference=True)
_ENABLED_INFERENCE: Final[Settings] = _with_modes(grad_enabled=True, inference=True)
_BENEATH: Final[dict[tuple[bool, bool], Settings]] = {
    (enabled, inference): _with_modes(enabled, inference, beneath=True)
    for enabled in (False, True)
    for inference in (False, True)
}

_current: Final[ContextVar[Settings]] = ContextVar("adjoint_settings", default=DEFAULT)

# The settings of the calling context, and a function that replaces them all: the variable's own
# methods, so that the interpreter makes no call for them.
current: Final[Callable[[], Settings]] = _current.get
set_current: Final[Callable[[Settings], object]] = _current.set


def _plain(grad_enabled: bool, inference: bool, beneath: bool) -> Settings:
    """The one record of these modes with nothing else set."""
    if beneath:
        return _BENEATH[grad_enabled, inference]
    if grad_enabled:
        return _ENABLED_INFERENCE if inference else DEFAULT
    return INFERENCE if inference else NO_GRAD


def change(**values: Any) -> Settings:
    """Set some settings of the calling context; all there were are returned."""
    old = current()
    set_current(replaced(old, values))
    return old


def replaced(old: Settings, values: dict[str, Any]) -> Settings:
    """The same settings but for some."""
    new = Settings()
    for name in (*_MODES, *_RARE):
        value = values.pop(name) if name in values else getattr(old, name)
        setattr(new, name, value)
        if name in _RARE and value != getattr(DEFAULT, name):
            new.plain = False
    if values:
        raise TypeError(f"no settings of a context: {', '.join(values)}")
    new.recording = new.grad_enabled and not new.beneath
    return _plain(new.grad_enabled, new.inference, new.beneath) if new.plain else new


def without_innermost_watcher(settings: Settings) -> Settings:
    """The settings under which a watcher makes the call that it was shown."""
    if settings.unwatched is None:
        settings.unwatched = replaced(settings, {"watchers": settings.watchers[:-1]})
    return settings.unwatched


def below_innermost_mode(settings: Settings) -> Settings:
    """The settings under which a mode answers a call, which is recorded outside."""
    if settings.below is None:
        changes = {"modes": settings.modes[:-1], "watchers": (), "beneath": True}
        settings.below = replaced(settings, changes)
    return settings.below


def with_modes(old: Settings, grad_enabled: bool, inference: bool) -> Settings:
    """The same settings in these modes."""
    if old.plain:
        return _plain(grad_enabled, inference, old.beneath)
    if old.grad_enabled == grad_enabled and old.inference == inference:
        return old
    return replaced(old, {"grad_enabled": grad_enabled, "inference": inference})


def change_grad_enabled(enabled: bool) -> bool:
    """Set grad mode of the calling context; the mode there was is returned."""
    old = current()
    before = old.grad_enabled
    if before != enabled:
        set_current(with_modes(old, enabled, old.inference))
    return before


class Entry:
    """A scope that a thread has entered: the settings around it, and those inside."""

    def __init__(self, thread: int, outer: Settings, inner: Settings) -> None:
        self.thread = thread
        self.outer = outer
        self.inner = inner


@mypyc_attr(allow_interpreted_subclasses=True)
class Scope:
    """A context manager inside which some settings are others, also if a signal interrupts it.

    A signal is heard after a call, or where an interpreted function starts. What is left to chance
    is the start of `__exit__`, if this class is interpreted too.
    """

    _entered: list[Entry] | None = None  # where it is entered, the innermost last
    _grad_enabled: bool | None = None  # the one setting that is another, if it is grad mode
    _early: bool = False  # whether the settings were changed before it was entered
    _shown: Any = None  # what `as` gives, if that is another
    _after: Any = None  # called when it was left

    def _fields(self) -> tuple[str, ...]:
        """Which settings are others."""
        raise NotImplementedError

    def _inside(self, outer: Settings) -> Settings:
        """The settings inside, from those around."""
        raise NotImplementedError

    def _outside(self, now: Settings, outer: Settings) -> Settings:
        """The settings after it, from those at its end; what the block has set apart stays."""
        return replaced(now, {name: getattr(outer, name) for name in self._fields()})

    def __enter__(self) -> Any:
        outer = current()
        if self._grad_enabled is None:
            inner = self._inside(outer)
        else:
            inner = with_modes(outer, self._grad_enabled, outer.inference)
        around = self._outside(outer, outer) if self._early else outer
        if self._entered is None:
            made: list[Entry] = []
            anew: Any = self
            if INTERPRETED:
                exchange(self, "_entered", None, made)
            elif anew._entered is None:  # noqa: SLF001  # its own
                self._entered = made
        entered = self._entered
        assert entered is not None
        entry = Entry(get_ident(), around, inner)
        try:
            set_current(inner)
            entered.append(entry)
        except BaseException:
            set_current(outer)
            forget(entered, entry)
            raise
        return self if self._shown is None else self._shown

    def __exit__(self, *exc: object) -> None:
        try:
            leave(self)
        except BaseException:
            leave(self)
            raise
        if self._after is not None:
            self._after()


def leave(scope: Scope) -> None:
    """Put the settings back; until all is done, this may be interrupted and done again."""
    entered = scope._entered  # noqa: SLF001  # a part of Scope, which as a method would cost more
    if not entered:
        return
    thread = get_ident()
    now = current()
    last = entered[-1]
    if last.inner is now and last.thread == thread:  # as nearly always
        set_current(last.outer)
        forget(entered, last)
        return
    own = [entry for entry in entered if entry.thread == thread]
    if not own:
        return
    place = len(own) - 1
    for i in range(place, -1, -1):
        if own[i].inner is now:  # those above it were entered in a pass, and never left
            place = i
            break
    found = own[place]
    set_current(found.outer if now is found.inner else scope._outside(now, found.outer))  # noqa: SLF001
    for entry in own[place:]:
        forget(entered, entry)


def forget(entered: list[Entry], entry: Entry) -> None:
    """Take an entry out of a list, which other threads may change, if it is there."""
    if entry in entered:
        entered.remove(entry)


@mypyc_attr(allow_interpreted_subclasses=True)
class Changed(Scope):
    """A scope in which settings have fixed values."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return tuple(self.values)

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        return replaced(outer, dict(self.values))


def is_grad_enabled() -> bool:
    """Whether grad mode is on in the calling context; below autograd nothing is recorded in it."""
    return current().grad_enabled


def is_recording() -> bool:
    """Whether operations are recorded in the calling context."""
    return current().recording


def is_inference_mode_enabled() -> bool:
    """Whether the calling context is in inference mode."""
    return current().inference
