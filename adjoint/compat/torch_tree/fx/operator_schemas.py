"""torch.fx.operator_schemas: the arguments of a call, those that are left out filled in."""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from adjoint.nn.module import Module

_OF_RESULTS = ("out",)  # which no schema of a call has that writes nowhere


class ArgsKwargsPair(NamedTuple):
    """Arguments by position, and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call with the defaults, by name where they may be or all of them.

    None if they do not fit, or the function tells nothing of its parameters. Types of arguments
    are not needed: a function has one signature.
    """
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return None
    return _filled(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The same of a call of a module at a path."""
    signature = inspect.signature(root.get_submodule(target).forward)
    return _filled(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _filled(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], by_name: bool
) -> ArgsKwargsPair | None:
    """Arguments bound to parameters, those with a default that were left out by name."""
    parameters = signature.parameters
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters.values()):
        return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    given = set(bound.arguments)
    bound.apply_defaults()
    names = [name for name in parameters if name in given or name not in _OF_RESULTS]
    first = [] if by_name else names[: len(args)]
    positional = tuple(bound.arguments[name] for name in first)
    return ArgsKwargsPair(positional, {n: bound.arguments[n] for n in names if n not in first})
