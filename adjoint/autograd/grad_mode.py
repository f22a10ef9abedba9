"""Whether operations are recorded: no_grad, enable_grad, set_grad_enabled, inference_mode.

Each is a context manager and a decorator, of generators too. The settings themselves are in
`adjoint.call.context`.
"""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from adjoint.call.context import change, change_grad_enabled, change_inference

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


class Setting(ContextDecorator):
    """Called, it sets a mode of the calling context; in a `with`, it also restores it."""

    change: Callable[[bool], bool]  # sets the mode; what it was is returned

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.previous = self.change(mode)

    def clone(self) -> Any:
        """See ContextDecorator."""
        return type(self)(self.mode)

    def __call__(self, function: Decorated) -> Decorated:
        self.change(self.previous)
        return super().__call__(function)

    def __enter__(self) -> None:
        self.change(self.mode)

    def __exit__(self, *exc: object) -> None:
        self.change(self.previous)


class set_grad_enabled(Setting):
    """Record operations or not: called, it sets the mode; in a `with`, it also restores it."""

    change = staticmethod(change_grad_enabled)


def _change_layout_policy(enforced: bool) -> bool:
    return not change(any_layout=not enforced).any_layout


class enforce_grad_layout_policy(Setting):
    """Lay a new `.grad` out in memory as its leaf is, or take it as backward has made it.

    Without the policy a gradient that nobody else holds is never copied. Like set_grad_enabled,
    it is a function as well as a context manager.
    """

    change = staticmethod(_change_layout_policy)

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


class no_grad(ContextDecorator):
    """Nothing inside is recorded for backward."""

    def __init__(self) -> None:
        self.previous = True

    def __new__(cls, function: Any = None) -> Any:
        """`@no_grad` without parentheses decorates as well."""
        if function is None:
            return super().__new__(cls)
        return cls()(function)

    def clone(self) -> Any:
        """See ContextDecorator."""
        return type(self)()

    def __enter__(self) -> None:
        self.previous = change_grad_enabled(False)

    def __exit__(self, *exc: object) -> None:
        change_grad_enabled(self.previous)


class enable_grad(no_grad):
    """Recording inside, even within no_grad."""

    def __enter__(self) -> None:
        self.previous = change_grad_enabled(True)


class inference_mode(ContextDecorator):
    """No recording, and tensors made inside can never take part in autograd: the cheapest mode."""

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.previous = (True, False)

    def __new__(cls, mode: Any = True) -> Any:
        """`@inference_mode` without parentheses decorates as well."""
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def clone(self) -> Any:
        """See ContextDecorator."""
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        self.previous = change_inference(self.mode)

    def __exit__(self, *exc: object) -> None:
        grad, inference = self.previous
        change_inference(inference)
        change_grad_enabled(grad)
