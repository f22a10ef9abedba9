"""What stands in for compilers, tracers and exporters, of which there are none.

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


def never() -> bool:
    """Nothing is ever compiled."""
    return False


def refused(*args: Any, **kwargs: Any) -> bool:
    """A setting of a compiler: it was off, and stays off."""
    return False
