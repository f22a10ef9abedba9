"""torch._functorch.eager_transforms: what it has beside the transforms themselves."""

from typing import Any

from adjoint.func.reverse import chosen


def _slice_argnums(args: tuple[Any, ...], argnums: Any, as_tuple: bool = True) -> Any:
    """The arguments at some positions."""
    found = tuple(args[number] for number in chosen(argnums, args, "_slice_argnums"))
    return found if as_tuple or isinstance(argnums, tuple) else found[0]
