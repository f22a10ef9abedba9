"""Functions and methods that a trace leaves whole: their calls become nodes."""

import builtins
import functools
import inspect
from collections.abc import Callable
from typing import Any

from adjoint.compat.torch_tree.fx.patching import Patches
from adjoint.compat.torch_tree.fx.proxy import Proxy
from adjoint.pytree import tree_flatten


def proxies_in(value: Any) -> list[Proxy]:
    """The proxies in a nest of arguments."""
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, Proxy)]


# By the names of a module that they are found in, and the name there.
WRAPPED_FUNCTIONS: dict[tuple[int, str], dict[str, Any]] = {}
WRAPPED_METHODS: list[tuple[type, str]] = []


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Let calls of a function of the calling module become nodes; at its top, or a decorator."""
    if not (callable(fn_or_name) or isinstance(fn_or_name, str)):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name, not "
            f"{type(fn_or_name).__name__}"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    WRAPPED_FUNCTIONS[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


def whole_function(orig_fn: Any) -> Any:
    """A function whose calls with proxies become nodes."""

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxies = proxies_in((args, kwargs))
        if not proxies:
            return orig_fn(*args, **kwargs)
        made = proxies[0].tracer.create_proxy("call_function", orig_fn, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


def whole_method(cls: type, name: str) -> Any:
    """A method whose calls with proxies become nodes."""
    orig_fn = getattr(cls, name)

    @functools.wraps(orig_fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        proxies = proxies_in((args, kwargs))
        if not proxies:
            return orig_fn(*args, **kwargs)
        return proxies[0].tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


def patch_wrapped(patches: Patches) -> None:
    """Put in what makes nodes for the functions and methods that are left whole."""
    for (_, name), names in list(WRAPPED_FUNCTIONS.items()):
        found = names.get(name, getattr(builtins, name, None))
        if found is not None and not getattr(found, "fx_leaves_whole", False):
            wrapped = whole_function(found)
            wrapped.fx_leaves_whole = True
            patches.item(names, name, wrapped)
    for cls, name in WRAPPED_METHODS:
        patches.attribute(cls, name, whole_method(cls, name))
