"""Decorators and questions of PyTorch's compilers, in a library that has none.

adjoint functions are compiled by jax.jit around them, or not at all: a function or module that is
to be compiled is what it was before.
"""

import logging
from typing import Any

_logger = logging.getLogger("adjoint.compat")


def compile(model: Any = None, **options: Any) -> Any:
    """The function or module as it is: there is no compiler; jax.jit compiles adjoint functions."""
    if model is None:
        return unchanged
    _logger.info("torch.compile leaves %r as it is: adjoint has no compiler of its own", model)
    return model


def unchanged(function: Any = None, *args: Any, **options: Any) -> Any:
    """Decorates a function or class, with or without options, and changes nothing."""
    return unchanged if function is None else function


def nothing(*args: Any, **kwargs: Any) -> None:
    """Advice to a compiler, which nobody hears."""


def is_compiling() -> bool:
    """Nothing is ever compiled."""
    return False


def refused(*args: Any, **kwargs: Any) -> bool:
    """A setting of a compiler: it was off, and stays off."""
    return False


def fork(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A task that is done at once; `wait` has its result."""
    return function(*args, **kwargs)


def wait(result: Any) -> Any:
    """The result of a task that fork started."""
    return result


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value, whatever its type is said to be."""
    return the_value


class ScriptModule:
    """A compiled module: there is none, so nothing is an instance of it."""


class ScriptFunction:
    """A compiled function: there is none, so nothing is an instance of it."""


script = trace = freeze = optimize_for_inference = unchanged
script_method = export = unused = interface = script_if_tracing = unchanged
disable = allow_in_graph = disallow_in_graph = forbid_in_graph = optimize = unchanged
assume_constant_result = substitute_in_graph = run = _copy_to_script_wrapper = unchanged
reset = graph_break = mark_dynamic = mark_static = maybe_mark_dynamic = nothing
mark_static_address = cudagraph_mark_step_begin = nothing
is_dynamo_compiling = is_exporting = is_scripting = is_tracing = is_compiling


def ignore(drop: Any = False, **options: Any) -> Any:
    """Decorates a function, with or without options, and changes nothing."""
    return drop if callable(drop) else unchanged
