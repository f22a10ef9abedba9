"""torch.jit: what is to be scripted or traced is what it was before."""

from typing import Any, Final as Final

from adjoint.compat.no_compiler import never, unchanged


def fork(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A task that is done at once; `wait` has its result."""
    return function(*args, **kwargs)


def wait(result: Any) -> Any:
    """The result of a task that fork started."""
    return result


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value, whatever its type is said to be."""
    return the_value


def ignore(drop: Any = False, **options: Any) -> Any:
    """Decorates a function, with or without options, and changes nothing."""
    return drop if callable(drop) else unchanged


class ScriptModule:
    """A compiled module: there is none, so nothing is an instance of it."""


class ScriptFunction:
    """A compiled function: there is none, so nothing is an instance of it."""


class TracerWarning(Warning):
    """What a tracer warns of: there is none, so that the warning never comes."""


def _unwrap_optional(x: Any) -> Any:
    """The value, which must not be None."""
    assert x is not None, "Unwrapping null optional"
    return x


script = trace = freeze = optimize_for_inference = unchanged
script_method = export = unused = interface = script_if_tracing = unchanged
_overload = _overload_method = _script_if_tracing = unchanged
is_scripting = is_tracing = never
