"""Who is asked for the steps of an op, and how."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from adjoint.call.context import Changed
from adjoint.compat.aten_forms import bound
from adjoint.compat.torch_tree import ops

# Who is asked: an overload, its arguments, and those by name.
Answerer = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]

# The overload that the next call of its op is, as a step of a recorded pass; with its arguments.
meant: Final[ContextVar[Any]] = ContextVar("adjoint_meant", default=None)
# Functions that call one op of several.
SINGLE: Final = (
    *("alias", "as_strided", "index", "slice", "view"),
    *("_conj", "_to_copy", "div", "div_", "where"),
)


class Steps:
    """Asks for PyTorch's operations by name; its overload, or the arguments, say which is meant."""

    def __init__(self, answerer: Answerer) -> None:
        self.answerer = answerer

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> Any:
        found = bound(name, args, kwargs)
        if found is None:
            if args and args[0] is None:  # an answer to the step before
                raise RuntimeError(
                    f"{name}(): expected a Tensor for its first argument, but got None"
                )
            name, _, overload = name.partition(".")
            return self.answerer(ops.named(name, overload or None), args, kwargs)
        form, given = found
        args, kwargs = form.spelled(given, self.read)
        return self.answerer(ops.named(form.name, form.overload), args, kwargs)

    def read(self, tensor: Any) -> Any:
        """The number that a tensor is, in whose place it stands."""
        return self.answerer(ops.named("_local_scalar_dense"), (tensor,), {})


def called_as_meant(op: Any, answerer: Answerer) -> Any:
    """What is answered to a call of an op that is a known step; NotImplemented of any other."""
    call = meant.get()
    if call is None:
        return NotImplemented
    own = call[0].operation
    if getattr(own, "op", own) is not op and call[0].overloadpacket.__name__ not in SINGLE:
        return NotImplemented
    meant.set(None)
    return answerer(*call)


def unseen() -> Changed:
    """As a context: nobody is told of calls, which PyTorch does not make."""
    return Changed({"modes": ()})


def renamed(name: str) -> Any:
    """The one step of an op whose arguments are PyTorch's in the same order."""

    def steps(ask: Steps, *values: Any) -> Any:
        return ask(name, *values)

    return steps
