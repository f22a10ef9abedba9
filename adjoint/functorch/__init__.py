"""The spellings of functorch, from before its transforms came to `func`; kept for programs.

The transforms say once where they are now. `make_functional` and its relatives stay as they were.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

from adjoint import func
from adjoint.functorch.stateful import (
    FunctionalModule as FunctionalModule,
    FunctionalModuleWithBuffers as FunctionalModuleWithBuffers,
    combine_state_for_ensemble as combine_state_for_ensemble,
    make_functional as make_functional,
    make_functional_with_buffers as make_functional_with_buffers,
)


def _moved(function: Callable[..., Any], place: str) -> Callable[..., Any]:
    """A transform under its old name, which says what the new one is."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"functorch.{function.__name__} is deprecated. Please use `torch.{place}` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return call


vmap = _moved(func.vmap, "vmap")
grad = _moved(func.grad, "func.grad")
grad_and_value = _moved(func.grad_and_value, "func.grad_and_value")
vjp = _moved(func.vjp, "func.vjp")
jvp = _moved(func.jvp, "func.jvp")
jacrev = _moved(func.jacrev, "func.jacrev")
jacfwd = _moved(func.jacfwd, "func.jacfwd")
hessian = _moved(func.hessian, "func.hessian")
functionalize = _moved(func.functionalize, "func.functionalize")
