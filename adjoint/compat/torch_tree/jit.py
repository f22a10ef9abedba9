"""torch.jit: what is to be scripted or traced is what it was before."""

import builtins
from types import NoneType, UnionType
from typing import Any, Final as Final, Union, get_args, get_origin

from adjoint.compat.no_compiler import never, unchanged
from adjoint.nn.module import Module


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


class ScriptModule(Module):
    """A module whose methods a program has compiled: they are left as they are."""


class ScriptFunction:
    """A compiled function: there is none, so nothing is an instance of it."""


_fusing = {"onednn": False, "strategy": [("STATIC", 2), ("DYNAMIC", 10)]}


def enable_onednn_fusion(enabled: bool) -> None:
    """A setting of PyTorch's compiler: it is remembered."""
    _fusing["onednn"] = bool(enabled)


def onednn_fusion_enabled() -> Any:
    """What was set."""
    return _fusing["onednn"]


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> Any:
    """The same of another setting; returns what it was before."""
    before, _fusing["strategy"] = _fusing["strategy"], list(strategy)
    return before


class TracerWarning(Warning):
    """What a tracer warns of: there is none, so that the warning never comes."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing is left to do: no warning comes."""


def _unwrap_optional(x: Any) -> Any:
    """The value, which must not be None."""
    assert x is not None, "Unwrapping null optional"
    return x


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type, which may say what its containers hold."""
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    origin, parts = get_origin(target_type), get_args(target_type)
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if origin in (Union, UnionType):
        return any(isinstance(obj, NoneType if each is None else each) for each in parts)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is tuple:
        return len(obj) == len(parts) and all(map(isinstance, obj, parts))
    if origin is dict:
        return all(isinstance(k, parts[0]) and isinstance(v, parts[1]) for k, v in obj.items())
    return all(isinstance(each, parts[0]) for each in obj)


script = trace = freeze = optimize_for_inference = unchanged
script_method = export = unused = interface = script_if_tracing = unchanged
_overload = _overload_method = _script_if_tracing = unchanged
trace_module = unchanged
is_scripting = is_tracing = never
