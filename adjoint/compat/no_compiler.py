"""What stands in for PyTorch's compilers, tracers and exporters.

`torch.compile` is adjoint's own; of the others there are none, and what they are given is what it
was before.
"""

import functools
import logging
from typing import Any

from adjoint.compiling.public import compile as compiled

DEFAULT_BACKEND = "inductor"  # one of the names for which XLA stands in
_chosen: dict[str, Any] = {}  # what the program has set
_logger = logging.getLogger("adjoint.compat")


def get_default_backend() -> Any:
    """What compiles where nothing is said."""
    return _chosen.get("backend", DEFAULT_BACKEND)


def set_default_backend(backend: Any) -> None:
    """Choose what compiles where nothing is said; None is the one there was at first."""
    if not (backend is None or isinstance(backend, str) or callable(backend)):
        raise TypeError(f"set_default_backend: expected a name, got {type(backend).__name__}")
    _chosen["backend"] = DEFAULT_BACKEND if backend is None else backend


def compile(model: Any = None, **options: Any) -> Any:
    """adjoint.compile, which runs eagerly what can't be compiled, unless fullgraph is asked for.

    Without JAX a model is left as it is, and the log says so.
    """
    if model is None:
        return functools.partial(compile, **options)
    options.setdefault("backend", get_default_backend())
    options.setdefault("fallback", not options.get("fullgraph", False))
    try:
        return compiled(model, **options)
    except ImportError as error:
        _logger.warning("torch.compile leaves %r as it is: %s", model, error)
        return compiled(model, backend="eager")


def unchanged(function: Any = None, *args: Any, **options: Any) -> Any:
    """Decorates a function or class, with or without options, and changes nothing."""
    return unchanged if function is None else function


def nothing(*args: Any, **kwargs: Any) -> None:
    """Advice to a compiler, which nobody hears."""


def never() -> bool:
    """Nothing is ever compiled."""
    return False


def refused(*args: Any, **kwargs: Any) -> bool:
    """A setting of a compiler: it was off, and stays off."""
    return False
