"""Who is asked for the steps of an op, and how."""

from collections.abc import Callable
from typing import Any

from adjoint.call.context import Changed
from adjoint.compat.aten_forms import bound
from adjoint.compat.torch_tree import ops

# Who is asked: an overload, its arguments, and those by name.
Answerer = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


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


def unseen() -> Changed:
    """As a context: nobody is told of calls, which PyTorch does not make."""
    return Changed({"modes": ()})


def renamed(name: str) -> Any:
    """The one step of an op whose arguments are PyTorch's in the same order."""

    def steps(ask: Steps, *values: Any) -> Any:
        return ask(name, *values)

    return steps
