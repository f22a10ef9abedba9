"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, inference_mode.

Each is a context manager and a decorator, of generators too. The settings themselves are in
`adjoint.call.context`.
"""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from adjoint.call.context import Scope, Settings, current, replaced, set_current, with_modes

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class ContextDecorator:
    """A context manager that decorates functions and generators too."""

    def clone(self) -> Any:
        """A fresh manager with the same settings, one for each call of the decorated function."""
        raise NotImplementedError

    def __call__(self, function: Decorated) -> Decorated:
        if inspect.isclass(function):
            warnings.warn(
                f"{type(self).__name__} on the class {function.__name__} holds while it is called, "
                "that is in its constructor alone; decorate that method, or those you mean",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):
            return cast("Decorated", _wrap_generator(self.clone, function))
        clone = self.clone

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with clone():
                return function(*args, **kwargs)

        return cast("Decorated", wrapper)


def _wrap_generator(manager: Callable[[], Any], function: Callable[..., Any]) -> Any:
    """The setting holds while the generator runs, not while its consumer does."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        send: Any = None
        raised: BaseException | None = None
        while True:
            try:
                with manager():
                    value = generator.throw(raised) if raised else generator.send(send)
            except StopIteration as stop:
                return stop.value
            raised = None
            try:
                send = yield value
            except GeneratorExit:
                with manager():
                    generator.close()
                raise
            except BaseException as error:
                raised = error

    return wrapper


class Setting(ContextDecorator, Scope):
    """Called, it sets a mode of the calling context; in a `with`, it also restores it."""

    field: str

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._early = True
        before = current()
        self.previous = getattr(before, self.field)
        try:
            set_current(self._inside(before))
        except BaseException:
            set_current(before)
            raise

    def clone(self) -> Any:
        """See ContextDecorator."""
        return type(self)(self.mode)

    def value(self) -> Any:
        """What the mode comes to in the settings."""
        return self.mode

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        return replaced(outer, {self.field: self.value()})

    def _outside(self, now: Settings, outer: Settings) -> Settings:
        """See Scope."""
        return replaced(now, {self.field: self.previous})

    def __call__(self, function: Decorated) -> Decorated:
        set_current(self._outside(current(), current()))
        return super().__call__(function)


class set_grad_enabled(Setting):
    """Record operations or not: called, it sets the mode; in a `with`, it also restores it."""

    field = "grad_enabled"


class enforce_grad_layout_policy(Setting):
    """Lay a new `.grad` out in memory as its leaf is, or take it as backward has made it.

    Without the policy a gradient that nobody else holds is never copied. Like set_grad_enabled,
    it is a function as well as a context manager.
    """

    field = "any_layout"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)

    def value(self) -> Any:
        """See Setting."""
        return not self.mode


class no_grad(ContextDecorator, Scope):
    """Nothing inside is recorded for backward."""

    def __init__(self) -> None:
        self._grad_enabled = False

    def __new__(cls, function: Any = None) -> Any:
        """`@no_grad` without parentheses decorates as well."""
        if function is None:
            return super().__new__(cls)
        return cls()(function)

    def clone(self) -> Any:
        """See ContextDecorator."""
        return type(self)()

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("grad_enabled",)


class enable_grad(no_grad):
    """Recording inside, even within no_grad."""

    def __init__(self) -> None:
        self._grad_enabled = True


class recording(Scope):
    """Record what is called, whatever the modes outside say, and below autograd, too."""

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("grad_enabled", "inference", "beneath")

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        if outer.beneath:
            outer = replaced(outer, {"beneath": False})
        return with_modes(outer, True, False)


class inference_mode(ContextDecorator, Scope):
    """No recording, and tensors made inside can never take part in autograd: the cheapest mode."""

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __new__(cls, mode: Any = True) -> Any:
        """`@inference_mode` without parentheses decorates as well."""
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def clone(self) -> Any:
        """See ContextDecorator."""
        return inference_mode(self.mode)

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("grad_enabled", "inference")

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        return with_modes(outer, not self.mode, self.mode)
