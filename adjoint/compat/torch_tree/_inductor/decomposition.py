"""torch._inductor.decomposition: operations in terms of others, noted and not asked for."""

from collections.abc import Callable
from typing import Any

from adjoint.compat.torch_tree._decomp import register_decomposition as _register

decompositions: dict[Any, Callable[..., Any]] = {}


def register_decomposition(
    ops: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Note the decorated function as what operations are made of."""
    return _register(ops, decompositions)
