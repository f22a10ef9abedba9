"""torch.overrides: how functions written in Python take part in `__torch_function__`."""

from collections.abc import Callable, Iterable
from typing import Any

from adjoint.autograd.grad_mode import enable_grad
from adjoint.tensors.tensor import Tensor

# In a `__torch_dispatch__`, calls are recorded again inside.
enable_reentrant_dispatch = enable_grad


def _handler(value: Any) -> Any:
    """The `__torch_function__` of a value that wants to see calls; None for plain tensors."""
    kind = type(value)
    return None if kind is Tensor else getattr(kind, "__torch_function__", None)


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments wants to see calls."""
    return any(_handler(value) is not None for value in relevant_args)


def has_torch_function_unary(value: Any) -> bool:
    """Whether the argument wants to see calls."""
    return _handler(value) is not None


def has_torch_function_variadic(*values: Any) -> bool:
    """Whether one of the arguments wants to see calls."""
    return has_torch_function(values)


def _overloaded(values: Iterable[Any]) -> list[Any]:
    """One argument of each type that wants to see calls; a subclass before its bases."""
    found: list[Any] = []
    for value in values:
        if _handler(value) is None or type(value) in map(type, found):
            continue
        place = next((i for i, old in enumerate(found) if isinstance(value, type(old))), len(found))
        found.insert(place, value)
    return found


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Offer a call to the arguments' types in turn; the first answer is the result."""
    overloaded = _overloaded(relevant_args)
    types = tuple(type(value) for value in overloaded)
    for value in overloaded:
        result = type(value).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(public_api, "__qualname__", repr(public_api))
    raise TypeError(f"no implementation of {name} for {[kind.__name__ for kind in types]}")


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or takes part in calls like one."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")
