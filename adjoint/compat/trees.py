"""What torch.utils._pytree takes besides adjoint.pytree: ways to values, names in files."""

from typing import Any, NamedTuple

from adjoint import pytree


class MappingKey(NamedTuple):
    """The way to a value of a dictionary."""

    key: Any


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    """The values of a dictionary with the ways to them, and its keys."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def register_pytree_node(
    cls: type, flatten_fn: Any, unflatten_fn: Any, **unused: Any
) -> None:
    """Take instances of cls apart; how a file would name them, or a path, is of no use here."""
    pytree.register_pytree_node(cls, flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node
