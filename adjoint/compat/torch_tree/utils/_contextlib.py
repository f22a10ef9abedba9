"""torch.utils._contextlib: managers of contexts that decorate functions too."""

from typing import Any

from adjoint.autograd.grad_mode import ContextDecorator


class _DecoratorContextManager(ContextDecorator):
    """A manager that decorates; each call of the function has a fresh one."""

    def clone(self) -> Any:
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A manager without settings, whose class decorates a function without being called."""

    def __new__(cls, orig_func: Any = None) -> Any:
        made = super().__new__(cls)
        if orig_func is None:
            return made
        made.__init__()  # type: ignore[misc]  # as Python would if an instance were answered
        return made(orig_func)


def context_decorator(ctx: Any, func: Any) -> Any:
    """The function, called in a context: of a manager, or of a new one that ctx makes each time."""
    maker = (lambda: ctx) if hasattr(ctx, "__enter__") and hasattr(ctx, "__exit__") else ctx

    class Manager(ContextDecorator):
        """Makes the managers."""

        def clone(self) -> Any:
            return maker()

    return Manager()(func)
