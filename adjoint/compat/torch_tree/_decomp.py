"""torch._decomp: operations in terms of others, as programs note them for compilers.

Nothing here asks for them: adjoint.compile traces adjoint's own operations.
"""

from collections.abc import Callable, Iterable
from typing import Any

from adjoint.compat.torch_tree.ops import OpOverload, OpOverloadPacket

global_decomposition_table: dict[str, dict[Any, Callable[..., Any]]] = {
    "post_autograd": {},
    "pre_autograd": {},
    "meta": {},
}
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _overloads(operation: Any) -> list[Any]:
    """The overloads of one operation, of several, or the operation itself."""
    if isinstance(operation, OpOverloadPacket):
        return [getattr(operation, name) for name in operation.overloads()]
    if isinstance(operation, Iterable) and not isinstance(operation, OpOverload):
        return [found for each in operation for found in _overloads(each)]
    return [operation]


def register_decomposition(
    aten_op: Any,
    registry: dict[Any, Callable[..., Any]] | None = None,
    *,
    type: str = "post_autograd",
    unsafe: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Note the decorated function as what an operation is made of."""
    table = global_decomposition_table[type] if registry is None else registry

    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        for overload in _overloads(aten_op):
            table[overload] = function
        return function

    return note


def get_decompositions(
    aten_ops: Iterable[Any], type: str = "post_autograd"
) -> dict[Any, Callable[..., Any]]:
    """What was noted of these operations."""
    table = global_decomposition_table[type]
    return {each: table[each] for each in _overloads(aten_ops) if each in table}


def remove_decompositions(
    decompositions: dict[Any, Callable[..., Any]], aten_ops: Iterable[Any]
) -> None:
    """Take operations out of a table."""
    for each in _overloads(aten_ops):
        decompositions.pop(each, None)


def core_aten_decompositions() -> dict[Any, Callable[..., Any]]:
    """What was noted of all operations."""
    return dict(decomposition_table)
